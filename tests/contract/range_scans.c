/* Range scans: forward and in reverse, in pages of any size, and with writes between fetches. */
#include "contract/fixture.h"

static void
put_letters(kw_fixture *f, const char *prefix)
{
    for (char letter = 'a'; letter <= 'e'; letter++) {
        g_autofree char *row = g_strdup_printf("%s%c", prefix, letter);
        kw_put(f, row, "d:q", "1", 1);
    }
}

static void
test_forward(kw_fixture *f)
{
    put_letters(f, "run1");
    kw_range_scan_spec spec = {.start = B("run1"), .stop = B("run2")};
    for (uint32_t page = 1; page <= 7; page++)
        kw_expect_range_scan(f, spec, page,
                             "run1a{d:q@1=1} run1b{d:q@1=1} run1c{d:q@1=1} run1d{d:q@1=1} run1e{d:q@1=1}");
    spec.start = B("run1b");
    spec.stop = B("run1d");
    kw_expect_range_scan(f, spec, 10, "run1b{d:q@1=1} run1c{d:q@1=1}");
    spec.start = B("run1b\x01");
    spec.stop = B("run1d\x01");
    kw_expect_range_scan(f, spec, 10, "run1c{d:q@1=1} run1d{d:q@1=1}");
}

static void
test_backward(kw_fixture *f)
{
    put_letters(f, "run2");
    kw_range_scan_spec spec = {.start = B("run2"), .stop = B("run3"), .reversed = true};
    for (uint32_t page = 1; page <= 7; page++)
        kw_expect_range_scan(f, spec, page,
                             "run2e{d:q@1=1} run2d{d:q@1=1} run2c{d:q@1=1} run2b{d:q@1=1} run2a{d:q@1=1}");
    spec.start = B("run2b");
    spec.stop = B("run2d");
    kw_expect_range_scan(f, spec, 10, "run2c{d:q@1=1} run2b{d:q@1=1}");
    spec.start = B("run2b\x01");
    spec.stop = B("run2d\x01");
    kw_expect_range_scan(f, spec, 1, "run2d{d:q@1=1} run2c{d:q@1=1}");
}

static void
test_empty(kw_fixture *f)
{
    kw_put(f, "run-nona", "d:q", "1", 1);
    kw_put(f, "run-nonz", "d:q", "1", 1);
    static const char *const ranges[][2] = {
        {"run-none1", "run-none2"}, {"run-nona", "run-nona"}, {"run-nonz", "run-nona"}};
    for (size_t i = 0; i < 2 * G_N_ELEMENTS(ranges); i++) {
        kw_range_scan_spec spec = {
            .start = B(ranges[i / 2][0]), .stop = B(ranges[i / 2][1]), .reversed = i % 2};
        kw_expect_range_scan(f, spec, 10, "");
    }
}

/* Open on either side: the scan begins and ends with the rows of the whole table, which contains rows of
 * other tests. */
static void
test_open_ended(kw_fixture *f)
{
    kw_fixture own = {.sync = f->sync, .table = kw_fixture_table("open_ended")};
    kw_family_spec family = {
        .name = "d", .block_cache = -1, .in_memory = -1, .keep_deleted_cells = -1, .replication_scope = -1};
    kw_bytes splits[] = {B("b"), B("d")};
    kw_table_spec spec = {.name = own.table,
                          .families = &family,
                          .families_count = 1,
                          .split_keys = splits,
                          .split_keys_count = 2,
                          .deadline = KW_DEADLINE_NONE};
    g_assert_true(kw_sync_create(&own.sync, &spec, NULL, NULL));
    put_letters(&own, "");
    kw_put(&own, "\xff\xff", "d:q", "1", 1);
    const char *forward = "a{d:q@1=1} b{d:q@1=1} c{d:q@1=1} d{d:q@1=1} e{d:q@1=1} \\xff\\xff{d:q@1=1}";
    const char *backward = "\\xff\\xff{d:q@1=1} e{d:q@1=1} d{d:q@1=1} c{d:q@1=1} b{d:q@1=1} a{d:q@1=1}";
    for (uint32_t page = 1; page <= 7; page += 3) {
        kw_expect_range_scan(&own, (kw_range_scan_spec){0}, page, forward);
        kw_expect_range_scan(&own, (kw_range_scan_spec){.reversed = true}, page, backward);
    }
    kw_expect_range_scan(&own, (kw_range_scan_spec){.start = B("e")}, 2, "e{d:q@1=1} \\xff\\xff{d:q@1=1}");
    kw_expect_range_scan(&own, (kw_range_scan_spec){.stop = B("c")}, 1, "a{d:q@1=1} b{d:q@1=1}");
    kw_expect_range_scan(&own, (kw_range_scan_spec){.stop = B("c"), .reversed = true}, 1,
                         "b{d:q@1=1} a{d:q@1=1}");
    kw_expect_range_scan(&own, (kw_range_scan_spec){.start = B("e"), .reversed = true}, 1,
                         "\\xff\\xff{d:q@1=1} e{d:q@1=1}");
}

