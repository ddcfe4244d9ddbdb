/* Sessions with TLS: calls, the handshake and its end, and the limits of connections. */
#include "net/session.h"
#include "unit/net/callers.h"
#include "unit/net/certificates.h"

#include <glib.h>
#include <sys/socket.h>
#include <unistd.h>

#define KIB ((size_t)1024)

typedef struct tls_pair {
    certificates *files;
    kw_tls_context *server, *client;
} tls_pair;

static tls_pair
tls_pair_new(bool with_certificate)
{
    tls_pair pair = {.files = certificates_new()};
    certificates_leaf(pair.files, "ca", "server", "DNS:gateway.test,IP:127.0.0.1");
    certificates_leaf(pair.files, "ca", "alice", NULL);
    g_autofree char *ca = certificates_file(pair.files, "ca.pem");
    g_autofree char *pem = certificates_file(pair.files, "server.pem"),
                    *key = certificates_file(pair.files, "server.key");
    g_autofree char *own = certificates_file(pair.files, "alice.pem"),
                    *own_key = certificates_file(pair.files, "alice.key");
    kw_error error = KW_ERROR_NONE;
    kw_model_tls server = {.certificate = pem,
                           .key = key,
                           .ca = with_certificate ? ca : "",
                           .require_client = with_certificate,
                           .server_name = ""};
    kw_model_tls client = {.certificate = with_certificate ? own : "",
                           .key = with_certificate ? own_key : "",
                           .ca = ca,
                           .server_name = ""};
    pair.server = kw_tls_context_new_server(&server, &error);
    pair.client = kw_tls_context_new_client(&client, &error);
    if (!pair.server || !pair.client)
        g_error("%s", error.text);
    return pair;
}

static void
tls_pair_free(tls_pair pair)
{
    kw_tls_context_free(pair.server);
    kw_tls_context_free(pair.client);
    certificates_free(pair.files);
}

typedef struct tls_client {
    int socket;
    kw_tls *tls;
    kw_buffer plain; /* bytes that arrived */
    bool closed;     /* the gateway's TLS close notification arrived */
} tls_client;

static void
tls_flush(tls_client *client)
{
    kw_buffer out = KW_BUFFER_EMPTY;
    kw_tls_move_output(client->tls, &out);
    if (out.size > 0)
        client_send(client->socket, out.data, out.size);
    kw_buffer_clear(&out);
}

/* Reads once. False at the end of the connection. */
static bool
tls_read(tls_client *client)
{
    uint8_t bytes[16 * 1024];
    kw_error error = KW_ERROR_NONE;
    ssize_t got = recv(client->socket, bytes, sizeof bytes, 0);
    if (got <= 0)
        return false;
    if (!kw_tls_receive(client->tls, kw_bytes_of(bytes, (size_t)got), &client->plain, &client->closed,
                        &error))
        g_error("%s", error.text);
    tls_flush(client);
    return true;
}

static tls_client
tls_open(const net_host *host, kw_tls_context *context)
{
    tls_client client = {.socket = client_open(host), .tls = kw_tls_new_client(context, "127.0.0.1")};
    kw_error error;
    g_assert_true(kw_tls_start(client.tls, &error));
    tls_flush(&client);
    while (!kw_tls_established(client.tls))
        g_assert_true(tls_read(&client));
    return client;
}

static void
tls_call(tls_client *client, size_t size)
{
    size_t count;
    kw_error error;
    g_autofree uint8_t *bytes = client_call_bytes(size, &count);
    g_assert_true(kw_tls_send(client->tls, kw_bytes_of(bytes, count), &error));
    tls_flush(client);
}

static void
tls_expect(tls_client *client, size_t size, char fill)
{
    while (client->plain.size < 4 + size)
        g_assert_true(tls_read(client));
    g_assert_cmpuint(client->plain.size, ==, 4 + size);
    g_assert_cmpuint(kw_be32_load(client->plain.data), ==, size);
    for (size_t i = 0; i < size; i++)
        g_assert_cmpint(client->plain.data[4 + i], ==, fill);
    client->plain.size = 0;
}

