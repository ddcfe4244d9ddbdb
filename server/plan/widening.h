/* Widening: a plan that would have too many ranges reads fewer, wider ones. The rows that do not match are
 * dropped after reading; the answer stays the same, and so does its order. Private to this module.
 *
 *   by time   key [salt][second][id], id bound, an hour   16 x 3600 point reads -> 16 ranges of an hour
 *   by key    key [user][salt][id], user and 5,000 ids    16 x 5000 point reads -> the range of the user
 *
 * By time, the rows are in the order of the clock, and by key in the order of row keys. A plan whose rows are
 * merged in the order of another field cannot be widened.
 */
#pragma once

#include "plan/path_analysis.h"

/* Finds the wide ranges of an analysis that listed a clock, if it has more ranges than the query's limit.
 * False: there are none. */
bool kw_widen_by_time(const kw_path_analysis *exact, const kw_normalized_query *normalized, kw_order order,
                      kw_arena *arena, kw_path_analysis *ret_wide);

/* The same for an analysis whose rows are in the order of row keys. full_scan: all rows can be read. */
bool kw_widen_by_key(const kw_path_analysis *exact, const kw_normalized_query *normalized, kw_order order,
                     bool full_scan, kw_arena *arena, kw_path_analysis *ret_wide);

/* False, with INVALID, if a key cannot contain a bound value, as for the exact ranges. */
bool kw_widening_check(const kw_path_analysis *exact, const kw_path_analysis *wide,
                       const kw_normalized_query *normalized, kw_error *ret_error);