/* The keys grow and shrink on the way, in each direction. */
static void
test_lengths(kw_fixture *f)
{
    static const char *const keys[] = {"len", "lena", "lenaa", "lenaaab", "lenab", "lenb", "lenbbbb", "lenc"};
    GString *forward = g_string_new(NULL), *backward = g_string_new(NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(keys); i++) {
        kw_put(f, keys[i], "d:q", "1", 1);
        g_string_append_printf(forward, "%s%s{d:q@1=1}", i ? " " : "", keys[i]);
        g_string_append_printf(backward, "%s%s{d:q@1=1}", i ? " " : "", keys[G_N_ELEMENTS(keys) - 1 - i]);
    }
    for (uint32_t page = 1; page <= 4; page++) {
        kw_range_scan_spec spec = {.start = B("len"), .stop = B("leo")};
        kw_expect_range_scan(f, spec, page, forward->str);
        spec.reversed = true;
        kw_expect_range_scan(f, spec, page, backward->str);
    }
    g_string_free(forward, TRUE);
    g_string_free(backward, TRUE);
}

/* The scan does not return a row without any of the selected columns. */
static void
test_columns(kw_fixture *f)
{
    kw_put(f, "run4a", "d:a", "1", 1);
    kw_put(f, "run4a", "d:b", "2", 1);
    kw_put(f, "run4b", "d:a", "3", 1);
    kw_put(f, "run4c", "v:b", "4", 1);
    kw_put(f, "run4d", "d:b", "5", 1);
    kw_column columns[] = {{.family = B("d"), .qualifier = B("b")}, {.family = B("v"), .whole_family = true}};
    kw_range_scan_spec spec = {.start = B("run4"), .stop = B("run5"), .columns = columns, .columns_count = 1};
    kw_expect_range_scan(f, spec, 1, "run4a{d:b@1=2} run4d{d:b@1=5}");
    spec.columns_count = 2;
    kw_expect_range_scan(f, spec, 10, "run4a{d:b@1=2} run4c{v:b@1=4} run4d{d:b@1=5}");
    spec.reversed = true;
    kw_expect_range_scan(f, spec, 2, "run4d{d:b@1=5} run4c{v:b@1=4} run4a{d:b@1=2}");
}

/* The byte limit ends a page early, but never before its first row. */
static void
test_bytes(kw_fixture *f)
{
    g_autofree char *value = g_strnfill(1000, 'v');
    for (int i = 0; i < 10; i++) {
        g_autofree char *row = g_strdup_printf("run5-%d", i);
        kw_put(f, row, "d:a", value, 1);
    }
    kw_range_scan_spec spec = {.table = f->table, .start = B("run5-"), .stop = B("run5.")};
    kw_range_scan *run = kw_store_handle_open_range_scan(f->sync.handle, &spec);
    kw_rows *rows = kw_sync_fetch(&f->sync, run, 100, 1, true, NULL);
    g_assert_cmpuint(rows->count, >=, 1);
    g_assert_cmpuint(rows->count, <, 10);
    size_t seen = rows->count;
    g_assert_cmpuint(rows->bytes, >=, seen * 1000);
    kw_rows_free(rows);
    rows = kw_sync_fetch(&f->sync, run, 100, 1 << 20, true, NULL);
    seen += rows->count;
    g_assert_true(rows->end);
    g_assert_cmpuint(seen, ==, 10);
    kw_rows_free(rows);
    kw_range_scan_close(run);
}

/* The spec is copied. A fetch continues after the last row whether or not the previous hint was right. */
static void
test_hints_and_copies(kw_fixture *f)
{
    put_letters(f, "run6");
    g_autofree char *start = g_strdup("run6"), *stop = g_strdup("run7");
    kw_range_scan_spec spec = {.table = f->table, .start = B(start), .stop = B(stop)};
    kw_range_scan *run = kw_store_handle_open_range_scan(f->sync.handle, &spec);
    memset(start, 'z', strlen(start));
    memset(stop, 'z', strlen(stop));
    static const bool hints[] = {false, true, false, false, true, true};
    GString *seen = g_string_new(NULL);
    bool end = false;
    for (size_t i = 0; !end; i++) {
        g_assert_cmpuint(i, <, G_N_ELEMENTS(hints));
        kw_rows *rows = kw_sync_fetch(&f->sync, run, 1, 1000, hints[i], NULL);
        for (size_t k = 0; k < rows->count; k++)
            g_string_append_len(seen, (const char *)rows->rows[k].key.data, (gssize)rows->rows[k].key.size);
        end = rows->end;
        kw_rows_free(rows);
    }
    g_assert_cmpstr(seen->str, ==, "run6arun6brun6crun6drun6e");
    g_string_free(seen, TRUE);
    kw_rows *rows = kw_sync_fetch(&f->sync, run, 1, 1000, false, NULL);
    g_assert_cmpuint(rows->count, ==, 0);
    g_assert_true(rows->end);
    kw_rows_free(rows);
    kw_range_scan_close(run);
}

