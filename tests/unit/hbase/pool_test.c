/* Calls, channels and servers when servers are slow, silent, unreachable or several: deadlines, waiting,
 * balance, and the number of connections. Each test uses one failure of thrift2_fake. */
#include "fixture.h"
#include "store/hbase/clock/heartbeats.h"

#include "base/thread.h"
#include "support/log_capture.h"

#include <poll.h>

/* --- without failures ------------------------------------------------------------------------- */

KW_TEST(test_forms, "/hbase/pool/forms")
{
    for (size_t i = 0; i < G_N_ELEMENTS(fixture_forms); i++) {
        fixture on;
        fixture_start(&on, 1, fixture_forms[i]);
        fixture_ok(fixture_put(&on, "r", 7, 60000));
        fixture_value(fixture_get(&on, "r", 60000), "v");
        answer none = fixture_get(&on, "missing", 60000);
        g_assert_cmpuint(none.rows->rows[0].cells_count, ==, 0);
        g_assert_true(kw_bytes_equal(none.rows->rows[0].key, KW_BYTES_LITERAL("missing")));
        answer_clear(&none);
        fixture_stop(&on);
    }
}

/* --- slow and silent -------------------------------------------------------------------------- */

/* Waits until this many channels are ready; two servers have one each at first. */
static void
await_channels(fixture *on, uint32_t count)
{
    const kw_hbase_store *store = (const kw_hbase_store *)on->bed.store;
    BED_UNTIL(&on->bed, atomic_load(&store->ready) >= count);
}

/* Waits until the store is not ready for a reason with this word. */
static void
await_reason(fixture *on, const char *word)
{
    kw_error error = KW_ERROR_NONE;
    BED_UNTIL(&on->bed, !kw_store_ready(on->bed.store, &error) && strstr(error.text, word));
}

KW_TEST(test_slow_reply, "/hbase/pool/slow-reply")
{
    fixture on;
    fixture_start(&on, 1, BUFFERED_BINARY);
    fixture_rule rule = {.method = KW_HB_THBaseService_get, .count = 1, .answer = {.gate = 1}};
    thrift2_fake_set_row(on.fakes[0], "a", "1");
    thrift2_fake_set_row(on.fakes[0], "b", "2");
    thrift2_fake_set_script(on.fakes[0], fixture_apply_rule, &rule);
    fixture_get_times_out(&on, "a", 150);
    fixture_value(fixture_get(&on, "b", 60000), "2");
    thrift2_fake_open_gates(on.fakes[0], 1);
    bed_run_loop(&on.bed, 100);
    fixture_value(fixture_get(&on, "a", 60000), "1");
    fixture_stop(&on);
}

KW_TEST(test_slow_write, "/hbase/pool/slow-write")
{
    fixture on;
    fixture_start(&on, 1, FRAMED_COMPACT);
    fixture_rule rule = {.method = KW_HB_THBaseService_put, .count = 1, .answer = {.gate = 1}};
    thrift2_fake_set_script(on.fakes[0], fixture_apply_rule, &rule);
    fixture_put_times_out(&on, "r", 1, 500);
    fixture_ok(fixture_put(&on, "r", 1, 60000));
    fixture_stop(&on);
}

/* A call whose deadline passes while it waits for a channel is not applied. */
KW_TEST(test_deadline_in_queue, "/hbase/pool/deadline-in-queue")
{
    fixture on;
    kw_model_hbase settings = fixture_init(&on, 1, FRAMED_COMPACT);
    settings.channels = 1;
    fixture_open(&on, &settings);
    bed_await_ready(&on.bed);
    fixture_rule rule = {.method = KW_HB_THBaseService_get, .count = 1, .answer = {.gate = 1}};
    thrift2_fake_set_script(on.fakes[0], fixture_apply_rule, &rule);
    kw_get slow = {
        .table = KW_BYTES_LITERAL("t"), .row = KW_BYTES_LITERAL("r"), .deadline = kw_deadline_in_ms(60000)};
    answer first = {0};
    kw_store_handle_get(on.bed.handle, &slow, bed_on_rows, &first);
    fixture_await_calls(&on, KW_HB_THBaseService_get, 1);
    fixture_failed(fixture_put(&on, "r", UNSTAMPED, 100), KW_OUTCOME_FAILED, KW_TIMEOUT);
    thrift2_fake_open_gates(on.fakes[0], 1);
    bed_await(&on.bed, &first.done);
    g_assert_nonnull(first.rows);
    answer_clear(&first);
    g_assert_cmpuint(thrift2_fake_writes(on.fakes[0], "r"), ==, 0);
    fixture_stop(&on);
}

