/* How a caller sees peculiarities of a real HBase. The contract suite tests the common behaviour of all
 * stores; this test covers HBase alone. It runs twice: against a buffered binary and a framed compact server.
 */
#include "real.h"

#include <stdio.h>
#include <unistd.h>

static bed on;
static char table[64];

static void
assert_ok(answer got)
{
    g_assert_cmpstr(got.error.text, ==, "");
    g_assert_cmpint(got.outcome, ==, KW_OUTCOME_OK);
    answer_clear(&got);
}

/* Also checks that the text has no class names and stacks. */
static void
assert_failed(answer got, kw_outcome outcome, kw_code code, const char *names)
{
    g_assert_cmpstr(kw_code_name(got.error.code), ==, kw_code_name(code));
    g_assert_cmpint(got.outcome, ==, outcome);
    g_assert_nonnull(strstr(got.error.text, names));
    g_assert_null(strstr(got.error.text, "org.apache"));
    g_assert_null(strstr(got.error.text, ".java:"));
    answer_clear(&got);
}

static void
assert_value(const char *row, const char *value)
{
    answer got = bed_get(&on, table, row, 60000);
    g_assert_cmpstr(got.error.text, ==, "");
    g_assert_cmpuint(got.rows->rows[0].cells_count, ==, value ? 1 : 0);
    if (value)
        g_assert_true(kw_bytes_equal(got.rows->rows[0].cells[0].value, kw_bytes_of_text(value)));
    answer_clear(&got);
}

static answer
put(const char *to, const char *row, const char *family, int64_t timestamp)
{
    return bed_put(&on, to, row, family, "q", "v", timestamp, 60000);
}

/* --- errors ----------------------------------------------------------------------------------- */

static void
test_unknown_table(void)
{
    assert_failed(put("kw_no_such", "r", "f", 1), KW_OUTCOME_FAILED, KW_NOT_FOUND, "kw_no_such");
    assert_failed(put("default:kw_no_such", "r", "f", 1), KW_OUTCOME_FAILED, KW_NOT_FOUND,
                  "default:kw_no_such");
    assert_failed(put("no_space:kw_no_such", "r", "f", 1), KW_OUTCOME_FAILED, KW_NOT_FOUND,
                  "no_space:kw_no_such");
    assert_failed(bed_get(&on, "kw_no_such", "r", 60000), 0, KW_NOT_FOUND, "kw_no_such");
    assert_failed(bed_increment(&on, "kw_no_such", "r", "q", 1), KW_OUTCOME_FAILED, KW_NOT_FOUND,
                  "kw_no_such");
    assert_failed(bed_regions(&on, "kw_no_such"), 0, KW_NOT_FOUND, "kw_no_such");
    assert_failed(bed_drop(&on, "kw_no_such"), 0, KW_NOT_FOUND, "kw_no_such");
    kw_range_scan_spec spec = {.table = KW_BYTES_LITERAL("kw_no_such"),
                               .filter = KW_BYTES_LITERAL("PageFilter(5)")};
    for (int opened = 0; opened < 2; opened++) {
        kw_range_scan *scan = kw_store_handle_open_range_scan(on.handle, &spec);
        assert_failed(bed_fetch(&on, scan, 5, 1000, true, 60000), 0, KW_NOT_FOUND, "kw_no_such");
        kw_range_scan_close(scan);
        spec.filter = KW_BYTES_NONE;
    }
}

static void
test_unknown_family(void)
{
    assert_failed(put(table, "r", "nofam", 1), KW_OUTCOME_FAILED, KW_INVALID, "'nofam'");
    kw_column column = {.family = KW_BYTES_LITERAL("nofam"), .whole_family = true};
    kw_get get = {.table = kw_bytes_of_text(table),
                  .row = KW_BYTES_LITERAL("r"),
                  .columns = &column,
                  .columns_count = 1,
                  .deadline = KW_DEADLINE_NONE};
    assert_failed(bed_get_full(&on, &get), 0, KW_INVALID, "'nofam'");
    kw_range_scan_spec spec = {.table = get.table, .columns = &column, .columns_count = 1};
    kw_range_scan *scan = kw_store_handle_open_range_scan(on.handle, &spec);
    assert_failed(bed_fetch(&on, scan, 5, 1000, false, 60000), 0, KW_INVALID, "'nofam'");
    kw_range_scan_close(scan);
}

static void
test_bad_filter(void)
{
    kw_get get = {.table = kw_bytes_of_text(table),
                  .row = KW_BYTES_LITERAL("r"),
                  .filter = KW_BYTES_LITERAL("NoSuchFilter (1)"),
                  .deadline = KW_DEADLINE_NONE};
    assert_failed(bed_get_full(&on, &get), 0, KW_INVALID, "NoSuchFilter");
    kw_range_scan_spec spec = {.table = get.table, .filter = KW_BYTES_LITERAL("PrefixFilter ('a'")};
    kw_range_scan *scan = kw_store_handle_open_range_scan(on.handle, &spec);
    assert_failed(bed_fetch(&on, scan, 5, 1000, false, 60000), 0, KW_INVALID, "position 18: expected )");
    kw_range_scan_close(scan);
    assert_ok(put(table, "r", "f", 1));
}

