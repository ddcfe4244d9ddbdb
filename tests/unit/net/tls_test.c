/* TLS in memory: a client and a server connected by buffers, which are transferred in pieces of any size. */
#include "tls/tls.h"

#include "unit/net/certificates.h"

#include <glib.h>
#include <stdio.h>

typedef struct fixture {
    certificates *files;
    char *ca, *other_ca;
    char *server_pem, *server_key, *client_pem, *client_key;
} fixture;

static void
set_up(fixture *fix, const void *unused)
{
    (void)unused;
    fix->files = certificates_new();
    certificates_leaf(fix->files, "ca", "server", "DNS:gateway.test,IP:127.0.0.1");
    certificates_leaf(fix->files, "ca", "alice", NULL);
    certificates_leaf(fix->files, "other-ca", "mallory", NULL);
    fix->ca = certificates_file(fix->files, "ca.pem");
    fix->other_ca = certificates_file(fix->files, "other-ca.pem");
    fix->server_pem = certificates_file(fix->files, "server.pem");
    fix->server_key = certificates_file(fix->files, "server.key");
    fix->client_pem = certificates_file(fix->files, "alice.pem");
    fix->client_key = certificates_file(fix->files, "alice.key");
}

static void
tear_down(fixture *fix, const void *unused)
{
    (void)unused;
    g_free(fix->ca);
    g_free(fix->other_ca);
    g_free(fix->server_pem);
    g_free(fix->server_key);
    g_free(fix->client_pem);
    g_free(fix->client_key);
    certificates_free(fix->files);
}

static kw_tls_context *
server_context(fixture *fix, bool require_client)
{
    kw_error error = KW_ERROR_NONE;
    kw_tls_context *context = kw_tls_context_new_server(&(kw_model_tls){.certificate = fix->server_pem,
                                                                        .key = fix->server_key,
                                                                        .ca = require_client ? fix->ca : "",
                                                                        .require_client = require_client},
                                                        &error);
    g_assert_cmpstr(error.text, ==, "");
    g_assert_nonnull(context);
    return context;
}

static kw_tls_context *
client_context(const char *ca, const char *certificate, const char *key, const char *server_name)
{
    kw_error error = KW_ERROR_NONE;
    kw_tls_context *context =
        kw_tls_context_new_client(&(kw_model_tls){.certificate = certificate ? certificate : "",
                                                  .key = key ? key : "",
                                                  .ca = ca,
                                                  .server_name = server_name ? server_name : ""},
                                  &error);
    g_assert_cmpstr(error.text, ==, "");
    g_assert_nonnull(context);
    return context;
}

/* A client and a server, and the bytes that each has received. */
typedef struct wire {
    kw_tls *client, *server;
    kw_buffer at_client, at_server;
    bool client_closed, server_closed;
    bool client_lost, server_lost;
    kw_error client_error, server_error;
    size_t piece; /* bytes transferred at a time */
} wire;

static bool
carry(kw_tls *from, kw_tls *to, kw_buffer *arrived, size_t piece, bool *closed, bool *lost, kw_error *error)
{
    kw_buffer bytes = KW_BUFFER_EMPTY;
    kw_tls_move_output(from, &bytes);
    bool moved = bytes.size > 0;
    for (size_t at = 0; at < bytes.size && !*lost && !*closed; at += piece) {
        size_t size = MIN(piece, bytes.size - at);
        *lost = !kw_tls_receive(to, kw_bytes_of(bytes.data + at, size), arrived, closed, error);
    }
    kw_buffer_clear(&bytes);
    return moved;
}

static void
pump(wire *both)
{
    bool moved = true;
    while (moved) {
        moved = carry(both->client, both->server, &both->at_server, both->piece, &both->server_closed,
                      &both->server_lost, &both->server_error);
        moved |= carry(both->server, both->client, &both->at_client, both->piece, &both->client_closed,
                       &both->client_lost, &both->client_error);
    }
}

static wire *
wire_new(kw_tls_context *client, kw_tls_context *server, const char *host, size_t piece)
{
    wire *both = g_new0(wire, 1);
    both->client = kw_tls_new_client(client, host);
    both->server = kw_tls_new_server(server);
    both->piece = piece;
    both->client_lost = !kw_tls_start(both->client, &both->client_error);
    pump(both);
    return both;
}

