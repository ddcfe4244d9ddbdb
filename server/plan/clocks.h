/* Decides what an analysis does at a clock (calendar, bits): list its pieces one by one, stop there and use
 * runs of pieces, or neither. Private to this module.
 *
 *   key        hour | ts descending | id        four rows, from the oldest to the newest: a, b of hour 1 and
 *                                               c, d of hour 2
 *   one run    1 b  1 a  2 d  2 c               correct only for the path's own order. Forward: b, a, d, c;
 *                                               backward: c, d, a, b. Neither is in the order of time
 *   pieces     hour 1, hour 2: a range each     correct for every order
 *
 * The order of the rows must not depend on the length of the time range: otherwise a longer range would
 * return the same rows in another order. So the length decides between pieces and runs only if both return
 * the same order. It also decides whether windows are used, and whether all pieces of a cyclic clock are
 * read.
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

/* True if the runs of the clock at component `at`, which an analysis listed, return the rows in the same
 * order as its pieces: the key contains only constant bytes between the clock and the stop of the analysis.
 */
bool kw_clock_runs_keep_order(const kw_path_analysis *listed, const kw_normalized_query *normalized,
                              size_t at, kw_order order);

/* Determines how closely the rows follow the requested order: analysis->blur_s and analysis->disordered. Call
 * it after all components were analysed. */
void kw_clock_note_order(kw_path_analysis *analysis, const kw_normalized_query *normalized, kw_order order);
