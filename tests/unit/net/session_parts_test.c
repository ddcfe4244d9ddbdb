/* The parts of a session that need no client: what is logged, unsent bytes, pauses, and how a session ends.
 */
#include "net/output.h"
#include "net/session.h"
#include "unit/net/callers.h"

#include <glib.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

/* The number of unsent bytes, and a peer that reads bytes. */
KW_TEST(test_output, "/net/session-parts/output")
{
    kw_net_worker worker = {.loop = kw_loop_new()};
    kw_session *session = kw_session_new(&worker);
    session->output.size = 1000;
    session->output_at = 300;
    session->sending.size = 50;
    session->sending_at = 20;
    g_assert_cmpuint(kw_output_unsent(session), ==, 730);
    session->state = KW_SESSION_OPEN;
    session->queued = 10; /* libuv holds no bytes any more */
    session->active_ms = session->peer_read_ms = 1;
    kw_output_note_progress(session, 5);
    g_assert_cmpuint(session->peer_read_ms, ==, 1);
    session->sending_now = true;
    kw_output_note_progress(session, 6);
    g_assert_cmpuint(session->peer_read_ms, ==, 6);
    g_assert_cmpuint(session->active_ms, ==, 6);
    kw_output_note_progress(session, 7);
    g_assert_cmpuint(session->peer_read_ms, ==, 6);
    session->queued = 10;
    session->state = KW_SESSION_CLOSING;
    kw_output_note_progress(session, 8);
    g_assert_cmpuint(session->peer_read_ms, ==, 6);
    session->output = session->sending = KW_BUFFER_EMPTY;
    session->output_at = session->sending_at = 0;
    session->sending_now = false;
    session->state = KW_SESSION_OPEN;
    kw_session_close(session);
    kw_loop_free(worker.loop);
    g_assert_null(worker.sessions);
}

/* Replies count as memory of the connection while they are sent, and while they wait for earlier ones. */
KW_TEST(test_memory_of_replies, "/net/session-parts/memory-of-replies")
{
    kw_net_worker worker = {.loop = kw_loop_new()};
    kw_session *session = kw_session_new(&worker);
    int64_t before = kw_account_bytes(session->account);
    session->output.capacity = 300;
    session->sending.capacity = 20;
    session->held_replies = 1000;
    kw_output_charge(session);
    g_assert_cmpint(kw_account_bytes(session->account), ==, before + 1320);
    session->output.capacity = session->sending.capacity = session->held_replies = 0;
    kw_output_charge(session);
    g_assert_cmpint(kw_account_bytes(session->account), ==, before);
    session->state = KW_SESSION_OPEN;
    kw_session_close(session);
    kw_loop_free(worker.loop);
}

/* A session that ends while it is paused no longer counts as paused. */
KW_TEST(test_paused_session_ends, "/net/session-parts/paused-session-ends")
{
    for (int paused = 0; paused < 2; paused++) {
        kw_net_worker worker = {.loop = kw_loop_new()};
        kw_session *other = kw_session_new(&worker), *session = kw_session_new(&worker);
        other->state = session->state = KW_SESSION_OPEN;
        session->paused = paused;
        worker.paused = 1 + (unsigned)paused; /* another session is paused, too */
        kw_session_close(session);
        while (worker.open_sessions > 1)
            uv_run(kw_loop_uv(worker.loop), UV_RUN_ONCE);
        g_assert_cmpuint(worker.paused, ==, 1);
        kw_session_close(other);
        kw_loop_free(worker.loop);
        g_assert_null(worker.sessions);
    }
}

/* The two ends of a connection on 127.0.0.1. */
static void
connect_pair(int *ret_one, int *ret_other)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t size = sizeof address;
    address.sin_addr.s_addr = g_htonl(INADDR_LOOPBACK);
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    g_assert_cmpint(bind(listener, (struct sockaddr *)&address, size), ==, 0);
    g_assert_cmpint(listen(listener, 1), ==, 0);
    g_assert_cmpint(getsockname(listener, (struct sockaddr *)&address, &size), ==, 0);
    *ret_other = socket(AF_INET, SOCK_STREAM, 0);
    g_assert_cmpint(connect(*ret_other, (struct sockaddr *)&address, size), ==, 0);
    *ret_one = accept(listener, NULL, NULL);
    g_assert_cmpint(*ret_one, >=, 0);
    close(listener);
}

