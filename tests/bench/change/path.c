/* A path that is added to a table with rows: how fast its rows are copied without callers, what the gateways
 * use of memory, and whether every answer is right while callers write. */
#include "bench.h"

#include "keyway.h"

#include <stdio.h>
#include <stdlib.h>

#define TABLE "rows"
#define COPY_LIMIT 0.7
#define MEMORY_LIMIT_MIB 64
#define ROUNDS_MAX 99
#define RATE_SLICES 4 /* longer than a slice of calls */
/* A slice of the copy ends within this time after a pause; on HBase, another gateway can do it, which sees it
 * later. */
#define SLICE_END_US 30000
#define SLICE_END_HBASE_US 400000
#define POLL_US 2000
#define CHECKERS 4
#define CHECKED_RECORDS 2000
#define OTHERS 2000
#define LOAD_S 3 /* before, and of the gateway without a change also afterwards */
#define SCRUB_RECORDS 1000
#define BURST_S 2
#define REST_S 6 /* between two bursts */

typedef struct adding {
    const bench_options *options;
    bench_gateway *unchanged, *changed;
    bench_direct *direct; /* NULL: embedded store */
    uint64_t removed;
    unsigned missed;
} adding;

static void
target(adding *self, bool met)
{
    printf("  %s\n", met ? "met" : "MISSED");
    self->missed += !met;
    fflush(stdout);
}

static void
must(bool fine, const char *what, const GError *error)
{
    if (fine)
        return;
    fprintf(stderr, "bench_change: %s: %s\n", what, error ? error->message : "failed");
    exit(1);
}

static int
by_value(const void *a, const void *b)
{
    double one = *(const double *)a, other = *(const double *)b;
    return (one > other) - (one < other);
}

/* --- the copy without callers --------------------------------------------------------------------- */

static double
put_rate(const adding *self)
{
    bench_work work = {.call = BENCH_PUT_MANY,
                       .callers = 1,
                       .seconds = RATE_SLICES * self->options->seconds,
                       .number = &self->unchanged->next_put};
    bench_slice puts = bench_callers_run(self->unchanged->callers, &work);
    g_array_unref(puts.replies);
    return puts.calls_per_s * BENCH_BATCH;
}

/* Until the first rows after the pause, or the end of the copy. */
static bench_progress
resume(const adding *self)
{
    int64_t copied = bench_change_progress(self->changed).copied;
    bench_progress now;
    bench_order_change(self->changed, BENCH_RESUME);
    do {
        g_usleep(POLL_US);
        now = bench_change_progress(self->changed);
    } while (now.copied == copied && !now.all_copied);
    return now;
}

static void
pause_copy(const adding *self)
{
    bench_order_change(self->changed, BENCH_PAUSE);
    g_usleep(self->options->hbase ? SLICE_END_HBASE_US : SLICE_END_US);
}

/* Rows per second; 0: the copy ended meanwhile. */
static double
copy_rate(const adding *self)
{
    bench_progress before = resume(self);
    gint64 began_us = g_get_monotonic_time();
    g_usleep((gulong)(RATE_SLICES * self->options->seconds * 1e6));
    bench_progress after = bench_change_progress(self->changed);
    double took_s = (double)(g_get_monotonic_time() - began_us) / 1e6;
    if (after.all_copied)
        return 0;
    pause_copy(self);
    return (double)(after.copied - before.copied) / took_s;
}

static void
print_copy(adding *self, double *copies, double *puts, double *ratios, int rounds)
{
    qsort(copies, (size_t)rounds, sizeof *copies, by_value);
    qsort(puts, (size_t)rounds, sizeof *puts, by_value);
    qsort(ratios, (size_t)rounds, sizeof *ratios, by_value);
    printf("copy without callers, %d rounds: %.0f rows/s; puts of 100 rows per call%s %.0f rows/s; ratio "
           "%.2f (%.2f to %.2f) "
           "(at least %.1f)",
           rounds, copies[rounds / 2], self->direct ? " to Thrift2" : " through a gateway", puts[rounds / 2],
           ratios[rounds / 2], ratios[0], ratios[rounds - 1], COPY_LIMIT);
    target(self, ratios[rounds / 2] >= COPY_LIMIT);
}

