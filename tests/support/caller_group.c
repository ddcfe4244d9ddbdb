/* See caller_group.h. One epoll. Messages are parsed in the buffer that received them; only the beginning of
 * an incomplete message is copied to its caller. */
#include "support/caller_group.h"

#include "wire/table.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define MESSAGE_MAX ((size_t)256 * 1024 * 1024)
#define CHUNK ((size_t)256 * 1024)
#define AT_ONCE 16    /* connections between two pauses */
#define PAUSE_US 2000 /* after them, for a slow accept loop */

typedef struct waiting {
    const kw_wire_method *method;
    uint64_t tag;
    uint64_t start_ns;
    int32_t sequence_id;
} waiting;

struct group_caller {
    caller_group *all;
    int fd; /* -1: closed */
    unsigned number;
    int32_t sequence_id;
    kw_wire_reader *reader;
    kw_buffer in;    /* the beginning of a message */
    kw_buffer out;   /* bytes that the socket did not accept */
    GArray *waiting; /* oldest first */
    guint first;     /* of waiting */
};

struct caller_group {
    const group_server *where;
    const group_handlers *handlers;
    void *user;
    int events;
    group_caller *callers;
    unsigned size;
    size_t outstanding;
    kw_arena *arena;
    kw_buffer scratch; /* of the message being sent */
    uint8_t *chunk;    /* CHUNK bytes: the last bytes received */
};

void
caller_group_fail(const char *what, kw_bytes text)
{
    fprintf(stderr, "%s: %.*s\n", what, (int)MIN(text.size, 2000), (const char *)text.data);
    exit(1);
}

unsigned
caller_group_size(const caller_group *all)
{
    return all->size;
}

unsigned
group_caller_number(const group_caller *caller)
{
    return caller->number;
}

group_caller *
caller_group_at(caller_group *all, unsigned number)
{
    return &all->callers[number];
}

size_t
group_caller_outstanding(const group_caller *caller)
{
    return caller->waiting->len - caller->first;
}

/* --- sending ---------------------------------------------------------------------------------- */

void
group_caller_disconnect(group_caller *caller)
{
    if (caller->fd < 0)
        return;
    close(caller->fd);
    caller->fd = -1;
    caller->all->outstanding -= group_caller_outstanding(caller);
    g_array_set_size(caller->waiting, 0);
    caller->first = 0;
}

static void
lose(group_caller *caller, const char *why)
{
    caller_group *all = caller->all;
    size_t outstanding = group_caller_outstanding(caller);
    if (!all->handlers->lost)
        caller_group_fail(all->where->name, kw_bytes_of_text(why));
    group_caller_disconnect(caller);
    all->handlers->lost(caller, outstanding, all->user);
}

static void
listen_for(group_caller *caller, uint32_t events, int how)
{
    struct epoll_event wanted = {.events = events, .data.ptr = caller};
    if (epoll_ctl(caller->all->events, how, caller->fd, &wanted))
        caller_group_fail("epoll_ctl", kw_bytes_of_text(g_strerror(errno)));
}

/* Returns how many bytes the socket accepts now. A broken socket accepts all; reading from it reports the
 * error. */
static size_t
transmit(group_caller *caller, kw_bytes bytes)
{
    size_t sent = 0;
    while (sent < bytes.size) {
        ssize_t more = send(caller->fd, bytes.data + sent, bytes.size - sent, MSG_NOSIGNAL);
        if (more < 0 && errno == EINTR)
            continue;
        if (more < 0)
            return errno == EAGAIN ? sent : bytes.size;
        sent += (size_t)more;
    }
    return sent;
}

static void
send_or_keep(group_caller *caller, kw_bytes bytes)
{
    size_t sent = caller->out.size ? 0 : transmit(caller, bytes);
    if (sent == bytes.size)
        return;
    if (!caller->out.size)
        listen_for(caller, EPOLLIN | EPOLLOUT, EPOLL_CTL_MOD);
    kw_buffer_append(&caller->out, kw_bytes_of(bytes.data + sent, bytes.size - sent));
}