static void
wire_free(wire *both)
{
    kw_tls_free(both->client);
    kw_tls_free(both->server);
    kw_buffer_clear(&both->at_client);
    kw_buffer_clear(&both->at_server);
    g_free(both);
}

static bool
is_up(const wire *both)
{
    return !both->client_lost && !both->server_lost && kw_tls_established(both->client) &&
           kw_tls_established(both->server);
}

static void
send_and_check(wire *both, size_t size)
{
    g_autofree uint8_t *data = g_malloc(size);
    for (size_t i = 0; i < size; i++)
        data[i] = (uint8_t)(i * 31 + i / 251);
    kw_buffer_clear(&both->at_server);
    kw_buffer_clear(&both->at_client);
    g_assert_true(kw_tls_send(both->client, kw_bytes_of(data, size), &both->client_error));
    g_assert_true(kw_tls_send(both->server, kw_bytes_of(data, size), &both->server_error));
    pump(both);
    g_assert_true(kw_bytes_equal(kw_buffer_bytes(&both->at_server), kw_bytes_of(data, size)));
    g_assert_true(kw_bytes_equal(kw_buffer_bytes(&both->at_client), kw_bytes_of(data, size)));
}

static void
test_carries_bytes(fixture *fix, const void *unused)
{
    (void)unused;
    static const size_t pieces[] = {1, 7, 1400, 65536};
    kw_tls_context *server = server_context(fix, false);
    kw_tls_context *client = client_context(fix->ca, NULL, NULL, NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(pieces); i++) {
        wire *both = wire_new(client, server, "gateway.test", pieces[i]);
        g_assert_true(is_up(both));
        g_assert_null(kw_tls_peer(both->server));
        send_and_check(both, 1);
        send_and_check(both, 100000);
        kw_tls_shutdown(both->client);
        pump(both);
        g_assert_true(both->server_closed);
        g_assert_false(both->server_lost);
        g_assert_false(kw_tls_send(both->client, KW_BYTES_LITERAL("late"), &both->client_error));
        wire_free(both);
    }
    kw_tls_context_free(client);
    kw_tls_context_free(server);
}

static void
test_bytes_wait_for_the_handshake(fixture *fix, const void *unused)
{
    (void)unused;
    kw_tls_context *server = server_context(fix, false);
    kw_tls_context *client = client_context(fix->ca, NULL, NULL, NULL);
    wire both = {
        .piece = 100, .client = kw_tls_new_client(client, "127.0.0.1"), .server = kw_tls_new_server(server)};
    g_assert_true(kw_tls_send(both.client, KW_BYTES_LITERAL("early"), &both.client_error));
    g_assert_true(kw_tls_start(both.client, &both.client_error));
    g_assert_false(kw_tls_established(both.client));
    pump(&both);
    g_assert_true(is_up(&both));
    g_assert_true(kw_bytes_equal(kw_buffer_bytes(&both.at_server), KW_BYTES_LITERAL("early")));
    kw_buffer_clear(&both.at_server);
    kw_buffer_clear(&both.at_client);
    kw_tls_free(both.client);
    kw_tls_free(both.server);
    kw_tls_context_free(client);
    kw_tls_context_free(server);
}

typedef struct name_case {
    const char *host;
    const char *server_name;
    bool fits;
} name_case;

static void
test_verifies_names(fixture *fix, const void *unused)
{
    (void)unused;
    static const name_case cases[] = {
        {"gateway.test", NULL, true},
        {"GATEWAY.test", NULL, true},
        {"127.0.0.1", NULL, true},
        {"127.0.0.2", NULL, false},
        {"other.test", NULL, false},
        {"sub.gateway.test", NULL, false},
        {"10.0.0.7", "gateway.test", true},
        {"gateway.test", "other.test", false},
        {"server", NULL, false},
    };
    kw_tls_context *server = server_context(fix, false);
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        kw_tls_context *client = client_context(fix->ca, NULL, NULL, cases[i].server_name);
        wire *both = wire_new(client, server, cases[i].host, 4096);
        g_assert_cmpint(is_up(both), ==, cases[i].fits);
        if (!cases[i].fits) {
            g_assert_true(both->client_lost);
            g_assert_cmpint(both->client_error.code, ==, KW_UNAVAILABLE);
            g_assert_nonnull(strstr(both->client_error.text, "mismatch"));
        }
        wire_free(both);
        kw_tls_context_free(client);
    }
    kw_tls_context_free(server);
}

