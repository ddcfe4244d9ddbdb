/* Increments and conditional writes of all rows of a record. A store that several processes use refuses them.
 */
#include "contract/fixture.h"

#define OTHER_TABLE "records"

/* The other table has no family k. */
static kw_bytes
make_other(kw_fixture *f)
{
    return kw_fixture_make_table(f, OTHER_TABLE, "dv");
}

typedef struct rows {
    const char *row;
    kw_row_target others[2]; /* in the other table, and in the same one */
} rows;

static rows
rows_of(kw_fixture *f, const char *row, const char *second)
{
    return (rows){row, {{.table = make_other(f), .row = B(row)}, {.table = f->table, .row = B(second)}}};
}

static kw_write
put_of(const kw_fixture *f, const rows *in, const kw_cell *cell)
{
    return (kw_write){.kind = KW_WRITE_PUT,
                      .table = f->table,
                      .row = B(in->row),
                      .cells = cell,
                      .cells_count = 1,
                      .timestamp = KW_TIMESTAMP_NONE,
                      .deadline = kw_deadline_in_ms(30000),
                      .others = in->others,
                      .others_count = G_N_ELEMENTS(in->others)};
}

static kw_sync_written
put_if(kw_fixture *f, const rows *in, const char *value, const char *expected)
{
    kw_cell cell = {.family = B("v"), .qualifier = B("a"), .value = B(value)};
    kw_write write = put_of(f, in, &cell);
    kw_check check = {.family = B("v"),
                      .qualifier = B("a"),
                      .compare = KW_COMPARE_EQUAL,
                      .has_value = expected != NULL,
                      .value = B(expected)};
    return kw_sync_write_if(&f->sync, &write, &check);
}

/* False if the store refuses to write several rows; then nothing was written. */
static bool
writes_rows(kw_fixture *f)
{
    rows in = rows_of(f, "rows", "rows-second");
    kw_sync_written result = put_if(f, &in, "x", NULL);
    if (result.outcome == KW_OUTCOME_OK) {
        kw_remove(f, "rows", NULL, KW_TIMESTAMP_NONE);
        return true;
    }
    g_assert_cmpint(result.outcome, ==, KW_OUTCOME_FAILED);
    kw_expect_error(&result.error, KW_REFUSED, "need order: stamp and atomics: true");
    kw_expect_row(f, "rows", "");
    return false;
}

/* The row's versions, which all rows must have with the same timestamps. Free it. */
static char *
same_cells(kw_fixture *f, const rows *in)
{
    char *expected = NULL;
    for (size_t i = 0; i <= G_N_ELEMENTS(in->others); i++) {
        kw_get get = {.table = i ? in->others[i - 1].table : f->table,
                      .row = i ? in->others[i - 1].row : B(in->row),
                      .max_versions = 10,
                      .deadline = KW_DEADLINE_NONE};
        kw_rows *found = kw_sync_get(&f->sync, &get, NULL);
        g_autofree char *text = kw_row_text(&found->rows[0]);
        kw_rows_free(found);
        if (expected)
            g_assert_cmpstr(text, ==, expected);
        else
            expected = g_steal_pointer(&text);
    }
    return expected;
}

static void
test_put_if(kw_fixture *f)
{
    if (!writes_rows(f))
        return;
    rows in = rows_of(f, "rows1", "rows1-second");
    kw_fixture other = {.sync = f->sync, .table = make_other(f)};
    kw_put(&other, "rows1", "v:a", "elsewhere", 5); /* not compared */
    g_assert_true(put_if(f, &in, "first", NULL).applied);
    g_assert_false(put_if(f, &in, "no", "elsewhere").applied);
    g_assert_true(put_if(f, &in, "second", "first").applied);
    kw_remove(&other, "rows1", "v:a", 5);
    g_autofree char *cells = same_cells(f, &in);
    g_assert_nonnull(strstr(cells, "=second"));
    g_assert_null(strstr(cells, "=no"));
}

