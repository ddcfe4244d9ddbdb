/* Queries of one caller: the latest 20 rows over 16 salt buckets, the latest event of one order. The unit is
 * the duration of one direct get of Thrift2, measured in between. */
#include "bench.h"
#include "table.h"

#include "base/thread.h"
#include "thrift/hbase2_wire.h"
#include "thrift/keyway_wire.h"

#include <glib.h>

#define EVENTS 20000
#define ORDERS 2000
#define EVENTS_OF_ORDER 10
#define BATCH 500
#define LOADERS 4
#define EPOCH_MS 1700000000000

typedef __typeof__(*((kw_api_Record *)0)->items) item;

static kw_api_Value *
text_value(kw_arena *arena, kw_bytes text)
{
    kw_api_Value *made = KW_ARENA_NEW(arena, kw_api_Value);
    *made = (kw_api_Value){.has_text = true, .text = text};
    return made;
}

/* --- loading ---------------------------------------------------------------------------------- */

/* An event with the fields id, ts and a. The table's key rule determines its row. */
static kw_api_Record
event_of(kw_arena *arena, kw_bytes id, int64_t ts, uint64_t number)
{
    kw_api_Record made = {.items = kw_arena_alloc0(arena, 3 * sizeof(item)), .count = 3};
    made.items[0].key = KW_BYTES_LITERAL("id");
    made.items[0].value = *text_value(arena, id);
    made.items[1].key = KW_BYTES_LITERAL("ts");
    made.items[1].value = (kw_api_Value){.has_number = true, .number = ts};
    made.items[2].key = KW_BYTES_LITERAL("a");
    made.items[2].value = *text_value(arena, bench_value(arena, number, 1, 0));
    return made;
}

static void
put_many(link_to *link, const char *table, kw_api_Record *records, size_t count)
{
    kw_api_Data_putMany_args args = {
        .has_table = true, .table = kw_bytes_of_text(table), .has_records = true};
    args.records.items = records;
    args.records.count = (uint32_t)count;
    const kw_api_Data_putMany_result *result = link_call(link, &kw_api_methods[KW_API_Data_putMany], &args);
    if (result->failure)
        caller_group_fail(table, result->failure->message);
    for (uint32_t i = 0; i < result->success.count; i++)
        if (result->success.items[i].outcome != KW_API_Outcome_OK)
            caller_group_fail(table, result->success.items[i].failure->message);
}

/* Makes the event with a number. */
typedef kw_api_Record (*maker)(kw_arena *arena, uint64_t number);

/* One thread's share of the batches: every LOADERS-th batch. */
typedef struct loader {
    kw_thread thread;
    const group_server *where;
    const char *table;
    uint64_t first, end;
    maker make;
} loader;

static void
load_share(void *user)
{
    const loader *of = user;
    link_to *link = link_open(of->where);
    g_autoptr(kw_arena) arena = kw_arena_new();
    for (uint64_t at = of->first; at < of->end; at += LOADERS * BATCH) {
        size_t size = (size_t)MIN(of->end - at, BATCH);
        kw_arena_reset(arena);
        kw_api_Record *records = KW_ARENA_ARRAY(arena, kw_api_Record, size);
        for (size_t i = 0; i < size; i++)
            records[i] = of->make(arena, at + i);
        put_many(link, of->table, records, size);
    }
    link_close(link);
}

/* keywayd asks HBase for the families of a table when it first writes to it, and sends the puts of a putMany
 * one by one until it knows them. */
static void
load_one(const group_server *where, const char *table, uint64_t number, maker make)
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    link_to *link = link_open(where);
    kw_api_Record record = make(arena, number);
    put_many(link, table, &record, 1);
    link_close(link);
}

static void
load(const group_server *where, const char *table, uint64_t first, uint64_t count, maker make)
{
    loader all[LOADERS];
    load_one(where, table, first, make);
    for (uint64_t i = 0; i < LOADERS; i++) {
        all[i] = (loader){.where = where, .table = table, .end = first + count, .make = make};
        all[i].first = first + i * BATCH;
        kw_thread_start(&all[i].thread, "loader", load_share, &all[i]);
    }
    for (size_t i = 0; i < LOADERS; i++)
        kw_thread_join(&all[i].thread);
}

int64_t
query_event_ms(uint64_t number)
{
    return EPOCH_MS + (int64_t)number;
}

static kw_api_Record
event_by_time(kw_arena *arena, uint64_t number)
{
    return event_of(arena, bench_id(arena, number), query_event_ms(number), number);
}