static void
wait_until_lingering(const kw_session *session, bool lingers)
{
    for (int i = 0; i < 60000 && kw_session_must_linger(session) != lingers; i++)
        g_usleep(1000);
    g_assert_cmpint(kw_session_must_linger(session), ==, lingers);
}

static int
unsent_bytes(int own)
{
    int unsent = -1;
    g_assert_cmpint(ioctl(own, SIOCOUTQ, &unsent), ==, 0);
    return unsent;
}

/* A single byte that the peer did not receive counts as well. The system holds back a corked byte for at most
 * 200 ms, so this tries again if the test was slow. */
static void
assert_lingers_for_one_byte(const kw_session *session, int own)
{
    bool held_back = false;
    while (!held_back) {
        int on = 1, off = 0;
        g_assert_cmpint(setsockopt(own, IPPROTO_TCP, TCP_CORK, &off, sizeof off), ==, 0);
        while (unsent_bytes(own) > 0)
            g_usleep(100);
        g_assert_cmpint(setsockopt(own, IPPROTO_TCP, TCP_CORK, &on, sizeof on), ==, 0);
        g_assert_cmpint(send(own, "x", 1, 0), ==, 1);
        bool lingers = kw_session_must_linger(session);
        held_back = unsent_bytes(own) == 1;
        g_assert_true(lingers || !held_back);
    }
}

/* A connection with bytes that the gateway did not read, or that the peer did not receive, must not be closed
 * at once: the system would drop the replies. */
KW_TEST(test_must_linger, "/net/session-parts/must-linger")
{
    kw_net_worker worker = {.loop = kw_loop_new()};
    kw_session *session = kw_session_new(&worker);
    int own, peer;
    g_assert_false(kw_session_must_linger(session)); /* it has no socket yet */
    connect_pair(&own, &peer);
    g_assert_cmpint(uv_tcp_open(&session->handle, own), ==, 0);
    g_assert_false(kw_session_must_linger(session));
    client_send(peer, "x", 1);
    wait_until_lingering(session, true);
    session->peer_closed = true;
    g_assert_false(kw_session_must_linger(session));
    session->peer_closed = false;
    char byte;
    g_assert_cmpint(recv(own, &byte, 1, 0), ==, 1);
    g_assert_false(kw_session_must_linger(session));
    static const char much[64 * 1024];
    while (send(own, much, sizeof much, MSG_DONTWAIT | MSG_NOSIGNAL) > 0)
        continue; /* until the peer's receive window is full */
    g_assert_true(kw_session_must_linger(session));
    g_autofree char *taken = g_malloc(sizeof much);
    while (recv(peer, taken, sizeof much, MSG_DONTWAIT) > 0 || kw_session_must_linger(session))
        g_usleep(100);
    wait_until_lingering(session, false);
    assert_lingers_for_one_byte(session, own);
    session->state = KW_SESSION_OPEN;
    kw_session_close(session);
    kw_loop_free(worker.loop);
    close(peer);
}

/* At the start of a drain, a connection that has been quiet for a second gets no more calls. Others have a
 * second for their calls, which are refused. */
KW_TEST(test_quiet_at_a_drain, "/net/session-parts/quiet-at-a-drain")
{
    static const struct {
        uint64_t quiet_ms;
        bool ended;
    } cases[] = {{0, false}, {999, false}, {1000, true}, {5000, true}};
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        kw_net_worker worker = {.loop = kw_loop_new()};
        kw_session *session = kw_session_new(&worker);
        uint64_t now_ms = uv_now(kw_loop_uv(worker.loop));
        session->state = KW_SESSION_OPEN;
        session->active_ms = now_ms - cases[i].quiet_ms;
        session->dirty = true; /* otherwise it would wake the loop */
        kw_session_drain(session);
        g_assert_cmpint(session->state, ==, KW_SESSION_OPEN);
        g_assert_cmpint(session->input_stopped, ==, cases[i].ended);
        g_assert_cmpuint(session->end_ms, ==, cases[i].ended ? 0 : now_ms + 1000);
        g_assert_cmpint(session->refusal->code, ==, KW_UNAVAILABLE);
        session->dirty = false;
        session->end_ms = 0; /* as of a connection that was not refused */
        kw_session_close(session);
        kw_loop_free(worker.loop);
        g_assert_null(worker.sessions);
    }
}

