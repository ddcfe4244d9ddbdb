/* Ranges under construction, before they are sorted, joined and grouped. Private to this module. */
#pragma once

#include "plan/branch.h"
#include "plan/path_analysis.h"

/* A range, and the values of the ordering field or of the clock that its rows can have, if `narrowed`. */
typedef struct kw_plan_draft {
    kw_range range;
    bool narrowed;
    int64_t least;
    int64_t most;
} kw_plan_draft;

typedef struct kw_drafts {
    kw_plan_draft *items;
    size_t count, capacity;
} kw_drafts;

/* Drafts the ranges of all branches, in their order. *ret_loose: the ranges contain other values, too
 * (kw_ranges). INVALID if the clock cannot represent a bound value; LIMIT beyond `limit` ranges. When the
 * effort of the query is used up, it stops early and sets no error: the caller checks the effort first
 * (kw_normalized_query_fail). */
bool kw_drafts_make(const kw_path_analysis *analysis, const kw_normalized_query *normalized,
                    const kw_branches *branches, size_t limit, kw_arena *arena, kw_drafts *ret_drafts,
                    bool *ret_loose, kw_error *ret_error);
