/* TLS to the gateway. The socket is accessed through a BIO of this library: OpenSSL's own BIO uses
 * write(), which raises SIGPIPE in the process that uses the library.
 */
#include "lib/tls.h"

#include "lib/error.h"

#include <arpa/inet.h>
#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>
#include <sys/stat.h>

/* The gateway's cipher suites of TLS 1.2: forward secrecy, no CBC. */
#define SUITES "ECDHE+AESGCM:ECDHE+CHACHA20"

#define FILE_BYTES_MAX (16 << 20)

struct kw_tls {
    SSL_CTX *context;
    SSL *ssl;
    int socket;
};

static int
socket_write(BIO *bio, const char *data, int size)
{
    const kw_tls *tls = BIO_get_data(bio);
    ssize_t sent = send(tls->socket, data, (size_t)size, MSG_NOSIGNAL);

    BIO_clear_retry_flags(bio);
    if (sent < 0 && (errno == EAGAIN || errno == EINTR))
        BIO_set_retry_write(bio);
    return (int)sent;
}

static int
socket_read(BIO *bio, char *to, int size)
{
    const kw_tls *tls = BIO_get_data(bio);
    ssize_t got = recv(tls->socket, to, (size_t)size, 0);

    BIO_clear_retry_flags(bio);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        BIO_set_retry_read(bio);
    return (int)got;
}

static long
socket_control(BIO *bio, int command, long number, void *pointer)
{
    (void)bio;
    (void)number;
    (void)pointer;
    return command == BIO_CTRL_FLUSH ? 1 : 0;
}

static BIO_METHOD *
socket_method(void)
{
    static gsize once = 0;

    if (g_once_init_enter(&once)) {
        BIO_METHOD *method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "keyway socket");

        BIO_meth_set_write(method, socket_write);
        BIO_meth_set_read(method, socket_read);
        BIO_meth_set_ctrl(method, socket_control);
        g_once_init_leave(&once, (gsize)method);
    }
    return (BIO_METHOD *)once;
}

/* Returns the text of the newest entry of OpenSSL's error queue; clears the queue. */
static const char *
openssl_reason(void)
{
    unsigned long code = ERR_peek_last_error();
    const char *reason = code == 0 ? NULL : ERR_reason_error_string(code);

    ERR_clear_error();
    return reason == NULL ? "no reason given" : reason;
}

/* Rejects devices, because OpenSSL would read an endless one forever, and files of more than 16 MiB. Pipes
 * are the caller's responsibility. */
static bool
check_file(const char *path, GError **error)
{
    struct stat facts;

    if (stat(path, &facts) != 0 || (!S_ISCHR(facts.st_mode) && !S_ISBLK(facts.st_mode) &&
                                    (!S_ISREG(facts.st_mode) || facts.st_size <= FILE_BYTES_MAX)))
        return true; /* OpenSSL reports a missing file */
    kw_client_error_set(error, KW_CLIENT_INVALID, "%s: is %s", path,
                        S_ISREG(facts.st_mode) ? "larger than 16 MiB" : "a device, not a file");
    return false;
}

static bool
load_trust(kw_tls *tls, const kw_client_options *options, GError **error)
{
    int ok;

    if (options->tls_ca != NULL && !check_file(options->tls_ca, error))
        return false;
    ok = options->tls_ca == NULL ? SSL_CTX_set_default_verify_paths(tls->context)
                                 : SSL_CTX_load_verify_locations(tls->context, options->tls_ca, NULL);
    if (ok == 1)
        return true;
    kw_client_error_set(error, KW_CLIENT_INVALID, "%s: cannot read certificates to trust: %s",
                        options->tls_ca == NULL ? "the system's store" : options->tls_ca, openssl_reason());
    return false;
}

static bool
load_identity(kw_tls *tls, const kw_client_options *options, GError **error)
{
    const char *key = options->tls_key == NULL ? options->tls_certificate : options->tls_key;

    if (options->tls_certificate == NULL)
        return true;
    if (!check_file(options->tls_certificate, error) || !check_file(key, error))
        return false;
    if (SSL_CTX_use_certificate_chain_file(tls->context, options->tls_certificate) != 1) {
        kw_client_error_set(error, KW_CLIENT_INVALID, "%s: cannot read the certificate: %s",
                            options->tls_certificate, openssl_reason());
        return false;
    }
    if (SSL_CTX_use_PrivateKey_file(tls->context, key, SSL_FILETYPE_PEM) != 1) {
        kw_client_error_set(error, KW_CLIENT_INVALID, "%s: cannot read the private key: %s", key,
                            openssl_reason());
        return false;
    }
    return true;
}

