/* Shared calls, counted by thrift2_fake: single calls that wait are sent in multi-calls, equal gets share
 * one, a get never joins one that was sent, and writes to one row keep their order. */
#include "fixture.h"
#include "store/order/order.h"

#include <stdio.h>

#define MANY 1000

/* --- shared calls ----------------------------------------------------------------------------- */

static kw_get
get_of(const char *row)
{
    return (kw_get){
        .table = KW_BYTES_LITERAL("t"), .row = kw_bytes_of_text(row), .deadline = kw_deadline_in_ms(60000)};
}

static uint32_t
reads(const fixture *on)
{
    return thrift2_fake_calls(on->fakes[0], KW_HB_THBaseService_get) +
           thrift2_fake_calls(on->fakes[0], KW_HB_THBaseService_getMultiple);
}

KW_TEST(test_hot_key, "/hbase/sharing/hot-key")
{
    fixture on;
    g_autofree answer *answers = g_new0(answer, MANY);
    fixture_start(&on, 1, FRAMED_COMPACT);
    thrift2_fake_set_row(on.fakes[0], "hot", "v");
    kw_get get = get_of("hot");
    for (size_t i = 0; i < MANY; i++)
        kw_store_handle_get(on.bed.handle, &get, bed_on_rows, &answers[i]);
    for (size_t i = 0; i < MANY; i++) {
        bed_await(&on.bed, &answers[i].done);
        fixture_value(answers[i], "v");
    }
    g_test_message("%u calls for %d equal gets", reads(&on), MANY);
    g_assert_cmpuint(reads(&on), <=, 8);
    fixture_stop(&on);
}

/* Gets with different columns, versions or rows are not equal. */
KW_TEST(test_not_equal, "/hbase/sharing/not-equal")
{
    enum { KINDS = 4 };
    fixture on;
    kw_column column = {.family = KW_BYTES_LITERAL("f"), .qualifier = KW_BYTES_LITERAL("q")};
    answer answers[KINDS] = {0};
    fixture_start(&on, 1, FRAMED_COMPACT);
    thrift2_fake_set_row(on.fakes[0], "hot", "v");
    kw_get gets[KINDS] = {get_of("hot"), get_of("hot"), get_of("hot"), get_of("other")};
    gets[1].columns = &column;
    gets[1].columns_count = 1;
    gets[2].max_versions = 3;
    for (size_t i = 0; i < KINDS; i++)
        kw_store_handle_get(on.bed.handle, &gets[i], bed_on_rows, &answers[i]);
    for (size_t i = 0; i < KINDS; i++) {
        bed_await(&on.bed, &answers[i].done);
        g_assert_true(kw_bytes_equal(answers[i].rows->rows[0].key, gets[i].row));
        g_assert_cmpuint(answers[i].rows->rows[0].cells_count, ==, i < 3 ? 1 : 0);
        answer_clear(&answers[i]);
    }
    uint32_t items = thrift2_fake_items(on.fakes[0], KW_HB_THBaseService_get) +
                     thrift2_fake_items(on.fakes[0], KW_HB_THBaseService_getMultiple);
    g_assert_cmpuint(items, ==, KINDS);
    fixture_stop(&on);
}

/* The first get was answered but its reply is not sent yet; in the meantime the row is written. A get that
 * begins after the write was acknowledged must return the new value. */
static void
first_get_at_gate(const fake_call *call, fake_answer *to, void *user)
{
    bool first = call->nth == 1 &&
                 (call->method == KW_HB_THBaseService_get || call->method == KW_HB_THBaseService_getMultiple);
    (void)user;
    if (first)
        to->gate = 1;
}

KW_TEST(test_never_joins_sent_get, "/hbase/sharing/never-joins-sent-get")
{
    fixture on;
    answer old = {0}, fresh = {0};
    fixture_start(&on, 1, FRAMED_COMPACT);
    thrift2_fake_set_row(on.fakes[0], "r", "old");
    thrift2_fake_set_script(on.fakes[0], first_get_at_gate, NULL);
    kw_get get = get_of("r");
    kw_store_handle_get(on.bed.handle, &get, bed_on_rows, &old);
    BED_UNTIL(&on.bed, reads(&on) > 0);
    g_assert_cmpuint(reads(&on), ==, 1);
    fixture_ok(bed_put(&on.bed, "t", "r", "f", "q", "new", 1800000000000, 60000));
    g_assert_false(old.done);
    kw_store_handle_get(on.bed.handle, &get, bed_on_rows, &fresh);
    bed_await(&on.bed, &fresh.done);
    fixture_value(fresh, "new");
    thrift2_fake_open_gates(on.fakes[0], 1);
    bed_await(&on.bed, &old.done);
    fixture_value(old, "old");
    fixture_stop(&on);
}

static uint32_t
put_calls(const fixture *on)
{
    return thrift2_fake_calls(on->fakes[0], KW_HB_THBaseService_put) +
           thrift2_fake_calls(on->fakes[0], KW_HB_THBaseService_putMultiple);
}

