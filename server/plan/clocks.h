/* What a sketch does at a clock (calendar, bits): list its pieces one by one, stop with its runs, or neither.
 * Inside of the module.
 *
 *   key        hour | ts descending | id        of the hours 1 and 2, with two rows each
 *   one run    1 b  1 a  2 d  2 c               right for the path's own order; read backwards: c, d, a, b
 *   pieces     hour 1, hour 2: a range each     right for every order
 *
 * Which of these is done follows from the rule and from what is asked, never from how long the range of time
 * is: else a longer range would have its rows in another order. How long it is only decides on windows.
 */
#pragma once

#include "plan/sketch.h"

/* Runs and pieces of a clock that a plan can have: as many as ranges. */
uint64_t kw_clock_limit(const kw_terms *terms);

/* Lists the pieces of the clock at `at`, if that is of use: then the walk goes past it. */
bool kw_clock_lists(kw_sketch *sketch, const kw_terms *terms, size_t at, kw_order order);

/* Stops at the clock with its runs, if that is of use. */
bool kw_clock_stops(kw_sketch *sketch, const kw_terms *terms, size_t at, kw_order order);

/* Notes how well the rows keep an order that is asked for: sketch->blur_s, and sketch->disordered. After the
 * walk. */
void kw_clock_judge(kw_sketch *sketch, const kw_terms *terms, kw_order order);
