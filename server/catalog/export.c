#include "catalog/transfer.h"

#include "catalog/catalog_internal.h"
#include "catalog/version_internal.h"
#include "store/check.h"

#define ROWS_PER_PAGE 1000
#define BYTES_PER_PAGE ((size_t)1024 * 1024)

typedef struct exporting {
    kw_arena *arena;
    kw_range_scan *scan;
    GArray *cells; /* kw_saved_cell */
    kw_catalog_exported done;
    void *user;
} exporting;

static void
finish(exporting *self, kw_bytes last, const kw_error *error)
{
    const kw_saved_cell *cells = (const kw_saved_cell *)(void *)self->cells->data;
    self->done(self->user, error ? NULL : cells, error ? 0 : self->cells->len, last, error);
    kw_range_scan_close(self->scan);
    g_array_unref(self->cells);
    kw_arena_free(self->arena);
}

static bool
is_registration(kw_bytes key)
{
    return kw_bytes_starts_with(key, KW_BYTES_LITERAL(KW_CATALOG_GATEWAY_PREFIX));
}

/* The row of facts gets a new id at the import. */
static bool
add_cell(exporting *self, const kw_row *row, const kw_cell *cell, kw_error *ret_error)
{
    bool facts = kw_bytes_equal(row->key, KW_CATALOG_FACTS_ROW);
    if (facts && kw_bytes_equal(cell->qualifier, KW_CATALOG_ID))
        return true;
    if (facts && kw_bytes_equal(cell->qualifier, KW_CATALOG_IMPORTING))
        return cell->value.size == 0 ||
               kw_error_set(ret_error, KW_REFUSED,
                            "an export is being imported into the catalog; end the import (keyway catalog "
                            "import)");
    kw_saved_cell saved = {row->key, cell->qualifier, cell->value};
    g_array_append_val(self->cells, saved);
    return true;
}

static void
on_fetched(void *user, kw_rows *rows, const kw_error *error)
{
    exporting *self = user;
    kw_error found = KW_ERROR_NONE;
    kw_bytes last = KW_BYTES_NONE;
    if (error) {
        finish(self, last, error->code == KW_NOT_FOUND ? NULL : error);
        return;
    }
    for (size_t i = 0; found.code == KW_OK && i < rows->count; i++) {
        const kw_row *row = &rows->rows[i];
        last = row->key;
        for (uint32_t j = 0; !is_registration(row->key) && j < row->cells_count; j++)
            if (!add_cell(self, row, &row->cells[j], &found))
                break;
    }
    if (rows->end)
        last = KW_BYTES_NONE;
    finish(self, last, found.code == KW_OK ? NULL : &found);
    kw_rows_free(rows);
}

void
kw_catalog_export(kw_catalog *catalog, kw_bytes after, kw_deadline deadline, kw_catalog_exported done,
                  void *user)
{
    kw_arena *arena = kw_arena_new();
    exporting *self = KW_ARENA_NEW(arena, exporting);
    /* With its NUL, the copy is the first key after the row. */
    kw_bytes start = after.size ? kw_bytes_of(kw_arena_text(arena, after), after.size + 1) : KW_BYTES_NONE;
    *self = (exporting){.arena = arena,
                        .cells = g_array_new(FALSE, FALSE, sizeof(kw_saved_cell)),
                        .done = done,
                        .user = user};
    self->scan = kw_store_handle_open_range_scan(
        catalog->settings.handle,
        &(kw_range_scan_spec){
            .table = catalog->table, .start = start, .max_versions = 1, .max_row_bytes = KW_EXPORT_ROW_MAX});
    kw_range_scan_fetch(self->scan, ROWS_PER_PAGE, BYTES_PER_PAGE, false, deadline, on_fetched, self);
}
