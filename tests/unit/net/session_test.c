/* Tests sessions over real sockets on 127.0.0.1. The name of a method selects what the handler does with it:
 *   echo    returns the message at once      later   returns it after 50 ms     hold     waits for release()
 *   big     returns 1 MiB at once            drop    ends it without a reply    refuse   ends the connection
 */
#include "net/net.h"

#include "base/metrics.h"
#include "unit/net/certificates.h"

#include <arpa/inet.h>
#include <errno.h>
#include <glib.h>
#include <poll.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <unistd.h>

#define BIG ((size_t)1024 * 1024)

typedef struct delayed_reply {
    kw_request *request;
    kw_timer *timer;
} delayed_reply;

/* The state of the handler on one loop. */
typedef struct server_loop {
    kw_loop *loop;
    kw_task release;
    GPtrArray *held; /* kw_request */
} server_loop;

typedef struct test_server {
    kw_net *net;
    kw_loop *main;
    server_loop loops[2];
    uint16_t port;
    _Atomic unsigned seen;
    _Atomic unsigned held;
    kw_bytes held_payload;  /* of the last "hold" */
    unsigned keep_held;     /* number of held requests that release() keeps */
    unsigned block_loop_ms; /* how long a release blocks its loop */
    bool drained;
} test_server;

static test_server *the_server; /* the server whose counters the handlers update */

static void
reply_with(kw_request *request, kw_bytes payload)
{
    kw_wire_form form = kw_request_form(request);
    kw_buffer *out = kw_request_reply(request);
    size_t mark = kw_wire_frame_begin(out, form);
    kw_buffer_append(out, payload);
    kw_wire_frame_end(out, form, mark);
    kw_request_replied(request);
}

static void
on_later(void *user)
{
    delayed_reply *waiting = user;
    reply_with(waiting->request, kw_request_payload(waiting->request));
    kw_timer_free(waiting->timer);
    g_free(waiting);
}

static void
reply_big(kw_request *request)
{
    g_autofree uint8_t *bytes = g_malloc(BIG);
    memset(bytes, 'b', BIG);
    reply_with(request, kw_bytes_of(bytes, BIG));
}

static void
on_request(void *state, kw_request *request)
{
    server_loop *self = state;
    kw_wire_message message;
    kw_error error;
    g_assert_true(kw_wire_message_decode(kw_request_form(request).protocol, kw_request_payload(request),
                                         &message, &error));
    atomic_fetch_add(&the_server->seen, 1);
    if (kw_bytes_equal(message.name, KW_BYTES_LITERAL("echo"))) {
        reply_with(request, kw_request_payload(request));
    } else if (kw_bytes_equal(message.name, KW_BYTES_LITERAL("later"))) {
        delayed_reply *waiting = g_new(delayed_reply, 1);
        waiting->request = request;
        waiting->timer = kw_timer_new(self->loop, on_later, waiting);
        kw_timer_start_ms(waiting->timer, 50);
    } else if (kw_bytes_equal(message.name, KW_BYTES_LITERAL("hold"))) {
        g_ptr_array_add(self->held, request);
        the_server->held_payload = kw_request_payload(request);
        atomic_fetch_add(&the_server->held, 1);
    } else if (kw_bytes_equal(message.name, KW_BYTES_LITERAL("big"))) {
        reply_big(request);
    } else if (kw_bytes_equal(message.name, KW_BYTES_LITERAL("drop"))) {
        kw_request_drop(request);
    } else {
        kw_request_refuse(request, "the test refuses it");
    }
}

static void
release_held(server_loop *self)
{
    unsigned count = self->held->len - MIN(the_server->keep_held, self->held->len);
    for (unsigned i = 0; i < count; i++)
        reply_with(self->held->pdata[i], kw_request_payload(self->held->pdata[i]));
    if (count > 0)
        g_ptr_array_remove_range(self->held, 0, count);
    atomic_fetch_sub(&the_server->held, count);
}

static void
on_release(kw_task *task)
{
    release_held((server_loop *)((char *)task - offsetof(server_loop, release)));
    g_usleep(the_server->block_loop_ms * 1000);
}

static void *
on_loop_open(void *user, kw_loop *loop, unsigned index)
{
    server_loop *self = &((test_server *)user)->loops[index];
    self->loop = loop;
    self->release.run = on_release;
    self->held = g_ptr_array_new();
    return self;
}

