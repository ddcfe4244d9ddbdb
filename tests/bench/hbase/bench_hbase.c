/* What the gateway costs in front of HBase: the same work straight to Thrift2 and through keywayd, in turn,
 * in one run.
 *
 *   bench_hbase --thrift PORT --gateway PORT [--framed] [--rounds N] [--slice-ms MS] [--rows N] [--check]
 *
 * run.sh starts everything and runs it. Each slice is a closed loop of so many callers, one connection
 * each. Slices of the two ways alternate, and change places from round to round; figures are medians over
 * the rounds. --check: one caller's p50 of put and get at most 1.25 times the direct one, the whole scan
 * at least 0.8 times its rows a second; else exit 1.
 */
#include "way.h"

#include "base/clock.h"
#include "base/thread.h"

#include <glib.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#define CALLERS_MOST 64
#define SAMPLES_MOST 200000
#define ROUNDS_MOST 50

typedef struct settings {
    place places[2];
    int rounds;
    int slice_ms;
    uint64_t rows;
    bool check;
} settings;

static const way *const ways[2] = {&way_direct, &way_gateway};

/* --- one slice -------------------------------------------------------------------------------- */

typedef enum kind_of_work { WORK_PUT, WORK_GET } kind_of_work;

typedef struct figures {
    double per_second, p50_us, p99_us;
} figures;

typedef struct caller {
    kw_thread thread;
    const way *way;
    link_to *link;
    kind_of_work work;
    uint64_t rows;
    kw_deadline end;
    uint64_t seed;
    uint32_t *samples; /* ns */
    size_t count;
} caller;

static void
call_loop(void *user)
{
    caller *of = user;
    kw_random_inject(of->seed);
    while (!kw_deadline_passed(of->end) && of->count < SAMPLES_MOST) {
        uint64_t number = kw_random_u64() % of->rows, start = kw_clock_mono_ns();
        if (of->work == WORK_PUT)
            of->way->put(of->link, number);
        else
            of->way->get(of->link, number);
        of->samples[of->count++] = (uint32_t)MIN(kw_clock_mono_ns() - start, UINT32_MAX);
    }
}

static int
by_size(const void *a, const void *b)
{
    uint32_t one = *(const uint32_t *)a, other = *(const uint32_t *)b;
    return (one > other) - (one < other);
}

static figures
slice(const settings *set, int side, kind_of_work work, unsigned callers, int ms)
{
    static caller all[CALLERS_MOST];
    for (unsigned i = 0; i < callers; i++) {
        uint32_t *samples = all[i].samples ? all[i].samples : g_new(uint32_t, SAMPLES_MOST);
        all[i] = (caller){.way = ways[side],
                          .link = link_open(&set->places[side]),
                          .work = work,
                          .rows = set->rows,
                          .seed = kw_random_u64(),
                          .samples = samples};
    }
    uint64_t start = kw_clock_mono_ns();
    for (unsigned i = 0; i < callers; i++) {
        all[i].end = kw_deadline_in_ms(ms);
        kw_thread_start(&all[i].thread, "caller", call_loop, &all[i]);
    }
    size_t count = 0;
    for (unsigned i = 0; i < callers; i++) {
        kw_thread_join(&all[i].thread);
        count += all[i].count;
    }
    double seconds = (double)(kw_clock_mono_ns() - start) / 1e9;
    g_autofree uint32_t *samples = g_new(uint32_t, count + 1);
    size_t at = 0;
    for (unsigned i = 0; i < callers; i++) {
        memcpy(samples + at, all[i].samples, all[i].count * sizeof *samples);
        at += all[i].count;
        link_close(all[i].link);
    }
    qsort(samples, count, sizeof *samples, by_size);
    return (figures){.per_second = (double)count / seconds,
                     .p50_us = samples[count / 2] / 1e3,
                     .p99_us = samples[count * 99 / 100] / 1e3};
}

/* --- a whole scan ----------------------------------------------------------------------------- */

typedef struct scanner {
    kw_thread thread;
    const way *way;
    link_to *link;
    unsigned number;
    uint64_t rows;
} scanner;

static void
scan_once(void *user)
{
    scanner *of = user;
    of->rows = of->way->scan(of->link, of->number);
}

static double
scan_rows_per_second(const settings *set, int side)
{
    scanner all[BENCH_BUCKETS] = {0};
    uint64_t rows = 0, start;
    for (unsigned i = 0; i < ways[side]->scanners; i++)
        all[i] = (scanner){.way = ways[side], .link = link_open(&set->places[side]), .number = i};
    start = kw_clock_mono_ns();
    for (unsigned i = 0; i < ways[side]->scanners; i++)
        kw_thread_start(&all[i].thread, "scanner", scan_once, &all[i]);
    for (unsigned i = 0; i < ways[side]->scanners; i++) {
        kw_thread_join(&all[i].thread);
        rows += all[i].rows;
    }
    double seconds = (double)(kw_clock_mono_ns() - start) / 1e9;
    for (unsigned i = 0; i < ways[side]->scanners; i++)
        link_close(all[i].link);
    if (rows != set->rows)
        bench_die(ways[side]->name, KW_BYTES_LITERAL("the scan does not give the rows that were written"));
    return (double)rows / seconds;
}

/* --- rounds ----------------------------------------------------------------------------------- */

static int
by_value(const void *a, const void *b)
{
    double one = *(const double *)a, other = *(const double *)b;
    return (one > other) - (one < other);
}

