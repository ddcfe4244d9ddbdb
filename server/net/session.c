/* Sessions: reading, parsing, back-pressure and all changes of state.
 *
 *   read -> frame -> kw_wire_reader -> request -> handler ... -> reply -> output -> write
 *
 * The handler gets each message as a slice of its frame. The reply to the oldest request is encoded
 * directly into `output`; each other reply is encoded into the buffer of its request. Reading pauses while
 * too many messages or bytes are in flight, while the peer does not read its replies, or while memory is
 * short and the session holds more than its share.
 */
#include "net/session.h"

#include "base/log.h"
#include "net/output.h"

#include <glib.h>
#include <stdatomic.h>
#include <sys/socket.h>

/* Reading pauses while more bytes of replies are unsent. */
#define UNSENT_MAX ((size_t)1024 * 1024)
/* Minimum free space in a block for a read directly into it; a smaller read is not worth its system
 * call. */
#define READ_MIN ((size_t)2048)
/* Maximum number of reads by one call of kw_session_read_rest. */
#define REST_PIECES_MAX 64
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
    kw_tls_free(session->tls);
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
    kw_wire_reader_free(session->reader);
    kw_buffer_clear(&session->output);
    kw_buffer_clear(&session->sending);
    for (kw_request *request = session->first; request; request = request->next) {
        session->held_replies -= request->held.capacity;
        kw_buffer_clear(&request->held);
    }
    kw_request_move_replies(session); /* drops the answered requests */
    kw_output_charge(session);
}

static void
session_move(kw_session *session, kw_session_state to)
{
    g_assert(moves[session->state] & (1u << to));
    session->state = to;
    if (to == KW_SESSION_GONE)
        session_gone(session);
}

void
kw_session_release(kw_session *session)
{
    if (session->state != KW_SESSION_GONE || session->requests > 0 || session->dirty)
        return;
    session_free(session);
}

static void
on_closed(uv_handle_t *handle)
{
    kw_session *session = handle->data;
    kw_net_worker *worker = session->worker;
    session_move(session, KW_SESSION_GONE);
    kw_session_release(session);
    kw_net_worker_settle(worker);
}

void
kw_session_close(kw_session *session)
{
    if (session->state >= KW_SESSION_CLOSING)
        return;
    session_move(session, KW_SESSION_CLOSING);
    kw_account_leave(session->account);
    uv_close((uv_handle_t *)&session->handle, on_closed);
}

static void on_allocate(uv_handle_t *handle, size_t suggested, uv_buf_t *ret_buffer);
static void on_read(uv_stream_t *stream, ssize_t got, const uv_buf_t *buffer);

static void
stop_reading(kw_session *session)
{
    if (session->reading)
        uv_read_stop((uv_stream_t *)&session->handle);
    session->reading = false;
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
    session_move(session, KW_SESSION_LINGERING);
    session->message_ms = uv_now(session->handle.loop);
    uv_fileno((uv_handle_t *)&session->handle, &socket);
    shutdown(socket, SHUT_WR);
    session->reading = true;
    uv_read_start((uv_stream_t *)&session->handle, on_allocate, on_read);
}

