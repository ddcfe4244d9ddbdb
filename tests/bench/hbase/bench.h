/* What the measures share. Each measure adds its rows to the table (table.h). */
#pragma once

#include "slice.h"

#include "thrift/keyway_wire.h"

#define ROUNDS_MOST 50
#define CALLERS_MOST 12

typedef struct bench {
    bench_side sides[2]; /* direct or the gateway of an earlier build, gateway */
    int rounds;
    int slice_ms;
    int warm_ms;
    bool generated;          /* callers are generated clients */
    bool unverified;         /* puts are not read back after each round */
    uint64_t growth_rows;    /* growth by rows goes up to so many ... */
    const char *grown_table; /* ... in this store table, which was empty */
    unsigned callers[CALLERS_MOST];
    size_t callers_count;
} bench;

/* Of each round's second way / first way: the median over the rounds, and the interval that holds the true
 * median with 95 % confidence (the widest of all when there are fewer than 6 rounds). */
typedef struct interval {
    double median, low, high;
} interval;

/* Figures are medians over the rounds. */
typedef struct compared {
    figures of[2];
    interval rate, p50, mean, p99;
} compared;

/* Slices of the two ways in turn, changing places from round to round. Puts are verified after each round. */
compared rounds_compare(bench *all, work what, unsigned callers);
double rounds_median(double *values, int count);

/* Reads everything back, checks it and returns rows a second. */
double scan_whole(bench_side *side);

/* --- measures --------------------------------------------------------------------------------- */

void measure_calls(bench *all, work what);
void measure_hot(bench *all);
void measure_connected(bench *all);
void measure_latest(bench *all);
void measure_order(bench *all);
void measure_scan(bench *all);
void measure_mixes(bench *all);
/* What a gateway costs beside one of an earlier build; stamped: its tables have order: stamp;
 * only: which of put, get, remove and increment. */
void measure_builds(bench *all, bool stamped, const char *const *only);

/* Figures of one kind as CSV; false: no such kind. */
bool growth_run(bench *all, const char *kind);

/* --- queries, for measures and growth ------------------------------------------------------- */

typedef struct asked {
    double p50_us, p99_us;
    double rows_scanned; /* per query, mean */
    double calls;        /* to Thrift2 per query */
    uint64_t queries;
} asked;

/* Events e.g. "events", numbered from `first`: the id of that number, query_event_ms as their time. */
void query_load_events(const group_server *where, const char *table, uint64_t first, uint64_t count);
int64_t query_event_ms(uint64_t number);
/* Its id and ts. */
kw_api_Record query_event_key(kw_arena *arena, uint64_t number);
/* Asks and checks the answer once; returns how many rows were read for it. */
typedef uint64_t (*query_once)(link_to *link, kw_arena *arena, void *user);
/* Again and again; `calls` is the caller's business. */
asked query_repeat(link_to *link, int ms, query_once ask, void *user);
/* The 20 newest of the table, again and again. */
asked query_latest(const group_server *where, const char *table, int ms);
