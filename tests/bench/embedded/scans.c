/* Reads: one range scan per range, which fetches 500 rows at a time, all on one loop; gets of random rows in
 * closed loops. */
#include "bench.h"

#include <stdio.h>

#define TABLE KW_BYTES_LITERAL("scans")
#define PAGE_ROWS 500

static size_t
format_row(char row[24], size_t range, size_t number)
{
    return (size_t)snprintf(row, 24, "%02zx|%012zu", range, number);
}

/* --- loading ------------------------------------------------------------------------------------------ */

typedef struct loading {
    const bench_scans *scans;
    char rows[BENCH_BATCH][24];
} loading;

static void
fill_row(void *user, size_t number, size_t slot, kw_write *put)
{
    static const kw_cell cells[] = {{.family = {(const uint8_t *)"d", 1},
                                     .qualifier = {(const uint8_t *)"amount", 6},
                                     .value = {(const uint8_t *)"12345678", 8}},
                                    {.family = {(const uint8_t *)"d", 1},
                                     .qualifier = {(const uint8_t *)"status", 6},
                                     .value = {(const uint8_t *)"paid", 4}},
                                    {.family = {(const uint8_t *)"d", 1},
                                     .qualifier = {(const uint8_t *)"time", 4},
                                     .value = {(const uint8_t *)"2026-11-21T09:30:00Z", 20}}};
    loading *load = user;
    size_t ranges = load->scans->ranges;
    put->row = kw_bytes_of(load->rows[slot], format_row(load->rows[slot], number % ranges, number / ranges));
    put->cells = cells;
    put->cells_count = G_N_ELEMENTS(cells);
}

void
bench_load_rows(kw_store *store, const bench_scans *scans)
{
    loading *load = g_new0(loading, 1);
    load->scans = scans;
    bench_load(store, TABLE, scans->ranges * scans->rows_per_range, fill_row, load);
    g_free(load);
}

/* --- range scans -------------------------------------------------------------------------------------- */

typedef struct scanning {
    bench_scans *scans;
    bench_loop *loop;
    size_t running;
    size_t rows, cells;
} scanning;

typedef struct one_run {
    scanning *work;
    kw_range_scan *run;
} one_run;

static void fetch_done(void *user, kw_rows *rows, const kw_error *error);

static void
fetch(one_run *one)
{
    kw_range_scan_fetch(one->run, PAGE_ROWS, 1 << 20, true, KW_DEADLINE_NONE, fetch_done, one);
}

static void
fetch_done(void *user, kw_rows *rows, const kw_error *error)
{
    one_run *one = user;
    if (error)
        g_error("%s", error->text);
    one->work->rows += rows->count;
    for (size_t i = 0; i < rows->count; i++)
        one->work->cells += rows->rows[i].cells_count;
    bool end = rows->end;
    kw_rows_free(rows);
    if (!end) {
        fetch(one);
        return;
    }
    kw_range_scan_close(one->run);
    if (--one->work->running == 0)
        bench_end_loop(one->work->loop);
    g_free(one);
}

static void
begin_scan(kw_task *task)
{
    bench_loop *loop = bench_loop_of(task);
    scanning *work = loop->work;
    work->loop = loop;
    work->running = work->scans->ranges;
    for (size_t i = 0; i < work->scans->ranges; i++) {
        char start[24], stop[24];
        snprintf(start, sizeof start, "%02zx|", i);
        snprintf(stop, sizeof stop, "%02zx}", i);
        kw_range_scan_spec spec = {.table = TABLE,
                                   .start = kw_bytes_of_text(start),
                                   .stop = kw_bytes_of_text(stop),
                                   .reversed = work->scans->reversed};
        one_run *one = g_new0(one_run, 1);
        one->work = work;
        one->run = kw_store_handle_open_range_scan(loop->handle, &spec);
        fetch(one);
    }
}

void
bench_run_scans(kw_store *store, bench_scans *scans)
{
    scanning work = {.scans = scans};
    bench_loop loop;
    uint64_t began_ns = kw_clock_mono_ns();
    bench_on_loops(store, &loop, 1, begin_scan, &work);
    g_assert_cmpuint(work.rows, ==, scans->ranges * scans->rows_per_range);
    g_assert_cmpuint(work.cells, ==, 3 * work.rows);
    scans->rows_per_s = (double)work.rows / ((double)(kw_clock_mono_ns() - began_ns) / 1e9);
}

/* --- gets --------------------------------------------------------------------------------------------- */

typedef struct getting {
    const bench_scans *rows;
    bench_loop *loop;
    size_t callers, running;
    uint64_t until_ns, done;
} getting;

typedef struct get_caller {
    getting *work;
    char row[24];
    kw_get get;
} get_caller;

static void get_done(void *user, kw_rows *rows, const kw_error *error);

static void
start_get(get_caller *one)
{
    const bench_scans *rows = one->work->rows;
    size_t size =
        format_row(one->row, kw_random_u64() % rows->ranges, kw_random_u64() % rows->rows_per_range);
    one->get = (kw_get){.table = TABLE, .row = kw_bytes_of(one->row, size), .deadline = KW_DEADLINE_NONE};
    kw_store_handle_get(one->work->loop->handle, &one->get, get_done, one);
}

static void
get_done(void *user, kw_rows *rows, const kw_error *error)
{
    get_caller *one = user;
    if (error)
        g_error("%s", error->text);
    g_assert_cmpuint(rows->rows[0].cells_count, ==, 3);
    kw_rows_free(rows);
    one->work->done++;
    if (kw_clock_mono_ns() < one->work->until_ns) {
        start_get(one);
        return;
    }
    if (--one->work->running == 0)
        bench_end_loop(one->work->loop);
    g_free(one);
}

static void
begin_gets(kw_task *task)
{
    bench_loop *loop = bench_loop_of(task);
    getting *work = (getting *)loop->work + loop->number;
    work->loop = loop;
    work->running = work->callers;
    for (size_t i = 0; i < work->callers; i++) {
        get_caller *one = g_new0(get_caller, 1);
        one->work = work;
        start_get(one);
    }
}

void
bench_run_gets(kw_store *store, const bench_scans *rows, bench_gets *gets)
{
    uint64_t began_ns = kw_clock_mono_ns();
    getting works[2];
    bench_loop loops[2];
    size_t used = MIN(gets->callers, G_N_ELEMENTS(loops));
    for (size_t i = 0; i < used; i++)
        works[i] = (getting){.rows = rows,
                             .callers = gets->callers / used,
                             .until_ns = began_ns + (uint64_t)(gets->seconds * 1e9)};
    bench_on_loops(store, loops, used, begin_gets, works);
    gets->gets_per_s = (double)(works[0].done + (used > 1 ? works[1].done : 0)) /
                       ((double)(kw_clock_mono_ns() - began_ns) / 1e9);
}
