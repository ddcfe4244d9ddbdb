/* Sessions over real sockets on 127.0.0.1, with a handler that answers as the method's name says:
 *   echo    at once, the same message back       later   after 50 ms       hold   when the test says so
 *   big     at once, 1 MiB                       drop    never (oneway)    refuse ends the connection */
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

typedef struct later {
    kw_request *request;
    kw_timer *timer;
} later;

/* One loop's side. */
typedef struct place {
    kw_loop *loop;
    kw_task release;
    GPtrArray *held; /* kw_request */
} place;

typedef struct stage {
    kw_net *net;
    kw_loop *main;
    place places[2];
    uint16_t port;
    _Atomic unsigned seen;
    _Atomic unsigned held;
    kw_bytes held_payload; /* of the last "hold" */
    unsigned kept_back;    /* of the held, the last so many stay when they are released */
    unsigned long_turn_ms; /* the loop is busy for so long behind a release */
    bool drained;
} stage;

static stage *the_stage; /* the handler's loops reach the counters through it */

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
    later *waiting = user;
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
    place *here = state;
    kw_wire_message message;
    kw_error error;
    g_assert_true(kw_wire_message_decode(kw_request_form(request).protocol, kw_request_payload(request),
                                         &message, &error));
    atomic_fetch_add(&the_stage->seen, 1);
    if (kw_bytes_equal(message.name, KW_BYTES_LITERAL("echo"))) {
        reply_with(request, kw_request_payload(request));
    } else if (kw_bytes_equal(message.name, KW_BYTES_LITERAL("later"))) {
        later *waiting = g_new(later, 1);
        waiting->request = request;
        waiting->timer = kw_timer_new(here->loop, on_later, waiting);
        kw_timer_start_ms(waiting->timer, 50);
    } else if (kw_bytes_equal(message.name, KW_BYTES_LITERAL("hold"))) {
        g_ptr_array_add(here->held, request);
        the_stage->held_payload = kw_request_payload(request);
        atomic_fetch_add(&the_stage->held, 1);
    } else if (kw_bytes_equal(message.name, KW_BYTES_LITERAL("big"))) {
        reply_big(request);
    } else if (kw_bytes_equal(message.name, KW_BYTES_LITERAL("drop"))) {
        kw_request_drop(request);
    } else {
        kw_request_refuse(request, "the test says so");
    }
}

static void
release_held(place *here)
{
    unsigned count = here->held->len - MIN(the_stage->kept_back, here->held->len);
    for (unsigned i = 0; i < count; i++)
        reply_with(here->held->pdata[i], kw_request_payload(here->held->pdata[i]));
    if (count > 0)
        g_ptr_array_remove_range(here->held, 0, count);
    atomic_fetch_sub(&the_stage->held, count);
}

static void
on_release(kw_task *task)
{
    release_held((place *)((char *)task - offsetof(place, release)));
    g_usleep(the_stage->long_turn_ms * 1000);
}

static void *
on_loop_open(void *user, kw_loop *loop, unsigned index)
{
    place *here = &((stage *)user)->places[index];
    here->loop = loop;
    here->release.run = on_release;
    here->held = g_ptr_array_new();
    return here;
}

static void
on_loop_close(void *state, void (*closed)(void *), void *closed_user)
{
    release_held(state);
    closed(closed_user);
}

static const kw_net_limits easy = {.connections = 100,
                                   .peer_connections = 100,
                                   .frame_bytes = 4 * 1024 * 1024,
                                   .in_flight = 16,
                                   .frame_ms = 60000,
                                   .idle_ms = 0,
                                   .handshake_ms = 60000};

static stage *
stage_new(kw_net_limits limits, unsigned loops, kw_tls_context *tls)
{
    stage *made = g_new0(stage, 1);
    the_stage = made;
    made->main = kw_loop_new();
    made->net = kw_net_new(
        loops, limits,
        &(kw_net_handler){
            .user = made, .loop_open = on_loop_open, .request = on_request, .loop_close = on_loop_close});
    kw_error error = KW_ERROR_NONE;
    g_assert_true(kw_net_listen(made->net, "127.0.0.1", 0, tls, &made->port, &error));
    g_assert_cmpuint(made->port, >, 0);
    kw_net_start(made->net);
    return made;
}