/* The store has no operation to disable a table, so the test calls Thrift2 directly. */
static void
test_disabled_table(void)
{
    char name[80];
    snprintf(name, sizeof name, "%s_off", table);
    answer made = bed_create(&on, name, "f", NULL, 0);
    g_assert_true(made.flag);
    assert_ok(put(name, "r", "f", 1));
    bed_disable(&on, name);
    assert_failed(put(name, "r", "f", 2), KW_OUTCOME_FAILED, KW_REFUSED, "disabled");
    assert_failed(bed_get(&on, name, "r", 60000), 0, KW_REFUSED, "disabled");
    bed_cell_write writes[2];
    const kw_write *pointers[2] = {&writes[0].write, &writes[1].write};
    kw_written results[2];
    for (int i = 0; i < 2; i++)
        bed_cell_write_init(&writes[i], name, i ? "a" : "b", "f", "v", 1);
    bool done = false;
    kw_store_handle_write_many(on.handle, pointers, 2, results, bed_on_done, &done);
    bed_await(&on, &done);
    for (int i = 0; i < 2; i++)
        g_assert_cmpint(results[i].outcome, !=, KW_OUTCOME_OK);
    answer dropped = bed_drop(&on, name);
    g_assert_cmpstr(dropped.error.text, ==, "");
}

static void
test_increment_of_text(void)
{
    assert_ok(bed_put(&on, table, "text", "f", "n", "abc", 1, 60000));
    assert_failed(bed_increment(&on, table, "text", "n", 1), KW_OUTCOME_FAILED, KW_INVALID, "8 bytes");
}

/* --- batches ---------------------------------------------------------------------------------- */

static void
test_batch(void)
{
    enum { COUNT = 60 };
    static bed_cell_write writes[COUNT];
    static char rows[COUNT][8], values[COUNT][8];
    const kw_write *pointers[COUNT];
    kw_written results[COUNT];
    for (size_t i = 0; i < COUNT; i++) {
        snprintf(rows[i], sizeof rows[i], "b%zu", i);
        snprintf(values[i], sizeof values[i], "%zu", i);
        bool same = i >= 20 && i < 40;
        bed_cell_write_init(&writes[i], table, same ? "bsame" : rows[i], i % 30 == 7 ? "nofam" : "f",
                            values[i], 9);
        pointers[i] = &writes[i].write;
    }
    bool done = false;
    kw_store_handle_write_many(on.handle, pointers, COUNT, results, bed_on_done, &done);
    bed_await(&on, &done);
    for (size_t i = 0; i < COUNT; i++) {
        bool bad = i % 30 == 7;
        if (results[i].outcome != (bad ? KW_OUTCOME_FAILED : KW_OUTCOME_OK))
            g_error("write %zu has outcome %d: %s %s", i, results[i].outcome,
                    kw_code_name(results[i].error.code), results[i].error.text);
        if (bad)
            g_assert_nonnull(strstr(results[i].error.text, "'nofam'"));
    }
    assert_value("b0", "0");
    assert_value("b59", "59");
    assert_value("bsame", "39");
}

/* --- sizes ------------------------------------------------------------------------------------ */

static bool framed;

static void
test_sizes(void)
{
    g_autofree char *large = g_strnfill(10 * 1024 * 1024, 'x');
    assert_failed(bed_put(&on, table, "large", "f", "q", large, 1, 60000), KW_OUTCOME_FAILED, KW_LIMIT,
                  "too large");
    large[10 * 1024 * 1024 - 100] = '\0';
    answer got = bed_put(&on, table, "large", "f", "q", large, 1, 60000);
    if (framed)
        assert_failed(got, KW_OUTCOME_FAILED, KW_LIMIT, "2097152");
    else
        assert_ok(got);
    large[2 * 1024 * 1024 - 200] = '\0';
    assert_ok(bed_put(&on, table, "large", "f", "q", large, 2, 60000));
    got = bed_get(&on, table, "large", 60000);
    g_assert_cmpuint(got.rows->rows[0].cells[0].value.size, ==, 2 * 1024 * 1024 - 200);
    answer_clear(&got);
}

/* The size limit of frames is exact to the byte. */
static void
test_frame_edge(void)
{
    if (!framed)
        return;
    size_t passed = 0, refused = SIZE_MAX;
    for (size_t size = 2 * 1024 * 1024 - 120; size <= 2 * 1024 * 1024; size++) {
        g_autofree char *value = g_strnfill(size, 'x');
        answer got = bed_put(&on, table, "edge", "f", "q", value, 1, 60000);
        if (got.outcome == KW_OUTCOME_OK)
            passed = size;
        else
            refused = MIN(refused, size);
        g_assert_cmpint(got.outcome == KW_OUTCOME_OK ? KW_OK : got.error.code, ==,
                        got.outcome == KW_OUTCOME_OK ? KW_OK : KW_LIMIT);
    }
    g_assert_cmpuint(passed + 1, ==, refused);
}

