/* Shared by the parts of the benchmark: a store in its own folder, loops on their own threads. */
#pragma once

#include "base/thread.h"
#include "store/store.h"

typedef struct bench_loop {
    kw_thread thread;
    kw_loop *loop;
    kw_store_handle *handle;
    kw_task task; /* starts the work on the loop */
    void *work;
    size_t number;
} bench_loop;

/* Opens a store handle on each of `count` loops and runs begin(task) once on each. Returns after the work has
 * stopped every loop and every store handle is closed. */
void bench_on_loops(kw_store *store, bench_loop *loops, size_t count, void (*begin)(kw_task *task),
                    void *work);
bench_loop *bench_loop_of(kw_task *task);
/* Closes the store handle, then stops the loop. */
void bench_end_loop(bench_loop *loop);

/* Repeatedly appends `bytes` bytes to a file in the folder and syncs it; returns microseconds per sync. */
double bench_sync_us(const char *folder, size_t bytes);

typedef struct bench_puts {
    size_t callers;
    size_t cells; /* 1: of 100 bytes, 3: small */
    size_t loops;
    double seconds;
    double puts_per_s, commits_per_s, p50_us, p99_us, cpu_us; /* results; cpu per put, all threads */
    double sync_us, ratio;                                    /* measured in the same rounds */
} bench_puts;
void bench_run_puts(kw_store *store, bench_puts *puts);

void bench_make_table(kw_store *store, kw_bytes name);

#define BENCH_BATCH 2000
/* Sets the row, the cells and their number in the put of a row. What they borrow lives until the batch is
 * written: all rows of a batch have different slots below BENCH_BATCH. */
typedef void (*bench_fill)(void *user, size_t number, size_t slot, kw_write *put);
/* Makes the table, and puts so many rows in batches, without syncs. */
void bench_load(kw_store *store, kw_bytes table, size_t rows, bench_fill fill, void *user);

typedef struct bench_scans {
    size_t ranges, rows_per_range;
    bool reversed;
    double rows_per_s; /* result */
} bench_scans;
void bench_load_rows(kw_store *store, const bench_scans *scans);
void bench_run_scans(kw_store *store, bench_scans *scans);

typedef struct bench_gets {
    size_t callers;
    double seconds;
    double gets_per_s; /* result */
} bench_gets;
/* Gets random rows of those that bench_load_rows wrote. */
void bench_run_gets(kw_store *store, const bench_scans *rows, bench_gets *gets);

typedef struct bench_compressed {
    size_t rows;
    bool compressible;
    double get_us,
        latest_us; /* results: medians of one caller, of a get and of the latest 20 rows of 16 buckets */
} bench_compressed;
/* Loads the rows and compacts all files. */
void bench_load_compressed(kw_store *store, const bench_compressed *rows);
void bench_read_compressed(kw_store *store, bench_compressed *rows);
