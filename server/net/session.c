/* Sessions: reading, parsing, order of replies, back-pressure, and the one mover of states.
 *
 *   read -> frame -> kw_wire_reader -> request -> handler ... -> reply -> output -> write
 *
 * A message is handed out as a slice of its frame. Replies are encoded straight into `output` when
 * their turn has come, else into the request's own buffer. A session is not read from while too many
 * messages or bytes are in flight, while its peer does not take its replies, or while memory is short and it
 * holds more than its share.
 */
#include "net/session.h"

#include "base/log.h"
#include "net/output.h"

#include <glib.h>
#include <stdatomic.h>
#include <sys/socket.h>

/* Unsent bytes beyond which a session is not read from. */
#define UNSENT_MAX ((size_t)1024 * 1024)
/* A read is not worth its system call into less room than this. */
#define READ_MIN ((size_t)2048)
/* When draining, what has arrived is read in at most so many pieces. */
#define REST_PIECES_MAX 64
/* Memory of a connection besides its messages, about. */
#define SESSION_BYTES ((int64_t)2 * 1024)
#define TLS_BYTES ((int64_t)16 * 1024)

/* --- states ----------------------------------------------------------------------------------- */

#define MAY(state) (1u << KW_SESSION_##state)
static const unsigned moves[] = {
    [KW_SESSION_HANDSHAKE] = MAY(OPEN) | MAY(CLOSING),
    [KW_SESSION_OPEN] = MAY(FINISHING) | MAY(CLOSING),
    [KW_SESSION_FINISHING] = MAY(LINGERING) | MAY(CLOSING),
    [KW_SESSION_LINGERING] = MAY(CLOSING),
    [KW_SESSION_CLOSING] = MAY(GONE),
    [KW_SESSION_GONE] = 0,
};

static void
session_free(kw_session *session)
{
    kw_net_worker *worker = session->worker;
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

/* What only a socket needs goes with it; the rest stays for the requests in flight. */
static void
session_gone(kw_session *session)
{
    kw_net_worker *worker = session->worker;
    worker->open_sessions--;
    worker->paused -= session->paused;
    session->paused = false;
    kw_session_discount(session);
    kw_frame_unref(&worker->frames, session->frame);
    session->frame = NULL;
    kw_wire_reader_free(session->reader);
    kw_buffer_clear(&session->output);
    kw_buffer_clear(&session->sending);
    for (kw_request *request = session->first; request; request = request->next) {
        session->held_replies -= request->held.capacity;
        kw_buffer_clear(&request->held);
    }
    kw_request_hand_on(session); /* those that were answered and not sent */
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

/* What comes from now on is read and dropped, until the peer has closed its side. */
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
    kw_output_say_goodbye(session);
    if (session->sending_now) /* the goodbye follows */
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

/* --- input ------------------------------------------------------------------------------------ */

static bool
may_hand_out(kw_session *session)
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

/* Room for a message at session->start, which moves to the head of a new block. */
static void
make_room(kw_session *session, size_t needed, size_t wanted)
{
    kw_frame *frame = session->frame;
    session->frame = kw_frame_make_room(&session->worker->frames, frame, &session->start, needed, wanted);
}

/* The next message, if it is whole. False: nothing to do until more bytes came. */
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
        make_room(session, input.size + 1, MAX(wanted, input.size + READ_MIN));
        return false;
    case KW_WIRE_BROKEN:
        kw_session_break(session, error.text);
        return false;
    case KW_WIRE_MESSAGE:
        break;
    }
    session->start += consumed;
    session->message_ms = 0;
    worker->net->handler.request(worker->state, kw_request_take(session, payload));
    return true;
}

/* An idle session has no block. One that messages in flight still hold is read into as long as it has room.
 */
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
    while (unparsed(session) > 0 && may_hand_out(session) && parse_one(session))
        continue;
    session->dispatching = false;
    session->held_back = unparsed(session) > 0 && session->state == KW_SESSION_OPEN && !may_hand_out(session);
    settle_frame(session);
}

