/* The null store completes every operation exactly once, in a later loop iteration, and its store handle
 * closes after the last completion. */
#include "contract/sync.h"
#include "store/null.h"

static const kw_cell cell = {.family = {(const uint8_t *)"d", 1},
                             .qualifier = {(const uint8_t *)"a", 1},
                             .value = {(const uint8_t *)"x", 1}};

static kw_write
make_put(void)
{
    return (kw_write){.kind = KW_WRITE_PUT,
                      .table = KW_BYTES_LITERAL("t"),
                      .row = KW_BYTES_LITERAL("r"),
                      .cells = &cell,
                      .cells_count = 1,
                      .timestamp = 1,
                      .deadline = KW_DEADLINE_NONE};
}

static void
expect_row(const kw_row *row, kw_bytes key)
{
    g_assert_true(kw_bytes_equal(row->key, key));
    g_assert_cmpuint(row->cells_count, ==, 3);
    for (int i = 0; i < 3; i++)
        g_assert_cmpuint(row->cells[i].value.size, ==, 100);
}

static void
test_point_operations(void)
{
    kw_store *store = kw_null_store_open();
    kw_sync sync;
    kw_sync_open(&sync, store);
    kw_write write = make_put();
    g_assert_cmpint(kw_sync_write(&sync, &write).outcome, ==, KW_OUTCOME_OK);
    const kw_write *writes[] = {&write, &write};
    kw_written results[2] = {{.outcome = KW_OUTCOME_UNKNOWN}, {.outcome = KW_OUTCOME_UNKNOWN}};
    kw_sync_write_many(&sync, writes, 2, results);
    g_assert_cmpint(results[1].outcome, ==, KW_OUTCOME_OK);
    kw_check check = {.family = KW_BYTES_LITERAL("d"), .qualifier = KW_BYTES_LITERAL("a")};
    check.compare = KW_COMPARE_EQUAL;
    g_assert_true(kw_sync_write_if(&sync, &write, &check).applied);
    kw_get get = {.table = write.table, .row = KW_BYTES_LITERAL("requested"), .deadline = KW_DEADLINE_NONE};
    kw_rows *rows = kw_sync_get(&sync, &get, NULL);
    expect_row(&rows->rows[0], get.row);
    kw_rows_free(rows);
    const kw_get *gets[] = {&get, &get, &get};
    rows = kw_sync_get_many(&sync, gets, 3, NULL);
    g_assert_cmpuint(rows->count, ==, 3);
    expect_row(&rows->rows[2], get.row);
    kw_rows_free(rows);
    kw_sync_close(&sync);
    kw_store_free(store);
}

static void
test_increment_and_tables(void)
{
    kw_store *store = kw_null_store_open();
    kw_sync sync;
    kw_sync_open(&sync, store);
    kw_column column = {.family = KW_BYTES_LITERAL("d"), .qualifier = KW_BYTES_LITERAL("n")};
    int64_t amount = 42;
    kw_increment increment = {.table = KW_BYTES_LITERAL("t"),
                              .row = KW_BYTES_LITERAL("r"),
                              .columns = &column,
                              .amounts = &amount,
                              .columns_count = 1,
                              .deadline = KW_DEADLINE_NONE};
    kw_sync_written result = kw_sync_increment(&sync, &increment);
    g_assert_cmpuint(kw_be64_load(result.rows->rows[0].cells[0].value.data), ==, 42);
    kw_rows_free(result.rows);
    kw_table_facts *facts = kw_sync_describe(&sync, KW_BYTES_LITERAL("t"), NULL);
    g_assert_true(facts->exists);
    kw_table_facts_free(facts);
    kw_regions *regions = kw_sync_regions(&sync, KW_BYTES_LITERAL("t"), NULL);
    g_assert_cmpuint(regions->count, ==, 1);
    kw_regions_free(regions);
    kw_family_spec family = {.name = "d"};
    kw_table_spec spec = {.name = KW_BYTES_LITERAL("t"), .families = &family, .families_count = 1};
    g_assert_true(kw_sync_create(&sync, &spec, NULL, NULL));
    g_assert_true(kw_sync_drop(&sync, spec.name, NULL));
    int64_t offset_ms = 1;
    g_assert_true(kw_store_clock_offset_ms(store, &offset_ms));
    g_assert_cmpint(offset_ms, ==, 0);
    g_assert_true(kw_store_ready(store, NULL));
    kw_sync_close(&sync);
    kw_store_free(store);
}

static void
never_called(void *user, kw_rows *rows, const kw_error *error)
{
    (void)user, (void)rows, (void)error;
    g_assert_not_reached();
}

static void
test_range_scans(void)
{
    kw_store *store = kw_null_store_open();
    kw_sync sync;
    kw_sync_open(&sync, store);
    kw_range_scan_spec spec = {.table = KW_BYTES_LITERAL("t"), .start = KW_BYTES_LITERAL("from")};
    kw_range_scan *scan = kw_store_handle_open_range_scan(sync.handle, &spec);
    kw_rows *rows = kw_sync_fetch(&sync, scan, 10, 1000, true, NULL);
    g_assert_cmpuint(rows->count, ==, 1);
    g_assert_true(rows->end);
    expect_row(&rows->rows[0], spec.start);
    kw_rows_free(rows);
    rows = kw_sync_fetch(&sync, scan, 10, 1000, true, NULL);
    g_assert_cmpuint(rows->count, ==, 0);
    kw_rows_free(rows);
    kw_range_scan_close(scan);
    scan = kw_store_handle_open_range_scan(sync.handle, &spec);
    kw_range_scan_fetch(scan, 1, 1, true, KW_DEADLINE_NONE, never_called, NULL);
    kw_range_scan_close(scan);
    kw_sync_close(&sync);
    kw_store_free(store);
}

/* Completions start new operations, 10,000 in all, while the vectors grow. */
typedef struct chain {
    kw_sync *sync;
    kw_write write;
    size_t started, finished;
    bool done;
} chain;

static void
chain_write_done(void *user, kw_outcome outcome, const kw_error *error)
{
    chain *all = user;
    g_assert_true(outcome == KW_OUTCOME_OK && !error);
    all->finished++;
    for (int i = 0; i < 2 && all->started < 10000; i++) {
        all->started++;
        kw_store_handle_write(all->sync->handle, &all->write, chain_write_done, all);
    }
    all->done = all->finished == 10000;
}

static void
test_operations_from_completions(void)
{
    kw_store *store = kw_null_store_open();
    kw_sync sync;
    kw_sync_open(&sync, store);
    chain all = {.sync = &sync, .write = make_put(), .started = 1};
    kw_store_handle_write(sync.handle, &all.write, chain_write_done, &all);
    g_assert_cmpuint(all.finished, ==, 0);
    kw_sync_wait(&sync, &all.done);
    g_assert_cmpuint(all.started, ==, 10000);
    kw_sync_close(&sync);
    kw_store_free(store);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/null/point_operations", test_point_operations);
    g_test_add_func("/null/increment_and_tables", test_increment_and_tables);
    g_test_add_func("/null/range_scans", test_range_scans);
    g_test_add_func("/null/operations_from_completions", test_operations_from_completions);
    return g_test_run();
}
