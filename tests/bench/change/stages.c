/* One stage for each version of a change. A round of a stage measures each kind of call on both gateways, in
 * one or several slices on each in turn; which gateway is first alternates. The copy and the comparison run
 * only during the slices of the gateway whose rule is changed. */
#include "bench.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define ROUNDS_MAX 99
#define ROUND_SLICES_MAX 8
#define SLICES_MAX (ROUNDS_MAX * ROUND_SLICES_MAX)
/* A slice of the copy ends within this time after a pause. On HBase, another gateway can do it, which sees
 * the order later. */
#define SLICE_END_US 30000
#define SLICE_END_HBASE_US 600000
#define POLL_US 2000
#define RESUME_MOST_US 5000000
#define RESUME_PASS_US 200000
/* In a stage with a task, calls are made for this time before those of a slice, and gets while the task is
 * resumed. Without callers, the task would use the whole machine, and its garbage in the store would slow
 * down the calls of the slice. */
#define WARM_UP_S 0.2

typedef enum measurement { PUT, RATE, REMOVE, GET, SCAN, MEASUREMENTS } measurement;

static const struct {
    const char *name;
    double limit; /* of the ratio changed / unchanged */
    bool at_least;
    int slices; /* of a round, on each gateway: more if the ratios vary more than the target allows */
} wanted[MEASUREMENTS] = {
    [PUT] = {"put, 1 caller, p50 us", 2.1, false, 1},
    [RATE] = {"put, 64 callers, calls/s", 0.45, true, 2},
    [REMOVE] = {"remove, 1 caller, p50 us", 3, false, 1},
    [GET] = {"get, 1 caller, p50 us", 1.05, false, 4},
    [SCAN] = {"scan, rows/s", 0.9, true, ROUND_SLICES_MAX},
};

#define GAP_FACTOR 2
#define GAP_MORE_US 10000
#define COPY_LIMIT 0.7
#define SWITCH_LIMIT_S 5
#define HELD_LIMIT_S 4
#define MEMORY_LIMIT_MIB 64
#define BOTH_LIMIT 1.5

#define BEFORE "before" /* its ratios show the noise, and have no targets */

typedef enum side { UNCHANGED, CHANGED, SIDES } side;
typedef enum task { NO_TASK, COPY, COMPARE, PASS } task; /* of the changed gateway */

typedef struct stage {
    task task;
    int rounds;
    int slices[MEASUREMENTS]; /* on each gateway */
    double values[MEASUREMENTS][SIDES][SLICES_MAX], cpu_us[MEASUREMENTS][SIDES][SLICES_MAX]; /* per call */
    GArray *gaps[SIDES];
} stage;

typedef struct bench {
    const bench_options *options;
    bench_gateway *gateways[SIDES];
    uint64_t before_change; /* rows put into the changed table before the change; 0: it has not begun */
    bool switched;          /* the changed gateway reads the new rows */
    const char *stage;
    unsigned targets;
    GString *missed; /* a line for each missed target */
    unsigned missed_count;
} bench;

static int
by_value(const void *a, const void *b)
{
    double one = *(const double *)a, other = *(const double *)b;
    return (one > other) - (one < other);
}

static double
median(const double *values, int count)
{
    double sorted[SLICES_MAX];
    for (int i = 0; i < count; i++)
        sorted[i] = values[i];
    qsort(sorted, (size_t)count, sizeof *sorted, by_value);
    return count ? (sorted[(count - 1) / 2] + sorted[count / 2]) / 2 : 0;
}

/* Ends the line that has the value. */
static void
target(bench *self, const char *name, double value, bool met)
{
    printf("%s\n", met ? "  met" : "  MISSED");
    self->targets++;
    if (met)
        return;
    self->missed_count++;
    g_string_append_printf(self->missed, "  %s: %s (%.2f)\n", self->stage, name, value);
}

/* --- slices --------------------------------------------------------------------------------------- */

static bool
task_runs(const bench *self, task wanted_task)
{
    bench_progress progress = bench_change_progress(self->gateways[CHANGED]);
    if (wanted_task == PASS)
        return progress.all_compared && !progress.ready;
    return wanted_task == COPY ? !progress.all_copied : progress.all_copied && !progress.all_compared;
}

/* Rows copied and compared. */
static int64_t
task_rows(const bench *self)
{
    bench_progress progress = bench_change_progress(self->gateways[CHANGED]);
    return progress.copied + progress.compared;
}