static void
measure_copy(adding *self)
{
    double copies[ROUNDS_MAX], puts[ROUNDS_MAX], ratios[ROUNDS_MAX];
    int rounds = 0;
    for (; rounds < self->options->rounds; rounds++) {
        puts[rounds] = self->direct ? bench_direct_puts(self->direct, RATE_SLICES * self->options->seconds)
                                    : put_rate(self);
        copies[rounds] = copy_rate(self);
        if (copies[rounds] <= 0)
            break;
        ratios[rounds] = copies[rounds] / puts[rounds];
    }
    if (rounds > 0)
        print_copy(self, copies, puts, ratios, rounds);
    else
        printf("copy without callers: it ended before the end of the first round\n");
}

/* --- under load ----------------------------------------------------------------------------------- */

typedef struct filling {
    const bench_gateway *gateway;
    double took_s;
    gint done;
} filling;

static gpointer
wait_until_complete(gpointer data)
{
    filling *self = data;
    gint64 began_us = g_get_monotonic_time();
    bench_order_change(self->gateway, BENCH_RESUME);
    while (!bench_change_progress(self->gateway).ended)
        g_usleep(10000);
    self->took_s = (double)(g_get_monotonic_time() - began_us) / 1e6;
    g_atomic_int_set(&self->done, 1);
    return NULL;
}

static bench_slice
put_until(const adding *self, bench_gateway *gateway, double seconds, const gint *stop)
{
    bench_work work = {.call = BENCH_PUT,
                       .callers = (size_t)MAX(self->options->callers, 1),
                       .seconds = seconds,
                       .stop = stop,
                       .number = &gateway->next_put};
    bench_slice puts = bench_callers_run(gateway->callers, &work);
    return puts;
}

static void
print_checked(adding *self, const char *when, const bench_checked *got)
{
    printf("%s: %llu calls by %d checkers, %llu of them atomic operations; the path was read %llu times and "
           "refused %llu "
           "times; longest write %.0f ms, longest atomic operation %.0f ms; wrong answers %llu (at most 0)",
           when, (unsigned long long)got->calls, CHECKERS, (unsigned long long)got->atomics,
           (unsigned long long)got->path_reads, (unsigned long long)got->refused,
           got->longest_write_us / 1000, got->longest_atomic_us / 1000, (unsigned long long)got->wrong);
    target(self, got->wrong == 0);
}

typedef struct load {
    double puts, seconds, longest_us;
} load;

/* The load comes in bursts: while there are calls, rows are copied and compared for a sixth of the time or
 * less. */
static load
put_in_bursts(adding *self, bench_checkers *checkers, const gint *done)
{
    load all = {0};
    while (!g_atomic_int_get(done)) {
        gint64 began_us = g_get_monotonic_time();
        bench_slice puts = put_until(self, self->changed, BURST_S, done);
        all.seconds += (double)(g_get_monotonic_time() - began_us) / 1e6;
        all.puts += puts.replies->len;
        all.longest_us = MAX(all.longest_us, bench_percentile_us(puts.replies, 1));
        g_array_unref(puts.replies);
        bench_checkers_pause(checkers, true);
        for (int waited_us = 0; waited_us < REST_S * 1000000 && !g_atomic_int_get(done); waited_us += POLL_US)
            g_usleep(POLL_US);
        bench_checkers_pause(checkers, false);
    }
    return all;
}

static void
fill_under_load(adding *self, bench_checkers *checkers)
{
    filling wait = {.gateway = self->changed};
    bench_progress at = bench_change_progress(self->changed);
    GThread *thread = g_thread_new("complete", wait_until_complete, &wait);
    load puts = put_in_bursts(self, checkers, &wait.done);
    g_thread_join(thread);
    bench_checkers_path_is_complete(checkers);
    printf("%lld rows were copied before; then, with load for %d of %d s (%d callers that put, and the "
           "checkers), the path was "
           "complete after %.1f s; %.0f puts/s, the longest took %.0f ms\n",
           (long long)at.copied, BURST_S, BURST_S + REST_S, MAX(self->options->callers, 1), wait.took_s,
           puts.puts / puts.seconds, puts.longest_us / 1000);
    bench_checked got = bench_checkers_so_far(checkers);
    print_checked(self, "while rows were copied", &got);
}

/* --- afterwards ----------------------------------------------------------------------------------- */

static kw_client *
open_client(const bench_gateway *gateway)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *address = g_strdup_printf("127.0.0.1:%u", gateway->ports[0]);
    kw_client *client = kw_client_open(address, NULL, &error);
    must(client != NULL, "connect", error);
    return client;
}

