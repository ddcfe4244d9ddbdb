/* The two ways to the same rows that are held against each other: straight to Thrift2, as a client would that
 * computes its row keys itself, and through keywayd. A row has three cells of bench_value_bytes each under an
 * id; tables have the same 16 regions on both ways.
 *
 * A way makes the arguments of a call and reads its result; who sends it (a link, a caller_group) is another
 * matter. A value says which row and which write it is from (`generation`, from 1), so that everything that
 * is read can be checked. */
#pragma once

#include "link.h"

#define BENCH_BUCKETS 16
#define BENCH_FAMILY "d"

typedef enum bench_table {
    BENCH_SALTED, /* one byte of 16 buckets, then the id */
    BENCH_ORDERED /* the id alone */
} bench_table;

typedef struct bench_call {
    const kw_wire_method *method;
    const void *args; /* in the arena */
} bench_call;

/* A row that a scan or a page brought. */
typedef void (*bench_visit)(void *user, uint64_t number, uint32_t generation);

typedef struct way {
    const char *name;
    bench_call (*put)(kw_arena *arena, bench_table table, uint64_t number, uint32_t generation);
    bench_call (*put_many)(kw_arena *arena, bench_table table, uint64_t first, size_t count,
                           uint32_t generation);
    bench_call (*get)(kw_arena *arena, bench_table table, uint64_t number);
    bench_call (*remove)(kw_arena *arena, bench_table table, uint64_t number);
    /* Adds 1 to the one counter; NULL: this way has none. */
    bench_call (*increment)(kw_arena *arena);
    /* `rows` rows from this one on, of BENCH_ORDERED. */
    bench_call (*page)(kw_arena *arena, uint64_t from, uint32_t rows);
    /* These end the program when the answer is not what it must be. */
    void (*check_put)(const void *result);
    void (*check_put_many)(const void *result);
    uint32_t (*check_get)(const void *result, uint64_t number); /* the generation */
    void (*check_remove)(const void *result);
    int64_t (*check_increment)(const void *result); /* the new value */
    uint32_t (*check_page)(const void *result);     /* how many rows */
    /* Threads of a whole scan of BENCH_SALTED, and what each reads. */
    unsigned scanners;
    void (*scan)(link_to *link, unsigned scanner, bench_visit visit, void *user);
} way;

extern const way way_direct;
/* Scan the table that is written through keywayd: a row that was written ten times costs a scan more than one
 * that was written once, until HBase flushes, so only the same table can be compared. */
extern const way way_direct_same;
/* The same with getScannerResults instead of opened scanners. */
extern const way way_direct_same_stateless;
extern const way way_gateway;
/* A figure of keywayd's Admin.stats; ends the program when it has none of that name. */
double gateway_stat(const group_server *where, const char *name);

/* --- rows ------------------------------------------------------------------------------------- */

/* 100; the growth by record size changes it. At least 32. */
extern size_t bench_value_bytes;

/* "n%09" of the number, 10 bytes. */
kw_bytes bench_id(kw_arena *arena, uint64_t number);
/* column 0..2 */
kw_bytes bench_value(kw_arena *arena, uint64_t number, uint32_t generation, unsigned column);
uint64_t bench_number_of_id(kw_bytes id);
/* The generation of the row's three values; ends the program when they are not what was written at once. */
uint32_t bench_check_values(const char *who, uint64_t number, const kw_bytes values[3]);
