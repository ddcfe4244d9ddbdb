/* A net with several loops, addresses that cannot be used, and calls that come too early. */
#include "net/worker.h"

#include "base/clock.h"
#include "unit/net/callers.h"

#include <glib.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

enum { LOOPS = 3, CLIENTS = 200 };

typedef struct loops {
    kw_loop *main;
    _Atomic unsigned requests[LOOPS];
} loops;

typedef struct loop_state {
    loops *all;
    unsigned index;
} loop_state;

static void *
open_state(void *user, kw_loop *loop, unsigned index)
{
    loop_state *state = g_new0(loop_state, 1);
    (void)loop;
    g_assert_cmpuint(index, <, LOOPS);
    *state = (loop_state){user, index};
    return state;
}

static void
drop_request(void *user, kw_request *request)
{
    loop_state *state = user;
    state->all->requests[state->index]++;
    kw_request_drop(request);
}

static void
close_state(void *user, void (*closed)(void *), void *closed_user)
{
    g_free(user);
    closed(closed_user);
}

static void
drained(void *user)
{
    kw_loop_stop(((loops *)user)->main);
}

static kw_net *
net_of_loops(loops *self)
{
    kw_net_handler handler = {
        .user = self, .loop_open = open_state, .request = drop_request, .loop_close = close_state};
    *self = (loops){.main = kw_loop_new()};
    kw_net_limits limits = net_host_limits();
    limits.connections = limits.peer_connections = CLIENTS;
    return kw_net_new(LOOPS, limits, &handler);
}

static void
stop_within(loops *self, kw_net *net, uint64_t drain_ms)
{
    kw_net_drain(net, drain_ms, self->main, drained, self);
    kw_loop_run(self->main);
    kw_net_free(net);
    kw_loop_free(self->main);
}

static void
stop(loops *self, kw_net *net)
{
    stop_within(self, net, 0);
}

/* Starts the net and connects clients to it. */
static void
connect_clients(kw_net *net, int *ret_clients)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    kw_error error;
    uint16_t port;
    g_assert_true(kw_net_listen(net, "127.0.0.1", 0, NULL, &port, &error));
    kw_net_start(net);
    address.sin_port = g_htons(port);
    address.sin_addr.s_addr = g_htonl(INADDR_LOOPBACK);
    for (size_t i = 0; i < CLIENTS; i++) {
        ret_clients[i] = socket(AF_INET, SOCK_STREAM, 0);
        g_assert_cmpint(connect(ret_clients[i], (struct sockaddr *)&address, sizeof address), ==, 0);
    }
}

/* The system distributes connections over all loops. */
KW_TEST(test_every_loop_listens, "/net/loops/every-loop-listens")
{
    loops self;
    kw_net *net = net_of_loops(&self);
    int clients[CLIENTS];
    connect_clients(net, clients);
    for (size_t i = 0; i < CLIENTS; i++)
        client_call(clients[i], 1);
    unsigned all = 0;
    for (int i = 0; i < 120000 && all < CLIENTS; i++) {
        g_usleep(1000);
        all = 0;
        for (size_t loop = 0; loop < LOOPS; loop++)
            all += self.requests[loop];
    }
    g_assert_cmpuint(all, ==, CLIENTS);
    for (size_t loop = 0; loop < LOOPS; loop++)
        g_assert_cmpuint(self.requests[loop], >, 0);
    for (size_t i = 0; i < CLIENTS; i++)
        close(clients[i]);
    stop(&self, net);
}

/* The error says why an address cannot be used. */
KW_TEST(test_foreign_address, "/net/loops/foreign-address")
{
    loops self;
    kw_net *net = net_of_loops(&self);
    kw_error error;
    uint16_t port;
    g_assert_false(kw_net_listen(net, "192.0.2.1", 0, NULL, &port, &error));
    g_assert_cmpint(error.code, ==, KW_NOT_FOUND);
    g_assert_cmpstr(error.text, ==, "cannot listen on 192.0.2.1:0: Cannot assign requested address");
    kw_net_start(net);
    stop(&self, net);
    kw_net_free(NULL);
}

static void
assert_checked_every(net_host *host, void *user)
{
    const uint64_t *every_ms = user;
    g_assert_cmpuint(uv_timer_get_repeat(&net_host_net(host)->workers[0].sweep), ==, *every_ms);
}

/* Time limits are checked four times within the shortest of them, but not more often than every 20 ms and not
 * less often than every 250 ms. */
KW_TEST(test_time_between_checks, "/net/loops/time-between-checks")
{
    static const struct {
        uint64_t frame_ms, idle_ms, every_ms;
    } cases[] = {{500, 700, 125}, {700, 500, 125}, {600, 0, 150}, {10, 0, 20}, {600, 10, 20}, {5000, 0, 250}};
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        kw_net_limits limits = net_host_limits();
        limits.frame_ms = cases[i].frame_ms;
        limits.idle_ms = cases[i].idle_ms;
        net_host *host = net_host_new(limits, "127.0.0.1", NULL);
        uint64_t every_ms = cases[i].every_ms;
        net_host_run(host, assert_checked_every, &every_ms);
        net_host_free(host);
    }
}

/* Loops that work are alive for as long as asked. */
KW_TEST(test_alive, "/net/loops/alive")
{
    loops self;
    kw_net *net = net_of_loops(&self);
    kw_net_start(net);
    uint64_t start_ns = kw_clock_mono_ns();
    while (kw_clock_mono_ns() - start_ns < 8 * 1000 * 1000)
        g_assert_true(kw_net_alive(net, 60000));
    stop(&self, net);
}

/* A drain without connections and listeners does not wait for its time limit. */
KW_TEST(test_drain_without_connections, "/net/loops/drain-without-connections")
{
    loops self;
    kw_net *net = net_of_loops(&self);
    kw_net_start(net);
    stop_within(&self, net, 600000);
}

/* A hurried drain closes the connections of every loop, even those with a partial message. */
KW_TEST(test_hurried_drain, "/net/loops/hurried-drain")
{
    loops self;
    kw_net *net = net_of_loops(&self);
    int clients[CLIENTS];
    int64_t received = kw_metrics_read(KW_METRIC_bytes_in);
    connect_clients(net, clients);
    for (size_t i = 0; i < CLIENTS; i++)
        client_send(clients[i], "\0\0\0", 3);
    for (int i = 0; i < 120000 && kw_metrics_read(KW_METRIC_bytes_in) < received + 3 * CLIENTS; i++)
        g_usleep(1000);
    kw_net_drain(net, 600000, self.main, drained, &self);
    kw_net_close_now(net);
    kw_loop_run(self.main);
    kw_net_free(net);
    kw_loop_free(self.main);
    for (size_t i = 0; i < CLIENTS; i++)
        close(clients[i]);
}

/* Only a drain can be hurried. */
KW_TEST(test_hurry_without_drain, "/net/loops/hurry-without-drain")
{
    net_host *host = net_host_new(net_host_limits(), "127.0.0.1", NULL);
    int client = client_open(host);
    client_call(client, 1);
    net_host_wait(host, 1);
    kw_net_close_now(net_host_net(host));
    net_host_reply(host, 0, 1, 'a', false); /* on the loop, afterwards */
    client_expect(client, 1, 'a');
    client_call(client, 1);
    net_host_wait(host, 2);
    close(client);
    net_host_free(host);
}