/* After a resume, returns when the first rows are done. A pass does not count its rows. */
static void
pause_task(const bench *self, task of, bool pause)
{
    const bench_gateway *gateway = self->gateways[CHANGED];
    int64_t rows = pause ? 0 : task_rows(self);
    int most_us = pause ? 0 : of == PASS ? RESUME_PASS_US : RESUME_MOST_US;
    bench_order_change(gateway, pause ? BENCH_PAUSE : BENCH_RESUME);
    if (pause)
        g_usleep(gateway->on_hbase ? SLICE_END_HBASE_US : SLICE_END_US);
    for (int waited_us = 0; waited_us < most_us && task_rows(self) == rows; waited_us += POLL_US)
        g_usleep(POLL_US);
}

static bench_work
work_of(bench *self, side on, measurement of, double seconds)
{
    bench_gateway *gateway = self->gateways[on];
    bool by_time = on == CHANGED && self->switched;
    const bench_call kinds[MEASUREMENTS] = {[PUT] = BENCH_PUT,
                                            [RATE] = BENCH_PUT,
                                            [REMOVE] = BENCH_REMOVE,
                                            [GET] = BENCH_GET,
                                            [SCAN] = by_time ? BENCH_SCAN_BY_TIME : BENCH_SCAN};
    return (bench_work){.call = kinds[of],
                        .callers = of == RATE ? BENCH_CALLERS : 1,
                        .seconds = seconds,
                        .number = of == REMOVE ? &gateway->next_remove : &gateway->next_put,
                        .random_below = of == GET || of == SCAN ? (uint64_t)self->options->rows / 2 : 0};
}

static void
warm_up(bench *self, side on, measurement of)
{
    bench_work work = work_of(self, on, of, WARM_UP_S);
    g_array_unref(bench_callers_run(self->gateways[on]->callers, &work).replies);
}

typedef struct resuming {
    const bench *bench;
    task task;
    _Atomic bool ended;
} resuming;

static gpointer
resume(gpointer user)
{
    resuming *self = user;
    pause_task(self->bench, self->task, false);
    self->ended = true;
    return NULL;
}

static void
resume_beside_gets(bench *self, task of)
{
    resuming now = {.bench = self, .task = of};
    GThread *thread = g_thread_new("resume", resume, &now);
    while (!now.ended)
        warm_up(self, CHANGED, GET);
    g_thread_join(thread);
}

static double
calls(bench *self, side on, measurement of, stage *now)
{
    bench_gateway *gateway = self->gateways[on];
    bench_work work = work_of(self, on, of, self->options->seconds);
    double cpu_us = bench_cpu_us(gateway);
    bench_slice slice = bench_callers_run(gateway->callers, &work);
    now->cpu_us[of][on][now->slices[of]] = (bench_cpu_us(gateway) - cpu_us) / slice.replies->len;
    double value = of == RATE   ? slice.calls_per_s
                   : of == SCAN ? slice.calls_per_s * BENCH_SCAN_ROWS
                                : bench_percentile_us(slice.replies, 0.5);
    if (of == RATE)
        g_array_append_vals(now->gaps[on], slice.replies->data, slice.replies->len);
    g_array_unref(slice.replies);
    return value;
}

static void
slice(bench *self, stage *now, side on, measurement of)
{
    bool with_task = now->task != NO_TASK && on == CHANGED;
    if (with_task)
        resume_beside_gets(self, now->task);
    if (now->task != NO_TASK)
        warm_up(self, on, of);
    now->values[of][on][now->slices[of]] = calls(self, on, of, now);
    if (with_task)
        pause_task(self, now->task, true);
}

static measurement
end_of_measurements(const bench *self)
{
    return self->options->puts ? RATE + 1 : MEASUREMENTS;
}

/* False if the task ended meanwhile. */
static bool
run_slices(bench *self, stage *now, measurement of)
{
    for (int i = 0; i < wanted[of].slices; i++) {
        side first = now->slices[of] % 2 ? CHANGED : UNCHANGED;
        guint gaps[SIDES] = {now->gaps[UNCHANGED]->len, now->gaps[CHANGED]->len};
        slice(self, now, first, of);
        slice(self, now, 1 - first, of);
        if (now->task != NO_TASK && !task_runs(self, now->task)) {
            g_array_set_size(now->gaps[UNCHANGED], gaps[UNCHANGED]);
            g_array_set_size(now->gaps[CHANGED], gaps[CHANGED]);
            return false;
        }
        now->slices[of]++;
    }
    return true;
}