/* With a caller's timestamp, and with a condition on a cell that has one in the future. */
static void
test_put_if_timestamps(kw_fixture *f)
{
    if (!writes_rows(f))
        return;
    rows in = rows_of(f, "rows2", "rows2-second");
    kw_cell cell = {.family = B("v"), .qualifier = B("a"), .value = B("given")};
    kw_write write = put_of(f, &in, &cell);
    kw_check check = {.family = B("v"), .qualifier = B("a"), .compare = KW_COMPARE_EQUAL};
    write.timestamp = 7;
    g_assert_true(kw_sync_write_if(&f->sync, &write, &check).applied);
    g_autofree char *given = same_cells(f, &in);
    g_assert_cmpstr(given, ==, "v:a@7=given");
    int64_t future = kw_clock_wall_ms() + 3600000;
    g_autofree char *later = g_strdup_printf("v:a@%lld=later", (long long)future);
    kw_put(f, "rows2", "v:a", "ahead", future); /* only in the row that is read */
    g_assert_true(put_if(f, &in, "later", "ahead").applied);
    kw_remove(f, "rows2", "v:a", 7);
    for (size_t i = 0; i < G_N_ELEMENTS(in.others); i++) {
        kw_fixture one = {.sync = f->sync, .table = in.others[i].table};
        kw_remove(&one, i ? "rows2-second" : "rows2", "v:a", 7);
    }
    g_autofree char *cells = same_cells(f, &in);
    g_assert_cmpstr(cells, ==, later);
}

static void
test_delete_if(kw_fixture *f)
{
    if (!writes_rows(f))
        return;
    rows in = rows_of(f, "rows3", "rows3-second");
    g_assert_true(put_if(f, &in, "x", NULL).applied);
    kw_column column = {.family = B("v"), .qualifier = B("a")};
    kw_write write = put_of(f, &in, NULL);
    kw_check check = {.family = B("v"),
                      .qualifier = B("a"),
                      .compare = KW_COMPARE_EQUAL,
                      .has_value = true,
                      .value = B("y")};
    write.kind = KW_WRITE_DELETE;
    write.columns = &column;
    write.columns_count = 1;
    g_assert_false(kw_sync_write_if(&f->sync, &write, &check).applied);
    g_autofree char *before = same_cells(f, &in);
    g_assert_nonnull(strstr(before, "=x"));
    check.value = B("x");
    g_assert_true(kw_sync_write_if(&f->sync, &write, &check).applied);
    g_autofree char *after = same_cells(f, &in);
    g_assert_cmpstr(after, ==, "");
}

/* --- increments ---------------------------------------------------------------------------------------- */

static kw_sync_written
increment(kw_fixture *f, const rows *in, const char *family)
{
    kw_column columns[] = {{.family = B("v"), .qualifier = B("n")},
                           {.family = B(family), .qualifier = B("a")}};
    int64_t amounts[] = {1, 20};
    kw_increment what = {.table = f->table,
                         .row = B(in->row),
                         .columns = columns,
                         .amounts = amounts,
                         .columns_count = 2,
                         .deadline = kw_deadline_in_ms(30000),
                         .others = in->others,
                         .others_count = G_N_ELEMENTS(in->others)};
    return kw_sync_increment(&f->sync, &what);
}

/* The old values come from the first row only. */
static void
test_increment(kw_fixture *f)
{
    if (!writes_rows(f))
        return;
    rows in = rows_of(f, "rows4", "rows4-second");
    kw_fixture other = {.sync = f->sync, .table = make_other(f)};
    kw_put(&other, "rows4", "d:a", "not a counter", 5); /* one version: the sum replaces it */
    for (unsigned round = 1; round <= 3; round++) {
        kw_sync_written result = increment(f, &in, "d");
        g_assert_cmpint(result.outcome, ==, KW_OUTCOME_OK);
        const kw_row *row = &result.rows->rows[0];
        g_assert_true(kw_bytes_equal(row->key, B("rows4")));
        g_assert_cmpuint(row->cells_count, ==, 2);
        g_assert_cmpuint(kw_be64_load(row->cells[0].value.data), ==, 20 * round);
        g_assert_cmpuint(kw_be64_load(row->cells[1].value.data), ==, round);
        kw_rows_free(result.rows);
        g_autofree char *cells = same_cells(f, &in);
        g_assert_nonnull(strstr(cells, "v:n@"));
    }
}

