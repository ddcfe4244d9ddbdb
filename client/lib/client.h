/* Private to libkeyway: the common part of every call, before and after the generated code. */
#pragma once

#include "keyway.h"
#include "lib/message.h"

#include "keyway_admin.h"
#include "keyway_data.h"

/* One call. Every method has this form:
 *
 *     kw_client_call call;
 *     if (!kw_client_call_begin(&call, client, "put", KW_RESULT_STRUCT, deadline_ms, error))
 *         return false;
 *     ok = keyway_data_client_put(call.data, ..., &call.thrown, &call.failure);
 *     if (!kw_client_call_end(&call, ok, KW_WRITES, error)) ...
 */
typedef struct kw_client_call {
    kw_client *client;
    KeywayDataIf *data;
    KeywayAdminIf *admin;
    KeywayKeywayError *thrown;
    GError *failure; /* of the Thrift runtime */
} kw_client_call;

typedef enum kw_call_kind { KW_READS, KW_WRITES } kw_call_kind;

/* Connects if there is no usable connection. method must be a literal. */
bool kw_client_call_begin(kw_client_call *call, kw_client *client, const char *method, kw_result_kind result,
                          gint32 deadline_ms, GError **error);

/* Returns ok. If it is false, sets the error, and closes the connection unless the gateway threw a
 * KeywayError. If a write was sent and the gateway answered neither with a result nor with a KeywayError,
 * marks the error as maybe applied, except if the gateway does not have the method. */
bool kw_client_call_end(kw_client_call *call, bool ok, kw_call_kind kind, GError **error);

static inline gint32
kw_call_deadline(const kw_call_options *options)
{
    return options == NULL ? 0 : options->deadline_ms;
}

/* A new object; options can be NULL. */
KeywayOptions *kw_call_options_to_thrift(const kw_call_options *options);

/* NULL-terminated names in the form of the generated code: borrowed texts; names can be NULL. */
GPtrArray *kw_names_to_thrift(const char *const *names);
