/* Limits of connections, the replies on refused connections, and the end of connections. */
#include "unit/net/callers.h"

#include <glib.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#define KIB ((size_t)1024)

/* --- limits -------------------------------------------------------------------------------------------- */

typedef struct refusal {
    unsigned index;
    kw_code code;
    int64_t retry_after_ms;
    uint32_t peer_number;
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
    to->peer_number = kw_request_peer_number(net_host_request(host, to->index));
    g_strlcpy(to->text, error->text, sizeof to->text);
}

static refusal
refusal_of(net_host *host, unsigned index)
{
    refusal found = {.index = index};
    net_host_run(host, read_refusal, &found);
    return found;
}

/* Opens a connection, which must be refused, and sends a call. False if the connection ended before the call
 * arrived, because the machine was slow. */
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

/* A call on a refused connection can be answered; then the connection ends. */
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
    g_assert_cmpuint(found.peer_number, ==, 0); /* it does not count for a peer */
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
    g_assert_false(net_host_was_refused(host, seen));
    net_host_reply(host, seen, 4, 'y', false);
    client_expect(client, 4, 'y');
    return client;
}

/* A connection beyond a limit gets the reason as the answer to its first call. */
KW_TEST(test_refusals_have_a_reason, "/net/connections/refusals")
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

/* New limits apply to new connections. */
KW_TEST(test_limits_of_a_peer, "/net/connections/limits-of-a-peer")
{
    int64_t of_peer = kw_metrics_read(KW_METRIC_connections_refused_peer);
    kw_net_limits limits = net_host_limits();
    limits.peer_connections = 1;
    limits.connections = 3;
    net_host *host = net_host_new(limits, "127.0.0.1", NULL);
    int one = serve_one(host);
    for (int i = 0; i < 4; i++) /* the refused ones do not count as connections */
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

/* When a refused connection ends, another one can wait for its call. So each of 70 connections, one after
 * another, gets the reason, although at most 64 can wait at a time. */
KW_TEST(test_waiting_refusals_are_counted, "/net/connections/waiting-refusals")
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

/* While 64 refused connections wait for their calls, further ones are closed at once. They leave no trace:
 * later refusals can wait again. */
KW_TEST(test_too_many_waiting_refusals, "/net/connections/too-many-waiting-refusals")
{
    kw_net_limits limits = net_host_limits();
    limits.connections = 1;
    net_host *host = net_host_new(limits, "127.0.0.1", NULL);
    int one = serve_one(host), clients[64 + 80];
    for (size_t i = 0; i < G_N_ELEMENTS(clients); i++)
        clients[i] = client_open(host);
    for (size_t i = G_N_ELEMENTS(clients); i-- > 0;)
        client_expect_end(clients[i]);
    expect_refused(host, "there are 1 connections already (limits.connections)");
    close(one);
    net_host_free(host);
}

/* A refused connection is closed soon if no call arrives, and at once if the call is too long. */
KW_TEST(test_refused_connections_end, "/net/connections/refused-end")
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

/* New time limits also apply to open connections. */
KW_TEST(test_new_time_limits, "/net/connections/new-time-limits")
{
    net_host *host = net_host_new(net_host_limits(), "127.0.0.1", NULL);
    int client = serve_one(host);
    kw_net_limits limits = net_host_limits();
    limits.idle_ms = 50;
    kw_net_set_limits(net_host_net(host), limits);
    client_expect_end(client);
    net_host_free(host);
}

/* While the process has no free descriptor, no connection is accepted. Waiting connections are accepted
 * later. */
KW_TEST(test_no_descriptor, "/net/connections/no-descriptor")
{
    net_host *host = net_host_new(net_host_limits(), "127.0.0.1", NULL);
    int64_t failed = kw_metrics_read(KW_METRIC_accepts_failed);
    struct rlimit before, none;
    g_assert_cmpint(getrlimit(RLIMIT_NOFILE, &before), ==, 0);
    int client = client_open(host); /* the server's end needs a descriptor of this process, too */
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
    int64_t least = INT64_MAX; /* the smallest step: each attempt counts once */
    for (int64_t i = 0, seen = failed, now; i < 60000 && (seen < failed + 2 || least > 1); i++, seen = now) {
        g_usleep(1000);
        now = kw_metrics_read(KW_METRIC_accepts_failed);
        least = now > seen ? MIN(least, now - seen) : least;
    }
    g_assert_cmpint(least, ==, 1);
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

/* After its last reply, a broken connection still reads what the client sends, so that the client can read
 * the reply. It does so for two seconds only. */
KW_TEST(test_lingering, "/net/connections/lingering")
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
KW_TEST(test_draining, "/net/connections/draining")
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

/* Keeps the loop busy for longer than a connection must be quiet to be closed. Meanwhile, a call arrives. */
static void
call_while_busy(net_host *host, void *user)
{
    (void)host;
    g_usleep(400 * 1000);
    client_call(*(int *)user, 1);
}

/* While draining, a call is refused with a reply if it arrived before the loop detected that its connection
 * was quiet. */
KW_TEST(test_call_before_quiet, "/net/connections/call before quiet")
{
    net_host *host = net_host_new(net_host_limits(), "127.0.0.1", NULL);
    int client = client_open(host);
    client_call(client, 1);
    net_host_wait(host, 1);
    net_host_drain(host, 3600 * 1000);
    net_host_reply(host, 0, 1, 'a', false);
    client_expect(client, 1, 'a');
    net_host_run(host, call_while_busy, &client);
    net_host_wait(host, 2);
    g_assert_true(net_host_was_refused(host, 1));
    net_host_reply(host, 1, 1, 'b', false);
    client_expect(client, 1, 'b');
    client_expect_end(client);
    net_host_drain_wait(host);
    net_host_free(host);
}

/* kw_net_close_now ends a drain that waits for a call, however often it is called while the loop is busy. */
KW_TEST(test_hurry, "/net/connections/hurry")
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
count_one(uv_prepare_t *prepare)
{
    ++*(unsigned *)prepare->data;
}

/* Counts the iterations of the loop from the first call to the second one. */
static void
count_iterations(net_host *host, void *user)
{
    static uv_prepare_t prepare;
    unsigned *count = user;
    if (prepare.data) {
        uv_close((uv_handle_t *)&prepare, NULL);
        return;
    }
    uv_prepare_init(kw_loop_uv(net_host_loop(host)), &prepare);
    prepare.data = count;
    uv_prepare_start(&prepare, count_one);
}

/* The descriptor of the other end of a connection, which is in this process, too. */
static int
other_end_of(int client)
{
    struct sockaddr_in here, peer;
    socklen_t size = sizeof here;
    g_assert_cmpint(getsockname(client, (struct sockaddr *)&here, &size), ==, 0);
    for (int descriptor = 0; descriptor < 1024; descriptor++) {
        size = sizeof peer;
        if (getpeername(descriptor, (struct sockaddr *)&peer, &size) == 0 && peer.sin_family == AF_INET &&
            peer.sin_port == here.sin_port)
            return descriptor;
    }
    g_assert_not_reached();
}

/* The kernel notices a client that has disappeared. */
KW_TEST(test_keepalive, "/net/connections/keepalive")
{
    net_host *host = net_host_new(net_host_limits(), "127.0.0.1", NULL);
    int client = serve_one(host), on = 0, idle_s = 0;
    socklen_t size = sizeof on;
    int served = other_end_of(client);
    g_assert_cmpint(getsockopt(served, SOL_SOCKET, SO_KEEPALIVE, &on, &size), ==, 0);
    g_assert_cmpint(getsockopt(served, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, &size), ==, 0);
    g_assert_cmpint(on, ==, 1);
    g_assert_cmpint(idle_s, ==, 60);
    close(client);
    net_host_free(host);
}

/* A loop whose connections are quiet sleeps. */
KW_TEST(test_quiet_loop, "/net/connections/quiet-loop")
{
    unsigned iterations = 0;
    net_host *host = net_host_new(net_host_limits(), "127.0.0.1", NULL);
    int client = serve_one(host);
    net_host_run(host, count_iterations, &iterations);
    g_usleep(200 * 1000);
    net_host_run(host, count_iterations, &iterations);
    g_assert_cmpuint(iterations, <, 100);
    close(client);
    net_host_free(host);
}

/* Each loop is a thread with a name. */
KW_TEST(test_thread_names, "/net/connections/thread-names")
{
    net_host *host = net_host_new(net_host_limits(), "127.0.0.1", NULL);
    GDir *tasks = g_dir_open("/proc/self/task", 0, NULL);
    unsigned found = 0;
    g_assert_nonnull(tasks);
    for (const char *task; (task = g_dir_read_name(tasks));) {
        g_autofree char *file = g_strdup_printf("/proc/self/task/%s/comm", task), *name = NULL;
        if (g_file_get_contents(file, &name, NULL, NULL))
            found += strcmp(name, "loop-0\n") == 0;
    }
    g_dir_close(tasks);
    g_assert_cmpuint(found, ==, 1);
    net_host_free(host);
}

static void
sleep_long(net_host *host, void *user)
{
    bool *alive = user;
    g_usleep(400 * 1000);
    *alive = kw_net_alive(net_host_net(host), 300);
}

/* A loop that is busy for a long time does not count as alive. */
KW_TEST(test_alive, "/net/connections/alive")
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
check_peer_of_six(net_host *host, void *user)
{
    (void)user;
    g_assert_nonnull(strstr(kw_request_peer(net_host_request(host, 0)), "::1:"));
}

KW_TEST(test_version_six, "/net/connections/version-six")
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
    net_host_run(host, check_peer_of_six, NULL);
    net_host_reply(host, 0, 2, 'a', false);
    client_expect(client, 2, 'a');
    close(client);
    net_host_free(host);
}
