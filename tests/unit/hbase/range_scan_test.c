/* Range scans against thrift2_fake: every row once and in order, whatever fails during the scan, and no
 * scanner stays open. */
#include "fixture.h"

#include <stdio.h>

#define ROWS 500

/* Rows k000 .. k499. */
static void
fill(fixture *on)
{
    for (size_t f = 0; f < 2 && on->fakes[f]; f++) {
        for (int i = 0; i < ROWS; i++) {
            char key[8];
            snprintf(key, sizeof key, "k%03d", i);
            thrift2_fake_set_row(on->fakes[f], key, "v");
        }
    }
}

static void
start(fixture *on, size_t fakes)
{
    fixture_start(on, fakes, FRAMED_COMPACT);
    fill(on);
}

static kw_range_scan *
open_range_scan(fixture *on, const char *start_key, const char *stop_key, bool reversed)
{
    kw_range_scan_spec spec = {.table = KW_BYTES_LITERAL("t"),
                               .start = kw_bytes_of_text(start_key),
                               .stop = kw_bytes_of_text(stop_key),
                               .reversed = reversed};
    return kw_store_handle_open_range_scan(on->bed.handle, &spec);
}

typedef struct reading {
    int next; /* number of the next expected row */
    int step; /* 1 or -1 */
    bool ended;
} reading;

/* Checks a fetch: its rows must follow the rows before. */
static void
check_rows(reading *at, answer got)
{
    g_assert_cmpstr(got.error.text, ==, "");
    for (size_t i = 0; i < got.rows->count; i++) {
        char key[8];
        snprintf(key, sizeof key, "k%03d", at->next);
        g_autofree char *key_read =
            g_strndup((const char *)got.rows->rows[i].key.data, got.rows->rows[i].key.size);
        g_assert_cmpstr(key_read, ==, key);
        at->next += at->step;
    }
    g_assert_true(got.rows->count || got.rows->end);
    at->ended = got.rows->end;
    answer_clear(&got);
}

static void
read_some(fixture *on, kw_range_scan *scan, reading *at, int fetches, uint32_t rows)
{
    for (int i = 0; i < fetches && !at->ended; i++)
        check_rows(at, bed_fetch(&on->bed, scan, rows, 1 << 20, true, 60000));
}

static void
read_all(fixture *on, kw_range_scan *scan, reading *at, uint32_t rows)
{
    read_some(on, scan, at, ROWS + 2, rows);
    g_assert_true(at->ended);
}

static void
assert_no_scanners(fixture *on)
{
    for (size_t f = 0; f < 2 && on->fakes[f]; f++) {
        BED_UNTIL(&on->bed, thrift2_fake_scanners(on->fakes[f]) == 0);
    }
}

static uint32_t
calls(const fixture *on, kw_hb_method method)
{
    return thrift2_fake_calls(on->fakes[0], method);
}

/* --- without failures ------------------------------------------------------------------------- */

KW_TEST(test_whole, "/hbase/range-scan/whole")
{
    static const uint32_t sizes[] = {1, 7, 64, 499, 500, 501, 5000};
    fixture on;
    start(&on, 1);
    for (size_t i = 0; i < G_N_ELEMENTS(sizes); i++) {
        for (int reversed = 0; reversed < 2; reversed++) {
            kw_range_scan *scan = open_range_scan(&on, "", "", reversed);
            reading at = {.next = reversed ? ROWS - 1 : 0, .step = reversed ? -1 : 1};
            read_all(&on, scan, &at, sizes[i]);
            g_assert_cmpint(at.next, ==, reversed ? -1 : ROWS);
            check_rows(&at, bed_fetch(&on.bed, scan, 1, 1 << 20, true, 60000));
            g_assert_true(at.ended);
            kw_range_scan_close(scan);
        }
    }
    g_assert_cmpuint(calls(&on, KW_HB_THBaseService_openScanner), >, 0);
    assert_no_scanners(&on);
    fixture_stop(&on);
}

