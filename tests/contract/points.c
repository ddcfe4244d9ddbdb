/* Puts and gets of single rows: a read returns what was written, in HBase's order, byte for byte. */
#include "contract/fixture.h"

static void
test_put_get(kw_fixture *f)
{
    kw_put(f, "points1", "d:a", "x", 5);
    kw_expect_row(f, "points1", "d:a@5=x");
    kw_put(f, "points1", "d:b", "", 6);
    kw_put(f, "points1", "d:", "no qualifier", 7);
    kw_put(f, "points1", "v:a", "other family", 8);
    kw_expect_row(f, "points1", "d:@7=no\\x20qualifier d:a@5=x d:b@6= v:a@8=other\\x20family");
}

static void
test_missing_row(kw_fixture *f)
{
    kw_expect_row(f, "points-none", "");
}

static void
test_overwrite(kw_fixture *f)
{
    kw_put(f, "points2", "d:a", "first", 5);
    kw_put(f, "points2", "d:a", "again", 5);
    kw_expect_row(f, "points2", "d:a@5=again");
    kw_put(f, "points2", "d:a", "later", 6);
    kw_expect_row(f, "points2", "d:a@6=later");
    kw_put(f, "points2", "d:a", "older", 4);
    kw_expect_row(f, "points2", "d:a@6=later");
}

static void
test_columns(kw_fixture *f)
{
    kw_put(f, "points3", "d:a", "1", 1);
    kw_put(f, "points3", "d:b", "2", 1);
    kw_put(f, "points3", "d:c", "3", 1);
    kw_put(f, "points3", "v:a", "4", 1);
    kw_put(f, "points3", "v:b", "5", 1);
    kw_asking asking;
    kw_expect(f, &kw_ask(&asking, f, "points3", (const char *const[]){"d:b", NULL})->get, "d:b@1=2");
    kw_expect(f, &kw_ask(&asking, f, "points3", (const char *const[]){"v:b", "d:c", "d:a", NULL})->get,
              "d:a@1=1 d:c@1=3 v:b@1=5");
    kw_expect(f, &kw_ask(&asking, f, "points3", (const char *const[]){"v", "d:zz", NULL})->get,
              "v:a@1=4 v:b@1=5");
    kw_expect(f, &kw_ask(&asking, f, "points3", (const char *const[]){"k", NULL})->get, "");
    kw_expect(f, &kw_ask(&asking, f, "points3", (const char *const[]){"d:b", "d:b", NULL})->get, "d:b@1=2");
    kw_expect(f, &kw_ask(&asking, f, "points3", (const char *const[]){"v:b", "v", NULL})->get,
              "v:a@1=4 v:b@1=5");
    kw_expect(f, &kw_ask(&asking, f, "points3", (const char *const[]){"v", "v:b", NULL})->get,
              "v:a@1=4 v:b@1=5");
}

/* Zeros and high bytes at any place, and rows that are prefixes of other rows. */
static void
test_any_bytes(kw_fixture *f)
{
    static const kw_bytes rows[] = {KW_BYTES_LITERAL("pb"),         KW_BYTES_LITERAL("pb\0"),
                                    KW_BYTES_LITERAL("pb\0\0"),     KW_BYTES_LITERAL("pb\0\1"),
                                    KW_BYTES_LITERAL("pb\0\xff"),   KW_BYTES_LITERAL("pb\1"),
                                    KW_BYTES_LITERAL("pb\xff\xff"), KW_BYTES_LITERAL("pb\xff\xff\0")};
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        kw_cell cell = {.family = B("d"), .qualifier = rows[i], .value = rows[i]};
        kw_write write = {.kind = KW_WRITE_PUT,
                          .table = f->table,
                          .row = rows[i],
                          .cells = &cell,
                          .cells_count = 1,
                          .timestamp = (int64_t)i + 1,
                          .deadline = KW_DEADLINE_NONE};
        g_assert_cmpint(kw_sync_write(&f->sync, &write).outcome, ==, KW_OUTCOME_OK);
    }
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        kw_get get = {.table = f->table, .row = rows[i], .deadline = KW_DEADLINE_NONE};
        kw_rows *found = kw_sync_get(&f->sync, &get, NULL);
        g_assert_cmpuint(found->rows[0].cells_count, ==, 1);
        const kw_cell *cell = &found->rows[0].cells[0];
        g_assert_true(kw_bytes_equal(cell->qualifier, rows[i]) && kw_bytes_equal(cell->value, rows[i]));
        g_assert_cmpint(cell->timestamp, ==, (int64_t)i + 1);
        kw_rows_free(found);
    }
    kw_range_scan_spec spec = {.start = KW_BYTES_LITERAL("pb\0"), .stop = KW_BYTES_LITERAL("pb\1")};
    kw_expect_range_scan(
        f, spec, 2,
        "pb\\x00{d:pb\\x00@2=pb\\x00} pb\\x00\\x00{d:pb\\x00\\x00@3=pb\\x00\\x00} "
        "pb\\x00\\x01{d:pb\\x00\\x01@4=pb\\x00\\x01} pb\\x00\\xff{d:pb\\x00\\xff@5=pb\\x00\\xff}");
}