/* False if the task ended before the end of the round. */
static bool
run_round(bench *self, stage *now)
{
    for (measurement of = 0; of < end_of_measurements(self); of++)
        if (!run_slices(self, now, of))
            return false;
    return true;
}

/* --- stages --------------------------------------------------------------------------------------- */

static double
median_ratio(double values[SIDES][SLICES_MAX], int count)
{
    double ratios[SLICES_MAX];
    for (int i = 0; i < count; i++)
        ratios[i] = values[CHANGED][i] / values[UNCHANGED][i];
    return median(ratios, count);
}

static void
print_measurement(bench *self, stage *now, measurement of)
{
    int count = now->slices[of];
    double ratio = median_ratio(now->values[of], count), limit = wanted[of].limit;
    printf("  %-28s %10.0f %10.0f   %5.2f  CPU %5.2f  (%s %.2f)", wanted[of].name,
           median(now->values[of][UNCHANGED], count), median(now->values[of][CHANGED], count), ratio,
           median_ratio(now->cpu_us[of], count), wanted[of].at_least ? "at least" : "at most", limit);
    if (g_str_equal(self->stage, BEFORE))
        printf("\n");
    else
        target(self, wanted[of].name, ratio, wanted[of].at_least ? ratio >= limit : ratio <= limit);
}

static void
print_gaps(bench *self, const stage *now)
{
    double before_us = bench_percentile_us(now->gaps[UNCHANGED], 0.999);
    double after_us = bench_percentile_us(now->gaps[CHANGED], 0.999);
    printf("  %-28s %10.0f %10.0f   %5.2f  (at most %d and 10 ms)", "put, 64 callers, p99.9 us", before_us,
           after_us, before_us > 0 ? after_us / before_us : 0, GAP_FACTOR);
    if (g_str_equal(self->stage, BEFORE))
        printf("\n");
    else
        target(self, "put, 64 callers, p99.9 us", after_us, after_us <= GAP_FACTOR * before_us + GAP_MORE_US);
}

/* Rows that were put during the change have one cell more, which scans read. */
static void
print_new_rows(const bench *self)
{
    double rows = (double)self->gateways[CHANGED]->next_put;
    if (self->before_change)
        printf("rows put since the change began: %.0f %%\n",
               100 * (rows - (double)self->before_change) / rows);
}

static void
print_load(void)
{
    g_autofree char *load = NULL;
    if (g_file_get_contents("/proc/loadavg", &load, NULL, NULL))
        printf("load of the machine: %s", load);
}

static void
print_stage(bench *self, const char *name, stage *now)
{
    printf("\n%s, %d rounds: without a change, with it, median ratio, ratio of the CPU time of keywayd per "
           "call\n",
           name, now->rounds);
    for (measurement of = 0; of < end_of_measurements(self); of++)
        print_measurement(self, now, of);
    print_gaps(self, now);
    print_new_rows(self);
}

static void
run_stage(bench *self, const char *name, task with)
{
    stage now = {.task = with};
    self->stage = name;
    if (self->options->orders && !g_str_equal(name, BEFORE))
        return;
    for (side on = 0; on < SIDES; on++)
        now.gaps[on] = g_array_new(FALSE, FALSE, sizeof(bench_reply));
    while (now.rounds < self->options->rounds && run_round(self, &now))
        now.rounds++;
    if (now.rounds > 0)
        print_stage(self, name, &now);
    else
        printf("\n%s: ended before the end of the first round\n", name);
    print_load();
    fflush(stdout);
    for (side on = 0; on < SIDES; on++)
        g_array_unref(now.gaps[on]);
}

#define RATE_SLICES 4 /* longer than a slice of calls: progress is counted in steps of 500 rows */

/* --- copying -------------------------------------------------------------------------------------- */

static double
put_rate(const bench *self)
{
    bench_gateway *gateway = self->gateways[UNCHANGED];
    bench_work work = {.call = BENCH_PUT_MANY,
                       .callers = 1,
                       .seconds = RATE_SLICES * self->options->seconds,
                       .number = &gateway->next_put};
    bench_slice puts = bench_callers_run(gateway->callers, &work);
    g_array_unref(puts.replies);
    return puts.calls_per_s * BENCH_BATCH;
}

