/* Whole scans: as a measure, and to verify that all written rows are stored. */
#include "bench.h"
#include "table.h"

#include "base/thread.h"

#include <glib.h>
#include <stdio.h>

typedef struct scanner {
    kw_thread thread;
    bench_side *side;
    link_to *link;
    unsigned number;
    uint64_t rows;  /* all rows */
    uint64_t known; /* rows that this run loaded */
    uint64_t wrong;
} scanner;

static void
visit(void *user, uint64_t number, uint32_t generation)
{
    scanner *of = user;
    of->rows++;
    if (number >= of->side->rows)
        return; /* a row of an earlier run on the same HBase */
    of->known++;
    of->wrong += !side_is_right(of->side, number, generation);
}

static void
scan_once(void *user)
{
    scanner *of = user;
    of->side->way->scan(of->link, of->number, visit, of);
}

double
scan_whole(bench_side *side)
{
    scanner all[BENCH_BUCKETS] = {0};
    uint64_t rows = 0, known = 0, wrong = 0;
    unsigned scanners = side->way->scanners;
    for (unsigned i = 0; i < scanners; i++)
        all[i] = (scanner){.side = side, .link = link_open(&side->place), .number = i};
    uint64_t start = kw_clock_mono_ns();
    for (unsigned i = 0; i < scanners; i++)
        kw_thread_start(&all[i].thread, "scanner", scan_once, &all[i]);
    for (unsigned i = 0; i < scanners; i++) {
        kw_thread_join(&all[i].thread);
        rows += all[i].rows;
        known += all[i].known;
        wrong += all[i].wrong;
    }
    double seconds = (double)(kw_clock_mono_ns() - start) / 1e9;
    for (unsigned i = 0; i < scanners; i++)
        link_close(all[i].link);
    if (known != side->rows || wrong) {
        fprintf(stderr, "%s: %llu of %llu rows read back, %llu of them not as written last\n",
                side->way->name, (unsigned long long)known, (unsigned long long)side->rows,
                (unsigned long long)wrong);
        caller_group_fail("verification", KW_BYTES_LITERAL("failed"));
    }
    return (double)rows / seconds;
}

/* A direct scan of the table that was written through the gateway. */
static bench_side
direct_of(const bench *all, const way *how)
{
    bench_side side = all->sides[1];
    side.way = how;
    side.place = all->sides[0].place;
    return side;
}

static double
median_rate(bench_side side, int rounds)
{
    double rates[ROUNDS_MOST];
    for (int i = 0; i < rounds; i++)
        rates[i] = scan_whole(&side);
    return rounds_median(rates, rounds);
}

/* The faster of the two ways to scan directly. */
static const way *
choose_direct(const bench *all)
{
    bench_side opened = direct_of(all, &way_direct_same);
    bench_side stateless = direct_of(all, &way_direct_same_stateless);
    median_rate(opened, 1);
    median_rate(stateless, 1);
    double of_opened = median_rate(opened, 2), of_stateless = median_rate(stateless, 2);
    printf(
        "Direct scans: opened scanners %.0f rows/s, getScannerResults %.0f rows/s (1,000 rows a call, %d at "
        "once); the table has the %s.\n\n",
        of_opened, of_stateless, BENCH_BUCKETS, of_stateless > of_opened ? "latter" : "former");
    return of_stateless > of_opened ? &way_direct_same_stateless : &way_direct_same;
}

void
measure_scan(bench *all)
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    double rate[2][ROUNDS_MOST], ratio[ROUNDS_MOST];
    bench_side sides[2] = {direct_of(all, choose_direct(all)), all->sides[1]};
    for (int round = 0; round < all->rounds; round++) {
        for (int turn = 0; turn < 2; turn++)
            rate[(round + turn) % 2][round] = scan_whole(&sides[(round + turn) % 2]);
        ratio[round] = rate[1][round] / rate[0][round];
    }
    double direct = rounds_median(rate[0], all->rounds), gateway = rounds_median(rate[1], all->rounds);
    interval value = rounds_interval(ratio, all->rounds);
    table_add_spread(
        &(table_row){"whole scan, 16 buckets",
                     kw_arena_printf(arena, "%.0f rows/s, %d scanners at once", direct, BENCH_BUCKETS),
                     kw_arena_printf(arena, "%.0f rows/s merged, 1 caller", gateway), value.median, "x",
                     AT_LEAST, 0.9, 1.0},
        value.low, value.high);
}