static void
on_loop_close(void *state, void (*closed)(void *), void *closed_user)
{
    release_held(state);
    closed(closed_user);
}

static const kw_net_limits default_limits = {.connections = 100,
                                             .peer_connections = 100,
                                             .frame_bytes = 4 * 1024 * 1024,
                                             .in_flight = 16,
                                             .frame_ms = 60000,
                                             .idle_ms = 0};

static test_server *
server_new(kw_net_limits limits, unsigned loops, kw_tls_context *tls)
{
    test_server *created = g_new0(test_server, 1);
    the_server = created;
    created->main = kw_loop_new();
    created->net = kw_net_new(
        loops, limits,
        &(kw_net_handler){
            .user = created, .loop_open = on_loop_open, .request = on_request, .loop_close = on_loop_close});
    kw_error error = KW_ERROR_NONE;
    g_assert_true(kw_net_listen(created->net, "127.0.0.1", 0, tls, &created->port, &error));
    g_assert_cmpuint(created->port, >, 0);
    kw_net_start(created->net);
    return created;
}

static void
on_drained(void *user)
{
    test_server *created = user;
    created->drained = true;
    kw_loop_stop(created->main);
}

static void
server_drain(test_server *created, uint64_t drain_ms)
{
    kw_net_drain(created->net, drain_ms, created->main, on_drained, created);
    kw_loop_run(created->main);
    g_assert_true(created->drained);
}

static void
server_free(test_server *created)
{
    if (!created->drained)
        server_drain(created, 0);
    kw_net_free(created->net);
    kw_loop_free(created->main);
    for (unsigned i = 0; i < G_N_ELEMENTS(created->loops); i++)
        if (created->loops[i].held)
            g_ptr_array_free(created->loops[i].held, TRUE);
    g_assert_cmpint(kw_metrics_read(KW_METRIC_connections_open), ==, 0);
    g_free(created);
}

/* --- clients ------------------------------------------------------------------------------------- */

static int
connect_client(const test_server *server)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = g_htons(server->port)};
    address.sin_addr.s_addr = g_htonl(INADDR_LOOPBACK);
    int created = socket(AF_INET, SOCK_STREAM, 0);
    g_assert_cmpint(connect(created, (struct sockaddr *)&address, sizeof address), ==, 0);
    struct timeval timeout = {.tv_sec = 60};
    setsockopt(created, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
    return created;
}

static void
send_all(int to, const void *bytes, size_t size)
{
    for (size_t sent = 0; sent < size;) {
        ssize_t part = send(to, (const char *)bytes + sent, size - sent, MSG_NOSIGNAL);
        g_assert_cmpint(part, >, 0);
        sent += (size_t)part;
    }
}

/* A framed binary message with an argument of `extra` bytes in field 1. */
static kw_buffer
message(const char *name, size_t extra)
{
    kw_buffer created = KW_BUFFER_EMPTY;
    kw_wire_form form = {KW_WIRE_BINARY, true};
    size_t mark = kw_wire_frame_begin(&created, form);
    kw_wire_message_encode(&created, KW_WIRE_BINARY, kw_bytes_of_text(name), KW_WIRE_CALL, 7);
    uint8_t head[7] = {11, 0, 1};
    kw_be32_store(head + 3, (uint32_t)extra);
    kw_buffer_append(&created, kw_bytes_of(head, sizeof head));
    memset(kw_buffer_reserve(&created, extra), 'x', extra);
    created.size += extra;
    kw_buffer_append_byte(&created, 0);
    kw_wire_frame_end(&created, form, mark);
    return created;
}

static void
send_message(int to, const char *name, size_t extra)
{
    kw_buffer bytes = message(name, extra);
    send_all(to, bytes.data, bytes.size);
    kw_buffer_clear(&bytes);
}

/* Receives `size` bytes, or fewer if the peer closed the connection. */
static size_t
receive(int from, void *to, size_t size)
{
    size_t got = 0;
    while (got < size) {
        ssize_t part = recv(from, (char *)to + got, size - got, 0);
        if (part < 0 && errno == ECONNRESET)
            return got;
        g_assert_cmpint(part, >=, 0);
        if (part == 0)
            return got;
        got += (size_t)part;
    }
    return got;
}

