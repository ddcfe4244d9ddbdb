/* Opening and closing of a channel: name resolution, TCP, TLS, first ping; close and free.
 *
 * A name can have several addresses. They are tried in order, and each gets an equal part of the time that is
 * left, so that an address that does not answer leaves time for the others. The memory is freed when neither
 * the resolver nor the socket uses it, after kw_hbase_server_lost was called.
 */
#include "store/hbase/link/channel_private.h"
#include "store/hbase/link/move.h"

#include <netdb.h>
#include <stdarg.h>
#include <stdio.h>

static void connect_next(kw_hbase_channel *channel);

static void
channel_free(kw_hbase_channel *channel)
{
    if (channel->addresses)
        uv_freeaddrinfo(channel->addresses);
    kw_tls_free(channel->tls);
    kw_buffer_clear(&channel->plain_out);
    kw_buffer_clear(&channel->out);
    kw_buffer_clear(&channel->writing);
    kw_buffer_clear(&channel->network_in);
    kw_buffer_clear(&channel->in);
    kw_hbase_channel_charge(channel);
    kw_wire_reader_free(channel->reader);
    g_free(channel);
}

static void
free_if_unused(kw_hbase_channel *channel)
{
    if (channel->resolving || channel->tcp_open)
        return;
    kw_hbase_server_lost(channel);
    channel_free(channel);
}

static void
on_closed(uv_handle_t *handle)
{
    kw_hbase_channel *channel = handle->data;
    channel->tcp_open = false;
    free_if_unused(channel);
}

void
kw_hbase_channel_close(kw_hbase_channel *channel, kw_hbase_loss loss, const char *format, ...)
{
    if (channel->state >= KW_HBASE_CHANNEL_LOST)
        return;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(channel->why, sizeof channel->why, format, arguments);
    va_end(arguments);
    channel->asked =
        channel->state == KW_HBASE_GREETING && (!channel->tls || kw_tls_established(channel->tls));
    kw_hbase_channel_move(channel, KW_HBASE_CHANNEL_LOST);
    channel->loss = loss;
    if (channel->resolving)
        uv_cancel((uv_req_t *)&channel->resolve);
    if (!uv_is_closing((uv_handle_t *)&channel->tcp))
        uv_close((uv_handle_t *)&channel->tcp, on_closed);
}

static void
close_with_status(kw_hbase_channel *channel, const char *what, int status)
{
    kw_hbase_channel_close(channel, KW_HBASE_LOSS_CLOSED, "%s: %s", what, uv_strerror(status));
}

/* Sends the ping that proves that the server handles this connection. With TLS it is sent after the
 * handshake. */
static void
greet(kw_hbase_channel *channel)
{
    kw_error error;
    kw_hbase_channel_move(channel, KW_HBASE_GREETING);
    uv_tcp_nodelay(&channel->tcp, 1);
    if (channel->settings->tls) {
        channel->tls = kw_tls_new_client(channel->settings->tls, channel->settings->host);
        if (!kw_tls_start(channel->tls, &error)) {
            kw_hbase_channel_close(channel, KW_HBASE_LOSS_CLOSED, "%s", error.text);
            return;
        }
    }
    kw_hbase_channel_read_start(channel);
    kw_hbase_channel_ping(channel);
}

static void
on_old_socket_closed(uv_handle_t *handle)
{
    kw_hbase_channel *channel = handle->data;
    if (channel->state == KW_HBASE_CHANNEL_LOST) {
        channel->tcp_open = false;
        free_if_unused(channel);
        return;
    }
    uv_tcp_init(handle->loop, &channel->tcp);
    channel->tcp.data = channel;
    connect_next(channel);
}

static void
on_connected(uv_connect_t *request, int status)
{
    kw_hbase_channel *channel = request->data;
    if (uv_is_closing((uv_handle_t *)&channel->tcp))
        return; /* the channel is lost, or the address was given up */
    if (status == 0)
        greet(channel);
    else if (!kw_hbase_channel_try_next_address(channel))
        close_with_status(channel, "connect", status);
}

bool
kw_hbase_channel_try_next_address(kw_hbase_channel *channel)
{
    g_assert(channel->state == KW_HBASE_CONNECTING);
    if (!channel->address->ai_next)
        return false;
    if (uv_is_closing((uv_handle_t *)&channel->tcp))
        return true;
    channel->address = channel->address->ai_next;
    uv_close((uv_handle_t *)&channel->tcp, on_old_socket_closed);
    return true;
}