static double
median(double *values, int count)
{
    qsort(values, (size_t)count, sizeof *values, by_value);
    return values[count / 2];
}

static double
compare_calls(const settings *set, kind_of_work work, unsigned callers)
{
    double rate[2][ROUNDS_MOST], p50[2][ROUNDS_MOST], p99[2][ROUNDS_MOST];
    for (int round = 0; round < set->rounds; round++) {
        for (int turn = 0; turn < 2; turn++) {
            int side = (round + turn) % 2;
            figures got = slice(set, side, work, callers, set->slice_ms);
            rate[side][round] = got.per_second;
            p50[side][round] = got.p50_us;
            p99[side][round] = got.p99_us;
        }
    }
    double rates[2], halves[2], tails[2];
    for (int side = 0; side < 2; side++) {
        rates[side] = median(rate[side], set->rounds);
        halves[side] = median(p50[side], set->rounds);
        tails[side] = median(p99[side], set->rounds);
    }
    printf("| %s, %u callers | %.0f /s, %.0f / %.0f us | %.0f /s, %.0f / %.0f us | %.2f | %.2f |\n",
           work == WORK_PUT ? "put" : "get", callers, rates[0], halves[0], tails[0], rates[1], halves[1],
           tails[1], rates[1] / rates[0], halves[1] / halves[0]);
    fflush(stdout);
    return halves[1] / halves[0];
}

static double
compare_scans(const settings *set)
{
    double rate[2][ROUNDS_MOST];
    for (int round = 0; round < set->rounds; round++)
        for (int turn = 0; turn < 2; turn++)
            rate[(round + turn) % 2][round] = scan_rows_per_second(set, (round + turn) % 2);
    double direct = median(rate[0], set->rounds), gateway = median(rate[1], set->rounds);
    printf("| whole scan, %d buckets | %.0f rows/s (%d scanners) | %.0f rows/s (1 caller) | %.2f | |\n",
           BENCH_BUCKETS, direct, BENCH_BUCKETS, gateway, gateway / direct);
    return gateway / direct;
}

static void
load(const settings *set)
{
    for (int side = 0; side < 2; side++) {
        ways[side]->prepare(&set->places[side]);
        link_to *link = link_open(&set->places[side]);
        for (uint64_t first = 0; first < set->rows; first += 500)
            ways[side]->put_many(link, first, (size_t)MIN(set->rows - first, 500));
        link_close(link);
    }
    /* a fresh JVM runs at half its speed for a while */
    for (int i = 0; i < 4; i++)
        for (int side = 0; side < 2; side++)
            for (int work = 0; work < 2; work++)
                slice(set, side, (kind_of_work)work, 8, 1000);
}

static bool
run(const settings *set)
{
    static const unsigned callers[] = {1, 8, 64};
    bool met = true;
    load(set);
    printf("| | direct Thrift2 | through the gateway | rate | p50 |\n|---|---|---|---|---|\n");
    for (int work = 0; work < 2; work++) {
        for (size_t i = 0; i < G_N_ELEMENTS(callers); i++) {
            double ratio = compare_calls(set, (kind_of_work)work, callers[i]);
            met = met && (callers[i] != 1 || ratio <= 1.25);
        }
    }
    return compare_scans(set) >= 0.8 && met;
}

int
main(int argc, char **argv)
{
    gint thrift = 0, gateway = 0, rounds = 9, slice_ms = 1000, rows = 100000;
    gboolean framed = FALSE, check = FALSE;
    const GOptionEntry options[] = {
        {"thrift", 0, 0, G_OPTION_ARG_INT, &thrift, "port of Thrift2", "PORT"},
        {"gateway", 0, 0, G_OPTION_ARG_INT, &gateway, "port of keywayd", "PORT"},
        {"framed", 0, 0, G_OPTION_ARG_NONE, &framed, "Thrift2 is framed compact (else buffered binary)",
         NULL},
        {"rounds", 0, 0, G_OPTION_ARG_INT, &rounds, "rounds (9)", "N"},
        {"slice-ms", 0, 0, G_OPTION_ARG_INT, &slice_ms, "length of a slice (1000)", "MS"},
        {"rows", 0, 0, G_OPTION_ARG_INT, &rows, "rows of each table (100000)", "N"},
        {"check", 0, 0, G_OPTION_ARG_NONE, &check, "a missed target is a failure", NULL},
        G_OPTION_ENTRY_NULL};
    g_autoptr(GOptionContext) context = g_option_context_new(NULL);
    g_autoptr(GError) error = NULL;
    g_option_context_add_main_entries(context, options, NULL);
    if (!g_option_context_parse(context, &argc, &argv, &error) || !thrift || !gateway)
        bench_die("usage", kw_bytes_of_text(error ? error->message : "--thrift and --gateway are needed"));
    kw_wire_form thrift_form = {framed ? KW_WIRE_COMPACT : KW_WIRE_BINARY, framed};
    settings set = {.places = {{"Thrift2", (uint16_t)thrift, thrift_form},
                               {"keywayd", (uint16_t)gateway, {KW_WIRE_COMPACT, true}}},
                    .rounds = CLAMP(rounds, 1, ROUNDS_MOST),
                    .slice_ms = slice_ms,
                    .rows = (uint64_t)rows,
                    .check = check};
    bool met = run(&set);
    return met || !set.check ? 0 : 1;
}
