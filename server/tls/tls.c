/* One TLS connection in memory. OpenSSL uses a BIO that reads from the slice passed to the present
 * kw_tls_receive and appends to `output`. So input is not buffered, and an idle connection holds no buffers.
 *
 *   network -> kw_tls_receive -> SSL_read -> plain        kw_tls_send -> SSL_write -> output -> network
 */
#include "tls/tls.h"

#include "tls/context.h"

#include <arpa/inet.h>
#include <glib.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <pthread.h>

/* Maximum plain bytes of one TLS record. */
#define RECORD_MAX 16384

struct kw_tls {
    SSL *ssl;
    kw_bytes input;    /* the rest of the slice being received; empty between calls */
    kw_buffer output;  /* encrypted bytes to send */
    kw_buffer waiting; /* plain bytes to send after the handshake */
    bool established;
    bool shut_down;
    bool lost;
    char *peer;
    char **names;
    char host[256]; /* for error texts; clients only */
};

static pthread_once_t method_once = PTHREAD_ONCE_INIT;
static BIO_METHOD *method;

static int
bio_read(BIO *bio, char *to, int size)
{
    kw_tls *tls = BIO_get_data(bio);
    BIO_clear_retry_flags(bio);
    if (tls->input.size == 0) {
        BIO_set_retry_read(bio);
        return -1;
    }
    size_t take = MIN((size_t)size, tls->input.size);
    memcpy(to, tls->input.data, take);
    tls->input = kw_bytes_skip(tls->input, take);
    return (int)take;
}

static int
bio_write(BIO *bio, const char *from, int size)
{
    kw_tls *tls = BIO_get_data(bio);
    BIO_clear_retry_flags(bio);
    kw_buffer_append(&tls->output, kw_bytes_of(from, (size_t)size));
    return size;
}

static long
bio_ctrl(BIO *bio, int command, long number, void *pointer)
{
    (void)bio, (void)number, (void)pointer;
    return command == BIO_CTRL_FLUSH || command == BIO_CTRL_DUP;
}

static void
method_init(void)
{
    method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "keyway memory");
    g_assert(method);
    BIO_meth_set_read(method, bio_read);
    BIO_meth_set_write(method, bio_write);
    BIO_meth_set_ctrl(method, bio_ctrl);
}

static kw_tls *
tls_new(kw_tls_context *context)
{
    pthread_once(&method_once, method_init);
    kw_tls *tls = g_new0(kw_tls, 1);
    tls->ssl = kw_tls_context_connect(context);
    BIO *bio = BIO_new(method);
    g_assert(bio);
    BIO_set_data(bio, tls);
    BIO_set_init(bio, 1);
    SSL_set_bio(tls->ssl, bio, bio);
    return tls;
}

kw_tls *
kw_tls_new_server(kw_tls_context *context)
{
    g_assert(kw_tls_context_is_server(context));
    kw_tls *tls = tls_new(context);
    SSL_set_accept_state(tls->ssl);
    return tls;
}

static bool
is_address(const char *host)
{
    struct in6_addr unused;
    return inet_pton(AF_INET, host, &unused) == 1 || inet_pton(AF_INET6, host, &unused) == 1;
}

