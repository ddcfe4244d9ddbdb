/* See events.h. */
#include "events.h"

#include "thrift/hbase2_wire.h"
#include "thrift/keyway_wire.h"

#include <glib.h>
#include <stdlib.h>

#define LATEST 20
#define SAMPLE 512
#define ID_BYTES 10
#define KEY_BYTES (1 + 8 + ID_BYTES)
#define BUCKETS_MOST 256
#define ONLY_BUCKET 'A' /* see run.sh: a table with one bucket has a literal instead of a salt */

void
events_load(events *of, uint64_t count)
{
    query_load_events(&of->all->sides[1].place, of->table, of->count, count - of->count);
    of->count = count;
}

/* --- direct calls to Thrift2 ------------------------------------------------------------------ */

/* The bucket and time at the beginning of an event's row key. */
static void
write_start(uint8_t to[9], uint8_t bucket, uint64_t number)
{
    uint64_t descending = ~((uint64_t)query_event_ms(number) ^ (UINT64_C(1) << 63));
    to[0] = bucket;
    for (int i = 0; i < 8; i++)
        to[1 + i] = (uint8_t)(descending >> (56 - 8 * i));
}

/* The event's number; ends the program if the key is not the key of that event. */
static uint64_t
number_of_key(kw_bytes key)
{
    uint8_t start[9];
    if (key.size != KEY_BYTES)
        caller_group_fail("an event's row key", KW_BYTES_LITERAL("is not bucket, time and id"));
    uint64_t number = bench_number_of_id(kw_bytes_of(key.data + 9, ID_BYTES));
    write_start(start, key.data[0], number);
    if (memcmp(start, key.data, sizeof start) != 0)
        caller_group_fail("an event's row key", KW_BYTES_LITERAL("does not contain the time of its id"));
    return number;
}

/* Reads up to `most` rows of the bucket, beginning at `start`. */
static const kw_hb_THBaseService_getScannerResults_result *
rows_of(link_to *link, const events *of, kw_bytes start, int32_t most)
{
    uint8_t stop[1] = {(uint8_t)(start.data[0] + 1)};
    kw_hb_TScan scan = {.has_startRow = true, .startRow = start, .has_caching = true, .caching = most};
    scan.has_stopRow = start.data[0] < UINT8_MAX;
    scan.stopRow = kw_bytes_of(stop, sizeof stop);
    kw_hb_THBaseService_getScannerResults_args args = {
        .table = kw_bytes_of_text(of->store_table), .tscan = &scan, .has_numRows = true, .numRows = most};
    const kw_hb_THBaseService_getScannerResults_result *got =
        link_call(link, &kw_hb_methods[KW_HB_THBaseService_getScannerResults], &args);
    if (got->io)
        caller_group_fail(of->store_table, got->io->message);
    return got;
}

static int
newest_first(const void *a, const void *b)
{
    uint64_t one = *(const uint64_t *)a, other = *(const uint64_t *)b;
    return (one < other) - (one > other);
}

static uint64_t
ask_latest(link_to *link, kw_arena *arena, void *user)
{
    const events *of = user;
    uint64_t found[BUCKETS_MOST * LATEST];
    size_t count = 0;
    (void)arena;
    for (unsigned bucket = 0; bucket < of->buckets; bucket++) {
        uint8_t start[1] = {of->buckets == 1 ? ONLY_BUCKET : (uint8_t)bucket};
        const kw_hb_THBaseService_getScannerResults_result *got =
            rows_of(link, of, kw_bytes_of(start, sizeof start), LATEST);
        for (uint32_t i = 0; i < MIN(got->success.count, LATEST); i++)
            found[count++] = number_of_key(got->success.items[i].row);
    }
    qsort(found, count, sizeof *found, newest_first);
    for (uint64_t i = 0; i < LATEST; i++)
        if (i >= count || found[i] != of->count - 1 - i)
            caller_group_fail(of->store_table,
                              KW_BYTES_LITERAL("the newest events are not those written last"));
    return count;
}

static uint64_t
ask_get(link_to *link, kw_arena *arena, void *user)
{
    const events *of = user;
    (void)arena;
    kw_bytes key = of->sample[kw_random_u64() % of->sample_count];
    kw_hb_TGet tget = {.row = key};
    kw_hb_THBaseService_get_args args = {.table = kw_bytes_of_text(of->store_table), .tget = &tget};
    const kw_hb_THBaseService_get_result *got =
        link_call(link, &kw_hb_methods[KW_HB_THBaseService_get], &args);
    if (got->io)
        caller_group_fail(of->store_table, got->io->message);
    if (!kw_bytes_equal(got->success->row, key) || got->success->columnValues.count == 0)
        caller_group_fail(of->store_table, KW_BYTES_LITERAL("an event was not found"));
    return 1;
}

/* --- through the gateway ---------------------------------------------------------------------- */

static uint64_t
ask_get_gateway(link_to *link, kw_arena *arena, void *user)
{
    const events *of = user;
    uint64_t number = number_of_key(of->sample[kw_random_u64() % of->sample_count]);
    kw_api_Data_get_args args = {.has_table = true, .table = kw_bytes_of_text(of->table), .has_key = true};
    args.key = query_event_key(arena, number);
    const kw_api_Data_get_result *got = link_call(link, &kw_api_methods[KW_API_Data_get], &args);
    if (got->failure)
        caller_group_fail(of->table, got->failure->message);
    if (!got->success->has_record)
        caller_group_fail(of->table, KW_BYTES_LITERAL("an event was not found"));
    return 1;
}

/* --- both ------------------------------------------------------------------------------------- */

void
events_sample(events *of)
{
    link_to *link = link_open(&of->all->sides[0].place);
    of->arena = kw_arena_new();
    of->sample = KW_ARENA_ARRAY(of->arena, kw_bytes, SAMPLE);
    for (unsigned tries = 0; tries < 10 * SAMPLE && of->sample_count < SAMPLE; tries++) {
        uint8_t start[9];
        write_start(start, (uint8_t)(kw_random_u64() % of->buckets), kw_random_u64() % of->count);
        const kw_hb_THBaseService_getScannerResults_result *got =
            rows_of(link, of, kw_bytes_of(start, sizeof start), 1);
        if (got->success.count == 0)
            continue; /* this bucket has no older event */
        number_of_key(got->success.items[0].row);
        of->sample[of->sample_count++] = kw_arena_copy(of->arena, got->success.items[0].row);
    }
    if (of->sample_count == 0)
        caller_group_fail(of->store_table, KW_BYTES_LITERAL("no events were found"));
    link_close(link);
}

void
events_forget_sample(events *of)
{
    kw_arena_free(g_steal_pointer(&of->arena));
    of->sample = NULL;
    of->sample_count = 0;
}

static asked
repeat(const events *of, int side, int ms, query_once ask, double calls)
{
    const group_server *where = &of->all->sides[side].place;
    double before = side ? gateway_stat(where, "store_calls") : 0;
    link_to *link = link_open(where);
    asked got = query_repeat(link, ms, ask, (void *)of);
    link_close(link);
    got.calls = side ? (gateway_stat(where, "store_calls") - before) / (double)MAX(got.queries, 1) : calls;
    return got;
}

asked
events_latest(const events *of, int side, int ms)
{
    return side ? query_latest(&of->all->sides[1].place, of->table, ms)
                : repeat(of, 0, ms, ask_latest, of->buckets);
}

asked
events_get(const events *of, int side, int ms)
{
    return repeat(of, side, ms, side ? ask_get_gateway : ask_get, 1);
}