static void
expect_reply(int from, const char *name, size_t extra)
{
    kw_buffer wanted = message(name, extra);
    g_autofree uint8_t *got = g_malloc(wanted.size);
    g_assert_cmpuint(receive(from, got, wanted.size), ==, wanted.size);
    g_assert_cmpint(memcmp(got, wanted.data, wanted.size), ==, 0);
    kw_buffer_clear(&wanted);
}

static void
expect_end(int from)
{
    char byte;
    g_assert_cmpuint(receive(from, &byte, 1), ==, 0);
    close(from);
}

/* --- waiting for conditions, for at most DEADLINE_MS --------------------------------------------- */

#define DEADLINE_MS 100000

static void
wait_for(const _Atomic unsigned *counted, unsigned count)
{
    kw_deadline deadline = kw_deadline_in_ms(DEADLINE_MS);
    while (atomic_load(counted) < count && !kw_deadline_passed(deadline))
        g_usleep(1000);
    g_assert_cmpuint(atomic_load(counted), ==, count);
}

static void
wait_for_metric(kw_metric metric, int64_t value)
{
    kw_deadline deadline = kw_deadline_in_ms(DEADLINE_MS);
    while (kw_metrics_read(metric) != value && !kw_deadline_passed(deadline))
        g_usleep(1000);
    g_assert_cmpint(kw_metrics_read(metric), ==, value);
}

/* A task that counts iterations of a loop, or lets time pass on it. */
typedef struct loop_wait {
    kw_task task;
    kw_loop *loop;
    kw_timer *timer;
    unsigned iterations_left, wait_ms;
    _Atomic unsigned done;
} loop_wait;

static void
count_iteration(kw_task *task)
{
    loop_wait *self = (loop_wait *)(void *)task;
    if (--self->iterations_left > 0)
        kw_loop_post(self->loop, &self->task);
    else
        atomic_store(&self->done, 1);
}

/* Waits until every loop has made 20 iterations. In each of them it reads the sockets that it waits for. */
static void
run_iterations(test_server *server)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(server->loops); i++) {
        loop_wait wait = {.task.run = count_iteration, .loop = server->loops[i].loop, .iterations_left = 20};
        if (!wait.loop)
            continue;
        kw_loop_post(wait.loop, &wait.task);
        wait_for(&wait.done, 1);
    }
}

static void
on_time_passed(void *user)
{
    loop_wait *self = user;
    kw_timer_free(self->timer);
    atomic_store(&self->done, 1);
}

static void
start_waiting(kw_task *task)
{
    loop_wait *self = (loop_wait *)(void *)task;
    self->timer = kw_timer_new(self->loop, on_time_passed, self);
    kw_timer_start_ms(self->timer, self->wait_ms);
}

/* Waits until this time has passed on the server's first loop, whose sweep timer then has checked time limits
 * several times. */
static void
wait_loop_time(test_server *server, unsigned wait_ms)
{
    loop_wait wait = {.task.run = start_waiting, .loop = server->loops[0].loop, .wait_ms = wait_ms};
    kw_loop_post(wait.loop, &wait.task);
    wait_for(&wait.done, 1);
}

static void
wait_for_seen(const test_server *server, unsigned count)
{
    wait_for(&server->seen, count);
}

static void
release(test_server *server)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(server->loops); i++)
        if (server->loops[i].loop)
            kw_loop_post(server->loops[i].loop, &server->loops[i].release);
}

/* --- tests --------------------------------------------------------------------------------------- */

KW_TEST(test_replies, "/net/session/replies")
{
    static const size_t sizes[] = {0, 1, 100, 5000, 16000, 16384, 70000, 3000000};
    test_server *server = server_new(default_limits, 2, NULL);
    int clients[6];
    for (size_t i = 0; i < G_N_ELEMENTS(clients); i++)
        clients[i] = connect_client(server);
    for (size_t size = 0; size < G_N_ELEMENTS(sizes); size++)
        for (size_t i = 0; i < G_N_ELEMENTS(clients); i++) {
            send_message(clients[i], "echo", sizes[size]);
            expect_reply(clients[i], "echo", sizes[size]);
        }
    for (size_t i = 0; i < G_N_ELEMENTS(clients); i++)
        close(clients[i]);
    server_free(server);
}