static void
test_refuses_an_untrusted_server(fixture *fix, const void *unused)
{
    (void)unused;
    kw_tls_context *server = server_context(fix, false);
    kw_tls_context *client = client_context(fix->other_ca, NULL, NULL, NULL);
    wire *both = wire_new(client, server, "gateway.test", 4096);
    g_assert_true(both->client_lost);
    g_assert_nonnull(strstr(both->client_error.text, "certificate of gateway.test refused"));
    g_assert_false(kw_tls_established(both->client));
    wire_free(both);
    kw_tls_context_free(client);
    kw_tls_context_free(server);
}

static void
test_asks_for_client_certificates(fixture *fix, const void *unused)
{
    (void)unused;
    g_autofree char *mallory_pem = certificates_file(fix->files, "mallory.pem");
    g_autofree char *mallory_key = certificates_file(fix->files, "mallory.key");
    kw_tls_context *server = server_context(fix, true);
    kw_tls_context *alice = client_context(fix->ca, fix->client_pem, fix->client_key, NULL);
    kw_tls_context *nobody = client_context(fix->ca, NULL, NULL, NULL);
    kw_tls_context *mallory = client_context(fix->ca, mallory_pem, mallory_key, NULL);

    wire *both = wire_new(alice, server, "gateway.test", 4096);
    g_assert_true(is_up(both));
    g_assert_cmpstr(kw_tls_peer(both->server), ==, "CN=alice,O=Keyway tests");
    g_assert_cmpstr(kw_tls_peer(both->client), ==, "CN=server,O=Keyway tests");
    g_assert_cmpstr(kw_tls_peer_names(both->server)[0], ==, "cn=alice");
    g_assert_null(kw_tls_peer_names(both->server)[1]);
    g_assert_cmpstr(kw_tls_peer_names(both->client)[0], ==, "cn=server");
    g_assert_cmpstr(kw_tls_peer_names(both->client)[1], ==, "san=gateway.test");
    send_and_check(both, 5000);
    wire_free(both);

    both = wire_new(nobody, server, "gateway.test", 4096);
    g_assert_true(both->server_lost);
    g_assert_null(kw_tls_peer(both->server));
    wire_free(both);

    both = wire_new(mallory, server, "gateway.test", 4096);
    g_assert_true(both->server_lost);
    g_assert_nonnull(strstr(both->server_error.text, "certificate of the caller refused"));
    g_assert_null(kw_tls_peer(both->server));
    wire_free(both);

    kw_tls_context_free(alice);
    kw_tls_context_free(nobody);
    kw_tls_context_free(mallory);
    kw_tls_context_free(server);
}

static void
test_garbage_ends_the_connection(fixture *fix, const void *unused)
{
    (void)unused;
    kw_tls_context *context = server_context(fix, false);
    kw_tls *server = kw_tls_new_server(context);
    kw_buffer plain = KW_BUFFER_EMPTY;
    kw_error error = KW_ERROR_NONE;
    bool closed;
    g_assert_false(
        kw_tls_receive(server, KW_BYTES_LITERAL("GET / HTTP/1.1\r\n\r\n"), &plain, &closed, &error));
    g_assert_nonnull(strstr(error.text, "handshake failed"));
    g_assert_false(kw_tls_receive(server, KW_BYTES_LITERAL("x"), &plain, &closed, &error));
    g_assert_cmpuint(plain.size, ==, 0);
    kw_buffer_clear(&plain);
    kw_tls_free(server);
    kw_tls_context_free(context);
}

