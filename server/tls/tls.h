/* TLS over memory BIOs: bytes in, bytes out, no sockets. One shared context per listener or server
 * list, swapped whole when certificates are read again (connections that exist keep theirs).
 *
 * Contexts: any thread. A kw_tls belongs to one connection and one thread.
 */
#pragma once

#include "base/bytes.h"
#include "base/error.h"
#include "config/model.h"

typedef struct kw_tls_context kw_tls_context;
typedef struct kw_tls kw_tls;

/* For listeners: certificate and key; client certificates asked for and verified when require_client. TLS 1.2
 * and up. INVALID naming the file that is unusable and why. */
kw_tls_context *kw_tls_context_new_server(const kw_model_tls *settings, kw_error *ret_error);

/* For channels: the peer is verified against `ca` (or the system's store) and its host name. */
kw_tls_context *kw_tls_context_new_client(const kw_model_tls *settings, kw_error *ret_error);

/* Reads the files again; on failure the old certificates stay. */
bool kw_tls_context_reload(kw_tls_context *context, kw_error *ret_error);
/* The same in two steps: the files are read, and serve only when they are applied. One thread. */
bool kw_tls_context_prepare(kw_tls_context *context, kw_error *ret_error);
void kw_tls_context_apply(kw_tls_context *context);
void kw_tls_context_discard(kw_tls_context *context);
void kw_tls_context_free(kw_tls_context *context);

kw_tls *kw_tls_new_server(kw_tls_context *context);
/* host: name or address to verify (unless the settings name another). */
kw_tls *kw_tls_new_client(kw_tls_context *context, const char *host);
void kw_tls_free(kw_tls *tls);

/* Takes bytes from the network; appends what they decrypt to `plain`. *ret_closed is set when the peer
 * said goodbye. May leave bytes to send (kw_tls_take_output). False: the connection is lost (bad record,
 * certificate refused: the text says which). */
bool kw_tls_receive(kw_tls *tls, kw_bytes network, kw_buffer *plain, bool *ret_closed, kw_error *ret_error);

/* Encrypts; before the handshake is done the bytes wait inside. */
bool kw_tls_send(kw_tls *tls, kw_bytes plain, kw_error *ret_error);

/* Appends the bytes that must go to the network. */
void kw_tls_take_output(kw_tls *tls, kw_buffer *network);

/* Starts the handshake (clients) or says goodbye. */
bool kw_tls_start(kw_tls *tls, kw_error *ret_error);
void kw_tls_shutdown(kw_tls *tls);

bool kw_tls_established(const kw_tls *tls);

/* Subject of the verified peer certificate ("CN=..."), NULL without one. Borrowed. */
const char *kw_tls_peer(const kw_tls *tls);