/* Rows per second of the copy, or of the comparison. */
static double
task_rate(const bench *self, task of)
{
    const bench_gateway *gateway = self->gateways[CHANGED];
    pause_task(self, of, false);
    bench_progress before = bench_change_progress(gateway);
    gint64 began_us = g_get_monotonic_time();
    g_usleep((gulong)(RATE_SLICES * self->options->seconds * 1e6));
    bench_progress after = bench_change_progress(gateway);
    double took_s = (double)(g_get_monotonic_time() - began_us) / 1e6;
    pause_task(self, of, true);
    return (double)(of == COPY ? after.copied - before.copied : after.compared - before.compared) / took_s;
}

typedef struct rates {
    int rounds;
    double direct[ROUNDS_MAX], puts[ROUNDS_MAX], task[ROUNDS_MAX];
} rates;

static void
print_rates(bench *self, rates *all, task of)
{
    double to_puts[ROUNDS_MAX], to_direct[ROUNDS_MAX];
    for (int i = 0; i < all->rounds; i++) {
        to_puts[i] = all->task[i] / all->puts[i];
        to_direct[i] = all->task[i] / all->direct[i];
    }
    double ratio = median(to_puts, all->rounds);
    self->stage = of == COPY ? "copy without callers" : "comparison without callers";
    printf("\n%s, %d rounds: %.0f rows/s; puts of 100 rows per call through the gateway %.0f rows/s, median "
           "ratio "
           "%.2f",
           self->stage, all->rounds, median(all->task, all->rounds), median(all->puts, all->rounds), ratio);
    if (self->options->hbase) {
        printf("; to Thrift2 %.0f rows/s", median(all->direct, all->rounds));
        ratio = median(to_direct, all->rounds);
        printf(", median ratio %.2f", ratio);
    }
    if (of == COMPARE || all->rounds == 0) {
        printf("\n");
        return;
    }
    printf("  (at least %.1f)", COPY_LIMIT);
    target(self, "rows/s as a share of puts", ratio, ratio >= COPY_LIMIT);
}

/* Compares the copy with puts of 100 rows per call, one call at a time. */
static void
measure_task(bench *self, task of)
{
    rates all = {0};
    bench_direct *direct = NULL;
    if (self->options->puts)
        return;
    if (self->options->hbase) /* Thrift2 closes a connection that was idle for a minute */
        direct = bench_direct_open(self->options->hbase, self->gateways[CHANGED]->name);
    for (; all.rounds < self->options->rounds; all.rounds++) {
        if (direct)
            all.direct[all.rounds] = bench_direct_puts(direct, RATE_SLICES * self->options->seconds);
        all.puts[all.rounds] = put_rate(self);
        all.task[all.rounds] = task_rate(self, of);
        if (!task_runs(self, of))
            break;
    }
    if (direct)
        bench_direct_close(direct);
    print_rates(self, &all, of);
}

static void
wait_for_task(const bench *self, task of)
{
    bench_order_change(self->gateways[CHANGED], BENCH_RESUME);
    for (;;) {
        bench_progress progress = bench_change_progress(self->gateways[CHANGED]);
        if (of == COPY ? progress.all_copied : of == COMPARE ? progress.all_compared : progress.ready)
            return;
        g_usleep(10000);
    }
}

/* --- orders --------------------------------------------------------------------------------------- */

static void
print_held(bench *self, const bench_ordered *ordered)
{
    printf("%s: passes until version 3 %.2f s; atomic operations held for %.2f s (at most %d s)", self->stage,
           ordered->passes_s, ordered->held_s, HELD_LIMIT_S);
    target(self, "seconds held", ordered->held_s, ordered->held_s <= HELD_LIMIT_S);
}

static void
note_order(bench *self, bench_order order, const bench_ordered *ordered)
{
    if (ordered->good)
        self->switched = order != BENCH_REVERSE;
}

/* Gives the order while 64 callers put. The time of a reversal and of a completion on HBase depends on what
 * was written since. */
static void
order_under_load(bench *self, const char *name, bench_order order)
{
    const bench_gateway *gateway = self->gateways[CHANGED];
    bench_ordered ordered = bench_order_under_puts(self->gateways[CHANGED], order);
    bool limited = order == BENCH_SWITCH || !gateway->on_hbase;
    note_order(self, order, &ordered);
    self->stage = name;
    printf("\n%s with 64 callers: %.2f s, %.0f puts/s, the longest put %.0f ms", name, ordered.took_s,
           ordered.puts_per_s, ordered.longest_us / 1000);
    if (limited)
        printf(" (at most %d s)", SWITCH_LIMIT_S);
    if (limited || !ordered.good)
        target(self, "seconds", ordered.took_s, ordered.good && ordered.took_s <= SWITCH_LIMIT_S);
    else
        printf("\n");
    if (gateway->on_hbase && order != BENCH_COMPLETE)
        print_held(self, &ordered);
}

