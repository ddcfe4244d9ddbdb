/* Writes that read first: write_if and increments. */
#include "contract/fixture.h"

static kw_sync_written
put_if(kw_fixture *f, const char *row, const char *value, kw_compare compare, const char *against)
{
    kw_cell cell = {.family = B("d"), .qualifier = B("a"), .value = B(value)};
    kw_write write = {.kind = KW_WRITE_PUT,
                      .table = f->table,
                      .row = B(row),
                      .cells = &cell,
                      .cells_count = 1,
                      .timestamp = KW_TIMESTAMP_NONE,
                      .deadline = kw_deadline_in_ms(30000)};
    kw_check check = {.family = B("d"),
                      .qualifier = B("a"),
                      .compare = compare,
                      .has_value = against != NULL,
                      .value = B(against)};
    return kw_sync_write_if(&f->sync, &write, &check);
}

static void
expect_value(kw_fixture *f, const char *row, const char *value)
{
    kw_get get = {.table = f->table, .row = B(row), .deadline = KW_DEADLINE_NONE};
    kw_rows *rows = kw_sync_get(&f->sync, &get, NULL);
    g_assert_cmpuint(rows->rows[0].cells_count, ==, value ? 1 : 0);
    if (value)
        g_assert_true(kw_bytes_equal(rows->rows[0].cells[0].value, B(value)));
    kw_rows_free(rows);
}

static void
test_absent(kw_fixture *f)
{
    kw_sync_written result = put_if(f, "if1", "first", KW_COMPARE_EQUAL, NULL);
    g_assert_cmpint(result.outcome, ==, KW_OUTCOME_OK);
    g_assert_true(result.applied);
    result = put_if(f, "if1", "second", KW_COMPARE_EQUAL, NULL);
    g_assert_cmpint(result.outcome, ==, KW_OUTCOME_OK);
    g_assert_false(result.applied);
    expect_value(f, "if1", "first");
    result = put_if(f, "if1", "third", KW_COMPARE_NOT_EQUAL, NULL);
    g_assert_true(result.applied);
    expect_value(f, "if1", "third");
    result = put_if(f, "if1-none", "x", KW_COMPARE_NOT_EQUAL, NULL);
    g_assert_false(result.applied);
    expect_value(f, "if1-none", NULL);
}

/* "stored OP value", by unsigned bytes. */
static void
test_comparisons(kw_fixture *f)
{
    static const struct {
        kw_compare compare;
        bool with_smaller, with_equal, with_larger; /* met if the given value is ... than the stored one */
    } cases[] = {{KW_COMPARE_LESS, false, false, true},    {KW_COMPARE_LESS_OR_EQUAL, false, true, true},
                 {KW_COMPARE_EQUAL, false, true, false},   {KW_COMPARE_NOT_EQUAL, true, false, true},
                 {KW_COMPARE_GREATER, true, false, false}, {KW_COMPARE_GREATER_OR_EQUAL, true, true, false}};
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        kw_put(f, "if2", "d:a", "m\x80", 1);
        g_assert_cmpint(put_if(f, "if2", "m\x80", cases[i].compare, "m\x7f").applied, ==,
                        cases[i].with_smaller);
        g_assert_cmpint(put_if(f, "if2", "m\x80", cases[i].compare, "m\x80").applied, ==,
                        cases[i].with_equal);
        g_assert_cmpint(put_if(f, "if2", "m\x80", cases[i].compare, "m\x80z").applied, ==,
                        cases[i].with_larger);
    }
}

static void
test_absent_meets_nothing(kw_fixture *f)
{
    for (kw_compare compare = KW_COMPARE_LESS; compare <= KW_COMPARE_GREATER; compare++)
        g_assert_false(put_if(f, "if3", "x", compare, "y").applied);
    expect_value(f, "if3", NULL);
}

