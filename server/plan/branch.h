/* Branches: the prefixes that a question's lists and buckets multiply into. Inside of the room. */
#pragma once

#include "plan/sketch.h"

typedef struct kw_branch {
    kw_bytes prefix;
    const kw_value *values; /* per field; NONE where not known */
    uint32_t choice;        /* the bucket that was chosen */
    bool narrowed;          /* the range field can only be within least..most here */
    int64_t least;
    int64_t most;
    bool timed; /* the prefix stands for other times, too */
} kw_branch;

typedef struct kw_branches {
    kw_branch *items;
    size_t count;
    size_t fanned[KW_RULE_COMPONENTS_MAX]; /* pieces that a component was fanned out over; 0: it was not */
} kw_branches;

/* INVALID when a bound value cannot be in a key; LIMIT when there would be more than `limit`. */
bool kw_branches_make(const kw_sketch *sketch, const kw_terms *terms, size_t limit, kw_arena *arena,
                      kw_branches *ret_branches, kw_error *ret_error);