KW_TEST(test_messages_in_pieces, "/net/session/messages-in-pieces")
{
    test_server *server = server_new(default_limits, 1, NULL);
    int client = connect_client(server);
    kw_buffer two = message("echo", 300);
    kw_buffer second = message("echo", 20000);
    kw_buffer_append(&two, kw_buffer_bytes(&second));
    for (size_t at = 0; at < two.size;) {
        size_t piece = MIN(two.size - at, at < 400 ? 1 : 3001);
        send_all(client, two.data + at, piece);
        at += piece;
        if (at % 50 == 0)
            run_iterations(server);
    }
    expect_reply(client, "echo", 300);
    expect_reply(client, "echo", 20000);
    kw_buffer_clear(&two);
    kw_buffer_clear(&second);
    close(client);
    server_free(server);
}

KW_TEST(test_replies_keep_the_order_of_calls, "/net/session/replies-keep-their-order")
{
    test_server *server = server_new(default_limits, 1, NULL);
    int client = connect_client(server);
    send_message(client, "later", 1);
    send_message(client, "echo", 2);
    send_message(client, "hold", 3);
    send_message(client, "drop", 4);
    send_message(client, "echo", 5);
    expect_reply(client, "later", 1);
    expect_reply(client, "echo", 2);
    wait_for_seen(server, 5);
    release(server);
    expect_reply(client, "hold", 3);
    expect_reply(client, "echo", 5);
    close(client);
    server_free(server);
}

KW_TEST(test_reading_pauses_at_the_in_flight_limit, "/net/session/in-flight-limit")
{
    kw_net_limits limits = default_limits;
    limits.in_flight = 4;
    test_server *server = server_new(limits, 1, NULL);
    int client = connect_client(server);
    for (size_t i = 0; i < 10; i++)
        send_message(client, "hold", 10 + i);
    wait_for_seen(server, 4);
    run_iterations(server);
    g_assert_cmpuint(atomic_load(&server->seen), ==, 4);
    for (size_t i = 0; i < 10; i++) {
        if (i % 4 == 0) {
            wait_for_seen(server, (unsigned)MIN(i + 4, 10));
            release(server);
        }
        expect_reply(client, "hold", 10 + i);
    }
    close(client);
    server_free(server);
}

/* After a pause, the time limit of a message begins only with the first byte of one. */
KW_TEST(test_a_quiet_connection_stays_after_a_pause, "/net/session/quiet connection after a pause")
{
    kw_net_limits limits = default_limits;
    limits.in_flight = 2;
    limits.frame_ms = 100;
    test_server *server = server_new(limits, 1, NULL);
    int client = connect_client(server);
    send_message(client, "hold", 1);
    send_message(client, "hold", 2);
    wait_for_seen(server, 2);
    run_iterations(server);
    release(server);
    expect_reply(client, "hold", 1);
    expect_reply(client, "hold", 2);
    wait_loop_time(server, 400);
    send_message(client, "echo", 3);
    expect_reply(client, "echo", 3);
    close(client);
    server_free(server);
}

KW_TEST(test_reading_pauses_while_replies_are_unread, "/net/session/unsent-limit")
{
    test_server *server = server_new(default_limits, 1, NULL);
    int client = connect_client(server);
    for (int i = 0; i < 64; i++)
        send_message(client, "big", 0);
    unsigned seen;
    do {
        seen = atomic_load(&server->seen);
        run_iterations(server);
    } while (atomic_load(&server->seen) != seen);
    g_assert_cmpuint(seen, >, 0);
    g_assert_cmpuint(seen, <, 32);
    g_autofree uint8_t *got = g_malloc(BIG + 4);
    for (int i = 0; i < 64; i++)
        g_assert_cmpuint(receive(client, got, BIG + 4), ==, BIG + 4);
    g_assert_cmpuint(atomic_load(&server->seen), ==, 64);
    close(client);
    server_free(server);
}

KW_TEST(test_a_client_that_reads_no_replies_is_closed, "/net/session/stalled-replies")
{
    kw_net_limits limits = default_limits;
    limits.frame_ms = 300;
    test_server *server = server_new(limits, 1, NULL);
    int64_t broken = kw_metrics_read(KW_METRIC_connections_broken);
    int client = connect_client(server);
    kw_buffer all =
        KW_BUFFER_EMPTY; /* sent at once, because the session can be closed at any time after that */
    for (int i = 0; i < 64; i++) {
        kw_buffer each = message("big", 0);
        kw_buffer_append(&all, kw_buffer_bytes(&each));
        kw_buffer_clear(&each);
    }
    send_all(client, all.data, all.size);
    kw_buffer_clear(&all);
    wait_for_metric(KW_METRIC_connections_broken, broken + 1);
    close(client);
    server_free(server);
}

