/* What four queries cost on HBase: the calls to Thrift2 and the rows that they read. The HBase is simulated,
 * so the numbers are the same on every machine; `--verbose` prints them. */
#include "contract/simulated_place.h"
#include "desk.h"

#include "base/metrics.h"
#include "verb/scan.h"

#define EVENTS 8000
#define ORDERS 400
#define BATCH 500

static const char policy[] =
    "store: {kind: embedded}\n"
    "limits: {batch_records: 500, page_rows: 10000}\n"
    "tables:\n"
    "  events:\n"
    "    fields: {id: {type: string, max_bytes: 16}, ts: {type: timestamp, unit: ms}, "
    "a: string}\n"
    "    key: [{salt: {buckets: 16, of: [id]}}, {field: {name: ts, order: desc}}, "
    "{field: id}]\n"
    "  orders:\n"
    "    fields: {id: {type: string, max_bytes: 16}, ts: {type: timestamp, unit: ms}, "
    "a: string}\n"
    "    key: [{hash: {algorithm: md5, of: [id], take: 4, as: hex}}, {field: id}, "
    "{field: {name: ts, order: desc}}]\n";

static desk *on;

/* Record number `i` has the id i % ids and the time i. */
static void
load(const char *table, unsigned count, unsigned ids)
{
    g_autofree char *value = g_strnfill(100, 'v');
    desk_create(on, table);
    for (unsigned first = 0; first < count; first += BATCH) {
        kw_item *items = KW_ARENA_ARRAY(on->call.arena, kw_item, BATCH);
        for (unsigned i = 0; i < BATCH; i++) {
            unsigned number = first + i;
            g_autofree char *text = g_strdup_printf("id=n%06u ts=%u a=%s", number % ids, number, value);
            items[i] = (kw_item){.record = desk_record(on, table, text)};
        }
        on->done = false;
        kw_verb_put(&on->call, desk_table(on, table), items, BATCH, on->options, desk_done, on);
        desk_wait(on);
        for (unsigned i = 0; i < BATCH; i++)
            g_assert_cmpint(on->written[i].outcome, ==, KW_OUTCOME_OK);
        desk_clear(on);
    }
}

/* --- queries ---------------------------------------------------------------------------------- */

typedef struct costs {
    int64_t calls;    /* opening, reading and closing */
    uint64_t scanned; /* rows */
    size_t rows;      /* returned */
} costs;

static costs
cost_of(const char *query)
{
    int64_t before = kw_metrics_read(KW_METRIC_store_calls_scan);
    if (!desk_scan(on, query))
        g_error("%s: %s", query, on->error.text);
    costs result = {.scanned = on->page.scanned, .rows = on->page.count};
    result.calls = kw_metrics_read(KW_METRIC_store_calls_scan) - before;
    g_test_message("%s: %d calls, %d rows read, %d returned", query, (int)result.calls, (int)result.scanned,
                   (int)result.rows);
    desk_clear(on);
    return result;
}

/* The first row of one range. */
static void
test_latest_of_an_order(void)
{
    for (unsigned i = 0; i < 20; i++) {
        g_autofree char *query = g_strdup_printf("orders id=n%06u limit=1", i * 17);
        costs of = cost_of(query);
        g_assert_cmpuint(of.rows, ==, 1);
        g_assert_cmpint(of.calls, ==, 1);
        g_assert_cmpuint(of.scanned, ==, 1);
    }
}

/* Each bucket is expected to have 20 / 16 of the rows, but the rows of the page are not spread evenly. */
static void
test_latest_of_all_buckets(void)
{
    costs of = cost_of("events order=desc full limit=20");
    g_assert_cmpuint(of.rows, ==, 20);
    g_assert_cmpint(of.calls, <=, 18);
    g_assert_cmpuint(of.scanned, <=, 52);
}

/* A window in the middle: most buckets need one call. */
static void
check_window(const char *query, size_t rows)
{
    costs of = cost_of(query);
    g_assert_cmpuint(of.rows, ==, rows);
    g_assert_cmpint(of.calls, <=, 20);
    g_assert_cmpuint(of.scanned, <=, rows + rows / 5);
}

static void
test_window(void)
{
    check_window("events ts=3000..4000", 1000);
    check_window("events ts=3000..4000 order=desc", 1000);
    check_window("events ts=3000..4000 page=1000", 1000);
    check_window("events ts=3000..4000 limit=1000", 1000);
    check_window("events ts=3000..8000 limit=1000", 1000);
}

/* --- a whole scan, as one caller reads it who requests page after page ------------------------- */

static void
paged(void *user, const kw_scan_page *page, const kw_error *error)
{
    (void)user;
    if (error)
        g_error("%s", error->text);
    on->page = *page;
    on->done = true;
}

static void
test_whole(void)
{
    kw_scan_request request = desk_request(on, "events full page=2000");
    kw_error error;
    kw_scan *scan = kw_scan_of_request(&on->call, &request, &error);
    int64_t before = kw_metrics_read(KW_METRIC_store_calls_scan);
    costs of = {0};
    do {
        on->done = false;
        kw_scan_next(scan, &on->call, paged, NULL);
        desk_wait(on);
        of.rows += on->page.count;
        of.scanned += on->page.scanned;
    } while (on->page.cursor.size);
    of.calls = kw_metrics_read(KW_METRIC_store_calls_scan) - before;
    g_test_message("whole scan: %d calls, %d rows read", (int)of.calls, (int)of.scanned);
    kw_scan_free(scan);
    g_assert_cmpuint(of.rows, ==, EVENTS);
    g_assert_cmpuint(of.scanned, ==, EVENTS);
    g_assert_cmpint(of.calls, <=, 16 * 5);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    on = desk_new_over(kw_simulated_place_open(), policy);
    load("events", EVENTS, EVENTS);
    load("orders", 10 * ORDERS, ORDERS);
    g_test_add_func("/verb/store_calls/latest_of_an_order", test_latest_of_an_order);
    g_test_add_func("/verb/store_calls/latest_of_all_buckets", test_latest_of_all_buckets);
    g_test_add_func("/verb/store_calls/window", test_window);
    g_test_add_func("/verb/store_calls/whole", test_whole);
    int failed = g_test_run();
    desk_free(on);
    return failed;
}
