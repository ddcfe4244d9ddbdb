/* The requests of a session: the buffers of their replies, the order of replies of all sizes, and what a
 * request reports about its connection. */
#include "unit/net/callers.h"

#include <glib.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#define KIB ((size_t)1024)

/* --- replies ------------------------------------------------------------------------------------------- */

/* Replies are sent in the order of their requests, whatever their sizes, their buffers and the order of
 * answers.
 */
KW_TEST(test_replies_of_all_sizes, "/net/requests/replies-of-all-sizes")
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

/* A reply of one piece and one byte more is sent once. */
KW_TEST(test_last_byte, "/net/requests/last-byte")
{
    net_host *host = net_host_new(net_host_limits(), "127.0.0.1", NULL);
    int client = client_open(host);
    for (unsigned i = 0; i < 10; i++) {
        client_call(client, 1);
        net_host_wait(host, i + 1);
        net_host_reply(host, i, 256 * KIB - 3, (char)('a' + i), i % 2);
        client_expect(client, 256 * KIB - 3, (char)('a' + i));
    }
    close(client);
    net_host_free(host);
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
KW_TEST(test_replies_have_their_own_buffers, "/net/requests/own-buffers")
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

/* Metrics count the bytes received from callers and sent to them. */
KW_TEST(test_bytes_are_counted, "/net/requests/bytes")
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
    bool has_principal, has_refusal, has_left;
    kw_bytes payload;
    kw_wire_form form;
} facts;

static void
read_facts(net_host *host, void *user)
{
    facts *to = user;
    const kw_request *request = net_host_request(host, to->index);
    to->unsent = kw_request_unsent(request);
    to->drained = kw_request_emptied(request);
    to->account_bytes = kw_account_bytes(kw_request_account(request));
    to->has_left = kw_account_client_is_gone(kw_request_account(request));
    to->peer_number = kw_request_peer_number(request);
    g_strlcpy(to->peer, kw_request_peer(request), sizeof to->peer);
    to->has_principal = kw_request_principal(request)->count > 0;
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

KW_TEST(test_facts, "/net/requests/facts")
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
    g_assert_false(first.has_principal || first.has_refusal || first.has_left);
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

/* A reply that the client does not read counts as unsent and is charged. kw_request_emptied increases when
 * the client has read all replies. */
KW_TEST(test_unsent_replies_are_charged, "/net/requests/unsent")
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

/* After kw_request_answered, the reply is sent, but the request still counts as in flight. */
KW_TEST(test_answered_requests_stay_in_flight, "/net/requests/answered")
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

/* The payloads in flight together have at most the size of one frame, plus the message that exceeds this
 * size. */
KW_TEST(test_bytes_in_flight_are_bounded, "/net/requests/bytes-in-flight")
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

/* The block of a message is free as soon as it is answered, although an earlier message is still in flight:
 * of a large message, and of a small one, whose block has space for further messages. */
KW_TEST(test_memory_of_answered_messages, "/net/requests/memory-of-answered")
{
    static const size_t sizes[] = {400 * KIB, 5 * KIB};
    for (size_t i = 0; i < G_N_ELEMENTS(sizes); i++) {
        net_host *host = net_host_new(net_host_limits(), "127.0.0.1", NULL);
        int client = client_open(host);
        client_call(client, 300 * KIB);
        net_host_wait(host, 1);
        int64_t before = facts_of(host, 0).account_bytes;
        client_call(client, sizes[i]);
        net_host_wait(host, 2);
        int64_t during = facts_of(host, 0).account_bytes;
        g_assert_cmpint(during, >=, before + (int64_t)sizes[i]);
        net_host_reply(host, 1, 1, 'b', false);
        int64_t after = facts_of(host, 0).account_bytes;
        for (int tries = 0; tries < 60000 && after > before + (int64_t)KIB; tries++) {
            g_usleep(1000);
            after = facts_of(host, 0).account_bytes;
        }
        g_test_message("%d before, %d during, %d after", (int)before, (int)during, (int)after);
        g_assert_cmpint(after, <=, before + (int64_t)KIB);
        net_host_reply(host, 0, 1, 'a', false);
        client_expect(client, 1, 'a');
        client_expect(client, 1, 'b');
        close(client);
        net_host_free(host);
    }
}

/* After a client has disconnected, its account says so, nothing is unsent, and its requests can still be
 * answered. */
KW_TEST(test_a_client_that_is_gone, "/net/requests/client-gone")
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
KW_TEST(test_a_client_that_is_gone_before_its_replies, "/net/requests/client-gone-early")
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
