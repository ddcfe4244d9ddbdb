/* TLS in memory: converts between encrypted and plain bytes, without sockets. A context is shared by the
 * connections of one listener or server list. Reloading its certificates affects new connections only.
 *
 * Contexts: any thread. A kw_tls belongs to one connection and one thread.
 */
#pragma once

#include "base/bytes.h"
#include "base/error.h"
#include "config/model.h"

typedef struct kw_tls_context kw_tls_context;
typedef struct kw_tls kw_tls;

/* Creates a context for listeners, which needs a certificate and a key. With require_client, clients must
 * present a certificate, which is verified. TLS 1.2 and later. INVALID names an unusable file and the
 * reason. */
kw_tls_context *kw_tls_context_new_server(const kw_model_tls *settings, kw_error *ret_error);

/* Creates a context for clients. The server's certificate is verified against `ca` (or the system's store)
 * and the host name. */
kw_tls_context *kw_tls_context_new_client(const kw_model_tls *settings, kw_error *ret_error);

/* Reads the files again. On failure the old certificates stay in use. */
bool kw_tls_context_reload(kw_tls_context *context, kw_error *ret_error);
/* kw_tls_context_reload in two steps: prepare reads the files, apply makes new connections use them, discard
 * drops them. One thread at a time. */
bool kw_tls_context_prepare(kw_tls_context *context, kw_error *ret_error);
void kw_tls_context_apply(kw_tls_context *context);
void kw_tls_context_discard(kw_tls_context *context);
void kw_tls_context_free(kw_tls_context *context);

kw_tls *kw_tls_new_server(kw_tls_context *context);
/* host is the name or address to verify, unless the settings contain a server_name. */
kw_tls *kw_tls_new_client(kw_tls_context *context, const char *host);
void kw_tls_free(kw_tls *tls);

/* Decrypts bytes from the network and appends the result to `plain`. Sets *ret_closed if the peer closed the
 * TLS connection. Can produce bytes to send (kw_tls_move_output). False if the connection is lost; the error
 * gives the reason, such as a malformed record or a rejected certificate. */
bool kw_tls_receive(kw_tls *tls, kw_bytes network, kw_buffer *plain, bool *ret_closed, kw_error *ret_error);

/* Encrypts bytes. Before the end of the handshake they are queued. */
bool kw_tls_send(kw_tls *tls, kw_bytes plain, kw_error *ret_error);

/* Moves the bytes that must be sent to the end of `network`. */
void kw_tls_move_output(kw_tls *tls, kw_buffer *network);

/* kw_tls_start begins the handshake of a client. kw_tls_shutdown produces the close notification. */
bool kw_tls_start(kw_tls *tls, kw_error *ret_error);
void kw_tls_shutdown(kw_tls *tls);

bool kw_tls_established(const kw_tls *tls);

/* The names in the verified peer certificate: "cn=" and the most specific common name, then "san=" and each
 * DNS name, URI and e-mail address among its subject alternative names. Names with a NUL byte or with more
 * than KW_TLS_NAME_MAX bytes are left out, and those beyond KW_TLS_NAMES_MAX. NULL-terminated and borrowed;
 * NULL without a verified certificate. */
#define KW_TLS_NAME_MAX 256
#define KW_TLS_NAMES_MAX 64
const char *const *kw_tls_peer_names(const kw_tls *tls);

/* Subject of the verified peer certificate ("CN=..."). NULL if it is empty, or without a verified
 * certificate. Borrowed. */
const char *kw_tls_peer(const kw_tls *tls);
