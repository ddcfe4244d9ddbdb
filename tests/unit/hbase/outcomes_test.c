/* Each caller gets its own, correct outcome when operations are sent in batches: many calls at once, against
 * thrift2_fake. Acknowledged writes are applied, UNKNOWN is only reported if the write may have been applied,
 * and a failure of one operation does not affect the others. */
#include "fixture.h"

#include <stdatomic.h>
#include <stdio.h>

/* --- the lease has expired --------------------------------------------------------------------- */

/* The last write is not fenced; the others are sent together. */
static void
write_three(fixture *on, const char *const *rows, uint64_t era, bool open)
{
    bed_cell_write writes[3];
    answer answers[3] = {{0}};
    for (size_t i = 0; i < 3; i++) {
        bed_cell_write_init(&writes[i], "t", rows[i], "f", "v", 1700000000000 + open);
        writes[i].write.fenced = i < 2;
        writes[i].write.era = i < 2 ? era : 0;
        kw_store_handle_write(on->bed.handle, &writes[i].write, bed_on_write, &answers[i]);
        for (size_t j = 0; i > 0 && j <= i; j++)
            bed_await(&on->bed, &answers[j].done);
    }
    for (size_t i = 0; i < 3; i++) {
        bool sent = open || i == 2;
        g_assert_cmpint(answers[i].outcome, ==, sent ? KW_OUTCOME_OK : KW_OUTCOME_FAILED);
        g_assert_cmpuint(thrift2_fake_writes(on->fakes[0], rows[i]), ==, (uint64_t)(i == 2) + open);
        if (!sent)
            g_assert_cmpint(answers[i].error.code, ==, KW_UNAVAILABLE);
        answer_clear(&answers[i]);
    }
}

/* Fenced writes are not sent while the fence is shut; nor are those of calls that began before it was shut,
 * when it is open again. */
KW_TEST(test_shut_fence, "/hbase/outcomes/shut-fence")
{
    static const char *const rows[] = {"fenced1", "fenced2", "free"};
    static const char *const again[] = {"fenced3", "fenced4", "free2"};
    fixture on;
    kw_fence fence = {0};
    fixture_start(&on, 1, FRAMED_COMPACT);
    kw_store_set_fence(on.bed.store, &fence);
    write_three(&on, rows, 0, false);
    kw_fence_shut(&fence);
    kw_fence_open_until(&fence, UINT64_MAX);
    write_three(&on, again, 0, false);
    write_three(&on, rows, kw_fence_era(&fence), true);
    kw_store_set_fence(on.bed.store, NULL);
    fixture_stop(&on);
}

/* --- a server fails during the calls ---------------------------------------------------------- */

#define MANY 200

static int64_t last_stamp = 1700000000000;

typedef struct many_puts {
    bed_cell_write writes[MANY];
    char rows[MANY][16];
    answer answers[MANY];
} many_puts;

/* All puts have the same deadline. If the deadlines of two puts in one batch were different, the put with the
 * earlier one could be UNKNOWN although the batch is still to be sent. */
static void
many_puts_start(many_puts *all, fixture *on, const char *prefix, int64_t timeout_ms, size_t at_once)
{
    kw_deadline deadline = kw_deadline_in_ms(timeout_ms);
    for (size_t i = 0; i < MANY; i++) {
        snprintf(all->rows[i], sizeof all->rows[i], "%s%03zu", prefix, i);
        bed_cell_write_init(&all->writes[i], "t", all->rows[i], "f", "v", ++last_stamp);
        all->writes[i].write.deadline = deadline;
        all->answers[i] = (answer){0};
        kw_store_handle_write(on->bed.handle, &all->writes[i].write, bed_on_write, &all->answers[i]);
        if (i % at_once == at_once - 1)
            bed_run_loop(&on->bed, 1); /* so that there are several batches */
    }
}

static void
many_puts_await(many_puts *all, fixture *on)
{
    for (size_t i = 0; i < MANY; i++)
        bed_await(&on->bed, &all->answers[i].done);
}

