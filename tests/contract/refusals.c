/* Operations that must be rejected, with an error that names the cause; and operations that are not affected
 * by invalid ones. */
#include "contract/fixture.h"

#include "base/metrics.h"

static const kw_cell good_cell = {.family = {(const uint8_t *)"d", 1},
                                  .qualifier = {(const uint8_t *)"a", 1},
                                  .value = {(const uint8_t *)"x", 1}};

static kw_write
good_put(kw_fixture *f, const char *row)
{
    return (kw_write){.kind = KW_WRITE_PUT,
                      .table = f->table,
                      .row = B(row),
                      .cells = &good_cell,
                      .cells_count = 1,
                      .timestamp = 1,
                      .deadline = kw_deadline_in_ms(30000)};
}

static void
expect_refused(kw_fixture *f, const kw_write *write, kw_code code, const char *names)
{
    kw_sync_written result = kw_sync_write(&f->sync, write);
    g_assert_cmpint(result.outcome, ==, KW_OUTCOME_FAILED);
    kw_expect_error(&result.error, code, names);
}

static void
test_limits(kw_fixture *f)
{
    kw_write write = good_put(f, "");
    expect_refused(f, &write, KW_INVALID, "row key is empty");
    g_autofree uint8_t *large = g_malloc0(KW_STORE_VALUE_MAX + 1);
    write.row = kw_bytes_of(large, KW_STORE_ROW_KEY_MAX + 1);
    expect_refused(f, &write, KW_INVALID, "32768");
    write = good_put(f, "refused1");
    write.cells_count = 0;
    expect_refused(f, &write, KW_INVALID, "has no cells");
    kw_cell cell = good_cell;
    cell.value = kw_bytes_of(large, KW_STORE_VALUE_MAX + 1);
    write.cells = &cell;
    write.cells_count = 1;
    expect_refused(f, &write, KW_INVALID, "d:a");
    cell = good_cell;
    cell.family = KW_BYTES_NONE;
    expect_refused(f, &write, KW_INVALID, "family");
    write = good_put(f, "refused1");
    write.timestamp = -1;
    expect_refused(f, &write, KW_INVALID, "-1");
    kw_expect_row(f, "refused1", "");
}

static void
test_names(kw_fixture *f)
{
    static const char *const names[] = {"", ":x", "a:", "bad name", "-a", ".a", "a:b:c", "a\x01", "sp ace:x"};
    for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
        kw_write write = good_put(f, "row");
        write.table = B(names[i]);
        expect_refused(f, &write, KW_INVALID, "table name");
        kw_error error = {0};
        kw_get get = {.table = B(names[i]), .row = B("r"), .deadline = KW_DEADLINE_NONE};
        g_assert_null(kw_sync_get(&f->sync, &get, &error));
        kw_expect_error(&error, KW_INVALID, "table name");
    }
}

static void
test_unknown_table(kw_fixture *f)
{
    kw_bytes name = kw_fixture_table("unknown");
    kw_write write = good_put(f, "row");
    write.table = name;
    expect_refused(f, &write, KW_NOT_FOUND, "unknown");
    kw_error error = {0};
    kw_get get = {.table = name, .row = B("r"), .deadline = kw_deadline_in_ms(30000)};
    g_assert_null(kw_sync_get(&f->sync, &get, &error));
    kw_expect_error(&error, KW_NOT_FOUND, "unknown");
    const kw_get *gets[] = {&get, &get};
    g_assert_null(kw_sync_get_many(&f->sync, gets, 2, &error));
    kw_expect_error(&error, KW_NOT_FOUND, "unknown");
    kw_range_scan *run =
        kw_store_handle_open_range_scan(f->sync.handle, &(kw_range_scan_spec){.table = name});
    g_assert_null(kw_sync_fetch(&f->sync, run, 1, 1000, false, &error));
    kw_expect_error(&error, KW_NOT_FOUND, "unknown");
    kw_range_scan_close(run);
    kw_check check = {.family = B("d"), .qualifier = B("a")};
    kw_sync_written result = kw_sync_write_if(&f->sync, &write, &check);
    g_assert_cmpint(result.outcome, ==, KW_OUTCOME_FAILED);
}

