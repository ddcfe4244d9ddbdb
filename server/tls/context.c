/* Loads certificates, keys and trusted authorities into an SSL_CTX, and replaces it on reload.
 *
 * A new SSL_CTX is built completely before it replaces the old one, so that an unusable file changes nothing.
 * Connections hold a reference to the SSL_CTX they began with. The lock guards only the pointer `current`;
 * only SSL_new is called under it.
 */
#include "tls/context.h"

#include "base/log.h"
#include "base/thread.h"
#include "config/file.h"

#include <errno.h>
#include <glib.h>
#include <openssl/err.h>
#include <stdio.h>
#include <unistd.h>

#define FILE_BYTES_MAX ((size_t)16 * 1024 * 1024)

/* For TLS 1.2, only suites with authenticated encryption (no CBC with SHA-1) and forward secrecy. All suites
 * of TLS 1.3 have both. */
#define SUITES "ECDHE+AESGCM:ECDHE+CHACHA20"

typedef enum role { ROLE_SERVER, ROLE_CLIENT } role;

struct kw_tls_context {
    role role;
    char *certificate; /* copies, because the context can outlive the model */
    char *key;
    char *ca;
    char *server_name;
    bool require_client;
    kw_mutex lock; /* guards current */
    SSL_CTX *current;
    SSL_CTX *prepared; /* set by prepare; used by the preparing thread only */
};

void
kw_tls_take_reason(char *to, size_t size)
{
    unsigned long code = ERR_get_error();
    const char *reason = code ? ERR_reason_error_string(code) : NULL;
    g_strlcpy(to, reason ? reason : "no reason given", size);
    ERR_clear_error();
}

static bool
refuse_file(const char *what, const char *file, kw_error *ret_error)
{
    char reason[160];
    if (access(file, R_OK) != 0) {
        g_strlcpy(reason, g_strerror(errno), sizeof reason);
        ERR_clear_error();
    } else {
        kw_tls_take_reason(reason, sizeof reason);
    }
    return kw_error_set(ret_error, KW_INVALID, "tls: %s file \"%s\" is unusable: %s", what, file, reason);
}

/* A daemon cannot ask for a passphrase, so encrypted keys are rejected. */
static int
no_passphrase(char *to, int size, int writing, void *user)
{
    (void)to, (void)size, (void)writing, (void)user;
    return -1;
}

/* Checks the file first, because OpenSSL would block on a FIFO and read a device forever. */
static bool
check_file(const char *what, const char *file, kw_error *ret_error)
{
    char why[KW_FILE_WHY_MAX];
    return kw_file_is_readable(file, FILE_BYTES_MAX, why) ||
           kw_error_set(ret_error, KW_INVALID, "tls: %s file \"%s\" is unusable: %s", what, file, why);
}

/* Logs a warning if users outside the file's group have any permission for the key. A group can share a key
 * on purpose. */
static void
warn_if_readable(const char *file)
{
    char permissions[KW_FILE_PERMISSIONS_SIZE];
    if (!kw_file_permits(file, 0007, permissions))
        return;
    g_autofree char *hint = g_strdup_printf("chmod 600 %s", file);
    kw_log(KW_LOG_WARN, "net", "other users can use the private key", KW_LOG_FACT("file", file),
           KW_LOG_FACT("permissions", permissions), KW_LOG_FACT("hint", hint));
}

static bool
load_identity(const kw_tls_context *context, SSL_CTX *created, kw_error *ret_error)
{
    SSL_CTX_set_default_passwd_cb(created, no_passphrase);
    if (!check_file("certificate", context->certificate, ret_error) ||
        !check_file("key", context->key, ret_error))
        return false;
    warn_if_readable(context->key);
    if (SSL_CTX_use_certificate_chain_file(created, context->certificate) != 1)
        return refuse_file("certificate", context->certificate, ret_error);
    if (SSL_CTX_use_PrivateKey_file(created, context->key, SSL_FILETYPE_PEM) == 1)
        return true;
    if (ERR_GET_REASON(ERR_peek_last_error()) != X509_R_KEY_VALUES_MISMATCH)
        return refuse_file("key", context->key, ret_error);
    ERR_clear_error();
    return kw_error_set(ret_error, KW_INVALID,
                        "tls: key file \"%s\" does not belong to certificate file \"%s\"", context->key,
                        context->certificate);
}

static bool
load_trust(const kw_tls_context *context, SSL_CTX *created, kw_error *ret_error)
{
    if (context->ca[0]) {
        if (!check_file("ca", context->ca, ret_error))
            return false;
        if (SSL_CTX_load_verify_file(created, context->ca) != 1)
            return refuse_file("ca", context->ca, ret_error);
    } else if (SSL_CTX_set_default_verify_paths(created) != 1) {
        ERR_clear_error();
        return kw_error_set(ret_error, KW_INVALID,
                            "tls: the system's certificate store is unusable; set a ca file");
    }
    return true;
}