/* Fails from the third call on: applied calls stay applied, replies are lost. */
static void
die_at_third(const fake_call *call, fake_answer *to, void *user)
{
    _Atomic unsigned *seen = user;
    if (call->method == KW_HB_THBaseService_getAllRegionLocations)
        return;
    unsigned number = atomic_fetch_add(seen, 1) + 1;
    if (number >= 3) {
        to->kind = FAKE_CLOSE;
        to->do_nothing = number % 2 == 0;
    }
}

KW_TEST(test_server_dies, "/hbase/outcomes/server-dies")
{
    fixture on;
    many_puts *all = g_new0(many_puts, 1);
    _Atomic unsigned seen = 0;
    unsigned outcomes[3] = {0};
    fixture_start(&on, 1, FRAMED_COMPACT);
    thrift2_fake_set_script(on.fakes[0], die_at_third, &seen);
    many_puts_start(all, &on, "d", 1500, 20);
    many_puts_await(all, &on);
    thrift2_fake_set_script(on.fakes[0], NULL, NULL);
    for (size_t i = 0; i < MANY; i++) {
        const answer *got = &all->answers[i];
        uint32_t writes = thrift2_fake_writes(on.fakes[0], all->rows[i]);
        outcomes[got->outcome]++;
        if (got->outcome == KW_OUTCOME_OK)
            g_assert_cmpuint(writes, >, 0);
        if (got->outcome == KW_OUTCOME_FAILED)
            g_assert_cmpuint(writes, ==, 0);
        g_assert_cmpint(got->error.maybe_applied, ==, got->outcome == KW_OUTCOME_UNKNOWN);
    }
    g_test_message("%u ok, %u failed, %u unknown", outcomes[0], outcomes[1], outcomes[2]);
    g_assert_cmpuint(outcomes[KW_OUTCOME_OK], <, MANY);
    many_puts_start(all, &on, "e", 60000, MANY); /* the server works again */
    many_puts_await(all, &on);
    for (size_t i = 0; i < MANY; i++)
        g_assert_cmpint(all->answers[i].outcome, ==, KW_OUTCOME_OK);
    g_free(all);
    fixture_stop(&on);
}

/* Nothing can have been sent to a server that rejects connections: FAILED, not UNKNOWN. */
KW_TEST(test_server_absent, "/hbase/outcomes/server-absent")
{
    fixture on;
    many_puts *all = g_new0(many_puts, 1);
    fixture_start(&on, 1, FRAMED_COMPACT);
    thrift2_fake_stop_listening(on.fakes[0]);
    bed_run_loop(&on.bed, 100);
    many_puts_start(all, &on, "a", 400, MANY);
    many_puts_await(all, &on);
    for (size_t i = 0; i < MANY; i++)
        g_assert_cmpint(all->answers[i].outcome, ==, KW_OUTCOME_FAILED);
    thrift2_fake_listen(on.fakes[0]);
    g_free(all);
    fixture_stop(&on);
}

/* --- one bad operation among good ones -------------------------------------------------------- */

static bool
is_bad(const kw_hb_TPut *put)
{
    return kw_bytes_equal(put->columnValues.items[0].family, KW_BYTES_LITERAL("bad"));
}

/* As HBase does: puts to family "bad" fail the whole call, but the others are applied. */
static void
bad_family(const fake_call *call, fake_answer *to, void *user)
{
    const kw_hb_THBaseService_putMultiple_args *many = call->args;
    const kw_hb_THBaseService_put_args *one = call->args;
    bool bad = call->method == KW_HB_THBaseService_put && is_bad(one->tput);
    (void)user;
    for (uint32_t i = 0; call->method == KW_HB_THBaseService_putMultiple && i < many->tputs.count; i++)
        bad = bad || is_bad(&many->tputs.items[i]);
    if (bad)
        to->result = fake_io_error(call,
                                   "org.apache.hadoop.hbase.regionserver.NoSuchColumnFamilyException: Column "
                                   "family bad does not exist in region x\n\tat y",
                                   call->method == KW_HB_THBaseService_putMultiple);
}

