/* See transfer.h. import_cells.c checks the cells.
 *
 *   BEGIN       create the table -> read the catalog -> it must be empty -> put `importing`
 *   ADD, END    read the id and `importing` -> write rows of versions -> put the cells of facts
 */
#include "catalog/transfer.h"

#include "catalog/catalog_internal.h"
#include "catalog/create.h"
#include "catalog/import_cells.h"
#include "catalog/version_internal.h"

#include <string.h>

/* A registration older than this is that of a gateway that was killed. The clock of the store can differ from
 * this machine's. */
#define GATEWAY_GONE_MS (60 * 1000)

typedef struct importing {
    kw_catalog *catalog;
    const kw_catalog_import *import;
    kw_arena *arena;
    kw_deadline deadline;
    const char *id; /* of the row of facts, as it was read */
    int64_t newest_ms;
    size_t next;   /* the next cell that can begin a row to write */
    kw_cell *puts; /* to put in the row of facts */
    size_t puts_count;
    kw_get get;
    kw_write write;
    kw_check check;
    kw_simple_done done;
    void *user;
} importing;

static void
finish(importing *self, const kw_error *error)
{
    self->done(self->user, error);
    kw_arena_free(self->arena);
}

/* --- the put of the row of facts ------------------------------------------------------------------ */

static void
on_put(void *user, kw_outcome outcome, bool applied, const kw_error *error)
{
    importing *self = user;
    kw_error found = error ? *error : KW_ERROR_NONE;
    (void)outcome; /* unknown: the caller repeats the import */
    if (!error && !applied)
        kw_error_set(&found, KW_BUSY,
                     "another gateway or another import has changed the catalog; run the import again");
    finish(self, found.code == KW_OK ? NULL : &found);
}

static void
add_put(importing *self, kw_bytes qualifier, kw_bytes value)
{
    self->puts[self->puts_count++] =
        (kw_cell){.family = KW_CATALOG_FAMILY, .qualifier = qualifier, .value = value};
}

/* The puts have at most two more cells than the import. Timestamps as in put.c. */
static void
put_facts(importing *self)
{
    const char *id = kw_arena_printf(self->arena, "%016" G_GINT64_MODIFIER "x%016" G_GINT64_MODIFIER "x",
                                     kw_random_u64(), kw_random_u64());
    add_put(self, KW_CATALOG_ID, kw_bytes_of_text(id));
    self->write = (kw_write){.kind = KW_WRITE_PUT,
                             .table = self->catalog->table,
                             .row = KW_CATALOG_FACTS_ROW,
                             .cells = self->puts,
                             .cells_count = self->puts_count,
                             .timestamp = MAX(self->newest_ms + 1, kw_clock_wall_ms()),
                             .deadline = self->deadline};
    self->check = (kw_check){.family = KW_CATALOG_FAMILY,
                             .qualifier = KW_CATALOG_ID,
                             .compare = KW_COMPARE_EQUAL,
                             .has_value = self->id[0] != '\0',
                             .value = kw_bytes_of_text(self->id)};
    kw_store_handle_write_if(self->catalog->settings.handle, &self->write, &self->check, on_put, self);
}

/* --- BEGIN ------------------------------------------------------------------------------------------ */

static bool
refuse_content(const char *what, const char *name, kw_error *ret_error)
{
    return kw_error_set(
        ret_error, KW_REFUSED,
        "the catalog is not empty: it has %s %s; an export can only be imported into an empty "
        "catalog",
        what, name);
}

static bool
check_empty(const kw_catalog_image *image, kw_error *ret_error)
{
    if (image->version.number > 0)
        return kw_error_set(ret_error, KW_REFUSED,
                            "the catalog is not empty: policy version %" G_GINT64_FORMAT
                            " is current; an export can only be imported into an empty catalog",
                            image->version.number);
    if (image->tables_count > 0)
        return refuse_content("facts of table", image->tables[0]->table, ret_error);
    if (image->changes_count > 0)
        return refuse_content("a record of a change of table", image->changes[0].table, ret_error);
    return true;
}

/* A gateway that is registered serves tables, or is about to. */
static bool
check_gateways(const importing *self, const kw_catalog_image *image, kw_error *ret_error)
{
    for (size_t i = 0; i < image->gateways_count; i++) {
        const kw_registration *each = &image->gateways[i];
        if (kw_clock_wall_ms() - each->lease_at_ms < GATEWAY_GONE_MS &&
            !kw_catalog_is_own(self->catalog, each))
            return kw_error_set(
                ret_error, KW_REFUSED,
                "gateway %s serves tables from this catalog; stop it first (if it was killed, "
                "wait for a minute)",
                each->id);
    }
    return true;
}

static bool
check_begin(importing *self, const kw_catalog_image *image, kw_error *ret_error)
{
    if (!check_gateways(self, image, ret_error))
        return false;
    if (!image->importing[0])
        return check_empty(image, ret_error);
    return g_str_equal(image->importing, self->import->export_id) ||
           kw_error_set(
               ret_error, KW_REFUSED,
               "the import of another export has begun; end it with that file, or empty the catalog's "
               "store table %s",
               self->catalog->settings.store_table);
}

static void
on_image(void *user, kw_catalog_image *image, const kw_error *error)
{
    importing *self = user;
    kw_error found = error ? *error : KW_ERROR_NONE;
    bool good = !error && check_begin(self, image, &found);
    bool begun = good && image->importing[0];
    if (good) {
        self->id = kw_arena_text(self->arena, kw_bytes_of_text(image->id));
        self->newest_ms = image->newest_ms;
    }
    kw_catalog_image_free(image);
    if (!good || begun) {
        finish(self, good ? NULL : &found);
        return;
    }
    add_put(self, KW_CATALOG_IMPORTING, kw_bytes_of_text(self->import->export_id));
    put_facts(self);
}

