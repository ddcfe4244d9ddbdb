/* The fixture of the gather tests: a loop, a store in memory and a generated plan. Each range of the plan has
 * random rows in the store. The fixture also keeps the rows in the order in which a gather must return them.
 * The ranges of a group are in two placements. */
#pragma once

#include "gather/gather.h"
#include "support/memory_store.h"

#include <glib.h>

typedef struct expected_row {
    uint32_t group;
    uint32_t range;
    kw_bytes key;
} expected_row;

typedef struct fixture {
    kw_arena *arena;
    kw_loop *loop;
    kw_store *store;
    kw_memory_control *control;
    kw_store_handle *handle;
    kw_path path;
    kw_placement placements[2]; /* in the store tables t and u */
    kw_plan plan;
    expected_row *rows; /* in logical order */
    size_t rows_count;
    /* The last page. */
    bool done;
    bool failed;
    kw_error error;
    GArray *keys; /* kw_bytes, copied into the arena: of all pages since fixture_clear_keys */
    size_t page_count;
    bool end;
    kw_position position; /* copied into the arena */
    uint64_t scanned;
} fixture;

typedef struct fixture_shape {
    uint32_t groups;
    uint32_t ranges_per_group; /* the maximum; each group has at least 1 */
    uint32_t rows_per_range;   /* the maximum */
    uint32_t suffixes;         /* number of different suffixes; with few, many rows have equal suffixes */
    bool reversed;
} fixture_shape;

fixture *fixture_new(const fixture_shape *shape);
/* Like fixture_new, with at least `least` rows. */
fixture *fixture_new_with_rows(const fixture_shape *shape, size_t least);
/* A plan with one group of `ranges` ranges with `rows` rows each. The order of the rows rotates through the
 * ranges; if `skewed`, all rows of a range precede those of the next range. */
fixture *fixture_of_ranges(uint32_t ranges, uint32_t rows, bool skewed);
void fixture_free(fixture *self);
/* The store table of an expected row. */
const char *fixture_table_of(const fixture *self, size_t row);

/* A spec for the fixture's plan, with a buffer of 64 KiB. */
kw_gather_spec fixture_spec(const fixture *self);
/* Reads one page and waits for it. */
void fixture_read_page(fixture *self, kw_gather *gather, uint32_t max_rows, size_t max_bytes);
/* Starts a page without waiting. */
void fixture_start_page(fixture *self, kw_gather *gather, uint32_t max_rows, size_t max_bytes,
                        kw_deadline deadline);
/* Runs one iteration of the loop. */
void fixture_run_once(fixture *self);
/* Removes all keys that were read so far. */
void fixture_clear_keys(fixture *self);
/* Asserts that the keys read since fixture_clear_keys are the `count` expected ones from `first` on. */
void fixture_assert_rows(const fixture *self, size_t first, size_t count);
/* The position directly after an expected row. */
kw_position fixture_position_after(const fixture *self, size_t row);

/* A number from 0 to limit - 1. */
uint32_t fixture_random(uint32_t limit);
/* Seeds the random numbers and prints the seed. KW_SEED repeats a failure. */
void fixture_seed(void);