/* HBase finds a row's region with the key "table,row,99999999999999" in a table of its own. That key has the
 * same limit, so this is the longest possible row key. */
static void
test_long_row(kw_fixture *f)
{
    size_t size = KW_STORE_ROW_KEY_MAX - f->table.size - 16;
    g_autofree uint8_t *row = g_malloc0(size);
    memcpy(row, "points-long", 11);
    row[size - 1] = 7;
    kw_cell cell = {.family = B("d"), .qualifier = B("a"), .value = B("far")};
    kw_write write = {.kind = KW_WRITE_PUT,
                      .table = f->table,
                      .row = kw_bytes_of(row, size),
                      .cells = &cell,
                      .cells_count = 1,
                      .timestamp = 1,
                      .deadline = KW_DEADLINE_NONE};
    g_assert_cmpint(kw_sync_write(&f->sync, &write).outcome, ==, KW_OUTCOME_OK);
    kw_get get = {.table = f->table, .row = write.row, .deadline = KW_DEADLINE_NONE};
    kw_expect(f, &get, "d:a@1=far");
}

static void
test_large_value(kw_fixture *f)
{
    size_t size = 1500 * 1000;
    g_autofree uint8_t *value = g_malloc(size);
    for (size_t i = 0; i < size; i++)
        value[i] = (uint8_t)(i * 2654435761u >> 13);
    kw_cell cell = {.family = B("d"), .qualifier = B("a"), .value = kw_bytes_of(value, size)};
    kw_write write = {.kind = KW_WRITE_PUT,
                      .table = f->table,
                      .row = B("points-large"),
                      .cells = &cell,
                      .cells_count = 1,
                      .timestamp = 1,
                      .deadline = KW_DEADLINE_NONE};
    g_assert_cmpint(kw_sync_write(&f->sync, &write).outcome, ==, KW_OUTCOME_OK);
    kw_get get = {.table = f->table, .row = write.row, .deadline = KW_DEADLINE_NONE};
    kw_rows *rows = kw_sync_get(&f->sync, &get, NULL);
    g_assert_true(kw_bytes_equal(rows->rows[0].cells[0].value, cell.value));
    g_assert_cmpuint(rows->bytes, >=, size);
    kw_rows_free(rows);
}

static void
test_row_of_many_cells(kw_fixture *f)
{
    enum { COUNT = 500 };
    kw_cell cells[COUNT];
    char names[COUNT][8];
    for (int i = 0; i < COUNT; i++) {
        g_snprintf(names[i], sizeof names[i], "q%03d", (i * 7) % COUNT);
        cells[i] = (kw_cell){.family = B("d"), .qualifier = B(names[i]), .value = B(names[i])};
    }
    kw_write write = {.kind = KW_WRITE_PUT,
                      .table = f->table,
                      .row = B("points-wide"),
                      .cells = cells,
                      .cells_count = COUNT,
                      .timestamp = 3,
                      .deadline = KW_DEADLINE_NONE};
    g_assert_cmpint(kw_sync_write(&f->sync, &write).outcome, ==, KW_OUTCOME_OK);
    kw_get get = {.table = f->table, .row = write.row, .deadline = KW_DEADLINE_NONE};
    kw_rows *rows = kw_sync_get(&f->sync, &get, NULL);
    g_assert_cmpuint(rows->rows[0].cells_count, ==, COUNT);
    for (int i = 0; i < COUNT; i++) {
        char name[8];
        g_snprintf(name, sizeof name, "q%03d", i);
        g_assert_true(kw_bytes_equal(rows->rows[0].cells[i].qualifier, B(name)));
    }
    kw_rows_free(rows);
    kw_asking asking;
    kw_expect(f, &kw_ask(&asking, f, "points-wide", (const char *const[]){"d:q499", "d:q250", NULL})->get,
              "d:q250@3=q250 d:q499@3=q499");
}

