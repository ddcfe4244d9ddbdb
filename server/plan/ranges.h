/* Builds ranges and merge groups from an analysis. Private to this module. */
#pragma once

#include "plan/path_analysis.h"

typedef struct kw_ranges {
    const kw_range *ranges;
    size_t count;
    const kw_merge_group *groups;
    size_t groups_count;
    int clock;  /* the field of timed ranges; -1: there are none */
    bool loose; /* the ranges also contain values that the query excludes (kw_ends.loose) */
    size_t fanned[KW_RULE_COMPONENTS_MAX]; /* pieces that each component fanned out over; 0: none */
} kw_ranges;

/* INVALID if a bound value cannot be in a key; LIMIT beyond range_limit. */
bool kw_ranges_make(const kw_path_analysis *analysis, const kw_normalized_query *normalized,
                    size_t range_limit, kw_arena *arena, kw_ranges *ret_ranges, kw_error *ret_error);
