/* Peers that leave before their replies, the time that one peer's messages get before other peers are served,
 * and the last replies of a drain. */
#include "unit/net/callers.h"

#include <glib.h>
#include <sys/socket.h>
#include <unistd.h>

/* --- peers that leave ------------------------------------------------------------------------------------
 */

/* How often the handler was notified, by request. Written on the loop's thread. */
static _Atomic unsigned notified[64];
static _Atomic unsigned notified_sum;
static _Atomic bool could_reply;

static void
note_left(net_host *host, unsigned index)
{
    could_reply = kw_request_can_reply(net_host_request(host, index));
    notified[index]++;
    notified_sum++;
}

static void
reply_to_left(net_host *host, unsigned index)
{
    note_left(host, index);
    net_host_reply_here(host, index, 1, 'l');
}

static net_host *
host_new(uint32_t in_flight, void (*left)(net_host *host, unsigned index))
{
    kw_net_limits limits = net_host_limits();
    limits.in_flight = in_flight;
    net_host *host = net_host_new(limits, "127.0.0.1", NULL);
    net_host_on_left(host, left);
    for (unsigned i = 0; i < G_N_ELEMENTS(notified); i++)
        notified[i] = 0;
    notified_sum = 0;
    return host;
}

static void
wait_notified(unsigned count)
{
    for (int i = 0; i < 60000 && notified_sum < count; i++)
        g_usleep(1000);
    g_assert_cmpuint(notified_sum, ==, count);
}

/* The handler is notified once about each request that is not answered, and can still answer it. */
KW_TEST(test_half_close, "/net/leaving/half-close")
{
    net_host *host = host_new(16, note_left);
    int client = client_open(host);
    for (unsigned i = 0; i < 4; i++)
        client_call(client, 1);
    net_host_wait(host, 4);
    net_host_reply(host, 1, 2, 'b', false);
    net_host_answer(host, 2, 2, 'c');
    shutdown(client, SHUT_WR);
    wait_notified(2);
    g_assert_true(notified[0] == 1 && notified[3] == 1 && could_reply);
    net_host_reply(host, 3, 2, 'd', false);
    net_host_reply(host, 0, 2, 'a', false);
    for (char fill = 'a'; fill <= 'd'; fill++)
        client_expect(client, 2, fill);
    client_expect_end(client);
    net_host_release(host, 2);
    g_assert_cmpuint(notified_sum, ==, 2);
    net_host_free(host);
}

/* The handler can end each request when it is notified, which ends answered requests after it, too. */
KW_TEST(test_replies_to_a_half_close, "/net/leaving/replies-to-a-half-close")
{
    net_host *host = host_new(16, reply_to_left);
    int client = client_open(host);
    for (unsigned i = 0; i < 5; i++)
        client_call(client, 1);
    net_host_wait(host, 5);
    net_host_reply(host, 1, 1, 'b', false);
    net_host_reply(host, 2, 1, 'c', false);
    net_host_reply(host, 4, 1, 'e', false);
    shutdown(client, SHUT_WR);
    const char fills[] = "lbcle";
    for (unsigned i = 0; i < 5; i++)
        client_expect(client, 1, fills[i]);
    client_expect_end(client);
    g_assert_cmpuint(notified_sum, ==, 2);
    net_host_free(host);
}

/* Calls that were sent before the half-close and read after it. */
KW_TEST(test_calls_read_after_the_end, "/net/leaving/calls-read-after-the-end")
{
    net_host *host = host_new(2, note_left);
    int client = client_open(host);
    for (unsigned i = 0; i < 5; i++)
        client_call(client, 1);
    net_host_wait(host, 2);
    shutdown(client, SHUT_WR);
    wait_notified(2); /* although the session does not read */
    for (unsigned i = 0; i < 5; i++) {
        net_host_reply(host, i, 1, (char)('a' + i), false);
        client_expect(client, 1, (char)('a' + i));
        net_host_wait(host, MIN(i + 3, 5));
    }
    client_expect_end(client);
    g_assert_cmpuint(notified_sum, ==, 5);
    net_host_free(host);
}

