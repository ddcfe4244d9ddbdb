/* While memory is short: pauses, memory for unfinished messages, and which connections are closed. */
#include "net/relief.h"
#include "unit/net/callers.h"

#include <errno.h>
#include <glib.h>
#include <sys/socket.h>
#include <unistd.h>

#define KIB ((size_t)1024)
#define MIB ((int64_t)1024 * 1024)

static void
charge_main(int64_t bytes)
{
    kw_budget_charge(KW_MEMORY_CALLS, bytes);
    kw_budget_settle();
}

typedef struct account_query {
    unsigned index;
    int64_t bytes;
} account_query;

static void
read_account(net_host *host, void *user)
{
    account_query *to = user;
    to->bytes = kw_account_bytes(kw_request_account(net_host_request(host, to->index)));
}

static int64_t
account_bytes_of(net_host *host, unsigned index)
{
    account_query found = {.index = index};
    net_host_run(host, read_account, &found);
    return found.bytes;
}

static void
assert_paused(net_host *host, void *user)
{
    g_assert_cmpuint(net_host_net(host)->workers[0].paused, ==, *(const size_t *)user);
}

static void
get_relief(net_host *host, void *user)
{
    *(bool *)user = uv_is_active((uv_handle_t *)&net_host_net(host)->workers[0].relief);
}

/* While memory is used up, the gateway does not read from a connection that holds much memory. It reads again
 * later. */
KW_TEST(test_pauses, "/net/relief/pauses")
{
    net_host *host = net_host_new(net_host_limits(), "127.0.0.1", NULL);
    int64_t pauses = kw_metrics_read(KW_METRIC_memory_pauses);
    int large = client_open(host), small = client_open(host);
    client_call(large, 1000 * KIB);
    net_host_wait(host, 1);
    kw_budget_configure(kw_budget_used() + 8 * (1 << 20));
    charge_main(9 * (1 << 20));
    client_call(large, 10);
    client_call(large, 20);
    wait_for_metric(KW_METRIC_memory_pauses, pauses + 1);
    net_host_run(host, assert_paused, &(size_t){1});
    client_call(small, 10);
    net_host_wait(host, 2);
    g_assert_cmpint(account_bytes_of(host, 1), <, 32 * (int64_t)KIB);
    charge_main(-9 * (1 << 20));
    net_host_wait(host, 4);
    net_host_run(host, assert_paused, &(size_t){0});
    for (bool active = true; active; net_host_run(host, get_relief, &active))
        g_usleep(1000); /* until the timer stops */
    kw_budget_configure(0);
    for (unsigned i = 0; i < 4; i++)
        net_host_reply(host, i, 1, 'a', false);
    client_expect(small, 1, 'a');
    for (int i = 0; i < 3; i++)
        client_expect(large, 1, 'a');
    close(large);
    close(small);
    net_host_free(host);
}

/* While memory is used up, a connection is closed if its client has not read its replies for a second. */
KW_TEST(test_stalled_connections_are_closed, "/net/relief/stalled")
{
    net_host *host = net_host_new(net_host_limits(), "127.0.0.1", NULL);
    int64_t closed = kw_metrics_read(KW_METRIC_memory_closed),
            broken = kw_metrics_read(KW_METRIC_connections_broken);
    int stalled = client_open(host), other = client_open(host);
    client_call(stalled, 1);
    net_host_wait(host, 1);
    client_call(other, 1);
    net_host_wait(host, 2);
    net_host_reply(host, 0, 32 << 20, 'a', true);
    int64_t before = g_get_monotonic_time();
    kw_budget_configure(kw_budget_used() + 8 * (1 << 20));
    charge_main(20 * (1 << 20));
    wait_for_metric(KW_METRIC_memory_closed, closed + 1);
    wait_for_metric(KW_METRIC_connections_broken, broken + 1);
    g_assert_cmpint((g_get_monotonic_time() - before) / 1000, >=, 900);
    charge_main(-20 * (1 << 20));
    kw_budget_configure(0);
    net_host_reply(host, 1, 5, 'b', false);
    client_expect(other, 5, 'b');
    g_assert_cmpint(kw_metrics_read(KW_METRIC_memory_closed), ==, closed + 1);
    close(stalled);
    close(other);
    net_host_free(host);
}

