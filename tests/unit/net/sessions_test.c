/* Sessions at the start of a drain, and while memory is short. */
#include "net/output.h"
#include "net/session.h"
#include "unit/net/callers.h"

#include <glib.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#define KIB ((size_t)1024)

/* --- draining ------------------------------------------------------------------------------------------- */

typedef struct blocker {
    _Atomic bool entered, go;
} blocker;

typedef struct block_task {
    kw_task task;
    blocker *blocker;
} block_task;

static void
block_loop(kw_task *task)
{
    blocker *it = ((block_task *)task)->blocker;
    it->entered = true;
    while (!it->go)
        g_usleep(1000);
}

/* Calls that the system received before the drain are served, even those that the loop has not read yet. */
static void
test_calls_before_a_drain_are_served(void)
{
    net_host *host = net_host_new(net_host_limits(), "127.0.0.1", NULL);
    int client = client_open(host);
    client_call(client, 1);
    net_host_wait(host, 1);
    net_host_reply(host, 0, 1, 'a', false);
    client_expect(client, 1, 'a');
    blocker block = {.entered = false};
    block_task task = {.task.run = block_loop, .blocker = &block};
    kw_loop_post(net_host_loop(host), &task.task);
    while (!block.entered)
        g_usleep(1000);
    client_call(client, 2);
    client_call(client, 100 * KIB);
    net_host_drain(host, 60000);
    block.go = true;
    net_host_wait(host, 3);
    g_assert_false(net_host_was_refused(host, 1));
    g_assert_false(net_host_was_refused(host, 2));
    net_host_reply(host, 1, 1, 'b', false);
    net_host_reply(host, 2, 1, 'c', false);
    client_expect(client, 1, 'b');
    client_expect(client, 1, 'c');
    client_expect_end(client);
    net_host_drain_wait(host);
    net_host_free(host);
}

/* A session is also freed if it is closed in the loop iteration in which one of its requests ends. */
static void
test_closed_while_a_request_ends(void)
{
    net_host *host = net_host_new(net_host_limits(), "127.0.0.1", NULL);
    int client = client_open(host);
    client_call(client, 1);
    client_call(client, 2);
    net_host_wait(host, 2);
    net_host_drain(host, 3600 * 1000);
    blocker block = {.entered = false};
    block_task task = {.task.run = block_loop, .blocker = &block};
    kw_loop_post(net_host_loop(host), &task.task);
    while (!block.entered)
        g_usleep(1000);
    net_host_post_drop(host, 0);
    kw_net_close_now(net_host_net(host));
    block.go = true;
    client_expect_end(client);
    net_host_drain_wait(host);
    net_host_free(host);
}

/* --- time ----------------------------------------------------------------------------------------------- */

/* A connection that ended in the middle of a message is reported once, even if an earlier call is still in
 * flight. */
static void
test_ended_connections_are_reported_once(void)
{
    kw_net_limits limits = net_host_limits();
    limits.frame_ms = 100;
    net_host *host = net_host_new(limits, "127.0.0.1", NULL);
    int64_t broken = kw_metrics_read(KW_METRIC_connections_broken);
    int client = client_open(host);
    size_t size;
    g_autofree uint8_t *bytes = client_call_bytes(100, &size);
    g_autofree uint8_t *both = g_malloc(size + 20);
    memcpy(both, bytes, size);
    memcpy(both + size, bytes, 20);
    client_send(client, both, size + 20);
    net_host_wait(host, 1);
    client_reset(client);
    wait_for_metric(KW_METRIC_connections_open, 0);
    wait_for_metric(KW_METRIC_connections_broken, broken + 1);
    g_usleep(400 * 1000);
    g_assert_cmpint(kw_metrics_read(KW_METRIC_connections_broken), ==, broken + 1);
    net_host_reply(host, 0, 1, 'a', false);
    net_host_free(host);
}

/* --- memory --------------------------------------------------------------------------------------------- */

static void
charge_main(int64_t bytes)
{
    kw_budget_charge(KW_MEMORY_CALLS, bytes);
    kw_budget_settle();
}

/* A connection without calls keeps no memory of large replies. */
static void
test_memory_of_large_replies(void)
{
    net_host *host = net_host_new(net_host_limits(), "127.0.0.1", NULL);
    int client = client_open(host);
    client_call(client, 1);
    net_host_wait(host, 1);
    net_host_reply(host, 0, 600 * 1024, 'a', false);
    client_expect(client, 600 * 1024, 'a');
    wait_for_metric(KW_METRIC_memory_replies, 0);
    close(client);
    net_host_free(host);
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
static void
test_pauses(void)
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
static void
test_stalled_connections_are_closed(void)
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

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/net/sessions/before-a-drain", test_calls_before_a_drain_are_served);
    g_test_add_func("/net/sessions/closed-while-ending", test_closed_while_a_request_ends);
    g_test_add_func("/net/sessions/reported-once", test_ended_connections_are_reported_once);
    g_test_add_func("/net/sessions/pauses", test_pauses);
    g_test_add_func("/net/sessions/stalled", test_stalled_connections_are_closed);
    g_test_add_func("/net/sessions/memory-of-large-replies", test_memory_of_large_replies);
    return g_test_run();
}