/* Rows removed during a range scan do not disturb it; it stays in order. */
static void
test_concurrent_writes(kw_fixture *f)
{
    put_letters(f, "run7");
    for (int hint = 0; hint <= 1; hint++) {
        kw_range_scan_spec spec = {.table = f->table, .start = B("run7"), .stop = B("run8")};
        kw_range_scan *run = kw_store_handle_open_range_scan(f->sync.handle, &spec);
        kw_rows *rows;
        for (size_t begun = 0; begun < 2; begun += rows->count, kw_rows_free(rows)) {
            rows = kw_sync_fetch(&f->sync, run, (uint32_t)(2 - begun), 1000, hint, NULL);
            g_assert_cmpuint(rows->count, >=, 1);
        }
        kw_put(f, "run7aa", "d:q", "after", 1);
        kw_remove(f, "run7a", NULL, 1);
        GString *seen = g_string_new(NULL);
        bool end = false;
        while (!end) {
            rows = kw_sync_fetch(&f->sync, run, 2, 1000, hint, NULL);
            for (size_t i = 0; i < rows->count; i++)
                g_string_append_len(seen, (const char *)rows->rows[i].key.data,
                                    (gssize)rows->rows[i].key.size);
            end = rows->end;
            kw_rows_free(rows);
        }
        g_assert_cmpstr(seen->str, ==, "run7crun7drun7e");
        g_string_free(seen, TRUE);
        kw_range_scan_close(run);
        kw_remove(f, "run7aa", NULL, 1);
        kw_put(f, "run7a", "d:q", "1", 2 + hint);
        kw_put(f, "run7aa", "d:q", "1", 2 + hint);
        kw_remove(f, "run7aa", NULL, 2 + hint);
    }
}

static void
must_stay_silent(void *user, kw_rows *rows, const kw_error *error)
{
    (void)user, (void)rows, (void)error;
    g_assert_not_reached();
}

static void
test_closed_in_flight(kw_fixture *f)
{
    put_letters(f, "run9");
    kw_range_scan_spec spec = {.table = f->table, .start = B("run9"), .stop = B("runA")};
    kw_range_scan *run = kw_store_handle_open_range_scan(f->sync.handle, &spec);
    kw_range_scan_close(run); /* never fetched */
    run = kw_store_handle_open_range_scan(f->sync.handle, &spec);
    kw_range_scan_fetch(run, 10, 1000, true, KW_DEADLINE_NONE, must_stay_silent, NULL);
    kw_range_scan_close(run);
    kw_range_scan_close(NULL);
    kw_expect_row(f, "run9a", "d:q@1=1");
}

/* Many range scans of one store handle at the same time, each with its own position. */
static void
test_side_by_side(kw_fixture *f)
{
    enum { RUNS = 20 };
    for (int i = 0; i < RUNS; i++)
        for (int k = 0; k < 3; k++) {
            g_autofree char *row = g_strdup_printf("runB%02d%d", i, k);
            kw_put(f, row, "d:q", "1", 1);
        }
    kw_range_scan *runs[RUNS];
    for (int i = 0; i < RUNS; i++) {
        g_autofree char *start = g_strdup_printf("runB%02d", i), *stop = g_strdup_printf("runB%02d~", i);
        kw_range_scan_spec spec = {.table = f->table, .start = B(start), .stop = B(stop), .reversed = i % 2};
        runs[i] = kw_store_handle_open_range_scan(f->sync.handle, &spec);
    }
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < RUNS; i++) {
            kw_rows *rows = kw_sync_fetch(&f->sync, runs[i], 1, 1000, true, NULL);
            g_autofree char *row = g_strdup_printf("runB%02d%d", i, i % 2 ? 2 - k : k);
            g_assert_cmpuint(rows->count, ==, 1);
            g_assert_true(kw_bytes_equal(rows->rows[0].key, B(row)));
            kw_rows_free(rows);
        }
    for (int i = 0; i < RUNS; i++)
        kw_range_scan_close(runs[i]);
}

void
kw_contract_add_range_scans(void)
{
    kw_fixture_add("range_scans", "forward", test_forward);
    kw_fixture_add("range_scans", "backward", test_backward);
    kw_fixture_add("range_scans", "empty", test_empty);
    kw_fixture_add("range_scans", "lengths", test_lengths);
    kw_fixture_add("range_scans", "open_ended", test_open_ended);
    kw_fixture_add("range_scans", "columns", test_columns);
    kw_fixture_add("range_scans", "bytes", test_bytes);
    kw_fixture_add("range_scans", "hints_and_copies", test_hints_and_copies);
    kw_fixture_add("range_scans", "concurrent_writes", test_concurrent_writes);
    kw_fixture_add("range_scans", "closed_in_flight", test_closed_in_flight);
    kw_fixture_add("range_scans", "side_by_side", test_side_by_side);
}