kw_tls *
kw_tls_new_client(kw_tls_context *context, const char *host)
{
    g_assert(!kw_tls_context_is_server(context));
    kw_tls *tls = tls_new(context);
    const char *verify = kw_tls_context_server_name(context);
    if (!verify[0])
        verify = host;
    g_strlcpy(tls->host, verify, sizeof tls->host);
    SSL_set_connect_state(tls->ssl);
    X509_VERIFY_PARAM *wanted = SSL_get0_param(tls->ssl);
    int done;
    if (is_address(verify)) {
        done = X509_VERIFY_PARAM_set1_ip_asc(wanted, verify);
    } else {
        X509_VERIFY_PARAM_set_hostflags(wanted, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
        done = X509_VERIFY_PARAM_set1_host(wanted, verify, 0) && SSL_set_tlsext_host_name(tls->ssl, verify);
    }
    /* A name that cannot be set cannot be verified: kw_tls_start must fail. */
    tls->lost = done != 1;
    return tls;
}

void
kw_tls_free(kw_tls *tls)
{
    if (!tls)
        return;
    SSL_free(tls->ssl);
    kw_buffer_clear(&tls->output);
    kw_buffer_clear(&tls->waiting);
    OPENSSL_free(tls->peer);
    g_strfreev(tls->names);
    g_free(tls);
}

/* Sets the error of a failed connection. If the certificate was rejected, the verification result is more
 * precise than OpenSSL's error queue. */
static bool
fail(kw_tls *tls, const char *what, kw_error *ret_error)
{
    char reason[160];
    long verdict = SSL_get_verify_result(tls->ssl);
    bool was_established = tls->established;
    tls->lost = true;
    kw_tls_take_reason(reason, sizeof reason);
    if (!was_established && verdict != X509_V_OK)
        return kw_error_set(ret_error, KW_UNAVAILABLE, "tls: certificate of %s refused: %s",
                            tls->host[0] ? tls->host : "the caller", X509_verify_cert_error_string(verdict));
    return kw_error_set(ret_error, KW_UNAVAILABLE, "tls: %s failed: %s", what, reason);
}

/* NULL: the subject is empty. */
static char *
subject_of(X509 *certificate)
{
    BIO *text = BIO_new(BIO_s_mem());
    g_assert(text);
    X509_NAME_print_ex(text, X509_get_subject_name(certificate), 0, XN_FLAG_RFC2253 & ~ASN1_STRFLGS_ESC_MSB);
    char *data;
    long size = BIO_get_mem_data(text, &data);
    char *copy = size > 0 ? OPENSSL_strndup(data, (size_t)size) : NULL;
    BIO_free(text);
    return copy;
}

/* Adds "KIND=TEXT". */
static void
add_name(GPtrArray *names, const char *kind, const ASN1_STRING *text)
{
    unsigned char *utf8 = NULL;
    int size = ASN1_STRING_to_UTF8(&utf8, text);
    if (size > 0 && size <= KW_TLS_NAME_MAX && !memchr(utf8, '\0', (size_t)size) &&
        names->len < KW_TLS_NAMES_MAX)
        g_ptr_array_add(names, g_strdup_printf("%s=%.*s", kind, size, (const char *)utf8));
    OPENSSL_free(utf8);
}

static void
add_alternative_names(GPtrArray *names, X509 *certificate)
{
    GENERAL_NAMES *found = X509_get_ext_d2i(certificate, NID_subject_alt_name, NULL, NULL);
    for (int i = 0; found && i < sk_GENERAL_NAME_num(found); i++) {
        const GENERAL_NAME *name = sk_GENERAL_NAME_value(found, i);
        if (name->type == GEN_DNS || name->type == GEN_URI || name->type == GEN_EMAIL)
            add_name(names, "san", name->d.ia5);
    }
    GENERAL_NAMES_free(found);
}

static char **
names_of(X509 *certificate)
{
    GPtrArray *names = g_ptr_array_new();
    const X509_NAME *subject = X509_get_subject_name(certificate);
    int last = -1;
    for (int at = -1; (at = X509_NAME_get_index_by_NID(subject, NID_commonName, at)) >= 0;)
        last = at;
    if (last >= 0)
        add_name(names, "cn", X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, last)));
    add_alternative_names(names, certificate);
    ERR_clear_error();
    g_ptr_array_add(names, NULL);
    return (char **)g_ptr_array_free(names, FALSE);
}

static bool
send_plain(kw_tls *tls, kw_bytes plain, kw_error *ret_error)
{
    while (plain.size > 0) {
        int part = (int)MIN(plain.size, (size_t)1 << 30);
        ERR_clear_error();
        int sent = SSL_write(tls->ssl, plain.data, part);
        if (sent <= 0)
            return fail(tls, "sending", ret_error);
        plain = kw_bytes_skip(plain, (size_t)sent);
    }
    return true;
}