static void
test_delete_if(kw_fixture *f)
{
    kw_put(f, "if4", "d:a", "x", 5);
    kw_write write = {.kind = KW_WRITE_DELETE,
                      .table = f->table,
                      .row = B("if4"),
                      .timestamp = 9,
                      .deadline = KW_DEADLINE_NONE};
    kw_check check = {.family = B("d"),
                      .qualifier = B("a"),
                      .compare = KW_COMPARE_EQUAL,
                      .has_value = true,
                      .value = B("other")};
    kw_sync_written result = kw_sync_write_if(&f->sync, &write, &check);
    g_assert_cmpint(result.outcome, ==, KW_OUTCOME_OK);
    g_assert_false(result.applied);
    kw_expect_row(f, "if4", "d:a@5=x");
    check.value = B("x");
    g_assert_true(kw_sync_write_if(&f->sync, &write, &check).applied);
    kw_expect_row(f, "if4", "");
    check.has_value = false;
    g_assert_true(kw_sync_write_if(&f->sync, &write, &check).applied);
}

/* The check reads the newest cell, and a column other than the written one. */
static void
test_check_elsewhere(kw_fixture *f)
{
    kw_put(f, "if5", "v:state", "old", 5);
    kw_put(f, "if5", "v:state", "new", 6);
    kw_cell cell = {.family = B("d"), .qualifier = B("b"), .value = B("done")};
    kw_write write = {.kind = KW_WRITE_PUT,
                      .table = f->table,
                      .row = B("if5"),
                      .cells = &cell,
                      .cells_count = 1,
                      .timestamp = 7,
                      .deadline = KW_DEADLINE_NONE};
    kw_check check = {.family = B("v"),
                      .qualifier = B("state"),
                      .compare = KW_COMPARE_EQUAL,
                      .has_value = true,
                      .value = B("old")};
    g_assert_false(kw_sync_write_if(&f->sync, &write, &check).applied);
    check.value = B("new");
    g_assert_true(kw_sync_write_if(&f->sync, &write, &check).applied);
    kw_expect_row(f, "if5", "d:b@7=done v:state@6=new");
}

/* --- increments ---------------------------------------------------------------------------------------- */

static kw_sync_written
increment(kw_fixture *f, const char *row, const kw_column *columns, const int64_t *amounts, size_t count)
{
    kw_increment what = {.table = f->table,
                         .row = B(row),
                         .columns = columns,
                         .amounts = amounts,
                         .columns_count = count,
                         .deadline = kw_deadline_in_ms(30000)};
    return kw_sync_increment(&f->sync, &what);
}

static int64_t
increment_one(kw_fixture *f, const char *row, int64_t amount)
{
    kw_column column = {.family = B("d"), .qualifier = B("n")};
    kw_sync_written result = increment(f, row, &column, &amount, 1);
    g_assert_cmpint(result.outcome, ==, KW_OUTCOME_OK);
    g_assert_cmpuint(result.rows->count, ==, 1);
    g_assert_true(kw_bytes_equal(result.rows->rows[0].key, B(row)));
    g_assert_cmpuint(result.rows->rows[0].cells_count, ==, 1);
    g_assert_cmpuint(result.rows->rows[0].cells[0].value.size, ==, 8);
    int64_t value = (int64_t)kw_be64_load(result.rows->rows[0].cells[0].value.data);
    kw_rows_free(result.rows);
    return value;
}

static void
test_increment(kw_fixture *f)
{
    g_assert_cmpint(increment_one(f, "inc1", 5), ==, 5);
    g_assert_cmpint(increment_one(f, "inc1", -7), ==, -2);
    g_assert_cmpint(increment_one(f, "inc1", 0), ==, -2);
    g_assert_cmpint(increment_one(f, "inc1", INT64_MAX), ==, INT64_MAX - 2);
    kw_get get = {.table = f->table, .row = B("inc1"), .deadline = KW_DEADLINE_NONE};
    kw_rows *rows = kw_sync_get(&f->sync, &get, NULL);
    g_assert_cmpuint(rows->rows[0].cells_count, ==, 1);
    g_assert_true(
        kw_bytes_equal(rows->rows[0].cells[0].value, KW_BYTES_LITERAL("\x7f\xff\xff\xff\xff\xff\xff\xfd")));
    kw_rows_free(rows);
}