KW_TEST(test_a_half_closed_client_gets_its_reply, "/net/session/half-closed-client")
{
    test_server *server = server_new(default_limits, 1, NULL);
    int client = connect_client(server);
    send_message(client, "later", 9);
    shutdown(client, SHUT_WR);
    expect_reply(client, "later", 9);
    expect_end(client);
    server_free(server);
}

KW_TEST(test_a_disconnect_does_not_disturb_its_call, "/net/session/client-disconnected")
{
    test_server *server = server_new(default_limits, 1, NULL);
    int client = connect_client(server);
    send_message(client, "hold", 50000);
    wait_for(&server->held, 1);
    struct linger reset = {.l_onoff = 1};
    setsockopt(client, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
    close(client);
    wait_for_metric(KW_METRIC_connections_open, 0);
    const uint8_t *last = server->held_payload.data + server->held_payload.size - 2;
    g_assert_cmpint(*last, ==, 'x');
    release(server);
    int other = connect_client(server);
    send_message(other, "echo", 1);
    expect_reply(other, "echo", 1);
    close(other);
    server_free(server);
}

typedef struct broken_case {
    const char *about;
    const char *bytes;
    size_t size;
} broken_case;

KW_TEST(test_other_protocols_end_the_connection, "/net/session/not-thrift")
{
    static const broken_case cases[] = {
        {"http", "GET / HTTP/1.1\r\nHost: x\r\n\r\n", 27},
        {"length -1", "\xff\xff\xff\xff\x80\x01", 6},
        {"length 2 GB", "\x7f\xff\xff\xff\x80\x01", 6},
        {"length beyond the limit", "\x00\x40\x00\x01\x80\x01", 6},
        {"no bytes", "\x00\x00\x00\x00", 4},
        {"no mark", "\x00\x00\x00\x10hello", 9},
    };
    test_server *server = server_new(default_limits, 1, NULL);
    int good = connect_client(server);
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        int64_t broken = kw_metrics_read(KW_METRIC_connections_broken);
        int client = connect_client(server);
        send_all(client, cases[i].bytes, cases[i].size);
        expect_end(client);
        g_assert_cmpint(kw_metrics_read(KW_METRIC_connections_broken), ==, broken + 1);
        send_message(good, "echo", 3);
        expect_reply(good, "echo", 3);
    }
    close(good);
    server_free(server);
}

KW_TEST(test_replies_before_malformed_input_are_sent, "/net/session/malformed-after-good")
{
    test_server *server = server_new(default_limits, 1, NULL);
    int client = connect_client(server);
    kw_buffer bytes = message("later", 1);
    kw_buffer_append(&bytes, KW_BYTES_LITERAL("\x7f\xff\xff\xff\x80\x01"));
    send_all(client, bytes.data, bytes.size);
    kw_buffer_clear(&bytes);
    expect_reply(client, "later", 1);
    expect_end(client);
    client = connect_client(server);
    send_message(client, "refuse", 1);
    expect_end(client);
    server_free(server);
}

KW_TEST(test_a_partial_message_times_out, "/net/session/partial-message")
{
    kw_net_limits limits = default_limits;
    limits.frame_ms = 200;
    test_server *server = server_new(limits, 1, NULL);
    int64_t broken = kw_metrics_read(KW_METRIC_connections_broken);
    int idle = connect_client(server), half = connect_client(server);
    send_message(idle, "echo", 1);
    expect_reply(idle, "echo", 1);
    int64_t before = g_get_monotonic_time();
    send_all(half, "\x00\x00\x00\x20\x80", 5);
    expect_end(half);
    int64_t took_ms = (g_get_monotonic_time() - before) / 1000;
    g_assert_cmpint(took_ms, >=, 190);
    g_assert_cmpint(kw_metrics_read(KW_METRIC_connections_broken), ==, broken + 1);
    send_message(idle, "echo", 2);
    expect_reply(idle, "echo", 2);
    close(idle);
    server_free(server);
}

