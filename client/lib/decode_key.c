/* decodeKey: the fields that a row key holds. */
#include "lib/client.h"
#include "lib/info.h"
#include "lib/record.h"

static void
decoded_key_free(gpointer item)
{
    kw_decoded_key *decoded = item;

    g_free(decoded->path);
    g_free(decoded->store_table);
    g_ptr_array_unref(decoded->pieces);
    kw_record_unref(decoded->key);
    g_free(decoded->component);
    g_free(decoded->reason);
    g_free(decoded);
}

static gpointer
decoded_key_from_thrift(gconstpointer item)
{
    KeywayDecodedKey *thrift = (KeywayDecodedKey *)item; /* its key is stolen */
    kw_decoded_key *decoded = g_new0(kw_decoded_key, 1);

    decoded->path = g_strdup(thrift->path);
    decoded->store_table = g_strdup(thrift->store_table);
    decoded->pieces = kw_key_pieces_from_thrift(thrift->pieces);
    decoded->key = thrift->key == NULL ? kw_record_new() : kw_record_steal(&thrift->key);
    decoded->component = g_strdup(thrift->component);
    decoded->reason = g_strdup(thrift->reason);
    return decoded;
}

GPtrArray *
kw_client_decode_key(kw_client *client, const char *table, GBytes *row_key, const char *path,
                     const char *policy_text, GError **error)
{
    g_autoptr(GPtrArray) decoded = g_ptr_array_new_with_free_func(g_object_unref);
    g_autoptr(GByteArray) bytes = kw_bytes_to_thrift(row_key);
    kw_client_call call;
    bool ok;

    if (!kw_client_call_begin(&call, client, "decodeKey", KW_RESULT_LIST, 0, error))
        return NULL;
    ok = keyway_admin_client_decode_key(call.admin, &decoded, table, bytes, path == NULL ? "" : path,
                                        policy_text == NULL ? "" : policy_text, &call.thrown, &call.failure);
    return kw_client_call_end(&call, ok, KW_READS, error)
               ? kw_map_array(decoded, decoded_key_from_thrift, decoded_key_free)
               : NULL;
}