/* After a slow call, the only waiting call is sent although its deadline is sooner than calls of its kind are
 * expected to take: the next ones can be fast. */
KW_TEST(test_after_slow_call, "/hbase/pool/after-slow-call")
{
    fixture on;
    kw_model_hbase settings = fixture_init(&on, 1, FRAMED_COMPACT);
    settings.channels = 1;
    fixture_open_quiet(&on, &settings);
    bed_await_ready(&on.bed);
    fixture_rule slow = {.method = KW_HB_THBaseService_put, .count = 1, .answer = {.gate = 1}};
    thrift2_fake_set_script(on.fakes[0], fixture_apply_rule, &slow);
    bed_cell_write writes[2];
    answer puts[2] = {{0}}, got = {0};
    bed_cell_write_init(&writes[0], "t", "r", "f", "q", 1);
    kw_store_handle_write(on.bed.handle, &writes[0].write, bed_on_write, &puts[0]);
    bed_run_loop(&on.bed, 1500);
    thrift2_fake_open_gates(on.fakes[0], 1);
    bed_await(&on.bed, &puts[0].done);
    fixture_rule busy = {.method = KW_HB_THBaseService_get, .count = 1, .answer = {.gate = 2}};
    thrift2_fake_set_script(on.fakes[0], fixture_apply_rule, &busy);
    kw_get get = {
        .table = KW_BYTES_LITERAL("t"), .row = KW_BYTES_LITERAL("r"), .deadline = kw_deadline_in_ms(60000)};
    kw_store_handle_get(on.bed.handle, &get, bed_on_rows, &got);
    fixture_await_calls(&on, KW_HB_THBaseService_get, 1);
    bed_cell_write_init(&writes[1], "t", "r", "f", "q", 2);
    writes[1].write.deadline = kw_deadline_in_ms(1400);
    kw_store_handle_write(on.bed.handle, &writes[1].write, bed_on_write, &puts[1]);
    thrift2_fake_open_gates(on.fakes[0], 2);
    bed_await(&on.bed, &puts[1].done);
    bed_await(&on.bed, &got.done);
    fixture_ok(puts[0]);
    fixture_ok(puts[1]);
    answer_clear(&got);
    fixture_stop(&on);
}

/* One of two servers stops answering: reads use the other one, long before their deadline; a write that it
 * may have received is UNKNOWN. */
KW_TEST(test_silent_server, "/hbase/pool/silent-server")
{
    fixture on;
    kw_model_hbase settings = fixture_init(&on, 2, FRAMED_COMPACT);
    on.bed.tuning.connect_timeout_ms = 1000;
    fixture_open(&on, &settings);
    await_channels(&on, 2);
    thrift2_fake_set_row(on.fakes[0], "r", "v");
    thrift2_fake_set_row(on.fakes[1], "r", "v");
    thrift2_fake_set_no_replies(on.fakes[0], true);
    uint64_t start = kw_clock_mono_ns();
    for (int i = 0; i < 20; i++)
        fixture_value(fixture_get(&on, "r", 120000), "v");
    g_assert_cmpuint((kw_clock_mono_ns() - start) / 1000000, <, 60000);
    thrift2_fake_set_no_replies(on.fakes[1], true);
    thrift2_fake_set_no_replies(on.fakes[0], false);
    fixture_failed(fixture_put(&on, "u", UNSTAMPED, 120000), KW_OUTCOME_UNKNOWN, KW_UNAVAILABLE);
    fixture_value(fixture_get(&on, "r", 120000), "v");
    fixture_stop(&on);
}

/* At its connection limit Thrift2 accepts connections and never answers. No call is sent on such a
 * connection. */