/* Puts to a bad family and an oversized put at the same time as good ones. */
KW_TEST(test_bad_among_good, "/hbase/outcomes/bad-among-good")
{
    fixture on;
    many_puts *all = g_new0(many_puts, 1);
    g_autofree char *large = g_strnfill(3 * 1024 * 1024, 'x');
    bed_cell_write huge, bad[3];
    answer huge_answer = {0}, bad_answers[3] = {0};
    fixture_start(&on, 1, FRAMED_COMPACT);
    thrift2_fake_set_script(on.fakes[0], bad_family, NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
        bed_cell_write_init(&bad[i], "t", "bad-row", "bad", "v", 5);
        kw_store_handle_write(on.bed.handle, &bad[i].write, bed_on_write, &bad_answers[i]);
    }
    bed_cell_write_init(&huge, "t", "huge-row", "f", large, 5);
    kw_store_handle_write(on.bed.handle, &huge.write, bed_on_write, &huge_answer);
    many_puts_start(all, &on, "g", 60000, 20);
    many_puts_await(all, &on);
    bed_await(&on.bed, &huge_answer.done);
    for (size_t i = 0; i < MANY; i++) {
        g_assert_cmpstr(all->answers[i].error.text, ==, "");
        g_assert_cmpuint(thrift2_fake_writes(on.fakes[0], all->rows[i]), >, 0);
    }
    for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
        bed_await(&on.bed, &bad_answers[i].done);
        g_assert_cmpint(bad_answers[i].outcome, ==, KW_OUTCOME_FAILED);
        g_assert_cmpint(bad_answers[i].error.code, ==, KW_INVALID);
        g_assert_nonnull(strstr(bad_answers[i].error.text, "'bad'"));
    }
    g_assert_cmpint(huge_answer.error.code, ==, KW_LIMIT);
    g_assert_cmpint(huge_answer.outcome, ==, KW_OUTCOME_FAILED);
    g_free(all);
    fixture_stop(&on);
}

/* Gets with a filter that HBase rejects, among good ones. */
static void
bad_filter(const fake_call *call, fake_answer *to, void *user)
{
    const kw_hb_THBaseService_getMultiple_args *many = call->args;
    const kw_hb_THBaseService_get_args *one = call->args;
    bool bad = call->method == KW_HB_THBaseService_get && one->tget->has_filterString;
    (void)user;
    for (uint32_t i = 0; call->method == KW_HB_THBaseService_getMultiple && i < many->tgets.count; i++)
        bad = bad || many->tgets.items[i].has_filterString;
    if (bad)
        *to = (fake_answer){.kind = FAKE_EXCEPTION,
                            .exception = KW_WIRE_EXCEPTION_INTERNAL_ERROR,
                            .text = "Internal error processing get",
                            .do_nothing = true};
}

KW_TEST(test_bad_get_among_good, "/hbase/outcomes/bad-get-among-good")
{
    enum { GETS = 100 };
    fixture on;
    kw_get gets[GETS];
    answer answers[GETS] = {0};
    fixture_start(&on, 1, FRAMED_COMPACT);
    thrift2_fake_set_row(on.fakes[0], "here", "v");
    thrift2_fake_set_script(on.fakes[0], bad_filter, NULL);
    for (size_t i = 0; i < GETS; i++) {
        gets[i] = (kw_get){.table = KW_BYTES_LITERAL("t"),
                           .row = i % 2 ? KW_BYTES_LITERAL("here") : KW_BYTES_LITERAL("gone"),
                           .deadline = kw_deadline_in_ms(60000)};
        if (i == 50)
            gets[i].filter = KW_BYTES_LITERAL("NoSuchFilter()");
        kw_store_handle_get(on.bed.handle, &gets[i], bed_on_rows, &answers[i]);
    }
    for (size_t i = 0; i < GETS; i++) {
        bed_await(&on.bed, &answers[i].done);
        g_assert_cmpint(answers[i].error.code, ==, i == 50 ? KW_INVALID : KW_OK);
        if (i != 50)
            g_assert_cmpuint(answers[i].rows->rows[0].cells_count, ==, i % 2);
        answer_clear(&answers[i]);
    }
    fixture_stop(&on);
}

/* --- deadlines -------------------------------------------------------------------------------- */

