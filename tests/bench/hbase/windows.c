/* A window of time of a table with 16 buckets: one caller of the gateway, and 16 direct scans at once. */
#include "bench.h"
#include "table.h"

#include "thrift/hbase2_wire.h"

#include <glib.h>
#include <stdio.h>

#define EVENTS 20000 /* as in queries.c */
#define WINDOW 1000
#define KEY_BYTES 9

/* The events FIRST to FIRST + WINDOW - 1. */
#define FIRST 10000

static uint64_t
ask_gateway(link_to *link, kw_arena *arena, void *user)
{
    (void)user;
    (void)arena;
    kw_api_Value from = {.has_number = true, .number = query_event_ms(FIRST)};
    kw_api_Value to = {.has_number = true, .number = query_event_ms(FIRST + WINDOW)};
    kw_api_Range range = {.field = KW_BYTES_LITERAL("ts"),
                          .has_from_value = true,
                          .from_value = &from,
                          .has_to_value = true,
                          .to_value = &to};
    kw_api_Query query = {.table = KW_BYTES_LITERAL("events"), .has_range = true, .range = &range};
    kw_api_Data_scan_args args = {.has_query = true, .query = &query};
    const kw_api_Data_scan_result *got = link_call(link, &kw_api_methods[KW_API_Data_scan], &args);
    if (got->failure)
        caller_group_fail("window", got->failure->message);
    if (got->success->rows.count != WINDOW)
        caller_group_fail("window", KW_BYTES_LITERAL("the number of rows is wrong"));
    return (uint64_t)got->success->rows_scanned;
}

/* A bucket, then a timestamp in descending order. */
static kw_bytes
key_of(kw_arena *arena, unsigned bucket, int64_t ts)
{
    uint8_t *key = kw_arena_alloc(arena, KEY_BYTES);
    key[0] = (uint8_t)bucket;
    kw_be64_store(key + 1, (uint64_t)(INT64_MAX - ts));
    return kw_bytes_of(key, KEY_BYTES);
}

static void
start_direct(link_to *link, kw_arena *arena, unsigned bucket)
{
    kw_hb_TScan scan = {.has_startRow = true,
                        .startRow = key_of(arena, bucket, query_event_ms(FIRST + WINDOW - 1)),
                        .has_stopRow = true,
                        .stopRow = key_of(arena, bucket, query_event_ms(FIRST) - 1),
                        .has_caching = true,
                        .caching = WINDOW};
    kw_hb_THBaseService_getScannerResults_args args = {
        .table = KW_BYTES_LITERAL("kw_bench_events"), .tscan = &scan, .has_numRows = true, .numRows = WINDOW};
    link_start(link, &kw_hb_methods[KW_HB_THBaseService_getScannerResults], &args);
}

/* user: BENCH_BUCKETS links */
static uint64_t
ask_directly(link_to *unused, kw_arena *arena, void *user)
{
    link_to **links = user;
    uint64_t rows = 0;
    (void)unused;
    for (unsigned i = 0; i < BENCH_BUCKETS; i++)
        start_direct(links[i], arena, i);
    for (unsigned i = 0; i < BENCH_BUCKETS; i++) {
        const kw_hb_THBaseService_getScannerResults_result *result =
            link_finish(links[i], &kw_hb_methods[KW_HB_THBaseService_getScannerResults]);
        rows += result->success.count;
    }
    if (rows != WINDOW)
        caller_group_fail("direct window", KW_BYTES_LITERAL("the number of rows is wrong"));
    return rows;
}

void
measure_window(bench *all)
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    const group_server *gateway = &all->sides[SIDE_GATEWAY].place;
    double times[2][ROUNDS_MOST], ratio[ROUNDS_MOST], counts[ROUNDS_MOST];
    link_to *links[BENCH_BUCKETS], *link = link_open(gateway);
    asked got = {0};
    query_load_events(gateway, "events", 0, EVENTS);
    for (unsigned i = 0; i < BENCH_BUCKETS; i++)
        links[i] = link_open(&all->sides[SIDE_DIRECT].place);
    query_repeat(link, all->slice_ms, ask_gateway, NULL); /* warm-up */
    query_repeat(NULL, all->slice_ms, ask_directly, links);
    for (int round = 0; round < all->rounds; round++) {
        times[0][round] = query_repeat(NULL, all->slice_ms, ask_directly, links).p50_us;
        double before = gateway_stat(gateway, "store_calls_scan");
        got = query_repeat(link, all->slice_ms, ask_gateway, NULL);
        got.calls = (gateway_stat(gateway, "store_calls_scan") - before) / (double)got.queries;
        times[1][round] = got.p50_us;
        counts[round] = got.calls;
        ratio[round] = times[1][round] / times[0][round];
    }
    for (unsigned i = 0; i < BENCH_BUCKETS; i++)
        link_close(links[i]);
    link_close(link);
    interval value = rounds_interval(ratio, all->rounds), calls = rounds_interval(counts, all->rounds);
    const char *direct = kw_arena_printf(arena, "p50 %.0f us, %d scans at once",
                                         rounds_median(times[0], all->rounds), BENCH_BUCKETS);
    const char *own = kw_arena_printf(arena, "p50 %.0f us, %.1f calls, %.0f rows read",
                                      rounds_median(times[1], all->rounds), calls.median, got.rows_scanned);
    table_add_spread(&(table_row){"window of 1,000 rows in 16 buckets: calls", "", own, calls.median, "calls",
                                  AT_MOST, 20, 16},
                     calls.low, calls.high);
    table_add_spread(&(table_row){"window of 1,000 rows in 16 buckets: p50", direct, own, value.median, "x",
                                  AT_MOST, 1.1, 1.0},
                     value.low, value.high);
}