static void
on_drained(void *user)
{
    stage *made = user;
    made->drained = true;
    kw_loop_stop(made->main);
}

static void
stage_drain(stage *made, uint64_t drain_ms)
{
    kw_net_drain(made->net, drain_ms, made->main, on_drained, made);
    kw_loop_run(made->main);
    g_assert_true(made->drained);
}

static void
stage_free(stage *made)
{
    if (!made->drained)
        stage_drain(made, 0);
    kw_net_free(made->net);
    kw_loop_free(made->main);
    for (unsigned i = 0; i < G_N_ELEMENTS(made->places); i++)
        if (made->places[i].held)
            g_ptr_array_free(made->places[i].held, TRUE);
    g_assert_cmpint(kw_metrics_read(KW_METRIC_connections_open), ==, 0);
    g_free(made);
}

/* --- the callers' side ------------------------------------------------------------------------ */

static int
caller(const stage *there)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = g_htons(there->port)};
    address.sin_addr.s_addr = g_htonl(INADDR_LOOPBACK);
    int made = socket(AF_INET, SOCK_STREAM, 0);
    g_assert_cmpint(connect(made, (struct sockaddr *)&address, sizeof address), ==, 0);
    struct timeval patience = {.tv_sec = 60};
    setsockopt(made, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    return made;
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
    kw_buffer made = KW_BUFFER_EMPTY;
    kw_wire_form form = {KW_WIRE_BINARY, true};
    size_t mark = kw_wire_frame_begin(&made, form);
    kw_wire_message_encode(&made, KW_WIRE_BINARY, kw_bytes_of_text(name), KW_WIRE_CALL, 7);
    uint8_t head[7] = {11, 0, 1};
    kw_be32_store(head + 3, (uint32_t)extra);
    kw_buffer_append(&made, kw_bytes_of(head, sizeof head));
    memset(kw_buffer_reserve(&made, extra), 'x', extra);
    made.size += extra;
    kw_buffer_append_byte(&made, 0);
    kw_wire_frame_end(&made, form, mark);
    return made;
}

static void
say(int to, const char *name, size_t extra)
{
    kw_buffer bytes = message(name, extra);
    send_all(to, bytes.data, bytes.size);
    kw_buffer_clear(&bytes);
}

/* Bytes until `size` came; fewer when the peer closed. */
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

static void
wait_for(const _Atomic unsigned *counted, unsigned count)
{
    for (int i = 0; i < 20000 && atomic_load(counted) < count; i++)
        g_usleep(5000);
    g_assert_cmpuint(atomic_load(counted), ==, count);
}

static void
wait_for_seen(const stage *there, unsigned count)
{
    wait_for(&there->seen, count);
}

static void
release(stage *there)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(there->places); i++)
        if (there->places[i].loop)
            kw_loop_post(there->places[i].loop, &there->places[i].release);
}

/* --- tests ------------------------------------------------------------------------------------ */

static void
test_answers(void)
{
    static const size_t sizes[] = {0, 1, 100, 5000, 16000, 16384, 70000, 3000000};
    stage *there = stage_new(easy, 2, NULL);
    int callers[6];
    for (size_t i = 0; i < G_N_ELEMENTS(callers); i++)
        callers[i] = caller(there);
    for (size_t size = 0; size < G_N_ELEMENTS(sizes); size++)
        for (size_t i = 0; i < G_N_ELEMENTS(callers); i++) {
            say(callers[i], "echo", sizes[size]);
            expect_reply(callers[i], "echo", sizes[size]);
        }
    for (size_t i = 0; i < G_N_ELEMENTS(callers); i++)
        close(callers[i]);
    stage_free(there);
}