/* Calls `run`, and returns by how much the metric store_errors grew. */
static int64_t
errors_of(kw_fixture *f, void (*run)(kw_fixture *f, kw_bytes unknown))
{
    int64_t before = kw_metrics_read(KW_METRIC_store_errors);
    run(f, kw_fixture_table("unknown"));
    return kw_metrics_read(KW_METRIC_store_errors) - before;
}

static void
fail_one_write(kw_fixture *f, kw_bytes unknown)
{
    kw_write write = good_put(f, "row");
    write.table = unknown;
    expect_refused(f, &write, KW_NOT_FOUND, "unknown");
}

static void
fail_two_of_three_writes(kw_fixture *f, kw_bytes unknown)
{
    kw_write good = good_put(f, "errors"), bad = good;
    bad.table = unknown;
    const kw_write *writes[] = {&bad, &good, &bad};
    kw_written results[3];
    kw_sync_write_many(&f->sync, writes, 3, results);
    g_assert_cmpint(results[1].outcome, ==, KW_OUTCOME_OK);
    g_assert_cmpint(results[2].outcome, ==, KW_OUTCOME_FAILED);
}

static void
fail_an_increment(kw_fixture *f, kw_bytes unknown)
{
    kw_column column = {.family = B("d"), .qualifier = B("n")};
    int64_t amount = 1;
    kw_increment increment = {.table = unknown,
                              .row = B("r"),
                              .columns = &column,
                              .amounts = &amount,
                              .columns_count = 1,
                              .deadline = kw_deadline_in_ms(30000)};
    g_assert_cmpint(kw_sync_increment(&f->sync, &increment).outcome, ==, KW_OUTCOME_FAILED);
}

static void
fail_a_condition(kw_fixture *f, kw_bytes unknown)
{
    kw_write write = good_put(f, "row");
    kw_check check = {.family = B("d"), .qualifier = B("a"), .compare = KW_COMPARE_EQUAL};
    write.table = unknown;
    g_assert_cmpint(kw_sync_write_if(&f->sync, &write, &check).outcome, ==, KW_OUTCOME_FAILED);
}

static void
fail_one_get(kw_fixture *f, kw_bytes unknown)
{
    kw_get get = {.table = unknown, .row = B("r"), .deadline = kw_deadline_in_ms(30000)};
    g_assert_null(kw_sync_get(&f->sync, &get, NULL));
}

static void
fail_three_gets(kw_fixture *f, kw_bytes unknown)
{
    kw_get get = {.table = unknown, .row = B("r"), .deadline = kw_deadline_in_ms(30000)};
    const kw_get *gets[] = {&get, &get, &get};
    g_assert_null(kw_sync_get_many(&f->sync, gets, 3, NULL));
}

static void
fail_a_fetch(kw_fixture *f, kw_bytes unknown)
{
    kw_range_scan *scan =
        kw_store_handle_open_range_scan(f->sync.handle, &(kw_range_scan_spec){.table = unknown});
    g_assert_null(kw_sync_fetch(&f->sync, scan, 1, 1000, false, NULL));
    kw_range_scan_close(scan);
}

/* Every operation that fails counts, in a call with many each of them. */
static void
test_errors_are_counted(kw_fixture *f)
{
    g_assert_cmpint(errors_of(f, fail_one_write), ==, 1);
    g_assert_cmpint(errors_of(f, fail_two_of_three_writes), ==, 2);
    g_assert_cmpint(errors_of(f, fail_an_increment), ==, 1);
    g_assert_cmpint(errors_of(f, fail_a_condition), ==, 1);
    g_assert_cmpint(errors_of(f, fail_one_get), ==, 1);
    g_assert_cmpint(errors_of(f, fail_three_gets), ==, 3);
    g_assert_cmpint(errors_of(f, fail_a_fetch), ==, 1);
}