/* Gives the order while one caller gets. Returns the p50 of the gets that read both rows, relative to those
 * before the order; 0: there were none. */
static double
order_under_gets(bench *self, const char *name, bench_order order)
{
    bench_ordered ordered =
        bench_order_under_gets(self->gateways[CHANGED], order, (uint64_t)self->options->rows / 2);
    note_order(self, order, &ordered);
    double ratio = ordered.both_gets > 0 && ordered.before_us > 0 ? ordered.both_us / ordered.before_us : 0;
    self->stage = name;
    printf("\n%s with one caller that gets, %d gateways: %.2f s", name, BENCH_GATEWAYS, ordered.took_s);
    if (order == BENCH_SWITCH) {
        printf(" (at most %d s)", SWITCH_LIMIT_S);
        target(self, "seconds", ordered.took_s, ordered.good && ordered.took_s <= SWITCH_LIMIT_S);
    } else {
        printf("\n");
    }
    print_held(self, &ordered);
    printf("get p50: before the order %.0f us; %u gets that read both rows %.0f us, ratio %.2f\n",
           ordered.before_us, ordered.both_gets, ordered.both_us, ratio);
    return ratio;
}

/* Switches and reverses, and switches at the end, while one caller gets. */
static void
orders_under_gets(bench *self)
{
    double ratios[2 * ROUNDS_MAX];
    int count = 0;
    for (int i = 0; i < 2 * self->options->rounds - 1; i++) {
        bool reverse = i % 2 == 1;
        double ratio = reverse ? order_under_gets(self, "reverse", BENCH_REVERSE)
                               : order_under_gets(self, "switch", BENCH_SWITCH);
        if (ratio > 0)
            ratios[count++] = ratio;
        if (reverse)
            wait_for_task(self, PASS);
    }
    qsort(ratios, (size_t)count, sizeof *ratios, by_value);
    double middle = count > 0 ? ratios[count / 2] : 0;
    self->stage = "switch and reverse";
    printf("\nget p50 while gets read both rows, relative to that before the order, median of %d: %.2f",
           count, middle);
    if (count > 0)
        printf(" (%.2f to %.2f)", ratios[0], ratios[count - 1]);
    printf(" (at most %.1f)", BOTH_LIMIT);
    target(self, "get p50 of both rows", middle, count > 0 && middle <= BOTH_LIMIT);
}

/* --- all ------------------------------------------------------------------------------------------ */

/* The pauses of a stage make the first pass long, so the next pass has much to read. Without callers, it ends
 * within this time. */
#define NEXT_PASS_US 10000000
#define LOAD_ROWS 20000
#define WARM_GETS 30000 /* each reads a block of 16 KiB or more */

/* Fills the block cache, so that it is part of the memory before the change. */
static void
warm_cache(const bench_gateway *gateway, uint64_t rows)
{
    uint64_t number = 0;
    bench_work work = {
        .call = BENCH_GET, .callers = 16, .seconds = 3600, .end = MIN(rows, WARM_GETS), .number = &number};
    g_array_unref(bench_callers_run(gateway->callers, &work).replies);
}

void
bench_load(bench_gateway *const *gateways, size_t count, uint64_t rows)
{
    for (uint64_t end = MIN(rows, LOAD_ROWS); gateways[0]->next_put < rows; end = MIN(rows, end + LOAD_ROWS))
        for (size_t i = 0; i < count; i++) {
            bench_work work = {.call = BENCH_PUT_MANY,
                               .callers = 4,
                               .seconds = 3600,
                               .end = end,
                               .number = &gateways[i]->next_put};
            g_array_unref(bench_callers_run(gateways[i]->callers, &work).replies);
            gateways[i]->next_remove = rows / 2; /* gets read the other half */
        }
    for (size_t i = 0; i < count; i++)
        warm_cache(gateways[i], rows / 2);
}

static void
copy_and_compare(bench *self)
{
    if (self->options->orders) {
        wait_for_task(self, self->options->hbase ? PASS : COMPARE);
        return;
    }
    pause_task(self, COPY, true);
    /* The stages come first, because without callers the copy and the comparison soon end. */
    run_stage(self, "both rows written, while rows are copied", COPY);
    measure_task(self, COPY);
    wait_for_task(self, COPY);
    pause_task(self, COMPARE, true);
    run_stage(self, "both rows written, while rows are compared", COMPARE);
    measure_task(self, COMPARE);
    wait_for_task(self, COMPARE);
    if (!self->options->hbase)
        return;
    gint64 began_us = g_get_monotonic_time();
    pause_task(self, PASS, true);
    run_stage(self, "both rows written, while a pass gives both the newest cells", PASS);
    wait_for_task(self, PASS);
    printf("\nthe first pass, with the slices of this stage: %.2f s\n",
           (double)(g_get_monotonic_time() - began_us) / 1e6);
    g_usleep(NEXT_PASS_US);
}