static bool
do_handshake(kw_tls *tls, kw_error *ret_error)
{
    ERR_clear_error();
    int result = SSL_do_handshake(tls->ssl);
    if (result != 1) {
        if (SSL_get_error(tls->ssl, result) == SSL_ERROR_WANT_READ)
            return true;
        return fail(tls, "handshake", ret_error);
    }
    tls->established = true;
    X509 *certificate = SSL_get0_peer_certificate(tls->ssl);
    if (certificate && SSL_get_verify_mode(tls->ssl) != SSL_VERIFY_NONE) {
        tls->peer = subject_of(certificate);
        tls->names = names_of(certificate);
    }
    bool sent = send_plain(tls, kw_buffer_bytes(&tls->waiting), ret_error);
    kw_buffer_clear(&tls->waiting);
    return sent;
}

static bool
fail_lost(kw_error *ret_error)
{
    return kw_error_set(ret_error, KW_UNAVAILABLE, "tls: the connection is lost");
}

bool
kw_tls_start(kw_tls *tls, kw_error *ret_error)
{
    if (tls->lost)
        return kw_error_set(ret_error, KW_INVALID, "tls: \"%s\" is not a host name that can be verified",
                            tls->host);
    return tls->established || do_handshake(tls, ret_error);
}

static bool
read_plain(kw_tls *tls, kw_buffer *plain, bool *ret_closed, kw_error *ret_error)
{
    for (;;) {
        uint8_t *to = kw_buffer_reserve(plain, RECORD_MAX);
        ERR_clear_error();
        int got = SSL_read(tls->ssl, to, RECORD_MAX);
        if (got > 0) {
            plain->size += (size_t)got;
            continue;
        }
        int why = SSL_get_error(tls->ssl, got);
        if (why == SSL_ERROR_WANT_READ)
            return true;
        if (why != SSL_ERROR_ZERO_RETURN)
            return fail(tls, "receiving", ret_error);
        *ret_closed = true;
        return true;
    }
}

bool
kw_tls_receive(kw_tls *tls, kw_bytes network, kw_buffer *plain, bool *ret_closed, kw_error *ret_error)
{
    *ret_closed = false;
    if (tls->lost)
        return fail_lost(ret_error);
    tls->input = network;
    bool ok = tls->established || do_handshake(tls, ret_error);
    if (ok && tls->established)
        ok = read_plain(tls, plain, ret_closed, ret_error);
    tls->input = KW_BYTES_NONE;
    return ok;
}

bool
kw_tls_send(kw_tls *tls, kw_bytes plain, kw_error *ret_error)
{
    if (tls->lost || tls->shut_down)
        return fail_lost(ret_error);
    if (tls->established)
        return send_plain(tls, plain, ret_error);
    kw_buffer_append(&tls->waiting, plain);
    return true;
}

void
kw_tls_move_output(kw_tls *tls, kw_buffer *network)
{
    if (network->size == 0 && network->capacity == 0) {
        *network = tls->output;
        tls->output = KW_BUFFER_EMPTY;
        return;
    }
    kw_buffer_append(network, kw_buffer_bytes(&tls->output));
    kw_buffer_clear(&tls->output);
}

void
kw_tls_shutdown(kw_tls *tls)
{
    if (tls->lost || tls->shut_down || !tls->established)
        return;
    ERR_clear_error();
    SSL_shutdown(tls->ssl);
    ERR_clear_error();
    tls->shut_down = true;
}

bool
kw_tls_established(const kw_tls *tls)
{
    return tls->established;
}

const char *
kw_tls_peer(const kw_tls *tls)
{
    return tls->peer;
}

const char *const *
kw_tls_peer_names(const kw_tls *tls)
{
    return (const char *const *)tls->names;
}
