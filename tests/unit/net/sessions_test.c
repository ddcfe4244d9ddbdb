/* Sessions with TLS, at the start of a drain, and while memory is short. */
#include "net/output.h"
#include "net/session.h"
#include "unit/net/callers.h"
#include "unit/net/certificates.h"

#include <glib.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#define KIB ((size_t)1024)

/* --- TLS ------------------------------------------------------------------------------------------------ */

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

typedef struct subject {
    unsigned index;
    char name[100];
    char refusal[200];
    int64_t account_bytes;
} subject;

static void
read_subject(net_host *host, void *user)
{
    subject *to = user;
    const kw_request *request = net_host_request(host, to->index);
    const kw_error *refusal = kw_request_refusal(request);
    g_strlcpy(to->name, kw_request_subject(request) ? kw_request_subject(request) : "", sizeof to->name);
    g_strlcpy(to->refusal, refusal ? refusal->text : "", sizeof to->refusal);
    to->account_bytes = kw_account_bytes(kw_request_account(request));
}

static subject
subject_of(net_host *host, unsigned index)
{
    subject found = {.index = index};
    net_host_run(host, read_subject, &found);
    return found;
}

/* Calls and replies of all sizes pass through TLS, even if the last piece to encrypt has one byte. A drain
 * ends the connection with a TLS close notification. */
static void
test_tls_calls(void)
{
    static const size_t sizes[] = {0, 10, 20 * KIB, 255 * KIB, 256 * KIB - 3, 257 * KIB, 2048 * KIB};
    tls_pair pair = tls_pair_new(false);
    net_host *host = net_host_new(net_host_limits(), "127.0.0.1", pair.server);
    tls_client client = tls_open(host, pair.client);
    for (unsigned i = 0; i < G_N_ELEMENTS(sizes); i++) {
        tls_call(&client, sizes[i]);
        net_host_wait(host, i + 1);
        subject found = subject_of(host, i);
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
static void
test_tls_alert(void)
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

static void
get_message_ms(net_host *host, void *user)
{
    const kw_session *session = net_host_net(host)->workers[0].sessions;
    *(uint64_t *)user = session && session->state == KW_SESSION_OPEN ? session->message_ms : UINT64_MAX;
}

/* The time limit of the handshake does not continue as that of a message. */
static void
test_quiet_after_a_handshake(void)
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
static void
test_tls_certificates_are_counted(void)
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
    g_assert_cmpstr(subject_of(host, 0).name, ==, "CN=alice,O=Keyway tests");
    g_assert_cmpstr(subject_of(host, 0).refusal, ==, "");
    g_assert_cmpstr(subject_of(host, 1).refusal, ==, "");
    int64_t refused = kw_metrics_read(KW_METRIC_connections_refused_peer);
    tls_client three = tls_open(host, pair.client); /* counted by the address until its handshake */
    tls_call(&three, 1);
    net_host_wait(host, 3);
    g_assert_cmpstr(
        subject_of(host, 2).refusal, ==,
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
    g_assert_cmpstr(subject_of(host, 3).refusal, ==, "");
    tls_close(&one);
    tls_close(&two);
    net_host_free(host);
    tls_pair_free(pair);
}

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
    g_assert_cmpint(subject_of(host, 1).account_bytes, <, 32 * (int64_t)KIB);
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
    g_test_add_func("/net/sessions/tls-calls", test_tls_calls);
    g_test_add_func("/net/sessions/tls-alert", test_tls_alert);
    g_test_add_func("/net/sessions/quiet-after-a-handshake", test_quiet_after_a_handshake);
    g_test_add_func("/net/sessions/tls-certificates", test_tls_certificates_are_counted);
    g_test_add_func("/net/sessions/before-a-drain", test_calls_before_a_drain_are_served);
    g_test_add_func("/net/sessions/closed-while-ending", test_closed_while_a_request_ends);
    g_test_add_func("/net/sessions/reported-once", test_ended_connections_are_reported_once);
    g_test_add_func("/net/sessions/pauses", test_pauses);
    g_test_add_func("/net/sessions/stalled", test_stalled_connections_are_closed);
    g_test_add_func("/net/sessions/memory-of-large-replies", test_memory_of_large_replies);
    return g_test_run();
}