KW_TEST(test_accept_then_hang, "/hbase/pool/accept-then-hang")
{
    fixture on;
    kw_model_hbase settings = fixture_init(&on, 1, FRAMED_COMPACT);
    on.bed.tuning.connect_timeout_ms = 300;
    thrift2_fake_set_no_reads(on.fakes[0], true);
    fixture_open(&on, &settings);
    fixture_failed(fixture_put(&on, "r", UNSTAMPED, 2000), KW_OUTCOME_FAILED, KW_TIMEOUT);
    await_reason(&on, "framed compact (silent, or too many connections)");
    g_assert_cmpuint(thrift2_fake_calls(on.fakes[0], KW_HB_THBaseService_put), ==, 0);
    thrift2_fake_set_no_reads(on.fakes[0], false);
    bed_await_ready(&on.bed);
    fixture_ok(fixture_put(&on, "r", UNSTAMPED, 60000));
    fixture_stop(&on);
}

/* --- servers stop and start ------------------------------------------------------------------- */

KW_TEST(test_idle_close_is_no_failure, "/hbase/pool/idle-close-is-no-failure")
{
    fixture on;
    fixture_start(&on, 1, FRAMED_COMPACT);
    for (int i = 0; i < 5; i++) {
        thrift2_fake_close_connections(on.fakes[0]);
        bed_run_loop(&on.bed, 50);
        fixture_ok(fixture_put(&on, "r", UNSTAMPED, 60000));
    }
    fixture_stop(&on);
}

KW_TEST(test_waits_for_server, "/hbase/pool/waits-for-server")
{
    fixture on;
    kw_model_hbase settings = fixture_init(&on, 1, FRAMED_COMPACT);
    thrift2_fake_stop_listening(on.fakes[0]);
    fixture_open(&on, &settings);
    kw_get early = {
        .table = KW_BYTES_LITERAL("t"), .row = KW_BYTES_LITERAL("r"), .deadline = kw_deadline_in_ms(60000)};
    answer got = {0};
    kw_store_handle_get(on.bed.handle, &early, bed_on_rows, &got);
    await_reason(&on, "refused");
    g_assert_false(got.done);
    thrift2_fake_listen(on.fakes[0]);
    bed_await(&on.bed, &got.done);
    g_assert_nonnull(got.rows);
    answer_clear(&got);
    fixture_stop(&on);
}

static _Atomic uint64_t travelled_ns;

static uint64_t
travelled_mono_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec + travelled_ns;
}

/* After ten seconds without a server, waiting calls and new calls fail. */
KW_TEST(test_patience, "/hbase/pool/patience")
{
    kw_clock_inject(NULL, travelled_mono_ns);
    fixture on;
    kw_model_hbase settings = fixture_init(&on, 1, FRAMED_COMPACT);
    thrift2_fake_stop_listening(on.fakes[0]);
    fixture_open(&on, &settings);
    kw_get early = {
        .table = KW_BYTES_LITERAL("t"), .row = KW_BYTES_LITERAL("r"), .deadline = kw_deadline_in_ms(60000)};
    answer got = {0};
    kw_store_handle_get(on.bed.handle, &early, bed_on_rows, &got);
    bed_run_loop(&on.bed, 100);
    g_assert_false(got.done);
    travelled_ns += UINT64_C(11000000000);
    bed_await(&on.bed, &got.done);
    g_assert_cmpuint(got.error.retry_after_ms, >, 0);
    fixture_failed(got, 0, KW_UNAVAILABLE);
    fixture_failed(fixture_put(&on, "r", UNSTAMPED, 60000), KW_OUTCOME_FAILED, KW_UNAVAILABLE);
    thrift2_fake_listen(on.fakes[0]);
    travelled_ns += UINT64_C(31000000000);
    bed_await_ready(&on.bed);
    fixture_ok(fixture_put(&on, "r", UNSTAMPED, 60000));
    fixture_stop(&on);
    kw_clock_inject(NULL, NULL);
}

