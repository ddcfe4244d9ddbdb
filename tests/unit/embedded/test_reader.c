/* Reads of unusual rows: wide rows, many versions, large rows in reversed scans, many deleted rows, slow
 * scans, and filters. */
#include "contract/fixture.h"
#include "embedded_fixture.h"

static _Atomic uint64_t mono_skip_ns;

static uint64_t
skipping_mono_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec + mono_skip_ns;
}

static void
setup(embedded_fixture *fixture)
{
    embedded_fixture_init(fixture);
    kw_family_spec families[] = {default_family("d"), default_family("v")};
    families[1].max_versions = 1000;
    embedded_fixture_create_table(fixture, "t", families, 2);
}

static void
put_cells(embedded_fixture *fixture, const char *row, const kw_cell *cells, size_t count, int64_t timestamp)
{
    kw_write write = {.kind = KW_WRITE_PUT,
                      .table = B("t"),
                      .row = B(row),
                      .cells = cells,
                      .cells_count = count,
                      .timestamp = timestamp,
                      .durability = KW_DURABILITY_ASYNC_WAL,
                      .deadline = KW_DEADLINE_NONE};
    g_assert_cmpint(kw_sync_write(&fixture->sync, &write).outcome, ==, KW_OUTCOME_OK);
}

static void
expect_scan(embedded_fixture *fixture, kw_range_scan_spec spec, const kw_column *columns, size_t count,
            const char *text)
{
    spec.table = B("t");
    spec.columns = columns;
    spec.columns_count = count;
    kw_range_scan *scan = kw_store_handle_open_range_scan(fixture->sync.handle, &spec);
    kw_rows *rows = kw_sync_fetch(&fixture->sync, scan, 100, 100 << 20, false, NULL);
    g_assert_true(rows->end);
    g_autofree char *seen = kw_rows_text(rows);
    g_assert_cmpstr(seen, ==, text);
    kw_rows_free(rows);
    kw_range_scan_close(scan);
}

/* 1,000 columns with 30 versions each around the requested ones: the reader must seek, not only step. */
KW_TEST(test_wide_rows, "/reader/wide_rows")
{
    enum { COLUMNS = 1000 };
    embedded_fixture fixture;
    setup(&fixture);
    char names[COLUMNS][8];
    kw_cell cells[COLUMNS];
    for (int i = 0; i < COLUMNS; i++) {
        g_snprintf(names[i], sizeof names[i], "q%04d", i);
        cells[i] = (kw_cell){.family = B(i % 2 ? "d" : "v"), .qualifier = B(names[i]), .value = B("x")};
    }
    for (int64_t at = 1; at <= 30; at++)
        put_cells(&fixture, "b", cells, COLUMNS, at);
    put_cells(&fixture, "a", cells, 2, 1);
    put_cells(&fixture, "c", cells, 2, 1);
    const kw_column columns[] = {{.family = B("d"), .qualifier = B("q0501")},
                                 {.family = B("d"), .qualifier = B("q0999")},
                                 {.family = B("v"), .qualifier = B("q0000")}};
    const char *b = "b{d:q0501@30=x d:q0999@30=x v:q0000@30=x}";
    g_autofree char *forward = g_strdup_printf("a{v:q0000@1=x} %s c{v:q0000@1=x}", b);
    g_autofree char *backward = g_strdup_printf("c{v:q0000@1=x} %s a{v:q0000@1=x}", b);
    expect_scan(&fixture, (kw_range_scan_spec){0}, columns, 3, forward);
    expect_scan(&fixture, (kw_range_scan_spec){.reversed = true}, columns, 3, backward);
    expect_scan(&fixture, (kw_range_scan_spec){.max_versions = 2}, columns, 2,
                "b{d:q0501@30=x d:q0999@30=x}");
    expect_scan(&fixture, (kw_range_scan_spec){.max_versions = 2, .time_from = 3, .time_to = 5}, &columns[2],
                1, "b{v:q0000@4=x v:q0000@3=x}");
    const kw_column first = {.family = B("d"), .qualifier = B("q0001")};
    expect_scan(&fixture, (kw_range_scan_spec){0}, &first, 1,
                "a{d:q0001@1=x} b{d:q0001@30=x} c{d:q0001@1=x}");
    expect_scan(&fixture, (kw_range_scan_spec){.reversed = true}, &first, 1,
                "c{d:q0001@1=x} b{d:q0001@30=x} a{d:q0001@1=x}");
    embedded_fixture_clear(&fixture);
}