static void
refuse_sum(kw_fixture *f, const kw_column *columns, const int64_t *amounts, size_t count, const char *stored,
           const char *added)
{
    kw_sync_written result = increment(f, "inc3", columns, amounts, count);
    g_assert_cmpint(result.outcome, ==, KW_OUTCOME_FAILED);
    g_assert_cmpint(result.error.code, ==, KW_INVALID);
    g_assert_nonnull(strstr(result.error.text, stored));
    g_assert_nonnull(strstr(result.error.text, added));
}

/* A sum of more than 64 bits is refused, and no column of the increment is changed. */
static void
test_increment_overflow(kw_fixture *f)
{
    const kw_column columns[] = {{.family = B("d"), .qualifier = B("m")},
                                 {.family = B("d"), .qualifier = B("n")}};
    kw_rows_free(increment(f, "inc3", columns, (int64_t[]){INT64_MIN, INT64_MAX - 2}, 2).rows);
    refuse_sum(f, &columns[1], (int64_t[]){3}, 1, "9223372036854775805", "with 3 added");
    refuse_sum(f, columns, (int64_t[]){-1, 1}, 2, "-9223372036854775808", "with -1 added");
    refuse_sum(f, columns, (int64_t[]){INT64_MIN}, 1, "-9223372036854775808", "with -9223372036854775808");
    kw_sync_written last = increment(f, "inc3", columns, (int64_t[]){INT64_MAX, 2}, 2);
    g_assert_cmpint(last.outcome, ==, KW_OUTCOME_OK);
    const kw_cell *cells = last.rows->rows[0].cells;
    g_assert_cmpint((int64_t)kw_be64_load(cells[0].value.data), ==, -1);
    g_assert_cmpint((int64_t)kw_be64_load(cells[1].value.data), ==, INT64_MAX);
    kw_rows_free(last.rows);
}

static void
test_increment_several(kw_fixture *f)
{
    kw_column columns[] = {{.family = B("v"), .qualifier = B("b")},
                           {.family = B("d"), .qualifier = B("z")},
                           {.family = B("d"), .qualifier = B("a")}};
    int64_t amounts[] = {1, 20, 300};
    for (int round = 1; round <= 2; round++) {
        kw_sync_written result = increment(f, "inc2", columns, amounts, 3);
        g_assert_cmpint(result.outcome, ==, KW_OUTCOME_OK);
        const kw_row *row = &result.rows->rows[0];
        g_assert_cmpuint(row->cells_count, ==, 3);
        g_assert_true(kw_bytes_equal(row->cells[0].qualifier, B("a")));
        g_assert_cmpuint(kw_be64_load(row->cells[0].value.data), ==, 300u * (unsigned)round);
        g_assert_true(kw_bytes_equal(row->cells[1].qualifier, B("z")));
        g_assert_cmpuint(kw_be64_load(row->cells[1].value.data), ==, 20u * (unsigned)round);
        g_assert_true(kw_bytes_equal(row->cells[2].family, B("v")));
        g_assert_cmpuint(kw_be64_load(row->cells[2].value.data), ==, (unsigned)round);
        kw_rows_free(result.rows);
    }
}

static void
test_increment_not_a_counter(kw_fixture *f)
{
    kw_put(f, "inc3", "d:n", "text", KW_TIMESTAMP_NONE);
    kw_column column = {.family = B("d"), .qualifier = B("n")};
    int64_t amount = 1;
    kw_sync_written result = increment(f, "inc3", &column, &amount, 1);
    g_assert_cmpint(result.outcome, ==, KW_OUTCOME_FAILED);
    g_assert_null(result.rows);
    kw_expect_error(&result.error, KW_INVALID, "");
}

void
kw_contract_add_conditions(void)
{
    kw_fixture_add("conditions", "absent", test_absent);
    kw_fixture_add("conditions", "comparisons", test_comparisons);
    kw_fixture_add("conditions", "absent_meets_nothing", test_absent_meets_nothing);
    kw_fixture_add("conditions", "delete_if", test_delete_if);
    kw_fixture_add("conditions", "check_elsewhere", test_check_elsewhere);
    kw_fixture_add("conditions", "increment", test_increment);
    kw_fixture_add("conditions", "increment_overflow", test_increment_overflow);
    kw_fixture_add("conditions", "increment_several", test_increment_several);
    kw_fixture_add("conditions", "increment_not_a_counter", test_increment_not_a_counter);
}
