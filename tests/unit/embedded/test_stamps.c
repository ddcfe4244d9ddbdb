/* The timestamps that the store gives: a write is never hidden by an earlier one, whatever the clock does. */
#include "contract/fixture.h"
#include "opened.h"

#include <stdatomic.h>

#define START_MS INT64_C(1700000000000)

static _Atomic int64_t clock_ms = START_MS;

static int64_t
read_clock(void)
{
    return atomic_load(&clock_ms);
}

static void
begin(kw_opened *opened)
{
    atomic_store(&clock_ms, START_MS);
    kw_opened_init(opened);
    kw_family_spec family = kw_plain_family("d");
    family.max_versions = 3;
    kw_opened_create(opened, "t", &family, 1);
}

static void
put(kw_opened *opened, const char *value)
{
    kw_opened_put(opened, "t", "row", "d", "a", value, KW_TIMESTAMP_NONE);
}

static void
expect(kw_opened *opened, const char *row, int64_t timestamp, const char *value)
{
    g_autofree char *text = g_strdup_printf("d:a@%" G_GINT64_FORMAT "=%s", timestamp, value);
    kw_opened_expect(opened, "t", row, text);
}

/* All in one millisecond. */
static void
a_put_after_a_removal_is_seen(void)
{
    kw_opened opened;
    begin(&opened);
    put(&opened, "1");
    expect(&opened, "row", START_MS, "1");
    put(&opened, "2");
    expect(&opened, "row", START_MS, "2");
    for (int i = 0; i < 3; i++) {
        kw_opened_remove_row(&opened, "t", "row", KW_TIMESTAMP_NONE);
        kw_opened_expect(&opened, "t", "row", "");
        put(&opened, "3");
        expect(&opened, "row", START_MS + 1 + i, "3");
    }
    kw_opened_clear(&opened);
}

static void
an_increment_and_a_condition_after_a_removal_count(void)
{
    kw_opened opened;
    int64_t amount = 5;
    kw_column column = {.family = B("d"), .qualifier = B("a")};
    kw_increment increment = {.table = B("t"),
                              .row = B("row"),
                              .columns = &column,
                              .amounts = &amount,
                              .columns_count = 1,
                              .deadline = KW_DEADLINE_NONE};
    kw_cell cell = {.family = B("d"), .qualifier = B("a"), .value = B("new")};
    kw_write write = {.kind = KW_WRITE_PUT,
                      .table = B("t"),
                      .row = B("row"),
                      .cells = &cell,
                      .cells_count = 1,
                      .timestamp = KW_TIMESTAMP_NONE,
                      .deadline = KW_DEADLINE_NONE};
    kw_check absent = {.family = B("d"), .qualifier = B("a"), .compare = KW_COMPARE_EQUAL};
    begin(&opened);
    kw_opened_remove_row(&opened, "t", "row", KW_TIMESTAMP_NONE);
    kw_sync_written sum = kw_sync_increment(&opened.sync, &increment);
    g_assert_cmpint(sum.outcome, ==, KW_OUTCOME_OK);
    kw_rows_free(sum.rows);
    expect(&opened, "row", START_MS + 1, "\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x05");
    kw_opened_remove_row(&opened, "t", "row", KW_TIMESTAMP_NONE);
    g_assert_true(kw_sync_write_if(&opened.sync, &write, &absent).applied);
    expect(&opened, "row", START_MS + 2, "new");
    kw_opened_clear(&opened);
}

static void
writes_count_though_the_clock_goes_back(void)
{
    kw_opened opened;
    begin(&opened);
    put(&opened, "1");
    atomic_store(&clock_ms, START_MS - 3600000);
    put(&opened, "2");
    kw_opened_remove_row(&opened, "t", "row", KW_TIMESTAMP_NONE);
    kw_opened_expect(&opened, "t", "row", "");
    put(&opened, "3");
    kw_opened_reopen(&opened); /* an hour back, also for a process that knows nothing of it */
    put(&opened, "4");
    kw_get get = {.table = B("t"), .row = B("row"), .max_versions = 1, .deadline = KW_DEADLINE_NONE};
    kw_rows *rows = kw_sync_get(&opened.sync, &get, NULL);
    g_assert_true(kw_bytes_equal(rows->rows[0].cells[0].value, B("4")));
    g_assert_cmpint(rows->rows[0].cells[0].timestamp, >, START_MS);
    kw_rows_free(rows);
    kw_opened_remove_row(&opened, "t", "row", KW_TIMESTAMP_NONE);
    kw_opened_expect(&opened, "t", "row", "");
    kw_opened_clear(&opened);
}

/* While it catches up the timestamps go on, at half the speed of time. */
static void
a_clock_that_is_behind_is_caught_up(void)
{
    kw_opened opened;
    begin(&opened);
    put(&opened, "1");
    atomic_store(&clock_ms, START_MS - 10);
    put(&opened, "2");
    g_usleep(20000);
    put(&opened, "3");
    kw_get get = {.table = B("t"), .row = B("row"), .max_versions = 1, .deadline = KW_DEADLINE_NONE};
    kw_rows *rows = kw_sync_get(&opened.sync, &get, NULL);
    g_assert_cmpint(rows->rows[0].cells[0].timestamp, >=, START_MS + 10);
    kw_rows_free(rows);
    atomic_store(&clock_ms, START_MS + 3600000);
    kw_opened_remove_row(&opened, "t", "row", KW_TIMESTAMP_NONE);
    put(&opened, "4");
    expect(&opened, "row", START_MS + 3600001, "4");
    kw_opened_clear(&opened);
}

/* The rows of one record in a many-call have one timestamp, above what was removed of any of them. */
static void
rows_of_one_record_have_one_timestamp(void)
{
    kw_opened opened;
    kw_cell cell = {.family = B("d"), .qualifier = B("a"), .value = B("x")};
    kw_write writes[3];
    const kw_write *all[3];
    kw_written results[3];
    begin(&opened);
    kw_opened_remove_row(&opened, "t", "second", KW_TIMESTAMP_NONE);
    for (size_t i = 0; i < 3; i++) {
        static const char *const rows[] = {"first", "second", "other"};
        writes[i] = (kw_write){.kind = KW_WRITE_PUT,
                               .table = B("t"),
                               .row = B(rows[i]),
                               .cells = &cell,
                               .cells_count = 1,
                               .timestamp = KW_TIMESTAMP_NONE,
                               .record = i < 2,
                               .deadline = KW_DEADLINE_NONE};
        all[i] = &writes[i];
    }
    kw_sync_write_many(&opened.sync, all, 3, results);
    expect(&opened, "first", START_MS + 1, "x");
    expect(&opened, "second", START_MS + 1, "x");
    expect(&opened, "other", START_MS, "x");
    kw_opened_clear(&opened);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    kw_clock_inject(read_clock, NULL);
    g_test_add_func("/stamps/removal", a_put_after_a_removal_is_seen);
    g_test_add_func("/stamps/conditional", an_increment_and_a_condition_after_a_removal_count);
    g_test_add_func("/stamps/back", writes_count_though_the_clock_goes_back);
    g_test_add_func("/stamps/catch_up", a_clock_that_is_behind_is_caught_up);
    g_test_add_func("/stamps/record", rows_of_one_record_have_one_timestamp);
    return g_test_run();
}