KW_TEST(test_bounds, "/hbase/range-scan/bounds")
{
    static const uint32_t sizes[] = {1, 2, 30, 99, 100, 101};
    fixture on;
    start(&on, 1);
    for (int reversed = 0; reversed < 2; reversed++) {
        for (size_t i = 0; i < G_N_ELEMENTS(sizes); i++) {
            kw_range_scan *scan = open_range_scan(&on, "k100", "k200", reversed);
            reading at = {.next = reversed ? 199 : 100, .step = reversed ? -1 : 1};
            read_all(&on, scan, &at, sizes[i]);
            g_assert_cmpint(at.next, ==, reversed ? 99 : 200);
            kw_range_scan_close(scan);
        }
        kw_range_scan *scan = open_range_scan(&on, "k100", "k100", reversed);
        reading at = {.step = 1};
        read_all(&on, scan, &at, 30);
        g_assert_cmpint(at.next, ==, 0);
        kw_range_scan_close(scan);
    }
    fixture_stop(&on);
}

/* A fetch never returns too many rows, even if the last row was deleted in the meantime and the scan returns
 * an extra row. */
KW_TEST(test_last_row_removed, "/hbase/range-scan/last-row-removed")
{
    fixture on;
    start(&on, 1);
    kw_range_scan *scan = open_range_scan(&on, "", "", true);
    answer got = bed_fetch(&on.bed, scan, 3, 1 << 20, false, 60000);
    g_assert_cmpuint(got.rows->count, ==, 3);
    answer_clear(&got);
    kw_write removal = {.kind = KW_WRITE_DELETE,
                        .table = KW_BYTES_LITERAL("t"),
                        .row = KW_BYTES_LITERAL("k497"),
                        .timestamp = 5,
                        .deadline = kw_deadline_in_ms(60000)};
    got = bed_write(&on.bed, &removal);
    g_assert_cmpint(got.outcome, ==, KW_OUTCOME_OK);
    reading at = {.next = 496, .step = -1};
    got = bed_fetch(&on.bed, scan, 3, 1 << 20, true, 60000);
    g_assert_cmpuint(got.rows->count, ==, 3);
    check_rows(&at, got);
    read_all(&on, scan, &at, 3);
    g_assert_cmpint(at.next, ==, -1);
    kw_range_scan_close(scan);
    fixture_stop(&on);
}

/* Reading one row of many costs one call and one row. */
KW_TEST(test_one_row, "/hbase/range-scan/one-row")
{
    fixture on;
    start(&on, 1);
    kw_range_scan *scan = open_range_scan(&on, "k100", "k200", false);
    answer got = bed_fetch(&on.bed, scan, 1, 1 << 20, false, 60000);
    g_assert_cmpuint(got.rows->count, ==, 1);
    g_assert_cmpuint(got.rows->scanned, ==, 1);
    answer_clear(&got);
    kw_range_scan_close(scan);
    g_assert_cmpuint(calls(&on, KW_HB_THBaseService_getScannerResults), ==, 1);
    g_assert_cmpuint(calls(&on, KW_HB_THBaseService_openScanner), ==, 0);
    fixture_stop(&on);
}

/* The first fetch opens no scanner, however many rows it requests. If it was full and more fetches are
 * expected, the next one does. */
KW_TEST(test_first_fetch, "/hbase/range-scan/first-fetch")
{
    static const struct {
        uint32_t rows;
        bool ends;
    } cases[] = {{499, false}, {500, false}, {501, true}};
    fixture on;
    start(&on, 1);
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        for (int reversed = 0; reversed < 2; reversed++) {
            kw_range_scan *scan = open_range_scan(&on, "", "", reversed);
            reading at = {.next = reversed ? ROWS - 1 : 0, .step = reversed ? -1 : 1};
            uint32_t opened = calls(&on, KW_HB_THBaseService_openScanner);
            uint32_t stateless = calls(&on, KW_HB_THBaseService_getScannerResults);
            if (i == 0 && !reversed) /* the size of a row is not known yet */
                read_some(&on, scan, &at, 1, 256);
            read_some(&on, scan, &at, 1, cases[i].rows);
            bool first = i == 0 && !reversed;
            g_assert_cmpuint(calls(&on, KW_HB_THBaseService_getScannerResults), ==, stateless + 1);
            g_assert_cmpuint(calls(&on, KW_HB_THBaseService_openScanner), ==, opened + first);
            g_assert_cmpint(at.ended, ==, cases[i].ends || first);
            read_all(&on, scan, &at, 5);
            g_assert_cmpint(at.next, ==, reversed ? -1 : ROWS);
            g_assert_cmpuint(calls(&on, KW_HB_THBaseService_openScanner), ==, opened + !cases[i].ends);
            kw_range_scan_close(scan);
        }
    }
    assert_no_scanners(&on);
    fixture_stop(&on);
}

