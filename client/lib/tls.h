/* Inside libkeyway: the client's side of TLS over a non-blocking socket, by OpenSSL. The peer's
 * certificate chain and its name are verified always; TLS 1.2 is the least.
 */
#pragma once

#include "keyway.h"

typedef struct kw_tls kw_tls;

/* What a step needs before it can go on. */
typedef enum kw_io_step {
    KW_IO_DONE,
    KW_IO_WANTS_READ,
    KW_IO_WANTS_WRITE,
    KW_IO_CLOSED,
    KW_IO_FAILED
} kw_io_step;

/* host: what was connected to; the name to verify unless options name another. The socket stays the caller's.
 */
kw_tls *kw_tls_new(int socket, const char *host, const kw_client_options *options, GError **error);
void kw_tls_free(kw_tls *tls);

kw_io_step kw_tls_handshake(kw_tls *tls, GError **error);
kw_io_step kw_tls_write(kw_tls *tls, const void *data, gsize size, gsize *ret_written, GError **error);
kw_io_step kw_tls_read(kw_tls *tls, void *to, gsize size, gsize *ret_read, GError **error);