static void
connect_next(kw_hbase_channel *channel)
{
    size_t left = 0;
    for (const struct addrinfo *at = channel->address; at; at = at->ai_next)
        left++;
    kw_hbase_channel_move(channel, KW_HBASE_CONNECTING);
    channel->address_deadline = kw_deadline_first_part(channel->open_deadline, left);
    channel->connect.data = channel;
    int failed = uv_tcp_connect(&channel->connect, &channel->tcp, channel->address->ai_addr, on_connected);
    if (failed)
        on_connected(&channel->connect, failed);
}

static void
on_resolved(uv_getaddrinfo_t *request, int status, struct addrinfo *addresses)
{
    kw_hbase_channel *channel = request->data;
    channel->resolving = false;
    channel->addresses = addresses;
    channel->address = addresses;
    if (channel->state == KW_HBASE_CHANNEL_LOST)
        free_if_unused(channel);
    else if (status < 0)
        close_with_status(channel, "name", status);
    else
        connect_next(channel);
}

/* Numeric addresses need no resolver thread. */
static void
resolve(kw_loop *loop, kw_hbase_channel *channel)
{
    char port[8];
    snprintf(port, sizeof port, "%u", channel->settings->port);
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV | AI_NUMERICHOST};
    if (getaddrinfo(channel->settings->host, port, &hints, &channel->addresses) == 0) {
        channel->address = channel->addresses;
        connect_next(channel);
        return;
    }
    channel->addresses = NULL;
    hints.ai_flags = AI_NUMERICSERV;
    channel->resolve.data = channel;
    int failed = uv_getaddrinfo(kw_loop_uv(loop), &channel->resolve, on_resolved, channel->settings->host,
                                port, &hints);
    channel->resolving = failed == 0;
    if (failed)
        close_with_status(channel, "name", failed);
}

void
kw_hbase_channel_open(kw_hbase_server *server, kw_deadline open_deadline)
{
    kw_loop *loop = server->pool->loop;
    kw_hbase_channel *channel = g_new0(kw_hbase_channel, 1);
    channel->settings = &server->settings;
    channel->server = server;
    channel->link.data = channel;
    g_queue_init(&channel->pinned);
    g_queue_init(&channel->pins);
    channel->opened_ns = kw_clock_mono_ns();
    channel->open_deadline = open_deadline;
    channel->next_sequence_id = 1;
    channel->form_number = kw_hbase_form_choose(server);
    channel->form = kw_hbase_form(channel->form_number);
    channel->reader = kw_wire_reader_new(server->settings.reply_max);
    uv_tcp_init(kw_loop_uv(loop), &channel->tcp);
    channel->tcp.data = channel;
    channel->tcp_open = true;
    kw_hbase_channel_move(channel, KW_HBASE_RESOLVING);
    resolve(loop, channel);
}

/* An old HBase answers the ping with an exception, because it does not know the method. */
static bool
is_thrift2(const kw_hbase_channel *channel, const kw_wire_message *message)
{
    if (message->type == KW_WIRE_EXCEPTION)
        return true;
    kw_hb_THBaseService_getThriftServerType_result result;
    kw_wire_limits limits = {.decoded_bytes = 4096, .depth = KW_WIRE_DEPTH_DEFAULT};
    g_autoptr(kw_arena) arena = kw_arena_new();
    return kw_wire_struct_decode(&kw_hb_THBaseService_getThriftServerType_result_wire, channel->form.protocol,
                                 message->body, limits, arena, &result, NULL) &&
           result.has_success && result.success == KW_HB_TThriftServerType_TWO;
}

void
kw_hbase_channel_greeted(kw_hbase_channel *channel, const kw_wire_message *message)
{
    kw_hbase_form_worked(channel);
    if (!is_thrift2(channel, message)) {
        kw_hbase_channel_close(channel, KW_HBASE_LOSS_FOREIGN, "the server does not speak Thrift2");
        return;
    }
    kw_hbase_channel_move(channel, KW_HBASE_READY);
    channel->open_deadline = KW_DEADLINE_NONE;
    kw_hbase_server_ready(channel);
}

void
kw_hbase_channel_retire(kw_hbase_channel *channel, kw_deadline deadline)
{
    kw_hbase_channel_move(channel, KW_HBASE_RETIRED);
    channel->open_deadline = deadline;
}