void
kw_session_finish(kw_session *session)
{
    if (session->state == KW_SESSION_HANDSHAKE) {
        kw_session_close(session);
        return;
    }
    if (session->state == KW_SESSION_OPEN) {
        stop_reading(session);
        session_move(session, KW_SESSION_FINISHING);
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
    stop_reading(session);
    session->input_ended = true;
    kw_session_mark_dirty(session);
}

void
kw_session_break(kw_session *session, const char *reason)
{
    kw_net_worker_log_broken(session->worker, session->peer, reason);
    kw_session_finish(session);
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

/* --- input --------------------------------------------------------------------------------------- */

static bool
can_accept(kw_session *session)
{
    const kw_net_limits *limits = &session->worker->limits;
    return session->state == KW_SESSION_OPEN && session->requests < limits->in_flight &&
           session->held_bytes <= limits->frame_bytes && kw_output_unsent(session) <= UNSENT_MAX &&
           !kw_session_is_paused(session);
}

static size_t
unparsed(const kw_session *session)
{
    return session->frame ? session->frame->filled - session->start : 0;
}

/* Makes space for the message at session->start. This can move the message to the start of a new block. */
static void
reserve(kw_session *session, size_t needed, size_t wanted)
{
    kw_frame *frame = session->frame;
    session->frame = kw_frame_reserve(&session->worker->frames, frame, &session->start, needed, wanted);
}

/* Passes the next message to the handler if it is complete. False if more bytes are needed or the input is
 * malformed. */
static bool
parse_one(kw_session *session)
{
    kw_net_worker *worker = session->worker;
    kw_frame *frame = session->frame;
    kw_bytes payload;
    size_t consumed = 0, wanted = 0;
    kw_error error = KW_ERROR_NONE;
    kw_bytes input = kw_bytes_of(frame->data + session->start, unparsed(session));
    switch (kw_wire_reader_next(session->reader, input, &payload, &consumed, &wanted, &error)) {
    case KW_WIRE_MORE:
        if (session->message_ms == 0)
            session->message_ms = uv_now(session->handle.loop);
        reserve(session, input.size + 1, MAX(wanted, input.size + READ_MIN));
        return false;
    case KW_WIRE_BROKEN:
        kw_session_break(session, error.text);
        return false;
    case KW_WIRE_MESSAGE:
        break;
    }
    session->start += consumed;
    session->message_ms = 0;
    worker->net->handler.request(worker->state, kw_request_new(session, payload));
    return true;
}

/* Releases the block if it has no unparsed bytes, so that an idle session holds no block. If messages in
 * flight still use the block, keeps it as long as it has space for further reads. */
static void
settle_frame(kw_session *session)
{
    kw_frame *frame = session->frame;
    if (!frame || unparsed(session) > 0)
        return;
    if (frame->refs > 1 && frame->capacity - frame->filled >= READ_MIN)
        return;
    kw_frame_unref(&session->worker->frames, frame);
    session->frame = NULL;
    session->start = 0;
}

static void
session_parse(kw_session *session)
{
    session->dispatching = true;
    while (unparsed(session) > 0 && can_accept(session) && parse_one(session))
        continue;
    session->dispatching = false;
    session->held_back = unparsed(session) > 0 && session->state == KW_SESSION_OPEN && !can_accept(session);
    settle_frame(session);
}

/* The rest of a partial message is read directly into its block. All other input is read into the loop's
 * scratch memory and copied into a block of matching size. Copying a few hundred bytes is cheaper than one
 * large block per call in flight, because such blocks would not fit into the CPU caches. */
static void
on_allocate(uv_handle_t *handle, size_t suggested, uv_buf_t *ret_buffer)
{
    (void)suggested;
    kw_session *session = handle->data;
    kw_net_worker *worker = session->worker;
    kw_frame *frame = session->frame;
    size_t space = frame && !session->tls && unparsed(session) > 0 ? frame->capacity - frame->filled : 0;
    if (space >= READ_MIN)
        *ret_buffer = uv_buf_init((char *)frame->data + frame->filled, (unsigned)MIN(space, UINT32_MAX / 2));
    else
        *ret_buffer = uv_buf_init((char *)worker->scratch, KW_NET_WORKER_SCRATCH);
}

/* Appends plain bytes to the session's block. */
static void
append_plain(kw_session *session, kw_bytes plain)
{
    kw_frame_pool *frames = &session->worker->frames;
    if (plain.size == 0)
        return;
    if (!session->frame)
        session->frame = kw_frame_take(frames, plain.size, session->account);
    size_t all = unparsed(session) + plain.size;
    reserve(session, all, all);
    kw_frame *frame = session->frame;
    g_assert(frame->capacity - frame->filled >= plain.size);
    memcpy(frame->data + frame->filled, plain.data, plain.size);
    frame->filled += plain.size;
}

static void
decrypt(kw_session *session, kw_bytes encrypted)
{
    kw_net_worker *worker = session->worker;
    kw_error error = KW_ERROR_NONE;
    bool closed = false;
    worker->plain.size = 0;
    if (!kw_tls_receive(session->tls, encrypted, &worker->plain, &closed, &error)) {
        kw_output_flush(session); /* sends the TLS alert */
        kw_session_break(session, error.text);
        return;
    }
    if (session->state == KW_SESSION_HANDSHAKE && kw_tls_established(session->tls)) {
        session_move(session, KW_SESSION_OPEN);
        session->message_ms = 0;
        kw_session_identify(session);
    }
    append_plain(session, kw_buffer_bytes(&worker->plain));
    if (closed) {
        stop_reading(session);
        session->input_over = true;
    }
}

static void
log_half_message(kw_session *session, const char *why)
{
    char reason[120];
    if (session->message_ms == 0)
        return;
    g_snprintf(reason, sizeof reason, "%s in the middle of a %s", why,
               session->state == KW_SESSION_HANDSHAKE ? "TLS handshake" : "message");
    kw_net_worker_log_broken(session->worker, session->peer, reason);
}

static void
on_read(uv_stream_t *stream, ssize_t got, const uv_buf_t *buffer)
{
    kw_session *session = stream->data;
    if (session->state == KW_SESSION_LINGERING) {
        if (got < 0)
            kw_session_close(session);
        return;
    }
    if (got < 0 && (got != UV_EOF || session->state == KW_SESSION_HANDSHAKE)) {
        log_half_message(session, got == UV_EOF ? "closed by the peer" : uv_strerror((int)got));
        kw_session_close(session);
        return;
    }
    if (got == UV_EOF) {
        stop_reading(session);
        session->input_over = true;
    } else if (got > 0) {
        kw_metrics_add(KW_METRIC_bytes_in, got);
        session->active_ms = uv_now(stream->loop);
        if (session->tls)
            decrypt(session, kw_bytes_of(buffer->base, (size_t)got));
        else if ((uint8_t *)buffer->base == session->worker->scratch)
            append_plain(session, kw_bytes_of(buffer->base, (size_t)got));
        else
            session->frame->filled += (size_t)got;
    }
    session_parse(session);
    kw_session_update(session);
}

/* Stops or resumes reading, depending on what is in flight. A pause does not count for the time limit
 * of a partial message, unless memory was short: then a partial message must not hold memory for longer
 * than the limit. */
static void
update_reading(kw_session *session)
{
    bool wanted = session->state == KW_SESSION_HANDSHAKE || can_accept(session);
    if (session->state > KW_SESSION_OPEN || session->input_over || session->input_ended ||
        wanted == session->reading)
        return;
    if (!wanted) {
        stop_reading(session);
        return;
    }
    session->active_ms = uv_now(session->handle.loop);
    if (session->message_ms > 0 && !session->was_paused)
        session->message_ms = session->active_ms;
    session->was_paused = false;
    kw_session_start(session);
}

void
kw_session_start(kw_session *session)
{
    session->reading = true;
    uv_read_start((uv_stream_t *)&session->handle, on_allocate, on_read);
}

/* Finishes a session whose input has ended, after all its messages have been passed to the handler. */
static void
end_input(kw_session *session)
{
    if (!(session->input_over || session->input_ended) || session->held_back ||
        session->state != KW_SESSION_OPEN)
        return;
    if (session->input_over)
        log_half_message(session, "closed by the peer");
    kw_session_finish(session);
}

void
kw_session_update(kw_session *session)
{
    if (session->state == KW_SESSION_GONE) {
        kw_net_worker *worker = session->worker;
        kw_session_release(session);
        kw_net_worker_settle(worker);
        return;
    }
    if (session->state >= KW_SESSION_LINGERING)
        return;
    do {
        if (session->held_back && can_accept(session))
            session_parse(session);
        end_input(session);
        kw_output_flush(session);
    } while (session->held_back && can_accept(session));
    if (session->state == KW_SESSION_FINISHING)
        kw_session_finish(session);
    settle_frame(session);
    update_reading(session);
    kw_output_charge(session);
}

/* Most clients wait for a reply before they send their next call. If no other call of the session is in
 * flight, the reply is sent at once, while it and the socket are in the CPU caches. Otherwise replies are
 * collected and sent together. */
void
kw_session_answered(kw_session *session)
{
    if (session->dispatching)
        return;
    if (session->requests > 0 || session->state != KW_SESSION_OPEN || session->held_back ||
        session->input_over || session->input_ended) {
        kw_session_mark_dirty(session);
        return;
    }
    kw_output_flush(session);
    settle_frame(session);
    update_reading(session);
    kw_output_charge(session);
}

/* Reads as the loop would, until the socket has no more input, reading stops, or REST_PIECES_MAX is
 * reached. */
void
kw_session_read_rest(kw_session *session)
{
    uv_stream_t *stream = (uv_stream_t *)&session->handle;
    uv_os_fd_t socket = -1;
    if (!session->reading || uv_fileno((uv_handle_t *)&session->handle, &socket) != 0)
        return;
    for (int i = 0; i < REST_PIECES_MAX && session->reading && session->state <= KW_SESSION_OPEN; i++) {
        uv_buf_t piece;
        on_allocate((uv_handle_t *)stream, KW_NET_WORKER_SCRATCH, &piece);
        ssize_t got = recv(socket, piece.base, piece.len, MSG_DONTWAIT);
        if (got <= 0) /* the loop will see the end or the error again */
            return;
        on_read(stream, got, &piece);
    }
}

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
