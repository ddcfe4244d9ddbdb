/* The Thrift transport of the generated client, over a kw_connection. It collects a request and sends it when
 * the client flushes it. The client can read a reply only after kw_message_receive has validated all of it.
 * It is an error if more bytes follow a reply.
 */
#pragma once

#include "lib/message.h"

#include <thrift/c_glib/transport/thrift_transport.h>

G_DEFINE_AUTOPTR_CLEANUP_FUNC(ThriftTransport, g_object_unref)

#define KW_TYPE_TRANSPORT (kw_transport_get_type())
G_DECLARE_FINAL_TYPE(KwTransport, kw_transport, KW, TRANSPORT, ThriftTransport)

KwTransport *kw_transport_new(const kw_message_form *form);

/* Takes ownership of the connection, and closes the previous one. NULL: only closes. */
void kw_transport_attach(KwTransport *transport, kw_connection *connection);
bool kw_transport_is_attached(KwTransport *transport);
/* See kw_connection_is_stale. */
bool kw_transport_is_stale(KwTransport *transport);

/* Call it before each call. expected->method is borrowed until the call has ended. */
void kw_transport_expect(KwTransport *transport, const kw_expected_reply *expected);

/* After a failed call: returns the error of the connection, which the caller owns, or NULL. *ret_sent: a part
 * of the request has possibly reached the gateway. */
GError *kw_transport_steal_failure(KwTransport *transport, bool *ret_sent);
