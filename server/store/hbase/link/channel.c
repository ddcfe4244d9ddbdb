/* The messages of a channel. Requests are encoded into the buffer that is written to the socket. Replies are
 * decoded in the input buffer, and each must fit the oldest call in flight. */
#include "store/hbase/link/channel_private.h"
#include "store/hbase/thrift2/frames.h"

#include "base/metrics.h"
#include "base/stall.h"

#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>

/* A larger buffer is freed once it is empty. */
#define KEEP_BYTES ((size_t)4 * 1024 * 1024)

static void
shrink(kw_buffer *buffer)
{
    if (buffer->size == 0 && buffer->capacity > KEEP_BYTES)
        kw_buffer_clear(buffer);
}

void
kw_hbase_channel_charge(kw_hbase_channel *channel)
{
    size_t held = channel->plain_out.capacity + channel->out.capacity + channel->writing.capacity +
                  channel->network_in.capacity + channel->in.capacity;
    if (held != channel->charged)
        kw_budget_charge(KW_MEMORY_STORE, (int64_t)held - (int64_t)channel->charged);
    channel->charged = held;
}

/* --- out -------------------------------------------------------------------------------------- */

static void
on_written(uv_write_t *request, int status)
{
    kw_hbase_channel *channel = request->data;
    channel->writing.size = 0;
    shrink(&channel->writing);
    if (channel->state >= KW_HBASE_CHANNEL_LOST)
        return;
    if (status < 0)
        kw_hbase_channel_close(channel, KW_HBASE_LOSS_CLOSED, "write: %s", uv_strerror(status));
    else
        kw_hbase_channel_flush(channel);
}

/* Passes the rest of `out`, after the first `done` bytes, to libuv's write queue. */
static void
write_rest(kw_hbase_channel *channel, size_t done)
{
    kw_buffer rest = channel->out;
    channel->out = channel->writing;
    channel->writing = rest;
    uv_buf_t piece = {.base = (char *)rest.data + done, .len = rest.size - done};
    channel->write.data = channel;
    int failed = uv_write(&channel->write, (uv_stream_t *)&channel->tcp, &piece, 1, on_written);
    if (failed)
        kw_hbase_channel_close(channel, KW_HBASE_LOSS_CLOSED, "write: %s", uv_strerror(failed));
}

void
kw_hbase_channel_flush(kw_hbase_channel *channel)
{
    if (channel->tls)
        kw_tls_move_output(channel->tls, &channel->out);
    if (channel->out.size == 0 || channel->writing.size != 0 || channel->state >= KW_HBASE_CHANNEL_LOST)
        return;
    uv_buf_t piece = {.base = (char *)channel->out.data, .len = channel->out.size};
    int written = uv_try_write((uv_stream_t *)&channel->tcp, &piece, 1);
    if (written < 0 && written != UV_EAGAIN) {
        kw_hbase_channel_close(channel, KW_HBASE_LOSS_CLOSED, "write: %s", uv_strerror(written));
    } else if (written >= 0 && (size_t)written == channel->out.size) {
        channel->out.size = 0;
        shrink(&channel->out);
    } else {
        write_rest(channel, written > 0 ? (size_t)written : 0);
    }
}