/* A drain closes a connection whose TLS handshake has not ended. */
KW_TEST(test_handshake_at_a_drain, "/net/session-parts/handshake-at-a-drain")
{
    kw_net_worker worker = {.loop = kw_loop_new()};
    kw_session *session = kw_session_new(&worker);
    g_assert_cmpint(session->state, ==, KW_SESSION_HANDSHAKE);
    kw_session_drain(session);
    g_assert_cmpint(session->state, ==, KW_SESSION_CLOSING);
    kw_loop_free(worker.loop);
    g_assert_null(worker.sessions);
}

/* A session that was closed can be closed again before its socket is. */
KW_TEST(test_closed_twice, "/net/session-parts/closed-twice")
{
    kw_net_worker worker = {.loop = kw_loop_new()};
    kw_session *session = kw_session_new(&worker);
    session->state = KW_SESSION_OPEN;
    kw_session_close(session);
    kw_session_close(session);
    g_assert_cmpint(session->state, ==, KW_SESSION_CLOSING);
    kw_loop_free(worker.loop);
    g_assert_null(worker.sessions);
}

/* A session that lingers reads, so that it ends as soon as its peer has closed its side. */
KW_TEST(test_lingering_session_reads, "/net/session-parts/lingering-session-reads")
{
    static void (*const ways[])(kw_session * session) = {kw_session_update, kw_session_stop_input};
    for (size_t i = 0; i < G_N_ELEMENTS(ways); i++) {
        kw_net_worker worker = {.loop = kw_loop_new(), .done = true};
        kw_session *session = kw_session_new(&worker);
        int own, peer;
        connect_pair(&own, &peer);
        g_assert_cmpint(uv_tcp_open(&session->handle, own), ==, 0);
        session->state = KW_SESSION_FINISHING;
        client_send(peer, "x", 1);
        wait_until_lingering(session, true);
        ways[i](session);
        g_assert_cmpint(session->state, ==, KW_SESSION_LINGERING);
        g_assert_true(session->reading);
        g_assert_false(session->dirty);
        close(peer);
        while (worker.open_sessions > 0)
            uv_run(kw_loop_uv(worker.loop), UV_RUN_ONCE);
        kw_loop_free(worker.loop);
        g_assert_null(worker.sessions);
    }
}

/* Stops reading and resumes it, either because of a call in flight or because memory is short. Returns the
 * time at which the unfinished message began, 1 if this did not change. */
static uint64_t
pause_once(kw_session *session, bool memory)
{
    const int64_t large = 64 << 20;
    session->message_ms = 1;
    session->requests = !memory;
    if (memory) {
        kw_account_charge(session->account, KW_MEMORY_FRAMES, large);
        kw_budget_settle();
        kw_budget_configure(large / 2);
    }
    kw_session_update(session);
    g_assert_false(session->reading);
    if (memory) {
        kw_account_charge(session->account, KW_MEMORY_FRAMES, -large);
        kw_budget_settle();
        kw_budget_configure(0);
    }
    session->requests = 0;
    kw_session_update(session);
    g_assert_true(session->reading);
    return session->message_ms;
}

/* After a pause, an unfinished message has its whole time again. But if memory was short, its time goes on,
 * because it must not hold memory for longer. */
KW_TEST(test_time_of_a_message_after_a_pause, "/net/session-parts/time-of-a-message-after-a-pause")
{
    kw_net_worker worker = {
        .loop = kw_loop_new(), .done = true, .limits = {.in_flight = 1, .frame_bytes = 1 << 20}};
    kw_session *session = kw_session_new(&worker);
    int own, peer;
    connect_pair(&own, &peer);
    g_assert_cmpint(uv_tcp_open(&session->handle, own), ==, 0);
    session->state = KW_SESSION_OPEN;
    kw_session_start(session);
    for (int round = 0; round < 2; round++) {
        g_assert_cmpuint(pause_once(session, false), ==, uv_now(kw_loop_uv(worker.loop)));
        g_assert_cmpuint(pause_once(session, true), ==, 1);
    }
    kw_session_close(session);
    kw_loop_free(worker.loop);
    g_assert_null(worker.sessions);
    close(peer);
}
