#include "catalog/changes_edit.h"

/* The three cells. */
#define CELLS_BYTES_MAX (KW_CHANGES_BYTES_MAX + 4096)

typedef kw_changes_editing editing;

static void
finish(editing *self, const kw_error *error)
{
    kw_error reported = error ? *error : KW_ERROR_NONE;
    if (error)
        kw_error_prefix(&reported, "catalog %s", self->catalog->settings.store_table);
    self->done(self, error ? &reported : NULL);
    kw_catalog_image_free(self->image);
    kw_arena_free(self->arena);
}

static void
on_put(void *user, const kw_error *error)
{
    editing *self = user;
    if (error && error->code == KW_BUSY && !kw_deadline_passed(self->deadline))
        kw_changes_edit(self);
    else
        finish(self, error);
}

static kw_catalog_image *
new_image(void)
{
    kw_arena *arena = kw_arena_new();
    kw_catalog_image *image = KW_ARENA_NEW(arena, kw_catalog_image);
    *image = (kw_catalog_image){.arena = arena, .id = "", .importing = ""};
    return image;
}

static bool
parse_cell(const kw_cell *cell, kw_catalog_image *to, kw_error *ret_error)
{
    if (!kw_catalog_check_timestamp(cell, ret_error))
        return false;
    to->newest_ms = MAX(to->newest_ms, cell->timestamp);
    if (kw_bytes_equal(cell->qualifier, KW_CATALOG_POLICY))
        return kw_version_parse(cell->value, &to->version, ret_error);
    if (kw_bytes_equal(cell->qualifier, KW_CATALOG_CHANGES))
        return kw_changes_parse(cell->value, to->arena, &to->changes, &to->changes_count, ret_error);
    if (kw_bytes_equal(cell->qualifier, KW_CATALOG_ID))
        to->id = kw_arena_text(to->arena, cell->value);
    return true;
}

static bool
parse_cells(const kw_row *row, kw_catalog_image *to, kw_error *ret_error)
{
    for (uint32_t i = 0; i < row->cells_count; i++)
        if (!parse_cell(&row->cells[i], to, ret_error))
            return false;
    return true;
}

static void
decide_and_put(editing *self, const kw_row *row)
{
    kw_error found;
    if (!parse_cells(row, self->image, &found) || !self->decide(self, &found) ||
        (!self->unchanged && !kw_catalog_check_lease(self->catalog, &found))) {
        finish(self, &found);
        return;
    }
    if (self->unchanged) {
        finish(self, NULL);
        return;
    }
    kw_catalog_put(
        self->catalog, self->image,
        &(kw_catalog_changes){.records = self->records, .records_count = self->count, .puts_records = true},
        on_put, self);
}

static void
on_read(void *user, kw_rows *rows, const kw_error *error)
{
    editing *self = user;
    if (error && error->code != KW_NOT_FOUND) {
        finish(self, error);
        return;
    }
    kw_catalog_image_free(self->image);
    self->image = new_image();
    decide_and_put(self, rows ? &rows->rows[0] : &(kw_row){0});
    kw_rows_free(rows);
}

void
kw_changes_edit(editing *self)
{
    static const kw_column columns[] = {
        {.family = KW_BYTES_LITERAL("d"), .qualifier = KW_BYTES_LITERAL("changes")},
        {.family = KW_BYTES_LITERAL("d"), .qualifier = KW_BYTES_LITERAL("id")},
        {.family = KW_BYTES_LITERAL("d"), .qualifier = KW_BYTES_LITERAL("policy")}};
    g_assert(self->decide && self->done);
    self->get = (kw_get){.table = self->catalog->table,
                         .row = KW_CATALOG_FACTS_ROW,
                         .columns = columns,
                         .columns_count = G_N_ELEMENTS(columns),
                         .max_versions = 1,
                         .max_bytes = CELLS_BYTES_MAX,
                         .deadline = self->deadline};
    kw_store_handle_get(self->catalog->settings.handle, &self->get, on_read, self);
}
