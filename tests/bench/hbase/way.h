/* The two ways to the same rows that are compared: directly through Thrift2, as a client that computes its
 * own row keys, and through keywayd. A row has an id and three cells of bench_value_bytes each; the tables of
 * both ways have the same 16 regions.
 *
 * A way builds the arguments of a call and checks its result; a link or a caller_group sends the call. Each
 * value contains the number of its row and of its write (`generation`, from 1), so that every value read can
 * be checked. */
#pragma once

#include "link.h"

#define BENCH_BUCKETS 16
#define BENCH_FAMILY "d"

typedef enum bench_table {
    BENCH_SALTED,  /* one byte of 16 buckets, then the id */
    BENCH_ORDERED, /* only the id */
    BENCH_COUNTED, /* only counters */
    /* like BENCH_SALTED, with counters; order: store, order: stamp without and with atomics: true, and the
     * latter with a second path */
    BENCH_NATIVE,
    BENCH_STAMPED,
    BENCH_ATOMIC,
    BENCH_ATOMIC_PATHS
} bench_table;

#define BENCH_COUNTERS 100 /* each in a row of its own, without other cells */

typedef struct bench_call {
    const kw_wire_method *method;
    const void *args; /* in the arena */
} bench_call;

/* Called for each row of a scan or a page. */
typedef void (*bench_visit)(void *user, uint64_t number, uint32_t generation);

typedef struct way {
    const char *name;
    bench_call (*put)(kw_arena *arena, bench_table table, uint64_t number, uint32_t generation);
    bench_call (*put_many)(kw_arena *arena, bench_table table, uint64_t first, size_t count,
                           uint32_t generation);
    bench_call (*get)(kw_arena *arena, bench_table table, uint64_t number);
    bench_call (*remove)(kw_arena *arena, bench_table table, uint64_t number);
    /* Replaces this generation by the next one. */
    bench_call (*put_if)(kw_arena *arena, bench_table table, uint64_t number, uint32_t generation);
    /* Adds 1 to a counter, from 0. */
    bench_call (*increment)(kw_arena *arena, bench_table table, uint64_t counter);
    /* Reads `rows` rows of BENCH_ORDERED, beginning at this number. */
    bench_call (*page)(kw_arena *arena, uint64_t from, uint32_t rows);
    /* These functions end the program if the result is wrong. */
    void (*check_put)(const void *result);
    void (*check_put_many)(const void *result);
    uint32_t (*check_get)(const void *result, uint64_t number); /* the generation */
    void (*check_remove)(const void *result);
    void (*check_put_if)(const void *result);
    int64_t (*check_increment)(const void *result); /* the new value */
    uint32_t (*check_page)(const void *result);     /* the number of rows */
    /* The number of threads of a whole scan of BENCH_SALTED, and the function that each runs. */
    unsigned scanners;
    void (*scan)(link_to *link, unsigned scanner, bench_visit visit, void *user);
} way;

extern const way way_direct;
/* Scan the table that was written through keywayd. A row that was written ten times makes a scan slower than
 * one that was written once, until HBase flushes, so only scans of the same table can be compared. */
extern const way way_direct_same;
/* The same, with getScannerResults instead of opened scanners. */
extern const way way_direct_same_stateless;
extern const way way_gateway;
/* A metric of keywayd's Admin.stats; ends the program if the name is unknown. */
double gateway_stat(const group_server *where, const char *name);

/* --- rows ------------------------------------------------------------------------------------- */

/* 100 by default; growth by record size changes it. At least 32. */
extern size_t bench_value_bytes;

/* "n%09" of the number, 10 bytes. */
kw_bytes bench_id(kw_arena *arena, uint64_t number);
/* The number of the counter's row. */
uint64_t bench_counter_row(uint64_t counter);
/* column 0..2 */
kw_bytes bench_value(kw_arena *arena, uint64_t number, uint32_t generation, unsigned column);
uint64_t bench_number_of_id(kw_bytes id);
/* The generation of the row's three values. Ends the program if they are not of one write. */
uint32_t bench_check_values(const char *side, uint64_t number, const kw_bytes values[3]);
