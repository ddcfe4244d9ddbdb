/* Decides when sessions end: time limits, draining, shortage of memory, and whether closing could lose
 * replies. */
#include "net/output.h"
#include "net/session.h"

#include <glib.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>

/* While draining, a connection that has been quiet for QUIET_MS is closed. Until then, but for at most
 * REFUSING_MS, its further calls are answered with an error. */
#define QUIET_MS 100
#define REFUSING_MS 1000
/* How long to wait for the peer to close its side. */
#define LINGER_MS 2000
/* When memory is used up, a peer that holds more than its share must read some bytes of its replies within
 * this time. */
#define STALL_MS 1000
/* When memory is used up, connections that hold more than this are not read. */
#define PAUSE_BYTES ((int64_t)32 * 1024)

bool
kw_session_must_linger(const kw_session *session)
{
    uv_os_fd_t socket = -1;
    int unread = 0, unsent = 0;
    if (session->peer_closed || uv_fileno((const uv_handle_t *)&session->handle, &socket) != 0)
        return false;
    return ioctl(socket, FIONREAD, &unread) != 0 || unread > 0 || ioctl(socket, SIOCOUTQ, &unsent) != 0 ||
           unsent > 0;
}

/* --- shortage of memory -------------------------------------------------------------------------- */

static bool
must_pause(const kw_session *session)
{
    switch (kw_budget_pressure(session->account)) {
    case KW_PRESSURE_NONE:
        return false;
    case KW_PRESSURE_HIGH:
        return kw_account_is_over_share(session->account);
    case KW_PRESSURE_FULL:
        return kw_account_bytes(session->account) > PAUSE_BYTES;
    }
    g_assert_not_reached();
}

bool
kw_session_update_paused(kw_session *session)
{
    bool paused = must_pause(session);
    if (paused == session->paused)
        return paused;
    session->paused = paused;
    session->was_paused |= paused;
    if (!paused) {
        session->worker->paused--;
        return false;
    }
    session->worker->paused++;
    kw_metrics_add(KW_METRIC_memory_pauses, 1);
    kw_net_worker_start_relief(session->worker);
    return true;
}

/* Closes a session that holds more than its share, to free its memory, if its peer does not read its
 * replies. */
static bool
close_stalled(kw_session *session, uint64_t now_ms)
{
    if (!session->sending_now || now_ms - session->peer_read_ms < STALL_MS ||
        !kw_account_is_over_share(session->account) ||
        kw_budget_pressure(session->account) != KW_PRESSURE_FULL)
        return false;
    kw_metrics_add(KW_METRIC_memory_closed, 1);
    kw_net_worker_log_broken(session->worker, session->peer,
                             "memory is short and the peer does not read its replies");
    kw_session_close(session);
    return true;
}

void
kw_session_relieve(kw_session *session, uint64_t now_ms)
{
    if (session->state >= KW_SESSION_CLOSING)
        return;
    kw_output_note_progress(session, now_ms);
    if (!close_stalled(session, now_ms) && session->paused && !kw_session_update_paused(session))
        kw_session_mark_dirty(session);
}

/* --- draining ------------------------------------------------------------------------------------ */

void
kw_session_drain(kw_session *session)
{
    static const kw_error draining = {.code = KW_UNAVAILABLE, .text = "the gateway is shutting down"};
    uint64_t now_ms = uv_now(session->handle.loop);
    bool idle = now_ms - session->active_ms >= REFUSING_MS;
    if (session->state == KW_SESSION_HANDSHAKE || session->state > KW_SESSION_OPEN) {
        kw_session_finish(session);
        return;
    }
    kw_session_read_rest(session);
    if (session->state != KW_SESSION_OPEN)
        return;
    if (!session->refusal)
        session->refusal = &draining;
    if (idle && !session->first && session->active_ms < now_ms)
        kw_session_stop_input(session);
    else if (session->end_ms == 0)
        session->end_ms = now_ms + REFUSING_MS;
}

static bool
is_quiet(const kw_session *session, uint64_t now_ms)
{
    return session->worker->draining && !session->first && kw_output_unsent(session) == 0 &&
           now_ms - session->active_ms >= QUIET_MS;
}

/* True if the connection must accept no further calls: its end_ms has passed, or it is quiet while
 * draining. */
static bool
must_stop(const kw_session *session, uint64_t now_ms)
{
    return (session->end_ms > 0 && now_ms >= session->end_ms) || is_quiet(session, now_ms);
}

/* --- time ---------------------------------------------------------------------------------------- */

/* Returns the time limit that the session exceeds, as text; NULL if none. */
static const char *
exceeded_time_limit(const kw_session *session, uint64_t now_ms, bool stuck)
{
    const kw_net_limits *limits = &session->worker->limits;
    if (session->state == KW_SESSION_HANDSHAKE)
        return now_ms - session->message_ms < limits->handshake_ms ? NULL : "the TLS handshake took too long";
    if (stuck && now_ms - session->peer_read_ms >= limits->frame_ms)
        return "the peer does not read its replies";
    bool awaited = session->reading || session->paused;
    if (session->message_ms > 0 && awaited && now_ms - session->message_ms >= limits->frame_ms)
        return session->paused ? "memory is short and a message did not complete in time"
                               : "a message did not complete in time";
    return NULL;
}

static bool
is_idle(const kw_session *session, uint64_t now_ms)
{
    uint64_t idle_ms = session->worker->limits.idle_ms;
    return idle_ms > 0 && kw_output_unsent(session) == 0 && session->requests == 0 &&
           session->message_ms == 0 && now_ms - session->active_ms >= idle_ms;
}

void
kw_session_check_time(kw_session *session, uint64_t now_ms)
{
    bool stuck =
        session->sending_now; /* replies that wait inside the gateway do not count against the peer */
    kw_output_note_progress(session, now_ms);
    if (session->state >= KW_SESSION_CLOSING)
        return;
    if (session->state == KW_SESSION_LINGERING) {
        if (now_ms - session->message_ms >= LINGER_MS)
            kw_session_close(session);
        return;
    }
    const char *broken = exceeded_time_limit(session, now_ms, stuck);
    if (broken) {
        kw_net_worker_log_broken(session->worker, session->peer, broken);
        kw_session_close(session);
    } else if (is_idle(session, now_ms)) {
        kw_session_close(session);
    } else if (must_stop(session, now_ms)) {
        kw_session_read_rest(session); /* calls that arrived while the loop was busy are not read yet */
        if (session->state < KW_SESSION_LINGERING && must_stop(session, now_ms))
            kw_session_stop_input(session);
    }
}