static void
test_messages_in_pieces(void)
{
    stage *there = stage_new(easy, 1, NULL);
    int one = caller(there);
    kw_buffer two = message("echo", 300);
    kw_buffer second = message("echo", 20000);
    kw_buffer_append(&two, kw_buffer_bytes(&second));
    for (size_t at = 0; at < two.size;) {
        size_t piece = MIN(two.size - at, at < 400 ? 1 : 3001);
        send_all(one, two.data + at, piece);
        at += piece;
        if (at % 50 == 0)
            g_usleep(500);
    }
    expect_reply(one, "echo", 300);
    expect_reply(one, "echo", 20000);
    kw_buffer_clear(&two);
    kw_buffer_clear(&second);
    close(one);
    stage_free(there);
}

static void
test_replies_keep_their_order(void)
{
    stage *there = stage_new(easy, 1, NULL);
    int one = caller(there);
    say(one, "later", 1);
    say(one, "echo", 2);
    say(one, "hold", 3);
    say(one, "drop", 4);
    say(one, "echo", 5);
    expect_reply(one, "later", 1);
    expect_reply(one, "echo", 2);
    wait_for_seen(there, 5);
    release(there);
    expect_reply(one, "hold", 3);
    expect_reply(one, "echo", 5);
    close(one);
    stage_free(there);
}

static void
test_a_caller_is_not_read_from_beyond_in_flight(void)
{
    kw_net_limits limits = easy;
    limits.in_flight = 4;
    stage *there = stage_new(limits, 1, NULL);
    int one = caller(there);
    for (size_t i = 0; i < 10; i++)
        say(one, "hold", 10 + i);
    wait_for_seen(there, 4);
    g_usleep(100000);
    g_assert_cmpuint(atomic_load(&there->seen), ==, 4);
    for (size_t i = 0; i < 10; i++) {
        if (i % 4 == 0) {
            wait_for_seen(there, (unsigned)MIN(i + 4, 10));
            release(there);
        }
        expect_reply(one, "hold", 10 + i);
    }
    close(one);
    stage_free(there);
}

static void
test_a_caller_that_takes_no_replies_is_not_read_from(void)
{
    stage *there = stage_new(easy, 1, NULL);
    int one = caller(there);
    for (int i = 0; i < 64; i++)
        say(one, "big", 0);
    g_usleep(300000);
    unsigned seen = atomic_load(&there->seen);
    g_assert_cmpuint(seen, <, 32);
    g_autofree uint8_t *got = g_malloc(BIG + 4);
    for (int i = 0; i < 64; i++)
        g_assert_cmpuint(receive(one, got, BIG + 4), ==, BIG + 4);
    g_assert_cmpuint(atomic_load(&there->seen), ==, 64);
    close(one);
    stage_free(there);
}

static void
test_a_caller_that_takes_no_replies_is_closed_in_time(void)
{
    kw_net_limits limits = easy;
    limits.frame_ms = 300;
    stage *there = stage_new(limits, 1, NULL);
    int64_t broken = kw_metrics_read(KW_METRIC_connections_broken);
    int one = caller(there);
    kw_buffer all = KW_BUFFER_EMPTY; /* sent at once: it may be closed any time from then on */
    for (int i = 0; i < 64; i++) {
        kw_buffer each = message("big", 0);
        kw_buffer_append(&all, kw_buffer_bytes(&each));
        kw_buffer_clear(&each);
    }
    send_all(one, all.data, all.size);
    kw_buffer_clear(&all);
    for (int i = 0; i < 20000 && kw_metrics_read(KW_METRIC_connections_broken) == broken; i++)
        g_usleep(5000);
    g_assert_cmpint(kw_metrics_read(KW_METRIC_connections_broken), ==, broken + 1);
    close(one);
    stage_free(there);
}

static void
test_a_reply_waits_for_the_half_closed_caller(void)
{
    stage *there = stage_new(easy, 1, NULL);
    int one = caller(there);
    say(one, "later", 9);
    shutdown(one, SHUT_WR);
    expect_reply(one, "later", 9);
    expect_end(one);
    stage_free(there);
}

