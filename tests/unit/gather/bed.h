/* A test bed for gathers: a loop, a store in memory, random rows below the ranges of a hand-made plan, and
 * the same rows in the order that a sort gives them. The ranges of a group are in two placements. */
#pragma once

#include "gather/gather.h"
#include "support/memory_store.h"

#include <glib.h>

typedef struct expected_row {
    uint32_t group;
    uint32_t range;
    kw_bytes key;
} expected_row;

typedef struct bed {
    kw_arena *arena;
    kw_loop *loop;
    kw_store *store;
    kw_memory_control *control;
    kw_store_handle *handle;
    kw_path path;
    kw_placement placements[2]; /* in the store's tables t and u */
    kw_plan plan;
    expected_row *rows; /* in logical order */
    size_t rows_count;
    /* the last page */
    bool done;
    bool failed;
    kw_error error;
    GArray *keys; /* kw_bytes, copies in the arena: of all pages since bed_forget */
    size_t page_count;
    bool end;
    kw_position position; /* copy in the arena */
    uint64_t scanned;
} bed;

typedef struct bed_shape {
    uint32_t groups;
    uint32_t ranges_per_group; /* at most, at least 1 */
    uint32_t rows_per_range;   /* at most */
    uint32_t suffixes;         /* how many different ones: few make many equal suffixes */
    bool reversed;
} bed_shape;

bed *bed_new(const bed_shape *shape);
/* At least so many rows. */
bed *bed_with_rows(const bed_shape *shape, size_t least);
void bed_free(bed *self);
/* The store table of an expected row. */
const char *bed_table_of(const bed *self, size_t row);

/* A spec for the bed's plan with a budget of 64 KiB. */
kw_gather_spec bed_spec(const bed *self);
/* One page; waits for it. */
void bed_page(bed *self, kw_gather *gather, uint32_t max_rows, size_t max_bytes);
/* Starts a page without waiting. */
void bed_start_page(bed *self, kw_gather *gather, uint32_t max_rows, size_t max_bytes, kw_deadline deadline);
void bed_turn(bed *self);
void bed_forget(bed *self);
/* The keys got since bed_forget are the expected ones from `first` on, `count` of them. */
void bed_assert_rows(const bed *self, size_t first, size_t count);
/* The group, range and suffix of an expected row. */
kw_position bed_position_after(const bed *self, size_t row);

/* 0 .. limit-1 */
uint32_t bed_random(uint32_t limit);
/* Prints the seed, so that a failure can be seen again with KW_SEED. */
void bed_seed(void);