static bool
encode(kw_hbase_channel *channel, kw_hb_method method, const void *args, kw_error *ret_error)
{
    kw_wire_form form = channel->form;
    g_autoptr(kw_arena) arena = NULL;
    const kw_hb_THBaseService_createTable_args *framed_table = NULL;
    if (form.framed && method == KW_HB_THBaseService_createTable)
        args = framed_table = kw_hbase_frames_args(args, arena = kw_arena_new());
    kw_buffer *to = channel->tls ? &channel->plain_out : &channel->out;
    const kw_wire_method *row = &kw_hb_methods[method];
    size_t mark = kw_wire_frame_begin(to, form);
    kw_wire_message_encode(to, form.protocol, kw_bytes_of_text(row->name), KW_WIRE_CALL,
                           channel->next_sequence_id);
    kw_wire_struct_encode(to, form.protocol, row->args, args);
    size_t size = to->size - mark;
    size_t max = form.framed ? KW_HBASE_FRAME_MAX : KW_HBASE_REPLY_MAX;
    if (size > max) {
        to->size = mark;
        shrink(to);
        return kw_error_set(ret_error, KW_LIMIT,
                            "the request has %zu bytes; the Thrift2 servers accept at most %zu", size, max);
    }
    kw_wire_frame_end(to, form, mark);
    if (framed_table && framed_table->splitKeys.count)
        kw_hbase_frames_cut(to, mark, form.protocol, framed_table->splitKeys.items,
                            framed_table->splitKeys.count);
    return true;
}

static bool
send_message(kw_hbase_channel *channel, kw_hb_method method, const void *args, kw_hbase_call *call,
             kw_error *ret_error)
{
    g_assert(channel->in_flight < G_N_ELEMENTS(channel->expected));
    if (!encode(channel, method, args, ret_error))
        return false;
    uint32_t at = (channel->first_expected + channel->in_flight++) % G_N_ELEMENTS(channel->expected);
    channel->expected[at] =
        (kw_hbase_expected_reply){.sequence_id = channel->next_sequence_id, .method = method, .call = call};
    channel->next_sequence_id = channel->next_sequence_id == INT32_MAX ? 1 : channel->next_sequence_id + 1;
    channel->used_ns = kw_clock_mono_ns();
    if (channel->tls) {
        kw_error error;
        if (!kw_tls_send(channel->tls, kw_buffer_bytes(&channel->plain_out), &error))
            kw_hbase_channel_close(channel, KW_HBASE_LOSS_CLOSED, "%s", error.text);
        channel->plain_out.size = 0;
        shrink(&channel->plain_out);
    }
    kw_hbase_channel_flush(channel);
    kw_hbase_channel_charge(channel);
    return true;
}

/* The metric of a call in addition to store_calls; 0 for calls that neither read, write nor scan. */
static const kw_metric metrics[KW_HB_METHOD_COUNT] = {
    [KW_HB_THBaseService_get] = KW_METRIC_store_calls_read,
    [KW_HB_THBaseService_getMultiple] = KW_METRIC_store_calls_read,
    [KW_HB_THBaseService_put] = KW_METRIC_store_calls_write,
    [KW_HB_THBaseService_putMultiple] = KW_METRIC_store_calls_write,
    [KW_HB_THBaseService_deleteSingle] = KW_METRIC_store_calls_write,
    [KW_HB_THBaseService_deleteMultiple] = KW_METRIC_store_calls_write,
    [KW_HB_THBaseService_mutateRow] = KW_METRIC_store_calls_write,
    [KW_HB_THBaseService_increment] = KW_METRIC_store_calls_write,
    [KW_HB_THBaseService_checkAndPut] = KW_METRIC_store_calls_write,
    [KW_HB_THBaseService_checkAndDelete] = KW_METRIC_store_calls_write,
    [KW_HB_THBaseService_checkAndMutate] = KW_METRIC_store_calls_write,
    [KW_HB_THBaseService_getScannerResults] = KW_METRIC_store_calls_scan,
    [KW_HB_THBaseService_openScanner] = KW_METRIC_store_calls_scan,
    [KW_HB_THBaseService_getScannerRows] = KW_METRIC_store_calls_scan,
    [KW_HB_THBaseService_closeScanner] = KW_METRIC_store_calls_scan,
};

