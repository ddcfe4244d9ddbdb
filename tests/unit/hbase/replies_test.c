/* Calls with bad replies: out of step, truncated, an exception, an error of HBase. Which calls are sent
 * again, and what the caller gets. */
#include "fixture.h"

#include "base/metrics.h"

/* --- bad replies ------------------------------------------------------------------------------ */

/* Reads and stamped writes are sent again on a new connection; other writes may have been applied. */
static void
check_bad_reply(fake_answer bad, kw_wire_form form)
{
    fixture on;
    fixture_start(&on, 1, form);
    fixture_rule rule = {.count = 1, .answer = bad};
    thrift2_fake_set_row(on.fakes[0], "r", "v");
    thrift2_fake_set_script(on.fakes[0], fixture_apply_rule, &rule);
    rule.method = KW_HB_THBaseService_get;
    fixture_value(fixture_get(&on, "r", 60000), "v");
    g_assert_cmpuint(thrift2_fake_calls(on.fakes[0], KW_HB_THBaseService_get), ==, 2);
    rule.method = KW_HB_THBaseService_put;
    fixture_ok(fixture_put(&on, "stamped", 5, 60000));
    g_assert_cmpuint(thrift2_fake_writes(on.fakes[0], "stamped"), ==, bad.do_nothing ? 1 : 2);
    rule.count = 3;
    fixture_failed(fixture_put(&on, "unstamped", UNSTAMPED, 60000), KW_OUTCOME_UNKNOWN, KW_UNAVAILABLE);
    g_assert_cmpuint(thrift2_fake_writes(on.fakes[0], "unstamped"), ==, bad.do_nothing ? 0 : 1);
    rule.method = KW_HB_THBaseService_increment;
    fixture_failed(bed_increment(&on.bed, "t", "r", "n", 1), KW_OUTCOME_UNKNOWN, KW_UNAVAILABLE);
    g_assert_cmpuint(thrift2_fake_calls(on.fakes[0], KW_HB_THBaseService_increment), ==, 1);
    fixture_stop(&on);
}

KW_TEST(test_bad_replies, "/hbase/replies/bad-replies")
{
    static const fake_answer ways[] = {
        {.sequence_shift = 1},
        {.sequence_shift = -1},
        {.name = "exists"},
        {.cut = 1},
        {.cut = 6},
        {.kind = FAKE_CLOSE},
        {.kind = FAKE_CLOSE, .do_nothing = true},
    };
    for (size_t way = 0; way < G_N_ELEMENTS(ways); way++)
        for (size_t form = 0; form < G_N_ELEMENTS(fixture_forms); form++)
            check_bad_reply(ways[way], fixture_forms[form]);
}

static void
lose_then_refuse(const fake_call *call, fake_answer *to, void *user)
{
    (void)user;
    if (call->method != KW_HB_THBaseService_put)
        return;
    if (call->nth == 1)
        to->kind = FAKE_CLOSE;
    else
        to->result = fake_io_error(call, "t is disabled.", false);
}

/* The first attempt was applied and its reply lost. The rejection of the second one says nothing about the
 * first. */
KW_TEST(test_refused_when_sent_again, "/hbase/replies/refused-when-sent-again")
{
    fixture on;
    fixture_start(&on, 1, FRAMED_COMPACT);
    thrift2_fake_set_script(on.fakes[0], lose_then_refuse, NULL);
    fixture_failed(fixture_put(&on, "r", 5, 60000), KW_OUTCOME_UNKNOWN, KW_REFUSED);
    g_assert_cmpuint(thrift2_fake_calls(on.fakes[0], KW_HB_THBaseService_put), ==, 2);
    fixture_failed(fixture_put(&on, "s", 5, 60000), KW_OUTCOME_FAILED, KW_REFUSED);
    fixture_stop(&on);
}

/* A second reply to the same call must not become the reply to the next call. */
KW_TEST(test_reply_twice, "/hbase/replies/reply-twice")
{
    for (size_t i = 0; i < G_N_ELEMENTS(fixture_forms); i++) {
        fixture on;
        fixture_start(&on, 1, fixture_forms[i]);
        fixture_rule rule = {.method = KW_HB_THBaseService_get, .count = 1, .answer = {.twice = true}};
        thrift2_fake_set_row(on.fakes[0], "a", "1");
        thrift2_fake_set_row(on.fakes[0], "b", "2");
        thrift2_fake_set_script(on.fakes[0], fixture_apply_rule, &rule);
        fixture_value(fixture_get(&on, "a", 60000), "1");
        fixture_value(fixture_get(&on, "b", 60000), "2");
        fixture_value(fixture_get(&on, "a", 60000), "1");
        g_assert_cmpuint(thrift2_fake_connections(on.fakes[0]), >=, 2);
        fixture_stop(&on);
    }
}