KW_TEST(test_ping, "/hbase/pool/ping")
{
    fixture on;
    kw_model_hbase settings = fixture_init(&on, 1, BUFFERED_BINARY);
    on.bed.tuning.ping_ms = 250;
    fixture_open(&on, &settings);
    bed_await_ready(&on.bed);
    uint64_t start = kw_clock_mono_ns();
    BED_UNTIL(&on.bed, thrift2_fake_pings(on.fakes[0]) >= 4);
    g_assert_cmpuint(kw_clock_mono_ns() - start, >,
                     2 * UINT64_C(250000000)); /* pings are not sent without a pause */
    g_assert_cmpuint(thrift2_fake_open_connections(on.fakes[0]), ==, thrift2_fake_connections(on.fakes[0]));
    fixture_stop(&on);
}

/* Sends the ping of an idle channel and leaves its reply in the socket. */
static kw_hbase_channel *
ping_and_stop(fixture *on)
{
    kw_hbase_channel *channel = kw_hbase_handle_of(on->bed.handle)->pool.servers[0].channels.head->data;
    struct pollfd reply = {.events = POLLIN};
    for (uint32_t pings = 0; !channel->ping_sent_ns; g_usleep(1000)) {
        if (thrift2_fake_pings(on->fakes[0]) != pings)
            travelled_ns += UINT64_C(21000000000); /* the last ping was answered already */
        pings = thrift2_fake_pings(on->fakes[0]);
        uv_run(kw_loop_uv(on->bed.loop), UV_RUN_NOWAIT);
    }
    uv_fileno((uv_handle_t *)&channel->tcp, &reply.fd);
    g_assert_cmpint(poll(&reply, 1, 60000), ==, 1);
    return channel;
}

/* The loop is stalled for longer than a server can be silent, with a ping in flight. The reply is in the
 * socket when the loop continues, so the channel is kept. */
KW_TEST(test_stalled_loop_keeps_channel, "/hbase/pool/stalled-loop-keeps-channel")
{
    kw_clock_inject(NULL, travelled_mono_ns);
    fixture on;
    kw_model_hbase settings = fixture_init(&on, 1, FRAMED_COMPACT);
    settings.channels = 1;
    fixture_open_quiet(&on, &settings);
    bed_await_ready(&on.bed);
    const kw_hbase_channel *channel = ping_and_stop(&on);
    g_usleep(2 * KW_HBASE_TICK_MS * 1000); /* the next tick is due before anything is read */
    travelled_ns += UINT64_C(61000000000);
    bed_run_loop(&on.bed, 10);
    g_assert_cmpint(channel->state, ==, KW_HBASE_READY);
    g_assert_cmpuint(channel->ping_sent_ns, ==, 0);
    fixture_ok(fixture_put(&on, "r", UNSTAMPED, 60000));
    g_assert_cmpuint(thrift2_fake_connections(on.fakes[0]), ==, 1);
    fixture_stop(&on);
    kw_clock_inject(NULL, NULL);
}

/* The loop was stalled while the server closed the connection: the next call does not use it, so its outcome
 * is certain although it must not be sent twice. */
KW_TEST(test_stalled_loop_detects_closed_channel, "/hbase/pool/stalled-loop-detects-closed-channel")
{
    kw_clock_inject(NULL, travelled_mono_ns);
    fixture on;
    kw_model_hbase settings = fixture_init(&on, 1, FRAMED_COMPACT);
    settings.channels = 1;
    fixture_open_quiet(&on, &settings);
    bed_await_ready(&on.bed);
    for (int i = 0; i < 3; i++) {
        bed_run_loop(&on.bed, 50);
        uint32_t connections = thrift2_fake_connections(on.fakes[0]);
        thrift2_fake_close_connections(on.fakes[0]);
        while (thrift2_fake_open_connections(on.fakes[0]) > 0)
            g_usleep(1000);
        travelled_ns += UINT64_C(61000000000);
        fixture_ok(fixture_put(&on, "r", UNSTAMPED, 60000));
        g_assert_cmpuint(thrift2_fake_connections(on.fakes[0]), ==, connections + 1);
    }
    fixture_stop(&on);
    kw_clock_inject(NULL, NULL);
}

static size_t
count_of(const char *text, const char *part)
{
    size_t count = 0;
    for (const char *at = text; (at = strstr(at, part)); at += strlen(part))
        count++;
    return count;
}

/* While no server can be reached, it is tried every second, however long its backoff is; the log has one line
 * for the failure and one for its end. */
