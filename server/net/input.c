/* The input of a session: reading, parsing, back-pressure, and the order of the work that is due.
 *
 *   read -> frame -> kw_wire_reader -> request -> handler ... -> reply -> output -> write
 *
 * The handler gets each message as a slice of its frame. The reply to the oldest request is encoded
 * directly into `output`; each other reply is encoded into the buffer of its request. Reading pauses while
 * too many messages or bytes are in flight, while the peer does not read its replies, or while memory is
 * short and the session holds too much of it.
 */
#include "net/session.h"

#include "base/log.h"
#include "base/stall.h"
#include "net/output.h"
#include "net/relief.h"

#include <glib.h>
#include <poll.h>
#include <sys/socket.h>

/* Reading pauses while more bytes of replies are unsent. */
#define UNSENT_MAX ((size_t)1024 * 1024)
/* How long one session's messages are passed to the handler before other sessions are served. */
#define PARSE_NS UINT64_C(1000000)
/* Maximum number of reads by one call of kw_session_read_rest. */
#define REST_PIECES_MAX 64

void
kw_session_stop_reading(kw_session *session)
{
    if (session->reading)
        uv_read_stop((uv_stream_t *)&session->handle);
    session->reading = false;
}

static bool
can_accept(kw_session *session)
{
    const kw_net_limits *limits = &session->worker->limits;
    return session->state == KW_SESSION_OPEN && session->requests < limits->in_flight &&
           session->held_bytes <= limits->frame_bytes && kw_output_unsent(session) <= UNSENT_MAX &&
           !kw_relief_update_paused(session);
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
    kw_bytes input = kw_bytes_of(frame->data + session->start, kw_session_unparsed(session));
    switch (kw_wire_reader_next(session->reader, input, &payload, &consumed, &wanted, &error)) {
    case KW_WIRE_MORE:
        kw_relief_continue_message(session, wanted);
        return false;
    case KW_WIRE_BROKEN:
        kw_session_break(session, error.text);
        return false;
    case KW_WIRE_MESSAGE:
        break;
    }
    session->start += consumed;
    kw_relief_end_message(session, consumed);
    worker->net->handler.request(worker->state, kw_request_new(session, payload));
    return true;
}

/* Releases the block if it has no unparsed bytes, so that an idle session holds no block. If messages in
 * flight still use the block, keeps it as long as it has space for further reads. */
static void
settle_frame(kw_session *session)
{
    kw_frame *frame = session->frame;
    if (!frame || kw_session_unparsed(session) > 0)
        return;
    if (frame->refs > 1 && frame->capacity - frame->filled >= KW_FRAME_READ_MIN)
        return;
    kw_frame_unref(&session->worker->frames, frame);
    session->frame = NULL;
    session->start = 0;
}

/* True if the time of the session is over. It begins with the first call of this function. */
static bool
is_over(uint64_t *until_ns)
{
    uint64_t now_ns = kw_clock_mono_ns();
    if (*until_ns == 0)
        *until_ns = now_ns + PARSE_NS;
    return now_ns >= *until_ns;
}

/* Passes messages to the handler. Returns true if the time of the session is over: then the caller continues
 * in the next iteration of the loop. */
static bool
session_parse(kw_session *session)
{
    uint64_t until_ns = 0;
    bool whole = true, over = false;
    session->dispatching = true;
    while (whole && !over && kw_session_unparsed(session) > 0 && can_accept(session)) {
        whole = parse_one(session);
        over = kw_session_unparsed(session) > 0 && is_over(&until_ns);
    }
    session->dispatching = false;
    session->held_back = whole && kw_session_unparsed(session) > 0 && session->state == KW_SESSION_OPEN;
    return over && session->held_back;
}

/* The rest of a partial message is read directly into its block. All other input is read into the loop's
 * scratch memory and copied into a block of matching size. Copying a few hundred bytes is cheaper than one
 * large block per call in flight, because such blocks would not fit into the CPU caches. TLS decrypts into
 * other memory, so its input is copied, too; a read then has at most the size of the block's free space. */
static void
on_allocate(uv_handle_t *handle, size_t suggested, uv_buf_t *ret_buffer)
{
    (void)suggested;
    kw_session *session = handle->data;
    kw_frame *frame = session->frame;
    bool is_partial = kw_session_unparsed(session) > 0;
    size_t space = is_partial ? frame->capacity - frame->filled : 0;
    if (space >= KW_FRAME_READ_MIN && !session->tls) {
        *ret_buffer = uv_buf_init((char *)frame->data + frame->filled, (unsigned)MIN(space, UINT32_MAX / 2));
        return;
    }
    size_t most = kw_relief_read_max(session);
    if (is_partial && session->tls)
        most = MIN(most, MAX(space, KW_FRAME_READ_MIN));
    *ret_buffer = uv_buf_init((char *)session->worker->scratch, (unsigned)most);
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
    size_t all = kw_session_unparsed(session) + plain.size;
    kw_frame *frame = kw_frame_reserve(frames, session->frame, &session->start, all, all);
    session->frame = frame;
    g_assert(frame->capacity - frame->filled >= plain.size);
    memcpy(frame->data + frame->filled, plain.data, plain.size);
    frame->filled += plain.size;
}

static void
note_end(kw_session *session)
{
    kw_session_stop_reading(session);
    session->peer_closed = true;
    kw_session_note_left(session);
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
        kw_session_move(session, KW_SESSION_OPEN);
        session->message_ms = 0;
        kw_session_identify(session);
    }
    append_plain(session, kw_buffer_bytes(&worker->plain));
    if (closed)
        note_end(session);
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
    kw_stall_step();
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
        note_end(session);
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

/* Stops or resumes reading, depending on what is in flight. After a pause, the time limit of a partial
 * message starts again, unless memory was short: then a partial message must not hold memory for longer than
 * the limit. */
static void
update_reading(kw_session *session)
{
    bool wanted = session->state == KW_SESSION_HANDSHAKE || (!session->held_back && can_accept(session));
    if (session->state > KW_SESSION_OPEN || session->peer_closed || session->input_stopped ||
        wanted == session->reading)
        return;
    if (!wanted) {
        kw_session_stop_reading(session);
        return;
    }
    session->active_ms = session->progress_ms = uv_now(session->handle.loop);
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
    if (!(session->peer_closed || session->input_stopped) || session->held_back ||
        session->state != KW_SESSION_OPEN)
        return;
    if (session->peer_closed)
        log_half_message(session, "closed by the peer");
    kw_session_finish(session);
}

void
kw_session_update(kw_session *session)
{
    bool over = false;
    if (session->left)
        kw_request_notify_left(session);
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
            over = session_parse(session);
        end_input(session);
        kw_output_flush(session);
    } while (!over && session->held_back && can_accept(session));
    if (over)
        kw_session_mark_dirty(session);
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
        session->peer_closed || session->input_stopped) {
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

void
kw_session_look_for_end(kw_session *session)
{
    struct pollfd socket = {.fd = -1, .events = POLLRDHUP};
    if (session->reading || session->left || session->state > KW_SESSION_FINISHING ||
        uv_fileno((uv_handle_t *)&session->handle, &socket.fd) != 0 || poll(&socket, 1, 0) <= 0)
        return;
    kw_session_note_left(session);
    if (!(socket.revents & (POLLERR | POLLHUP)))
        return;
    log_half_message(session, "connection reset by peer");
    kw_session_close(session);
}
