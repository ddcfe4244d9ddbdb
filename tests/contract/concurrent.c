/* Many operations at the same time: each completes exactly once, conditions stay atomic, batches keep their
 * order, and a store handle that is closed first answers its operations in flight. */
#include "contract/fixture.h"

enum { PUTS = 300 };

typedef struct pending_calls {
    size_t started, finished, ok, applied;
    bool all_finished;
} pending_calls;

static void
one_finished(pending_calls *all)
{
    all->finished++;
    all->all_finished = all->finished == all->started;
}

static void
write_done(void *user, kw_outcome outcome, const kw_error *error)
{
    pending_calls *all = user;
    (void)error;
    all->ok += outcome == KW_OUTCOME_OK;
    one_finished(all);
}

static void
write_if_done(void *user, kw_outcome outcome, bool applied, const kw_error *error)
{
    ((pending_calls *)user)->applied += applied;
    write_done(user, outcome, error);
}

static void
increment_done(void *user, kw_outcome outcome, kw_rows *rows, const kw_error *error)
{
    write_done(user, outcome, error);
    kw_rows_free(rows);
}

typedef struct concurrent_put {
    char row[16];
    kw_cell cell;
    kw_write write;
} concurrent_put;

static void
fill_put(concurrent_put *put, kw_fixture *f, const char *prefix, int number)
{
    g_snprintf(put->row, sizeof put->row, "%s%03d", prefix, number);
    put->cell = (kw_cell){.family = B("d"), .qualifier = B("a"), .value = B(put->row)};
    put->write = (kw_write){.kind = KW_WRITE_PUT,
                            .table = f->table,
                            .row = B(put->row),
                            .cells = &put->cell,
                            .cells_count = 1,
                            .timestamp = 1,
                            .deadline = kw_deadline_in_ms(60000)};
}

static void
expect_rows(kw_fixture *f, const char *prefix)
{
    g_autofree char *stop = g_strconcat(prefix, "~", NULL);
    kw_range_scan_spec spec = {.table = f->table, .start = B(prefix), .stop = B(stop)};
    kw_range_scan *run = kw_store_handle_open_range_scan(f->sync.handle, &spec);
    int number = 0;
    for (bool end = false; !end;) {
        kw_rows *rows = kw_sync_fetch(&f->sync, run, 77, 1 << 20, true, NULL);
        for (size_t i = 0; i < rows->count; i++, number++) {
            g_autofree char *row = g_strdup_printf("%s%03d", prefix, number);
            g_assert_true(kw_bytes_equal(rows->rows[i].key, B(row)));
            g_assert_true(kw_bytes_equal(rows->rows[i].cells[0].value, B(row)));
        }
        end = rows->end;
        kw_rows_free(rows);
    }
    g_assert_cmpint(number, ==, PUTS);
    kw_range_scan_close(run);
}

static void
test_puts_at_once(kw_fixture *f)
{
    g_autofree concurrent_put *puts = g_new0(concurrent_put, PUTS);
    pending_calls all = {.started = PUTS};
    for (int i = 0; i < PUTS; i++) {
        fill_put(&puts[i], f, "many1-", i);
        kw_store_handle_write(f->sync.handle, &puts[i].write, write_done, &all);
    }
    g_assert_cmpuint(all.finished, ==, 0);
    kw_sync_wait(&f->sync, &all.all_finished);
    g_assert_cmpuint(all.ok, ==, PUTS);
    expect_rows(f, "many1-");
}

static void
test_put_many(kw_fixture *f)
{
    g_autofree concurrent_put *puts = g_new0(concurrent_put, PUTS);
    g_autofree kw_written *results = g_new0(kw_written, PUTS);
    g_autofree const kw_write **writes = g_new0(const kw_write *, PUTS);
    for (int i = 0; i < PUTS; i++) {
        fill_put(&puts[i], f, "many2-", (i * 7) % PUTS);
        writes[i] = &puts[i].write;
        results[i].outcome = KW_OUTCOME_UNKNOWN;
    }
    kw_sync_write_many(&f->sync, writes, PUTS, results);
    for (int i = 0; i < PUTS; i++)
        g_assert_cmpint(results[i].outcome, ==, KW_OUTCOME_OK);
    expect_rows(f, "many2-");
}

