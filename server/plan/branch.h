/* Branches: the key prefixes of all combinations of the query's list values and the buckets. Private to this
 * module. */
#pragma once

#include "plan/path_analysis.h"

typedef struct kw_branch {
    kw_bytes prefix;
    const kw_value *values; /* per field; NONE if unknown */
    uint32_t choice;        /* the bucket chosen for this branch */
    bool narrowed;          /* the range field can only be within least..most here */
    int64_t least;
    int64_t most;
    bool timed; /* keys with this prefix can also belong to other times */
} kw_branch;

typedef struct kw_branches {
    kw_branch *items;
    size_t count;
    size_t fanned[KW_RULE_COMPONENTS_MAX]; /* pieces that each component fanned out over; 0: none */
} kw_branches;

/* INVALID if a bound value cannot be in a key; LIMIT if there would be more than `limit` branches. */
bool kw_branches_make(const kw_path_analysis *analysis, const kw_normalized_query *normalized, size_t limit,
                      kw_arena *arena, kw_branches *ret_branches, kw_error *ret_error);
