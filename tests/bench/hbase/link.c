/* See link.h. */
#include "link.h"

#include "wire/table.h"

#include <arpa/inet.h>
#include <errno.h>
#include <glib.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#define PATIENCE_S 60
#define MESSAGE_MAX ((size_t)256 * 1024 * 1024)

struct link {
    const group_server *where;
    int fd;
    int32_t sequence_id;
    kw_buffer out;
    kw_buffer in;
    size_t consumed; /* bytes of `in` used by the last reply */
    kw_wire_reader *reader;
    kw_arena *arena;
};

link_to *
link_open(const group_server *where)
{
    link_to *made = g_new0(link_to, 1);
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(where->port)};
    struct timeval patience = {.tv_sec = PATIENCE_S};
    int on = 1;
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    made->where = where;
    made->fd = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(made->fd, (struct sockaddr *)&to, sizeof to))
        caller_group_fail(where->name, KW_BYTES_LITERAL("cannot connect"));
    setsockopt(made->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    setsockopt(made->fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    made->reader = kw_wire_reader_new(MESSAGE_MAX);
    made->arena = kw_arena_new();
    return made;
}

void
link_close(link_to *link)
{
    close(link->fd);
    kw_buffer_clear(&link->out);
    kw_buffer_clear(&link->in);
    kw_wire_reader_free(link->reader);
    kw_arena_free(link->arena);
    g_free(link);
}

void
link_start(link_to *link, const kw_wire_method *method, const void *args)
{
    kw_wire_form form = link->where->form;
    link->out.size = 0;
    size_t mark = kw_wire_frame_begin(&link->out, form);
    kw_wire_message_encode(&link->out, form.protocol, kw_bytes_of_text(method->name), KW_WIRE_CALL,
                           ++link->sequence_id);
    kw_wire_struct_encode(&link->out, form.protocol, method->args, args);
    kw_wire_frame_end(&link->out, form, mark);
    for (size_t sent = 0; sent < link->out.size;) {
        ssize_t more = send(link->fd, link->out.data + sent, link->out.size - sent, MSG_NOSIGNAL);
        if (more <= 0)
            caller_group_fail(link->where->name, KW_BYTES_LITERAL("the connection was lost"));
        sent += (size_t)more;
    }
}

static kw_bytes
receive(link_to *link)
{
    kw_bytes payload;
    kw_error error;
    kw_buffer_consume(&link->in, link->consumed);
    link->consumed = 0;
    for (;;) {
        switch (kw_wire_reader_next(link->reader, kw_buffer_bytes(&link->in), &payload, &link->consumed, NULL,
                                    &error)) {
        case KW_WIRE_MESSAGE:
            return payload;
        case KW_WIRE_BROKEN:
            caller_group_fail(link->where->name, kw_bytes_of_text(error.text));
        case KW_WIRE_MORE:
            break;
        }
        uint8_t *space = kw_buffer_reserve(&link->in, 65536);
        ssize_t got = recv(link->fd, space, link->in.capacity - link->in.size, 0);
        if (got < 0 && errno == EAGAIN)
            caller_group_fail(link->where->name, KW_BYTES_LITERAL("no reply within a minute"));
        if (got <= 0)
            caller_group_fail(link->where->name, KW_BYTES_LITERAL("the connection was lost"));
        link->in.size += (size_t)got;
    }
}

const void *
link_finish(link_to *link, const kw_wire_method *method)
{
    kw_wire_message message;
    kw_error error = KW_ERROR_NONE;
    kw_wire_limits limits = {.decoded_bytes = MESSAGE_MAX * 4, .depth = KW_WIRE_DEPTH_DEFAULT};
    kw_wire_protocol protocol = link->where->form.protocol;
    kw_bytes payload = receive(link);
    kw_arena_reset(link->arena);
    void *result = kw_arena_alloc0(link->arena, method->result->size);
    if (!kw_wire_message_decode(protocol, payload, &message, &error))
        caller_group_fail(link->where->name, kw_bytes_of_text(error.text));
    if (message.type != KW_WIRE_REPLY || message.sequence_id != link->sequence_id)
        caller_group_fail(link->where->name, message.body);
    if (!kw_wire_struct_decode(method->result, protocol, message.body, limits, link->arena, result, &error))
        caller_group_fail(link->where->name, kw_bytes_of_text(error.text));
    return result;
}

const void *
link_call(link_to *link, const kw_wire_method *method, const void *args)
{
    link_start(link, method, args);
    return link_finish(link, method);
}