bool
kw_hbase_channel_send(kw_hbase_channel *channel, kw_hbase_call *call, kw_error *ret_error)
{
    g_assert(channel->state == KW_HBASE_READY || channel->state == KW_HBASE_RETIRED);
    g_assert(channel->in_flight < KW_HBASE_PIPELINE_MAX);
    if (!send_message(channel, call->method, call->args, call, ret_error))
        return false;
    kw_metrics_add(KW_METRIC_store_calls, 1);
    if (metrics[call->method])
        kw_metrics_add(metrics[call->method], 1);
    return true;
}

void
kw_hbase_channel_ping(kw_hbase_channel *channel)
{
    g_assert(channel->in_flight == 0);
    static const kw_hb_THBaseService_getThriftServerType_args nothing;
    bool fits = send_message(channel, KW_HB_THBaseService_getThriftServerType, &nothing, NULL, NULL);
    g_assert(fits);
    channel->ping_sent_ns = channel->used_ns;
}

bool
kw_hbase_channel_is_open(const kw_hbase_channel *channel)
{
    g_assert(channel->in_flight == 0);
    char byte;
    uv_os_fd_t socket;
    if (uv_fileno((const uv_handle_t *)&channel->tcp, &socket) != 0)
        return false;
    return recv(socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
}

void
kw_hbase_channel_forget(kw_hbase_channel *channel, const kw_hbase_call *call)
{
    for (uint32_t i = 0; i < channel->in_flight; i++) {
        uint32_t at = (channel->first_expected + i) % G_N_ELEMENTS(channel->expected);
        if (channel->expected[at].call == call)
            channel->expected[at].call = NULL;
    }
}

static kw_hbase_expected_reply
pop(kw_hbase_channel *channel)
{
    g_assert(channel->in_flight > 0);
    kw_hbase_expected_reply expected = channel->expected[channel->first_expected];
    channel->first_expected = (channel->first_expected + 1) % G_N_ELEMENTS(channel->expected);
    channel->in_flight--;
    return expected;
}

kw_hbase_call *
kw_hbase_channel_pop_call(kw_hbase_channel *channel)
{
    while (channel->in_flight) {
        kw_hbase_expected_reply expected = pop(channel);
        if (expected.call)
            return expected.call;
    }
    return NULL;
}

/* --- in --------------------------------------------------------------------------------------- */

/* True if this is the reply to the oldest call; otherwise `why` says what is wrong. */
static bool
is_expected(const kw_hbase_channel *channel, const kw_wire_message *message, char *why, size_t why_size)
{
    const kw_hbase_expected_reply *expected = &channel->expected[channel->first_expected];
    if (channel->in_flight == 0) {
        snprintf(why, why_size, "a reply without a request");
    } else if (message->type != KW_WIRE_REPLY && message->type != KW_WIRE_EXCEPTION) {
        snprintf(why, why_size, "a message of type %d instead of a reply", (int)message->type);
    } else if (message->sequence_id != expected->sequence_id) {
        snprintf(why, why_size, "out of step: a reply with sequence id %d instead of %d",
                 message->sequence_id, expected->sequence_id);
    } else if (!kw_bytes_equal(message->name, kw_bytes_of_text(kw_hb_methods[expected->method].name))) {
        snprintf(why, why_size, "out of step: a reply to %.*s instead of %s", (int)message->name.size,
                 (const char *)message->name.data, kw_hb_methods[expected->method].name);
    } else {
        return true;
    }
    return false;
}

static void
handle_message(kw_hbase_channel *channel, kw_bytes payload)
{
    kw_wire_message message;
    kw_error error;
    char why[160];
    if (!kw_wire_message_decode(channel->form.protocol, payload, &message, &error)) {
        kw_hbase_channel_close(channel, KW_HBASE_LOSS_BROKEN, "%s", error.text);
        return;
    }
    if (!is_expected(channel, &message, why, sizeof why)) {
        kw_hbase_channel_close(channel, KW_HBASE_LOSS_BROKEN, "%s", why);
        return;
    }
    kw_hbase_expected_reply reply_to = pop(channel);
    bool pinged = channel->ping_sent_ns != 0;
    channel->ping_sent_ns = 0;
    if (channel->state == KW_HBASE_GREETING)
        kw_hbase_channel_greeted(channel, &message);
    else
        kw_hbase_server_answered(channel, pinged ? NULL : reply_to.call, &message);
}

static bool
form_is_ours(const kw_hbase_channel *channel)
{
    kw_wire_form form = kw_wire_reader_form(channel->reader);
    return form.framed == channel->form.framed && form.protocol == channel->form.protocol;
}

/* Handles the next message; false if it is incomplete or the channel is lost. */
static bool
read_message(kw_hbase_channel *channel, size_t *at)
{
    kw_bytes input = kw_bytes_skip(kw_buffer_bytes(&channel->in), *at);
    kw_bytes payload;
    size_t consumed;
    kw_error error;
    switch (kw_wire_reader_next(channel->reader, input, &payload, &consumed, NULL, &error)) {
    case KW_WIRE_MORE:
        return false;
    case KW_WIRE_BROKEN:
        kw_hbase_channel_close(channel,
                               error.code == KW_LIMIT ? KW_HBASE_LOSS_TOO_LARGE : KW_HBASE_LOSS_BROKEN, "%s",
                               error.text);
        return false;
    case KW_WIRE_MESSAGE:
        break;
    }
    if (!form_is_ours(channel)) {
        kw_hbase_channel_close(channel, KW_HBASE_LOSS_BROKEN, "the reply has another form");
        return false;
    }
    *at += consumed;
    handle_message(channel, payload);
    return channel->state < KW_HBASE_CHANNEL_LOST;
}

static void
read_messages(kw_hbase_channel *channel)
{
    size_t at = 0;
    channel->used_ns = kw_clock_mono_ns();
    while (at < channel->in.size && read_message(channel, &at))
        ;
    kw_buffer_consume(&channel->in, at);
    shrink(&channel->in);
    kw_hbase_channel_charge(channel);
}

static void
allocate_input(uv_handle_t *handle, size_t suggested, uv_buf_t *ret_space)
{
    (void)suggested;
    kw_hbase_channel *channel = handle->data;
    kw_buffer *to = channel->tls ? &channel->network_in : &channel->in;
    uint8_t *space = kw_buffer_reserve(to, KW_HBASE_READ_BYTES);
    ret_space->base = (char *)space;
    ret_space->len = to->capacity - to->size;
}

#define CLOSED "closed by the server"

static bool
decrypt(kw_hbase_channel *channel)
{
    kw_error error;
    bool closed = false;
    bool good =
        kw_tls_receive(channel->tls, kw_buffer_bytes(&channel->network_in), &channel->in, &closed, &error);
    channel->network_in.size = 0;
    kw_hbase_channel_flush(channel);
    if (!good || (closed && channel->in.size == 0))
        kw_hbase_channel_close(channel, KW_HBASE_LOSS_CLOSED, "%s", good ? CLOSED : error.text);
    return channel->state < KW_HBASE_CHANNEL_LOST;
}

static void
on_read(uv_stream_t *stream, ssize_t count, const uv_buf_t *space)
{
    (void)space;
    kw_hbase_channel *channel = stream->data;
    kw_stall_step();
    if (channel->state >= KW_HBASE_CHANNEL_LOST)
        return;
    if (count < 0) {
        kw_hbase_channel_close(channel, KW_HBASE_LOSS_CLOSED, "%s",
                               count == UV_EOF ? CLOSED : uv_strerror((int)count));
        return;
    }
    kw_buffer *to = channel->tls ? &channel->network_in : &channel->in;
    to->size += (size_t)count;
    if (!channel->tls || decrypt(channel))
        read_messages(channel);
}

void
kw_hbase_channel_read_start(kw_hbase_channel *channel)
{
    uv_read_start((uv_stream_t *)&channel->tcp, allocate_input, on_read);
}