static kw_api_Record
event_of_order(kw_arena *arena, uint64_t number)
{
    return event_of(arena, bench_id(arena, number % ORDERS), EPOCH_MS + (int64_t)(number / ORDERS), number);
}

void
query_load_events(const group_server *where, const char *table, uint64_t first, uint64_t count)
{
    load(where, table, first, count, event_by_time);
}

/* --- queries ---------------------------------------------------------------------------------- */

/* Fills the query; its memory is in the arena. */
typedef void (*asker)(kw_arena *arena, kw_api_Query *query);

typedef struct limited {
    const char *table;
    uint32_t rows;
    asker fill;
} limited;

static uint64_t
ask_once(link_to *link, kw_arena *arena, void *user)
{
    const limited *of = user;
    kw_api_Query made = {.table = kw_bytes_of_text(of->table), .has_limit = true, .limit = of->rows};
    kw_api_Data_scan_args args = {.has_query = true, .query = &made};
    of->fill(arena, &made);
    const kw_api_Data_scan_result *got = link_call(link, &kw_api_methods[KW_API_Data_scan], &args);
    if (got->failure)
        caller_group_fail(of->table, got->failure->message);
    if (got->success->rows.count != of->rows)
        caller_group_fail(of->table, KW_BYTES_LITERAL("the number of rows is wrong"));
    return (uint64_t)got->success->rows_scanned;
}

asked
query_repeat(link_to *link, int ms, query_once ask, void *user)
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    slice_samples samples = {0};
    slice_result times = {0};
    uint64_t scanned = 0;
    kw_deadline end = kw_deadline_in_ms(ms);
    do {
        kw_arena_reset(arena);
        uint64_t start = kw_clock_mono_ns();
        scanned += ask(link, arena, user);
        slice_samples_add(&samples, kw_clock_mono_ns() - start);
    } while (!kw_deadline_passed(end));
    slice_samples_summarize(&samples, &times);
    asked result = {.p50_us = times.p50_us, .p99_us = times.p99_us, .queries = samples.count};
    result.rows_scanned = (double)scanned / (double)samples.count;
    slice_samples_clear(&samples);
    return result;
}

static asked
ask(const group_server *where, const char *table, int ms, uint32_t rows, asker fill)
{
    limited of = {table, rows, fill};
    link_to *link = link_open(where);
    double before = gateway_stat(where, "store_calls");
    asked result = query_repeat(link, ms, ask_once, &of);
    result.calls = (gateway_stat(where, "store_calls") - before) / (double)result.queries;
    link_close(link);
    return result;
}

static void
newest(kw_arena *arena, kw_api_Query *query)
{
    (void)arena;
    query->has_order = true;
    query->order = KW_API_Order_DESCENDING;
    query->has_full_scan = true;
    query->full_scan = true;
}

kw_api_Record
query_event_key(kw_arena *arena, uint64_t number)
{
    kw_api_Record made = event_by_time(arena, number);
    made.count = 2; /* id and ts */
    return made;
}

static void
newest_of_an_order(kw_arena *arena, kw_api_Query *query)
{
    query->has_bound = true;
    query->bound.items = kw_arena_alloc0(arena, sizeof(item));
    query->bound.count = 1;
    query->bound.items[0].key = KW_BYTES_LITERAL("id");
    query->bound.items[0].value = *text_value(arena, bench_id(arena, kw_random_u64() % ORDERS));
}

asked
query_latest(const group_server *where, const char *table, int ms)
{
    return ask(where, table, ms, 20, newest);
}

/* --- the measures ----------------------------------------------------------------------------- */

typedef struct compared_query {
    double p50_us;
    interval rows, calls; /* per query */
    interval ratio;       /* to one direct get */
    interval scan;        /* a direct scan to one direct get; 0: not measured */
    double get_us, scan_us;
} compared_query;

static double
p50_of_scans(bench *all, query_once scan)
{
    link_to *link = link_open(&all->sides[0].place);
    double p50_us = query_repeat(link, all->slice_ms, scan, NULL).p50_us;
    link_close(link);
    return p50_us;
}

