/* A fixture whose store handle notes the reads that it passes on to the store in memory. */
#pragma once

#include "fixture.h"

#define NOTED_MAX 1024

typedef struct noted_fetch {
    const kw_range_scan *scan;
    uint32_t rows;
    bool more_hint;
} noted_fetch;

/* The reads since the last noting_fixture_of_ranges. */
typedef struct noted_reads {
    noted_fetch fetches[NOTED_MAX];
    size_t fetches_count;
    size_t gets[NOTED_MAX]; /* rows of each multi-get */
    size_t gets_count;
    kw_get get; /* the first of the last multi-get */
    kw_deadline deadline;
} noted_reads;

extern noted_reads noted;

/* As fixture_of_ranges, not skewed. */
fixture *noting_fixture_of_ranges(uint32_t ranges, uint32_t rows);
/* The same with one range, whose rows are the points of the plan: one row key for each. */
fixture *noting_fixture_of_points(uint32_t rows);