/* The time limit of a message begins with its first byte; later bytes do not extend it. */
KW_TEST(test_a_message_in_slow_pieces_times_out, "/net/session/slow-pieces")
{
    enum { PIECE_MS = 20, PIECES_MOST = 500 };
    kw_net_limits limits = default_limits;
    limits.frame_ms = 200;
    test_server *server = server_new(limits, 1, NULL);
    int slow = connect_client(server);
    static const uint8_t head[] = "\x00\x01\x00\x00\x80\x01\x00\x01\x00\x00\x00\x04"  /* 64 KiB; a call */
                                  "echo\x00\x00\x00\x01\x0b\x00\x01\x00\x00\xff\x00"; /* a long text */
    send_all(slow, (const char *)head, sizeof head - 1);
    struct pollfd ended = {.fd = slow, .events = POLLIN};
    int sent = 0;
    while (sent < PIECES_MOST && poll(&ended, 1, PIECE_MS) == 0)
        sent += send(slow, "a", 1, MSG_NOSIGNAL) == 1;
    g_assert_cmpint(sent, >=, 5);
    g_assert_cmpint(sent, <, PIECES_MOST);
    close(slow);
    server_free(server);
}

/* Connects a client whose call is in flight. Tries again if the test was so slow that the client was closed
 * as idle. */
static int
connect_busy_client(test_server *server)
{
    for (int tries = 0; tries < 100; tries++) {
        int created = connect_client(server);
        kw_buffer bytes = message("hold", 1);
        ssize_t sent = send(created, bytes.data, bytes.size, MSG_NOSIGNAL);
        bool whole = sent == (ssize_t)bytes.size;
        kw_buffer_clear(&bytes);
        struct pollfd ended = {.fd = created, .events = POLLIN};
        while (whole && atomic_load(&server->held) == 0 && poll(&ended, 1, 5) == 0)
            continue;
        if (atomic_load(&server->held) == 1)
            return created;
        close(created);
    }
    g_assert_not_reached();
}

/* An idle connection is closed without counting as broken. A connection with a call in flight is not idle. */
KW_TEST(test_idle_clients_are_closed, "/net/session/idle")
{
    kw_net_limits limits = default_limits;
    limits.idle_ms = 400;
    test_server *server = server_new(limits, 1, NULL);
    int64_t broken = kw_metrics_read(KW_METRIC_connections_broken);
    int busy = connect_busy_client(server);
    int64_t before = g_get_monotonic_time();
    expect_end(connect_client(server));
    g_assert_cmpint((g_get_monotonic_time() - before) / 1000, >=, 390);
    release(server);
    expect_reply(busy, "hold", 1);
    expect_end(busy);
    g_assert_cmpint(kw_metrics_read(KW_METRIC_connections_broken), ==, broken);
    server_free(server);
    limits.idle_ms = 1; /* the lowest limit: 0 stands for no limit */
    server = server_new(limits, 1, NULL);
    expect_end(connect_client(server));
    server_free(server);
}

/* The loop is blocked while replies of slow calls are queued, and then checks time limits. The peer has read
 * nothing for longer than frame_ms, but only because there was nothing to read: it must not be closed. */
KW_TEST(test_queued_replies_do_not_count_as_unread, "/net/session/queued-replies")
{
    kw_net_limits limits = default_limits;
    limits.frame_ms = 200;
    test_server *server = server_new(limits, 1, NULL);
    int client = connect_client(server);
    for (size_t i = 0; i < 3; i++)
        send_message(client, "hold", i);
    wait_for(&server->held, 3);
    wait_loop_time(server, 400);
    server->keep_held = 1;
    server->block_loop_ms = 150;
    release(server);
    expect_reply(client, "hold", 0);
    expect_reply(client, "hold", 1);
    server->keep_held = 0;
    release(server);
    expect_reply(client, "hold", 2);
    close(client);
    server_free(server);
}

KW_TEST(test_connections_beyond_the_limit_are_closed, "/net/session/connection-limit")
{
    kw_net_limits limits = default_limits;
    limits.connections = 3;
    test_server *server = server_new(limits, 2, NULL);
    int64_t refused = kw_metrics_read(KW_METRIC_connections_refused);
    int good[3];
    for (size_t i = 0; i < G_N_ELEMENTS(good); i++) {
        good[i] = connect_client(server);
        send_message(good[i], "echo", 1);
        expect_reply(good[i], "echo", 1);
    }
    expect_end(connect_client(server));
    expect_end(connect_client(server));
    g_assert_cmpint(kw_metrics_read(KW_METRIC_connections_refused), ==, refused + 2);
    close(good[0]);
    wait_for_metric(KW_METRIC_connections_open, 2);
    good[0] = connect_client(server);
    for (size_t i = 0; i < G_N_ELEMENTS(good); i++) {
        send_message(good[i], "echo", 1);
        expect_reply(good[i], "echo", 1);
        close(good[i]);
    }
    server_free(server);
}