/* A scan whose filter counts rows has one scanner from the beginning. */
KW_TEST(test_filter_that_counts, "/hbase/range-scan/filter-that-counts")
{
    fixture on;
    start(&on, 1);
    kw_range_scan_spec spec = {.table = KW_BYTES_LITERAL("t"),
                               .filter = KW_BYTES_LITERAL("PageFilter (300)")};
    kw_range_scan *scan = kw_store_handle_open_range_scan(on.bed.handle, &spec);
    answer got = bed_fetch(&on.bed, scan, 1, 1 << 20, false, 60000);
    answer_clear(&got);
    g_assert_cmpuint(calls(&on, KW_HB_THBaseService_getScannerResults), ==, 0);
    g_assert_cmpuint(calls(&on, KW_HB_THBaseService_openScanner), ==, 1);
    kw_range_scan_close(scan);
    assert_no_scanners(&on);
    fixture_stop(&on);
}

/* --- lost connections ------------------------------------------------------------------------- */

KW_TEST(test_lost_on_the_way, "/hbase/range-scan/lost-on-the-way")
{
    for (int reversed = 0; reversed < 2; reversed++) {
        fixture on;
        start(&on, 2);
        bed_run_loop(&on.bed, 100);
        kw_range_scan *scan = open_range_scan(&on, "", "", reversed);
        reading at = {.next = reversed ? ROWS - 1 : 0, .step = reversed ? -1 : 1};
        for (int i = 0; !at.ended; i++) {
            read_some(&on, scan, &at, 3, 9);
            thrift2_fake_restart(on.fakes[i % 2]);
        }
        g_assert_cmpint(at.next, ==, reversed ? -1 : ROWS);
        kw_range_scan_close(scan);
        assert_no_scanners(&on);
        fixture_stop(&on);
    }
}

static void
close_in_scan(const fake_call *call, fake_answer *to, void *user)
{
    const bool *also_open = user;
    if ((call->method == KW_HB_THBaseService_getScannerRows ||
         (*also_open && call->method == KW_HB_THBaseService_openScanner)) &&
        call->nth % 4 == 2)
        to->kind = FAKE_CLOSE;
}

KW_TEST(test_lost_under_a_fetch, "/hbase/range-scan/lost-under-a-fetch")
{
    for (int also_open = 0; also_open < 2; also_open++) {
        fixture on;
        bool too = also_open;
        start(&on, 1);
        thrift2_fake_set_script(on.fakes[0], close_in_scan, &too);
        kw_range_scan *scan = open_range_scan(&on, "", "", false);
        reading at = {.step = 1};
        read_all(&on, scan, &at, 20);
        g_assert_cmpint(at.next, ==, ROWS);
        kw_range_scan_close(scan);
        fixture_stop(&on);
    }
}

/* After a restart scanner ids start at 0 again, so another scan's scanner can have our id. It must not be
 * read or closed. */