KW_TEST(test_outage, "/hbase/pool/outage")
{
    fixture on;
    kw_model_hbase settings = fixture_init(&on, 1, FRAMED_COMPACT);
    on.bed.tuning.backoff_ms = 20000;
    fixture_open_quiet(&on, &settings);
    bed_await_ready(&on.bed);
    kw_log_configure(KW_LOG_INFO, false);
    log_capture_begin();
    thrift2_fake_stop_listening(on.fakes[0]);
    thrift2_fake_close_connections(on.fakes[0]);
    bed_run_loop(&on.bed, 3500);
    answer refused = fixture_get(&on, "r", 60000);
    g_assert_cmpint(refused.error.code, ==, KW_UNAVAILABLE);
    g_assert_cmpuint(refused.error.retry_after_ms, <=, KW_HBASE_PROBE_MS);
    answer_clear(&refused);
    thrift2_fake_listen(on.fakes[0]);
    uint64_t from = kw_clock_mono_ns();
    bed_await_ready(&on.bed);
    g_assert_cmpuint(kw_clock_mono_ns() - from, <, UINT64_C(10000000000));
    g_autofree char *log = log_capture_end();
    kw_log_configure(KW_LOG_ERROR, false);
    g_assert_cmpuint(count_of(log, "server failed, backing off"), ==, 1);
    g_assert_cmpuint(count_of(log, "server answers again"), ==, 1);
    g_assert_cmpuint(count_of(log, "level=warn"), ==, 1);
    fixture_stop(&on);
}

/* A call that HBase rejects again and again for the same reason, as it does while a table is missing, is one
 * warning. */
KW_TEST(test_repeated_errors, "/hbase/pool/repeated-errors")
{
    fixture on;
    kw_model_hbase settings = fixture_init(&on, 1, FRAMED_COMPACT);
    fixture_rule rule = {
        .method = KW_HB_THBaseService_get, .count = 100, .io_message = "TableNotFoundException: t"};
    fixture_open_quiet(&on, &settings);
    bed_await_ready(&on.bed);
    thrift2_fake_set_script(on.fakes[0], fixture_apply_rule, &rule);
    kw_log_configure(KW_LOG_INFO, false);
    log_capture_begin();
    for (int i = 0; i < 3; i++) {
        answer got = fixture_get(&on, "r", 60000);
        g_assert_cmpint(got.error.code, !=, KW_OK);
        answer_clear(&got);
        bed_run_loop(&on.bed, 1100);
    }
    g_autofree char *log = log_capture_end();
    kw_log_configure(KW_LOG_ERROR, false);
    g_assert_cmpuint(count_of(log, "HBase rejected a call"), ==, 1);
    fixture_stop(&on);
}

/* --- many calls at once ----------------------------------------------------------------------- */

/* Gets with an unsafe filter are never batched: there are as many calls as gets. */
static void
start_many(fixture *on, answer *got, kw_get *gets, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        gets[i] = (kw_get){.table = KW_BYTES_LITERAL("t"),
                           .row = KW_BYTES_LITERAL("r"),
                           .filter = KW_BYTES_LITERAL("KeyOnlyFilter ()"),
                           .deadline = kw_deadline_in_ms(120000)};
        kw_store_handle_get(on->bed.handle, &gets[i], bed_on_rows, &got[i]);
    }
}

static void
await_many(fixture *on, answer *got, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        bed_await(&on->bed, &got[i].done);
        fixture_ok(got[i]);
    }
}

static void
get_at_gate(const fake_call *call, fake_answer *to, void *user)
{
    (void)user;
    if (call->method == KW_HB_THBaseService_get)
        to->gate = 1;
}

/* Sends no replies until this many channels have been opened. */
static void
release_when_connected(fixture *on, uint32_t connections)
{
    BED_UNTIL(&on->bed, thrift2_fake_connections(on->fakes[0]) >= connections);
    bed_run_loop(&on->bed, 50); /* more connections would arrive now */
    thrift2_fake_open_gates(on->fakes[0], 1);
}

/* Two replies at a time: the gets of a server wait for each other at a gate. */
static void
get_in_pairs(const fake_call *call, fake_answer *to, void *user)
{
    (void)user;
    if (call->method == KW_HB_THBaseService_get)
        to->gate = (int)(call->nth + 1) / 2;
}

