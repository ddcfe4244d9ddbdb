/* One connection to a gateway: TCP, optionally with TLS. Calls block, but never longer than their deadline
 * (g_get_monotonic_time's clock, microseconds). Only the lookup of a host name can take longer.
 *
 * This replaces ThriftSocket and ThriftSSLSocket, which support neither time limits nor IPv6; the latter
 * accepts a certificate for any host name. Errors have the domain KW_CLIENT_ERROR.
 */
#pragma once

#include "keyway.h"

typedef struct kw_connection kw_connection;

/* options: connect_timeout_ms and the tls_ members. */
kw_connection *kw_connection_open(const char *host, const char *port, const kw_client_options *options,
                                  GError **error);

/* Writes all bytes. */
bool kw_connection_write(kw_connection *connection, const void *data, gsize size, gint64 deadline_us,
                         GError **error);

/* Reads at least one byte. Returns 0 if the other side closed the connection, -1 after an error. */
gssize kw_connection_read(kw_connection *connection, void *to, gsize size, gint64 deadline_us,
                          GError **error);

/* True if the other side closed the idle connection, or sent unrequested bytes. */
bool kw_connection_is_stale(kw_connection *connection);

/* True if the connection has no TLS and nothing was ever received: the other side may expect TLS. */
bool kw_connection_may_lack_tls(const kw_connection *connection);

/* NULL is ignored. */
void kw_connection_close(kw_connection *connection);

/* Splits HOST:PORT, HOST, [IPV6]:PORT, [IPV6] or IPV6; the default port is 9595. For unix:/PATH, the host is
 * the whole address and the port is "". False: not an address. */
bool kw_address_split(const char *address, char **ret_host, char **ret_port, GError **error);
