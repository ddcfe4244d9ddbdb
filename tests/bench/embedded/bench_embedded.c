/* Operations per second of the embedded store, compared with the duration of one sync on the same disk:
 *
 *   bench_embedded [--check] [--folder DIR] [--seconds N] [--callers N] [--compressed ROWS]
 *
 * Durable puts by 1, 64 and 1,000 callers on two loops, of one 100-byte cell and of three small ones. The
 * ratio is relative to callers / sync, where a sync appends as many bytes as a commit of all callers and
 * calls fdatasync. The speed of a disk changes over time, so rounds of both alternate, and the median round
 * counts. Then a read of 16 ranges at the same time, forward and in reverse, and gets. --check fails on a
 * missed target; --callers measures only puts, by that many callers. --compressed measures only reads of that
 * many rows, of values that compress well relative to values that do not, three times in turn.
 */
#include "bench.h"

#include "store/embedded/embedded.h"

#include <fcntl.h>
#include <glib/gstdio.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define ROUNDS 9

static bool missed;

static void
target(bool check, bool met, const char *what)
{
    if (check && !met) {
        printf("MISSED: %s\n", what);
        missed = true;
    }
}

double
bench_sync_us(const char *folder, size_t bytes)
{
    enum { SYNCS = 50 };
    g_autofree uint8_t *block = g_malloc0(bytes);
    g_autofree char *name = g_build_filename(folder, "sync.tmp", NULL);
    int file = open(name, O_CREAT | O_TRUNC | O_WRONLY, 0600);
    g_assert(file >= 0);
    uint64_t began_ns = kw_clock_mono_ns();
    for (int i = 0; i < SYNCS; i++) {
        ssize_t written = write(file, block, bytes);
        int failed = fdatasync(file);
        g_assert(written == (ssize_t)bytes && !failed);
    }
    double took_us = (double)(kw_clock_mono_ns() - began_ns) / 1000 / SYNCS;
    close(file);
    g_unlink(name);
    return took_us;
}

static kw_store *
open_store(const char *folder)
{
    kw_model_embedded settings = {.path = folder, .cache_bytes = 64 << 20};
    kw_error error;
    kw_store *store = kw_embedded_open(&settings, &error);
    if (!store)
        g_error("%s", error.text);
    return store;
}

/* Bytes in the log: per cell its key, its value and about 10 bytes; per row again all of its cells. */
static size_t
logged_bytes(const bench_puts *puts)
{
    size_t per_row = puts->cells == 1 ? 150 : 210;
    return puts->callers * per_row;
}

static int
by_ratio(const void *a, const void *b)
{
    double one = ((const bench_puts *)a)->ratio, other = ((const bench_puts *)b)->ratio;
    return (one > other) - (one < other);
}

static void
report_one_put(kw_store *store, const char *folder, const bench_puts *wanted, bool check)
{
    bench_puts rounds[ROUNDS];
    double sync_us = bench_sync_us(folder, logged_bytes(wanted));
    for (int i = 0; i < ROUNDS; i++) {
        bench_puts *round = &rounds[i];
        *round = *wanted;
        round->seconds /= ROUNDS;
        bench_run_puts(store, round);
        double after_us = bench_sync_us(folder, logged_bytes(wanted));
        round->sync_us = (sync_us + after_us) / 2;
        round->ratio = round->puts_per_s / ((double)round->callers * 1e6 / round->sync_us);
        sync_us = after_us;
    }
    qsort(rounds, ROUNDS, sizeof *rounds, by_ratio);
    const bench_puts *puts = &rounds[ROUNDS / 2];
    printf("%8zu %6zu %10.0f %10.0f %8.0f %8.0f %10.1f %8.0f %6.2f  (%.2f to %.2f)\n", puts->callers,
           puts->cells, puts->puts_per_s, puts->commits_per_s, puts->p50_us, puts->p99_us, puts->cpu_us,
           puts->sync_us, puts->ratio, rounds[0].ratio, rounds[ROUNDS - 1].ratio);
    fflush(stdout);
    target(check && puts->cells == 1 && puts->callers == 64, puts->ratio >= 0.7,
           "64 callers: puts/s >= 0.7 x 64 / sync time");
    target(check && puts->cells == 1 && puts->callers == 1000, puts->puts_per_s >= 50000,
           "1,000 callers: 50,000 puts/s");
}

static void
report_puts(kw_store *store, const char *folder, double seconds, int only, bool check)
{
    const size_t callers[] = {only ? (size_t)only : 1, 64, 1000};
    printf("%8s %6s %10s %10s %8s %8s %10s %8s %6s\n", "callers", "cells", "puts/s", "commits/s", "p50 us",
           "p99 us", "cpu us/put", "sync us", "ratio");
    for (size_t i = 0; i < (only ? 1 : G_N_ELEMENTS(callers)); i++)
        for (size_t cells = 1; cells <= 3; cells += 2) {
            bench_puts puts = {.callers = callers[i], .cells = cells, .loops = 2, .seconds = seconds};
            report_one_put(store, folder, &puts, check);
        }
}