/* Of many writes that require an absent cell, one succeeds. */
static void
test_one_wins(kw_fixture *f)
{
    enum { RACERS = 50 };
    concurrent_put puts[RACERS];
    pending_calls all = {.started = RACERS};
    kw_check check = {.family = B("d"), .qualifier = B("a"), .compare = KW_COMPARE_EQUAL};
    for (int i = 0; i < RACERS; i++) {
        fill_put(&puts[i], f, "many3", 0);
        puts[i].write.timestamp = KW_TIMESTAMP_NONE;
        kw_store_handle_write_if(f->sync.handle, &puts[i].write, &check, write_if_done, &all);
    }
    kw_sync_wait(&f->sync, &all.all_finished);
    g_assert_cmpuint(all.ok, ==, RACERS);
    g_assert_cmpuint(all.applied, ==, 1);
}

static void
test_increments_at_once(kw_fixture *f)
{
    enum { COUNT = 100 };
    pending_calls all = {.started = COUNT};
    kw_column column = {.family = B("d"), .qualifier = B("n")};
    int64_t amount = 3;
    kw_increment increment = {.table = f->table,
                              .row = B("many4"),
                              .columns = &column,
                              .amounts = &amount,
                              .columns_count = 1,
                              .deadline = kw_deadline_in_ms(60000)};
    for (int i = 0; i < COUNT; i++)
        kw_store_handle_increment(f->sync.handle, &increment, increment_done, &all);
    kw_sync_wait(&f->sync, &all.all_finished);
    g_assert_cmpuint(all.ok, ==, COUNT);
    amount = 0;
    kw_sync_written last = kw_sync_increment(&f->sync, &increment);
    g_assert_cmpuint(kw_be64_load(last.rows->rows[0].cells[0].value.data), ==, 3 * COUNT);
    kw_rows_free(last.rows);
}

static void
write_on_closed(void *user)
{
    pending_calls *all = user;
    g_assert_cmpuint(all->finished, ==, all->started);
    one_finished(all);
    all->all_finished = true;
}

/* Operations in flight complete before closed is called. */
static void
test_close_in_flight(kw_fixture *f)
{
    enum { COUNT = 40 };
    concurrent_put puts[COUNT];
    pending_calls all = {.started = COUNT};
    kw_sync other;
    kw_sync_open(&other, f->sync.store);
    for (int i = 0; i < COUNT; i++) {
        fill_put(&puts[i], f, "many5", i);
        kw_store_handle_write(other.handle, &puts[i].write, write_done, &all);
    }
    kw_write empty = puts[0].write;
    empty.row = KW_BYTES_NONE;
    all.started++;
    kw_store_handle_write(other.handle, &empty, write_done, &all);
    kw_store_handle_close(other.handle, write_on_closed, &all);
    g_assert_cmpuint(all.finished, ==, 0);
    all.all_finished = false;
    while (all.finished <= all.started)
        uv_run(kw_loop_uv(other.loop), UV_RUN_ONCE);
    kw_loop_free(other.loop);
}

/* Two store handles of one store see each other's writes. */
static void
test_two_handles(kw_fixture *f)
{
    kw_fixture other = {.table = f->table};
    kw_sync_open(&other.sync, f->sync.store);
    for (int i = 1; i <= 5; i++) {
        g_autofree char *text = g_strdup_printf("d:a@%d=x", i);
        kw_put(i % 2 ? f : &other, "many6", "d:a", "x", i);
        kw_expect_row(i % 2 ? &other : f, "many6", text);
    }
    kw_sync_close(&other.sync);
}

static void
test_store_says(kw_fixture *f)
{
    g_assert_cmpuint(strlen(kw_store_about(f->sync.store)), >, 0);
    kw_expect_row(f, "many7", "");
    kw_error error = {0};
    g_assert_true(kw_store_ready(f->sync.store, &error));
    kw_store_reload(f->sync.store);
    kw_expect_row(f, "many7", "");
    int64_t offset_ms = 0;
    if (kw_store_clock_offset_ms(f->sync.store, &offset_ms))
        g_assert_cmpint(ABS(offset_ms), <, 10000);
}

void
kw_contract_add_concurrent(void)
{
    kw_fixture_add("concurrent", "puts_at_once", test_puts_at_once);
    kw_fixture_add("concurrent", "put_many", test_put_many);
    kw_fixture_add("concurrent", "one_wins", test_one_wins);
    kw_fixture_add("concurrent", "increments_at_once", test_increments_at_once);
    kw_fixture_add("concurrent", "close_in_flight", test_close_in_flight);
    kw_fixture_add("concurrent", "two_handles", test_two_handles);
    kw_fixture_add("concurrent", "store_says", test_store_says);
}
