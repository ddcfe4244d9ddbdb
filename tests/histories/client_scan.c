/* Scans of a client, and reads of several versions of a record. */
#include "histories/client_private.h"

#include <string.h>

/* --- scans ------------------------------------------------------------------------------------ */

static unsigned
number_of(const kw_api_Record *row)
{
    for (uint32_t i = 0; i < row->count; i++) {
        const item *at = (const item *)(const void *)row->items + i;
        if (kw_bytes_equal(at->key, KW_BYTES_LITERAL("id")) && at->value.text.size == 12)
            return (unsigned)g_ascii_strtoull((const char *)at->value.text.data + 8, NULL, 10);
    }
    g_error("a scan returned a record of another history");
}

static void
add_rows(const client_table *table, const kw_api_Page *page, const operation *scan, operations *to)
{
    for (uint32_t i = 0; i < page->rows.count; i++) {
        operation row = *scan;
        row.kind = OPERATION_ROW;
        row.record = number_of(&page->rows.items[i]);
        row.fields = (1u << OPERATION_FIELDS) - 1;
        row.outcome = OPERATION_OK;
        client_read_record(table, &page->rows.items[i], row.values);
        g_array_append_val(to, row);
    }
}

static const kw_api_Page *
send_scan(client *with, kw_api_Query *query, operation *scan)
{
    kw_api_Data_scan_args args = {.has_query = true, .query = query};
    const kw_api_Data_scan_result *result;
    if (client_exchange(with, &kw_api_methods[KW_API_Data_scan], &args, scan, (const void **)&result) !=
        ANSWERED)
        return NULL;
    if (result->failure)
        client_refused(with, scan, result->failure);
    return result->failure ? NULL : result->success;
}

static const kw_api_Page *
first_page(client *with, const client_table *table, operation *scan, unsigned from, unsigned to,
           int page_rows, const char *filter)
{
    kw_api_Value low = client_text(with, client_id(with, table, from)),
                 high = client_text(with, client_id(with, table, to));
    kw_api_Range range = {.field = KW_BYTES_LITERAL("id"),
                          .has_from_value = true,
                          .from_value = &low,
                          .has_to_value = true,
                          .to_value = &high};
    kw_api_Query query = {.table = kw_bytes_of_text(table->name),
                          .has_range = true,
                          .range = &range,
                          .has_page_rows = true,
                          .page_rows = page_rows,
                          .has_filter = *filter != '\0',
                          .filter = kw_bytes_of_text(filter),
                          .has_deadline_ms = true,
                          .deadline_ms = with->deadline_ms};
    return send_scan(with, &query, scan);
}

static const kw_api_Page *
next_page(client *with, kw_bytes cursor, operation *scan)
{
    kw_api_Data_nextPage_args args = {
        .has_cursor = true, .cursor = cursor, .has_options = true, .options = client_options(with)};
    const kw_api_Data_nextPage_result *result;
    if (client_exchange(with, &kw_api_methods[KW_API_Data_nextPage], &args, scan, (const void **)&result) !=
        ANSWERED)
        return NULL;
    if (result->failure)
        client_refused(with, scan, result->failure);
    return result->failure ? NULL : result->success;
}

/* Adds the scan after its rows; or drops these, if a page failed. */
static bool
end_scan(operation *scan, uint64_t begin_ns, bool good, guint before, operations *to_rows)
{
    if (!good) {
        g_array_set_size(to_rows, before);
        return false;
    }
    scan->begin_ns = begin_ns;
    scan->outcome = OPERATION_OK;
    scan->values[0] = to_rows->len - before;
    g_array_append_val(to_rows, *scan);
    return true;
}

bool
client_scan(client *with, const client_table *table, operation scan, unsigned from, unsigned to,
            int page_rows, const char *filter, operations *to_rows)
{
    guint before = to_rows->len;
    kw_arena_reset(with->arena);
    scan.results[0] = 1;
    const kw_api_Page *page = first_page(with, table, &scan, from, to, page_rows, filter);
    uint64_t begin_ns = scan.begin_ns;
    while (page) {
        add_rows(table, page, &scan, to_rows);
        if (!page->has_cursor)
            break;
        page = next_page(with, page->cursor, &scan);
        scan.results[0]++;
    }
    return end_scan(&scan, begin_ns, page != NULL, before, to_rows);
}

/* --- scans of hint paths ---------------------------------------------------------------------- */

static const kw_api_Page *
first_page_of_path(client *with, const client_table *table, operation *scan, int page_rows)
{
    kw_api_Query query = {.table = kw_bytes_of_text(table->name),
                          .has_bound = true,
                          .bound = client_place(with, table, scan),
                          .has_path = true,
                          .path = kw_bytes_of_text(client_path_name(scan->view)),
                          .has_page_rows = true,
                          .page_rows = page_rows,
                          .has_deadline_ms = true,
                          .deadline_ms = with->deadline_ms};
    return send_scan(with, &query, scan);
}

/* The gateway can read a page as soon as the one before was asked for. */
static void
set_begins(operations *rows, guint from, uint64_t begin_ns)
{
    for (guint i = from; i < rows->len; i++)
        operation_at(rows, i)->begin_ns = begin_ns;
}

bool
client_scan_path(client *with, client *other, const client_table *table, operation scan, int page_rows,
                 operations *to_rows)
{
    guint before = to_rows->len;
    kw_arena_reset(with->arena);
    if (other)
        kw_arena_reset(other->arena);
    scan.results[0] = 1;
    const kw_api_Page *page = first_page_of_path(with, table, &scan, page_rows);
    uint64_t begin_ns = scan.begin_ns, earlier_ns = scan.begin_ns;
    while (page) {
        guint first = to_rows->len;
        uint64_t page_ns = scan.begin_ns;
        add_rows(table, page, &scan, to_rows);
        set_begins(to_rows, first, earlier_ns);
        earlier_ns = page_ns;
        if (!page->has_cursor)
            break;
        page = next_page(other && scan.results[0] % 2 ? other : with, page->cursor, &scan);
        scan.results[0]++;
    }
    return end_scan(&scan, begin_ns, page != NULL, before, to_rows);
}

/* --- versions --------------------------------------------------------------------------------- */

bool
client_versions(client *with, const client_table *table, operation of, int most, operations *to_rows)
{
    kw_arena_reset(with->arena);
    kw_api_Data_getVersions_args args = {.has_table = true,
                                         .table = kw_bytes_of_text(table->name),
                                         .has_key = true,
                                         .key = client_key(with, table, of.record),
                                         .has_max_versions = true,
                                         .max_versions = most,
                                         .has_options = true,
                                         .options = client_options(with)};
    const kw_api_Data_getVersions_result *result;
    client_reply how =
        client_exchange(with, &kw_api_methods[KW_API_Data_getVersions], &args, &of, (const void **)&result);
    if (how != ANSWERED)
        return false;
    if (result->failure)
        return client_refused(with, &of, result->failure);
    of.outcome = OPERATION_OK;
    for (uint32_t i = 0; i < result->success.count; i++) {
        operation version = of;
        version.kind = OPERATION_VERSION;
        client_read_record(table, &result->success.items[i].record, version.values);
        version.results[0] = result->success.items[i].timestamp;
        g_array_append_val(to_rows, version);
        if (i == 0)
            memcpy(of.values, version.values, sizeof of.values);
    }
    of.results[0] = result->success.count;
    g_array_append_val(to_rows, of);
    return true;
}
