/* The timestamps that the store allocates: an earlier write never hides a later one, even if the clock is
 * set back. */
#include "contract/fixture.h"
#include "embedded_fixture.h"

#include <stdatomic.h>

#define START_MS INT64_C(1700000000000)

static _Atomic int64_t clock_ms = START_MS;

static int64_t
read_clock(void)
{
    return atomic_load(&clock_ms);
}

static void
setup(embedded_fixture *fixture)
{
    atomic_store(&clock_ms, START_MS);
    embedded_fixture_init(fixture);
    kw_family_spec family = default_family("d");
    family.max_versions = 3;
    embedded_fixture_create_table(fixture, "t", &family, 1);
}

static void
put(embedded_fixture *fixture, const char *value)
{
    embedded_fixture_put(fixture, "t", "row", "d", "a", value, KW_TIMESTAMP_NONE);
}

static void
expect(embedded_fixture *fixture, const char *row, int64_t timestamp, const char *value)
{
    g_autofree char *text = g_strdup_printf("d:a@%" G_GINT64_FORMAT "=%s", timestamp, value);
    embedded_fixture_expect_row(fixture, "t", row, text);
}

/* All writes happen in the same millisecond. */
KW_TEST(a_put_after_a_removal_is_visible, "/stamps/removal")
{
    embedded_fixture fixture;
    setup(&fixture);
    put(&fixture, "1");
    expect(&fixture, "row", START_MS, "1");
    put(&fixture, "2");
    expect(&fixture, "row", START_MS, "2");
    for (int i = 0; i < 3; i++) {
        embedded_fixture_delete_row(&fixture, "t", "row", KW_TIMESTAMP_NONE);
        embedded_fixture_expect_row(&fixture, "t", "row", "");
        put(&fixture, "3");
        expect(&fixture, "row", START_MS + 1 + i, "3");
    }
    embedded_fixture_clear(&fixture);
}

KW_TEST(increments_and_conditional_puts_after_a_removal_are_visible, "/stamps/conditional")
{
    embedded_fixture fixture;
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
    setup(&fixture);
    embedded_fixture_delete_row(&fixture, "t", "row", KW_TIMESTAMP_NONE);
    kw_sync_written sum = kw_sync_increment(&fixture.sync, &increment);
    g_assert_cmpint(sum.outcome, ==, KW_OUTCOME_OK);
    kw_rows_free(sum.rows);
    expect(&fixture, "row", START_MS + 1, "\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x05");
    embedded_fixture_delete_row(&fixture, "t", "row", KW_TIMESTAMP_NONE);
    g_assert_true(kw_sync_write_if(&fixture.sync, &write, &absent).applied);
    expect(&fixture, "row", START_MS + 2, "new");
    embedded_fixture_clear(&fixture);
}

KW_TEST(writes_are_visible_after_the_clock_was_set_back, "/stamps/clock_set_back")
{
    embedded_fixture fixture;
    setup(&fixture);
    put(&fixture, "1");
    atomic_store(&clock_ms, START_MS - 3600000);
    put(&fixture, "2");
    embedded_fixture_delete_row(&fixture, "t", "row", KW_TIMESTAMP_NONE);
    embedded_fixture_expect_row(&fixture, "t", "row", "");
    put(&fixture, "3");
    embedded_fixture_reopen(&fixture); /* the new process does not know that the clock was set back */
    put(&fixture, "4");
    kw_get get = {.table = B("t"), .row = B("row"), .max_versions = 1, .deadline = KW_DEADLINE_NONE};
    kw_rows *rows = kw_sync_get(&fixture.sync, &get, NULL);
    g_assert_true(kw_bytes_equal(rows->rows[0].cells[0].value, B("4")));
    g_assert_cmpint(rows->rows[0].cells[0].timestamp, >, START_MS);
    kw_rows_free(rows);
    embedded_fixture_delete_row(&fixture, "t", "row", KW_TIMESTAMP_NONE);
    embedded_fixture_expect_row(&fixture, "t", "row", "");
    embedded_fixture_clear(&fixture);
}

/* Until the clock has caught up, the timestamps advance at half the speed of time. */
KW_TEST(timestamps_advance_while_the_clock_lags, "/stamps/clock_lags")
{
    embedded_fixture fixture;
    setup(&fixture);
    put(&fixture, "1");
    atomic_store(&clock_ms, START_MS - 10);
    put(&fixture, "2");
    g_usleep(20000);
    put(&fixture, "3");
    kw_get get = {.table = B("t"), .row = B("row"), .max_versions = 1, .deadline = KW_DEADLINE_NONE};
    kw_rows *rows = kw_sync_get(&fixture.sync, &get, NULL);
    g_assert_cmpint(rows->rows[0].cells[0].timestamp, >=, START_MS + 10);
    kw_rows_free(rows);
    atomic_store(&clock_ms, START_MS + 3600000);
    embedded_fixture_delete_row(&fixture, "t", "row", KW_TIMESTAMP_NONE);
    put(&fixture, "4");
    expect(&fixture, "row", START_MS + 3600001, "4");
    embedded_fixture_clear(&fixture);
}

/* The rows of one record in write_many get one timestamp, which is greater than that of a removal of any of
 * them. */
