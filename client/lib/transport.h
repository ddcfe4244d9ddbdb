/* The Thrift transport under the generated client: collects a request, sends it when it is flushed,
 * and hands out the reply that kw_message_receive has checked. Never reads past a message.
 */
#pragma once

#include "lib/message.h"

#include <thrift/c_glib/transport/thrift_transport.h>

G_DEFINE_AUTOPTR_CLEANUP_FUNC(ThriftTransport, g_object_unref)

#define KW_TYPE_TRANSPORT (kw_transport_get_type())
G_DECLARE_FINAL_TYPE(KwTransport, kw_transport, KW, TRANSPORT, ThriftTransport)

KwTransport *kw_transport_new(const kw_message_form *form);

/* Takes the connection; NULL closes. */
void kw_transport_attach(KwTransport *transport, kw_connection *connection);
bool kw_transport_is_attached(KwTransport *transport);
/* See kw_connection_is_stale. */
bool kw_transport_is_stale(KwTransport *transport);

/* Before each call. `method` is borrowed until the call is over. */
void kw_transport_expect(KwTransport *transport, const kw_expected_reply *expected);

/* After a call that failed: the error that the connection met, or NULL; the caller's. Sent: at least a
 * part of the request may have reached the gateway. */
GError *kw_transport_take_failure(KwTransport *transport, bool *ret_sent);
