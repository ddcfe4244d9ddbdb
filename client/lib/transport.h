/* The Thrift transport used by the generated client: collects a request, sends it when it is flushed, and
 * returns the reply validated by kw_message_receive. Never reads past a message.
 */
#pragma once

#include "lib/message.h"

#include <thrift/c_glib/transport/thrift_transport.h>

G_DEFINE_AUTOPTR_CLEANUP_FUNC(ThriftTransport, g_object_unref)

#define KW_TYPE_TRANSPORT (kw_transport_get_type())
G_DECLARE_FINAL_TYPE(KwTransport, kw_transport, KW, TRANSPORT, ThriftTransport)

KwTransport *kw_transport_new(const kw_message_form *form);

/* Takes ownership of the connection; NULL closes. */
void kw_transport_attach(KwTransport *transport, kw_connection *connection);
bool kw_transport_is_attached(KwTransport *transport);
/* See kw_connection_is_stale. */
bool kw_transport_is_stale(KwTransport *transport);

/* Call it before each call. `method` is borrowed until the call has ended. */
void kw_transport_expect(KwTransport *transport, const kw_expected_reply *expected);

/* After a failed call: the error of the connection, or NULL; the caller owns it. ret_sent: at least a part
 * of the request may have reached the gateway. */
GError *kw_transport_steal_failure(KwTransport *transport, bool *ret_sent);
