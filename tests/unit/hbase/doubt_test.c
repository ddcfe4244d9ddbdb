/* kw_store_last_doubt_ns: set when the store can still apply a write that is no longer waited for, also if it
 * was sent again and the second attempt was answered. */
#include "fixture.h"

static void
start_with(fixture *on, fixture_rule *rule)
{
    fixture_start(on, 1, FRAMED_COMPACT);
    thrift2_fake_set_script(on->fakes[0], fixture_apply_rule, rule);
    g_assert_cmpuint(kw_store_last_doubt_ns(on->bed.store), ==, 0);
}

static void
assert_doubt(const fixture *on, uint64_t since_ns)
{
    uint64_t doubt_ns = kw_store_last_doubt_ns(on->bed.store);
    g_assert_cmpuint(doubt_ns, >=, since_ns);
    g_assert_cmpuint(doubt_ns, <=, kw_clock_boot_ns());
}

KW_TEST(test_none, "/hbase/doubt/none")
{
    fixture on;
    fixture_rule rule = {.method = KW_HB_THBaseService_get, .count = 1, .answer.kind = FAKE_CLOSE};
    start_with(&on, &rule);
    fixture_ok(fixture_put(&on, "a", UNSTAMPED, 60000));
    fixture_value(fixture_get(&on, "a", 60000), "v"); /* a read in doubt changes nothing */
    g_assert_cmpuint(kw_store_last_doubt_ns(on.bed.store), ==, 0);
    fixture_stop(&on);
}

KW_TEST(test_lost, "/hbase/doubt/lost")
{
    fixture on;
    fixture_rule rule = {.method = KW_HB_THBaseService_put, .count = 1, .answer.kind = FAKE_CLOSE};
    start_with(&on, &rule);
    uint64_t since_ns = kw_clock_boot_ns();
    fixture_failed(fixture_put(&on, "a", UNSTAMPED, 60000), KW_OUTCOME_UNKNOWN, KW_UNAVAILABLE);
    assert_doubt(&on, since_ns);
    fixture_stop(&on);
}

KW_TEST(test_sent_again, "/hbase/doubt/sent-again")
{
    fixture on;
    fixture_rule rule = {.method = KW_HB_THBaseService_put, .count = 1, .answer.kind = FAKE_CLOSE};
    start_with(&on, &rule);
    uint64_t since_ns = kw_clock_boot_ns();
    fixture_ok(fixture_put(&on, "a", 1700000000000, 60000));
    assert_doubt(&on, since_ns);
    fixture_stop(&on);
}

KW_TEST(test_deadline, "/hbase/doubt/deadline")
{
    fixture on;
    fixture_rule rule = {.method = KW_HB_THBaseService_put, .count = 1, .answer.kind = FAKE_SILENCE};
    start_with(&on, &rule);
    uint64_t since_ns = kw_clock_boot_ns();
    fixture_put_times_out(&on, "a", UNSTAMPED, 300);
    assert_doubt(&on, since_ns);
    fixture_stop(&on);
}

/* A rejection is certain. */
KW_TEST(test_rejected, "/hbase/doubt/rejected")
{
    fixture on;
    fixture_rule rule = {.method = KW_HB_THBaseService_put,
                         .count = 1,
                         .answer.do_nothing = true,
                         .io_message = "org.apache.hadoop.hbase.regionserver.NoSuchColumnFamilyException: x"};
    start_with(&on, &rule);
    fixture_failed(fixture_put(&on, "a", UNSTAMPED, 60000), KW_OUTCOME_FAILED, KW_INVALID);
    g_assert_cmpuint(kw_store_last_doubt_ns(on.bed.store), ==, 0);
    fixture_stop(&on);
}

/* The store rejects a multi-call of puts without saying which of them it has applied. */
KW_TEST(test_rejected_many, "/hbase/doubt/rejected-many")
{
    enum { PUTS = 2 };
    fixture on;
    bed_cell_write writes[PUTS];
    const kw_write *list[PUTS];
    kw_written results[PUTS];
    static const kw_ordering ordering = {.family = {(const uint8_t *)"f", 1}};
    fixture_rule rule = {.method = KW_HB_THBaseService_putMultiple,
                         .count = 1,
                         .answer.do_nothing = true,
                         .io_message = "org.apache.hadoop.hbase.DoNotRetryIOException: x"};
    start_with(&on, &rule);
    for (size_t i = 0; i < PUTS; i++) {
        bed_cell_write_init(&writes[i], "t", i ? "b" : "a", "f", "v", UNSTAMPED);
        writes[i].write.ordering = &ordering;
        list[i] = &writes[i].write;
    }
    /* Until the families of the table are known, each put is sent in a call of its own. */
    while (thrift2_fake_calls(on.fakes[0], KW_HB_THBaseService_putMultiple) == 0) {
        bool done = false;
        kw_store_handle_write_many(on.bed.handle, list, PUTS, results, bed_on_done, &done);
        bed_await(&on.bed, &done);
    }
    for (size_t i = 0; i < PUTS; i++)
        g_assert_cmpint(results[i].outcome, ==, KW_OUTCOME_UNKNOWN);
    assert_doubt(&on, 1);
    fixture_stop(&on);
}

/* The deadline of one write of a batch passes before that of the call that it is sent in. The call is
 * answered later, so only the write itself is in doubt. */
static void
put_at_gate(const fake_call *call, fake_answer *to, void *user)
{
    (void)user;
    bool puts = call->method == KW_HB_THBaseService_put || call->method == KW_HB_THBaseService_putMultiple;
    to->gate = puts ? 1 : 0;
}

KW_TEST(test_deadline_in_batch, "/hbase/doubt/deadline-in-batch")
{
    enum { PUTS = 300, FIRST = 100 }; /* the first puts fill the channels */
    fixture on;
    g_autofree bed_cell_write *writes = g_new0(bed_cell_write, PUTS);
    g_autofree answer *answers = g_new0(answer, PUTS);
    char rows[PUTS][8];
    fixture_start(&on, 1, FRAMED_COMPACT);
    thrift2_fake_set_script(on.fakes[0], put_at_gate, NULL);
    for (size_t i = 0; i < PUTS; i++) {
        g_snprintf(rows[i], sizeof rows[i], "p%zu", i);
        bed_cell_write_init(&writes[i], "t", rows[i], "f", "v", 1700000000000);
        writes[i].write.deadline = kw_deadline_in_ms(i < FIRST || i % 2 ? 60000 : 500);
        kw_store_handle_write(on.bed.handle, &writes[i].write, bed_on_write, &answers[i]);
    }
    size_t unknown = 0;
    for (size_t i = FIRST; i < PUTS; i += 2)
        bed_await(&on.bed, &answers[i].done);
    for (size_t i = FIRST; i < PUTS; i += 2)
        unknown += answers[i].outcome == KW_OUTCOME_UNKNOWN;
    g_assert_cmpuint(unknown, >, 0);
    assert_doubt(&on, 1);
    thrift2_fake_open_gates(on.fakes[0], 1);
    for (size_t i = 0; i < PUTS; i++)
        bed_await(&on.bed, &answers[i].done);
    fixture_stop(&on);
}
