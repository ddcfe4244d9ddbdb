/* See changes.h. changes_progress.c writes the progress, changes_edit.c edits a record. */
#include "catalog/catalog_internal.h"

/* The cells `policy` and `changes`. */
#define CELLS_BYTES_MAX (KW_CHANGES_BYTES_MAX + 4096)

typedef struct reading {
    kw_arena *arena;
    kw_get get;
    kw_current_read done;
    void *user;
} reading;

static bool
parse_cells(const kw_row *row, kw_arena *arena, kw_current *to, kw_error *ret_error)
{
    for (uint32_t i = 0; i < row->cells_count; i++) {
        const kw_cell *cell = &row->cells[i];
        kw_change_record *changes;
        if (kw_bytes_equal(cell->qualifier, KW_CATALOG_POLICY)) {
            if (!kw_version_parse(cell->value, &to->version, ret_error))
                return false;
        } else if (kw_bytes_equal(cell->qualifier, KW_CATALOG_CHANGES)) {
            if (!kw_changes_parse(cell->value, arena, &changes, &to->changes_count, ret_error))
                return false;
            to->changes = changes;
        }
    }
    return true;
}

static void
on_read(void *user, kw_rows *rows, const kw_error *error)
{
    reading *self = user;
    kw_current current = {0};
    kw_error found = error ? *error : KW_ERROR_NONE;
    if (found.code == KW_NOT_FOUND) /* the catalog does not exist yet */
        found = KW_ERROR_NONE;
    else if (!error)
        parse_cells(&rows->rows[0], self->arena, &current, &found);
    bool good = found.code == KW_OK;
    self->done(self->user, good ? &current : NULL, good ? NULL : &found);
    kw_rows_free(rows);
    kw_arena_free(self->arena);
}

void
kw_catalog_read_current_changes(kw_catalog *catalog, kw_deadline deadline, kw_current_read done, void *user)
{
    static const kw_column columns[] = {
        {.family = KW_BYTES_LITERAL("d"), .qualifier = KW_BYTES_LITERAL("policy")},
        {.family = KW_BYTES_LITERAL("d"), .qualifier = KW_BYTES_LITERAL("changes")}};
    kw_arena *arena = kw_arena_new();
    reading *self = KW_ARENA_NEW(arena, reading);
    *self = (reading){.arena = arena,
                      .done = done,
                      .user = user,
                      .get = {.table = catalog->table,
                              .row = KW_CATALOG_FACTS_ROW,
                              .columns = columns,
                              .columns_count = G_N_ELEMENTS(columns),
                              .max_versions = 1,
                              .max_bytes = CELLS_BYTES_MAX,
                              .deadline = deadline}};
    kw_store_handle_get(catalog->settings.handle, &self->get, on_read, self);
}