static void
test_a_caller_that_left_does_not_break_its_call(void)
{
    stage *there = stage_new(easy, 1, NULL);
    int one = caller(there);
    say(one, "hold", 50000);
    wait_for(&there->held, 1);
    struct linger reset = {.l_onoff = 1};
    setsockopt(one, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
    close(one);
    for (int i = 0; i < 20000 && kw_metrics_read(KW_METRIC_connections_open) > 0; i++)
        g_usleep(5000);
    g_assert_cmpint(kw_metrics_read(KW_METRIC_connections_open), ==, 0);
    const uint8_t *last = there->held_payload.data + there->held_payload.size - 2;
    g_assert_cmpint(*last, ==, 'x');
    release(there);
    int other = caller(there);
    say(other, "echo", 1);
    expect_reply(other, "echo", 1);
    close(other);
    stage_free(there);
}

typedef struct broken_case {
    const char *about;
    const char *bytes;
    size_t size;
} broken_case;

static void
test_what_is_not_thrift_ends_the_connection(void)
{
    static const broken_case cases[] = {
        {"http", "GET / HTTP/1.1\r\nHost: x\r\n\r\n", 27},
        {"length -1", "\xff\xff\xff\xff\x80\x01", 6},
        {"length 2 GB", "\x7f\xff\xff\xff\x80\x01", 6},
        {"length beyond the limit", "\x00\x40\x00\x01\x80\x01", 6},
        {"no bytes", "\x00\x00\x00\x00", 4},
        {"no mark", "\x00\x00\x00\x10hello", 9},
    };
    stage *there = stage_new(easy, 1, NULL);
    int good = caller(there);
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        int64_t broken = kw_metrics_read(KW_METRIC_connections_broken);
        int one = caller(there);
        send_all(one, cases[i].bytes, cases[i].size);
        expect_end(one);
        g_assert_cmpint(kw_metrics_read(KW_METRIC_connections_broken), ==, broken + 1);
        say(good, "echo", 3);
        expect_reply(good, "echo", 3);
    }
    close(good);
    stage_free(there);
}

static void
test_replies_before_the_broken_input_go_out(void)
{
    stage *there = stage_new(easy, 1, NULL);
    int one = caller(there);
    kw_buffer bytes = message("later", 1);
    kw_buffer_append(&bytes, KW_BYTES_LITERAL("\x7f\xff\xff\xff\x80\x01"));
    send_all(one, bytes.data, bytes.size);
    kw_buffer_clear(&bytes);
    expect_reply(one, "later", 1);
    expect_end(one);
    one = caller(there);
    say(one, "refuse", 1);
    expect_end(one);
    stage_free(there);
}

static void
test_half_a_message_is_waited_for_only_so_long(void)
{
    kw_net_limits limits = easy;
    limits.frame_ms = 200;
    stage *there = stage_new(limits, 1, NULL);
    int64_t broken = kw_metrics_read(KW_METRIC_connections_broken);
    int idle = caller(there), half = caller(there);
    say(idle, "echo", 1);
    expect_reply(idle, "echo", 1);
    int64_t before = g_get_monotonic_time();
    send_all(half, "\x00\x00\x00\x20\x80", 5);
    expect_end(half);
    int64_t took_ms = (g_get_monotonic_time() - before) / 1000;
    g_assert_cmpint(took_ms, >=, 190);
    g_assert_cmpint(kw_metrics_read(KW_METRIC_connections_broken), ==, broken + 1);
    say(idle, "echo", 2);
    expect_reply(idle, "echo", 2);
    close(idle);
    stage_free(there);
}

/* One whose call is under way; a caller that was kept from calling so long that it was idle calls again. */
static int
busy_caller(stage *there)
{
    for (int tries = 0; tries < 100; tries++) {
        int made = caller(there);
        kw_buffer bytes = message("hold", 1);
        ssize_t sent = send(made, bytes.data, bytes.size, MSG_NOSIGNAL);
        bool whole = sent == (ssize_t)bytes.size;
        kw_buffer_clear(&bytes);
        struct pollfd ended = {.fd = made, .events = POLLIN};
        while (whole && atomic_load(&there->held) == 0 && poll(&ended, 1, 5) == 0)
            continue;
        if (atomic_load(&there->held) == 1)
            return made;
        close(made);
    }
    g_assert_not_reached();
}