/* --- failures ------------------------------------------------------------------------------------------ */

static void
expect_nothing(kw_fixture *f, const rows *in, const kw_sync_written *result, kw_code code, const char *names)
{
    g_assert_cmpint(result->outcome, ==, KW_OUTCOME_FAILED);
    g_assert_false(result->applied);
    g_assert_null(result->rows);
    kw_expect_error(&result->error, code, names);
    g_autofree char *cells = same_cells(f, in);
    g_assert_cmpstr(cells, ==, "");
}

/* The other table has no family k, or does not exist. */
static void
test_all_or_nothing(kw_fixture *f)
{
    if (!writes_rows(f))
        return;
    rows in = rows_of(f, "rows5", "rows5-second"), missing = in;
    kw_cell cell = {.family = B("k"), .qualifier = B("a"), .value = B("x")};
    kw_write write = put_of(f, &in, &cell);
    kw_check check = {.family = B("v"), .qualifier = B("a"), .compare = KW_COMPARE_EQUAL};
    kw_sync_written result = kw_sync_write_if(&f->sync, &write, &check);
    expect_nothing(f, &in, &result, KW_INVALID, OTHER_TABLE);
    result = increment(f, &in, "k");
    expect_nothing(f, &in, &result, KW_INVALID, OTHER_TABLE);
    missing.others[0].table = kw_fixture_table("nowhere");
    result = put_if(f, &missing, "x", NULL);
    expect_nothing(f, &in, &result, KW_NOT_FOUND, "nowhere");
    result = increment(f, &missing, "d");
    expect_nothing(f, &in, &result, KW_NOT_FOUND, "nowhere");
}

/* Every store rejects these. */
static void
test_invalid(kw_fixture *f)
{
    static kw_row_target many[KW_STORE_RECORD_ROWS_MAX];
    rows in = rows_of(f, "rows6", "rows6");
    kw_sync_written result = put_if(f, &in, "x", NULL);
    kw_expect_error(&result.error, KW_INVALID, "the same row twice");
    in.others[1].row = KW_BYTES_NONE;
    result = increment(f, &in, "d");
    kw_expect_error(&result.error, KW_INVALID, "row key is empty");
    kw_cell cell = {.family = B("v"), .qualifier = B("a"), .value = B("x")};
    kw_write write = put_of(f, &in, &cell);
    kw_check check = {.family = B("v"), .qualifier = B("a"), .compare = KW_COMPARE_EQUAL};
    result = kw_sync_write(&f->sync, &write);
    kw_expect_error(&result.error, KW_INVALID, "only a conditional write");
    write.others = many;
    write.others_count = G_N_ELEMENTS(many);
    result = kw_sync_write_if(&f->sync, &write, &check);
    kw_expect_error(&result.error, KW_INVALID, "at most 128");
    kw_expect_row(f, "rows6", "");
}

void
kw_contract_add_record_rows(void)
{
    kw_fixture_add("record_rows", "put_if", test_put_if);
    kw_fixture_add("record_rows", "put_if_timestamps", test_put_if_timestamps);
    kw_fixture_add("record_rows", "delete_if", test_delete_if);
    kw_fixture_add("record_rows", "increment", test_increment);
    kw_fixture_add("record_rows", "all_or_nothing", test_all_or_nothing);
    kw_fixture_add("record_rows", "invalid", test_invalid);
}
