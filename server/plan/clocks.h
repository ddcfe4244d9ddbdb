/* Decides what an analysis does at a clock (calendar, bits): list its pieces one by one, stop there and use
 * runs of pieces, or neither. Private to this module.
 *
 *   key        hour | ts descending | id        of the hours 1 and 2, with two rows each
 *   one run    1 b  1 a  2 d  2 c               correct for the path's own order; read backward: c, d, a, b
 *   pieces     hour 1, hour 2: a range each     correct for every order
 *
 * The choice depends on the rule and on the query, but never on the length of the time range: otherwise a
 * longer range would return its rows in another order. The length only decides whether windows are used.
 */
#pragma once

#include "plan/path_analysis.h"

/* Maximum number of runs or pieces of a clock in a plan: the limit of ranges. */
uint64_t kw_clock_limit(const kw_normalized_query *normalized);

/* Lists the pieces of the clock at component `at` if that is useful. Returns true if it did; the analysis
 * then continues after the clock. */
bool kw_clock_try_list(kw_path_analysis *analysis, const kw_normalized_query *normalized, size_t at,
                       kw_order order);

/* Stops at the clock and uses its runs if that is useful. Returns true if it did. */
bool kw_clock_try_stop(kw_path_analysis *analysis, const kw_normalized_query *normalized, size_t at,
                       kw_order order);

/* Determines how closely the rows follow the requested order: analysis->blur_s and analysis->disordered. Call
 * it after all components were analysed. */
void kw_clock_note_order(kw_path_analysis *analysis, const kw_normalized_query *normalized, kw_order order);
