/* exportCatalog and importCatalog: backups of the catalog. */
#include "lib/client.h"
#include "lib/info.h"

kw_saved_cell *
kw_saved_cell_new(GBytes *row, GBytes *column, GBytes *value)
{
    kw_saved_cell *cell = g_new0(kw_saved_cell, 1);

    *cell = (kw_saved_cell){g_bytes_ref(row), g_bytes_ref(column), g_bytes_ref(value)};
    return cell;
}

void
kw_saved_cell_free(kw_saved_cell *cell)
{
    if (cell == NULL)
        return;
    g_bytes_unref(cell->row);
    g_bytes_unref(cell->column);
    g_bytes_unref(cell->value);
    g_free(cell);
}

/* --- export --------------------------------------------------------------------------------------- */

static gpointer
cell_item(gconstpointer item)
{
    const KeywaySavedCell *thrift = item;
    kw_saved_cell *cell = g_new0(kw_saved_cell, 1);

    *cell = (kw_saved_cell){kw_bytes_item(thrift->row), kw_bytes_item(thrift->column),
                            kw_bytes_item(thrift->value)};
    return cell;
}

static void
cell_item_free(gpointer item)
{
    kw_saved_cell_free(item);
}

void
kw_catalog_page_free(kw_catalog_page *page)
{
    if (page == NULL)
        return;
    g_ptr_array_unref(page->cells);
    g_ptr_array_unref(page->counters);
    g_free(page->counters_table);
    g_clear_pointer(&page->cursor, g_bytes_unref);
    g_free(page);
}

kw_catalog_page *
kw_client_export_catalog(kw_client *client, GBytes *cursor, GError **error)
{
    g_autoptr(GObject) found = g_object_new(KEYWAY_TYPE_CATALOG_PAGE, NULL);
    g_autoptr(GByteArray) from = cursor == NULL ? NULL : kw_bytes_to_thrift(cursor);
    const KeywayCatalogPage *thrift;
    kw_catalog_page *page;
    kw_client_call call;
    bool ok;

    if (!kw_client_call_begin(&call, client, "exportCatalog", KW_RESULT_STRUCT, 0, error))
        return NULL;
    ok = keyway_admin_client_export_catalog(call.admin, (KeywayCatalogPage **)&found, from, &call.thrown,
                                            &call.failure);
    if (!kw_client_call_end(&call, ok, KW_READS, error))
        return NULL;
    thrift = (KeywayCatalogPage *)found;
    page = g_new0(kw_catalog_page, 1);
    page->cells = kw_map_array(thrift->cells, cell_item, cell_item_free);
    page->counters = kw_map_array(thrift->counters, cell_item, cell_item_free);
    page->counters_table = g_strdup(thrift->counters_table);
    page->counters_keep_ms = thrift->counters_keep_ms;
    page->cursor = thrift->__isset_cursor ? kw_bytes_item(thrift->cursor) : NULL;
    return page;
}

/* --- import --------------------------------------------------------------------------------------- */

static void
set_cells(GObject *part, const char *name, const GPtrArray *cells)
{
    g_autoptr(GPtrArray) thrift = NULL;

    if (cells == NULL)
        return;
    thrift = g_ptr_array_new_with_free_func(g_object_unref);
    for (guint i = 0; i < cells->len; i++) {
        const kw_saved_cell *cell = cells->pdata[i];
        g_autoptr(GByteArray) row = kw_bytes_to_thrift(cell->row);
        g_autoptr(GByteArray) column = kw_bytes_to_thrift(cell->column);
        g_autoptr(GByteArray) value = kw_bytes_to_thrift(cell->value);

        g_ptr_array_add(
            thrift, g_object_new(KEYWAY_TYPE_SAVED_CELL, "row", row, "column", column, "value", value, NULL));
    }
    g_object_set(part, name, thrift, NULL);
}

bool
kw_client_import_catalog(kw_client *client, const kw_catalog_part *part, GError **error)
{
    g_autoptr(GObject) thrift =
        g_object_new(KEYWAY_TYPE_CATALOG_PART, "export_id", part->export_id, "step", (int)part->step, NULL);
    kw_client_call call;
    bool ok;

    set_cells(thrift, "cells", part->cells);
    set_cells(thrift, "counters", part->counters);
    if (part->counters_table != NULL)
        g_object_set(thrift, "counters_table", part->counters_table, "counters_keep_ms",
                     part->counters_keep_ms, NULL);
    if (!kw_client_call_begin(&call, client, "importCatalog", KW_RESULT_VOID, 0, error))
        return false;
    ok = keyway_admin_client_import_catalog(call.admin, (KeywayCatalogPart *)thrift, &call.thrown,
                                            &call.failure);
    return kw_client_call_end(&call, ok, KW_WRITES, error);
}