KW_TEST(test_huge_reply, "/hbase/replies/huge-reply")
{
    fixture on;
    fixture_start(&on, 1, FRAMED_COMPACT);
    fixture_rule rule = {.method = KW_HB_THBaseService_get, .count = 1, .answer = {.frame_bytes = 1U << 30}};
    thrift2_fake_set_script(on.fakes[0], fixture_apply_rule, &rule);
    fixture_failed(fixture_get(&on, "r", 60000), 0, KW_LIMIT);
    rule.count = 0;
    fixture_ok(fixture_put(&on, "r", 1, 60000));
    fixture_stop(&on);
}

/* --- exceptions of Thrift --------------------------------------------------------------------- */

static uint32_t
connections_after(kw_wire_exception_type type, kw_code code, bool unknown)
{
    fixture on;
    kw_model_hbase settings = fixture_init(&on, 1, BUFFERED_BINARY);
    settings.channels = 1;
    fixture_open(&on, &settings);
    bed_await_ready(&on.bed);
    fixture_rule rule = {
        .method = KW_HB_THBaseService_put,
        .count = 1,
        .answer = {.kind = FAKE_EXCEPTION, .exception = type, .text = "org.apache.X: no\n\tat y"}};
    thrift2_fake_set_script(on.fakes[0], fixture_apply_rule, &rule);
    fixture_failed(fixture_put(&on, "r", 1, 60000), unknown ? KW_OUTCOME_UNKNOWN : KW_OUTCOME_FAILED, code);
    g_assert_cmpuint(thrift2_fake_calls(on.fakes[0], KW_HB_THBaseService_put), ==, 1);
    fixture_ok(fixture_put(&on, "r", 1, 60000));
    uint32_t connections = thrift2_fake_connections(on.fakes[0]);
    fixture_stop(&on);
    return connections;
}

KW_TEST(test_exceptions, "/hbase/replies/exceptions")
{
    g_assert_cmpuint(connections_after(KW_WIRE_EXCEPTION_INTERNAL_ERROR, KW_REFUSED, true), ==, 1);
    g_assert_cmpuint(connections_after(KW_WIRE_EXCEPTION_UNKNOWN_METHOD, KW_REFUSED, false), ==, 1);
    g_assert_cmpuint(connections_after(KW_WIRE_EXCEPTION_PROTOCOL_ERROR, KW_INTERNAL, false), ==, 2);
}

KW_TEST(test_bad_filter, "/hbase/replies/bad-filter")
{
    fixture on;
    fixture_start(&on, 1, BUFFERED_BINARY);
    fixture_rule rule = {.method = KW_HB_THBaseService_get,
                         .count = 10,
                         .answer = {.kind = FAKE_EXCEPTION, .exception = KW_WIRE_EXCEPTION_INTERNAL_ERROR}};
    thrift2_fake_set_script(on.fakes[0], fixture_apply_rule, &rule);
    kw_get filtered = {.table = KW_BYTES_LITERAL("t"),
                       .row = KW_BYTES_LITERAL("r"),
                       .filter = KW_BYTES_LITERAL("ValueFilter(=, 'regexstring:\\p{javaNo}')"),
                       .deadline = kw_deadline_in_ms(60000)};
    answer got = bed_get_full(&on.bed, &filtered);
    g_assert_nonnull(strstr(got.error.text, "javaNo"));
    fixture_failed(got, 0, KW_INVALID);
    fixture_failed(fixture_get(&on, "r", 60000), 0, KW_REFUSED);
    fixture_stop(&on);
}

/* --- errors of HBase -------------------------------------------------------------------------- */

KW_TEST(test_temporary_failure_is_retried, "/hbase/replies/temporary-failure-is-retried")
{
    fixture on;
    fixture_start(&on, 1, FRAMED_COMPACT);
    fixture_rule rule = {
        .method = KW_HB_THBaseService_get, .count = 2, .io_message = "region moved", .io_can_retry = true};
    thrift2_fake_set_row(on.fakes[0], "r", "v");
    thrift2_fake_set_script(on.fakes[0], fixture_apply_rule, &rule);
    fixture_value(fixture_get(&on, "r", 60000), "v");
    g_assert_cmpuint(thrift2_fake_calls(on.fakes[0], KW_HB_THBaseService_get), ==, 3);
    rule.method = KW_HB_THBaseService_put;
    fixture_ok(fixture_put(&on, "s", 1, 60000));
    rule.count = 4;
    fixture_failed(fixture_put(&on, "u", UNSTAMPED, 60000), KW_OUTCOME_UNKNOWN, KW_UNAVAILABLE);
    g_assert_cmpuint(thrift2_fake_calls(on.fakes[0], KW_HB_THBaseService_put), ==, 4);
    rule.count = 100;
    rule.io_can_retry = false;
    fixture_failed(fixture_put(&on, "s", 1, 60000), KW_OUTCOME_FAILED, KW_REFUSED);
    g_assert_cmpuint(thrift2_fake_calls(on.fakes[0], KW_HB_THBaseService_put), ==, 5);
    fixture_stop(&on);
}

