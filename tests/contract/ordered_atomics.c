/* Atomic operations with order: stamp: store/order over HBase. Each record has a row in the table "shared",
 * and the same row in the table "others". The fields a and b are texts, n and m counters. */
#include "contract/fixture.h"

#include "store/control.h"

#define CALLERS 64

static const kw_ordering atomics = {.regime.order = KW_WRITE_ORDER_STAMP,
                                    .regime.atomics = KW_ATOMICS_CAS,
                                    .counters = true,
                                    .family = {(const uint8_t *)"d", 1}};

static kw_bytes
others_of(kw_fixture *f)
{
    return kw_fixture_make_table(f, "others", "dvtm");
}

static kw_write
write_of(kw_fixture *f, const char *row, const kw_cell *cells, size_t count)
{
    return (kw_write){.kind = KW_WRITE_PUT,
                      .table = f->table,
                      .row = B(row),
                      .cells = cells,
                      .cells_count = count,
                      .timestamp = KW_TIMESTAMP_NONE,
                      .deadline = kw_deadline_in_ms(60000),
                      .ordering = &atomics};
}

/* a = value, if a is `expected`; NULL: absent. */
static bool
put_if(kw_fixture *f, const char *row, const char *expected, const char *value)
{
    kw_row_target other = {.table = others_of(f), .row = B(row)};
    kw_cell cell = {.family = B("d"), .qualifier = B("a"), .value = B(value)};
    kw_write write = write_of(f, row, &cell, 1);
    kw_check check = {.family = B("d"),
                      .qualifier = B("a"),
                      .compare = KW_COMPARE_EQUAL,
                      .has_value = expected,
                      .value = expected ? B(expected) : KW_BYTES_NONE};
    write.others = &other;
    write.others_count = 1;
    kw_sync_written result = kw_sync_write_if(&f->sync, &write, &check);
    if (result.outcome != KW_OUTCOME_OK)
        g_error("%s", result.error.text);
    return result.applied;
}

static void
put_or_remove(kw_fixture *f, const char *row, const char *value)
{
    kw_cell cell = {.family = B("d"), .qualifier = B("a"), .value = value ? B(value) : KW_BYTES_NONE};
    kw_write writes[2] = {write_of(f, row, &cell, 1), write_of(f, row, &cell, 1)};
    const kw_write *list[2] = {&writes[0], &writes[1]};
    kw_written results[2];
    writes[1].table = others_of(f);
    writes[0].record = writes[1].record = 1;
    for (int i = 0; i < 2 && !value; i++) {
        writes[i].kind = KW_WRITE_DELETE;
        writes[i].cells_count = 0;
    }
    kw_sync_write_many(&f->sync, list, 2, results);
    g_assert_true(results[0].outcome == KW_OUTCOME_OK && results[1].outcome == KW_OUTCOME_OK);
}

/* The value of a field that both rows have; NULL: absent. Callers see no control cell. */
static char *
value_in(kw_fixture *f, const char *row, const char *field)
{
    char *found[2] = {NULL, NULL};
    for (int i = 0; i < 2; i++) {
        kw_get get = {.table = i ? others_of(f) : f->table,
                      .row = B(row),
                      .deadline = kw_deadline_in_ms(60000),
                      .ordering = &atomics};
        kw_rows *rows = kw_sync_get(&f->sync, &get, NULL);
        for (uint32_t j = 0; j < rows->rows[0].cells_count; j++) {
            const kw_cell *cell = &rows->rows[0].cells[j];
            g_assert_false(kw_is_control(&atomics, cell));
            if (kw_bytes_equal(cell->qualifier, B(field)))
                found[i] = g_strndup((const char *)cell->value.data, cell->value.size);
        }
        kw_rows_free(rows);
    }
    g_assert_cmpstr(found[0], ==, found[1]);
    g_free(found[1]);
    return found[0];
}

static void
expect_value(kw_fixture *f, const char *row, const char *value)
{
    g_autofree char *found = value_in(f, row, "a");
    g_assert_cmpstr(found, ==, value);
}

static void
test_put_if(kw_fixture *f)
{
    g_assert_true(put_if(f, "cas1", NULL, "1"));
    g_assert_false(put_if(f, "cas1", NULL, "2"));
    g_assert_true(put_if(f, "cas1", "1", "3"));
    expect_value(f, "cas1", "3");
}

