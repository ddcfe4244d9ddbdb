/* Which records a page of a query by a hint path returns. Pure.
 *
 *   hints of all ranges, merged --> a batch --> one multi-get of their rows --> kw_hint_is_returned for each
 *         ^                                                                            |
 *         '---------- the page is not full: the next hints ----------------------------'
 *
 * Each identity is read once in a batch. A record that is on the page already is not added again. A row is
 * returned if its tuple is that of one of its hints in the batch. If it has moved since the query began, its
 * new hint can be at a place that the scan has passed: then the row is returned because it is recent.
 */
#pragma once

#include "base/ordering.h"
#include "hint/clean.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct kw_hint_row {
    bool has_tuple;    /* its tuple is that of one of its hints in the batch */
    bool is_in_ranges; /* its place, by its tuple, is in the ranges of the query */
    bool is_after; /* its place is after the last hint of the batch, and will be read with the hints that are
                      there now. False if the ranges have no further hints */
    int64_t newest_ms;  /* the newest timestamp of its tuple */
    bool is_remembered; /* by the cursor: kw_hint_memory */
    bool is_on_page;
} kw_hint_row;

/* A row with this timestamp or a later one can have moved since the query began. earliest_ms: of the store's
 * clock before the first hint was read; a query waits until it is known. The cursor contains the result. */
int64_t kw_hint_query_start_ms(int64_t earliest_ms, const kw_hint_limits *limits);
bool kw_hint_is_recent(int64_t newest_ms, int64_t start_ms);
/* True if cleaners can have deleted hints that the query still needs. earliest_ms: now. */
bool kw_hint_query_is_late(int64_t start_ms, int64_t earliest_ms, const kw_hint_limits *limits);
bool kw_hint_is_returned(const kw_hint_row *row, int64_t start_ms);

/* The recent records that the pages so far have returned; part of the cursor. If there are more, the oldest
 * are dropped, and can be returned again. */
#define KW_HINT_MEMORY 512
typedef struct kw_hint_memory {
    uint64_t hashes[KW_HINT_MEMORY]; /* the oldest first */
    unsigned count;
} kw_hint_memory;

/* What the pages of a query know of each other. */
typedef struct kw_hint_query {
    bool begun; /* start_ms is set */
    int64_t start_ms;
    kw_hint_memory memory;
} kw_hint_query;

/* hash: of the identity, with a secret seed: two records with the same hash count as one, and one of them is
 * not returned. */
void kw_hint_memory_add(kw_hint_memory *memory, uint64_t hash);
bool kw_hint_memory_has(const kw_hint_memory *memory, uint64_t hash);
