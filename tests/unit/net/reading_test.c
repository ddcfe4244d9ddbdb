/* When a session reads, how much it reads, and which requests it makes of the bytes. */
#include "net/session.h"
#include "unit/net/callers.h"

#include <errno.h>
#include <glib.h>
#include <sys/socket.h>
#include <unistd.h>

#define KIB ((size_t)1024)

/* --- flow control --------------------------------------------------------------------------------------- */

typedef struct session_facts {
    unsigned index; /* of a request of the session */
    bool reading;
    size_t unparsed;
} session_facts;

static void
read_facts(net_host *host, void *user)
{
    session_facts *to = user;
    const kw_session *session = net_host_request(host, to->index)->session;
    to->reading = session->reading;
    to->unparsed = session->frame ? session->frame->filled - session->start : 0;
}

static session_facts
facts_of(net_host *host, unsigned index)
{
    session_facts found = {.index = index};
    net_host_run(host, read_facts, &found);
    return found;
}

/* While as many calls as allowed are in flight, the session does not read. It reads again afterwards. */
KW_TEST(test_reading_stops, "/net/reading/stops")
{
    kw_net_limits limits = net_host_limits();
    limits.in_flight = 2;
    net_host *host = net_host_new(limits, "127.0.0.1", NULL);
    int client = client_open(host);
    client_call(client, 1);
    net_host_wait(host, 1);
    g_assert_true(facts_of(host, 0).reading);
    client_call(client, 1);
    net_host_wait(host, 2);
    g_assert_false(facts_of(host, 0).reading);
    net_host_reply(host, 0, 1, 'a', false);
    g_assert_true(facts_of(host, 1).reading);
    client_call(client, 1);
    net_host_wait(host, 3);
    g_assert_false(facts_of(host, 2).reading);
    net_host_reply(host, 1, 1, 'b', false);
    net_host_reply(host, 2, 1, 'c', false);
    for (char fill = 'a'; fill <= 'c'; fill++)
        client_expect(client, 1, fill);
    close(client);
    net_host_free(host);
}

/* Sends calls until the system accepts no more bytes, or all are sent. Returns the bytes sent. */
static size_t
send_what_fits(int client, size_t most)
{
    size_t call_size, sent = 0;
    g_autofree uint8_t *call = client_call_bytes(1000, &call_size);
    while (sent < most) {
        ssize_t part =
            send(client, call + sent % call_size, call_size - sent % call_size, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (part < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            break;
        g_assert_cmpint(part, >, 0);
        sent += (size_t)part;
    }
    return sent;
}

/* A drain reads what the system received before, but not more than the session can take. */
KW_TEST(test_reading_at_a_drain_stops, "/net/reading/stops-at-a-drain")
{
    kw_net_limits limits = net_host_limits();
    limits.in_flight = 1;
    net_host *host = net_host_new(limits, "127.0.0.1", NULL);
    int client = client_open(host);
    client_call(client, 1);
    net_host_wait(host, 1);
    net_host_reply(host, 0, 1, 'a', false);
    client_expect(client, 1, 'a');
    net_host_block busy;
    net_host_block_loop(host, &busy);
    g_assert_cmpuint(send_what_fits(client, 1024 * KIB), >, 3 * KW_NET_WORKER_SCRATCH);
    net_host_drain(host, 3600 * 1000);
    busy.go = true;
    net_host_wait(host, 2);
    session_facts found = facts_of(host, 1);
    g_assert_false(found.reading);
    g_assert_cmpuint(found.unparsed, <=, KW_NET_WORKER_SCRATCH);
    client_reset(client);
    kw_net_close_now(net_host_net(host));
    net_host_drain_wait(host);
    net_host_free(host);
}

/* A drain that finds one byte of a call keeps it. */
KW_TEST(test_one_byte_at_a_drain, "/net/reading/one-byte-at-a-drain")
{
    net_host *host = net_host_new(net_host_limits(), "127.0.0.1", NULL);
    int client = client_open(host);
    size_t size;
    g_autofree uint8_t *call = client_call_bytes(5, &size);
    client_send(client, call, size);
    net_host_wait(host, 1);
    net_host_block busy;
    net_host_block_loop(host, &busy);
    client_send(client, call, 1);
    net_host_drain(host, 3600 * 1000);
    busy.go = true;
    facts_of(host, 0); /* the drain has begun */
    client_send(client, call + 1, size - 1);
    net_host_wait(host, 2);
    net_host_reply(host, 0, 1, 'a', false);
    net_host_reply(host, 1, 1, 'b', false);
    client_expect(client, 1, 'a');
    client_expect(client, 1, 'b');
    client_expect_end(client);
    net_host_drain_wait(host);
    net_host_free(host);
}

/* --- requests ------------------------------------------------------------------------------------------- */

/* The memory of a request is used again only after its release, although its reply was sent before. */
KW_TEST(test_answered_request_is_not_reused, "/net/reading/answered-request")
{
    net_host *host = net_host_new(net_host_limits(), "127.0.0.1", NULL);
    int client = client_open(host);
    client_call(client, 1);
    net_host_wait(host, 1);
    const kw_request *first = net_host_request(host, 0);
    net_host_answer(host, 0, 1, 'a');
    client_expect(client, 1, 'a');
    client_call(client, 1);
    net_host_wait(host, 2);
    g_assert_true(net_host_request(host, 1) != first);
    net_host_release(host, 0);
    client_call(client, 1);
    net_host_wait(host, 3);
    g_assert_true(net_host_request(host, 2) == first);
    net_host_reply(host, 1, 1, 'b', false);
    net_host_reply(host, 2, 1, 'c', false);
    client_expect(client, 1, 'b');
    client_expect(client, 1, 'c');
    close(client);
    net_host_free(host);
}

/* Requests that replace an answered one do not replace those after it. */
KW_TEST(test_requests_in_flight_are_not_reused, "/net/reading/requests-in-flight")
{
    enum { FIRST = 3, ALL = 5 };
    net_host *host = net_host_new(net_host_limits(), "127.0.0.1", NULL);
    int client = client_open(host);
    for (size_t i = 0; i < FIRST; i++)
        client_call(client, i);
    net_host_wait(host, FIRST);
    net_host_reply(host, 0, 1, 'a', false);
    client_expect(client, 1, 'a');
    for (size_t i = FIRST; i < ALL; i++)
        client_call(client, i);
    net_host_wait(host, ALL);
    for (unsigned i = 1; i < ALL; i++)
        for (unsigned other = i + 1; other < ALL; other++)
            g_assert_true(net_host_request(host, i) != net_host_request(host, other));
    for (unsigned i = ALL - 1; i > 0; i--)
        net_host_reply(host, i, i, (char)('a' + i), false);
    for (unsigned i = 1; i < ALL; i++)
        client_expect(client, i, (char)('a' + i));
    close(client);
    net_host_free(host);
}
