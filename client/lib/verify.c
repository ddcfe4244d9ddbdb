/* verify: one slice of a verification of all rows of a path. */
#include "lib/client.h"
#include "lib/info.h"

static gpointer
row_count(gconstpointer item)
{
    const KeywayRowCount *thrift = item;
    kw_row_count *count = g_new0(kw_row_count, 1);

    count->bytes = kw_bytes_item(thrift->bytes);
    count->rows = thrift->rows;
    return count;
}

static void
row_count_free(gpointer item)
{
    kw_row_count *count = item;

    g_bytes_unref(count->bytes);
    g_free(count);
}

static gpointer
unfit_row(gconstpointer item)
{
    const KeywayUnfitRow *thrift = item;
    kw_unfit_row *row = g_new0(kw_unfit_row, 1);

    row->row_key = kw_bytes_item(thrift->row_key);
    row->field = g_strdup(thrift->field);
    row->text = g_strdup(thrift->text);
    return row;
}

static void
unfit_row_free(gpointer item)
{
    kw_unfit_row *row = item;

    g_bytes_unref(row->row_key);
    g_free(row->field);
    g_free(row->text);
    g_free(row);
}

static GHashTable *
fields_of(GHashTable *thrift)
{
    GHashTable *fields = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    GHashTableIter iter;
    gpointer name, rows;

    g_hash_table_iter_init(&iter, thrift);
    while (g_hash_table_iter_next(&iter, &name, &rows))
        g_hash_table_insert(fields, g_strdup(name), g_memdup2(rows, sizeof(gint64)));
    return fields;
}

static kw_verified *
verified_from_thrift(const KeywayVerified *thrift)
{
    kw_verified *verified = g_new0(kw_verified, 1);

    verified->rows = thrift->rows;
    verified->foreign_rows = thrift->foreign_rows;
    verified->undecodable_rows = thrift->undecodable_rows;
    verified->large_rows = thrift->large_rows;
    verified->undecodable_fields = fields_of(thrift->undecodable_fields);
    verified->first_bytes = kw_map_array(thrift->first_bytes, row_count, row_count_free);
    verified->buckets = kw_map_array(thrift->buckets, row_count, row_count_free);
    for (guint i = 0; i < MIN(thrift->ages->len, KW_VERIFIED_AGES); i++)
        verified->ages[i] = g_array_index(thrift->ages, gint64, i);
    verified->oldest = thrift->__isset_oldest ? thrift->oldest : 0;
    verified->newest = thrift->__isset_newest ? thrift->newest : 0;
    verified->expired_rows = thrift->expired_rows;
    verified->future_rows = thrift->future_rows;
    verified->versioned_rows = thrift->versioned_rows;
    verified->most_versions = thrift->most_versions;
    verified->examples = kw_map_array(thrift->examples, unfit_row, unfit_row_free);
    verified->cursor = thrift->__isset_cursor ? kw_bytes_item(thrift->cursor) : NULL;
    verified->progress = thrift->progress;
    verified->verified = thrift->verified;
    return verified;
}

void
kw_verified_free(kw_verified *verified)
{
    if (verified == NULL)
        return;
    g_hash_table_unref(verified->undecodable_fields);
    g_ptr_array_unref(verified->first_bytes);
    g_ptr_array_unref(verified->buckets);
    g_ptr_array_unref(verified->examples);
    g_clear_pointer(&verified->cursor, g_bytes_unref);
    g_free(verified);
}

static GObject *
options_to_thrift(const kw_verify_options *options)
{
    GObject *thrift = g_object_new(KEYWAY_TYPE_VERIFY_OPTIONS, NULL);

    if (options == NULL)
        return thrift;
    if (options->path != NULL)
        g_object_set(thrift, "path", options->path, NULL);
    if (options->cursor != NULL) {
        g_autoptr(GByteArray) cursor = kw_bytes_to_thrift(options->cursor);

        g_object_set(thrift, "cursor", cursor, NULL);
    }
    if (options->max_rows != 0)
        g_object_set(thrift, "max_rows", options->max_rows, NULL);
    if (options->max_examples >= 0)
        g_object_set(thrift, "max_examples", options->max_examples, NULL);
    if (options->deadline_ms != 0)
        g_object_set(thrift, "deadline_ms", options->deadline_ms, NULL);
    return thrift;
}

kw_verified *
kw_client_verify(kw_client *client, const char *table, const kw_verify_options *options, GError **error)
{
    g_autoptr(GObject) verified = g_object_new(KEYWAY_TYPE_VERIFIED, NULL);
    g_autoptr(GObject) thrift = options_to_thrift(options);
    gint32 deadline_ms = options == NULL ? 0 : options->deadline_ms;
    kw_client_call call;
    bool ok;

    if (!kw_client_call_begin(&call, client, "verify", KW_RESULT_STRUCT, deadline_ms, error))
        return NULL;
    ok = keyway_admin_client_verify(call.admin, (KeywayVerified **)&verified, table,
                                    (KeywayVerifyOptions *)thrift, &call.thrown, &call.failure);
    /* A lost reply does no harm: the same slice can be repeated. */
    if (!kw_client_call_end(&call, ok, KW_READS, error))
        return NULL;
    return verified_from_thrift((KeywayVerified *)verified);
}
