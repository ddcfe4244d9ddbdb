/* Converts the outcomes of the generated code to the public ones. */
#include "lib/many.h"

#include "lib/error.h"
#include "lib/record.h"

GError *
kw_written_failure(const KeywayWritten *written)
{
    GError *error = NULL;

    if (written->outcome == KEYWAY_OUTCOME_OK)
        return NULL;
    if (written->__isset_failure)
        error = kw_client_error_from_failure(written->failure);
    else
        kw_client_error_set(&error, KW_CLIENT_INTERNAL, "the write failed, and the gateway gave no reason");
    if (written->outcome != KEYWAY_OUTCOME_FAILED)
        kw_client_error_mark_maybe_applied(error);
    return error;
}

static void
written_free(gpointer item)
{
    kw_written *written = item;

    g_clear_pointer(&written->generated, kw_record_unref);
    g_clear_error(&written->failure);
    g_free(written);
}

GPtrArray *
kw_written_array(GPtrArray *thrift)
{
    GPtrArray *array = g_ptr_array_new_full(thrift->len, written_free);

    for (guint i = 0; i < thrift->len; i++) {
        KeywayWritten *from = thrift->pdata[i];
        kw_written *to = g_new0(kw_written, 1);

        to->generated = from->__isset_made ? kw_record_steal(&from->made) : NULL;
        to->failure = kw_written_failure(from);
        g_ptr_array_add(array, to);
    }
    return array;
}

static void
found_free(gpointer item)
{
    kw_found *found = item;

    g_clear_pointer(&found->record, kw_record_unref);
    g_clear_error(&found->failure);
    g_free(found);
}

GPtrArray *
kw_found_array(GPtrArray *thrift)
{
    GPtrArray *array = g_ptr_array_new_full(thrift->len, found_free);

    for (guint i = 0; i < thrift->len; i++) {
        KeywayFound *from = thrift->pdata[i];
        kw_found *to = g_new0(kw_found, 1);

        to->record = from->__isset_record ? kw_record_steal(&from->record) : NULL;
        to->failure = from->__isset_failure ? kw_client_error_from_failure(from->failure) : NULL;
        g_ptr_array_add(array, to);
    }
    return array;
}

bool
kw_count_matches(guint records, guint outcomes, GError **error)
{
    if (records == outcomes)
        return true;
    kw_client_error_set(error, KW_CLIENT_PROTOCOL,
                        "invalid reply from the gateway: %u outcomes for a call with %u records", outcomes,
                        records);
    return false;
}