/* If all calls fail, the number of retries is limited by the saved budget and a fifth of the calls. (Gets
 * with an unsafe filter are sent alone.) */
KW_TEST(test_retry_budget, "/hbase/replies/retry-budget")
{
    fixture on;
    fixture_start(&on, 1, FRAMED_COMPACT);
    fixture_rule rule = {
        .method = KW_HB_THBaseService_get, .count = UINT32_MAX, .io_message = "no", .io_can_retry = true};
    thrift2_fake_set_script(on.fakes[0], fixture_apply_rule, &rule);
    enum { CALLS = 300 };
    answer got[CALLS] = {0};
    kw_get gets[CALLS];
    for (int i = 0; i < CALLS; i++) {
        gets[i] = (kw_get){.table = KW_BYTES_LITERAL("t"),
                           .row = KW_BYTES_LITERAL("r"),
                           .filter = KW_BYTES_LITERAL("KeyOnlyFilter ()"),
                           .deadline = kw_deadline_in_ms(120000)};
        kw_store_handle_get(on.bed.handle, &gets[i], bed_on_rows, &got[i]);
    }
    for (int i = 0; i < CALLS; i++) {
        bed_await(&on.bed, &got[i].done);
        fixture_failed(got[i], 0, KW_UNAVAILABLE);
    }
    uint32_t sent = thrift2_fake_calls(on.fakes[0], KW_HB_THBaseService_get);
    g_assert_cmpuint(sent, >, CALLS);
    g_assert_cmpuint(sent, <=, CALLS + 50 + CALLS / 5 + 2);
    fixture_stop(&on);
}

/* --- metrics ---------------------------------------------------------------------------------- */

static const kw_metric kinds[] = {KW_METRIC_store_calls, KW_METRIC_store_calls_read,
                                  KW_METRIC_store_calls_write, KW_METRIC_store_calls_scan};

/* Checks the counts since `before`, and sets `before` to the present counts. */
static void
check_counted(int64_t before[4], int64_t all, int64_t reads, int64_t writes, int64_t scans)
{
    const int64_t wanted[4] = {all, reads, writes, scans};
    for (size_t i = 0; i < G_N_ELEMENTS(kinds); i++) {
        g_assert_cmpint(kw_metrics_read(kinds[i]) - before[i], ==, wanted[i]);
        before[i] = kw_metrics_read(kinds[i]);
    }
}

/* Every sent call counts once, a call sent again counts again, and pings do not count. */
KW_TEST(test_calls_are_counted, "/hbase/replies/calls-are-counted")
{
    fixture on;
    int64_t before[4];
    kw_model_hbase settings = fixture_init(&on, 1, FRAMED_COMPACT);
    fixture_open_quiet(&on, &settings);
    bed_await_ready(&on.bed);
    thrift2_fake_set_row(on.fakes[0], "r", "v");
    for (size_t i = 0; i < G_N_ELEMENTS(kinds); i++)
        before[i] = kw_metrics_read(kinds[i]);
    fixture_ok(fixture_put(&on, "r", 5, 60000));
    check_counted(before, 1, 0, 1, 0);
    fixture_rule rule = {.method = KW_HB_THBaseService_get, .count = 1, .answer = {.kind = FAKE_CLOSE}};
    thrift2_fake_set_script(on.fakes[0], fixture_apply_rule, &rule);
    fixture_value(fixture_get(&on, "r", 60000), "v");
    check_counted(before, 2, 2, 0, 0);
    kw_range_scan_spec spec = {.table = KW_BYTES_LITERAL("t")};
    kw_range_scan *scan = kw_store_handle_open_range_scan(on.bed.handle, &spec);
    answer got = bed_fetch(&on.bed, scan, 10, 1 << 20, false, 60000);
    g_assert_cmpuint(got.rows->count, ==, 1);
    answer_clear(&got);
    kw_range_scan_close(scan);
    check_counted(before, 1, 0, 0, 1);
    got = bed_describe(&on.bed, "t");
    g_assert_cmpint(kw_metrics_read(KW_METRIC_store_calls), >, before[0]);
    answer_clear(&got);
    g_assert_cmpint(kw_metrics_read(KW_METRIC_store_calls_read), ==, before[1]);
    fixture_stop(&on);
}