static void
test_a_changed_record_ends_the_connection(fixture *fix, const void *unused)
{
    (void)unused;
    kw_tls_context *server = server_context(fix, false);
    kw_tls_context *client = client_context(fix->ca, NULL, NULL, NULL);
    wire *both = wire_new(client, server, "gateway.test", 4096);
    g_assert_true(kw_tls_send(both->client, KW_BYTES_LITERAL("a put"), &both->client_error));
    kw_buffer bytes = KW_BUFFER_EMPTY;
    kw_tls_move_output(both->client, &bytes);
    bytes.data[bytes.size - 1] ^= 1;
    bool closed;
    g_assert_false(kw_tls_receive(both->server, kw_buffer_bytes(&bytes), &both->at_server, &closed,
                                  &both->server_error));
    g_assert_cmpuint(both->at_server.size, ==, 0);
    kw_buffer_clear(&bytes);
    wire_free(both);
    kw_tls_context_free(client);
    kw_tls_context_free(server);
}

static void
expect_refusal(const kw_model_tls *settings, const char *part)
{
    kw_error error = KW_ERROR_NONE;
    g_assert_null(kw_tls_context_new_server(settings, &error));
    g_assert_cmpint(error.code, ==, KW_INVALID);
    if (!strstr(error.text, part))
        g_error("\"%s\" does not say \"%s\"", error.text, part);
}

static void
test_names_the_unusable_file(fixture *fix, const void *unused)
{
    (void)unused;
    g_autofree char *garbage = certificates_file(fix->files, "garbage.pem");
    g_assert_true(g_file_set_contents(garbage, "not a certificate\n", -1, NULL));
    const char *pem = fix->server_pem, *key = fix->server_key;
    expect_refusal(&(kw_model_tls){.certificate = "/nowhere/a.pem", .key = key},
                   "/nowhere/a.pem\" is unusable: No such file");
    expect_refusal(&(kw_model_tls){.certificate = garbage, .key = key}, "garbage.pem");
    expect_refusal(&(kw_model_tls){.certificate = pem, .key = garbage}, "garbage.pem");
    expect_refusal(&(kw_model_tls){.certificate = pem, .key = fix->client_key}, "does not belong");
    expect_refusal(&(kw_model_tls){.certificate = "", .key = key}, "needs a certificate");
    expect_refusal(&(kw_model_tls){.certificate = pem, .key = key, .require_client = true},
                   "authorities to trust");
    expect_refusal(&(kw_model_tls){.certificate = pem, .key = key, .ca = garbage, .require_client = true},
                   "garbage.pem");
}

static void
test_reads_certificates_again(fixture *fix, const void *unused)
{
    (void)unused;
    kw_tls_context *server = server_context(fix, false);
    kw_tls_context *client = client_context(fix->ca, NULL, NULL, NULL);
    wire *old = wire_new(client, server, "gateway.test", 4096);
    g_assert_true(is_up(old));

    certificates_leaf(fix->files, "ca", "server", "DNS:renewed.test");
    kw_error error = KW_ERROR_NONE;
    g_assert_true(kw_tls_context_reload(server, &error));
    send_and_check(old, 1000);
    wire *fresh = wire_new(client, server, "renewed.test", 4096);
    g_assert_true(is_up(fresh));
    wire_free(fresh);
    wire_free(old);

    g_assert_true(g_file_set_contents(fix->server_pem, "broken\n", -1, NULL));
    g_assert_false(kw_tls_context_reload(server, &error));
    g_assert_nonnull(strstr(error.text, "server.pem"));
    fresh = wire_new(client, server, "renewed.test", 4096);
    g_assert_true(is_up(fresh));
    wire_free(fresh);
    kw_tls_context_free(client);
    kw_tls_context_free(server);
}

#define ADD(name, test) g_test_add("/net/tls/" name, fixture, NULL, set_up, test, tear_down)

KW_TEST_START(start)
{
    ADD("carries-bytes", test_carries_bytes);
    ADD("bytes-wait-for-the-handshake", test_bytes_wait_for_the_handshake);
    ADD("verifies-names", test_verifies_names);
    ADD("refuses-an-untrusted-server", test_refuses_an_untrusted_server);
    ADD("asks-for-client-certificates", test_asks_for_client_certificates);
    ADD("garbage-ends-the-connection", test_garbage_ends_the_connection);
    ADD("a-changed-record-ends-the-connection", test_a_changed_record_ends_the_connection);
    ADD("names-the-unusable-file", test_names_the_unusable_file);
    ADD("reads-certificates-again", test_reads_certificates_again);
}
