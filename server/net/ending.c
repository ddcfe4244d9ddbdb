/* Decides when sessions end: time limits, draining, and whether closing could lose replies. relief.c ends
 * those that hold memory while it is short. */
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

/* --- draining ------------------------------------------------------------------------------------ */

void
kw_session_drain(kw_session *session)
{
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
        session->refusal = &kw_error_shutting_down;
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
        return now_ms - session->message_ms < limits->frame_ms ? NULL : "the TLS handshake took too long";
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
    kw_session_look_for_end(session);
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
