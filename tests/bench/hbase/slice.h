/* One slice of a closed loop: so many callers, each on its own connection with one call outstanding, for so
 * long; one thread drives them all. The first fifth is not measured. */
#pragma once

#include "way.h"

#include <sys/types.h>

typedef enum work {
    WORK_PUT,
    WORK_GET,
    WORK_GET_HOT, /* 90 % of the gets on one key */
    WORK_MIX_A,   /* as YCSB's: half reads, half updates, zipfian */
    WORK_MIX_B,   /* 95 % reads, 5 % updates, zipfian */
    WORK_MIX_E,   /* 95 % scans of up to 100 rows, 5 % inserts */
    WORK_REMOVE,  /* of BENCH_ORDERED, each row once */
    WORK_INCREMENT
} work;

/* One of the two ways, and what is known of its rows. */
typedef struct bench_side {
    const way *way;
    group_server place;
    pid_t process;         /* whose CPU time is measured; 0: nobody's */
    uint16_t thrift_port;  /* connections to it are counted; 0: not */
    uint64_t rows;         /* of BENCH_SALTED and of BENCH_ORDERED, to begin with */
    uint32_t *generations; /* by number: the last acknowledged put of BENCH_SALTED */
    bool *doubtful;        /* by number: one put more may have been applied */
    bool exact;            /* no row was written by two callers at once */
    uint64_t inserted;     /* the next number of BENCH_ORDERED */
    uint64_t removed;      /* the next of BENCH_ORDERED to remove */
    int64_t counted;       /* increments that were acknowledged */
} bench_side;

typedef struct figures {
    double per_second, p50_us, mean_us, p99_us;
    uint64_t calls;
    unsigned callers, connected, served; /* wanted, connected, with an answer */
    unsigned lost;                       /* connections that ended */
    uint64_t answered;                   /* calls, measured or not */
    double store_calls;                  /* gateway: calls to Thrift2, per answered call */
    double cpu_us;                       /* of the process, per call */
    double generator;                    /* CPU of this thread, as a share of one core */
    unsigned upstream;                   /* ESTABLISHED to thrift_port, behind the last call */
} figures;

/* Is this what a read of the row must give? */
bool side_is_right(const bench_side *side, uint64_t number, uint32_t generation);

figures slice_run(bench_side *side, work what, unsigned callers, int ms);

/* The same with what `thrift --gen c_glib` makes, a thread for each caller. WORK_PUT and WORK_GET. */
figures slice_run_generated(bench_side *side, work what, unsigned callers, int ms);

/* --- for those two ---------------------------------------------------------------------------- */

typedef struct slice_samples {
    uint32_t *ns;
    size_t count, room;
} slice_samples;
void slice_samples_add(slice_samples *to, uint64_t ns);
/* Sorts; fills p50_us, mean_us, p99_us. */
void slice_samples_tell(slice_samples *of, figures *to);
void slice_samples_clear(slice_samples *of);
/* User and system time, in microseconds; 0 for process 0. */
double slice_cpu_us(pid_t process);