/* A connection within its share is closed, too, when only the reserve for small connections is left. */
KW_TEST(test_stalled_connections_are_closed_before_the_reserve_is_used, "/net/relief/stalled-at-the-reserve")
{
    net_host *host = net_host_new(net_host_limits(), "127.0.0.1", NULL);
    int64_t closed = kw_metrics_read(KW_METRIC_memory_closed);
    int stalled = client_open(host);
    client_call(stalled, 1);
    net_host_wait(host, 1);
    net_host_reply(host, 0, 32 << 20, 'a', true);
    kw_budget_configure(kw_budget_used() + 300 * MIB);
    charge_main(250 * MIB);
    g_usleep(1500 * 1000);
    g_assert_cmpint(kw_metrics_read(KW_METRIC_memory_closed), ==, closed);
    charge_main(25 * MIB);
    wait_for_metric(KW_METRIC_memory_closed, closed + 1);
    charge_main(-275 * MIB);
    kw_budget_configure(0);
    close(stalled);
    net_host_free(host);
}

/* --- unfinished messages -------------------------------------------------------------------------------- */

/* Unfinished messages can use 12 MiB of these: 8 MiB if the connection is not proven, and 4 MiB if the
 * message is not one of the oldest, either. */
#define BUDGET (32 * MIB)
#define UNPROVEN_MOST (8 * MIB)
#define MESSAGE (3000 * KIB)
/* With this part of a message, the block has 510 KiB: eight of them fit into what unproven connections get.
 */
#define PART (500 * KIB)
#define PARTS_MAX 40
/* So many of them use all space that unproven connections can have. */
#define STALLED_MAX 16

typedef struct relief_state {
    int64_t unfinished, lacking;
    size_t waiting;
} relief_state;

static void
read_state(net_host *host, void *user)
{
    const kw_net *net = net_host_net(host);
    *(relief_state *)user = (relief_state){net->unfinished, net->lacking, net->workers[0].waiting};
}

static relief_state
state_of(net_host *host)
{
    relief_state found;
    net_host_run(host, read_state, &found);
    return found;
}

static void
configure(net_host *host, void *user)
{
    kw_budget_configure(*(const int64_t *)user);
    kw_relief_configure(&net_host_net(host)->workers[0]);
}

static net_host *
host_with_budget(int64_t bytes)
{
    net_host *host = net_host_new(net_host_limits(), "127.0.0.1", NULL);
    net_host_run(host, configure, &bytes);
    return host;
}

static void
free_host(net_host *host)
{
    relief_state state = state_of(host);
    g_assert_cmpint(state.unfinished, ==, 0);
    g_assert_cmpint(state.lacking, ==, 0);
    g_assert_cmpuint(state.waiting, ==, 0);
    kw_budget_configure(0);
    net_host_free(host);
}