KW_TEST(rows_of_one_record_have_one_timestamp, "/stamps/record")
{
    embedded_fixture fixture;
    kw_cell cell = {.family = B("d"), .qualifier = B("a"), .value = B("x")};
    kw_write writes[3];
    const kw_write *all[3];
    kw_written results[3];
    setup(&fixture);
    embedded_fixture_delete_row(&fixture, "t", "second", KW_TIMESTAMP_NONE);
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
    kw_sync_write_many(&fixture.sync, all, 3, results);
    expect(&fixture, "first", START_MS + 1, "x");
    expect(&fixture, "second", START_MS + 1, "x");
    expect(&fixture, "other", START_MS, "x");
    embedded_fixture_clear(&fixture);
}

static kw_write
removal_of(const char *row, const kw_column *column)
{
    return (kw_write){.kind = KW_WRITE_DELETE,
                      .table = B("t"),
                      .row = B(row),
                      .columns = column,
                      .columns_count = column ? 1 : 0,
                      .timestamp = KW_TIMESTAMP_NONE,
                      .record = 1,
                      .deadline = KW_DEADLINE_NONE};
}

static void
refuse_removal(embedded_fixture *fixture, const char *row, const kw_column *column)
{
    kw_write write = removal_of(row, column);
    kw_sync_written result = kw_sync_write(&fixture->sync, &write);
    g_assert_cmpint(result.outcome, ==, KW_OUTCOME_FAILED);
    g_assert_cmpint(result.error.code, ==, KW_REFUSED);
    g_assert_cmpuint(result.error.retry_after_ms, >=, 4990);
    g_assert_cmpuint(result.error.retry_after_ms, <=, 5000);
    g_assert_nonnull(strstr(result.error.text, "1700000005000 is "));
    g_assert_nonnull(strstr(result.error.text, "keyway remove --timestamp"));
}

/* A removal that left a cell would be acknowledged although the record stays. */
KW_TEST(a_removal_below_a_later_cell_is_refused, "/stamps/removal_below")
{
    embedded_fixture fixture;
    setup(&fixture);
    const kw_column column = {.family = B("d"), .qualifier = B("a")},
                    other = {.family = B("d"), .qualifier = B("b")};
    embedded_fixture_put(&fixture, "t", "row", "d", "a", "x", START_MS + 5000);
    put(&fixture, "hidden");
    refuse_removal(&fixture, "row", NULL);
    refuse_removal(&fixture, "row", &column);
    kw_write write = removal_of("row", &other); /* the later cell is not in this column */
    g_assert_cmpint(kw_sync_write(&fixture.sync, &write).outcome, ==, KW_OUTCOME_OK);
    embedded_fixture_delete_row(&fixture, "t", "elsewhere", KW_TIMESTAMP_NONE);
    embedded_fixture_reopen(&fixture);
    atomic_store(&clock_ms, START_MS + 101); /* above the mark */
    write = removal_of("row", NULL);
    g_assert_cmpint(kw_sync_write(&fixture.sync, &write).error.code, ==, KW_REFUSED);
    embedded_fixture_delete_row(&fixture, "t", "row", START_MS + 5000);
    embedded_fixture_delete_row(&fixture, "t", "row", KW_TIMESTAMP_NONE);
    embedded_fixture_put(&fixture, "t", "row", "d", "a", "x", START_MS + 6000);
    atomic_store(&clock_ms, START_MS + 6000);
    embedded_fixture_delete_row(&fixture, "t", "row", KW_TIMESTAMP_NONE);
    embedded_fixture_expect_row(&fixture, "t", "row", "");
    embedded_fixture_clear(&fixture);
}

/* In one batch with the put. If one row of a record has the later cell, no row of it is removed. */
KW_TEST(a_record_with_a_later_cell_is_not_removed, "/stamps/removal_below_in_a_record")
{
    embedded_fixture fixture;
    setup(&fixture);
    embedded_fixture_put(&fixture, "t", "first", "d", "a", "x", START_MS - 1);
    kw_cell cell = {.family = B("d"), .qualifier = B("a"), .value = B("x")};
    kw_write put_second = {.kind = KW_WRITE_PUT,
                           .table = B("t"),
                           .row = B("second"),
                           .cells = &cell,
                           .cells_count = 1,
                           .timestamp = START_MS + 5000,
                           .deadline = KW_DEADLINE_NONE};
    kw_write first = removal_of("first", NULL), second = removal_of("second", NULL);
    kw_written results[3];
    kw_sync_write_many(&fixture.sync, (const kw_write *[]){&put_second, &first, &second}, 3, results);
    g_assert_cmpint(results[0].outcome, ==, KW_OUTCOME_OK);
    for (int i = 1; i <= 2; i++) {
        g_assert_cmpint(results[i].outcome, ==, KW_OUTCOME_FAILED);
        g_assert_cmpint(results[i].error.code, ==, KW_REFUSED);
    }
    expect(&fixture, "first", START_MS - 1, "x");
    expect(&fixture, "second", START_MS + 5000, "x");
    embedded_fixture_clear(&fixture);
}

KW_TEST_START(start)
{
    kw_clock_inject(read_clock, NULL);
}
