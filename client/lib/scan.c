/* scan, latest, nextPage: the rows of a query, page after page. */
#include "lib/client.h"
#include "lib/error.h"
#include "lib/info.h"
#include "lib/query.h"
#include "lib/record.h"

struct kw_scan {
    kw_client *client;
    kw_call_options options; /* of the following pages */
    GPtrArray *rows;         /* of the current page; of GHashTable */
    guint at;                /* the next row */
    GBytes *cursor;          /* NULL: the current page is the last */
    gint64 rows_scanned;
    gint64 rows_returned;
    gint64 undecodable;
};

static void
adopt(kw_scan *scan, KeywayPage *page)
{
    g_clear_pointer(&scan->rows, g_ptr_array_unref);
    g_clear_pointer(&scan->cursor, g_bytes_unref);
    scan->rows = g_steal_pointer(&page->rows);
    /* The generated code's free function would clear rows that a caller holds. */
    g_ptr_array_set_free_func(scan->rows, (GDestroyNotify)g_hash_table_unref);
    scan->at = 0;
    if (page->__isset_cursor && page->cursor->len > 0)
        scan->cursor = g_bytes_new(page->cursor->data, page->cursor->len);
    scan->rows_scanned += page->rows_scanned;
    scan->rows_returned += page->rows_returned;
    if (page->__isset_undecodable)
        scan->undecodable += page->undecodable;
}

static kw_scan *
scan_new(kw_client *client, gint32 deadline_ms)
{
    kw_scan *scan = g_new0(kw_scan, 1);

    scan->client = client;
    scan->options.deadline_ms = deadline_ms;
    return scan;
}

static kw_scan *
ask(kw_client *client, const kw_query *query, bool latest, GError **error)
{
    KeywayQuery *thrift = kw_query_thrift(query);
    g_autoptr(GObject) page = g_object_new(KEYWAY_TYPE_PAGE, NULL);
    KeywayPage **into = (KeywayPage **)&page;
    kw_client_call call;
    kw_scan *scan;
    bool ok;

    if (!kw_client_call_begin(&call, client, latest ? "latest" : "scan", KW_RESULT_STRUCT,
                              thrift->deadline_ms, error))
        return NULL;
    ok = latest ? keyway_data_client_latest(call.data, into, thrift, &call.thrown, &call.failure)
                : keyway_data_client_scan(call.data, into, thrift, &call.thrown, &call.failure);
    if (!kw_client_call_end(&call, ok, KW_READS, error))
        return NULL;
    scan = scan_new(client, thrift->deadline_ms);
    adopt(scan, *into);
    return scan;
}

kw_scan *
kw_client_scan(kw_client *client, const kw_query *query, GError **error)
{
    return ask(client, query, false, error);
}

kw_scan *
kw_client_latest(kw_client *client, const kw_query *query, GError **error)
{
    return ask(client, query, true, error);
}

static bool
fetch(kw_scan *scan, GBytes *cursor, GError **error)
{
    g_autoptr(GObject) thrift_options = (GObject *)kw_call_options_to_thrift(&scan->options);
    g_autoptr(GObject) page = g_object_new(KEYWAY_TYPE_PAGE, NULL);
    g_autoptr(GByteArray) bytes = kw_bytes_to_thrift(cursor);
    kw_client_call call;
    bool ok;

    if (!kw_client_call_begin(&call, scan->client, "nextPage", KW_RESULT_STRUCT, scan->options.deadline_ms,
                              error))
        return false;
    ok = keyway_data_client_next_page(call.data, (KeywayPage **)&page, bytes, (KeywayOptions *)thrift_options,
                                      &call.thrown, &call.failure);
    if (!kw_client_call_end(&call, ok, KW_READS, error))
        return false;
    adopt(scan, (KeywayPage *)page);
    return true;
}

kw_scan *
kw_client_resume(kw_client *client, const void *cursor, gsize cursor_size, const kw_call_options *options,
                 GError **error)
{
    g_autoptr(GBytes) bytes = g_bytes_new(cursor, cursor_size);
    g_autoptr(kw_scan) scan = scan_new(client, kw_call_deadline(options));

    return fetch(scan, bytes, error) ? g_steal_pointer(&scan) : NULL;
}

/* An empty page can have a next page: the gateway reached its time or byte limit, or skipped rows. */
bool
kw_scan_next(kw_scan *scan, const kw_record **ret_record, GError **error)
{
    while (scan->at == scan->rows->len) {
        g_autoptr(GBytes) cursor = scan->cursor == NULL ? NULL : g_bytes_ref(scan->cursor);

        if (cursor == NULL || !fetch(scan, cursor, error))
            return false;
    }
    *ret_record = scan->rows->pdata[scan->at++];
    return true;
}

guint
kw_scan_page_left(const kw_scan *scan)
{
    return scan->rows->len - scan->at;
}

GBytes *
kw_scan_cursor(const kw_scan *scan)
{
    return scan->cursor;
}

gint64
kw_scan_rows_scanned(const kw_scan *scan)
{
    return scan->rows_scanned;
}

gint64
kw_scan_rows_returned(const kw_scan *scan)
{
    return scan->rows_returned;
}

gint64
kw_scan_undecodable(const kw_scan *scan)
{
    return scan->undecodable;
}

void
kw_scan_free(kw_scan *scan)
{
    if (scan == NULL)
        return;
    g_clear_pointer(&scan->rows, g_ptr_array_unref);
    g_clear_pointer(&scan->cursor, g_bytes_unref);
    g_free(scan);
}