void
group_caller_send(group_caller *caller, const kw_wire_method *method, const void *args, uint64_t tag)
{
    caller_group *all = caller->all;
    kw_wire_form form = all->where->form;
    if (caller->fd < 0)
        return;
    waiting one = {.method = method, .tag = tag, .sequence_id = ++caller->sequence_id};
    all->scratch.size = 0;
    size_t mark = kw_wire_frame_begin(&all->scratch, form);
    kw_wire_message_encode(&all->scratch, form.protocol, kw_bytes_of_text(method->name), KW_WIRE_CALL,
                           one.sequence_id);
    kw_wire_struct_encode(&all->scratch, form.protocol, method->args, args);
    kw_wire_frame_end(&all->scratch, form, mark);
    one.start_ns = kw_clock_mono_ns();
    g_array_append_val(caller->waiting, one);
    all->outstanding++;
    send_or_keep(caller, kw_buffer_bytes(&all->scratch));
}

static void
send_kept(group_caller *caller)
{
    kw_buffer_consume(&caller->out, transmit(caller, kw_buffer_bytes(&caller->out)));
    if (!caller->out.size)
        listen_for(caller, EPOLLIN, EPOLL_CTL_MOD);
}

/* --- receiving -------------------------------------------------------------------------------- */

static waiting
take_oldest(group_caller *caller)
{
    waiting oldest = g_array_index(caller->waiting, waiting, caller->first);
    caller->all->outstanding--;
    if (++caller->first == caller->waiting->len) {
        g_array_set_size(caller->waiting, 0);
        caller->first = 0;
    }
    return oldest;
}

static void
hand_over(group_caller *caller, kw_bytes payload, uint64_t end_ns)
{
    caller_group *all = caller->all;
    kw_wire_protocol protocol = all->where->form.protocol;
    kw_wire_limits limits = {.decoded_bytes = MESSAGE_MAX * 4, .depth = KW_WIRE_DEPTH_DEFAULT};
    kw_wire_message message;
    kw_wire_exception_type type;
    kw_error error = KW_ERROR_NONE;
    if (!group_caller_outstanding(caller) || !kw_wire_message_decode(protocol, payload, &message, &error))
        caller_group_fail(all->where->name, KW_BYTES_LITERAL("the reply belongs to no call"));
    waiting call = take_oldest(caller);
    if (message.sequence_id != call.sequence_id)
        caller_group_fail(all->where->name, KW_BYTES_LITERAL("replies are out of order"));
    group_answer answer = {
        .method = call.method, .tag = call.tag, .start_ns = call.start_ns, .end_ns = end_ns};
    kw_arena_reset(all->arena);
    void *result = kw_arena_alloc0(all->arena, call.method->result->size);
    bool good;
    if (message.type == KW_WIRE_EXCEPTION) {
        good = kw_wire_exception_decode(protocol, message.body, &type, &answer.text, &error);
    } else {
        good = kw_wire_struct_decode(call.method->result, protocol, message.body, limits, all->arena, result,
                                     &error);
        answer.result = result;
    }
    if (!good)
        caller_group_fail(all->where->name, kw_bytes_of_text(error.text));
    all->handlers->answer(caller, &answer, all->user);
}

/* Passes complete messages at the front to the handlers. Returns the number of their bytes. */
static size_t
parse(group_caller *caller, kw_bytes bytes, uint64_t now)
{
    size_t taken = 0;
    while (taken < bytes.size && caller->fd >= 0) {
        kw_bytes payload;
        size_t consumed;
        kw_error error = KW_ERROR_NONE;
        switch (kw_wire_reader_next(caller->reader, kw_bytes_of(bytes.data + taken, bytes.size - taken),
                                    &payload, &consumed, NULL, &error)) {
        case KW_WIRE_MESSAGE:
            hand_over(caller, payload, now);
            taken += consumed;
            break;
        case KW_WIRE_BROKEN:
            caller_group_fail(caller->all->where->name, kw_bytes_of_text(error.text));
        case KW_WIRE_MORE:
            return taken;
        }
    }
    return taken;
}