/* Without being told why: nothing is broken. A connection with a call under way is not idle. */
static void
test_idle_callers_are_closed(void)
{
    kw_net_limits limits = easy;
    limits.idle_ms = 400;
    stage *there = stage_new(limits, 1, NULL);
    int64_t broken = kw_metrics_read(KW_METRIC_connections_broken);
    int busy = busy_caller(there);
    int64_t before = g_get_monotonic_time();
    expect_end(caller(there));
    g_assert_cmpint((g_get_monotonic_time() - before) / 1000, >=, 390);
    release(there);
    expect_reply(busy, "hold", 1);
    expect_end(busy);
    g_assert_cmpint(kw_metrics_read(KW_METRIC_connections_broken), ==, broken);
    stage_free(there);
}

/* Replies of slow calls that wait for the end of a long turn of the loop, when time is looked at: the peer
 * has had nothing to take for longer than a frame may need, and that is not its fault. */
static void
test_replies_that_wait_for_their_turn(void)
{
    kw_net_limits limits = easy;
    limits.frame_ms = 200;
    stage *there = stage_new(limits, 1, NULL);
    int one = caller(there);
    for (size_t i = 0; i < 3; i++)
        say(one, "hold", i);
    wait_for(&there->held, 3);
    g_usleep(400000);
    there->kept_back = 1;
    there->long_turn_ms = 150;
    release(there);
    expect_reply(one, "hold", 0);
    expect_reply(one, "hold", 1);
    there->kept_back = 0;
    release(there);
    expect_reply(one, "hold", 2);
    close(one);
    stage_free(there);
}

static void
test_connections_beyond_the_limit_are_closed(void)
{
    kw_net_limits limits = easy;
    limits.connections = 3;
    stage *there = stage_new(limits, 2, NULL);
    int64_t refused = kw_metrics_read(KW_METRIC_connections_refused);
    int good[3];
    for (size_t i = 0; i < G_N_ELEMENTS(good); i++) {
        good[i] = caller(there);
        say(good[i], "echo", 1);
        expect_reply(good[i], "echo", 1);
    }
    expect_end(caller(there));
    expect_end(caller(there));
    g_assert_cmpint(kw_metrics_read(KW_METRIC_connections_refused), ==, refused + 2);
    close(good[0]);
    for (int i = 0; i < 20000 && kw_metrics_read(KW_METRIC_connections_open) > 2; i++)
        g_usleep(5000);
    good[0] = caller(there);
    for (size_t i = 0; i < G_N_ELEMENTS(good); i++) {
        say(good[i], "echo", 1);
        expect_reply(good[i], "echo", 1);
        close(good[i]);
    }
    stage_free(there);
}

static void
test_draining_lets_calls_end(void)
{
    stage *there = stage_new(easy, 2, NULL);
    int idle = caller(there), busy = caller(there);
    say(idle, "echo", 1);
    expect_reply(idle, "echo", 1);
    say(busy, "later", 1);
    wait_for_seen(there, 2);
    stage_drain(there, 60000);
    expect_reply(busy, "later", 1);
    expect_end(busy);
    expect_end(idle);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = g_htons(there->port)};
    address.sin_addr.s_addr = g_htonl(INADDR_LOOPBACK);
    int late = socket(AF_INET, SOCK_STREAM, 0);
    g_assert_cmpint(connect(late, (struct sockaddr *)&address, sizeof address), !=, 0);
    close(late);
    stage_free(there);
}

static void
test_draining_ends_when_time_is_up(void)
{
    stage *there = stage_new(easy, 2, NULL);
    int busy = caller(there);
    say(busy, "hold", 1);
    wait_for_seen(there, 1);
    int64_t before = g_get_monotonic_time();
    stage_drain(there, 200);
    int64_t took_ms = (g_get_monotonic_time() - before) / 1000;
    g_assert_cmpint(took_ms, >=, 190);
    g_assert_cmpint(took_ms, <, 60000);
    expect_end(busy);
    stage_free(there);
}