static bool
expect_name(kw_tls *tls, const char *name)
{
    unsigned char number[sizeof(struct in6_addr)];

    if (inet_pton(AF_INET, name, number) == 1 || inet_pton(AF_INET6, name, number) == 1)
        return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(tls->ssl), name) == 1;
    SSL_set_hostflags(tls->ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    return SSL_set1_host(tls->ssl, name) == 1 && SSL_set_tlsext_host_name(tls->ssl, name) == 1;
}

static bool
create_session(kw_tls *tls, const char *name, GError **error)
{
    BIO *bio;

    tls->ssl = SSL_new(tls->context);
    bio = BIO_new(socket_method());
    if (tls->ssl == NULL || bio == NULL || !expect_name(tls, name)) {
        BIO_free(bio);
        kw_client_error_set(error, KW_CLIENT_INVALID, "%s: not a name that TLS can verify", name);
        return false;
    }
    BIO_set_data(bio, tls);
    BIO_set_init(bio, 1);
    SSL_set_bio(tls->ssl, bio, bio);
    SSL_set_connect_state(tls->ssl);
    return true;
}

kw_tls *
kw_tls_new(int socket, const char *host, const kw_client_options *options, GError **error)
{
    kw_tls *tls = g_new0(kw_tls, 1);

    tls->socket = socket;
    tls->context = SSL_CTX_new(TLS_client_method());
    if (tls->context == NULL || SSL_CTX_set_cipher_list(tls->context, SUITES) != 1)
        g_error("OpenSSL cannot create a TLS context: %s", openssl_reason());
    SSL_CTX_set_min_proto_version(tls->context, TLS1_2_VERSION);
    SSL_CTX_set_verify(tls->context, SSL_VERIFY_PEER, NULL);
    SSL_CTX_set_mode(tls->context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    if (load_trust(tls, options, error) && load_identity(tls, options, error) &&
        create_session(tls, options->tls_server_name == NULL ? host : options->tls_server_name, error))
        return tls;
    kw_tls_free(tls);
    return NULL;
}

void
kw_tls_free(kw_tls *tls)
{
    if (tls == NULL)
        return;
    if (tls->ssl != NULL && SSL_is_init_finished(tls->ssl))
        SSL_shutdown(tls->ssl);
    SSL_free(tls->ssl);
    SSL_CTX_free(tls->context);
    ERR_clear_error();
    g_free(tls);
}

static kw_io_step
fail(kw_tls *tls, const char *what, GError **error)
{
    long verdict = SSL_get_verify_result(tls->ssl);

    if (verdict != X509_V_OK)
        kw_client_error_set(error, KW_CLIENT_CONNECTION, "TLS: the gateway's certificate is rejected: %s",
                            X509_verify_cert_error_string(verdict));
    else
        kw_client_error_set(error, KW_CLIENT_CONNECTION, "TLS: %s failed: %s", what,
                            ERR_peek_last_error() != 0 ? openssl_reason()
                            : SSL_is_init_finished(tls->ssl)
                                ? "the gateway closed the connection"
                                : "the gateway closed the connection; check that "
                                  "this port uses TLS");
    ERR_clear_error();
    return KW_IO_FAILED;
}

static kw_io_step
step_of(kw_tls *tls, int result, const char *what, GError **error)
{
    switch (SSL_get_error(tls->ssl, result)) {
    case SSL_ERROR_NONE:
        return KW_IO_DONE;
    case SSL_ERROR_WANT_READ:
        return KW_IO_WANTS_READ;
    case SSL_ERROR_WANT_WRITE:
        return KW_IO_WANTS_WRITE;
    case SSL_ERROR_ZERO_RETURN:
        return KW_IO_CLOSED;
    default:
        return fail(tls, what, error);
    }
}

kw_io_step
kw_tls_handshake(kw_tls *tls, GError **error)
{
    ERR_clear_error();
    return step_of(tls, SSL_do_handshake(tls->ssl), "the handshake", error);
}

kw_io_step
kw_tls_write(kw_tls *tls, const void *data, gsize size, gsize *ret_written, GError **error)
{
    ERR_clear_error();
    return step_of(tls, SSL_write_ex(tls->ssl, data, size, ret_written), "writing", error);
}

kw_io_step
kw_tls_read(kw_tls *tls, void *to, gsize size, gsize *ret_read, GError **error)
{
    ERR_clear_error();
    return step_of(tls, SSL_read_ex(tls->ssl, to, size, ret_read), "reading", error);
}