/* scan: the same query directly; NULL: none */
static compared_query
compare(bench *all, const char *table, uint32_t rows, asker fill, query_once scan)
{
    compared_query result = {0};
    double p50[ROUNDS_MOST], ratio[ROUNDS_MOST], get[ROUNDS_MOST], direct[ROUNDS_MOST], scans[ROUNDS_MOST];
    double rows_read[ROUNDS_MOST], calls[ROUNDS_MOST];
    ask(&all->sides[1].place, table, all->slice_ms, rows, fill); /* warm-up */
    for (int round = 0; round < all->rounds; round++) {
        get[round] = slice_run(&all->sides[0], WORK_GET, 1, all->slice_ms).p50_us;
        asked got = ask(&all->sides[1].place, table, all->slice_ms, rows, fill);
        p50[round] = got.p50_us;
        rows_read[round] = got.rows_scanned;
        calls[round] = got.calls;
        ratio[round] = p50[round] / get[round];
        direct[round] = scan ? p50_of_scans(all, scan) : 0;
        scans[round] = direct[round] / get[round];
    }
    result.p50_us = rounds_median(p50, all->rounds);
    result.rows = rounds_interval(rows_read, all->rounds);
    result.calls = rounds_interval(calls, all->rounds);
    result.ratio = rounds_interval(ratio, all->rounds);
    result.scan = rounds_interval(scans, all->rounds);
    result.get_us = rounds_median(get, all->rounds);
    result.scan_us = rounds_median(direct, all->rounds);
    return result;
}

static void
add_ratio(const char *measure, const char *first, const char *second, interval value, bound how, double must,
          double aim)
{
    table_add_spread(&(table_row){measure, first, second, value.median, "x", how, must, aim}, value.low,
                     value.high);
}

static void
add_count(const char *measure, const char *query, interval value, const char *unit, double must, double aim)
{
    table_add_spread(&(table_row){measure, "", query, value.median, unit, AT_MOST, must, aim}, value.low,
                     value.high);
}

void
measure_latest(bench *all)
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    load(&all->sides[1].place, "events", 0, EVENTS, event_by_time);
    compared_query got = compare(all, "events", 20, newest, NULL);
    const char *get = kw_arena_printf(arena, "one get: p50 %.0f us", got.get_us);
    const char *query = kw_arena_printf(arena, "p50 %.0f us, %.1f calls", got.p50_us, got.calls.median);
    add_count("latest 20 over 16 buckets: rows read", query, got.rows, "rows", 50, 40);
    add_count("latest 20 over 16 buckets: calls", query, got.calls, "calls", 17, 17);
    add_ratio("latest 20 over 16 buckets: p50 in direct gets", get, query, got.ratio, AT_MOST, 8, 5);
}

/* The first row of one order's range: the MD5 prefix, the id, and its end. */
static uint64_t
scan_an_order(link_to *link, kw_arena *arena, void *user)
{
    (void)user;
    kw_bytes id = bench_id(arena, kw_random_u64() % ORDERS);
    g_autofree char *md5 = g_compute_checksum_for_data(G_CHECKSUM_MD5, id.data, id.size);
    const char *start = kw_arena_printf(arena, "%.4s%.*s", md5, (int)id.size, (const char *)id.data);
    size_t size = strlen(start) + 1; /* with its zero byte */
    uint8_t *stop = kw_arena_alloc(arena, size);
    memcpy(stop, start, size);
    stop[size - 1] = 1;
    kw_hb_TScan scan = {.has_startRow = true,
                        .startRow = kw_bytes_of(start, size),
                        .has_stopRow = true,
                        .stopRow = kw_bytes_of(stop, size),
                        .has_caching = true,
                        .caching = 1,
                        .has_limit = true,
                        .limit = 1};
    kw_hb_THBaseService_getScannerResults_args args = {
        .table = KW_BYTES_LITERAL("kw_bench_orders"), .tscan = &scan, .has_numRows = true, .numRows = 1};
    const kw_hb_THBaseService_getScannerResults_result *result =
        link_call(link, &kw_hb_methods[KW_HB_THBaseService_getScannerResults], &args);
    if (result->io || result->success.count != 1)
        caller_group_fail("a direct scan", KW_BYTES_LITERAL("found no event of the order"));
    return 1;
}

void
measure_order(bench *all)
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    load(&all->sides[1].place, "orders", 0, ORDERS * EVENTS_OF_ORDER, event_of_order);
    compared_query got = compare(all, "orders", 1, newest_of_an_order, scan_an_order);
    const char *get = kw_arena_printf(arena, "one get: p50 %.0f us", got.get_us);
    const char *query = kw_arena_printf(arena, "p50 %.0f us", got.p50_us);
    add_count("latest event of an order: calls", query, got.calls, "calls", 1.01, 1);
    add_count("latest event of an order: rows read", query, got.rows, "rows", 1, 1);
    add_ratio("latest event of an order: p50 in direct gets", get, query, got.ratio, AT_MOST, 1.6, 1.15);
    add_ratio("(latest event of an order: a direct getScannerResults in direct gets)", get,
              kw_arena_printf(arena, "p50 %.0f us", got.scan_us), got.scan, NO_BOUND, 0, 0);
}