static void
test_beside_plain_writes(kw_fixture *f)
{
    put_or_remove(f, "cas2", "1");
    g_assert_true(put_if(f, "cas2", "1", "2"));
    put_or_remove(f, "cas2", NULL);
    expect_value(f, "cas2", NULL);
    g_assert_false(put_if(f, "cas2", "2", "3"));
    g_assert_true(put_if(f, "cas2", NULL, "4"));
    put_or_remove(f, "cas2", "5");
    g_assert_true(put_if(f, "cas2", "5", "6"));
    expect_value(f, "cas2", "6");
}

/* The compared value has a timestamp of its caller's, which is ahead of the clock. It does not hide the new
 * one. */
static void
test_compared_ahead(kw_fixture *f)
{
    kw_cell cell = {.family = B("d"), .qualifier = B("a"), .value = B("1")};
    kw_write put = write_of(f, "cas7", &cell, 1);
    put.timestamp = kw_clock_wall_ms() + 300;
    g_assert_cmpint(kw_sync_write(&f->sync, &put).outcome, ==, KW_OUTCOME_OK);
    put.table = others_of(f);
    g_assert_cmpint(kw_sync_write(&f->sync, &put).outcome, ==, KW_OUTCOME_OK);
    g_assert_true(put_if(f, "cas7", "1", "2"));
    expect_value(f, "cas7", "2");
    g_assert_false(put_if(f, "cas7", "1", "3"));
    expect_value(f, "cas7", "2");
}

/* A row that has only kw:w is no row. */
static void
test_removed_row(kw_fixture *f)
{
    put_or_remove(f, "cas3x", "1");
    put_or_remove(f, "cas3x", NULL);
    kw_range_scan_spec spec = {.start = B("cas3x"), .stop = B("cas3y"), .ordering = &atomics};
    kw_expect_range_scan(f, spec, 10, "");
}

/* HBase keeps the cell that arrives last of those with one timestamp, also of kw:w. */
static void
test_one_millisecond(kw_fixture *f)
{
    kw_cell cell = {.family = B("d"), .qualifier = B("a")};
    kw_check check = {.family = B("d"), .qualifier = B("a"), .compare = KW_COMPARE_EQUAL};
    char before[16], after[16];
    for (int i = 0; i < 200; i++) {
        g_snprintf(before, sizeof before, "%d", i);
        g_snprintf(after, sizeof after, "%d", i + 1);
        cell.value = B(after);
        kw_write write = write_of(f, "cas4", &cell, 1);
        check.has_value = i > 0;
        check.value = B(before);
        kw_sync_written result = kw_sync_write_if(&f->sync, &write, &check);
        g_assert_true(result.outcome == KW_OUTCOME_OK && result.applied);
    }
    kw_get get = {
        .table = f->table, .row = B("cas4"), .deadline = kw_deadline_in_ms(60000), .ordering = &atomics};
    kw_rows *rows = kw_sync_get(&f->sync, &get, NULL);
    g_assert_cmpuint(rows->rows[0].cells_count, ==, 1);
    g_assert_true(kw_bytes_equal(rows->rows[0].cells[0].value, B("200")));
    kw_rows_free(rows);
}

/* --- increments ------------------------------------------------------------------------------------ */

typedef struct adding {
    kw_column columns[2];
    int64_t amounts[2];
    kw_row_target other;
    kw_increment increment;
    int64_t sums[2];
    size_t *left;
    bool *all;
} adding;

static void
on_added(void *user, kw_outcome outcome, kw_rows *rows, const kw_error *error)
{
    adding *one = user;
    if (outcome != KW_OUTCOME_OK)
        g_error("%s", error->text);
    g_assert_cmpuint(rows->rows[0].cells_count, ==, one->increment.columns_count);
    for (size_t i = 0; i < one->increment.columns_count; i++) {
        const kw_column *column = &one->columns[i];
        const kw_cell *cell = kw_row_find_cell(&rows->rows[0], column->family, column->qualifier);
        one->sums[i] = (int64_t)kw_be64_load(cell->value.data);
    }
    kw_rows_free(rows);
    *one->all = --*one->left == 0;
}

static void
start_adding(kw_fixture *f, adding *one, const char *row, int64_t n, int64_t m)
{
    one->columns[0] = (kw_column){.family = B("d"), .qualifier = B("n")};
    one->columns[1] = (kw_column){.family = B("d"), .qualifier = B("m")};
    one->amounts[0] = n;
    one->amounts[1] = m;
    one->other = (kw_row_target){.table = others_of(f), .row = B(row)};
    one->increment = (kw_increment){.table = f->table,
                                    .row = B(row),
                                    .columns = one->columns,
                                    .amounts = one->amounts,
                                    .columns_count = m ? 2 : 1,
                                    .deadline = kw_deadline_in_ms(60000),
                                    .ordering = &atomics,
                                    .others = &one->other,
                                    .others_count = 1};
    kw_store_handle_increment(f->sync.handle, &one->increment, on_added, one);
}

