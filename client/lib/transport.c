/* A ThriftTransport over a kw_connection. See transport.h. */
#include "lib/transport.h"

#include <string.h>

struct _KwTransport {
    ThriftTransport parent;
    kw_message_form form;
    kw_connection *connection; /* NULL: closed */
    kw_expected_reply expected;
    GByteArray *request; /* begins with four bytes for the length of the frame */
    GByteArray *reply;
    gsize reply_at;
    bool sent;       /* sending has begun */
    bool received;   /* receiving has begun */
    GError *failure; /* the first error; KW_CLIENT_ERROR */
};

G_DEFINE_FINAL_TYPE(KwTransport, kw_transport, THRIFT_TYPE_TRANSPORT)

static const guint8 no_length[4] = {0};

static void
reset_request(KwTransport *self)
{
    g_byte_array_set_size(self->request, 0);
    g_byte_array_append(self->request, no_length, sizeof no_length);
}

/* Keeps the error for kw_transport_steal_failure. The generated code gets its text as a Thrift error. */
static void
note_failure(KwTransport *self, GError *failure, GError **error)
{
    g_set_error_literal(error, THRIFT_TRANSPORT_ERROR, THRIFT_TRANSPORT_ERROR_UNKNOWN, failure->message);
    if (self->failure == NULL)
        self->failure = failure;
    else
        g_error_free(failure);
}

static gboolean
transport_is_open(ThriftTransport *transport)
{
    return KW_TRANSPORT(transport)->connection != NULL;
}

static gboolean
transport_peek(ThriftTransport *transport, GError **error)
{
    (void)error;
    return KW_TRANSPORT(transport)->reply_at < KW_TRANSPORT(transport)->reply->len;
}

/* Opens nothing: kw_transport_attach opens the transport. */
static gboolean
transport_open(ThriftTransport *transport, GError **error)
{
    (void)error;
    return transport_is_open(transport);
}

static gboolean
transport_close(ThriftTransport *transport, GError **error)
{
    (void)error;
    kw_transport_attach(KW_TRANSPORT(transport), NULL);
    return TRUE;
}

static gboolean
transport_end(ThriftTransport *transport, GError **error)
{
    (void)transport;
    (void)error;
    return TRUE;
}

static gboolean
transport_write(ThriftTransport *transport, const gpointer data, const guint32 size, GError **error)
{
    (void)error;
    if (size > 0)
        g_byte_array_append(KW_TRANSPORT(transport)->request, data, size);
    return TRUE;
}

static gboolean
transport_flush(ThriftTransport *transport, GError **error)
{
    KwTransport *self = KW_TRANSPORT(transport);
    gsize head = self->form.framed ? 0 : sizeof no_length;
    guint32 length = GUINT32_TO_BE(self->request->len - (guint32)sizeof no_length);
    GError *failure = NULL;
    bool ok;

    memcpy(self->request->data, &length, sizeof length);
    self->sent = true;
    ok = kw_connection_write(self->connection, self->request->data + head, self->request->len - head,
                             self->expected.deadline_us, &failure);
    reset_request(self);
    if (!ok)
        note_failure(self, failure, error);
    return ok;
}

static bool
receive(KwTransport *self, GError **error)
{
    GError *failure = NULL;

    self->received = true;
    self->reply_at = 0;
    if (kw_message_receive(self->connection, &self->form, &self->expected, self->reply, &failure))
        return true;
    g_byte_array_set_size(self->reply, 0);
    note_failure(self, failure, error);
    return false;
}

/* Reads `size` bytes or fails. The first read of a call receives the complete reply. */
static gint32
transport_read(ThriftTransport *transport, gpointer to, guint32 size, GError **error)
{
    KwTransport *self = KW_TRANSPORT(transport);

    if (!self->received && !receive(self, error))
        return -1;
    if (size > self->reply->len - self->reply_at || size > G_MAXINT32) {
        g_set_error_literal(error, THRIFT_TRANSPORT_ERROR, THRIFT_TRANSPORT_ERROR_RECEIVE,
                            "the reply ends early");
        return -1;
    }
    if (size > 0)
        memcpy(to, self->reply->data + self->reply_at, size);
    self->reply_at += size;
    return (gint32)size;
}

/* The runtime calls this with the size of a value before it allocates memory for it. */
static gboolean
transport_check_available(ThriftTransport *transport, glong size, GError **error)
{
    KwTransport *self = KW_TRANSPORT(transport);

    if (size >= 0 && (gsize)size <= self->reply->len - self->reply_at)
        return TRUE;
    g_set_error_literal(error, THRIFT_TRANSPORT_ERROR, THRIFT_TRANSPORT_ERROR_RECEIVE,
                        "a length exceeds the reply");
    return FALSE;
}

static gboolean
transport_ignore_size(ThriftTransport *transport, glong size, GError **error)
{
    (void)transport;
    (void)size;
    (void)error;
    return TRUE;
}

static void
kw_transport_finalize(GObject *object)
{
    KwTransport *self = KW_TRANSPORT(object);

    kw_connection_close(self->connection);
    g_byte_array_unref(self->request);
    g_byte_array_unref(self->reply);
    g_clear_error(&self->failure);
    G_OBJECT_CLASS(kw_transport_parent_class)->finalize(object);
}

static void
kw_transport_class_init(KwTransportClass *class)
{
    ThriftTransportClass *transport = THRIFT_TRANSPORT_CLASS(class);

    G_OBJECT_CLASS(class)->finalize = kw_transport_finalize;
    transport->is_open = transport_is_open;
    transport->peek = transport_peek;
    transport->open = transport_open;
    transport->close = transport_close;
    transport->read = transport_read;
    transport->read_all = transport_read;
    transport->read_end = transport_end;
    transport->write = transport_write;
    transport->write_end = transport_end;
    transport->flush = transport_flush;
    transport->updateKnownMessageSize = transport_ignore_size;
    transport->checkReadBytesAvailable = transport_check_available;
    transport->resetConsumedMessageSize = transport_ignore_size;
    transport->countConsumedMessageBytes = transport_ignore_size;
}

static void
kw_transport_init(KwTransport *self)
{
    self->request = g_byte_array_new();
    self->reply = g_byte_array_new();
    reset_request(self);
}

KwTransport *
kw_transport_new(const kw_message_form *form)
{
    KwTransport *self = g_object_new(KW_TYPE_TRANSPORT, NULL);

    self->form = *form;
    return self;
}

void
kw_transport_attach(KwTransport *self, kw_connection *connection)
{
    kw_connection_close(self->connection);
    self->connection = connection;
}

bool
kw_transport_is_attached(KwTransport *self)
{
    return self->connection != NULL;
}

bool
kw_transport_is_stale(KwTransport *self)
{
    return kw_connection_is_stale(self->connection);
}

void
kw_transport_expect(KwTransport *self, const kw_expected_reply *expected)
{
    self->expected = *expected;
    self->sent = false;
    self->received = false;
    self->reply_at = 0;
    g_byte_array_set_size(self->reply, 0);
    g_clear_error(&self->failure);
    reset_request(self);
}

GError *
kw_transport_steal_failure(KwTransport *self, bool *ret_sent)
{
    *ret_sent = self->sent;
    return g_steal_pointer(&self->failure);
}