static void
unanswered(const fake_call *call, fake_answer *to, void *user)
{
    (void)user;
    if (call->method != KW_HB_THBaseService_getAllRegionLocations)
        to->gate = 1;
}

/* Puts and gets with short and long deadlines at once: those with short ones get TIMEOUT in time and do not
 * affect the others. */
KW_TEST(test_deadlines, "/hbase/outcomes/deadlines")
{
    enum { PAIRS = 50 };
    fixture on;
    bed_cell_write writes[PAIRS][2];
    kw_get gets[PAIRS][2];
    answer written[PAIRS][2] = {0}, got[PAIRS][2] = {0};
    fixture_start(&on, 1, FRAMED_COMPACT);
    thrift2_fake_set_script(on.fakes[0], unanswered, NULL);
    for (size_t i = 0; i < PAIRS; i++) {
        for (size_t patient = 0; patient < 2; patient++) {
            kw_deadline deadline = kw_deadline_in_ms(patient ? 60000 : 100);
            bed_cell_write_init(&writes[i][patient], "t", patient ? "patient" : "hasty", "f", "v",
                                1700000000000 + (int64_t)i);
            writes[i][patient].write.deadline = deadline;
            kw_store_handle_write(on.bed.handle, &writes[i][patient].write, bed_on_write,
                                  &written[i][patient]);
            gets[i][patient] = (kw_get){
                .table = KW_BYTES_LITERAL("t"), .row = KW_BYTES_LITERAL("patient"), .deadline = deadline};
            kw_store_handle_get(on.bed.handle, &gets[i][patient], bed_on_rows, &got[i][patient]);
        }
    }
    for (size_t i = 0; i < PAIRS; i++) {
        bed_await(&on.bed, &written[i][0].done);
        bed_await(&on.bed, &got[i][0].done);
        g_assert_cmpint(written[i][0].error.code, ==, KW_TIMEOUT);
        g_assert_cmpint(got[i][0].error.code, ==, KW_TIMEOUT);
    }
    thrift2_fake_set_script(on.fakes[0], NULL, NULL);
    thrift2_fake_open_gates(on.fakes[0], 1); /* now the first reply is sent */
    for (size_t i = 0; i < PAIRS; i++) {
        bed_await(&on.bed, &written[i][1].done);
        bed_await(&on.bed, &got[i][1].done);
        g_assert_cmpint(written[i][1].outcome, ==, KW_OUTCOME_OK);
        g_assert_cmpint(got[i][1].error.code, ==, KW_OK);
        answer_clear(&got[i][1]);
    }
    fixture_stop(&on);
}

/* --- regions ---------------------------------------------------------------------------------- */

/* The known region boundaries are only a hint: every write arrives if they are wrong, unknown or rejected. */
KW_TEST(test_regions, "/hbase/outcomes/regions")
{
    static const char *const splits[] = {"d050", "d100", "d150"};
    fixture on;
    many_puts *all = g_new0(many_puts, 1);
    fixture_start(&on, 1, FRAMED_COMPACT);
    thrift2_fake_set_boundaries(on.fakes[0], splits, G_N_ELEMENTS(splits));
    answer got = bed_regions(&on.bed, "t");
    g_assert_cmpuint(got.regions->count, ==, 4);
    g_assert_true(kw_bytes_equal(got.regions->regions[1].start, KW_BYTES_LITERAL("d050")));
    g_assert_true(kw_bytes_equal(got.regions->regions[1].stop, KW_BYTES_LITERAL("d100")));
    answer_clear(&got);
    for (int round = 0; round < 3; round++) {
        many_puts_start(all, &on, round == 2 ? "x" : "d", 60000, 20);
        many_puts_await(all, &on);
        for (size_t i = 0; i < MANY; i++)
            g_assert_cmpint(all->answers[i].outcome, ==, KW_OUTCOME_OK);
        thrift2_fake_set_boundaries(on.fakes[0], round ? NULL : splits + 1, round ? 0 : 1);
    }
    g_assert_cmpuint(thrift2_fake_writes(on.fakes[0], "d199"), ==, 2);
    g_free(all);
    fixture_stop(&on);
}
