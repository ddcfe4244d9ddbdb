#include "net/output.h"

#include "base/log.h"

#include <glib.h>

/* Larger buffers are freed instead of kept as spares. */
#define SPARE_BYTES_MAX ((size_t)256 * 1024)
/* Maximum bytes to encrypt or write at once. */
#define PIECE_BYTES ((size_t)256 * 1024)

void
kw_output_prepare(kw_session *session)
{
    kw_net_worker *worker = session->worker;
    if (session->output.capacity == 0 && worker->spare_outputs_count > 0)
        session->output = worker->spare_outputs[--worker->spare_outputs_count];
}

static void
recycle(kw_net_worker *worker, kw_buffer *buffer)
{
    buffer->size = 0;
    if (buffer->capacity == 0 || buffer->capacity > kw_budget_spare(SPARE_BYTES_MAX) ||
        worker->spare_outputs_count == KW_NET_WORKER_SPARE_OUTPUTS) {
        kw_buffer_clear(buffer);
        return;
    }
    worker->spare_outputs[worker->spare_outputs_count++] = *buffer;
    *buffer = KW_BUFFER_EMPTY;
}

void
kw_output_charge(kw_session *session)
{
    size_t held = session->output.capacity + session->sending.capacity + session->held_replies;
    if (held == session->charged_replies)
        return;
    kw_account_charge(session->account, KW_MEMORY_REPLIES, (int64_t)held - (int64_t)session->charged_replies);
    session->charged_replies = held;
}

size_t
kw_output_unsent(const kw_session *session)
{
    g_assert(session->output_at <= session->output.size && session->sending_at <= session->sending.size);
    return session->output.size - session->output_at + session->sending.size - session->sending_at;
}

static void
on_peer_lost(kw_session *session, int status)
{
    kw_log(KW_LOG_DEBUG, "net", "peer lost", KW_LOG_FACT("peer", session->peer),
           KW_LOG_FACT("reason", uv_strerror(status)));
    kw_session_close(session);
}

static void
note_sent(kw_session *session, size_t size)
{
    kw_metrics_add(KW_METRIC_bytes_out, (int64_t)size);
    session->sending_at += size;
    g_assert(session->sending_at <= session->sending.size);
    session->active_ms = session->peer_read_ms = uv_now(session->handle.loop);
    if (session->sending_at < session->sending.size)
        return;
    session->sending_at = 0;
    recycle(session->worker, &session->sending);
    session->emptied += kw_output_unsent(session) == 0;
}

static void
on_written(uv_write_t *write, int status)
{
    kw_session *session = write->data;
    session->sending_now = false;
    session->queued = 0;
    if (session->state >= KW_SESSION_CLOSING)
        return;
    if (status < 0) {
        on_peer_lost(session, status);
        return;
    }
    note_sent(session, session->writing);
    kw_session_update(session);
}

static bool
encrypt_piece(kw_session *session)
{
    kw_error error = KW_ERROR_NONE;
    kw_bytes plain = kw_bytes_skip(kw_buffer_bytes(&session->output), session->output_at);
    plain.size = MIN(plain.size, PIECE_BYTES);
    if (plain.size > 0 && !kw_tls_send(session->tls, plain, &error))
        return false;
    session->output_at += plain.size;
    if (session->output_at == session->output.size) {
        session->output_at = 0;
        recycle(session->worker, &session->output);
    }
    kw_tls_move_output(session->tls, &session->sending);
    return true;
}

/* Moves or encrypts replies into `sending` if it is empty. False if the TLS connection is lost. */
static bool
fill_sending(kw_session *session)
{
    if (session->sending.size > 0)
        return true;
    if (session->tls)
        return encrypt_piece(session);
    kw_buffer_clear(&session->sending);
    session->sending = session->output;
    session->output = KW_BUFFER_EMPTY;
    return true;
}

static uv_buf_t
next_piece(const kw_session *session)
{
    size_t rest = session->sending.size - session->sending_at;
    return uv_buf_init((char *)session->sending.data + session->sending_at, (unsigned)MIN(rest, PIECE_BYTES));
}

/* Writes one piece only, because the loop must serve other sessions, too. If the socket does not accept all
 * of it, libuv writes the rest later. */
static void
send_piece(kw_session *session)
{
    uv_stream_t *stream = (uv_stream_t *)&session->handle;
    uv_buf_t piece = next_piece(session);
    size_t size = piece.len;
    int sent = uv_try_write(stream, &piece, 1);
    if (sent < 0 && sent != UV_EAGAIN) {
        on_peer_lost(session, sent);
        return;
    }
    if (sent > 0)
        note_sent(session, (size_t)sent);
    if (sent > 0 && (size_t)sent == size)
        return;
    piece = next_piece(session);
    session->write.data = session;
    session->sending_now = true;
    session->queued = session->writing = piece.len;
    session->active_ms = session->peer_read_ms = uv_now(stream->loop);
    uv_write(&session->write, stream, &piece, 1, on_written);
}

static bool
has_more(const kw_session *session)
{
    return kw_output_unsent(session) > 0 || (session->first && session->first->done);
}

void
kw_output_flush(kw_session *session)
{
    if (session->sending_now || session->state >= KW_SESSION_LINGERING)
        return;
    kw_request_move_replies(session);
    if (!fill_sending(session)) {
        kw_session_close(session);
        return;
    }
    if (session->sending.size > 0)
        send_piece(session);
    else
        recycle(session->worker, &session->sending);
    if (!session->sending_now && session->state < KW_SESSION_LINGERING && has_more(session))
        kw_session_mark_dirty(session);
}

void
kw_output_note_progress(kw_session *session, uint64_t now_ms)
{
    if (!session->sending_now || session->state >= KW_SESSION_CLOSING)
        return;
    size_t queued = uv_stream_get_write_queue_size((uv_stream_t *)&session->handle);
    if (queued < session->queued)
        session->active_ms = session->peer_read_ms = now_ms;
    session->queued = queued;
}

void
kw_output_close_tls(kw_session *session)
{
    if (!session->tls || session->state >= KW_SESSION_LINGERING)
        return;
    kw_tls_shutdown(session->tls);
    kw_output_flush(session);
}