KW_TEST(test_id_of_another, "/hbase/range-scan/id-of-another")
{
    fixture on;
    start(&on, 1);
    kw_range_scan *scan = open_range_scan(&on, "", "", false),
                  *other = open_range_scan(&on, "k300", "", false);
    reading at = {.step = 1}, other_at = {.next = 300, .step = 1};
    read_some(&on, scan, &at, 3, 5);
    g_assert_cmpuint(thrift2_fake_scanners(on.fakes[0]), ==, 1);
    thrift2_fake_restart(on.fakes[0]);
    bed_run_loop(&on.bed, 50);
    read_some(&on, other, &other_at, 3, 5);
    g_assert_cmpuint(thrift2_fake_scanners(on.fakes[0]), ==, 1);
    read_some(&on, scan, &at, 3, 5);
    kw_range_scan_close(scan);
    BED_UNTIL(&on.bed, thrift2_fake_scanners(on.fakes[0]) <= 1);
    bed_run_loop(&on.bed, 50); /* another scanner would be closed now */
    g_assert_cmpuint(thrift2_fake_scanners(on.fakes[0]), ==, 1);
    read_all(&on, other, &other_at, 5);
    kw_range_scan_close(other);
    assert_no_scanners(&on);
    fixture_stop(&on);
}

/* --- scanners --------------------------------------------------------------------------------- */

KW_TEST(test_expired, "/hbase/range-scan/expired")
{
    fixture on;
    start(&on, 1);
    kw_range_scan *scan = open_range_scan(&on, "", "", true);
    reading at = {.next = ROWS - 1, .step = -1};
    while (!at.ended) {
        read_some(&on, scan, &at, 2, 16);
        thrift2_fake_expire_scanners(on.fakes[0]);
    }
    g_assert_cmpint(at.next, ==, -1);
    g_assert_cmpuint(calls(&on, KW_HB_THBaseService_openScanner), >, 5);
    kw_range_scan_close(scan);
    fixture_stop(&on);
}

KW_TEST(test_close_early, "/hbase/range-scan/close-early")
{
    fixture on;
    start(&on, 1);
    kw_range_scan *scan = open_range_scan(&on, "", "", false);
    reading at = {.step = 1};
    read_some(&on, scan, &at, 3, 5);
    g_assert_cmpuint(thrift2_fake_scanners(on.fakes[0]), ==, 1);
    kw_range_scan_close(scan);
    assert_no_scanners(&on);
    g_assert_cmpuint(calls(&on, KW_HB_THBaseService_closeScanner), ==, 1);
    fixture_stop(&on);
}

static void
never(void *user, kw_rows *rows, const kw_error *error)
{
    (void)user;
    (void)rows;
    (void)error;
    g_assert_not_reached();
}

/* A range scan is closed during a fetch: there is no callback, and its scanner is closed. */
static void
check_close_in_flight(kw_hb_method slow)
{
    fixture on;
    start(&on, 1);
    fixture_rule rule = {.method = slow, .count = 100, .answer = {.gate = 1}};
    kw_range_scan *scan = open_range_scan(&on, "", "", false);
    reading at = {.step = 1};
    read_some(&on, scan, &at, slow == KW_HB_THBaseService_getScannerResults ? 0 : 1, 5);
    if (slow == KW_HB_THBaseService_getScannerRows)
        read_some(&on, scan, &at, 1, 5);
    thrift2_fake_set_script(on.fakes[0], fixture_apply_rule, &rule);
    uint32_t before = calls(&on, slow);
    kw_range_scan_fetch(scan, 5, 1 << 20, true, kw_deadline_in_ms(60000), never, NULL);
    fixture_await_calls(&on, slow, before + 1);
    kw_range_scan_close(scan);
    thrift2_fake_open_gates(on.fakes[0], 1);
    bed_run_loop(&on.bed, 300);
    assert_no_scanners(&on);
    fixture_stop(&on);
}

KW_TEST(test_close_in_flight, "/hbase/range-scan/close-in-flight")
{
    check_close_in_flight(KW_HB_THBaseService_getScannerResults);
    check_close_in_flight(KW_HB_THBaseService_openScanner);
    check_close_in_flight(KW_HB_THBaseService_getScannerRows);
}