static void
test_unknown_family(kw_fixture *f)
{
    kw_write write = good_put(f, "refused2");
    kw_cell cells[] = {good_cell, good_cell};
    cells[1].family = B("nofam");
    write.cells = cells;
    write.cells_count = 2;
    expect_refused(f, &write, KW_INVALID, "nofam");
    kw_expect_row(f, "refused2", ""); /* all or nothing */
    kw_column column = {.family = B("nofam"), .whole_family = true};
    kw_write removal = {.kind = KW_WRITE_DELETE,
                        .table = f->table,
                        .row = B("refused2"),
                        .columns = &column,
                        .columns_count = 1,
                        .timestamp = 1,
                        .deadline = kw_deadline_in_ms(30000)};
    expect_refused(f, &removal, KW_INVALID, "nofam");
    kw_error error = {0};
    kw_asking asking;
    kw_ask(&asking, f, "refused2", (const char *const[]){"nofam:a", NULL});
    g_assert_null(kw_sync_get(&f->sync, &asking.get, &error));
    kw_expect_error(&error, KW_INVALID, "nofam");
    kw_range_scan_spec spec = {.table = f->table, .columns = &column, .columns_count = 1};
    kw_range_scan *run = kw_store_handle_open_range_scan(f->sync.handle, &spec);
    g_assert_null(kw_sync_fetch(&f->sync, run, 1, 1000, false, &error));
    kw_expect_error(&error, KW_INVALID, "nofam");
    kw_range_scan_close(run);
}

static void
test_bad_reads(kw_fixture *f)
{
    kw_error error = {0};
    kw_asking asking;
    kw_ask(&asking, f, "", NULL);
    g_assert_null(kw_sync_get(&f->sync, &asking.get, &error));
    kw_expect_error(&error, KW_INVALID, "row key is empty");
    kw_ask(&asking, f, "r", NULL)->get.max_versions = -1;
    g_assert_null(kw_sync_get(&f->sync, &asking.get, &error));
    kw_expect_error(&error, KW_INVALID, "versions");
    kw_ask(&asking, f, "r", NULL)->get.time_from = 7;
    g_assert_null(kw_sync_get(&f->sync, &asking.get, &error));
    kw_expect_error(&error, KW_INVALID, "time range");
    const kw_get *gets[] = {&asking.get, &asking.get};
    g_assert_null(kw_sync_get_many(&f->sync, gets, 2, &error));
    kw_expect_error(&error, KW_INVALID, "get 1 of 2");
    kw_range_scan_spec spec = {.table = f->table, .time_from = 7, .time_to = 3};
    kw_range_scan *run = kw_store_handle_open_range_scan(f->sync.handle, &spec);
    g_assert_null(kw_sync_fetch(&f->sync, run, 1, 1000, false, &error));
    kw_expect_error(&error, KW_INVALID, "time range");
    kw_range_scan_close(run);
}

static void
test_bad_conditions(kw_fixture *f)
{
    kw_write write = good_put(f, "refused3");
    kw_check check = {.family = B("d"), .qualifier = B("a"), .compare = KW_COMPARE_LESS};
    kw_sync_written result = kw_sync_write_if(&f->sync, &write, &check);
    g_assert_cmpint(result.outcome, ==, KW_OUTCOME_FAILED);
    kw_expect_error(&result.error, KW_INVALID, "d:a");
    kw_column columns[] = {{.family = B("d"), .qualifier = B("n")}, {.family = B("d"), .qualifier = B("n")}};
    int64_t amounts[] = {1, 2};
    kw_increment increment = {.table = f->table,
                              .row = B("refused3"),
                              .columns = columns,
                              .amounts = amounts,
                              .columns_count = 2,
                              .deadline = KW_DEADLINE_NONE};
    result = kw_sync_increment(&f->sync, &increment);
    kw_expect_error(&result.error, KW_INVALID, "d:n");
    increment.columns_count = 0;
    result = kw_sync_increment(&f->sync, &increment);
    kw_expect_error(&result.error, KW_INVALID, "has no columns");
    kw_expect_row(f, "refused3", "");
}

