/* get, getMany, getVersions. */
#include "lib/client.h"
#include "lib/error.h"
#include "lib/info.h"
#include "lib/many.h"
#include "lib/record.h"

bool
kw_client_get(kw_client *client, const char *table, const kw_record *key, const char *const *columns,
              const kw_call_options *options, kw_record **ret_record, GError **error)
{
    g_autoptr(GObject) thrift_options = (GObject *)kw_call_options_to_thrift(options);
    g_autoptr(GObject) result = g_object_new(KEYWAY_TYPE_FOUND, NULL);
    g_autoptr(GPtrArray) names = kw_names_to_thrift(columns);
    KeywayFound *found = (KeywayFound *)result;
    kw_client_call call;
    bool ok;

    if (!kw_client_call_begin(&call, client, "get", KW_RESULT_STRUCT, kw_call_deadline(options), error))
        return false;
    ok = keyway_data_client_get(call.data, &found, table, kw_record_table(key), names,
                                (KeywayOptions *)thrift_options, &call.thrown, &call.failure);
    if (!kw_client_call_end(&call, ok, KW_READS, error))
        return false;
    if (found->__isset_failure) {
        g_propagate_error(error, kw_client_error_from_failure(found->failure));
        return false;
    }
    *ret_record = found->__isset_record ? kw_record_steal(&found->record) : NULL;
    return true;
}

bool
kw_client_get_many(kw_client *client, const char *table, const GPtrArray *keys, const char *const *columns,
                   const kw_call_options *options, GPtrArray **ret_found, GError **error)
{
    g_autoptr(GObject) thrift_options = (GObject *)kw_call_options_to_thrift(options);
    g_autoptr(GPtrArray) found = g_ptr_array_new_with_free_func(g_object_unref);
    g_autoptr(GPtrArray) names = kw_names_to_thrift(columns);
    kw_client_call call;
    bool ok;

    if (!kw_client_call_begin(&call, client, "getMany", KW_RESULT_LIST, kw_call_deadline(options), error))
        return false;
    ok = keyway_data_client_get_many(call.data, &found, table, keys, names, (KeywayOptions *)thrift_options,
                                     &call.thrown, &call.failure);
    if (!kw_client_call_end(&call, ok, KW_READS, error) || !kw_count_matches(keys->len, found->len, error))
        return false;
    *ret_found = kw_found_array(found);
    return true;
}

static gpointer
version_from_thrift(gconstpointer item)
{
    KeywayRecordVersion *thrift = (KeywayRecordVersion *)item; /* its record is stolen */
    kw_record_version *version = g_new0(kw_record_version, 1);

    version->timestamp = thrift->timestamp;
    version->record = thrift->record == NULL ? kw_record_new() : kw_record_steal(&thrift->record);
    return version;
}

static void
version_free(gpointer item)
{
    kw_record_version *version = item;

    kw_record_unref(version->record);
    g_free(version);
}

GPtrArray *
kw_client_get_versions(kw_client *client, const char *table, const kw_record *key, const char *const *columns,
                       gint32 max_versions, const kw_call_options *options, GError **error)
{
    g_autoptr(GObject) thrift_options = (GObject *)kw_call_options_to_thrift(options);
    g_autoptr(GPtrArray) versions = g_ptr_array_new_with_free_func(g_object_unref);
    g_autoptr(GPtrArray) names = kw_names_to_thrift(columns);
    kw_client_call call;
    bool ok;

    if (!kw_client_call_begin(&call, client, "getVersions", KW_RESULT_LIST, kw_call_deadline(options), error))
        return NULL;
    ok = keyway_data_client_get_versions(call.data, &versions, table, kw_record_table(key), names,
                                         max_versions, (KeywayOptions *)thrift_options, &call.thrown,
                                         &call.failure);
    return kw_client_call_end(&call, ok, KW_READS, error)
               ? kw_map_array(versions, version_from_thrift, version_free)
               : NULL;
}
