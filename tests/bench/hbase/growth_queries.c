/* Growth with buckets and with rows: queries of one caller. See growth.h. */
#include "events.h"
#include "growth.h"

#include <glib.h>
#include <stdio.h>

#define BUCKETS_MOST 256
#define BUCKETS_EVENTS 20000
#define WARM_SLICE_MS 500
#define ROWS_BUCKETS 16 /* of table grown, policy.yaml.in */

typedef asked (*query)(const events *of, int side, int ms);

static asked
median_of(const asked *rounds, int count)
{
    double p50[ROUNDS_MOST], p99[ROUNDS_MOST], calls[ROUNDS_MOST];
    asked result = rounds[count - 1];
    for (int i = 0; i < count; i++) {
        p50[i] = rounds[i].p50_us;
        p99[i] = rounds[i].p99_us;
        calls[i] = rounds[i].calls;
    }
    result.p50_us = rounds_median(p50, count);
    result.p99_us = rounds_median(p99, count);
    result.calls = rounds_median(calls, count);
    return result;
}

/* Warms up scans: main.c warms up only puts and gets, and the servers' JIT compilers also compile scans. */
static void
warm_up(const bench *all, const events *of)
{
    kw_deadline end = kw_deadline_in_ms(all->warm_ms);
    for (int side = 0; !kw_deadline_passed(end); side = !side)
        events_latest(of, side, WARM_SLICE_MS);
}

/* Runs the same query both ways alternately. The first round warms the caches and is not counted. */
static void
compare(const bench *all, const events *of, query ask, asked ret_sides[2])
{
    asked rounds[2][ROUNDS_MOST];
    for (int side = 0; side < 2; side++)
        ask(of, side, all->slice_ms / 2);
    for (int round = 0; round < all->rounds; round++) {
        for (int turn = 0; turn < 2; turn++) {
            int side = (round + turn) % 2;
            rounds[side][round] = ask(of, side, all->slice_ms);
        }
    }
    for (int side = 0; side < 2; side++)
        ret_sides[side] = median_of(rounds[side], all->rounds);
}

static void
print_point(const bench *all, const events *of, query ask, const char *name, uint64_t at)
{
    asked got[2];
    compare(all, of, ask, got);
    for (int side = 0; side < 2; side++)
        printf("%s,%s,%llu,%.1f,%.1f,%.1f,%.2f\n", name, all->sides[side].way->name, (unsigned long long)at,
               got[side].p50_us, got[side].p99_us, got[side].rows_scanned, got[side].calls);
    fflush(stdout);
    fprintf(stderr, "%llu, %s: direct p50 %.0f us (%.0f rows read), gateway p50 %.0f us (%.0f rows read)\n",
            (unsigned long long)at, name, got[0].p50_us, got[0].rows_scanned, got[1].p50_us,
            got[1].rows_scanned);
}

void
growth_by_buckets(bench *all)
{
    printf("work,way,buckets,p50_us,p99_us,rows_read,thrift2_calls\n");
    for (unsigned buckets = 1; buckets <= BUCKETS_MOST; buckets *= 2) {
        g_autofree char *table = g_strdup_printf("events_%u", buckets);
        g_autofree char *store_table = g_strdup_printf("kw_bench_events_%u", buckets);
        events of = {.all = all, .table = table, .store_table = store_table, .buckets = buckets};
        events_load(&of, BUCKETS_EVENTS);
        if (buckets == 1)
            warm_up(all, &of);
        print_point(all, &of, events_latest, "latest", buckets);
    }
}

void
growth_by_rows(bench *all)
{
    static const uint64_t counts[] = {1000, 3000, 10000, 30000, 100000, 300000, 1000000};
    events of = {.all = all, .table = "grown", .store_table = all->grown_table, .buckets = ROWS_BUCKETS};
    printf("work,way,rows,p50_us,p99_us,rows_read,thrift2_calls\n");
    for (size_t i = 0; i < G_N_ELEMENTS(counts) && counts[i] <= all->growth_rows; i++) {
        events_load(&of, counts[i]);
        if (i == 0)
            warm_up(all, &of);
        events_sample(&of);
        print_point(all, &of, events_latest, "latest", counts[i]);
        print_point(all, &of, events_get, "get", counts[i]);
        events_forget_sample(&of);
    }
}