/* path: NULL: the primary one. */
static int64_t
count_rows(const bench_gateway *gateway, const char *path)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(kw_client) client = open_client(gateway);
    g_autoptr(kw_query) query = kw_query_new(TABLE);
    const kw_record *record;
    int64_t count = 0;
    if (path)
        kw_query_path(query, path);
    kw_query_full_scan(query, true);
    kw_query_page(query, 10000, 0);
    kw_query_deadline(query, 60000);
    g_autoptr(kw_scan) scan = kw_client_scan(client, query, &error);
    must(scan != NULL, "scan", error);
    while (kw_scan_next(scan, &record, &error))
        count++;
    must(!error, "scan", error);
    return count;
}

static void
compare_counts(adding *self)
{
    int64_t wanted = (int64_t)(self->changed->next_put - self->removed);
    int64_t primary = count_rows(self->changed, NULL), path = count_rows(self->changed, "by_time");
    printf("rows in the primary path %lld, in the added path %lld (exactly %lld)", (long long)primary,
           (long long)path, (long long)wanted);
    target(self, primary == wanted && path == wanted);
}

static void
scrub(adding *self)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(kw_client) client = open_client(self->changed);
    g_autoptr(GBytes) cursor = NULL;
    int64_t rows = 0, wrong = 0;
    do {
        const kw_scrub_options options = {
            .cursor = cursor, .max_records = SCRUB_RECORDS, .deadline_ms = 60000};
        g_autoptr(kw_scrubbed) slice = kw_client_scrub(client, TABLE, &options, &error);
        must(slice != NULL, "scrub", error);
        rows += slice->rows;
        wrong += slice->missing + slice->different + slice->extra + slice->foreign_rows + slice->unsettled;
        g_clear_pointer(&cursor, g_bytes_unref);
        cursor = slice->cursor ? g_bytes_ref(slice->cursor) : NULL;
    } while (cursor);
    printf("scrub: %lld rows read, %lld differences (at most 0)", (long long)rows, (long long)wrong);
    target(self, wrong == 0);
}

static void
verify(adding *self, bench_checkers *checkers)
{
    bench_checkers_end(checkers);
    bench_checked after = bench_checkers_so_far(checkers);
    print_checked(self, "with the complete path", &after);
    bench_checkers_read_all(checkers, (uint64_t)self->options->rows / 2, OTHERS);
    after = bench_checkers_so_far(checkers);
    print_checked(self, "afterwards, without other callers", &after);
    self->removed = bench_checkers_removed(checkers);
    compare_counts(self);
    scrub(self);
}

static void
print_memory(adding *self, double before_mib, double unchanged_mib)
{
    double more_mib = bench_peak_mib(self->changed) - before_mib;
    printf("highest memory under load before %.0f MiB, until the path was complete %+.0f MiB; of the gateway "
           "without a change "
           "under the same load %+.0f MiB (at most %d)",
           before_mib, more_mib, bench_peak_mib(self->unchanged) - unchanged_mib, MEMORY_LIMIT_MIB);
    target(self, more_mib <= MEMORY_LIMIT_MIB);
}

/* The unchanged gateway gets the same load for a while, so that its memory can be compared. */
static void
load_unchanged(const adding *self, double seconds)
{
    g_array_unref(put_until(self, self->unchanged, seconds, NULL).replies);
}

bool
bench_path(const bench_options *options, bench_gateway *unchanged, bench_gateway *changed)
{
    adding self = {.options = options, .unchanged = unchanged, .changed = changed};
    if (options->hbase)
        self.direct = bench_direct_open(options->hbase, changed->name);
    printf("a path is added to %d rows; %zu gateways, default configuration\n", options->rows,
           changed->count);
    g_array_unref(put_until(&self, changed, LOAD_S, NULL).replies);
    load_unchanged(&self, LOAD_S);
    double before_mib = bench_peak_mib(changed), unchanged_mib = bench_peak_mib(unchanged);
    bench_reset_peak(changed);
    bench_reset_peak(unchanged);
    bench_checkers *checkers = bench_checkers_start(changed, CHECKERS, CHECKED_RECORDS);
    bench_begin_path(changed);
    bench_checkers_path_is_filling(checkers);
    bench_checked began = bench_checkers_so_far(checkers);
    print_checked(&self, "until rows could be copied", &began);
    pause_copy(&self);
    bench_checkers_pause(checkers, true);
    measure_copy(&self);
    bench_checkers_pause(checkers, false);
    fill_under_load(&self, checkers);
    load_unchanged(&self, LOAD_S);
    print_memory(&self, before_mib, unchanged_mib);
    verify(&self, checkers);
    bench_checkers_free(checkers);
    if (self.direct)
        bench_direct_close(self.direct);
    printf("%u targets missed\n", self.missed);
    return self.missed == 0;
}
