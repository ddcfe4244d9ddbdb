/* Channels with TLS, against thrift2_fake with OpenSSL. HBase's own Thrift2 supports TLS only in HTTP mode,
 * so in production a proxy terminates TLS; the fake simulates it. */
#include "fixture.h"
#include "unit/net/certificates.h"

static SSL_CTX *
server_context(const certificates *certs, const char *leaf)
{
    SSL_CTX *context = SSL_CTX_new(TLS_server_method());
    g_autofree char *pem = g_strdup_printf("%s.pem", leaf), *key = g_strdup_printf("%s.key", leaf);
    g_autofree char *pem_path = certificates_file(certs, pem), *key_path = certificates_file(certs, key);
    g_assert_cmpint(SSL_CTX_use_certificate_chain_file(context, pem_path), ==, 1);
    g_assert_cmpint(SSL_CTX_use_PrivateKey_file(context, key_path, SSL_FILETYPE_PEM), ==, 1);
    return context;
}

/* Opens a test bed with a fake that uses the certificate `leaf`. */
static SSL_CTX *
start(fixture *on, const certificates *certs, const char *leaf, kw_wire_form form, const char *ca)
{
    SSL_CTX *context = server_context(certs, leaf);
    kw_model_hbase settings = fixture_init(on, 0, form);
    on->fakes[0] = thrift2_fake_start(form, 0, context);
    on->servers[0] = (kw_model_server){.host = "127.0.0.1", .port = thrift2_fake_port(on->fakes[0])};
    settings.servers_count = 1;
    settings.tls = (kw_model_tls){.enabled = true, .certificate = "", .key = "", .ca = ca, .server_name = ""};
    fixture_open(on, &settings);
    return context;
}

KW_TEST(test_good, "/hbase/tls/good")
{
    certificates *certs = certificates_new();
    g_autofree char *ca = certificates_file(certs, "ca.pem");
    certificates_leaf(certs, "ca", "server", "IP:127.0.0.1");
    for (size_t i = 0; i < G_N_ELEMENTS(fixture_forms); i++) {
        fixture on;
        SSL_CTX *context = start(&on, certs, "server", fixture_forms[i], ca);
        bed_await_ready(&on.bed);
        g_autofree char *large = g_strnfill(1024 * 1024, 'x');
        answer got = bed_put(&on.bed, "t", "r", "f", "q", large, 1, 60000);
        g_assert_cmpstr(got.error.text, ==, "");
        got = bed_get(&on.bed, "t", "r", 60000);
        g_assert_cmpuint(got.rows->rows[0].cells[0].value.size, ==, 1024 * 1024);
        answer_clear(&got);
        thrift2_fake_close_connections(on.fakes[0]);
        got = bed_get(&on.bed, "t", "missing", 60000);
        g_assert_cmpstr(got.error.text, ==, "");
        answer_clear(&got);
        fixture_stop(&on);
        SSL_CTX_free(context);
    }
    certificates_free(certs);
}

/* With a certificate for another name, or of an untrusted authority, no call is sent. */
KW_TEST(test_refused, "/hbase/tls/refused")
{
    certificates *certs = certificates_new();
    g_autofree char *ca = certificates_file(certs, "ca.pem");
    certificates_leaf(certs, "ca", "elsewhere", "DNS:elsewhere.test");
    certificates_leaf(certs, "other-ca", "stranger", "IP:127.0.0.1");
    static const char *const leaves[] = {"elsewhere", "stranger"};
    for (size_t i = 0; i < G_N_ELEMENTS(leaves); i++) {
        fixture on;
        SSL_CTX *context = start(&on, certs, leaves[i], fixture_forms[3], ca);
        answer got = bed_put(&on.bed, "t", "r", "f", "q", "v", KW_TIMESTAMP_NONE, 1000);
        g_assert_cmpint(got.error.code, ==, KW_TIMEOUT);
        g_assert_cmpint(got.outcome, ==, KW_OUTCOME_FAILED);
        kw_error error = KW_ERROR_NONE;
        BED_UNTIL(&on.bed,
                  !kw_store_ready(on.bed.store, &error) && strstr(error.text, "certificate") != NULL);
        g_assert_cmpuint(thrift2_fake_writes(on.fakes[0], "r"), ==, 0);
        fixture_stop(&on);
        SSL_CTX_free(context);
    }
    certificates_free(certs);
}

KW_TEST(test_bad_files, "/hbase/tls/bad-files")
{
    kw_model_server server = {.host = "127.0.0.1", .port = 1};
    kw_model_hbase settings = bed_settings(&server, 1);
    settings.tls = (kw_model_tls){
        .enabled = true, .certificate = "", .key = "", .ca = "/nowhere/ca.pem", .server_name = ""};
    kw_error error;
    g_assert_null(kw_hbase_open(&settings, &error));
    g_assert_cmpint(error.code, ==, KW_INVALID);
    g_assert_nonnull(strstr(error.text, "/nowhere/ca.pem"));
}
