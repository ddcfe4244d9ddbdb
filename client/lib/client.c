/* Opening and closing a client, and the common part of every call. */
#include "lib/client.h"

#include "lib/error.h"
#include "lib/transport.h"

#include <thrift/c_glib/protocol/thrift_binary_protocol.h>
#include <thrift/c_glib/protocol/thrift_compact_protocol.h>
#include <thrift/c_glib/thrift_application_exception.h>

#define CONNECT_TIMEOUT_MS 5000
#define CALL_TIMEOUT_MS 60000
#define MESSAGE_LIMIT_BYTES (64 << 20)
/* Additional wait of a call with a deadline, so that the gateway's TIMEOUT can arrive. */
#define DEADLINE_GRACE_MS 2000

struct kw_client {
    char *host;
    char *port;
    kw_client_options options; /* with copies of the texts */
    KwTransport *transport;
    ThriftProtocol *protocol;
    KeywayDataClient *data;
    KeywayAdminClient *admin;
};

static kw_client_options
options_copy(const kw_client_options *from)
{
    kw_client_options options = from == NULL ? (kw_client_options){0} : *from;

    options.tls_ca = g_strdup(options.tls_ca);
    options.tls_certificate = g_strdup(options.tls_certificate);
    options.tls_key = g_strdup(options.tls_key);
    options.tls_server_name = g_strdup(options.tls_server_name);
    if (options.connect_timeout_ms == 0)
        options.connect_timeout_ms = CONNECT_TIMEOUT_MS;
    if (options.call_timeout_ms == 0)
        options.call_timeout_ms = CALL_TIMEOUT_MS;
    if (options.message_limit_bytes == 0)
        options.message_limit_bytes = MESSAGE_LIMIT_BYTES;
    options.message_limit_bytes = MIN(options.message_limit_bytes, G_MAXINT32);
    return options;
}

static void
options_clear(kw_client_options *options)
{
    g_free((char *)options->tls_ca);
    g_free((char *)options->tls_certificate);
    g_free((char *)options->tls_key);
    g_free((char *)options->tls_server_name);
}

static bool
connect_now(kw_client *client, GError **error)
{
    kw_connection *connection = kw_connection_open(client->host, client->port, &client->options, error);

    if (connection == NULL)
        return false;
    kw_transport_attach(client->transport, connection);
    return true;
}

static void
create_stack(kw_client *client)
{
    const kw_message_form form = {.framed = client->options.framed,
                                  .compact = client->options.compact,
                                  .limit_bytes = client->options.message_limit_bytes};
    GType protocol = form.compact ? THRIFT_TYPE_COMPACT_PROTOCOL : THRIFT_TYPE_BINARY_PROTOCOL;

    client->transport = kw_transport_new(&form);
    client->protocol = g_object_new(protocol, "transport", client->transport, NULL);
    client->data = g_object_new(KEYWAY_TYPE_DATA_CLIENT, "input_protocol", client->protocol,
                                "output_protocol", client->protocol, NULL);
    client->admin = g_object_new(KEYWAY_TYPE_ADMIN_CLIENT, "input_protocol", client->protocol,
                                 "output_protocol", client->protocol, NULL);
}

kw_client *
kw_client_open(const char *address, const kw_client_options *options, GError **error)
{
    char *host = NULL;
    char *port = NULL;
    kw_client *client;

    if (!kw_address_split(address, &host, &port, error))
        return NULL;
    client = g_new0(kw_client, 1);
    client->host = host;
    client->port = port;
    client->options = options_copy(options);
    create_stack(client);
    if (connect_now(client, error))
        return client;
    kw_client_close(client);
    return NULL;
}

void
kw_client_close(kw_client *client)
{
    if (client == NULL)
        return;
    kw_transport_attach(client->transport, NULL);
    g_object_unref(client->data);
    g_object_unref(client->admin);
    g_object_unref(client->protocol);
    g_object_unref(client->transport);
    options_clear(&client->options);
    g_free(client->host);
    g_free(client->port);
    g_free(client);
}