static void
test_a_port_that_is_taken_is_refused(void)
{
    stage *there = stage_new(easy, 2, NULL);
    stage ending = {.main = kw_loop_new()};
    kw_net *second = kw_net_new(
        1, easy,
        &(kw_net_handler){
            .user = &ending, .loop_open = on_loop_open, .request = on_request, .loop_close = on_loop_close});
    kw_error error = KW_ERROR_NONE;
    uint16_t port = 0;
    g_assert_false(kw_net_listen(second, "127.0.0.1", there->port, NULL, &port, &error));
    g_assert_cmpint(error.code, ==, KW_UNAVAILABLE);
    g_assert_nonnull(strstr(error.text, "in use"));
    g_assert_false(kw_net_listen(second, "no.such.host.invalid", 1, NULL, &port, &error));
    g_assert_nonnull(strstr(error.text, "no.such.host.invalid:1"));
    kw_net_start(second);
    kw_net_drain(second, 0, ending.main, on_drained, &ending);
    kw_loop_run(ending.main);
    kw_net_free(second);
    kw_loop_free(ending.main);
    g_ptr_array_free(ending.places[0].held, TRUE);
    stage_free(there);
}

static void
test_tls_waits_only_so_long(void)
{
    certificates *files = certificates_new();
    certificates_leaf(files, "ca", "server", "DNS:gateway.test");
    g_autofree char *pem = certificates_file(files, "server.pem");
    g_autofree char *key = certificates_file(files, "server.key");
    kw_error error = KW_ERROR_NONE;
    kw_tls_context *tls = kw_tls_context_new_server(
        &(kw_model_tls){.certificate = pem, .key = key, .ca = "", .server_name = ""}, &error);
    g_assert_nonnull(tls);
    kw_net_limits limits = easy;
    limits.handshake_ms = 200;
    stage *there = stage_new(limits, 1, tls);
    int64_t broken = kw_metrics_read(KW_METRIC_connections_broken);
    expect_end(caller(there));
    int half = caller(there);
    send_all(half, "\x16\x03\x01\x02\x00\x01", 6);
    shutdown(half, SHUT_WR);
    expect_end(half);
    int plain = caller(there);
    send_all(plain, "GET / HTTP/1.1\r\n\r\n", 18);
    char alert[64];
    receive(plain, alert, sizeof alert);
    close(plain);
    g_assert_cmpint(kw_metrics_read(KW_METRIC_connections_broken), ==, broken + 3);
    stage_free(there);
    kw_tls_context_free(tls);
    certificates_free(files);
}

int
main(int count, char **arguments)
{
    g_test_init(&count, &arguments, NULL);
    g_test_add_func("/net/session/answers", test_answers);
    g_test_add_func("/net/session/messages-in-pieces", test_messages_in_pieces);
    g_test_add_func("/net/session/replies-keep-their-order", test_replies_keep_their_order);
    g_test_add_func("/net/session/in-flight-limit", test_a_caller_is_not_read_from_beyond_in_flight);
    g_test_add_func("/net/session/unsent-limit", test_a_caller_that_takes_no_replies_is_not_read_from);
    g_test_add_func("/net/session/stalled-replies", test_a_caller_that_takes_no_replies_is_closed_in_time);
    g_test_add_func("/net/session/half-closed-caller", test_a_reply_waits_for_the_half_closed_caller);
    g_test_add_func("/net/session/caller-left", test_a_caller_that_left_does_not_break_its_call);
    g_test_add_func("/net/session/not-thrift", test_what_is_not_thrift_ends_the_connection);
    g_test_add_func("/net/session/broken-after-good", test_replies_before_the_broken_input_go_out);
    g_test_add_func("/net/session/half-a-message", test_half_a_message_is_waited_for_only_so_long);
    g_test_add_func("/net/session/idle", test_idle_callers_are_closed);
    g_test_add_func("/net/session/replies-in-line", test_replies_that_wait_for_their_turn);
    g_test_add_func("/net/session/connection-limit", test_connections_beyond_the_limit_are_closed);
    g_test_add_func("/net/session/drain", test_draining_lets_calls_end);
    g_test_add_func("/net/session/drain-in-time", test_draining_ends_when_time_is_up);
    g_test_add_func("/net/session/port-taken", test_a_port_that_is_taken_is_refused);
    g_test_add_func("/net/session/tls-handshake-time", test_tls_waits_only_so_long);
    return g_test_run();
}
