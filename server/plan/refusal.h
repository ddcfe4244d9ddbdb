/* Error texts for a query that would read a whole table, or that no path can answer in order: what to bind,
 * and why the fields already bound do not help. Private to this module. */
#pragma once

#include "plan/path_analysis.h"

/* Sets INVALID and returns false. `analyses` are those of the paths considered. */
bool kw_refuse_whole_table(const kw_record_query *query, const kw_normalized_query *normalized,
                           const kw_path_analysis *analyses, size_t count, kw_arena *arena,
                           kw_error *ret_error);

/* Fields of the path's tuple that the query has no condition on, for example "created, status"; in the arena.
 */
const char *kw_refusal_unbound(const kw_record_query *query, const kw_path *path, kw_arena *arena);

/* Sets LIMIT, because the query needs too many ranges and they cannot be widened. Returns false. */
bool kw_refuse_ranges(const kw_path_analysis *analysis, const kw_normalized_query *normalized, size_t limit,
                      kw_error *ret_error);

/* The same, because the conditions other than the time need too many ranges for each moment. */
bool kw_refuse_ranges_of_moment(const kw_path_analysis *analysis, const kw_normalized_query *normalized,
                                kw_error *ret_error);

/* Explains why a path has no order for a query; in the arena. */
const char *kw_refusal_explain_disorder(const kw_path_analysis *analysis,
                                        const kw_normalized_query *normalized, kw_arena *arena);
