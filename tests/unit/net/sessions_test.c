/* Sessions at the start of a drain, at their end, and their memory. */
#include "net/output.h"
#include "net/session.h"
#include "unit/net/callers.h"

#include <glib.h>
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
KW_TEST(test_calls_before_a_drain_are_served, "/net/sessions/before-a-drain")
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
KW_TEST(test_closed_while_a_request_ends, "/net/sessions/closed-while-ending")
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
KW_TEST(test_ended_connections_are_reported_once, "/net/sessions/reported-once")
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

/* A connection without calls keeps no memory of large replies. */
KW_TEST(test_memory_of_large_replies, "/net/sessions/memory-of-large-replies")
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