static void
tls_close(tls_client *client)
{
    close(client->socket);
    kw_tls_free(client->tls);
    kw_buffer_clear(&client->plain);
}

typedef struct caller {
    unsigned index;
    char name[100];
    char refusal[200];
    int64_t account_bytes;
} caller;

static void
read_caller(net_host *host, void *user)
{
    caller *to = user;
    const kw_request *request = net_host_request(host, to->index);
    const kw_error *refusal = kw_request_refusal(request);
    g_strlcpy(to->name, kw_principal_name(kw_request_principal(request)), sizeof to->name);
    g_strlcpy(to->refusal, refusal ? refusal->text : "", sizeof to->refusal);
    to->account_bytes = kw_account_bytes(kw_request_account(request));
}

static caller
caller_of(net_host *host, unsigned index)
{
    caller found = {.index = index};
    net_host_run(host, read_caller, &found);
    return found;
}

/* Calls and replies of all sizes pass through TLS, even if the last piece to encrypt has one byte. A drain
 * ends the connection with a TLS close notification. */
KW_TEST(test_tls_calls, "/net/tls-sessions/calls")
{
    static const size_t sizes[] = {0, 10, 20 * KIB, 255 * KIB, 256 * KIB - 3, 257 * KIB, 2048 * KIB};
    tls_pair pair = tls_pair_new(false);
    net_host *host = net_host_new(net_host_limits(), "127.0.0.1", pair.server);
    tls_client client = tls_open(host, pair.client);
    for (unsigned i = 0; i < G_N_ELEMENTS(sizes); i++) {
        tls_call(&client, sizes[i]);
        net_host_wait(host, i + 1);
        caller found = caller_of(host, i);
        g_assert_cmpstr(found.name, ==, "");
        g_assert_cmpint(found.account_bytes, >=, 18 * (int64_t)KIB);
        net_host_reply(host, i, sizes[i], (char)('a' + i), i % 2);
        tls_expect(&client, sizes[i], (char)('a' + i));
    }
    net_host_drain(host, 60000);
    while (tls_read(&client))
        continue;
    g_assert_true(client.closed);
    net_host_drain_wait(host);
    tls_close(&client);
    net_host_free(host);
    tls_pair_free(pair);
}

/* A client whose handshake is wrong receives an alert with the reason, and then the end of the connection. */
KW_TEST(test_tls_alert, "/net/tls-sessions/alert")
{
    static const uint8_t nonsense[] = {0x16, 3, 1, 0, 5, 'h', 'e', 'l', 'l', 'o'};
    uint8_t alert[7];
    tls_pair pair = tls_pair_new(false);
    net_host *host = net_host_new(net_host_limits(), "127.0.0.1", pair.server);
    int client = client_open(host);
    client_send(client, nonsense, sizeof nonsense);
    g_assert_cmpint(recv(client, alert, sizeof alert, MSG_WAITALL), ==, sizeof alert);
    g_assert_cmpuint(alert[0], ==, 0x15);
    client_expect_end(client);
    net_host_free(host);
    tls_pair_free(pair);
}

/* A connection beyond the limit is closed before its handshake, which costs too much. */
KW_TEST(test_refused_before_a_handshake, "/net/tls-sessions/refused-before-a-handshake")
{
    tls_pair pair = tls_pair_new(false);
    kw_net_limits limits = net_host_limits();
    limits.connections = 1;
    net_host *host = net_host_new(limits, "127.0.0.1", pair.server);
    tls_client client = tls_open(host, pair.client);
    client_expect_end(client_open(host));
    tls_close(&client);
    net_host_free(host);
    tls_pair_free(pair);
}

static void
get_message_ms(net_host *host, void *user)
{
    const kw_session *session = net_host_net(host)->workers[0].sessions;
    *(uint64_t *)user = session && session->state == KW_SESSION_OPEN ? session->message_ms : UINT64_MAX;
}