/* Some rows are too large to be saved by a reversed scan. */
KW_TEST(test_large_rows_backward, "/reader/large_rows_backward")
{
    embedded_fixture fixture;
    setup(&fixture);
    size_t size = 200 * 1000;
    g_autofree char *value = g_strnfill(size, 'v');
    for (int row = 0; row < 4; row++) {
        char name[2] = {(char)('a' + row), 0};
        const kw_cell cells[] = {{.family = B("d"), .qualifier = B("1"), .value = kw_bytes_of(value, size)},
                                 {.family = B("d"), .qualifier = B("2"), .value = kw_bytes_of(value, size)},
                                 {.family = B("v"), .qualifier = B("3"), .value = B(name)}};
        put_cells(&fixture, name, row % 2 ? &cells[2] : cells, row % 2 ? 1 : 3, 1);
    }
    kw_range_scan *scan = kw_store_handle_open_range_scan(
        fixture.sync.handle, &(kw_range_scan_spec){.table = B("t"), .reversed = true});
    kw_rows *rows = kw_sync_fetch(&fixture.sync, scan, 100, 100 << 20, true, NULL);
    g_assert_true(rows->end);
    g_assert_cmpuint(rows->count, ==, 4);
    for (int i = 0; i < 4; i++) {
        const kw_row *row = &rows->rows[i];
        g_assert_cmpint(row->key.data[0], ==, 'd' - i);
        g_assert_cmpuint(row->cells_count, ==, i % 2 ? 3 : 1);
        g_assert_true(kw_bytes_equal(row->cells[row->cells_count - 1].value, row->key));
        if (i % 2)
            g_assert_cmpuint(row->cells[1].value.size, ==, size);
    }
    kw_rows_free(rows);
    kw_range_scan_close(scan);
    embedded_fixture_clear(&fixture);
}

/* A scan whose iterator is too old continues after its last row with a new one. */
KW_TEST(test_slow_scan, "/reader/slow_scan")
{
    embedded_fixture fixture;
    setup(&fixture);
    for (int i = 0; i < 6; i++) {
        char row[2] = {(char)('a' + i), 0};
        embedded_fixture_put(&fixture, "t", row, "d", "q", "x", 1);
    }
    for (int reversed = 0; reversed <= 1; reversed++) {
        kw_range_scan *scan = kw_store_handle_open_range_scan(
            fixture.sync.handle, &(kw_range_scan_spec){.table = B("t"), .reversed = reversed});
        GString *seen = g_string_new(NULL);
        for (bool end = false; !end;) {
            kw_rows *rows = kw_sync_fetch(&fixture.sync, scan, 2, 1000, true, NULL);
            for (size_t i = 0; i < rows->count; i++)
                g_string_append_c(seen, (char)rows->rows[i].key.data[0]);
            end = rows->end;
            kw_rows_free(rows);
            mono_skip_ns += 60 * 1000000000ull;
            if (!reversed && seen->len == 2)
                embedded_fixture_put(&fixture, "t", "cc", "d", "q", "new",
                                     1); /* visible to a new iterator only */
        }
        g_assert_cmpstr(seen->str, ==, reversed ? "fedccba" : "abccdef");
        g_string_free(seen, TRUE);
        kw_range_scan_close(scan);
    }
    embedded_fixture_clear(&fixture);
}