/* The rest of a message that is half here goes where it belongs. Anything else is read into the loop's own
 * piece of memory and copied from there into a block of fitting size: a copy of some hundred bytes costs
 * less than a large block per call in flight does, for the caches. */
static void
on_allocate(uv_handle_t *handle, size_t suggested, uv_buf_t *ret_buffer)
{
    (void)suggested;
    kw_session *session = handle->data;
    kw_net_worker *worker = session->worker;
    kw_frame *frame = session->frame;
    size_t room = frame && !session->tls && unparsed(session) > 0 ? frame->capacity - frame->filled : 0;
    if (room >= READ_MIN)
        *ret_buffer = uv_buf_init((char *)frame->data + frame->filled, (unsigned)MIN(room, UINT32_MAX / 2));
    else
        *ret_buffer = uv_buf_init((char *)worker->scratch, KW_NET_WORKER_SCRATCH);
}

/* Bytes join what is buffered. */
static void
take_plain(kw_session *session, kw_bytes plain)
{
    kw_frame_pool *frames = &session->worker->frames;
    if (plain.size == 0)
        return;
    if (!session->frame)
        session->frame = kw_frame_take(frames, plain.size, session->account);
    size_t all = unparsed(session) + plain.size;
    make_room(session, all, all);
    kw_frame *frame = session->frame;
    g_assert(frame->capacity - frame->filled >= plain.size);
    memcpy(frame->data + frame->filled, plain.data, plain.size);
    frame->filled += plain.size;
}

static void
take_network(kw_session *session, kw_bytes network)
{
    kw_net_worker *worker = session->worker;
    kw_error error = KW_ERROR_NONE;
    bool closed = false;
    worker->plain.size = 0;
    if (!kw_tls_receive(session->tls, network, &worker->plain, &closed, &error)) {
        kw_output_flush(session); /* the alert that says why */
        kw_session_break(session, error.text);
        return;
    }
    if (session->state == KW_SESSION_HANDSHAKE && kw_tls_established(session->tls)) {
        session_move(session, KW_SESSION_OPEN);
        session->message_ms = 0;
        kw_session_identify(session);
    }
    take_plain(session, kw_buffer_bytes(&worker->plain));
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
            take_network(session, kw_bytes_of(buffer->base, (size_t)got));
        else if ((uint8_t *)buffer->base == session->worker->scratch)
            take_plain(session, kw_bytes_of(buffer->base, (size_t)got));
        else
            session->frame->filled += (size_t)got;
    }
    session_parse(session);
    kw_session_turn(session);
}

/* Reading stops and goes on with what is in flight; the time that it stood still does not count, unless
 * memory was short: then half a message must not stay for longer than it may. */
static void
steer_reading(kw_session *session)
{
    bool wanted = session->state == KW_SESSION_HANDSHAKE || may_hand_out(session);
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

/* No more is read, and all that was read was handed out. */
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
kw_session_turn(kw_session *session)
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
        if (session->held_back && may_hand_out(session))
            session_parse(session);
        end_input(session);
        kw_output_flush(session);
    } while (session->held_back && may_hand_out(session));
    if (session->state == KW_SESSION_FINISHING)
        kw_session_finish(session);
    settle_frame(session);
    steer_reading(session);
    kw_output_charge(session);
}

/* Most callers wait for their reply before they send more: theirs goes out at once, while it and the socket
 * are in the caches. Replies that others still follow leave together. */
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
    steer_reading(session);
    kw_output_charge(session);
}

/* As if the loop had found the socket ready to be read, until nothing is there. */
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
        if (got <= 0) /* an end or an error is met again by the loop */
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
kw_session_take_tls(kw_session *session, kw_tls *tls)
{
    session->tls = tls;
    kw_account_charge(session->account, KW_MEMORY_FRAMES, TLS_BYTES);
}