/* Two servers of the same speed get the same number of calls. */
KW_TEST(test_balance, "/hbase/pool/balance")
{
    fixture on;
    fixture_start(&on, 2, FRAMED_COMPACT);
    await_channels(&on, 2);
    thrift2_fake_set_script(on.fakes[0], get_in_pairs, NULL);
    thrift2_fake_set_script(on.fakes[1], get_in_pairs, NULL);
    enum { CALLS = 100 };
    answer got[CALLS] = {0};
    kw_get gets[CALLS];
    start_many(&on, got, gets, CALLS);
    for (int pair = 1; pair <= CALLS / 4; pair++) {
        for (int i = 0; i < 2; i++)
            BED_UNTIL(&on.bed,
                      thrift2_fake_calls(on.fakes[i], KW_HB_THBaseService_get) >= 2 * (uint32_t)pair);
        for (int i = 0; i < 2; i++)
            thrift2_fake_open_gates(on.fakes[i], pair);
    }
    await_many(&on, got, CALLS);
    for (int i = 0; i < 2; i++) {
        g_assert_cmpuint(thrift2_fake_calls(on.fakes[i], KW_HB_THBaseService_get), ==, CALLS / 2);
        g_assert_cmpuint(thrift2_fake_connections(on.fakes[i]), ==, 2);
    }
    fixture_stop(&on);
}

/* Many calls at once open channels one after the other, never more than configured. */
KW_TEST(test_opens_one_by_one, "/hbase/pool/opens-one-by-one")
{
    fixture on;
    kw_model_hbase settings = fixture_init(&on, 1, FRAMED_COMPACT);
    settings.channels = 4;
    thrift2_fake_set_no_reads(on.fakes[0], true);
    fixture_open(&on, &settings);
    enum { CALLS = 50 };
    answer got[CALLS] = {0};
    kw_get gets[CALLS];
    start_many(&on, got, gets, CALLS);
    BED_UNTIL(&on.bed, thrift2_fake_connections(on.fakes[0]) > 0);
    bed_run_loop(&on.bed, 300);
    g_assert_cmpuint(thrift2_fake_connections(on.fakes[0]), ==, 1);
    thrift2_fake_set_script(on.fakes[0], get_at_gate, NULL);
    thrift2_fake_set_no_reads(on.fakes[0], false);
    release_when_connected(&on, 4);
    await_many(&on, got, CALLS);
    g_assert_cmpuint(thrift2_fake_connections(on.fakes[0]), ==, 4);
    fixture_stop(&on);
}

KW_TEST(test_pipeline, "/hbase/pool/pipeline")
{
    fixture on;
    kw_model_hbase settings = fixture_init(&on, 1, BUFFERED_BINARY);
    settings.channels = 1;
    on.bed.tuning.pipeline = 8;
    fixture_open(&on, &settings);
    bed_await_ready(&on.bed);
    enum { CALLS = 100 };
    answer got[CALLS] = {0};
    kw_get gets[CALLS];
    start_many(&on, got, gets, CALLS);
    await_many(&on, got, CALLS);
    g_assert_cmpuint(thrift2_fake_connections(on.fakes[0]), ==, 1);
    g_assert_cmpuint(thrift2_fake_calls(on.fakes[0], KW_HB_THBaseService_get), ==, CALLS);
    fixture_stop(&on);
}

/* --- limits and closing ----------------------------------------------------------------------- */

KW_TEST(test_frame_limit, "/hbase/pool/frame-limit")
{
    for (size_t i = 0; i < G_N_ELEMENTS(fixture_forms); i++) {
        fixture on;
        fixture_start(&on, 1, fixture_forms[i]);
        g_autofree char *large = g_strnfill(2 * 1024 * 1024, 'x');
        answer got = bed_put(&on.bed, "t", "r", "f", "q", large, 1, 60000);
        if (fixture_forms[i].framed) {
            fixture_failed(got, KW_OUTCOME_FAILED, KW_LIMIT);
            g_assert_cmpuint(thrift2_fake_calls(on.fakes[0], KW_HB_THBaseService_put), ==, 0);
        } else {
            fixture_ok(got);
        }
        g_autofree char *too_large = g_strnfill(10 * 1024 * 1024, 'x');
        fixture_failed(bed_put(&on.bed, "t", "r", "f", "q", too_large, 1, 60000), KW_OUTCOME_FAILED,
                       KW_LIMIT);
        large[2 * 1024 * 1024 - 200] = '\0';
        fixture_ok(bed_put(&on.bed, "t", "r", "f", "q", large, 1, 60000));
        fixture_stop(&on);
    }
}