/* Many deleted rows precede the only one that exists. */
KW_TEST(test_many_deleted_rows, "/reader/many_deleted_rows")
{
    enum { ROWS = 3000 };
    embedded_fixture fixture;
    setup(&fixture);
    g_autofree kw_write *writes = g_new0(kw_write, 2 * ROWS + 1);
    g_autofree const kw_write **all = g_new0(const kw_write *, 2 * ROWS + 1);
    g_autofree kw_written *results = g_new0(kw_written, 2 * ROWS + 1);
    g_autofree char *names = g_malloc(ROWS * 8);
    const kw_cell cell = {.family = B("d"), .qualifier = B("q"), .value = B("x")};
    for (int i = 0; i < ROWS; i++) {
        g_snprintf(names + i * 8, 8, "%05d", i);
        writes[2 * i] = (kw_write){.kind = KW_WRITE_PUT,
                                   .table = B("t"),
                                   .row = B(names + i * 8),
                                   .cells = &cell,
                                   .cells_count = 1,
                                   .timestamp = 1,
                                   .deadline = KW_DEADLINE_NONE};
        writes[2 * i + 1] = writes[2 * i];
        writes[2 * i + 1].kind = KW_WRITE_DELETE;
    }
    writes[2 * ROWS] = writes[0];
    writes[2 * ROWS].row = B("z");
    for (int i = 0; i <= 2 * ROWS; i++)
        all[i] = &writes[i];
    kw_sync_write_many(&fixture.sync, all, 2 * ROWS + 1, results);
    kw_range_scan *scan =
        kw_store_handle_open_range_scan(fixture.sync.handle, &(kw_range_scan_spec){.table = B("t")});
    kw_rows *rows = kw_sync_fetch(&fixture.sync, scan, 1, 1000, false, NULL);
    g_assert_cmpuint(rows->count, ==, 1);
    g_assert_cmpuint(rows->scanned, ==, ROWS + 1);
    g_assert_true(kw_bytes_equal(rows->rows[0].key, B("z")));
    g_assert_true(rows->end);
    kw_rows_free(rows);
    kw_range_scan_close(scan);
    embedded_fixture_clear(&fixture);
}

/* The cells that a filter keeps, the number of rows scanned for it, and the end of a fetch after max_rows
 * rows. */
KW_TEST(test_filter, "/reader/filter")
{
    embedded_fixture fixture;
    setup(&fixture);
    for (int i = 0; i < 6; i++) {
        char row[2] = {(char)('a' + i), 0};
        embedded_fixture_put(&fixture, "t", row, "d", "q", i % 3 ? "x" : "y", 1);
    }
    kw_get get = {.table = B("t"),
                  .row = B("a"),
                  .filter = B("ValueFilter(=, 'binary:x')"),
                  .deadline = KW_DEADLINE_NONE};
    kw_rows *rows = kw_sync_get(&fixture.sync, &get, NULL);
    g_assert_cmpuint(rows->rows[0].cells_count, ==, 0);
    g_assert_true(kw_bytes_equal(rows->rows[0].key, B("a")));
    kw_rows_free(rows);
    kw_range_scan_spec spec = {.table = B("t"), .filter = B("ValueFilter(=, 'binary:y')")};
    kw_range_scan *scan = kw_store_handle_open_range_scan(fixture.sync.handle, &spec);
    rows = kw_sync_fetch(&fixture.sync, scan, 1, 1000, true, NULL);
    g_assert_cmpuint(rows->scanned, ==, 1);
    kw_rows_free(rows);
    rows = kw_sync_fetch(&fixture.sync, scan, 5, 1000, true, NULL);
    g_assert_cmpuint(rows->count, ==, 1);
    g_assert_true(kw_bytes_equal(rows->rows[0].key, B("d")));
    g_assert_cmpuint(rows->scanned, ==, 5);
    g_assert_true(rows->end);
    kw_rows_free(rows);
    kw_range_scan_close(scan);
    embedded_fixture_clear(&fixture);
}

KW_TEST(test_invalid_filter, "/reader/invalid_filter")
{
    embedded_fixture fixture;
    setup(&fixture);
    kw_error error = {0};
    kw_get get = {
        .table = B("t"), .row = B("r"), .filter = B("PageFilter('1')"), .deadline = KW_DEADLINE_NONE};
    g_assert_null(kw_sync_get(&fixture.sync, &get, &error));
    kw_expect_error(&error, KW_INVALID, "position 12: expected a number");
    kw_range_scan *scan = kw_store_handle_open_range_scan(
        fixture.sync.handle, &(kw_range_scan_spec){.table = B("t"), .filter = B("Oops(1)")});
    g_assert_null(kw_sync_fetch(&fixture.sync, scan, 1, 1, false, &error));
    kw_expect_error(&error, KW_INVALID, "Oops");
    kw_range_scan_close(scan);
    kw_range_scan_spec spec = {.table = B("t"),
                               .filter = B("RowFilter(=, 'regexstring:\\p{javaLowerCase}')")};
    scan = kw_store_handle_open_range_scan(fixture.sync.handle,
                                           &spec); /* only the regular expression engine finds the error */
    g_assert_null(kw_sync_fetch(&fixture.sync, scan, 1, 1, false, &error));
    kw_expect_error(&error, KW_INVALID, "regular expression \\p{javaLowerCase} is wrong");
    kw_range_scan_close(scan);
    embedded_fixture_clear(&fixture);
}