static void
on_created(void *user, const kw_error *error)
{
    importing *self = user;
    if (error)
        finish(self, error);
    else
        kw_catalog_read(self->catalog->settings.handle, self->catalog->table, self->deadline, on_image, self);
}

/* --- ADD and END ------------------------------------------------------------------------------------ */

static void write_next_row(importing *self);

static void
on_row_written(void *user, kw_outcome outcome, const kw_error *error)
{
    importing *self = user;
    (void)outcome;
    if (error)
        finish(self, error);
    else
        write_next_row(self);
}

static bool
is_facts(const kw_saved_cell *cell)
{
    return kw_bytes_equal(cell->row, KW_CATALOG_FACTS_ROW);
}

/* Writes the following cells of one row. No other writer has these rows: they are as they were exported. */
static void
write_row(importing *self)
{
    const kw_saved_cell *first = &self->import->cells[self->next];
    size_t count = 0, most = self->import->count - self->next;
    kw_cell *cells = KW_ARENA_ARRAY(self->arena, kw_cell, most);
    while (count < most && kw_bytes_equal(first[count].row, first->row)) {
        cells[count] = (kw_cell){
            .family = KW_CATALOG_FAMILY, .qualifier = first[count].column, .value = first[count].value};
        count++;
    }
    self->next += count;
    self->write = (kw_write){.kind = KW_WRITE_PUT,
                             .table = self->catalog->table,
                             .row = first->row,
                             .cells = cells,
                             .cells_count = count,
                             .timestamp = KW_TIMESTAMP_NONE,
                             .deadline = self->deadline};
    kw_store_handle_write(self->catalog->settings.handle, &self->write, on_row_written, self);
}

static void
write_next_row(importing *self)
{
    const kw_catalog_import *import = self->import;
    for (; self->next < import->count && is_facts(&import->cells[self->next]); self->next++)
        add_put(self, import->cells[self->next].column, import->cells[self->next].value);
    if (self->next < import->count) {
        write_row(self);
        return;
    }
    if (import->step == KW_IMPORT_END)
        add_put(self, KW_CATALOG_IMPORTING, KW_BYTES_NONE);
    if (self->puts_count > 0)
        put_facts(self);
    else
        finish(self, NULL);
}

/* The version that becomes current must have its row. */
static void
on_version(void *user, const kw_version *version, const kw_error *error)
{
    importing *self = user;
    (void)version;
    if (error)
        finish(self, error);
    else
        write_next_row(self);
}

static void
check_version(importing *self)
{
    const kw_catalog_import *import = self->import;
    kw_version_name name = {0};
    kw_error ignored;
    for (size_t i = 0; i < import->count; i++)
        if (is_facts(&import->cells[i]) && kw_bytes_equal(import->cells[i].column, KW_CATALOG_POLICY))
            kw_version_parse(import->cells[i].value, &name, &ignored);
    if (name.number > 0)
        kw_catalog_read_version(self->catalog, &name, self->deadline, on_version, self);
    else
        write_next_row(self);
}

static bool
take_state(importing *self, const kw_row *row, kw_error *ret_error)
{
    kw_bytes begun = KW_BYTES_NONE;
    for (uint32_t i = 0; i < row->cells_count; i++) {
        const kw_cell *cell = &row->cells[i];
        self->newest_ms = MAX(self->newest_ms, cell->timestamp);
        if (kw_bytes_equal(cell->qualifier, KW_CATALOG_ID))
            self->id = kw_arena_text(self->arena, cell->value);
        else if (kw_bytes_equal(cell->qualifier, KW_CATALOG_IMPORTING))
            begun = cell->value;
    }
    return kw_bytes_equal(begun, kw_bytes_of_text(self->import->export_id)) ||
           kw_error_set(ret_error, KW_BUSY,
                        "this import has not begun, or has ended; run the import from its beginning");
}

static void
on_state(void *user, kw_rows *rows, const kw_error *error)
{
    importing *self = user;
    kw_error found = error ? *error : KW_ERROR_NONE;
    bool good = !error && take_state(self, &rows->rows[0], &found);
    kw_rows_free(rows);
    if (good)
        check_version(self);
    else
        finish(self, &found);
}

static void
read_state(importing *self)
{
    static const kw_column columns[] = {
        {.family = KW_BYTES_LITERAL("d"), .qualifier = KW_BYTES_LITERAL("id")},
        {.family = KW_BYTES_LITERAL("d"), .qualifier = KW_BYTES_LITERAL("importing")}};
    self->get = (kw_get){.table = self->catalog->table,
                         .row = KW_CATALOG_FACTS_ROW,
                         .columns = columns,
                         .columns_count = G_N_ELEMENTS(columns),
                         .max_versions = 1,
                         .deadline = self->deadline};
    kw_store_handle_get(self->catalog->settings.handle, &self->get, on_state, self);
}

void
kw_catalog_import_cells(kw_catalog *catalog, const kw_catalog_import *import, kw_deadline deadline,
                        kw_simple_done done, void *user)
{
    kw_arena *arena = kw_arena_new();
    importing *self = KW_ARENA_NEW(arena, importing);
    kw_error error;
    *self = (importing){.catalog = catalog,
                        .import = import,
                        .arena = arena,
                        .deadline = deadline,
                        .id = "",
                        .puts = KW_ARENA_ARRAY(arena, kw_cell, import->count + 2),
                        .done = done,
                        .user = user};
    if (!kw_import_check(import, arena, &error))
        finish(self, &error);
    else if (import->step == KW_IMPORT_BEGIN)
        kw_catalog_create(catalog, arena, deadline, on_created, self);
    else
        read_state(self);
}
