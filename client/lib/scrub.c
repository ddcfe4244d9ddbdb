/* scrub and changeDiff: one slice of a comparison of a table's paths, or of the old and the new rows of a
 * path. */
#include "lib/client.h"
#include "lib/info.h"
#include "lib/record.h"

static void
difference_free(gpointer item)
{
    kw_difference *difference = item;

    g_free(difference->path);
    g_free(difference->text);
    g_clear_pointer(&difference->row_key, g_bytes_unref);
    g_clear_pointer(&difference->key, kw_record_unref);
    g_free(difference);
}

static gpointer
difference_from_thrift(gconstpointer item)
{
    KeywayDifference *thrift = (KeywayDifference *)item; /* its key is stolen */
    kw_difference *difference = g_new0(kw_difference, 1);

    difference->kind = (kw_difference_kind)thrift->kind;
    difference->path = g_strdup(thrift->path);
    difference->row_key = kw_bytes_item(thrift->row_key);
    difference->key = thrift->__isset_key ? kw_record_steal(&thrift->key) : NULL;
    difference->text = g_strdup(thrift->text);
    difference->repaired = thrift->repaired;
    return difference;
}

static kw_scrubbed *
scrubbed_from_thrift(KeywayScrubbed *thrift)
{
    kw_scrubbed *scrubbed = g_new0(kw_scrubbed, 1);

    scrubbed->rows = thrift->rows;
    scrubbed->missing = thrift->missing;
    scrubbed->different = thrift->different;
    scrubbed->extra = thrift->extra;
    scrubbed->foreign_rows = thrift->foreign_rows;
    scrubbed->repaired = thrift->repaired;
    scrubbed->stale_hints = thrift->__isset_stale_hints ? thrift->stale_hints : 0;
    scrubbed->unsettled = thrift->unsettled;
    scrubbed->progress = thrift->progress;
    scrubbed->cursor = thrift->__isset_cursor ? kw_bytes_item(thrift->cursor) : NULL;
    scrubbed->differences = kw_map_array(thrift->differences, difference_from_thrift, difference_free);
    return scrubbed;
}

void
kw_scrubbed_free(kw_scrubbed *scrubbed)
{
    if (scrubbed == NULL)
        return;
    g_ptr_array_unref(scrubbed->differences);
    g_clear_pointer(&scrubbed->cursor, g_bytes_unref);
    g_free(scrubbed);
}

static GObject *
options_to_thrift(const kw_scrub_options *options)
{
    GObject *thrift = g_object_new(KEYWAY_TYPE_SCRUB_OPTIONS, NULL);

    if (options == NULL)
        return thrift;
    if (options->cursor != NULL) {
        g_autoptr(GByteArray) cursor = kw_bytes_to_thrift(options->cursor);

        g_object_set(thrift, "cursor", cursor, NULL);
    }
    if (options->repair)
        g_object_set(thrift, "repair", TRUE, NULL);
    if (options->max_records != 0)
        g_object_set(thrift, "max_records", options->max_records, NULL);
    if (options->max_differences >= 0)
        g_object_set(thrift, "max_differences", options->max_differences, NULL);
    if (options->deadline_ms != 0)
        g_object_set(thrift, "deadline_ms", options->deadline_ms, NULL);
    return thrift;
}

kw_scrubbed *
kw_client_scrub(kw_client *client, const char *table, const kw_scrub_options *options, GError **error)
{
    g_autoptr(GObject) scrubbed = g_object_new(KEYWAY_TYPE_SCRUBBED, NULL);
    g_autoptr(GObject) thrift = options_to_thrift(options);
    gint32 deadline_ms = options == NULL ? 0 : options->deadline_ms;
    kw_client_call call;
    bool ok;

    if (!kw_client_call_begin(&call, client, "scrub", KW_RESULT_STRUCT, deadline_ms, error))
        return NULL;
    ok = keyway_admin_client_scrub(call.admin, (KeywayScrubbed **)&scrubbed, table,
                                   (KeywayScrubOptions *)thrift, &call.thrown, &call.failure);
    /* A lost reply does no harm: the same slice can be repeated. */
    if (!kw_client_call_end(&call, ok, KW_READS, error))
        return NULL;
    return scrubbed_from_thrift((KeywayScrubbed *)scrubbed);
}

kw_scrubbed *
kw_client_change_diff(kw_client *client, const char *table, const kw_scrub_options *options, GError **error)
{
    g_autoptr(GObject) scrubbed = g_object_new(KEYWAY_TYPE_SCRUBBED, NULL);
    g_autoptr(GObject) thrift = options_to_thrift(options);
    gint32 deadline_ms = options == NULL ? 0 : options->deadline_ms;
    kw_client_call call;
    bool ok;

    if (!kw_client_call_begin(&call, client, "changeDiff", KW_RESULT_STRUCT, deadline_ms, error))
        return NULL;
    ok = keyway_admin_client_change_diff(call.admin, (KeywayScrubbed **)&scrubbed, table,
                                         (KeywayScrubOptions *)thrift, &call.thrown, &call.failure);
    if (!kw_client_call_end(&call, ok, KW_READS, error))
        return NULL;
    return scrubbed_from_thrift((KeywayScrubbed *)scrubbed);
}
