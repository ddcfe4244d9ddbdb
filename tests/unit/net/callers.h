/* A net on 127.0.0.1 whose handler keeps every request until the test answers it, and clients on plain
 * sockets. The handler's thread and the test's thread share the requests under a lock. */
#pragma once

#include "net/net.h"

#include "base/metrics.h"

typedef struct net_host net_host;

/* One loop. The limits of net_host_limits are wide; change what a test needs. */
kw_net_limits net_host_limits(void);
net_host *net_host_new(kw_net_limits limits, const char *host, kw_tls_context *tls);
/* Answers all kept requests, drains at once, and checks that no connections and no memory remain. */
void net_host_free(net_host *host);
kw_net *net_host_net(net_host *host);
uint16_t net_host_port(const net_host *host);
kw_loop *net_host_loop(net_host *host);

/* Runs a function on the loop's thread and waits for its end. */
void net_host_run(net_host *host, void (*run)(net_host *host, void *user), void *user);

/* Keeps the loop busy until go is set. Returns when the loop is busy. */
typedef struct net_host_block {
    kw_task task;
    _Atomic bool entered, go;
} net_host_block;
void net_host_block_loop(net_host *host, net_host_block *block);

/* Waits until `count` requests have arrived in total. */
void net_host_wait(net_host *host, unsigned count);
unsigned net_host_seen(net_host *host);
kw_request *net_host_request(net_host *host, unsigned index);
/* True if the request had a refusal when it arrived. */
bool net_host_was_refused(net_host *host, unsigned index);

/* Calls left(host, index) on the loop's thread for each request whose peer has left before the answer; and
 * answer_all(host) when the time for draining is over. Set them before requests arrive. */
void net_host_on_left(net_host *host, void (*left)(net_host *host, unsigned index));
void net_host_on_answer_all(net_host *host, void (*answer_all)(net_host *host));
/* Every request keeps the loop busy for this time when it arrives. */
void net_host_set_busy_us(net_host *host, unsigned busy_us);

/* Answers a request on the loop's thread with a reply that has `size` bytes after the frame's length, each of
 * them `fill`. given: the reply is in a buffer of the handler. */
void net_host_reply(net_host *host, unsigned index, size_t size, char fill, bool given);
/* The same in two steps: net_host_answer does not release the request, net_host_release does. */
void net_host_answer(net_host *host, unsigned index, size_t size, char fill);
void net_host_release(net_host *host, unsigned index);
/* net_host_reply and net_host_answer for code that runs on the loop's thread. */
void net_host_reply_here(net_host *host, unsigned index, size_t size, char fill);
void net_host_answer_here(net_host *host, unsigned index, size_t size, char fill);
/* Ends a request without a reply on the loop's thread, but does not wait for that. */
void net_host_post_drop(net_host *host, unsigned index);

/* Starts to drain; net_host_drain_wait returns when the drain has ended. */
void net_host_drain(net_host *host, uint64_t drain_ms);
void net_host_drain_wait(net_host *host);

/* --- clients ------------------------------------------------------------------------------------------ */

int client_open(const net_host *host);
void client_send(int client, const void *bytes, size_t size);
/* A framed call of the method "call" with a text of this size. */
void client_call(int client, size_t size);
/* The bytes of such a call; free with g_free. */
uint8_t *client_call_bytes(size_t size, size_t *ret_size);
/* Reads a reply of net_host_reply. */
void client_expect(int client, size_t size, char fill);
/* Waits for the end of the connection and closes it. */
void client_expect_end(int client);
/* Closes with a reset. */
void client_reset(int client);

/* Waits until the metric has the value. */
void wait_for_metric(kw_metric metric, int64_t value);
