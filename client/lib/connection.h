/* One connection to a gateway: TCP, with TLS over it when asked. Blocking from the caller's point of
 * view, but never longer than the deadline it is given (g_get_monotonic_time's clock, microseconds).
 *
 * This is not ThriftSocket and ThriftSSLSocket, because those know neither time limits nor IPv6, and
 * the latter takes a certificate for any host name. Errors are of the public domain.
 */
#pragma once

#include "keyway.h"

typedef struct kw_connection kw_connection;

/* options: connect_timeout_ms and the tls_ members. */
kw_connection *kw_connection_open(const char *host, const char *port, const kw_client_options *options,
                                  GError **error);

/* All of it. */
bool kw_connection_write(kw_connection *connection, const void *data, gsize size, gint64 deadline_us,
                         GError **error);

/* At least one byte; 0: the other side closed; -1: an error. */
gssize kw_connection_read(kw_connection *connection, void *to, gsize size, gint64 deadline_us,
                          GError **error);

/* True when the idle connection was closed by the other side, or brought bytes that nobody asked for. */
bool kw_connection_is_stale(kw_connection *connection);

/* NULL is fine. */
void kw_connection_close(kw_connection *connection);

/* Splits HOST:PORT, HOST, [IPV6]:PORT; without a port it is 9595. False: not an address. */
bool kw_address_split(const char *address, char **ret_host, char **ret_port, GError **error);