bool
kw_client_call_begin(kw_client_call *call, kw_client *client, const char *method, kw_result_kind result,
                     gint32 deadline_ms, GError **error)
{
    gint64 timeout_ms = MAX((gint64)client->options.call_timeout_ms, (gint64)deadline_ms + DEADLINE_GRACE_MS);
    kw_expected_reply expected = {.method = method, .result = result};

    *call = (kw_client_call){
        .client = client, .data = (KeywayDataIf *)client->data, .admin = (KeywayAdminIf *)client->admin};
    if (kw_transport_is_attached(client->transport) && kw_transport_is_stale(client->transport))
        kw_transport_attach(client->transport, NULL);
    if (!kw_transport_is_attached(client->transport) && !connect_now(client, error))
        return false;
    expected.deadline_us = g_get_monotonic_time() + timeout_ms * 1000;
    kw_transport_expect(client->transport, &expected);
    return true;
}

/* Converts an error of the Thrift runtime or of the connection. */
static GError *
translate(GError *failure, GError *of_connection)
{
    GError *error = NULL;

    if (of_connection != NULL) {
        g_clear_error(&failure);
        return of_connection;
    }
    if (failure == NULL)
        kw_client_error_set(&error, KW_CLIENT_PROTOCOL, "the reply cannot be decoded");
    else if (g_error_matches(failure, THRIFT_APPLICATION_EXCEPTION_ERROR,
                             THRIFT_APPLICATION_EXCEPTION_ERROR_UNKNOWN_METHOD))
        kw_client_error_set(&error, KW_CLIENT_NOT_FOUND, "the gateway does not have this method: %s",
                            failure->message);
    else if (failure->domain == THRIFT_APPLICATION_EXCEPTION_ERROR)
        kw_client_error_set(&error, KW_CLIENT_INTERNAL, "the gateway could not process the call: %s",
                            failure->message);
    else
        kw_client_error_set(&error, KW_CLIENT_PROTOCOL, "the reply cannot be decoded: %s", failure->message);
    g_clear_error(&failure);
    return error;
}

bool
kw_client_call_end(kw_client_call *call, bool ok, kw_call_kind kind, GError **error)
{
    bool sent = false;
    GError *of_connection = kw_transport_steal_failure(call->client->transport, &sent);
    GError *result;

    if (ok) {
        g_assert(of_connection == NULL);
        return true;
    }
    if (call->thrown != NULL) {
        result = kw_client_error_from_thrown(call->thrown);
        g_clear_object(&call->thrown);
        g_clear_error(&call->failure);
        g_clear_error(&of_connection);
    } else {
        result = translate(g_steal_pointer(&call->failure), of_connection);
        kw_transport_attach(call->client->transport, NULL);
        if (sent && kind == KW_WRITES && result->code != KW_CLIENT_NOT_FOUND)
            kw_client_error_mark_maybe_applied(result);
    }
    g_propagate_error(error, result);
    return false;
}

KeywayOptions *
kw_call_options_to_thrift(const kw_call_options *options)
{
    KeywayOptions *thrift = g_object_new(KEYWAY_TYPE_OPTIONS, NULL);

    if (options == NULL)
        return thrift;
    thrift->deadline_ms = options->deadline_ms;
    thrift->__isset_deadline_ms = options->deadline_ms != 0;
    thrift->durability = (KeywayDurability)options->durability;
    thrift->__isset_durability = options->durability != KW_DURABILITY_DEFAULT;
    thrift->timestamp = options->timestamp;
    thrift->__isset_timestamp = options->timestamp != 0;
    return thrift;
}

GPtrArray *
kw_names_to_thrift(const char *const *names)
{
    GPtrArray *array = g_ptr_array_new();

    for (; names != NULL && *names != NULL; names++)
        g_ptr_array_add(array, (gpointer)*names);
    return array;
}