/* The time limit of the handshake does not continue as that of a message. */
KW_TEST(test_quiet_after_a_handshake, "/net/tls-sessions/quiet-after-a-handshake")
{
    tls_pair pair = tls_pair_new(false);
    net_host *host = net_host_new(net_host_limits(), "127.0.0.1", pair.server);
    tls_client client = tls_open(host, pair.client);
    uint64_t message_ms = UINT64_MAX;
    for (int i = 0; i < 60000 && message_ms == UINT64_MAX; i++) {
        g_usleep(1000);
        net_host_run(host, get_message_ms, &message_ms);
    }
    g_assert_cmpuint(message_ms, ==, 0);
    tls_close(&client);
    net_host_free(host);
    tls_pair_free(pair);
}

/* A client with a certificate is counted by its certificate, not by its address. */
KW_TEST(test_tls_certificates_are_counted, "/net/tls-sessions/certificates")
{
    tls_pair pair = tls_pair_new(true);
    kw_net_limits limits = net_host_limits();
    limits.peer_connections = 2;
    net_host *host = net_host_new(limits, "127.0.0.1", pair.server);
    tls_client one = tls_open(host, pair.client), two = tls_open(host, pair.client);
    tls_call(&one, 1);
    net_host_wait(host, 1);
    tls_call(&two, 1);
    net_host_wait(host, 2);
    g_assert_cmpstr(caller_of(host, 0).name, ==, "cn=alice");
    g_assert_cmpstr(caller_of(host, 0).refusal, ==, "");
    g_assert_cmpstr(caller_of(host, 1).refusal, ==, "");
    int64_t refused = kw_metrics_read(KW_METRIC_connections_refused_peer);
    tls_client three = tls_open(host, pair.client); /* counted by the address until its handshake */
    tls_call(&three, 1);
    net_host_wait(host, 3);
    g_assert_cmpstr(
        caller_of(host, 2).refusal, ==,
        "certificate CN=alice,O=Keyway tests has 2 connections already (limits.peer_connections)");
    g_assert_cmpint(kw_metrics_read(KW_METRIC_connections_refused_peer), ==, refused + 1);
    net_host_reply(host, 2, 3, 'n', false);
    tls_expect(&three, 3, 'n');
    while (tls_read(&three))
        continue;
    g_assert_true(three.closed);
    tls_close(&three);
    net_host_reply(host, 0, 3, 'y', false);
    tls_expect(&one, 3, 'y');
    tls_close(&one);
    wait_for_metric(KW_METRIC_connections_open, 1);
    one = tls_open(host, pair.client);
    tls_call(&one, 1);
    net_host_wait(host, 4);
    g_assert_cmpstr(caller_of(host, 3).refusal, ==, "");
    tls_close(&one);
    tls_close(&two);
    net_host_free(host);
    tls_pair_free(pair);
}

/* Fills the socket of the only session, and then finishes the session. The smaller buffer keeps the socket
 * full even if the system sends some of the bytes meanwhile. */
static void
finish_with_full_socket(net_host *host, void *unused)
{
    (void)unused;
    static const char much[64 * 1024];
    kw_session *session = net_host_net(host)->workers[0].sessions;
    uv_os_fd_t socket;
    int least = 1;
    g_assert_cmpint(uv_fileno((uv_handle_t *)&session->handle, &socket), ==, 0);
    while (send(socket, much, sizeof much, MSG_DONTWAIT | MSG_NOSIGNAL) > 0)
        continue;
    g_assert_cmpint(setsockopt(socket, SOL_SOCKET, SO_SNDBUF, &least, sizeof least), ==, 0);
    kw_session_finish(session);
    g_assert_cmpint(session->state, ==, KW_SESSION_FINISHING);
    g_assert_true(session->sending_now);
}

/* A session stays open until its close notification is sent. */
KW_TEST(test_close_notification_waits, "/net/tls-sessions/close-notification-waits")
{
    tls_pair pair = tls_pair_new(false);
    net_host *host = net_host_new(net_host_limits(), "127.0.0.1", pair.server);
    tls_client client = tls_open(host, pair.client);
    tls_call(&client, 1);
    net_host_wait(host, 1);
    net_host_reply(host, 0, 5, 'a', false);
    tls_expect(&client, 5, 'a');
    net_host_run(host, finish_with_full_socket, NULL);
    tls_close(&client);
    net_host_free(host);
    tls_pair_free(pair);
}