static void
test_unstamped(kw_fixture *f)
{
    int64_t before = kw_clock_wall_ms();
    kw_put(f, "points-now", "d:a", "x", KW_TIMESTAMP_NONE);
    int64_t after = kw_clock_wall_ms();
    kw_get get = {.table = f->table, .row = B("points-now"), .deadline = KW_DEADLINE_NONE};
    kw_rows *rows = kw_sync_get(&f->sync, &get, NULL);
    g_assert_cmpuint(rows->rows[0].cells_count, ==, 1);
    g_assert_cmpint(rows->rows[0].cells[0].timestamp, >=, before - 1);
    g_assert_cmpint(rows->rows[0].cells[0].timestamp, <=, after + 1);
    kw_rows_free(rows);
}

static void
test_get_many(kw_fixture *f)
{
    kw_put(f, "points-m1", "d:a", "1", 1);
    kw_put(f, "points-m3", "d:a", "3", 1);
    kw_asking asked[3];
    const kw_get *gets[] = {&kw_ask(&asked[0], f, "points-m3", NULL)->get,
                            &kw_ask(&asked[1], f, "points-m2", NULL)->get,
                            &kw_ask(&asked[2], f, "points-m1", NULL)->get};
    kw_rows *rows = kw_sync_get_many(&f->sync, gets, 3, NULL);
    g_assert_nonnull(rows);
    g_autofree char *text = kw_rows_text(rows);
    g_assert_cmpstr(text, ==, "points-m3{d:a@1=3} points-m2{} points-m1{d:a@1=1}");
    kw_rows_free(rows);
    rows = kw_sync_get_many(&f->sync, gets, 0, NULL);
    g_assert_cmpuint(rows->count, ==, 0);
    kw_rows_free(rows);
}

static void
test_durabilities(kw_fixture *f)
{
    for (kw_durability durability = KW_DURABILITY_DEFAULT; durability <= KW_DURABILITY_FSYNC_WAL;
         durability++) {
        char value[2] = {(char)('0' + (int)durability), 0};
        kw_cell cell = {.family = B("d"), .qualifier = B("a"), .value = B(value)};
        kw_write write = {.kind = KW_WRITE_PUT,
                          .table = f->table,
                          .row = B("points-durable"),
                          .cells = &cell,
                          .cells_count = 1,
                          .timestamp = (int64_t)durability + 1,
                          .durability = durability,
                          .deadline = KW_DEADLINE_NONE};
        g_assert_cmpint(kw_sync_write(&f->sync, &write).outcome, ==, KW_OUTCOME_OK);
        g_autofree char *text = g_strdup_printf("d:a@%d=%s", (int)durability + 1, value);
        kw_expect_row(f, "points-durable", text);
    }
}

void
kw_contract_add_points(void)
{
    kw_fixture_add("points", "put_get", test_put_get);
    kw_fixture_add("points", "missing_row", test_missing_row);
    kw_fixture_add("points", "overwrite", test_overwrite);
    kw_fixture_add("points", "columns", test_columns);
    kw_fixture_add("points", "any_bytes", test_any_bytes);
    kw_fixture_add("points", "long_row", test_long_row);
    kw_fixture_add("points", "large_value", test_large_value);
    kw_fixture_add("points", "row_of_many_cells", test_row_of_many_cells);
    kw_fixture_add("points", "unstamped", test_unstamped);
    kw_fixture_add("points", "get_many", test_get_many);
    kw_fixture_add("points", "durabilities", test_durabilities);
}
