#include "net/output.h"

#include "base/counters.h"
#include "base/log.h"

#include <glib.h>

/* Larger buffers are not worth keeping. */
#define SPARE_BYTES_MAX ((size_t)256 * 1024)

void
kw_output_prepare(kw_session *session)
{
    kw_lane *lane = session->lane;
    if (session->output.capacity == 0 && lane->spare_outputs_count > 0)
        session->output = lane->spare_outputs[--lane->spare_outputs_count];
}

static void
give_back(kw_lane *lane, kw_buffer *buffer)
{
    buffer->size = 0;
    if (buffer->capacity == 0 || buffer->capacity > SPARE_BYTES_MAX ||
        lane->spare_outputs_count == KW_LANE_SPARE_OUTPUTS) {
        kw_buffer_clear(buffer);
        return;
    }
    lane->spare_outputs[lane->spare_outputs_count++] = *buffer;
    *buffer = KW_BUFFER_EMPTY;
}

size_t
kw_output_unsent(const kw_session *session)
{
    return session->output.size + session->sending.size;
}

static void
on_written(uv_write_t *write, int status)
{
    kw_session *session = write->data;
    session->sending_now = false;
    session->queued = 0;
    give_back(session->lane, &session->sending);
    if (session->state >= KW_SESSION_CLOSING)
        return;
    if (status < 0) {
        kw_log(KW_LOG_DEBUG, "net", "peer lost", "peer=%s reason=\"%s\"", session->peer, uv_strerror(status));
        kw_session_close(session);
        return;
    }
    session->active_ms = uv_now(session->handle.loop);
    kw_session_turn(session);
}

/* False: the connection cannot carry it any more. */
static bool
fill_sending(kw_session *session)
{
    kw_error error = KW_ERROR_NONE;
    if (!session->tls) {
        session->sending = session->output;
        session->output = KW_BUFFER_EMPTY;
        return true;
    }
    if (session->output.size > 0) {
        bool sent = kw_tls_send(session->tls, kw_buffer_bytes(&session->output), &error);
        give_back(session->lane, &session->output);
        if (!sent)
            return false;
    }
    kw_tls_take_output(session->tls, &session->sending);
    return true;
}

/* What the socket does not take at once is libuv's to send. */
static void
send_bytes(kw_session *session)
{
    uv_stream_t *stream = (uv_stream_t *)&session->handle;
    kw_buffer *sending = &session->sending;
    uv_buf_t piece = uv_buf_init((char *)sending->data, (unsigned)sending->size);
    int sent = uv_try_write(stream, &piece, 1);
    if (sent == UV_EAGAIN)
        sent = 0;
    if (sent < 0) {
        kw_log(KW_LOG_DEBUG, "net", "peer lost", "peer=%s reason=\"%s\"", session->peer, uv_strerror(sent));
        kw_session_close(session);
        return;
    }
    kw_counters_add(KW_FIGURE_bytes_out, (int64_t)sending->size);
    if ((size_t)sent == sending->size) {
        session->active_ms = uv_now(stream->loop);
        give_back(session->lane, sending);
        return;
    }
    piece = uv_buf_init((char *)sending->data + sent, (unsigned)(sending->size - (size_t)sent));
    session->write.data = session;
    session->sending_now = true;
    session->queued = piece.len;
    session->active_ms = uv_now(stream->loop);
    uv_write(&session->write, stream, &piece, 1, on_written);
}

void
kw_output_flush(kw_session *session)
{
    if (session->sending_now || session->state >= KW_SESSION_CLOSING)
        return;
    if (!fill_sending(session)) {
        kw_session_close(session);
        return;
    }
    if (session->sending.size > 0)
        send_bytes(session);
    else
        give_back(session->lane, &session->sending);
}

void
kw_output_note_progress(kw_session *session, uint64_t now_ms)
{
    if (!session->sending_now || session->state >= KW_SESSION_CLOSING)
        return;
    size_t queued = uv_stream_get_write_queue_size((uv_stream_t *)&session->handle);
    if (queued < session->queued)
        session->active_ms = now_ms;
    session->queued = queued;
}

void
kw_output_say_goodbye(kw_session *session)
{
    if (!session->tls || session->state >= KW_SESSION_CLOSING)
        return;
    kw_tls_shutdown(session->tls);
    kw_output_flush(session);
}
