/* One slice of a closed loop: many callers, each with its own connection and one outstanding call, for a
 * given time. One thread drives all of them. The first fifth of the time is not measured. */
#pragma once

#include "way.h"

#include <sys/types.h>

typedef enum work {
    WORK_PUT,
    WORK_GET,
    WORK_GET_HOT,   /* 90 % of the gets on one key */
    WORK_GET_ONE,   /* all gets on one key */
    WORK_MIX_A,     /* like YCSB's: half reads, half updates, zipfian */
    WORK_MIX_B,     /* 95 % reads, 5 % updates, zipfian */
    WORK_MIX_E,     /* 95 % scans of up to 100 rows, 5 % inserts */
    WORK_REMOVE,    /* removes rows of BENCH_ORDERED, each once */
    WORK_INCREMENT, /* of one counter; a single caller increments all of them, at random */
    WORK_PUT_IF     /* each replaces the last put of its row */
} work;

/* One of the two ways, and the state of its rows. */
typedef struct bench_side {
    const way *way;
    bench_table table; /* of puts, gets, increments and conditional puts */
    group_server place;
    pid_t process;         /* process whose CPU time is measured; 0: none */
    const pid_t *servers;  /* those of HBase and Thrift2, ended by 0; NULL: unknown */
    uint16_t thrift_port;  /* count connections to this port; 0: do not */
    uint64_t rows;         /* initial rows of the table and of BENCH_ORDERED */
    uint32_t *generations; /* by number: the last acknowledged put of the table */
    bool *doubtful;        /* by number: a put of unknown outcome followed */
    bool exact;            /* no row was written by two callers at once */
    uint64_t inserted;     /* the next number of BENCH_ORDERED */
    uint64_t removed;      /* the next number of BENCH_ORDERED to remove */
    int64_t counted;       /* acknowledged increments */
} bench_side;

typedef struct slice_result {
    double per_second, p50_us, mean_us, p99_us;
    uint64_t calls;
    unsigned callers, connected, served; /* requested, connected, with at least one reply */
    unsigned lost;                       /* closed connections */
    uint64_t answered;                   /* calls, measured or not */
    double store_calls;                  /* gateway: calls to Thrift2, per answered call */
    double cpu_us;                       /* of the process, per call */
    double servers_cpu_us;               /* of HBase and Thrift2, per call */
    double generator;                    /* CPU of this thread, as a share of one core */
    unsigned upstream;                   /* established connections to thrift_port, after the last call */
} slice_result;

/* True if a read of the row can return this generation. */
bool side_is_right(const bench_side *side, uint64_t number, uint32_t generation);

slice_result slice_run(bench_side *side, work what, unsigned callers, int ms);

/* The same with clients that `thrift --gen c_glib` generated, one thread per caller. WORK_PUT and WORK_GET
 * only. */
slice_result slice_run_generated(bench_side *side, work what, unsigned callers, int ms);

/* --- shared by both kinds of callers ---------------------------------------------------------- */

typedef struct slice_samples {
    uint32_t *ns;
    size_t count, capacity;
} slice_samples;
void slice_samples_add(slice_samples *to, uint64_t ns);
/* Sorts; fills p50_us, mean_us, p99_us. */
void slice_samples_summarize(slice_samples *of, slice_result *to);
void slice_samples_clear(slice_samples *of);