/* Of all gateways of the table. */
static void
measure_memory(bench *self, double changed_mib, double unchanged_mib)
{
    double more_mib = bench_peak_mib(self->gateways[CHANGED]) - changed_mib;
    self->stage = "copy and comparison";
    printf("\nhighest memory before %.0f MiB, while rows were copied and compared %+.0f MiB; of the gateway "
           "without a change %.0f MiB, %+.0f MiB (at most %d)",
           changed_mib, more_mib, unchanged_mib, bench_peak_mib(self->gateways[UNCHANGED]) - unchanged_mib,
           MEMORY_LIMIT_MIB);
    target(self, "MiB more", more_mib, more_mib <= MEMORY_LIMIT_MIB);
}

static void
print_missed(bench *self)
{
    printf("\n%u of %u targets met\n", self->targets - self->missed_count, self->targets);
    if (self->missed_count > 0)
        printf("MISSED:\n%s", self->missed->str);
}

/* --- a path over a field that changes -------------------------------------------------------------- */

typedef struct end_watch {
    const bench *bench;
    gint copied;
} end_watch;

static gpointer
watch_copy(gpointer data)
{
    end_watch *self = data;
    wait_for_task(self->bench, COPY);
    g_atomic_int_set(&self->copied, 1);
    return NULL;
}

/* The rest of the copy, beside 64 callers that put. */
static void
copy_beside_puts(bench *self)
{
    bench_gateway *gateway = self->gateways[CHANGED];
    int64_t rows = bench_change_progress(gateway).copied;
    end_watch watch = {.bench = self};
    GThread *thread = g_thread_new("copy", watch_copy, &watch);
    gint64 began_us = g_get_monotonic_time();
    bench_work work = {.call = BENCH_PUT,
                       .callers = BENCH_CALLERS,
                       .seconds = 3600,
                       .stop = &watch.copied,
                       .number = &gateway->next_put};
    bench_slice puts = bench_callers_run(gateway->callers, &work);
    g_thread_join(thread);
    printf("\nthe rest of the copy beside 64 callers, after %" PRId64
           " rows: %.1f s; %.0f puts/s, p99.9 %.0f ms\n",
           rows, (double)(g_get_monotonic_time() - began_us) / 1e6, puts.calls_per_s,
           bench_percentile_us(puts.replies, 0.999) / 1000);
    g_array_unref(puts.replies);
}

static void
add_hint_path(bench *self)
{
    bench_begin_change(self->gateways[CHANGED]);
    pause_task(self, COPY, true);
    measure_task(self, COPY);
    copy_beside_puts(self);
    print_load();
}

bool
bench_stages(const bench_options *options, bench_gateway *unchanged, bench_gateway *changed)
{
    bench self = {.options = options, .gateways = {unchanged, changed}, .missed = g_string_new(NULL)};
    if (options->hint_path) {
        add_hint_path(&self);
        print_missed(&self);
        g_string_free(self.missed, TRUE);
        return self.missed_count == 0;
    }
    run_stage(&self, BEFORE, NO_TASK);
    double changed_mib = bench_peak_mib(changed), unchanged_mib = bench_peak_mib(unchanged);
    bench_reset_peak(changed);
    bench_reset_peak(unchanged);
    self.before_change = changed->next_put;
    bench_begin_change(changed);
    copy_and_compare(&self);
    measure_memory(&self, changed_mib, unchanged_mib);
    run_stage(&self, "both rows written, all rows compared", NO_TASK);
    if (options->hbase) {
        orders_under_gets(&self);
        order_under_load(&self, "reverse", BENCH_REVERSE);
        wait_for_task(&self, PASS);
    }
    order_under_load(&self, "switch", BENCH_SWITCH);
    run_stage(&self, "both rows written, new rows read", NO_TASK);
    order_under_load(&self, "complete", BENCH_COMPLETE);
    run_stage(&self, "after", NO_TASK);
    print_missed(&self);
    g_string_free(self.missed, TRUE);
    return self.missed_count == 0;
}
