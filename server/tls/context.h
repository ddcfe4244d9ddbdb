/* The inside of kw_tls_context, for tls.c only: which SSL_CTX a new connection gets. */
#pragma once

#include "tls/tls.h"

#include <openssl/ssl.h>

/* A connection under the certificates of this moment; it keeps them when they are read again. */
SSL *kw_tls_context_connect(kw_tls_context *context);

bool kw_tls_context_is_server(const kw_tls_context *context);

/* The name that channels verify instead of the host's; "" the host's. */
const char *kw_tls_context_server_name(const kw_tls_context *context);

/* "reason" of OpenSSL's oldest queued error, for texts; empties the queue. */
void kw_tls_take_reason(char *to, size_t size);