KW_TEST(test_close_with_calls, "/hbase/pool/close-with-calls")
{
    fixture on;
    fixture_start(&on, 1, FRAMED_COMPACT);
    fixture_rule rule = {.method = KW_HB_THBaseService_put, .count = 100, .answer = {.kind = FAKE_SILENCE}};
    thrift2_fake_set_script(on.fakes[0], fixture_apply_rule, &rule);
    enum { CALLS = 6 };
    answer got[CALLS] = {0};
    static const char *const rows[CALLS] = {"a", "b", "c", "d", "e", "f"};
    bed_cell_write writes[CALLS];
    for (size_t i = 0; i < CALLS; i++) {
        bed_cell_write_init(&writes[i], "t", rows[i], "f", "v", UNSTAMPED);
        kw_store_handle_write(on.bed.handle, &writes[i].write, bed_on_write, &got[i]);
    }
    fixture_await_calls(&on, KW_HB_THBaseService_put, 2);
    bed_run_loop(&on.bed, 50);
    fixture_stop(&on);
    uint32_t unknown = 0;
    for (size_t i = 0; i < CALLS; i++) {
        g_assert_true(got[i].done);
        g_assert_cmpint(got[i].error.code, ==, KW_UNAVAILABLE);
        unknown += got[i].outcome == KW_OUTCOME_UNKNOWN;
    }
    g_assert_cmpuint(unknown, ==, 2); /* the number of channels */
}

/* --- two loops, one store --------------------------------------------------------------------- */

typedef struct second_loop {
    bed in;
    uint32_t ok;
} second_loop;

static void
run_second(void *user)
{
    second_loop *second = user;
    for (int i = 0; i < 200; i++) {
        answer got = bed_put(&second->in, "t", "r", "f", "q", "v", 1, 60000);
        second->ok += got.outcome == KW_OUTCOME_OK;
    }
    bool closed = false;
    kw_store_handle_close(second->in.handle, bed_on_done, &closed);
    bed_await(&second->in, &closed);
}

/* Store handles on two threads share the number of channels, the clock and the readiness. */
KW_TEST(test_two_loops, "/hbase/pool/two-loops")
{
    fixture on;
    fixture_start(&on, 2, FRAMED_COMPACT);
    second_loop second = {.in = {.loop = kw_loop_new(), .store = on.bed.store}};
    second.in.handle = kw_store_open_handle(on.bed.store, second.in.loop);
    kw_thread thread;
    kw_thread_start(&thread, "second", run_second, &second);
    kw_error error;
    int64_t offset;
    for (int i = 0; i < 200; i++) {
        fixture_ok(fixture_put(&on, "r", 1, 60000));
        g_assert_true(kw_store_ready(on.bed.store, &error));
        kw_store_clock_offset_ms(on.bed.store, &offset);
    }
    kw_thread_join(&thread);
    g_assert_cmpuint(second.ok, ==, 200);
    kw_loop_free(second.in.loop);
    fixture_stop(&on);
}

/* A busy store handle uses the channels that an idle one does not need, but never more than configured. */
KW_TEST(test_channels_are_shared, "/hbase/pool/channels-are-shared")
{
    fixture on;
    kw_model_hbase settings = fixture_init(&on, 1, FRAMED_COMPACT);
    settings.channels = 4;
    fixture_open(&on, &settings);
    kw_store_handle *idle = kw_store_open_handle(on.bed.store, on.bed.loop);
    bed_await_ready(&on.bed);
    bed_run_loop(&on.bed, 100);
    thrift2_fake_set_script(on.fakes[0], get_at_gate, NULL);
    enum { CALLS = 100 };
    answer got[CALLS] = {0};
    kw_get gets[CALLS];
    start_many(&on, got, gets, CALLS);
    release_when_connected(&on, 4);
    await_many(&on, got, CALLS);
    g_assert_cmpuint(thrift2_fake_connections(on.fakes[0]), ==, 4);
    bool closed = false;
    kw_store_handle_close(idle, bed_on_done, &closed);
    bed_await(&on.bed, &closed);
    fixture_stop(&on);
}

