/* The reference of the gateway benchmark: one libuv loop that sends every frame back unchanged, with as
 * little work as possible. A frame is four bytes of length and that many bytes. Prints "listening on PORT".
 *
 *   echo_server
 */
#include "base/bytes.h"

#include <glib.h>
#include <stdio.h>
#include <stdlib.h>
#include <uv.h>

#define BLOCK 65536

typedef struct caller {
    uv_tcp_t handle;
    kw_buffer input;
    uv_write_t write;
    kw_buffer sending;
} caller;

static void
on_allocate(uv_handle_t *handle, size_t suggested, uv_buf_t *ret_buffer)
{
    caller *peer = handle->data;
    (void)suggested;
    *ret_buffer = uv_buf_init((char *)kw_buffer_reserve(&peer->input, BLOCK), BLOCK);
}

static void
on_closed(uv_handle_t *handle)
{
    caller *peer = handle->data;
    kw_buffer_clear(&peer->input);
    kw_buffer_clear(&peer->sending);
    free(peer);
}

static void
on_written(uv_write_t *write, int status)
{
    caller *peer = write->data;
    (void)status;
    kw_buffer_clear(&peer->sending);
}

/* Number of bytes of the complete frames at the head of the input. */
static size_t
whole_frames(const caller *peer)
{
    size_t at = 0;
    while (peer->input.size - at >= 4) {
        size_t size = 4 + (size_t)kw_be32_load(peer->input.data + at);
        if (peer->input.size - at < size)
            break;
        at += size;
    }
    return at;
}

static void
send_back(caller *peer, size_t size)
{
    uv_stream_t *stream = (uv_stream_t *)&peer->handle;
    uv_buf_t piece = uv_buf_init((char *)peer->input.data, (unsigned)size);
    int sent = uv_try_write(stream, &piece, 1);
    if (sent < 0)
        sent = 0;
    if ((size_t)sent < size && peer->sending.size == 0) {
        kw_buffer_append(&peer->sending, kw_bytes_of(peer->input.data + sent, size - (size_t)sent));
        piece = uv_buf_init((char *)peer->sending.data, (unsigned)peer->sending.size);
        peer->write.data = peer;
        uv_write(&peer->write, stream, &piece, 1, on_written);
    }
    kw_buffer_consume(&peer->input, size);
}

static void
on_read(uv_stream_t *stream, ssize_t got, const uv_buf_t *buffer)
{
    caller *peer = stream->data;
    (void)buffer;
    if (got < 0) {
        uv_close((uv_handle_t *)stream, on_closed);
        return;
    }
    peer->input.size += (size_t)got;
    size_t whole = whole_frames(peer);
    if (whole > 0)
        send_back(peer, whole);
}

static void
on_connection(uv_stream_t *listener, int status)
{
    if (status < 0)
        return;
    caller *peer = g_new0(caller, 1);
    uv_tcp_init(listener->loop, &peer->handle);
    peer->handle.data = peer;
    if (uv_accept(listener, (uv_stream_t *)&peer->handle) != 0) {
        uv_close((uv_handle_t *)&peer->handle, on_closed);
        return;
    }
    uv_tcp_nodelay(&peer->handle, 1);
    uv_read_start((uv_stream_t *)&peer->handle, on_allocate, on_read);
}

int
main(void)
{
    uv_loop_t loop;
    uv_tcp_t listener;
    struct sockaddr_in address;
    int size = sizeof address;
    uv_loop_init(&loop);
    uv_tcp_init(&loop, &listener);
    uv_ip4_addr("127.0.0.1", 0, &address);
    if (uv_tcp_bind(&listener, (struct sockaddr *)&address, 0) != 0 ||
        uv_listen((uv_stream_t *)&listener, 1024, on_connection) != 0) {
        fprintf(stderr, "echo_server: cannot listen\n");
        return 1;
    }
    uv_tcp_getsockname(&listener, (struct sockaddr *)&address, &size);
    printf("listening on %u\n", g_ntohs(address.sin_port));
    fflush(stdout);
    return uv_run(&loop, UV_RUN_DEFAULT);
}