/* --- scans ------------------------------------------------------------------------------------ */

static void
test_stateful_filter(void)
{
    for (int i = 0; i < 30; i++) {
        char row[8];
        snprintf(row, sizeof row, "pf%02d", i);
        assert_ok(put(table, row, "f", 1));
    }
    kw_range_scan_spec spec = {.table = kw_bytes_of_text(table),
                               .start = KW_BYTES_LITERAL("pf"),
                               .stop = KW_BYTES_LITERAL("pg"),
                               .filter = KW_BYTES_LITERAL("PageFilter (12)")};
    kw_range_scan *scan = kw_store_handle_open_range_scan(on.handle, &spec);
    size_t count = 0;
    for (bool end = false; !end;) {
        answer got = bed_fetch(&on, scan, 5, 100000, true, 60000);
        g_assert_cmpstr(got.error.text, ==, "");
        count += got.rows->count;
        end = got.rows->end;
        answer_clear(&got);
    }
    kw_range_scan_close(scan);
    g_assert_cmpuint(count, ==, 12);
}

/* --- tables ----------------------------------------------------------------------------------- */

/* Split keys of one byte, long ones, and any byte values arrive unchanged. */
static void
test_splits(void)
{
    char name[80];
    snprintf(name, sizeof name, "kw_space:%s_split", table);
    g_autofree char *longest = g_strnfill(300, 'm');
    const char *splits[] = {"\x01", "b", "bb", longest, "\xfe\xff"};
    answer made = bed_create(&on, name, "f", splits, G_N_ELEMENTS(splits));
    g_assert_cmpstr(made.error.text, ==, "");
    g_assert_true(made.flag);
    answer got = bed_regions(&on, name);
    g_assert_cmpuint(got.regions->count, ==, G_N_ELEMENTS(splits) + 1);
    g_assert_cmpuint(got.regions->regions[0].start.size, ==, 0);
    for (size_t i = 0; i < G_N_ELEMENTS(splits); i++) {
        g_assert_true(kw_bytes_equal(got.regions->regions[i].stop, kw_bytes_of_text(splits[i])));
        g_assert_true(kw_bytes_equal(got.regions->regions[i + 1].start, kw_bytes_of_text(splits[i])));
    }
    answer_clear(&got);
    made = bed_create(&on, name, "f", splits, 1);
    g_assert_cmpstr(made.error.text, ==, "");
    g_assert_false(made.flag);
    assert_ok(bed_drop(&on, name));
}

static void
test_clock(void)
{
    int64_t offset = 0;
    bool known = false;
    /* On a busy machine a heartbeat can take so long that it is inexact; a later one is better. */
    for (int i = 0; i < 6000 && !(known && ABS(offset) <= 50); i++) {
        known = kw_store_clock_offset_ms(on.store, &offset);
        bed_run_loop(&on, 10);
    }
    g_assert_true(known);
    g_assert_cmpint(ABS(offset), <=, 50); /* HBase runs on the same machine */
}

int
main(int argc, char **argv)
{
    kw_model_server server;
    real_init(&argc, &argv, &server, &framed);
    kw_model_hbase settings = bed_settings(&server, 1);
    on.tuning = bed_tuning;
    on.tuning.connect_timeout_ms = 30000; /* a busy HBase can be silent for seconds */
    bed_open(&on, &settings);
    bed_await_ready(&on);
    snprintf(table, sizeof table, "kwr_%d_%d", framed, (int)getpid());
    answer made = bed_create(&on, table, "f", NULL, 0);
    g_assert_cmpstr(made.error.text, ==, "");
    g_test_add_func("/hbase/real/unknown-table", test_unknown_table);
    g_test_add_func("/hbase/real/unknown-family", test_unknown_family);
    g_test_add_func("/hbase/real/bad-filter", test_bad_filter);
    if (!framed) /* HBase repeats such a put for a minute */
        g_test_add_func("/hbase/real/disabled-table", test_disabled_table);
    g_test_add_func("/hbase/real/increment-of-text", test_increment_of_text);
    g_test_add_func("/hbase/real/batch", test_batch);
    g_test_add_func("/hbase/real/sizes", test_sizes);
    g_test_add_func("/hbase/real/frame-edge", test_frame_edge);
    g_test_add_func("/hbase/real/stateful-filter", test_stateful_filter);
    g_test_add_func("/hbase/real/splits", test_splits);
    g_test_add_func("/hbase/real/clock", test_clock);
    int failed = g_test_run();
    answer dropped = bed_drop(&on, table);
    answer_clear(&dropped);
    bed_close(&on);
    g_free((char *)server.host);
    return failed;
}
