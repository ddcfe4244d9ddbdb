/* Internal to tls: the functions of kw_tls_context that tls.c needs. */
#pragma once

#include "tls/tls.h"

#include <openssl/ssl.h>

/* Creates a connection with the present certificates. It keeps them when the context is reloaded. */
SSL *kw_tls_context_connect(kw_tls_context *context);

bool kw_tls_context_is_server(const kw_tls_context *context);

/* The name that clients verify instead of the host name; "" means the host name. */
const char *kw_tls_context_server_name(const kw_tls_context *context);

/* Writes the reason of OpenSSL's oldest queued error to `to`, and empties the queue. */
void kw_tls_take_reason(char *to, size_t size);