static void
receive(group_caller *caller)
{
    caller_group *all = caller->all;
    bool begun = caller->in.size > 0;
    uint8_t *into = begun ? kw_buffer_reserve(&caller->in, CHUNK) : all->chunk;
    ssize_t got = recv(caller->fd, into, CHUNK, 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (got <= 0) {
        lose(caller, got ? g_strerror(errno) : "the connection was closed");
        return;
    }
    uint64_t now = kw_clock_mono_ns();
    if (begun) {
        caller->in.size += (size_t)got;
        kw_buffer_consume(&caller->in, parse(caller, kw_buffer_bytes(&caller->in), now));
        return;
    }
    size_t taken = parse(caller, kw_bytes_of(into, (size_t)got), now);
    if (taken < (size_t)got)
        kw_buffer_append(&caller->in, kw_bytes_of(into + taken, (size_t)got - taken));
}

void
caller_group_start(caller_group *all)
{
    for (unsigned i = 0; i < all->size; i++)
        if (all->callers[i].fd >= 0)
            all->handlers->start(&all->callers[i], all->user);
}

bool
caller_group_run(caller_group *all, kw_deadline end)
{
    struct epoll_event events[128];
    while (all->outstanding > 0 && !kw_deadline_passed(end)) {
        int count =
            epoll_wait(all->events, events, G_N_ELEMENTS(events), (int)MIN(kw_deadline_left_ms(end), 1000));
        for (int i = 0; i < count; i++) {
            group_caller *caller = events[i].data.ptr;
            if (caller->fd >= 0 && events[i].events & EPOLLOUT)
                send_kept(caller);
            if (caller->fd >= 0 && events[i].events & ~(uint32_t)EPOLLOUT)
                receive(caller);
        }
    }
    return all->outstanding == 0;
}

/* --- opening and closing ---------------------------------------------------------------------- */

static int
connect_within(const group_server *where, kw_deadline end)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(where->port)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), on = 1, failed = 0;
    socklen_t size = sizeof failed;
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (fd < 0)
        caller_group_fail("socket", kw_bytes_of_text(g_strerror(errno)));
    if (connect(fd, (struct sockaddr *)&to, sizeof to) && errno == EINPROGRESS) {
        struct pollfd done = {.fd = fd, .events = POLLOUT};
        failed = poll(&done, 1, (int)MIN(kw_deadline_left_ms(end), INT32_MAX)) == 1 ? 0 : ETIMEDOUT;
    }
    if (failed || getsockopt(fd, SOL_SOCKET, SO_ERROR, &failed, &size) || failed) {
        close(fd);
        return -1;
    }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return fd;
}

static void
welcome(caller_group *all, group_caller *caller, int fd)
{
    *caller = (group_caller){.all = all,
                             .fd = fd,
                             .number = all->size++,
                             .reader = kw_wire_reader_new(MESSAGE_MAX),
                             .waiting = g_array_new(FALSE, FALSE, sizeof(waiting))};
    listen_for(caller, EPOLLIN, EPOLL_CTL_ADD);
}

caller_group *
caller_group_open(const group_server *where, unsigned callers, int open_ms, const group_handlers *handlers,
                  void *user)
{
    caller_group *all = g_new0(caller_group, 1);
    kw_deadline end = kw_deadline_in_ms(open_ms);
    *all = (caller_group){
        .where = where, .handlers = handlers, .user = user, .events = epoll_create1(EPOLL_CLOEXEC)};
    all->callers = g_new0(group_caller, callers);
    all->arena = kw_arena_new();
    all->chunk = g_malloc(CHUNK);
    for (unsigned i = 0; i < callers && !kw_deadline_passed(end); i++) {
        int fd = connect_within(where, end);
        if (fd >= 0)
            welcome(all, &all->callers[all->size], fd);
        if (i % AT_ONCE == AT_ONCE - 1)
            g_usleep(PAUSE_US);
    }
    return all;
}

void
caller_group_close(caller_group *all)
{
    for (unsigned i = 0; i < all->size; i++) {
        group_caller *caller = &all->callers[i];
        group_caller_disconnect(caller);
        kw_wire_reader_free(caller->reader);
        kw_buffer_clear(&caller->in);
        kw_buffer_clear(&caller->out);
        g_array_unref(caller->waiting);
    }
    close(all->events);
    kw_buffer_clear(&all->scratch);
    kw_arena_free(all->arena);
    g_free(all->callers);
    g_free(all->chunk);
    g_free(all);
}
