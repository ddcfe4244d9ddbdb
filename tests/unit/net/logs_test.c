/* What the gateway logs about connections that end in the middle of something. */
#include "support/log_capture.h"
#include "unit/net/callers.h"
#include "unit/net/certificates.h"

#include <glib.h>
#include <sys/socket.h>
#include <unistd.h>

#define HALF_MESSAGE "\x00\x00\x00\x20\x80"
#define HALF_HANDSHAKE "\x16\x03\x01\x02\x00\x01"

static kw_tls_context *
tls_new(certificates *files)
{
    certificates_leaf(files, "ca", "server", "DNS:gateway.test");
    g_autofree char *pem = certificates_file(files, "server.pem");
    g_autofree char *key = certificates_file(files, "server.key");
    kw_error error = KW_ERROR_NONE;
    kw_tls_context *tls = kw_tls_context_new_server(
        &(kw_model_tls){.certificate = pem, .key = key, .ca = "", .server_name = ""}, &error);
    g_assert_nonnull(tls);
    return tls;
}

/* Sends bytes, ends the connection, and returns the log of it. */
static char *
log_of(kw_tls_context *tls, const char *bytes, size_t size, bool reset)
{
    net_host *host = net_host_new(net_host_limits(), "127.0.0.1", tls);
    int64_t broken = kw_metrics_read(KW_METRIC_connections_broken),
            bytes_in = kw_metrics_read(KW_METRIC_bytes_in);
    int client = client_open(host);
    log_capture_begin();
    client_send(client, bytes, size);
    wait_for_metric(KW_METRIC_bytes_in, bytes_in + (int64_t)size);
    if (reset) {
        client_reset(client);
    } else {
        shutdown(client, SHUT_WR);
        client_expect_end(client);
    }
    wait_for_metric(KW_METRIC_connections_broken, broken + 1);
    net_host_free(host);
    return log_capture_end();
}

/* The log says whether the client closed the connection or it failed, and in the middle of what. */
KW_TEST(test_half_messages, "/net/logs/half-messages")
{
    certificates *files = certificates_new();
    kw_tls_context *tls = tls_new(files);
    const struct {
        kw_tls_context *tls;
        bool reset;
        const char *reason;
    } cases[] = {
        {NULL, false, "reason=\"closed by the peer in the middle of a message\""},
        {NULL, true, "reason=\"connection reset by peer in the middle of a message\""},
        {tls, false, "reason=\"closed by the peer in the middle of a TLS handshake\""},
        {tls, true, "reason=\"connection reset by peer in the middle of a TLS handshake\""},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        const char *bytes = cases[i].tls ? HALF_HANDSHAKE : HALF_MESSAGE;
        size_t size = cases[i].tls ? sizeof HALF_HANDSHAKE - 1 : sizeof HALF_MESSAGE - 1;
        g_autofree char *log = log_of(cases[i].tls, bytes, size, cases[i].reset);
        if (!strstr(log, cases[i].reason))
            g_error("%s is not in the log: %s", cases[i].reason, log);
        g_assert_nonnull(strstr(log, "peer=127.0.0.1"));
    }
    kw_tls_context_free(tls);
    certificates_free(files);
}