static int64_t
number_in(kw_fixture *f, const char *row, const char *field)
{
    kw_get get = {
        .table = f->table, .row = B(row), .deadline = kw_deadline_in_ms(60000), .ordering = &atomics};
    kw_rows *rows = kw_sync_get(&f->sync, &get, NULL), *other;
    const kw_cell *cell = kw_row_find_cell(&rows->rows[0], B("d"), B(field)), *same;
    get.table = others_of(f);
    other = kw_sync_get(&f->sync, &get, NULL);
    same = kw_row_find_cell(&other->rows[0], B("d"), B(field));
    g_assert_true(cell && same && kw_bytes_equal(cell->value, same->value));
    int64_t value = (int64_t)kw_be64_load(cell->value.data);
    kw_rows_free(rows);
    kw_rows_free(other);
    return value;
}

/* Each caller gets a sum of its own. */
static void
test_increments(kw_fixture *f)
{
    static adding all[CALLERS];
    size_t left = CALLERS;
    bool done = false, seen[CALLERS + 1] = {false};
    for (int i = 0; i < CALLERS; i++) {
        all[i] = (adding){.left = &left, .all = &done};
        start_adding(f, &all[i], "cas5", 1, i % 2 ? 10 : 0);
    }
    kw_sync_wait(&f->sync, &done);
    for (int i = 0; i < CALLERS; i++) {
        g_assert_true(all[i].sums[0] >= 1 && all[i].sums[0] <= CALLERS && !seen[all[i].sums[0]]);
        seen[all[i].sums[0]] = true;
    }
    g_assert_cmpint(number_in(f, "cas5", "n"), ==, CALLERS);
    g_assert_cmpint(number_in(f, "cas5", "m"), ==, CALLERS / 2 * 10);
}

/* With order: store, each increment also adds a random number to kw:g, which wraps around. */
static void
test_increments_of_the_store(kw_fixture *f)
{
    static const kw_ordering by_store = {.regime.order = KW_WRITE_ORDER_STORE,
                                         .regime.atomics = KW_ATOMICS_NATIVE,
                                         .counters = true,
                                         .family = {(const uint8_t *)"d", 1}};
    kw_column column = {.family = B("d"), .qualifier = B("n")};
    int64_t amount = 1;
    kw_increment what = {.table = f->table,
                         .row = B("by_store"),
                         .columns = &column,
                         .amounts = &amount,
                         .columns_count = 1,
                         .ordering = &by_store,
                         .deadline = kw_deadline_in_ms(60000)};
    for (int64_t sum = 1; sum <= 64; sum++) {
        kw_sync_written result = kw_sync_increment(&f->sync, &what);
        g_assert_cmpstr(result.error.text, ==, "");
        g_assert_cmpint((int64_t)kw_be64_load(result.rows->rows[0].cells[0].value.data), ==, sum);
        kw_rows_free(result.rows);
    }
    amount = INT64_MAX;
    kw_sync_written refused = kw_sync_increment(&f->sync, &what);
    g_assert_cmpint(refused.error.code, ==, KW_INVALID);
    amount = -64;
    kw_sync_written last = kw_sync_increment(&f->sync, &what);
    g_assert_cmpint((int64_t)kw_be64_load(last.rows->rows[0].cells[0].value.data), ==, 0);
    kw_rows_free(last.rows);
}

static void
test_negative(kw_fixture *f)
{
    for (int64_t i = 0; i < 3; i++) {
        size_t left = 1;
        bool done = false;
        adding one = {.left = &left, .all = &done};
        start_adding(f, &one, "cas6", -5, 0);
        kw_sync_wait(&f->sync, &done);
        g_assert_cmpint(one.sums[0], ==, -5 * (i + 1));
    }
    g_assert_cmpint(number_in(f, "cas6", "n"), ==, -15);
}

void
kw_contract_add_ordered_atomics(void)
{
    kw_fixture_add("ordered_atomics", "put_if", test_put_if);
    kw_fixture_add("ordered_atomics", "beside_plain_writes", test_beside_plain_writes);
    kw_fixture_add("ordered_atomics", "compared_ahead", test_compared_ahead);
    kw_fixture_add("ordered_atomics", "removed_row", test_removed_row);
    kw_fixture_add("ordered_atomics", "one_millisecond", test_one_millisecond);
    kw_fixture_add("ordered_atomics", "increments", test_increments);
    kw_fixture_add("ordered_atomics", "increments_of_the_store", test_increments_of_the_store);
    kw_fixture_add("ordered_atomics", "negative", test_negative);
}