static void
expect_notified_of_reset(uint32_t in_flight)
{
    net_host *host = host_new(in_flight, reply_to_left);
    int client = client_open(host);
    client_call(client, 1);
    client_call(client, 1);
    net_host_wait(host, 2);
    client_reset(client);
    wait_notified(2);
    g_assert_false(could_reply);
    wait_for_metric(KW_METRIC_connections_open, 0);
    net_host_free(host);
}

/* A reset connection closes at once, whether or not the session reads. */
KW_TEST(test_reset, "/net/leaving/reset")
{
    expect_notified_of_reset(16);
    expect_notified_of_reset(2);
}

/* --- others first ----------------------------------------------------------------------------------------
 */

#define MANY 40

/* The index of the first request of the peer that was served second. */
static unsigned
first_of_the_second(net_host *host)
{
    size_t size = kw_request_payload(net_host_request(host, 0)).size;
    unsigned at = 1;
    while (kw_request_payload(net_host_request(host, at)).size == size)
        at++;
    return at;
}

/* Two peers send many calls at once. None of them waits for all calls of the other. */
KW_TEST(test_others_between, "/net/leaving/others-between")
{
    net_host *host = host_new(2 * MANY, NULL);
    net_host_set_busy_us(host, 2000);
    int peers[2] = {client_open(host), client_open(host)};
    wait_for_metric(KW_METRIC_connections_open, 2);
    net_host_block busy;
    net_host_block_loop(host, &busy);
    for (unsigned i = 0; i < MANY; i++) {
        client_call(peers[0], 1);
        client_call(peers[1], 2);
    }
    busy.go = true;
    net_host_wait(host, 2 * MANY);
    g_assert_cmpuint(first_of_the_second(host), <, MANY / 2);
    net_host_set_busy_us(host, 0);
    for (unsigned i = 0; i < 2 * MANY; i++)
        net_host_reply(host, i, 1, 'm', false);
    for (unsigned i = 0; i < 2 * MANY; i++)
        client_expect(peers[i % 2], 1, 'm');
    close(peers[0]);
    close(peers[1]);
    net_host_free(host);
}

/* --- last replies ----------------------------------------------------------------------------------------
 */

static void
answer_three(net_host *host)
{
    for (unsigned i = 0; i < 3; i++)
        net_host_answer_here(host, i, 1, (char)('a' + i));
}

/* When the time is over, the handler answers, and the replies arrive. Work that continues does not matter. */
KW_TEST(test_last_replies, "/net/leaving/last-replies")
{
    net_host *host = host_new(16, NULL);
    net_host_on_answer_all(host, answer_three);
    int first = client_open(host);
    client_call(first, 1);
    client_call(first, 1);
    net_host_wait(host, 2);
    int second = client_open(host);
    client_call(second, 1);
    net_host_wait(host, 3);
    net_host_drain(host, 150);
    client_expect(first, 1, 'a');
    client_expect(first, 1, 'b');
    client_expect(second, 1, 'c');
    client_expect_end(first);
    client_expect_end(second);
    net_host_free(host);
}

static void
answer_with_much(net_host *host)
{
    net_host_answer_here(host, 0, 32 << 20, 'a');
}

/* A peer that does not read its last replies delays the end by KW_NET_LAST_REPLIES_MS. */
KW_TEST(test_a_peer_that_reads_no_last_reply, "/net/leaving/no-last-reply")
{
    net_host *host = host_new(16, NULL);
    net_host_on_answer_all(host, answer_with_much);
    int client = client_open(host);
    client_call(client, 1);
    net_host_wait(host, 1);
    int64_t before_us = g_get_monotonic_time();
    net_host_drain(host, 0);
    net_host_drain_wait(host);
    g_assert_cmpint(g_get_monotonic_time() - before_us, >=, KW_NET_LAST_REPLIES_MS * 1000 - 100000);
    close(client);
    net_host_free(host);
}