/* The table is dropped and created again during a scan. */
KW_TEST(test_table_dropped_during_scan, "/reader/table_dropped_during_scan")
{
    embedded_fixture fixture;
    setup(&fixture);
    for (int i = 0; i < 4; i++) {
        char row[2] = {(char)('a' + i), 0};
        embedded_fixture_put(&fixture, "t", row, "d", "q", "x", 1);
    }
    kw_range_scan *scan =
        kw_store_handle_open_range_scan(fixture.sync.handle, &(kw_range_scan_spec){.table = B("t")});
    kw_rows_free(kw_sync_fetch(&fixture.sync, scan, 1, 1000, true, NULL));
    g_assert_true(kw_sync_drop(&fixture.sync, B("t"), NULL));
    kw_error error = {0};
    g_assert_null(kw_sync_fetch(&fixture.sync, scan, 1, 1000, true, &error));
    kw_expect_error(&error, KW_NOT_FOUND, "t");
    kw_family_spec family = default_family("d");
    embedded_fixture_create_table(&fixture, "t", &family, 1);
    g_assert_null(kw_sync_fetch(&fixture.sync, scan, 1, 1000, true, &error));
    kw_expect_error(&error, KW_NOT_FOUND, "t");
    kw_range_scan_close(scan);
    embedded_fixture_clear(&fixture);
}

/* Memory becomes short while rows are read: gets fail, and a scan returns what it has. */
KW_TEST(test_memory_becomes_short, "/reader/memory_becomes_short")
{
    enum { ROWS = 40, ROW_BYTES = 1 << 20, FREE = 10 * ROW_BYTES, OTHERS = 200 * ROW_BYTES };
    embedded_fixture fixture;
    setup(&fixture);
    g_autofree char *value = g_strnfill(ROW_BYTES, 'v');
    kw_get gets[ROWS];
    const kw_get *list[ROWS];
    char keys[ROWS][3];
    kw_account *account = kw_account_new();
    for (int i = 0; i < ROWS; i++) {
        g_snprintf(keys[i], sizeof keys[i], "%02d", i);
        embedded_fixture_put(&fixture, "t", keys[i], "d", "q", value, 1);
        gets[i] =
            (kw_get){.table = B("t"), .row = B(keys[i]), .account = account, .deadline = KW_DEADLINE_NONE};
        list[i] = &gets[i];
    }
    kw_budget_charge(KW_MEMORY_CALLS, OTHERS);
    kw_budget_configure(10 * (kw_budget_used() + FREE) / 9);
    kw_error error = KW_ERROR_NONE;
    g_assert_null(kw_sync_get_many(&fixture.sync, list, ROWS, &error));
    kw_expect_error(&error, KW_BUSY, "the gateway is short of memory");
    kw_range_scan *scan = kw_store_handle_open_range_scan(
        fixture.sync.handle, &(kw_range_scan_spec){.table = B("t"), .account = account});
    size_t seen = 0;
    for (bool end = false; !end;) {
        kw_rows *rows = kw_sync_fetch(&fixture.sync, scan, 100, 100 << 20, true, NULL);
        g_assert_cmpuint(kw_arena_held(rows->arena), <=, FREE + 2 * ROW_BYTES);
        g_assert_cmpuint(rows->count, >, 0);
        seen += rows->count;
        end = rows->end;
        kw_rows_free(rows);
    }
    g_assert_cmpuint(seen, ==, ROWS);
    kw_range_scan_close(scan);
    embedded_fixture_clear(&fixture);
    g_assert_cmpint(kw_account_bytes(account), ==, 0);
    kw_account_unref(account);
    kw_budget_charge(KW_MEMORY_CALLS, -OTHERS);
    kw_budget_configure(0);
}

KW_TEST_START(start)
{
    kw_clock_inject(NULL, skipping_mono_ns);
}