static bool
set_up_server(const kw_tls_context *context, SSL_CTX *created, kw_error *ret_error)
{
    static const unsigned char session_context[] = "keyway";
    if (!context->certificate[0] || !context->key[0])
        return kw_error_set(ret_error, KW_INVALID, "tls: a listener needs a certificate and a key");
    if (!load_identity(context, created, ret_error))
        return false;
    SSL_CTX_set_session_cache_mode(created, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_session_id_context(created, session_context, sizeof session_context - 1);
    if (!context->require_client)
        return true;
    if (!context->ca[0])
        return kw_error_set(ret_error, KW_INVALID,
                            "tls: require_client needs a ca file with the authorities to trust");
    if (!load_trust(context, created, ret_error))
        return false;
    SSL_CTX_set_client_CA_list(created, SSL_load_client_CA_file(context->ca));
    SSL_CTX_set_verify(created, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
    return true;
}

static bool
set_up_client(const kw_tls_context *context, SSL_CTX *created, kw_error *ret_error)
{
    bool has_certificate = context->certificate[0] != '\0';
    if (has_certificate != (context->key[0] != '\0'))
        return kw_error_set(ret_error, KW_INVALID, "tls: certificate and key must be set together");
    if (has_certificate && !load_identity(context, created, ret_error))
        return false;
    SSL_CTX_set_verify(created, SSL_VERIFY_PEER, NULL);
    return load_trust(context, created, ret_error);
}

static bool
build(const kw_tls_context *context, SSL_CTX **ret_created, kw_error *ret_error)
{
    bool server = context->role == ROLE_SERVER;
    ERR_clear_error();
    SSL_CTX *created = SSL_CTX_new(server ? TLS_server_method() : TLS_client_method());
    g_assert(created);
    SSL_CTX_set_min_proto_version(created, TLS1_2_VERSION);
    int known = SSL_CTX_set_cipher_list(created, SUITES);
    g_assert(known == 1);
    SSL_CTX_set_options(created, SSL_OP_NO_RENEGOTIATION);
    SSL_CTX_set_mode(created, SSL_MODE_RELEASE_BUFFERS);
    bool done =
        server ? set_up_server(context, created, ret_error) : set_up_client(context, created, ret_error);
    if (!done) {
        SSL_CTX_free(created);
        return false;
    }
    *ret_created = created;
    return true;
}

static kw_tls_context *
context_new(role which, const kw_model_tls *settings, kw_error *ret_error)
{
    kw_tls_context *context = g_new0(kw_tls_context, 1);
    context->role = which;
    context->certificate = g_strdup(settings->certificate ? settings->certificate : "");
    context->key = g_strdup(settings->key ? settings->key : "");
    context->ca = g_strdup(settings->ca ? settings->ca : "");
    context->server_name = g_strdup(settings->server_name ? settings->server_name : "");
    context->require_client = settings->require_client;
    kw_mutex_init(&context->lock);
    if (build(context, &context->current, ret_error))
        return context;
    kw_tls_context_free(context);
    return NULL;
}

kw_tls_context *
kw_tls_context_new_server(const kw_model_tls *settings, kw_error *ret_error)
{
    return context_new(ROLE_SERVER, settings, ret_error);
}

kw_tls_context *
kw_tls_context_new_client(const kw_model_tls *settings, kw_error *ret_error)
{
    return context_new(ROLE_CLIENT, settings, ret_error);
}

bool
kw_tls_context_prepare(kw_tls_context *context, kw_error *ret_error)
{
    SSL_CTX *created;
    if (!build(context, &created, ret_error))
        return false;
    SSL_CTX_free(context->prepared);
    context->prepared = created;
    return true;
}

void
kw_tls_context_apply(kw_tls_context *context)
{
    SSL_CTX *created = g_steal_pointer(&context->prepared);
    if (!created)
        return;
    kw_mutex_lock(&context->lock);
    SSL_CTX *old = context->current;
    context->current = created;
    kw_mutex_unlock(&context->lock);
    SSL_CTX_free(old);
}

void
kw_tls_context_discard(kw_tls_context *context)
{
    SSL_CTX_free(g_steal_pointer(&context->prepared));
}

bool
kw_tls_context_reload(kw_tls_context *context, kw_error *ret_error)
{
    if (!kw_tls_context_prepare(context, ret_error))
        return false;
    kw_tls_context_apply(context);
    return true;
}

void
kw_tls_context_free(kw_tls_context *context)
{
    if (!context)
        return;
    SSL_CTX_free(context->current);
    SSL_CTX_free(context->prepared);
    kw_mutex_clear(&context->lock);
    g_free(context->certificate);
    g_free(context->key);
    g_free(context->ca);
    g_free(context->server_name);
    g_free(context);
}

SSL *
kw_tls_context_connect(kw_tls_context *context)
{
    kw_mutex_lock(&context->lock);
    SSL *created = SSL_new(context->current);
    kw_mutex_unlock(&context->lock);
    g_assert(created);
    return created;
}

bool
kw_tls_context_is_server(const kw_tls_context *context)
{
    return context->role == ROLE_SERVER;
}

const char *
kw_tls_context_server_name(const kw_tls_context *context)
{
    return context->server_name;
}
