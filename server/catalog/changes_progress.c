/* Writes the progress of changes; see changes.h.
 *
 *   read the cells `id` and `changes` -> compare the records -> put, if the id is still the same
 *     -> BUSY: the catalog was changed since; from the read again
 */
#include "catalog/put.h"

/* The cells `id` and `changes`. */
#define CELLS_BYTES_MAX (KW_CHANGES_BYTES_MAX + 4096)

typedef struct progress {
    kw_catalog *catalog;
    kw_arena *arena;
    const kw_change_record *records; /* copies */
    size_t count;
    kw_deadline deadline;
    kw_get get;
    kw_catalog_image *image; /* has only what a put needs */
    void (*done)(void *user, const kw_error *error);
    void *user;
} progress;

static void
finish(progress *self, const kw_error *error)
{
    kw_error reported = error ? *error : KW_ERROR_NONE;
    if (error)
        kw_error_prefix(&reported, "catalog %s", self->catalog->settings.store_table);
    self->done(self->user, error ? &reported : NULL);
    kw_catalog_image_free(self->image);
    kw_arena_free(self->arena);
}

static void read_records(progress *self);

static void
on_put(void *user, const kw_error *error)
{
    progress *self = user;
    if (error && error->code == KW_BUSY && !kw_deadline_passed(self->deadline))
        read_records(self);
    else
        finish(self, error);
}

static kw_catalog_image *
new_image(void)
{
    kw_arena *arena = kw_arena_new();
    kw_catalog_image *image = KW_ARENA_NEW(arena, kw_catalog_image);
    *image = (kw_catalog_image){.arena = arena, .id = ""};
    return image;
}

static bool
parse_cells(const kw_row *row, kw_catalog_image *to, kw_error *ret_error)
{
    for (uint32_t i = 0; i < row->cells_count; i++) {
        const kw_cell *cell = &row->cells[i];
        to->newest_ms = MAX(to->newest_ms, cell->timestamp);
        if (kw_bytes_equal(cell->qualifier, KW_CATALOG_ID))
            to->id = kw_arena_text(to->arena, cell->value);
        else if (kw_bytes_equal(cell->qualifier, KW_CATALOG_CHANGES) &&
                 !kw_changes_parse(cell->value, to->arena, &to->changes, &to->changes_count, ret_error))
            return false;
    }
    return true;
}

static void
compare_and_put(progress *self, const kw_row *row)
{
    kw_error found;
    if (!parse_cells(row, self->image, &found)) {
        finish(self, &found);
        return;
    }
    if (kw_changes_differ(self->image->changes, self->image->changes_count, self->records, self->count)) {
        kw_error_set(&found, KW_BUSY, "a change of a key rule has had another step since; try again");
        finish(self, &found);
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
    progress *self = user;
    if (error && error->code != KW_NOT_FOUND) {
        finish(self, error);
        return;
    }
    kw_catalog_image_free(self->image);
    self->image = new_image();
    compare_and_put(self, rows ? &rows->rows[0] : &(kw_row){0});
    kw_rows_free(rows);
}

static void
read_records(progress *self)
{
    static const kw_column columns[] = {
        {.family = KW_BYTES_LITERAL("d"), .qualifier = KW_BYTES_LITERAL("changes")},
        {.family = KW_BYTES_LITERAL("d"), .qualifier = KW_BYTES_LITERAL("id")}};
    self->get = (kw_get){.table = self->catalog->table,
                         .row = KW_CATALOG_FACTS_ROW,
                         .columns = columns,
                         .columns_count = G_N_ELEMENTS(columns),
                         .max_versions = 1,
                         .max_bytes = CELLS_BYTES_MAX,
                         .deadline = self->deadline};
    kw_store_handle_get(self->catalog->settings.handle, &self->get, on_read, self);
}

/* The caller's records can change before the put, so their JSON is copied. */
static bool
copy_records(progress *self, const kw_change_record *records, size_t count, kw_error *ret_error)
{
    kw_change_record *copies;
    kw_bytes text;
    if (!kw_changes_print_to_put(records, count, self->arena, &text, ret_error) ||
        !kw_changes_parse(text, self->arena, &copies, &self->count, ret_error))
        return false;
    self->records = copies;
    return true;
}

void
kw_catalog_write_progress(kw_catalog *catalog, const kw_change_record *records, size_t count,
                          kw_deadline deadline, void (*done)(void *user, const kw_error *error), void *user)
{
    kw_arena *arena = kw_arena_new();
    progress *self = KW_ARENA_NEW(arena, progress);
    kw_error error;
    *self = (progress){.catalog = catalog,
                       .arena = arena,
                       .image = new_image(),
                       .deadline = deadline,
                       .done = done,
                       .user = user};
    if (copy_records(self, records, count, &error))
        read_records(self);
    else
        finish(self, &error);
}
