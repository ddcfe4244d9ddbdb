/* The connection of a client: framed and compact; blocking sockets. */
#include "histories/client_private.h"

#include "base/clock.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define MESSAGE_MAX ((size_t)64 * 1024 * 1024)
#define CONNECT_MS 2000
#define GRACE_MS 5000 /* after the deadline: a gateway that has not replied by then is gone */

static const kw_wire_form form = {KW_WIRE_COMPACT, true};

client *
client_new(const char *address, int deadline_ms)
{
    client *made = g_new0(client, 1);
    const char *colon = strrchr(address, ':');
    made->host = g_strndup(address, (gsize)(colon - address));
    made->port = (uint16_t)atoi(colon + 1);
    made->fd = -1;
    made->deadline_ms = deadline_ms;
    made->arena = kw_arena_new();
    return made;
}

void
client_hang_up(client *with)
{
    if (with->fd >= 0)
        close(with->fd);
    with->fd = -1;
}

void
client_free(client *of)
{
    client_hang_up(of);
    kw_arena_free(of->arena);
    kw_buffer_clear(&of->bytes);
    g_free(of->host);
    g_free(of);
}

const char *
client_why(const client *of)
{
    return of->why;
}

/* --- bytes ------------------------------------------------------------------------------------ */

static bool
ensure_connected(client *with)
{
    if (with->fd >= 0)
        return true;
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(with->port)};
    int on = 1, failed = 0;
    socklen_t size = sizeof failed;
    inet_pton(AF_INET, with->host, &to.sin_addr);
    with->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (connect(with->fd, (struct sockaddr *)&to, sizeof to) && errno == EINPROGRESS) {
        struct pollfd done = {.fd = with->fd, .events = POLLOUT};
        failed = poll(&done, 1, CONNECT_MS) == 1 ? 0 : ETIMEDOUT;
    }
    if (failed || getsockopt(with->fd, SOL_SOCKET, SO_ERROR, &failed, &size) || failed) {
        client_hang_up(with);
        return false;
    }
    setsockopt(with->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return true;
}

static bool
await(const client *with, short events, uint64_t until_ns)
{
    uint64_t now = kw_clock_mono_ns();
    struct pollfd wanted = {.fd = with->fd, .events = events};
    int left_ms = now < until_ns ? (int)((until_ns - now) / 1000000) + 1 : 0;
    return poll(&wanted, 1, left_ms) == 1;
}

static bool
transmit(client *with, uint64_t until_ns)
{
    for (size_t sent = 0; sent < with->bytes.size;) {
        ssize_t more = send(with->fd, with->bytes.data + sent, with->bytes.size - sent, MSG_NOSIGNAL);
        if (more > 0)
            sent += (size_t)more;
        else if (errno != EAGAIN || !await(with, POLLOUT, until_ns))
            return false;
    }
    return true;
}

static bool
receive(client *with, size_t size, uint64_t until_ns)
{
    with->bytes.size = 0;
    while (with->bytes.size < size) {
        uint8_t *space = kw_buffer_reserve(&with->bytes, size - with->bytes.size);
        ssize_t got = recv(with->fd, space, size - with->bytes.size, 0);
        if (got > 0)
            with->bytes.size += (size_t)got;
        else if (got == 0 || errno != EAGAIN || !await(with, POLLIN, until_ns))
            return false;
    }
    return true;
}

/* --- calls ------------------------------------------------------------------------------------ */

static const void *
decode(client *with, const kw_wire_method *method)
{
    kw_wire_limits limits = {.decoded_bytes = MESSAGE_MAX, .depth = KW_WIRE_DEPTH_DEFAULT};
    kw_wire_message message;
    kw_error error = KW_ERROR_NONE;
    void *result = kw_arena_alloc0(with->arena, method->result->size);
    kw_bytes payload = kw_arena_copy(with->arena, kw_buffer_bytes(&with->bytes));
    if (!kw_wire_message_decode(form.protocol, payload, &message, &error) ||
        message.sequence_id != with->sequence_id || message.type != KW_WIRE_REPLY ||
        !kw_wire_struct_decode(method->result, form.protocol, message.body, limits, with->arena, result,
                               &error))
        g_error("%s: the reply is invalid: %s", method->name, error.text);
    return result;
}

client_reply
client_exchange(client *with, const kw_wire_method *method, const void *args, operation *of,
                const void **ret_result)
{
    if (!ensure_connected(with))
        return NOT_SENT;
    with->bytes.size = 0;
    size_t mark = kw_wire_frame_begin(&with->bytes, form);
    kw_wire_message_encode(&with->bytes, form.protocol, kw_bytes_of_text(method->name), KW_WIRE_CALL,
                           ++with->sequence_id);
    kw_wire_struct_encode(&with->bytes, form.protocol, method->args, args);
    kw_wire_frame_end(&with->bytes, form, mark);
    of->begin_ns = kw_clock_mono_ns();
    uint64_t until_ns = of->begin_ns + (uint64_t)(with->deadline_ms + GRACE_MS) * 1000000;
    bool good = transmit(with, until_ns) && receive(with, 4, until_ns) &&
                receive(with, kw_be32_load(with->bytes.data), until_ns);
    of->end_ns = kw_clock_mono_ns();
    with->why[0] = '\0';
    if (!good) {
        client_hang_up(with);
        return NO_ANSWER;
    }
    *ret_result = decode(with, method);
    return ANSWERED;
}

kw_api_Options *
client_options(client *with)
{
    kw_api_Options *options = KW_ARENA_NEW(with->arena, kw_api_Options);
    *options = (kw_api_Options){.has_deadline_ms = true, .deadline_ms = with->deadline_ms};
    return options;
}
