/* Private to libkeyway: the client's side of TLS over a non-blocking socket, with OpenSSL. The peer's
 * certificate chain and name are always verified; the minimum version is TLS 1.2.
 */
#pragma once

#include "keyway.h"

typedef struct kw_tls kw_tls;

/* The outcome of a step. WANTS_: repeat it when the socket is readable or writable. */
typedef enum kw_io_step {
    KW_IO_DONE,
    KW_IO_WANTS_READ,
    KW_IO_WANTS_WRITE,
    KW_IO_CLOSED,
    KW_IO_FAILED
} kw_io_step;

/* host: the host of the address, and the name to verify unless options name another. The socket remains the
 * caller's.
 */
kw_tls *kw_tls_new(int socket, const char *host, const kw_client_options *options, GError **error);
void kw_tls_free(kw_tls *tls);

kw_io_step kw_tls_handshake(kw_tls *tls, GError **error);
kw_io_step kw_tls_write(kw_tls *tls, const void *data, gsize size, gsize *ret_written, GError **error);
kw_io_step kw_tls_read(kw_tls *tls, void *to, gsize size, gsize *ret_read, GError **error);