static void
expect_no_table(kw_fixture *f, const kw_table_spec *spec, const char *names)
{
    kw_error error = {0};
    g_assert_false(kw_sync_create(&f->sync, spec, NULL, &error));
    kw_expect_error(&error, KW_INVALID, names);
}

static void
test_bad_tables(kw_fixture *f)
{
    kw_family_spec families[] = {{.name = "d"}, {.name = "d"}};
    kw_bytes splits[] = {B("m"), B("b")};
    kw_table_spec spec = {
        .name = kw_fixture_table("bad"), .families = families, .deadline = KW_DEADLINE_NONE};
    expect_no_table(f, &spec, "0 families");
    spec.families_count = 2;
    expect_no_table(f, &spec, "twice");
    families[1].name = "a:b";
    expect_no_table(f, &spec, "a:b");
    spec.families_count = 1;
    families[0].compression = "BZIP9";
    expect_no_table(f, &spec, "BZIP9");
    families[0].compression = NULL;
    families[0].min_versions = 2;
    expect_no_table(f, &spec, "min versions");
    families[0].min_versions = 0;
    spec.split_keys = splits;
    spec.split_keys_count = 2;
    expect_no_table(f, &spec, "split key 2");
    spec.name = B("bad name");
    expect_no_table(f, &spec, "table name");
}

static void
test_deadline_passed(kw_fixture *f)
{
    kw_deadline past = kw_deadline_in_ms(1);
    g_usleep(3000);
    kw_write write = good_put(f, "refused4");
    write.deadline = past;
    kw_sync_written result = kw_sync_write(&f->sync, &write);
    g_assert_cmpint(result.outcome, ==, KW_OUTCOME_FAILED);
    kw_expect_error(&result.error, KW_TIMEOUT, "");
    kw_expect_row(f, "refused4", "");
    kw_error error = {0};
    kw_get get = {.table = f->table, .row = B("r"), .deadline = past};
    g_assert_null(kw_sync_get(&f->sync, &get, &error));
    kw_expect_error(&error, KW_TIMEOUT, "");
}

/* One invalid write among many fails alone. */
static void
test_many_with_bad_ones(kw_fixture *f)
{
    kw_cell no_family = good_cell;
    no_family.family = B("nofam");
    kw_write writes[6];
    g_autofree char *rows = g_strdup("m1m2m3m4m5m6");
    const kw_write *all[6];
    for (int i = 0; i < 6; i++) {
        writes[i] = good_put(f, "");
        writes[i].row = kw_bytes_of(rows + 2 * i, 2);
        all[i] = &writes[i];
    }
    writes[1].row = KW_BYTES_NONE;
    writes[2].table = kw_fixture_table("unknown");
    writes[4].cells = &no_family;
    kw_written results[6];
    kw_sync_write_many(&f->sync, all, 6, results);
    static const kw_code codes[] = {KW_OK, KW_INVALID, KW_NOT_FOUND, KW_OK, KW_INVALID, KW_OK};
    for (int i = 0; i < 6; i++) {
        g_assert_cmpint(results[i].outcome, ==, codes[i] == KW_OK ? KW_OUTCOME_OK : KW_OUTCOME_FAILED);
        if (codes[i] != KW_OK)
            kw_expect_error(&results[i].error, codes[i], i == 2 ? "unknown" : i == 4 ? "nofam" : "row key");
    }
    kw_expect_range_scan(f, (kw_range_scan_spec){.start = B("m1"), .stop = B("m7")}, 10,
                         "m1{d:a@1=x} m4{d:a@1=x} m6{d:a@1=x}");
    writes[0].row = KW_BYTES_NONE;
    kw_sync_write_many(&f->sync, all, 1, results);
    g_assert_cmpint(results[0].outcome, ==, KW_OUTCOME_FAILED);
    kw_sync_write_many(&f->sync, all, 0, results);
}

