/* What a session does with its requests: which buffer a reply takes, the order of replies of every size, what
 * a request reports about its connection, limits, refusals, and the end of connections. */
#include "unit/net/callers.h"

#include <errno.h>
#include <glib.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#define KIB ((size_t)1024)

/* --- replies ------------------------------------------------------------------------------------------- */

/* Replies leave in the order of their requests, whatever their sizes, their buffers and the order of answers.
 */
static void
test_replies_of_all_sizes(void)
{
    static const size_t sizes[] = {10, 0, 127 * KIB, 129 * KIB, 1, 600 * KIB, 300 * KIB, 5, 128 * KIB - 4, 2};
    static const unsigned orders[][10] = {
        {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, {9, 8, 7, 6, 5, 4, 3, 2, 1, 0}, {5, 3, 0, 1, 9, 2, 4, 8, 7, 6}};
    for (unsigned variant = 0; variant < 6; variant++) {
        net_host *host = net_host_new(net_host_limits(), "127.0.0.1", NULL);
        int client = client_open(host);
        for (unsigned i = 0; i < G_N_ELEMENTS(sizes); i++)
            client_call(client, i);
        net_host_wait(host, G_N_ELEMENTS(sizes));
        for (unsigned i = 0; i < G_N_ELEMENTS(sizes); i++) {
            unsigned index = orders[variant / 2][i];
            net_host_reply(host, index, sizes[index], (char)('a' + index), variant % 2 == (index & 1));
        }
        for (unsigned i = 0; i < G_N_ELEMENTS(sizes); i++)
            client_expect(client, sizes[i], (char)('a' + i));
        close(client);
        net_host_free(host);
    }
}

static void
check_is_output(net_host *host, void *user)
{
    (void)user;
    kw_request *first = net_host_request(host, 0), *second = net_host_request(host, 1);
    kw_buffer *one = kw_request_reply(first), *two = kw_request_reply(second);
    g_assert_true(one != two);
    g_assert_cmpuint(kw_request_unsent(first), ==, kw_request_unsent(second));
}

/* Two requests of a connection never write to the same buffer at a time. */
static void
test_replies_have_their_own_buffers(void)
{
    net_host *host = net_host_new(net_host_limits(), "127.0.0.1", NULL);
    int client = client_open(host);
    client_call(client, 1);
    client_call(client, 2);
    net_host_wait(host, 2);
    net_host_run(host, check_is_output, NULL);
    net_host_reply(host, 1, 3, 'b', false);
    net_host_reply(host, 0, 3, 'a', false);
    client_expect(client, 3, 'a');
    client_expect(client, 3, 'b');
    close(client);
    net_host_free(host);
}

/* The gateway counts the bytes of callers, and knows what was sent. */
static void
test_bytes_are_counted(void)
{
    net_host *host = net_host_new(net_host_limits(), "127.0.0.1", NULL);
    int64_t in = kw_metrics_read(KW_METRIC_bytes_in), out = kw_metrics_read(KW_METRIC_bytes_out);
    int client = client_open(host);
    size_t size;
    g_free(client_call_bytes(5000, &size));
    client_call(client, 5000);
    net_host_wait(host, 1);
    wait_for_metric(KW_METRIC_bytes_in, in + (int64_t)size);
    net_host_reply(host, 0, 100, 'r', false);
    client_expect(client, 100, 'r');
    wait_for_metric(KW_METRIC_bytes_out, out + 104);
    client_call(client, 0);
    net_host_wait(host, 2);
    net_host_reply(host, 1, 700 * KIB, 's', true);
    client_expect(client, 700 * KIB, 's');
    wait_for_metric(KW_METRIC_bytes_out, out + 104 + 4 + 700 * (int64_t)KIB);
    close(client);
    net_host_free(host);
}

typedef struct facts {
    unsigned index;
    size_t unsent;
    uint64_t drained;
    int64_t account_bytes;
    uint32_t peer_number;
    char peer[64];
    bool has_subject, has_refusal, has_left;
    kw_bytes payload;
    kw_wire_form form;
} facts;

static void
read_facts(net_host *host, void *user)
{
    facts *to = user;
    const kw_request *request = net_host_request(host, to->index);
    to->unsent = kw_request_unsent(request);
    to->drained = kw_request_drained(request);
    to->account_bytes = kw_account_bytes(kw_request_account(request));
    to->has_left = kw_account_has_left(kw_request_account(request));
    to->peer_number = kw_request_peer_number(request);
    g_strlcpy(to->peer, kw_request_peer(request), sizeof to->peer);
    to->has_subject = kw_request_subject(request) != NULL;
    to->has_refusal = kw_request_refusal(request) != NULL;
    to->payload = kw_request_payload(request);
    to->form = kw_request_form(request);
}

static facts
facts_of(net_host *host, unsigned index)
{
    facts found = {.index = index};
    net_host_run(host, read_facts, &found);
    return found;
}

static uint16_t
port_of(int client)
{
    struct sockaddr_in address;
    socklen_t size = sizeof address;
    g_assert_cmpint(getsockname(client, (struct sockaddr *)&address, &size), ==, 0);
    return g_ntohs(address.sin_port);
}

static void
test_facts(void)
{
    net_host *host = net_host_new(net_host_limits(), "127.0.0.1", NULL);
    int one = client_open(host), two = client_open(host);
    client_call(one, 300 * KIB);
    net_host_wait(host, 1);
    client_call(two, 10);
    net_host_wait(host, 2);
    facts first = facts_of(host, 0), second = facts_of(host, 1);
    g_autofree char *name = g_strdup_printf("127.0.0.1:%u", port_of(one));
    g_assert_cmpstr(first.peer, ==, name);
    g_assert_cmpuint(first.peer_number, ==, second.peer_number);
    g_assert_cmpuint(first.peer_number, !=, 0);
    g_assert_false(first.has_subject || first.has_refusal || first.has_left);
    g_assert_cmpuint(first.unsent, ==, 0);
    g_assert_cmpuint(first.payload.size, >, 300 * KIB);
    g_assert_true(first.form.framed && first.form.protocol == KW_WIRE_BINARY);
    g_assert_cmpint(first.account_bytes, >=, 300 * (int64_t)KIB);
    g_assert_cmpint(first.account_bytes, <, 700 * (int64_t)KIB);
    g_assert_cmpint(second.account_bytes, >=, 2 * (int64_t)KIB);
    g_assert_cmpint(second.account_bytes, <, 32 * (int64_t)KIB);
    client_call(one, 1);
    net_host_wait(host, 3);
    for (unsigned i = 0; i < 2; i++) {
        uint64_t drained = facts_of(host, 2).drained;
        net_host_reply(host, i, 1, 'a', false);
        client_expect(i == 0 ? one : two, 1, 'a');
        g_assert_cmpuint(facts_of(host, 2).drained, ==, drained + (i == 0));
    }
    close(one);
    close(two);
    net_host_free(host);
}

/* A reply that nobody reads is unsent and charged; the count of drained replies grows when all were read. */
static void
test_unsent_replies_are_charged(void)
{
    net_host *host = net_host_new(net_host_limits(), "127.0.0.1", NULL);
    int client = client_open(host);
    for (int i = 0; i < 3; i++)
        client_call(client, 1);
    net_host_wait(host, 3);
    facts before = facts_of(host, 2);
    net_host_reply(host, 0, 16 << 20, 'a', true);
    net_host_reply(host, 1, 100 * KIB, 'b', true);
    facts during = facts_of(host, 2);
    g_assert_cmpuint(during.unsent, >, 4 << 20);
    g_assert_cmpuint(during.unsent, <=, (16 << 20) + 4 + 512 * KIB);
    g_assert_cmpint(during.account_bytes - before.account_bytes, >=, 16 << 20);
    g_assert_cmpuint(during.drained, ==, before.drained);
    client_expect(client, 16 << 20, 'a');
    client_expect(client, 100 * KIB, 'b');
    facts after = facts_of(host, 2);
    for (int i = 0; i < 60000 && (after.unsent > 0 || after.account_bytes > before.account_bytes); i++) {
        g_usleep(1000);
        after = facts_of(host, 2);
    }
    g_assert_cmpuint(after.unsent, ==, 0);
    g_assert_cmpuint(after.drained, ==, before.drained + 1);
    g_assert_cmpint(after.account_bytes, <=, before.account_bytes);
    close(client);
    net_host_free(host);
}

/* After kw_request_answered the reply leaves, while the request still counts as in flight. */
static void
test_answered_requests_stay_in_flight(void)
{
    kw_net_limits limits = net_host_limits();
    limits.in_flight = 2;
    net_host *host = net_host_new(limits, "127.0.0.1", NULL);
    int client = client_open(host);
    for (size_t i = 0; i < 3; i++)
        client_call(client, i);
    net_host_wait(host, 2);
    net_host_answer(host, 0, 5, 'a');
    client_expect(client, 5, 'a');
    g_assert_cmpuint(net_host_seen(host), ==, 2);
    facts kept = facts_of(host, 0);
    g_assert_cmpuint(kept.payload.size, >, 0);
    net_host_answer(host, 1, 6, 'b');
    client_expect(client, 6, 'b');
    g_assert_cmpuint(net_host_seen(host), ==, 2);
    net_host_release(host, 1);
    net_host_wait(host, 3);
    net_host_release(host, 0);
    net_host_reply(host, 2, 7, 'c', false);
    client_expect(client, 7, 'c');
    close(client);
    net_host_free(host);
}

/* The payloads in flight have at most the size of a frame, plus the message that exceeds it. */
static void
test_bytes_in_flight_are_bounded(void)
{
    kw_net_limits limits = net_host_limits();
    limits.frame_bytes = 100 * KIB;
    net_host *host = net_host_new(limits, "127.0.0.1", NULL);
    int client = client_open(host);
    for (int i = 0; i < 4; i++)
        client_call(client, 60 * KIB);
    net_host_wait(host, 2);
    net_host_reply(host, 0, 1, 'a', false);
    client_expect(client, 1, 'a');
    net_host_wait(host, 3);
    net_host_reply(host, 1, 1, 'b', false);
    net_host_reply(host, 2, 1, 'c', false);
    client_expect(client, 1, 'b');
    client_expect(client, 1, 'c');
    net_host_wait(host, 4);
    net_host_reply(host, 3, 1, 'd', false);
    client_expect(client, 1, 'd');
    close(client);
    net_host_free(host);
}

/* A client that is gone cannot take replies: its account has left, and its requests end as any others. */
static void
test_a_client_that_is_gone(void)
{
    net_host *host = net_host_new(net_host_limits(), "127.0.0.1", NULL);
    int client = client_open(host);
    for (int i = 0; i < 4; i++)
        client_call(client, 50 * KIB);
    net_host_wait(host, 4);
    net_host_reply(host, 1, 300 * KIB, 'b', true);
    net_host_reply(host, 2, 3, 'c', false);
    client_reset(client);
    wait_for_metric(KW_METRIC_connections_open, 0);
    g_assert_true(facts_of(host, 0).has_left);
    g_assert_cmpuint(facts_of(host, 0).unsent, ==, 0);
    net_host_reply(host, 3, 200 * KIB, 'd', true);
    net_host_reply(host, 0, 200 * KIB, 'a', false);
    net_host_free(host);
}

/* The same while large replies wait for the socket. */
static void
test_a_client_that_is_gone_before_its_replies(void)
{
    net_host *host = net_host_new(net_host_limits(), "127.0.0.1", NULL);
    int client = client_open(host);
    for (int i = 0; i < 6; i++)
        client_call(client, 1);
    net_host_wait(host, 6);
    for (unsigned i = 0; i < 6; i++)
        net_host_reply(host, i, 8 << 20, 'a', true);
    client_reset(client);
    wait_for_metric(KW_METRIC_connections_open, 0);
    net_host_free(host);
}

/* --- limits -------------------------------------------------------------------------------------------- */

typedef struct refusal {
    unsigned index;
    kw_code code;
    int64_t retry_after_ms;
    char text[200];
} refusal;

static void
read_refusal(net_host *host, void *user)
{
    refusal *to = user;
    const kw_error *error = kw_request_refusal(net_host_request(host, to->index));
    g_assert_nonnull(error);
    to->code = error->code;
    to->retry_after_ms = (int64_t)error->retry_after_ms;
    g_strlcpy(to->text, error->text, sizeof to->text);
}

static refusal
refusal_of(net_host *host, unsigned index)
{
    refusal found = {.index = index};
    net_host_run(host, read_refusal, &found);
    return found;
}

/* Opens a connection that must be refused and calls; false if it ended before its call arrived, because the
 * machine was slow. */
static bool
call_refused(net_host *host, unsigned seen, int *ret_client)
{
    size_t size;
    g_autofree uint8_t *bytes = client_call_bytes(100, &size);
    int client = client_open(host);
    *ret_client = client;
    struct pollfd ended = {.fd = client, .events = POLLIN};
    bool sent = send(client, bytes, size, MSG_NOSIGNAL) == (ssize_t)size;
    while (sent && net_host_seen(host) == seen && poll(&ended, 1, 1) == 0)
        continue;
    return net_host_seen(host) > seen;
}

/* The call of a refused connection can be answered, and then the connection ends. */
static void
expect_refused(net_host *host, const char *text)
{
    unsigned seen = net_host_seen(host);
    int client;
    for (int tries = 0; !call_refused(host, seen, &client); tries++) {
        g_assert_cmpint(tries, <, 100);
        close(client);
    }
    refusal found = refusal_of(host, seen);
    g_assert_cmpint(found.code, ==, KW_BUSY);
    g_assert_cmpint(found.retry_after_ms, ==, 1000);
    g_assert_cmpstr(found.text, ==, text);
    net_host_reply(host, seen, 4, 'n', false);
    client_expect(client, 4, 'n');
    client_expect_end(client);
}

static int
serve_one(net_host *host)
{
    unsigned seen = net_host_seen(host);
    int client = client_open(host);
    client_call(client, 1);
    net_host_wait(host, seen + 1);
    g_assert_false(facts_of(host, seen).has_refusal);
    net_host_reply(host, seen, 4, 'y', false);
    client_expect(client, 4, 'y');
    return client;
}

/* A connection beyond a limit gets the reason as the answer to its first call. */
static void
test_refusals_have_a_reason(void)
{
    int64_t accepted = kw_metrics_read(KW_METRIC_connections_accepted);
    int64_t refused = kw_metrics_read(KW_METRIC_connections_refused);
    int64_t of_peer = kw_metrics_read(KW_METRIC_connections_refused_peer);
    kw_net_limits limits = net_host_limits();
    limits.connections = 2;
    net_host *host = net_host_new(limits, "127.0.0.1", NULL);
    int one = serve_one(host), two = serve_one(host);
    expect_refused(host, "there are 2 connections already (limits.connections)");
    expect_refused(host, "there are 2 connections already (limits.connections)");
    g_assert_cmpint(kw_metrics_read(KW_METRIC_connections_open), ==, 2);
    close(one);
    wait_for_metric(KW_METRIC_connections_open, 1);
    close(two);
    net_host_free(host);
    g_assert_cmpint(kw_metrics_read(KW_METRIC_connections_accepted), ==, accepted + 2);
    g_assert_cmpint(kw_metrics_read(KW_METRIC_connections_refused), >=, refused + 2);
    g_assert_cmpint(kw_metrics_read(KW_METRIC_connections_refused_peer), ==, of_peer);
}

static void
nothing(net_host *host, void *user)
{
    (void)host, (void)user;
}

/* New limits hold for new connections. */
static void
test_limits_of_a_peer(void)
{
    int64_t of_peer = kw_metrics_read(KW_METRIC_connections_refused_peer);
    kw_net_limits limits = net_host_limits();
    limits.peer_connections = 1;
    net_host *host = net_host_new(limits, "127.0.0.1", NULL);
    int one = serve_one(host);
    expect_refused(host, "127.0.0.1 has 1 connections already (limits.peer_connections)");
    limits.peer_connections = 2;
    kw_net_set_limits(net_host_net(host), limits);
    net_host_run(host, nothing, NULL);
    int two = serve_one(host);
    expect_refused(host, "127.0.0.1 has 2 connections already (limits.peer_connections)");
    g_assert_cmpint(kw_metrics_read(KW_METRIC_connections_refused_peer), >=, of_peer + 2);
    close(one);
    wait_for_metric(KW_METRIC_connections_open, 1);
    one = serve_one(host);
    close(one);
    close(two);
    net_host_free(host);
}

/* Refused connections that ended make space for others to wait for their call: of 70 in turn, all get the
 * reason, although at most 64 wait at a time. */
static void
test_waiting_refusals_are_counted(void)
{
    kw_net_limits limits = net_host_limits();
    limits.connections = 1;
    net_host *host = net_host_new(limits, "127.0.0.1", NULL);
    int one = serve_one(host), clients[35];
    for (int round = 0; round < 2; round++) {
        unsigned seen = net_host_seen(host);
        for (unsigned i = 0; i < G_N_ELEMENTS(clients); i++) {
            for (int tries = 0; !call_refused(host, seen + i, &clients[i]); tries++) {
                g_assert_cmpint(tries, <, 100);
                close(clients[i]);
            }
        }
        for (unsigned i = 0; i < G_N_ELEMENTS(clients); i++)
            net_host_reply(host, seen + i, 4, 'n', false);
        for (unsigned i = 0; i < G_N_ELEMENTS(clients); i++) {
            client_expect(clients[i], 4, 'n');
            client_expect_end(clients[i]);
        }
    }
    close(one);
    net_host_free(host);
}

/* A refused connection that makes no call ends soon. Its call must be short. */
static void
test_refused_connections_end(void)
{
    kw_net_limits limits = net_host_limits();
    limits.connections = 1;
    net_host *host = net_host_new(limits, "127.0.0.1", NULL);
    int one = serve_one(host);
    int64_t before = g_get_monotonic_time();
    client_expect_end(client_open(host));
    g_assert_cmpint((g_get_monotonic_time() - before) / 1000, >=, 490);
    int long_call = client_open(host);
    client_send(long_call, "\x00\x00\x40\x01\x80\x01", 6);
    client_expect_end(long_call);
    g_assert_cmpuint(net_host_seen(host), ==, 1);
    close(one);
    net_host_free(host);
}

/* New time limits hold for connections that are open. */
static void
test_new_time_limits(void)
{
    net_host *host = net_host_new(net_host_limits(), "127.0.0.1", NULL);
    int client = serve_one(host);
    kw_net_limits limits = net_host_limits();
    limits.idle_ms = 50;
    kw_net_set_limits(net_host_net(host), limits);
    client_expect_end(client);
    net_host_free(host);
}

/* Without descriptors no connection is accepted; later the waiting ones are. */
static void
test_no_descriptor(void)
{
    net_host *host = net_host_new(net_host_limits(), "127.0.0.1", NULL);
    int64_t failed = kw_metrics_read(KW_METRIC_accepts_failed);
    struct rlimit before, none;
    g_assert_cmpint(getrlimit(RLIMIT_NOFILE, &before), ==, 0);
    int client = client_open(host); /* accepted or not yet: it takes its descriptor from the same process */
    int second = client_open(host), third = client_open(host);
    int highest = dup(third);
    client_call(client, 1);
    client_call(second, 1);
    client_call(third, 1);
    net_host_wait(host, 3);
    int waiting = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_storage address;
    socklen_t size = sizeof address;
    g_assert_cmpint(getpeername(client, (struct sockaddr *)&address, &size), ==, 0);
    none = (struct rlimit){.rlim_cur = 3, .rlim_max = before.rlim_max};
    g_assert_cmpint(setrlimit(RLIMIT_NOFILE, &none), ==, 0);
    g_assert_cmpint(connect(waiting, (struct sockaddr *)&address, size), ==, 0);
    for (int i = 0; i < 60000 && kw_metrics_read(KW_METRIC_accepts_failed) < failed + 2; i++)
        g_usleep(1000);
    g_assert_cmpint(kw_metrics_read(KW_METRIC_accepts_failed), >=, failed + 2);
    g_assert_cmpint(kw_metrics_read(KW_METRIC_accepts_failed), <, failed + 1000);
    g_assert_cmpint(setrlimit(RLIMIT_NOFILE, &before), ==, 0);
    client_call(waiting, 1);
    net_host_wait(host, 4);
    close(waiting);
    close(highest);
    close(client);
    close(second);
    close(third);
    net_host_free(host);
}

/* --- the end of connections ----------------------------------------------------------------------------- */

/* After its last reply a broken connection takes what the client still sends, so that the client can read the
 * reply; but only for two seconds. */
static void
test_lingering(void)
{
    net_host *host = net_host_new(net_host_limits(), "127.0.0.1", NULL);
    int client = client_open(host);
    client_call(client, 1);
    net_host_wait(host, 1);
    client_send(client, "\x7f\xff\xff\xff", 4);
    g_autofree char *more = g_malloc0(200 * KIB);
    client_send(client, more, 200 * KIB);
    net_host_reply(host, 0, 5, 'a', false);
    client_expect(client, 5, 'a');
    char byte;
    g_assert_cmpint(recv(client, &byte, 1, 0), ==, 0);
    int64_t before = g_get_monotonic_time(), took_ms = 0;
    while (send(client, more, 1, MSG_NOSIGNAL) == 1 && took_ms < 60000) {
        g_usleep(20000);
        took_ms = (g_get_monotonic_time() - before) / 1000;
    }
    g_assert_cmpint(took_ms, >=, 1800);
    g_assert_cmpint(took_ms, <, 60000);
    close(client);
    net_host_free(host);
}

/* While the gateway drains, calls that arrived before are served and later ones are refused. */
static void
test_draining(void)
{
    net_host *host = net_host_new(net_host_limits(), "127.0.0.1", NULL);
    int client = client_open(host);
    client_call(client, 1);
    net_host_wait(host, 1);
    net_host_drain(host, 60000);
    net_host_run(host, nothing, NULL);
    client_call(client, 2);
    net_host_wait(host, 2);
    refusal found = refusal_of(host, 1);
    g_assert_cmpint(found.code, ==, KW_UNAVAILABLE);
    g_assert_cmpstr(found.text, ==, "the gateway is shutting down");
    net_host_reply(host, 1, 2, 'n', false);
    net_host_reply(host, 0, 2, 'y', false);
    client_expect(client, 2, 'y');
    client_expect(client, 2, 'n');
    client_expect_end(client);
    net_host_drain_wait(host);
    net_host_free(host);
}

/* kw_net_close_now ends a drain that waits for a call, however often it is called while the loop is busy. */
static void
test_hurry(void)
{
    net_host *host = net_host_new(net_host_limits(), "127.0.0.1", NULL);
    int client = client_open(host);
    client_call(client, 1);
    net_host_wait(host, 1);
    net_host_drain(host, 3600 * 1000);
    net_host_run(host, nothing, NULL);
    g_assert_cmpint(kw_metrics_read(KW_METRIC_connections_open), ==, 1);
    kw_net_close_now(net_host_net(host));
    kw_net_close_now(net_host_net(host));
    client_expect_end(client);
    net_host_drain_wait(host);
    net_host_free(host);
}

static void
sleep_long(net_host *host, void *user)
{
    bool *alive = user;
    g_usleep(400 * 1000);
    *alive = kw_net_alive(net_host_net(host), 300);
}

/* A loop that is busy for long is not alive. */
static void
test_alive(void)
{
    net_host *host = net_host_new(net_host_limits(), "127.0.0.1", NULL);
    bool alive = true;
    g_assert_true(kw_net_alive(net_host_net(host), 60000));
    net_host_run(host, sleep_long, &alive);
    g_assert_false(alive);
    for (int i = 0; i < 60000 && !kw_net_alive(net_host_net(host), 300); i++)
        g_usleep(1000);
    g_assert_true(kw_net_alive(net_host_net(host), 60000));
    net_host_free(host);
}

static void
test_version_six(void)
{
    int probe = socket(AF_INET6, SOCK_STREAM, 0);
    struct sockaddr_in6 address = {.sin6_family = AF_INET6, .sin6_addr = in6addr_loopback};
    bool usable = probe >= 0 && bind(probe, (struct sockaddr *)&address, sizeof address) == 0;
    if (probe >= 0)
        close(probe);
    if (!usable) {
        g_test_skip("this machine has no IPv6");
        return;
    }
    net_host *host = net_host_new(net_host_limits(), "::1", NULL);
    int client = client_open(host);
    client_call(client, 1);
    net_host_wait(host, 1);
    g_assert_nonnull(strstr(facts_of(host, 0).peer, "::1:"));
    net_host_reply(host, 0, 2, 'a', false);
    client_expect(client, 2, 'a');
    close(client);
    net_host_free(host);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/net/requests/replies-of-all-sizes", test_replies_of_all_sizes);
    g_test_add_func("/net/requests/own-buffers", test_replies_have_their_own_buffers);
    g_test_add_func("/net/requests/bytes", test_bytes_are_counted);
    g_test_add_func("/net/requests/facts", test_facts);
    g_test_add_func("/net/requests/unsent", test_unsent_replies_are_charged);
    g_test_add_func("/net/requests/answered", test_answered_requests_stay_in_flight);
    g_test_add_func("/net/requests/bytes-in-flight", test_bytes_in_flight_are_bounded);
    g_test_add_func("/net/requests/client-gone", test_a_client_that_is_gone);
    g_test_add_func("/net/requests/client-gone-early", test_a_client_that_is_gone_before_its_replies);
    g_test_add_func("/net/requests/refusals", test_refusals_have_a_reason);
    g_test_add_func("/net/requests/limits-of-a-peer", test_limits_of_a_peer);
    g_test_add_func("/net/requests/waiting-refusals", test_waiting_refusals_are_counted);
    g_test_add_func("/net/requests/refused-end", test_refused_connections_end);
    g_test_add_func("/net/requests/new-time-limits", test_new_time_limits);
    g_test_add_func("/net/requests/no-descriptor", test_no_descriptor);
    g_test_add_func("/net/requests/lingering", test_lingering);
    g_test_add_func("/net/requests/draining", test_draining);
    g_test_add_func("/net/requests/hurry", test_hurry);
    g_test_add_func("/net/requests/alive", test_alive);
    g_test_add_func("/net/requests/version-six", test_version_six);
    return g_test_run();
}
