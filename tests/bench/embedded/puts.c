/* Callers in closed loops: each starts its next put when the previous one is acknowledged. Latencies are of
 * all puts. Also contains the loops that all parts share. */
#include "bench.h"

#include "base/metrics.h"

#include <stdio.h>
#include <sys/resource.h>

typedef struct loop_work loop_work;

typedef struct caller {
    loop_work *work;
    uint64_t number;
    uint64_t began_ns;
    char row[17];
    kw_cell cells[3];
    kw_write write;
} caller;

struct loop_work {
    bench_loop *loop;
    caller *callers;
    size_t callers_count;
    size_t running;
    uint64_t until_ns;
    uint64_t done;
    kw_histogram *latencies;
};

static const char *const values[] = {"12345678", "paid", "2026-11-21T09:30:00Z"};
static const char *const names[] = {"amount", "status", "time"};

bench_loop *
bench_loop_of(kw_task *task)
{
    return (bench_loop *)(void *)((char *)task - offsetof(bench_loop, task));
}

static void
handle_closed(void *user)
{
    kw_loop_stop(((bench_loop *)user)->loop);
}

void
bench_end_loop(bench_loop *loop)
{
    kw_store_handle_close(loop->handle, handle_closed, loop);
}

static void
run_loop(void *user)
{
    kw_loop_run(((bench_loop *)user)->loop);
}

void
bench_on_loops(kw_store *store, bench_loop *loops, size_t count, void (*begin)(kw_task *task), void *work)
{
    for (size_t i = 0; i < count; i++) {
        loops[i].loop = kw_loop_new();
        loops[i].handle = kw_store_open_handle(store, loops[i].loop);
        loops[i].task.run = begin;
        loops[i].work = work;
        loops[i].number = i;
        kw_thread_start(&loops[i].thread, "bench-loop", run_loop, &loops[i]);
        kw_loop_post(loops[i].loop, &loops[i].task);
    }
    for (size_t i = 0; i < count; i++) {
        kw_thread_join(&loops[i].thread);
        kw_loop_free(loops[i].loop);
    }
}

/* Two numbers as 16 digits, built quickly: the benchmark's own CPU time counts against the store. */
static void
name_row(char row[17], uint32_t first, uint32_t second)
{
    uint64_t both = (uint64_t)first << 32 | second;
    for (int i = 15; i >= 0; i--, both >>= 4)
        row[i] = "0123456789abcdef"[both & 15];
}

static void put_done(void *user, kw_outcome outcome, const kw_error *error);

static void
start_put(caller *one)
{
    name_row(one->row, (uint32_t)kw_random_u64(), (uint32_t)one->number++);
    one->write.row = kw_bytes_of(one->row, 16);
    one->write.timestamp = kw_clock_wall_ms();
    one->began_ns = kw_clock_mono_ns();
    kw_store_handle_write(one->work->loop->handle, &one->write, put_done, one);
}

static void
put_done(void *user, kw_outcome outcome, const kw_error *error)
{
    caller *one = user;
    if (outcome != KW_OUTCOME_OK)
        g_error("%s", error->text);
    uint64_t now_ns = kw_clock_mono_ns();
    kw_histogram_add_us(one->work->latencies, (now_ns - one->began_ns) / 1000);
    one->work->done++;
    if (now_ns < one->work->until_ns) {
        start_put(one);
    } else if (--one->work->running == 0) {
        bench_end_loop(one->work->loop);
    }
}

static void
begin_puts(kw_task *task)
{
    bench_loop *loop = bench_loop_of(task);
    loop_work *work = (loop_work *)loop->work + loop->number;
    work->loop = loop;
    for (size_t i = 0; i < work->callers_count; i++)
        start_put(&work->callers[i]);
    if (work->callers_count == 0)
        bench_end_loop(loop);
}

static void
prepare_callers(loop_work *work, size_t count, size_t cells)
{
    static const uint8_t large[100];
    work->callers = g_new0(caller, count);
    work->callers_count = work->running = count;
    for (size_t i = 0; i < count; i++) {
        caller *one = &work->callers[i];
        one->work = work;
        for (size_t k = 0; k < 3; k++)
            one->cells[k] = (kw_cell){.family = KW_BYTES_LITERAL("d"),
                                      .qualifier = kw_bytes_of_text(names[k]),
                                      .value = kw_bytes_of_text(values[k])};
        one->write = (kw_write){.kind = KW_WRITE_PUT,
                                .table = KW_BYTES_LITERAL("puts"),
                                .cells = one->cells,
                                .cells_count = cells,
                                .deadline = KW_DEADLINE_NONE};
        if (cells == 1)
            one->cells[0].value = kw_bytes_of(large, sizeof large);
    }
}

static double
cpu_us(void)
{
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1e6 +
           (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

void
bench_run_puts(kw_store *store, bench_puts *puts)
{
    bench_loop loops[8];
    loop_work works[8];
    kw_histogram latencies = {0};
    g_assert(puts->loops <= 8);
    size_t used = MIN(puts->loops, puts->callers);
    bench_make_table(store, KW_BYTES_LITERAL("puts"));
    uint64_t began_ns = kw_clock_mono_ns();
    int64_t commits = kw_metrics_read(KW_METRIC_commits);
    for (size_t i = 0; i < used; i++) {
        works[i] =
            (loop_work){.until_ns = began_ns + (uint64_t)(puts->seconds * 1e9), .latencies = &latencies};
        prepare_callers(&works[i], puts->callers / used, puts->cells);
    }
    double cpu_before_us = cpu_us();
    bench_on_loops(store, loops, used, begin_puts, works);
    double seconds = (double)(kw_clock_mono_ns() - began_ns) / 1e9;
    uint64_t done = 0;
    for (size_t i = 0; i < used; i++) {
        done += works[i].done;
        g_free(works[i].callers);
    }
    puts->puts_per_s = (double)done / seconds;
    puts->cpu_us = (cpu_us() - cpu_before_us) / (double)done;
    puts->commits_per_s = (double)(kw_metrics_read(KW_METRIC_commits) - commits) / seconds;
    puts->p50_us = (double)kw_histogram_quantile_us(&latencies, 0.5);
    puts->p99_us = (double)kw_histogram_quantile_us(&latencies, 0.99);
}

/* --- tables ----------------------------------------------------------------------------------------- */

static void
table_made(void *user, bool created, const kw_error *error)
{
    (void)created;
    if (error)
        g_error("%s", error->text);
    bench_loop *loop = user;
    bench_end_loop(loop);
}

static void
begin_table(kw_task *task)
{
    bench_loop *loop = bench_loop_of(task);
    kw_store_handle_create_table(loop->handle, loop->work, table_made, loop);
}

void
bench_make_table(kw_store *store, kw_bytes name)
{
    kw_family_spec family = {
        .name = "d", .block_cache = -1, .in_memory = -1, .keep_deleted_cells = -1, .replication_scope = -1};
    kw_table_spec spec = {
        .name = name, .families = &family, .families_count = 1, .deadline = KW_DEADLINE_NONE};
    bench_loop loop;
    bench_on_loops(store, &loop, 1, begin_table, &spec);
}