/* A thousand puts at once use few connections and few calls. */
KW_TEST(test_puts_share, "/hbase/sharing/puts-share")
{
    fixture on;
    g_autofree bed_cell_write *writes = g_new0(bed_cell_write, MANY);
    g_autofree answer *answers = g_new0(answer, MANY);
    g_autofree char *rows = g_malloc0(MANY * 8);
    fixture_start(&on, 1, FRAMED_COMPACT);
    for (size_t i = 0; i < MANY; i++) {
        snprintf(rows + i * 8, 8, "p%zu", i);
        bed_cell_write_init(&writes[i], "t", rows + i * 8, "f", "v", 1700000000000);
        kw_store_handle_write(on.bed.handle, &writes[i].write, bed_on_write, &answers[i]);
    }
    for (size_t i = 0; i < MANY; i++) {
        bed_await(&on.bed, &answers[i].done);
        g_assert_cmpint(answers[i].outcome, ==, KW_OUTCOME_OK);
        g_assert_cmpuint(thrift2_fake_writes(on.fakes[0], rows + i * 8), ==, 1);
    }
    uint32_t calls = put_calls(&on);
    g_test_message("%u calls for %d puts", calls, MANY);
    g_assert_cmpuint(calls, <=, MANY / 8);
    g_assert_cmpuint(thrift2_fake_connections(on.fakes[0]), <=, 32);
    fixture_stop(&on);
}

/* The same with store/order, where the gateway assigns the timestamps. */
KW_TEST(test_stamped_puts_share, "/hbase/sharing/stamped-puts-share")
{
    static const kw_ordering stamped = {.regime.order = KW_WRITE_ORDER_STAMP,
                                        .family = {(const uint8_t *)"f", 1}};
    static const kw_order_settings settings = {
        .clock_width_ms = 10000, .max_clock_skew_ms = 20, .late_ms = 1000};
    fixture on;
    bool closed = false;
    g_autofree bed_cell_write *writes = g_new0(bed_cell_write, MANY);
    g_autofree answer *answers = g_new0(answer, MANY);
    g_autofree char *rows = g_malloc0(MANY * 8);
    fixture_start(&on, 1, FRAMED_COMPACT);
    on.bed.store = kw_order_store_new(on.bed.store, &settings);
    kw_store_handle *handle = kw_store_open_handle(on.bed.store, on.bed.loop);
    for (size_t i = 0; i < MANY; i++) {
        snprintf(rows + i * 8, 8, "p%zu", i);
        bed_cell_write_init(&writes[i], "t", rows + i * 8, "f", "v", KW_TIMESTAMP_NONE);
        writes[i].write.ordering = &stamped;
    }
    /* Waits until the clock and the families of the table are known. */
    for (kw_deadline end = kw_deadline_in_ms(60000); !kw_deadline_passed(end); bed_run_loop(&on.bed, 2)) {
        answer first = {0};
        kw_store_handle_write(handle, &writes[0].write, bed_on_write, &first);
        bed_await(&on.bed, &first.done);
        if (first.outcome == KW_OUTCOME_OK)
            break;
    }
    uint32_t before = put_calls(&on);
    for (size_t i = 0; i < MANY; i++)
        kw_store_handle_write(handle, &writes[i].write, bed_on_write, &answers[i]);
    for (size_t i = 0; i < MANY; i++) {
        bed_await(&on.bed, &answers[i].done);
        g_assert_cmpint(answers[i].outcome, ==, KW_OUTCOME_OK);
    }
    uint32_t calls = put_calls(&on) - before;
    g_test_message("%u calls for %d puts", calls, MANY);
    g_assert_cmpuint(calls, <=, MANY / 8);
    kw_store_handle_close(handle, bed_on_done, &closed);
    bed_await(&on.bed, &closed);
    fixture_stop(&on);
}

/* A single caller never waits for a batch. */
KW_TEST(test_alone, "/hbase/sharing/alone")
{
    fixture on;
    fixture_start(&on, 1, FRAMED_COMPACT);
    for (int i = 0; i < 20; i++)
        fixture_ok(fixture_put(&on, "r", 1700000000000 + i, 60000));
    g_assert_cmpuint(thrift2_fake_items(on.fakes[0], KW_HB_THBaseService_put) +
                         thrift2_fake_items(on.fakes[0], KW_HB_THBaseService_putMultiple),
                     ==, 20);
    fixture_stop(&on);
}

/* --- order ------------------------------------------------------------------------------------ */

/* Writes to one row that wait at the same time are applied in the order in which they were started. */
KW_TEST(test_order, "/hbase/sharing/order")
{
    enum { WRITES = 62, ROWS = 5 }; /* the last is a put */
    fixture on;
    bed_cell_write writes[ROWS][WRITES];
    answer answers[ROWS][WRITES] = {0};
    char rows[ROWS][8], values[WRITES][8];
    kw_model_hbase settings = fixture_init(&on, 1, FRAMED_COMPACT);
    settings.channels = 8;
    fixture_open(&on, &settings);
    bed_await_ready(&on.bed);
    for (size_t i = 0; i < WRITES; i++) {
        snprintf(values[i], sizeof values[i], "%zu", i);
        for (size_t row = 0; row < ROWS; row++) {
            snprintf(rows[row], sizeof rows[row], "o%zu", row);
            bed_cell_write_init(&writes[row][i], "t", rows[row], "f", values[i], 1700000000000);
            if (i % 7 == 3)
                writes[row][i].write.kind = KW_WRITE_DELETE;
            kw_store_handle_write(on.bed.handle, &writes[row][i].write, bed_on_write, &answers[row][i]);
        }
        if (i % 10 == 0)
            bed_run_loop(&on.bed, 2); /* some are sent when the next ones start */
    }
    for (size_t row = 0; row < ROWS; row++) {
        for (size_t i = 0; i < WRITES; i++) {
            bed_await(&on.bed, &answers[row][i].done);
            g_assert_cmpint(answers[row][i].outcome, ==, KW_OUTCOME_OK);
        }
        fixture_value(bed_get(&on.bed, "t", rows[row], 60000), "61");
    }
    fixture_stop(&on);
}