KW_TEST(test_clock, "/hbase/pool/clock")
{
    fixture on;
    kw_model_hbase settings = fixture_init(&on, 1, FRAMED_COMPACT);
    thrift2_fake_set_clock(on.fakes[0], 12345);
    fixture_open(&on, &settings);
    int64_t offset = 0;
    bool known = kw_store_clock_offset_ms(on.bed.store, &offset);
    g_assert_false(known);
    bed_await_ready(&on.bed);
    BED_UNTIL(&on.bed, kw_store_clock_offset_ms(on.bed.store, &offset));
    g_assert_cmpint(offset, >=, 12345 - 50); /* the promised accuracy */
    g_assert_cmpint(offset, <=, 12345 + 50);
    fixture_stop(&on);
}

static unsigned bursts;
void __real_kw_hbase_heartbeats_start_burst(void *self);
void __wrap_kw_hbase_heartbeats_start_burst(void *self);

void
__wrap_kw_hbase_heartbeats_start_burst(void *self)
{
    bursts++;
    __real_kw_hbase_heartbeats_start_burst(self);
}

/* A use of the clock wakes the sender. If a store handle on another loop becomes the sender before the
 * wake-up runs, nothing is sent from the first loop. */
KW_TEST(test_wake_of_former_sender, "/hbase/pool/wake-of-former-sender")
{
    fixture on;
    kw_model_hbase settings = fixture_init(&on, 1, FRAMED_COMPACT);
    fixture_open(&on, &settings);
    bed second = {.loop = kw_loop_new(), .store = on.bed.store};
    second.handle = kw_store_open_handle(second.store, second.loop);
    kw_hbase_handle *former = (kw_hbase_handle *)on.bed.handle, *sender = (kw_hbase_handle *)second.handle;
    kw_hbase_clock *clock = &((kw_hbase_store *)on.bed.store)->clock;
    kw_hbase_clock_tick(former);
    kw_hbase_clock_use(clock);
    g_assert_true(clock->wake_posted);
    kw_hbase_clock_stop(former);
    kw_hbase_clock_tick(sender);
    g_assert_true(clock->sender == sender->heartbeats);
    unsigned before = bursts;
    while (clock->wake_posted)
        bed_run_loop(&on.bed, 1);
    g_assert_cmpuint(bursts, ==, before);
    bool closed = false;
    kw_store_handle_close(second.handle, bed_on_done, &closed);
    bed_await(&second, &closed);
    kw_loop_free(second.loop);
    fixture_stop(&on);
}

static _Atomic bool pause_next;

/* The thread is paused for half a second before the time is returned. */
static int64_t
travelled_wall_ms(void)
{
    struct timespec now;
    if (atomic_exchange(&pause_next, false))
        travelled_ns += 500000000;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000 + (int64_t)(travelled_ns / 1000000);
}

/* The offset needs two clocks. A pause between the two reads must not change it. */
KW_TEST(test_clock_is_read_at_one_moment, "/hbase/pool/clock-is-read-at-one-moment")
{
    fixture on;
    kw_model_hbase settings = fixture_init(&on, 1, FRAMED_COMPACT);
    kw_clock_inject(travelled_wall_ms, travelled_mono_ns);
    fixture_open(&on, &settings);
    int64_t offset = 0;
    BED_UNTIL(&on.bed, kw_store_clock_offset_ms(on.bed.store, &offset));
    pause_next = true;
    bool known = kw_store_clock_offset_ms(on.bed.store, &offset);
    g_assert_true(known);
    g_assert_false(pause_next);
    g_assert_cmpint(offset, >=, -50);
    g_assert_cmpint(offset, <=, 50);
    fixture_stop(&on);
    kw_clock_inject(NULL, NULL);
}