/* A range scan is closed before anything was sent. */
KW_TEST(test_close_queued, "/hbase/range-scan/close-queued")
{
    fixture on;
    kw_model_hbase settings = fixture_init(&on, 1, FRAMED_COMPACT);
    thrift2_fake_stop_listening(on.fakes[0]);
    fixture_open(&on, &settings);
    kw_range_scan *scan = open_range_scan(&on, "", "", false);
    kw_range_scan_fetch(scan, 5, 1 << 20, true, kw_deadline_in_ms(60000), never, NULL);
    kw_range_scan_close(scan);
    kw_range_scan_close(open_range_scan(&on, "", "", false));
    bed_run_loop(&on.bed, 50);
    fixture_stop(&on);
}

/* The deadline passes during a call on an open scanner: the range scan can continue later, and the scanner is
 * closed. */
static void
check_timeout(kw_hb_method slow)
{
    fixture on;
    start(&on, 1);
    fixture_rule rule = {.method = slow, .count = 100, .answer = {.gate = 1}};
    kw_range_scan *scan = open_range_scan(&on, "", "", false);
    reading at = {.step = 1};
    read_some(&on, scan, &at, 1, 5);
    thrift2_fake_set_script(on.fakes[0], fixture_apply_rule, &rule);
    uint32_t before = calls(&on, slow);
    answer got = {0};
    int64_t timeout_ms = 100;
    do { /* a slow machine may not send it in time */
        got = bed_fetch(&on.bed, scan, 5, 1 << 20, true, timeout_ms *= 2);
        g_assert_cmpint(got.error.code, ==, KW_TIMEOUT);
        bed_run_loop(&on.bed, 100);
    } while (calls(&on, slow) == before);
    thrift2_fake_open_gates(on.fakes[0], 1);
    read_all(&on, scan, &at, 50);
    g_assert_cmpint(at.next, ==, ROWS);
    kw_range_scan_close(scan);
    assert_no_scanners(&on);
    g_assert_cmpuint(calls(&on, KW_HB_THBaseService_openScanner), ==,
                     calls(&on, KW_HB_THBaseService_closeScanner));
    fixture_stop(&on);
}

KW_TEST(test_timeout, "/hbase/range-scan/timeout")
{
    check_timeout(KW_HB_THBaseService_openScanner);
    check_timeout(KW_HB_THBaseService_getScannerRows);
}

static _Atomic uint64_t stopped_ns;

static uint64_t
stopped_clock_ns(void)
{
    return stopped_ns;
}

/* Closing a store handle waits at most half a second for scanners. The clock is stopped during the test. */
KW_TEST(test_handle_closes_scanners, "/hbase/range-scan/handle-closes-scanners")
{
    fixture on;
    start(&on, 1);
    kw_range_scan *scan = open_range_scan(&on, "", "", false);
    reading at = {.step = 1};
    read_some(&on, scan, &at, 3, 5);
    kw_range_scan_close(scan);
    stopped_ns = kw_clock_mono_ns();
    kw_clock_inject(NULL, stopped_clock_ns);
    bed_close(&on.bed);
    kw_clock_inject(NULL, NULL);
    g_assert_cmpuint(thrift2_fake_scanners(on.fakes[0]), ==, 0);
    thrift2_fake_stop(on.fakes[0]);
}

/* --- answers ---------------------------------------------------------------------------------- */

static void
too_large(const fake_call *call, fake_answer *to, void *user)
{
    (void)user;
    int32_t rows = 0;
    if (call->method == KW_HB_THBaseService_getScannerResults)
        rows = ((const kw_hb_THBaseService_getScannerResults_args *)call->args)->numRows;
    if (call->method == KW_HB_THBaseService_getScannerRows)
        rows = ((const kw_hb_THBaseService_getScannerRows_args *)call->args)->numRows;
    if (rows > 10)
        to->frame_bytes = 100 * 1024 * 1024;
}

KW_TEST(test_too_large, "/hbase/range-scan/too-large")
{
    fixture on;
    start(&on, 1);
    thrift2_fake_set_script(on.fakes[0], too_large, NULL);
    kw_range_scan *scan = open_range_scan(&on, "k400", "", false);
    reading at = {.next = 400, .step = 1};
    read_all(&on, scan, &at, 50);
    g_assert_cmpint(at.next, ==, ROWS);
    kw_range_scan_close(scan);
    fixture_stop(&on);
}

