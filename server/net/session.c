/* Sessions: creation, changes of state, and the end. session.h has the picture of the states.
 * kw_session_accept sets the first state (entry.c). */
#include "net/session.h"

#include "net/output.h"
#include "net/relief.h"

#include <glib.h>
#include <sys/socket.h>

/* Approximate memory of a connection without its messages. */
#define SESSION_BYTES ((int64_t)2 * 1024)
#define TLS_BYTES ((int64_t)16 * 1024)

/* --- states -------------------------------------------------------------------------------------- */

#define TO(state) (1u << KW_SESSION_##state)
static const unsigned moves[] = {
    [KW_SESSION_HANDSHAKE] = TO(OPEN) | TO(CLOSING),
    [KW_SESSION_OPEN] = TO(FINISHING) | TO(CLOSING),
    [KW_SESSION_FINISHING] = TO(LINGERING) | TO(CLOSING),
    [KW_SESSION_LINGERING] = TO(CLOSING),
    [KW_SESSION_CLOSING] = TO(GONE),
    [KW_SESSION_GONE] = 0,
};

static void
session_free(kw_session *session)
{
    kw_net_worker *worker = session->worker;
    g_assert(session->state == KW_SESSION_GONE && !session->first && session->requests == 0);
    g_assert(!session->dirty && session->held_bytes == 0 && session->held_replies == 0);
    if (session->previous)
        session->previous->next = session->next;
    else
        worker->sessions = session->next;
    if (session->next)
        session->next->previous = session->previous;
    kw_account_charge(session->account, KW_MEMORY_FRAMES, -(SESSION_BYTES + (session->tls ? TLS_BYTES : 0)));
    if (session->has_grants)
        kw_account_charge(session->account, KW_MEMORY_FRAMES, -KW_GRANTS_BYTES);
    kw_tls_free(session->tls);
    kw_principal_free(session->principal);
    kw_grants_free(session->grants);
    kw_account_unref(session->account);
    g_free(session->own_refusal);
    g_free(session);
}

/* Frees what only an open connection needs; the rest is kept for the requests in flight. */
static void
session_gone(kw_session *session)
{
    kw_net_worker *worker = session->worker;
    g_assert(worker->open_sessions > 0 && worker->paused >= session->paused);
    worker->open_sessions--;
    worker->paused -= session->paused;
    session->paused = false;
    kw_session_uncount(session);
    kw_frame_unref(&worker->frames, session->frame);
    session->frame = NULL;
    kw_relief_end_message(session, 0);
    kw_wire_reader_free(session->reader);
    kw_buffer_clear(&session->output);
    kw_buffer_clear(&session->sending);
    session->output_at = session->sending_at = 0; /* calls that still run ask how much is unsent */
    for (kw_request *request = session->first; request; request = request->next) {
        session->held_replies -= request->held.capacity;
        kw_buffer_clear(&request->held);
    }
    kw_request_move_replies(session); /* drops the answered requests */
    kw_output_charge(session);
}

void
kw_session_move(kw_session *session, kw_session_state to)
{
    g_assert(moves[session->state] & (1u << to));
    session->state = to;
    if (to == KW_SESSION_GONE)
        session_gone(session);
}

void
kw_session_release(kw_session *session)
{
    if (session->state != KW_SESSION_GONE || session->requests > 0 || session->dirty || session->dispatching)
        return;
    session_free(session);
}

static void
on_closed(uv_handle_t *handle)
{
    kw_session *session = handle->data;
    kw_net_worker *worker = session->worker;
    kw_session_move(session, KW_SESSION_GONE);
    kw_session_release(session);
    kw_net_worker_settle(worker);
}

void
kw_session_close(kw_session *session)
{
    if (session->state >= KW_SESSION_CLOSING)
        return;
    kw_session_move(session, KW_SESSION_CLOSING);
    kw_session_note_left(session);
    uv_close((uv_handle_t *)&session->handle, on_closed);
}

/* The handler ends requests, which can close and free sessions. So kw_session_update calls it. */
void
kw_session_note_left(kw_session *session)
{
    if (session->left)
        return;
    session->left = true;
    kw_account_set_client_gone(session->account);
    if (session->first)
        kw_session_mark_dirty(session);
}

static bool
nothing_in_flight(const kw_session *session)
{
    return !session->first && kw_output_unsent(session) == 0 && !session->sending_now;
}

/* Reads and drops further input until the peer has closed its side. */
static void
linger(kw_session *session)
{
    uv_os_fd_t socket = -1;
    kw_session_move(session, KW_SESSION_LINGERING);
    session->message_ms = uv_now(session->handle.loop);
    uv_fileno((uv_handle_t *)&session->handle, &socket);
    shutdown(socket, SHUT_WR);
    kw_session_start(session);
}

void
kw_session_finish(kw_session *session)
{
    if (session->state == KW_SESSION_HANDSHAKE) {
        kw_session_close(session);
        return;
    }
    if (session->state == KW_SESSION_OPEN) {
        kw_session_stop_reading(session);
        kw_session_move(session, KW_SESSION_FINISHING);
    }
    if (session->state != KW_SESSION_FINISHING || session->dispatching || !nothing_in_flight(session))
        return;
    kw_output_close_tls(session);
    if (session->sending_now) /* the close notification is still being sent */
        return;
    if (session->state == KW_SESSION_FINISHING && kw_session_must_linger(session))
        linger(session);
    else
        kw_session_close(session);
}

void
kw_session_stop_input(kw_session *session)
{
    if (session->state != KW_SESSION_OPEN) {
        kw_session_finish(session);
        return;
    }
    kw_session_stop_reading(session);
    session->input_stopped = true;
    kw_session_mark_dirty(session);
}

void
kw_session_break(kw_session *session, const char *reason)
{
    kw_net_worker_log_broken(session->worker, session->peer, reason);
    kw_session_finish(session);
}

size_t
kw_session_unparsed(const kw_session *session)
{
    return session->frame ? session->frame->filled - session->start : 0;
}

void
kw_session_mark_dirty(kw_session *session)
{
    kw_net_worker *worker = session->worker;
    if (session->dirty)
        return;
    session->dirty = true;
    session->next_dirty = worker->dirty;
    if (!worker->dirty)
        kw_net_worker_wake(worker);
    worker->dirty = session;
}

/* --- creation ------------------------------------------------------------------------------------ */

kw_session *
kw_session_new(kw_net_worker *worker)
{
    kw_session *session = g_new0(kw_session, 1);
    session->worker = worker;
    session->account = kw_account_new();
    kw_account_charge(session->account, KW_MEMORY_FRAMES, SESSION_BYTES);
    uv_tcp_init(kw_loop_uv(worker->loop), &session->handle);
    session->handle.data = session;
    session->active_ms = uv_now(kw_loop_uv(worker->loop));
    session->next = worker->sessions;
    if (worker->sessions)
        worker->sessions->previous = session;
    worker->sessions = session;
    worker->open_sessions++;
    return session;
}

void
kw_session_set_tls(kw_session *session, kw_tls *tls)
{
    session->tls = tls;
    kw_account_charge(session->account, KW_MEMORY_FRAMES, TLS_BYTES);
}

void
kw_session_set_principal(kw_session *session, kw_principal *principal)
{
    g_assert(!session->principal && !session->first && session->requests == 0);
    session->principal = principal;
}