/* Sends as much of the first `size` bytes of a message as the system accepts. */
static int
open_unfinished(const net_host *host, size_t size)
{
    size_t all;
    g_autofree uint8_t *bytes = client_call_bytes(MESSAGE, &all);
    int client = client_open(host);
    for (size_t sent = 0; sent < size;) {
        ssize_t part = send(client, bytes + sent, size - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (part <= 0)
            break;
        sent += (size_t)part;
    }
    return client;
}

static void
wait_for_unfinished(net_host *host, int64_t least)
{
    while (state_of(host).unfinished < least)
        g_usleep(1000);
}

/* However many peers send a part of a message, the memory of the parts is bounded. A message that is finished
 * arrives nevertheless. */
KW_TEST(test_unfinished_messages_are_bounded, "/net/relief/bounded")
{
    net_host *host = host_with_budget(BUDGET);
    int64_t closed = kw_metrics_read(KW_METRIC_memory_closed_unfinished);
    int clients[PARTS_MAX];
    for (int i = 0; i < PARTS_MAX; i++)
        clients[i] = open_unfinished(host, 1500 * KIB);
    wait_for_unfinished(host, UNPROVEN_MOST / 4);
    for (int i = 0; i < 500 && kw_metrics_read(KW_METRIC_memory_closed_unfinished) < closed + 10; i++) {
        relief_state state = state_of(host);
        g_assert_cmpint(state.unfinished, <=, UNPROVEN_MOST + 4 * MIB);
        g_assert_cmpint(kw_budget_used(), <=, BUDGET);
        g_usleep(10 * 1000);
    }
    g_assert_cmpint(kw_metrics_read(KW_METRIC_memory_closed_unfinished), >=, closed + 10);
    int good = client_open(host);
    client_call(good, MESSAGE);
    net_host_wait(host, 1);
    net_host_reply(host, 0, 1, 'a', false);
    client_expect(good, 1, 'a');
    close(good);
    for (int i = 0; i < PARTS_MAX; i++)
        close(clients[i]);
    wait_for_metric(KW_METRIC_connections_open, 0);
    free_host(host);
}

/* Opens connections that stall after PART bytes, one after the other. */
static void
open_stalled(net_host *host, int *clients, int count)
{
    int64_t before = state_of(host).unfinished;
    for (int i = 0; i < count; i++) {
        clients[i] = open_unfinished(host, PART);
        wait_for_unfinished(host, before + (int64_t)PART * (i + 1));
    }
}

static bool
is_open(int client)
{
    char byte;
    return recv(client, &byte, 1, MSG_DONTWAIT) == -1 && errno == EAGAIN;
}

/* Stalled peers use all space. When messages lack space, those that stall for the longest time are closed,
 * and only as many as necessary. */
KW_TEST(test_longest_stalled_first, "/net/relief/longest-stalled-first")
{
    net_host *host = host_with_budget(BUDGET);
    int64_t closed = kw_metrics_read(KW_METRIC_memory_closed_unfinished);
    int clients[STALLED_MAX], late[4], gone = 0;
    open_stalled(host, clients, STALLED_MAX);
    g_usleep(1500 * 1000);
    g_assert_cmpint(kw_metrics_read(KW_METRIC_memory_closed_unfinished), ==, closed);
    for (size_t i = 0; i < G_N_ELEMENTS(late); i++)
        late[i] = open_unfinished(host, PART);
    while (kw_metrics_read(KW_METRIC_memory_closed_unfinished) == closed || state_of(host).lacking > 0)
        g_usleep(1000);
    g_usleep(100 * 1000);
    while (gone < STALLED_MAX && !is_open(clients[gone]))
        gone++;
    g_assert_cmpint(gone, ==, kw_metrics_read(KW_METRIC_memory_closed_unfinished) - closed);
    g_assert_cmpint(gone, <=, 8);
    for (int i = 0; i < STALLED_MAX; i++)
        close(clients[i]);
    for (size_t i = 0; i < G_N_ELEMENTS(late); i++)
        close(late[i]);
    wait_for_metric(KW_METRIC_connections_open, 0);
    free_host(host);
}

static void *
send_whole_message(void *user)
{
    client_call(*(int *)user, MESSAGE);
    return NULL;
}

/* Counts memory for unfinished messages as if another loop had them. */
static void
add_unfinished(net_host *host, void *user)
{
    net_host_net(host)->unfinished += *(const int64_t *)user;
}

/* A connection that has finished a message of this size has space that others cannot use. */
KW_TEST(test_proven_connections_have_space, "/net/relief/proven")
{
    net_host *host = host_with_budget(BUDGET);
    int proven = client_open(host), other = client_open(host);
    int64_t elsewhere = UNPROVEN_MOST + 1;
    client_call(proven, MESSAGE);
    net_host_wait(host, 1);
    net_host_reply(host, 0, 1, 'a', false);
    client_expect(proven, 1, 'a');
    net_host_run(host, add_unfinished, &elsewhere);
    GThread *sender = g_thread_new("sender", send_whole_message, &other);
    while (state_of(host).waiting < 1)
        g_usleep(1000);
    client_call(proven, MESSAGE);
    net_host_wait(host, 2);
    g_assert_cmpuint(state_of(host).waiting, ==, 1);
    elsewhere = -elsewhere;
    net_host_run(host, add_unfinished, &elsewhere);
    net_host_wait(host, 3);
    g_thread_join(sender);
    net_host_reply(host, 1, 1, 'b', false);
    net_host_reply(host, 2, 1, 'c', false);
    client_expect(proven, 1, 'b');
    client_expect(other, 1, 'c');
    close(proven);
    close(other);
    wait_for_metric(KW_METRIC_connections_open, 0);
    free_host(host);
}

/* Messages that together need more than the space for unfinished messages do not block each other. */
KW_TEST(test_large_messages_take_turns, "/net/relief/turns")
{
    enum { SENDERS = 6 };
    net_host *host = host_with_budget(16 * MIB); /* 4 MiB for unfinished messages */
    int clients[SENDERS];
    GThread *threads[SENDERS];
    for (int i = 0; i < SENDERS; i++) {
        clients[i] = client_open(host);
        threads[i] = g_thread_new("sender", send_whole_message, &clients[i]);
    }
    for (unsigned i = 0; i < SENDERS; i++) {
        while (net_host_seen(host) <= i)
            g_usleep(1000);
        net_host_reply(host, i, 1, 'a', false);
    }
    for (int i = 0; i < SENDERS; i++) {
        g_thread_join(threads[i]);
        client_expect(clients[i], 1, 'a');
        close(clients[i]);
    }
    wait_for_metric(KW_METRIC_connections_open, 0);
    free_host(host);
}

/* A few bytes now and then are no progress. */
KW_TEST(test_trickling_peers_are_closed, "/net/relief/trickle")
{
    net_host *host = host_with_budget(BUDGET);
    int64_t closed = kw_metrics_read(KW_METRIC_memory_closed_unfinished);
    int clients[STALLED_MAX], late[4];
    open_stalled(host, clients, STALLED_MAX);
    for (size_t i = 0; i < G_N_ELEMENTS(late); i++)
        late[i] = open_unfinished(host, PART);
    for (int i = 0; i < 2000 && kw_metrics_read(KW_METRIC_memory_closed_unfinished) == closed; i++) {
        for (int j = 0; j < STALLED_MAX; j++)
            send(clients[j], "xx", 2, MSG_NOSIGNAL | MSG_DONTWAIT);
        for (size_t j = 0; j < G_N_ELEMENTS(late); j++)
            send(late[j], "xx", 2, MSG_NOSIGNAL | MSG_DONTWAIT);
        g_usleep(5000);
    }
    g_assert_cmpint(kw_metrics_read(KW_METRIC_memory_closed_unfinished), >, closed);
    for (int i = 0; i < STALLED_MAX; i++)
        close(clients[i]);
    for (size_t i = 0; i < G_N_ELEMENTS(late); i++)
        close(late[i]);
    wait_for_metric(KW_METRIC_connections_open, 0);
    free_host(host);
}

/* At 80 % of the budget, messages that the peer does not continue are closed even if no message waits. */
KW_TEST(test_unfinished_messages_end_while_memory_is_short, "/net/relief/short")
{
    net_host *host = host_with_budget(BUDGET);
    int64_t closed = kw_metrics_read(KW_METRIC_memory_closed_unfinished);
    int part = open_unfinished(host, PART), small = client_open(host);
    wait_for_unfinished(host, PART);
    g_usleep(1500 * 1000);
    g_assert_cmpint(kw_metrics_read(KW_METRIC_memory_closed_unfinished), ==, closed);
    charge_main(26 * MIB);
    wait_for_metric(KW_METRIC_memory_closed_unfinished, closed + 1);
    client_expect_end(part);
    client_call(small, 10);
    net_host_wait(host, 1);
    charge_main(-26 * MIB);
    net_host_reply(host, 0, 1, 'a', false);
    client_expect(small, 1, 'a');
    close(small);
    wait_for_metric(KW_METRIC_connections_open, 0);
    free_host(host);
}