/* A scan that allows it gets the keys of the rows above its limit, in their order. */
KW_TEST(test_large_rows_omitted, "/hbase/range-scan/large-rows-omitted")
{
    fixture on;
    start(&on, 1);
    g_autofree char *large = g_strnfill(5000, 'x');
    thrift2_fake_set_row(on.fakes[0], "k007", large);
    kw_range_scan_spec spec = {.table = KW_BYTES_LITERAL("t"), .max_row_bytes = 4000};
    for (int omit = 0; omit < 2; omit++) {
        spec.omit_large_rows = omit;
        kw_range_scan *scan = kw_store_handle_open_range_scan(on.bed.handle, &spec);
        answer got = bed_fetch(&on.bed, scan, 20, 1 << 20, true, 60000);
        if (!omit) {
            g_assert_cmpint(got.error.code, ==, KW_LIMIT);
        } else {
            g_assert_cmpuint(got.rows->count, ==, 20);
            g_assert_cmpuint(got.rows->bytes, <, 4000);
            for (size_t i = 0; i < 20; i++) {
                const kw_row *row = &got.rows->rows[i];
                g_assert_cmpint(row->omitted, ==, i == 7 ? KW_OMITTED_TOO_LARGE : KW_OMITTED_NOT);
                g_assert_cmpuint(row->cells_count, ==, i == 7 ? 0 : 1);
            }
        }
        answer_clear(&got);
        kw_range_scan_close(scan);
    }
    fixture_stop(&on);
}

KW_TEST(test_unknown_table, "/hbase/range-scan/unknown-table")
{
    fixture on;
    start(&on, 1);
    fixture_rule rule = {.method = KW_HB_THBaseService_getScannerResults, .count = 1, .io_message = "t"};
    thrift2_fake_set_script(on.fakes[0], fixture_apply_rule, &rule);
    kw_range_scan *scan = open_range_scan(&on, "", "", false);
    answer got = bed_fetch(&on.bed, scan, 5, 1 << 20, true, 60000);
    g_assert_cmpint(got.error.code, ==, KW_NOT_FOUND);
    g_assert_nonnull(strstr(got.error.text, "'t'"));
    reading at = {.step = 1};
    read_some(&on, scan, &at, 1, 5);
    rule.method = KW_HB_THBaseService_getScannerRows; /* with an open scanner, HBase reports the missing table
                                                         in this call */
    got = bed_fetch(&on.bed, scan, 5, 1 << 20, true, 60000);
    g_assert_cmpint(got.error.code, ==, KW_NOT_FOUND);
    kw_range_scan_close(scan);
    assert_no_scanners(&on);
    fixture_stop(&on);
}

/* Many range scans share few channels. */
KW_TEST(test_many_range_scans, "/hbase/range-scan/many-range-scans")
{
    enum { SCANS = 40 };
    fixture on;
    start(&on, 2);
    kw_range_scan *scans[SCANS];
    reading at[SCANS];
    for (int i = 0; i < SCANS; i++) {
        scans[i] = open_range_scan(&on, "", "", i % 2);
        at[i] = (reading){.next = i % 2 ? ROWS - 1 : 0, .step = i % 2 ? -1 : 1};
    }
    for (int round = 0; round < 20; round++) {
        answer got[SCANS] = {0};
        for (int i = 0; i < SCANS; i++)
            kw_range_scan_fetch(scans[i], 13, 1 << 20, true, kw_deadline_in_ms(120000), bed_on_rows, &got[i]);
        for (int i = 0; i < SCANS; i++) {
            bed_await(&on.bed, &got[i].done);
            check_rows(&at[i], got[i]);
        }
    }
    g_assert_cmpuint(thrift2_fake_connections(on.fakes[0]), <=, 2);
    for (int i = 0; i < SCANS; i++)
        kw_range_scan_close(scans[i]);
    assert_no_scanners(&on);
    fixture_stop(&on);
}
