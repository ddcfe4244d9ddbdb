/* The error domain of libkeyway: a GError with the gateway's details in addition to code and message. */
#include "lib/error.h"

typedef struct kw_client_error_private {
    gint32 retry_after_ms;
    bool maybe_applied;
    char *request_id;
} KwClientErrorPrivate;

static void
kw_client_error_private_init(KwClientErrorPrivate *private)
{
    *private = (KwClientErrorPrivate){0};
}

static void
kw_client_error_private_copy(const KwClientErrorPrivate *from, KwClientErrorPrivate *to)
{
    *to = *from;
    to->request_id = g_strdup(from->request_id);
}

static void
kw_client_error_private_clear(KwClientErrorPrivate *private)
{
    g_free(private->request_id);
}

/* Defines kw_client_error_quark. */
G_DEFINE_EXTENDED_ERROR(KwClientError, kw_client_error)

/* NULL for errors of other domains, which have no such details. */
static KwClientErrorPrivate *
private_of(const GError *error)
{
    return error == NULL || error->domain != KW_CLIENT_ERROR ? NULL : kw_client_error_get_private(error);
}

gint32
kw_client_error_retry_after_ms(const GError *error)
{
    const KwClientErrorPrivate *private = private_of(error);

    return private == NULL ? 0 : private->retry_after_ms;
}

bool
kw_client_error_maybe_applied(const GError *error)
{
    const KwClientErrorPrivate *private = private_of(error);

    return private != NULL && private->maybe_applied;
}

const char *
kw_client_error_request_id(const GError *error)
{
    const KwClientErrorPrivate *private = private_of(error);

    return private == NULL ? NULL : private->request_id;
}

void
kw_client_error_set(GError **error, kw_client_code code, const char *format, ...)
{
    va_list arguments;

    if (error == NULL)
        return;
    va_start(arguments, format);
    *error = g_error_new_valist(KW_CLIENT_ERROR, (gint)code, format, arguments);
    va_end(arguments);
}

void
kw_client_error_mark_maybe_applied(GError *error)
{
    KwClientErrorPrivate *private = private_of(error);

    if (private != NULL)
    private->maybe_applied = true;
}

/* An unknown code comes from a newer gateway. */
static gint
known_code(int code)
{
    return code >= KW_CLIENT_INVALID && code <= KW_CLIENT_INTERNAL ? code : KW_CLIENT_INTERNAL;
}

static const char *
message_or_default(const char *message)
{
    return message == NULL || message[0] == '\0' ? "the gateway gave no reason" : message;
}

GError *
kw_client_error_from_thrown(const KeywayKeywayError *thrown)
{
    GError *error = g_error_new_literal(KW_CLIENT_ERROR, known_code((int)thrown->code),
                                        message_or_default(thrown->message));
    KwClientErrorPrivate *private = kw_client_error_get_private(error);

    private->retry_after_ms = thrown->__isset_retry_after_ms ? thrown->retry_after_ms : 0;
    private->maybe_applied = thrown->__isset_maybe_applied && thrown->maybe_applied;
    private->request_id = thrown->__isset_request_id ? g_strdup(thrown->request_id) : NULL;
    return error;
}

GError *
kw_client_error_from_failure(const KeywayFailure *failure)
{
    GError *error = g_error_new_literal(KW_CLIENT_ERROR, known_code((int)failure->code),
                                        message_or_default(failure->message));
    KwClientErrorPrivate *private = kw_client_error_get_private(error);

    private->retry_after_ms = failure->__isset_retry_after_ms ? failure->retry_after_ms : 0;
    private->maybe_applied = failure->__isset_maybe_applied && failure->maybe_applied;
    return error;
}