KW_TEST(test_draining_finishes_calls, "/net/session/drain")
{
    test_server *server = server_new(default_limits, 2, NULL);
    int idle = connect_client(server), busy = connect_client(server);
    send_message(idle, "echo", 1);
    expect_reply(idle, "echo", 1);
    send_message(busy, "later", 1);
    wait_for_seen(server, 2);
    server_drain(server, 60000);
    expect_reply(busy, "later", 1);
    expect_end(busy);
    expect_end(idle);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = g_htons(server->port)};
    address.sin_addr.s_addr = g_htonl(INADDR_LOOPBACK);
    int late = socket(AF_INET, SOCK_STREAM, 0);
    g_assert_cmpint(connect(late, (struct sockaddr *)&address, sizeof address), !=, 0);
    close(late);
    server_free(server);
}

KW_TEST(test_draining_ends_after_its_timeout, "/net/session/drain-in-time")
{
    test_server *server = server_new(default_limits, 2, NULL);
    int busy = connect_client(server);
    send_message(busy, "hold", 1);
    wait_for_seen(server, 1);
    int64_t before = g_get_monotonic_time();
    server_drain(server, 200);
    int64_t took_ms = (g_get_monotonic_time() - before) / 1000;
    g_assert_cmpint(took_ms, >=, 190);
    g_assert_cmpint(took_ms, <, 60000);
    expect_end(busy);
    server_free(server);
}

KW_TEST(test_a_port_in_use_is_an_error, "/net/session/port-in-use")
{
    test_server *server = server_new(default_limits, 2, NULL);
    test_server ending = {.main = kw_loop_new()};
    kw_net *second = kw_net_new(
        1, default_limits,
        &(kw_net_handler){
            .user = &ending, .loop_open = on_loop_open, .request = on_request, .loop_close = on_loop_close});
    kw_error error = KW_ERROR_NONE;
    uint16_t port = 0;
    g_assert_false(kw_net_listen(second, "127.0.0.1", server->port, NULL, &port, &error));
    g_assert_cmpint(error.code, ==, KW_UNAVAILABLE);
    g_assert_nonnull(strstr(error.text, "in use"));
    g_assert_false(kw_net_listen(second, "no.such.host.invalid", 1, NULL, &port, &error));
    g_assert_nonnull(strstr(error.text, "no.such.host.invalid:1"));
    kw_net_start(second);
    kw_net_drain(second, 0, ending.main, on_drained, &ending);
    kw_loop_run(ending.main);
    kw_net_free(second);
    kw_loop_free(ending.main);
    g_ptr_array_free(ending.loops[0].held, TRUE);
    server_free(server);
}

KW_TEST(test_a_tls_handshake_times_out, "/net/session/tls-handshake-time")
{
    certificates *files = certificates_new();
    certificates_leaf(files, "ca", "server", "DNS:gateway.test");
    g_autofree char *pem = certificates_file(files, "server.pem");
    g_autofree char *key = certificates_file(files, "server.key");
    kw_error error = KW_ERROR_NONE;
    kw_tls_context *tls = kw_tls_context_new_server(
        &(kw_model_tls){.certificate = pem, .key = key, .ca = "", .server_name = ""}, &error);
    g_assert_nonnull(tls);
    kw_net_limits limits = default_limits;
    limits.frame_ms = 200;
    test_server *server = server_new(limits, 1, tls);
    int64_t broken = kw_metrics_read(KW_METRIC_connections_broken), before = g_get_monotonic_time();
    expect_end(connect_client(server));
    g_assert_cmpint((g_get_monotonic_time() - before) / 1000, >=, 190);
    int half = connect_client(server);
    send_all(half, "\x16\x03\x01\x02\x00\x01", 6);
    shutdown(half, SHUT_WR);
    expect_end(half);
    int plain = connect_client(server);
    send_all(plain, "GET / HTTP/1.1\r\n\r\n", 18);
    char alert[64];
    receive(plain, alert, sizeof alert);
    close(plain);
    g_assert_cmpint(kw_metrics_read(KW_METRIC_connections_broken), ==, broken + 3);
    server_free(server);
    kw_tls_context_free(tls);
    certificates_free(files);
}