/* --- row keys times cells --------------------------------------------------------------------------- */

enum {
    KEY = 1 << 15,
    CELLS = KW_STORE_ROW_KEYS_MAX / KEY
}; /* the most cells for a key of nearly this size */

/* A put of that many cells to a row with a key of KEY - 1 bytes that ends with `last`. */
static kw_write
put_with_long_key(kw_fixture *f, uint8_t *key, uint8_t last, size_t cells)
{
    kw_cell *all = g_new(kw_cell, cells);
    for (size_t i = 0; i < cells; i++)
        all[i] = good_cell;
    memset(key, 'k', KEY);
    key[KEY - 2] = last;
    kw_write write = good_put(f, "");
    write.row = kw_bytes_of(key, KEY - 1);
    write.cells = all;
    write.cells_count = cells;
    return write;
}

/* A row alone, and a record with two rows in a conditional write and in a call with many. */
static void
test_row_keys(kw_fixture *f)
{
    g_autofree uint8_t *first_key = g_malloc(KEY), *second_key = g_malloc(KEY);
    kw_write first = put_with_long_key(f, first_key, '1', CELLS + 1);
    kw_write second = put_with_long_key(f, second_key, '2', CELLS / 2 + 1);
    expect_refused(f, &first, KW_LIMIT, "16777216");
    first.cells_count = CELLS / 2 + 1;
    const kw_write *const both[] = {&first, &second};
    kw_written results[2];
    first.record = second.record = 1;
    kw_sync_write_many(&f->sync, both, 2, results);
    for (size_t i = 0; i < 2; i++) {
        g_assert_cmpint(results[i].outcome, ==, KW_OUTCOME_FAILED);
        kw_expect_error(&results[i].error, KW_LIMIT, "each of 2 rows");
    }
    const kw_row_target other = {.table = f->table, .row = second.row};
    const kw_check absent = {.family = B("d"), .qualifier = B("a"), .compare = KW_COMPARE_EQUAL};
    first.others = &other;
    first.others_count = 1;
    kw_sync_written result = kw_sync_write_if(&f->sync, &first, &absent);
    g_assert_cmpint(result.outcome, ==, KW_OUTCOME_FAILED);
    kw_expect_error(&result.error, KW_LIMIT, "each of 2 rows");
    first.others_count = 0;
    second.record = 2; /* two records: each has few enough */
    kw_sync_write_many(&f->sync, both, 2, results);
    g_assert_cmpint(results[0].outcome, ==, KW_OUTCOME_OK);
    g_assert_cmpint(results[1].outcome, ==, KW_OUTCOME_OK);
    g_free((void *)(uintptr_t)first.cells);
    g_free((void *)(uintptr_t)second.cells);
}

void
kw_contract_add_refusals(void)
{
    kw_fixture_add("refusals", "limits", test_limits);
    kw_fixture_add("refusals", "row_keys", test_row_keys);
    kw_fixture_add("refusals", "names", test_names);
    kw_fixture_add("refusals", "unknown_table", test_unknown_table);
    kw_fixture_add("refusals", "errors_are_counted", test_errors_are_counted);
    kw_fixture_add("refusals", "unknown_family", test_unknown_family);
    kw_fixture_add("refusals", "bad_reads", test_bad_reads);
    kw_fixture_add("refusals", "bad_conditions", test_bad_conditions);
    kw_fixture_add("refusals", "bad_tables", test_bad_tables);
    kw_fixture_add("refusals", "deadline_passed", test_deadline_passed);
    kw_fixture_add("refusals", "many_with_bad_ones", test_many_with_bad_ones);
}