static void
report_reads(const char *folder, double seconds, bool check)
{
    bench_scans scans = {.ranges = 16, .rows_per_range = 20000};
    kw_store *store = open_store(folder);
    bench_load_rows(store, &scans);
    kw_store_free(store);
    store = open_store(folder); /* replays the log into files */
    for (int reversed = 0; reversed <= 1; reversed++) {
        scans.reversed = reversed;
        bench_run_scans(store, &scans);
        double cold = scans.rows_per_s;
        bench_run_scans(store, &scans);
        printf("16 ranges %s: %.0f rows/s first, %.0f rows/s again\n", reversed ? "backward" : "forward",
               cold, scans.rows_per_s);
        target(check && !reversed, scans.rows_per_s >= 300000, "16 ranges: 300,000 rows/s");
    }
    for (size_t callers = 1; callers <= 64; callers *= 64) {
        bench_gets gets = {.callers = callers, .seconds = seconds};
        bench_run_gets(store, &scans, &gets);
        printf("%zu callers: %.0f gets/s\n", callers, gets.gets_per_s);
    }
    kw_store_free(store);
}

static void
report_compressed(const char *folder, size_t rows, bool check)
{
    enum { TURNS = 3 };
    bench_compressed sides[2] = {{.rows = rows, .compressible = true}, {.rows = rows}};
    kw_store *stores[2];
    for (int i = 0; i < 2; i++) {
        g_autofree char *own = g_build_filename(folder, i ? "random" : "compressible", NULL);
        stores[i] = open_store(own);
        bench_load_compressed(stores[i], &sides[i]);
    }
    printf("%zu rows, compressible/random: get p50 us, latest 20 of 16 buckets p50 us\n", rows);
    double gets[TURNS], latest[TURNS];
    for (int turn = 0; turn < TURNS; turn++) {
        for (int i = 0; i < 2; i++)
            bench_read_compressed(stores[i], &sides[i]);
        gets[turn] = sides[0].get_us / sides[1].get_us;
        latest[turn] = sides[0].latest_us / sides[1].latest_us;
        printf("%.0f/%.0f = %.2f, %.0f/%.0f = %.2f\n", sides[0].get_us, sides[1].get_us, gets[turn],
               sides[0].latest_us, sides[1].latest_us, latest[turn]);
        fflush(stdout);
    }
    target(check, MIN(MIN(gets[0], gets[1]), gets[2]) <= 1.5, "values that compress: get p50 <= 1.5");
    target(check, MIN(MIN(latest[0], latest[1]), latest[2]) <= 2, "values that compress: latest 20 <= 2");
    for (int i = 0; i < 2; i++)
        kw_store_free(stores[i]);
}

int
main(int argc, char **argv)
{
    gboolean check = FALSE;
    double seconds = 3;
    int callers = 0, compressed = 0;
    g_autofree char *base = NULL;
    const GOptionEntry entries[] = {
        {"check", 0, 0, G_OPTION_ARG_NONE, &check, "Fail on a missed target", NULL},
        {"folder", 0, 0, G_OPTION_ARG_FILENAME, &base, "Folder for the store", "DIR"},
        {"seconds", 0, 0, G_OPTION_ARG_DOUBLE, &seconds, "Duration of each part", "N"},
        {"callers", 0, 0, G_OPTION_ARG_INT, &callers, "Measure only puts by this many callers", "N"},
        {"compressed", 0, 0, G_OPTION_ARG_INT, &compressed, "Measure only reads of this many rows", "ROWS"},
        {0}};
    g_autoptr(GOptionContext) context = g_option_context_new("- measures the embedded store");
    g_option_context_add_main_entries(context, entries, NULL);
    g_autoptr(GError) failed = NULL;
    if (!g_option_context_parse(context, &argc, &argv, &failed))
        g_error("%s", failed->message);
    g_autofree char *folder = g_build_filename(base ? base : g_get_tmp_dir(), "keyway-bench-XXXXXX", NULL);
    if (!g_mkdtemp(folder))
        g_error("cannot make %s", folder);
    g_autofree char *puts = g_build_filename(folder, "puts", NULL),
                    *reads = g_build_filename(folder, "reads", NULL);
    if (compressed) {
        report_compressed(folder, (size_t)compressed, check);
    } else {
        kw_store *store = open_store(puts);
        report_puts(store, puts, seconds, callers, check);
        kw_store_free(store);
        if (!callers)
            report_reads(reads, seconds, check);
    }
    const char *const remove_folder[] = {"rm", "-rf", folder, NULL};
    g_spawn_sync(NULL, (char **)(uintptr_t)remove_folder, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, NULL, NULL,
                 NULL, NULL);
    return missed ? EXIT_FAILURE : EXIT_SUCCESS;
}
