/* Shared by the measures. Each measure adds its rows to the table (table.h). */
#pragma once

#include "slice.h"

#include "thrift/keyway_wire.h"

#define ROUNDS_MOST 50
#define CALLERS_MOST 12

/* The sides of a comparison. SIDE_PROXY shares the rows of SIDE_DIRECT. */
enum { SIDE_DIRECT, SIDE_GATEWAY, SIDE_PROXY, SIDES };

typedef struct bench {
    bench_side sides[SIDES]; /* SIDE_DIRECT: direct calls, or the gateway of an earlier build */
    bool has_proxy;
    int rounds;
    int slice_ms;
    int warm_ms;
    bool generated;          /* callers are generated clients */
    bool unverified;         /* puts are not read back after each round */
    uint64_t growth_rows;    /* growth by rows: the largest number of rows */
    const char *grown_table; /* growth by rows: the store table, which is empty at first */
    unsigned callers[CALLERS_MOST];
    size_t callers_count;
} bench;

/* The ratio of one side to another: the median over the rounds, and the interval that contains the
 * true median with 95 % confidence (the whole range if there are fewer than 6 rounds). */
typedef struct interval {
    double median, low, high;
} interval;

/* Results are medians over the rounds. */
typedef struct compared {
    slice_result of[SIDES];
    interval rate, p50, mean, p99;        /* gateway to direct */
    interval cpu;                         /* of the gateway, us per call */
    bool has_proxy;                       /* of[SIDE_PROXY] and the following members are set */
    interval to_proxy_rate, to_proxy_p50; /* gateway to proxy */
    interval proxy_rate, proxy_p50;       /* proxy to direct */
} compared;

/* A member of a result, for medians and ratios of it. */
typedef double (*rounds_member)(const slice_result *of);
double rounds_rate(const slice_result *of);
double rounds_p50(const slice_result *of);

/* Alternating slices of the sides; which one is first alternates. proxy: the proxy is a side, if there is
 * one. Puts are verified after the last round. */
compared rounds_compare(bench *all, work what, unsigned callers, bool proxy);
double rounds_median(double *values, int count);
/* Sorts the values. */
interval rounds_interval(double *values, int count);

/* Reads all rows back, checks them and returns rows per second. */
double scan_whole(bench_side *side);

/* --- measures --------------------------------------------------------------------------------- */

void measure_calls(bench *all, work what);
void measure_hot(bench *all);
void measure_connected(bench *all);
void measure_latest(bench *all);
void measure_order(bench *all);
void measure_window(bench *all);
void measure_scan(bench *all);
void measure_mixes(bench *all);
/* The cost of a gateway relative to one of an earlier build. stamped: its tables have order: stamp. only: a
 * selection of put, get, remove and increment. */
void measure_builds(bench *all, bool stamped, const char *const *only);

/* Atomic operations of tables with order: stamp, compared with those of HBase, and what they cost puts. Loads
 * its own tables. only: a selection of increment, put_if, sums and put. */
void measure_atomics(bench *all, const char *const *only);

/* Prints the results of one kind as CSV; false if the kind is unknown. */
bool growth_run(bench *all, const char *kind);

/* --- queries, for measures and growth ------------------------------------------------------- */

typedef struct asked {
    double p50_us, p99_us;
    double rows_scanned; /* per query, mean */
    double calls;        /* to Thrift2 per query */
    uint64_t queries;
} asked;

/* Loads events, numbered from `first`: the id is the number, and the time is query_event_ms. */
void query_load_events(const group_server *where, const char *table, uint64_t first, uint64_t count);
int64_t query_event_ms(uint64_t number);
/* The event's id and ts. */
kw_api_Record query_event_key(kw_arena *arena, uint64_t number);
/* Runs the query once and checks the result; returns the number of rows read. */
typedef uint64_t (*query_once)(link_to *link, kw_arena *arena, void *user);
/* Repeats the query; the caller sets `calls` of the result. */
asked query_repeat(link_to *link, int ms, query_once ask, void *user);
/* Repeats the query for the 20 newest rows of the table. */
asked query_latest(const group_server *where, const char *table, int ms);
