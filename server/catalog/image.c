/* See image.h. One range scan over the whole table, row by row. */
#include "catalog/image.h"

#define ROWS_PER_FETCH 1000
#define BYTES_PER_FETCH ((size_t)4 * 1024 * 1024)
/* The table is ours, but others may write there: what a start reads of it is bounded. */
#define BYTES_MAX ((size_t)256 * 1024 * 1024)

typedef struct reading {
    kw_run *run;
    kw_deadline deadline;
    kw_catalog_image *image;
    GPtrArray *tables; /* kw_facts */
    GArray *gateways;  /* kw_registration */
    GArray *legacy;    /* kw_legacy_row */
    size_t bytes;
    kw_catalog_read_done done;
    void *user;
} reading;

void
kw_catalog_image_free(kw_catalog_image *image)
{
    if (image)
        kw_arena_free(image->arena);
}

const kw_facts *
kw_catalog_image_table(const kw_catalog_image *image, const char *name)
{
    for (size_t i = 0; i < image->tables_count; i++)
        if (g_str_equal(image->tables[i]->table, name))
            return image->tables[i];
    return NULL;
}

const kw_registration *
kw_catalog_image_gateway(const kw_catalog_image *image, const char *id)
{
    for (size_t i = 0; i < image->gateways_count; i++)
        if (g_str_equal(image->gateways[i].id, id))
            return &image->gateways[i];
    return NULL;
}

/* --- rows ------------------------------------------------------------------------------------------ */

static const kw_cell *
find_cell(const kw_row *row, const char *qualifier)
{
    for (uint32_t i = 0; i < row->cells_count; i++)
        if (kw_bytes_equal(row->cells[i].family, KW_CATALOG_FAMILY) &&
            kw_bytes_equal(row->cells[i].qualifier, kw_bytes_of_text(qualifier)))
            return &row->cells[i];
    return NULL;
}

/* "" when the cell is absent. */
static const char *
cell_text(const kw_row *row, const char *qualifier, kw_arena *arena)
{
    const kw_cell *cell = find_cell(row, qualifier);
    return cell ? kw_arena_text(arena, cell->value) : "";
}

static bool
add_tables(reading *self, const kw_row *row, kw_error *ret_error)
{
    kw_catalog_image *image = self->image;
    kw_bytes prefix = KW_BYTES_LITERAL(KW_CATALOG_TABLE_PREFIX);
    image->id = cell_text(row, "id", image->arena);
    for (uint32_t i = 0; i < row->cells_count; i++) {
        const kw_cell *cell = &row->cells[i];
        kw_facts *facts;
        image->newest_ms = MAX(image->newest_ms, cell->timestamp);
        if (!kw_bytes_starts_with(cell->qualifier, prefix) || cell->value.size == 0)
            continue;
        if (!kw_facts_parse(cell->value, image->arena, &facts, ret_error))
            return false;
        g_ptr_array_add(self->tables, facts);
    }
    return true;
}

static bool
add_gateway(reading *self, const kw_row *row, const char *id, kw_error *ret_error)
{
    kw_arena *arena = self->image->arena;
    const kw_cell *lease = find_cell(row, "lease");
    const kw_cell *digests = find_cell(row, "digests");
    kw_registration one = {.id = id,
                           .instance = cell_text(row, "instance", arena),
                           .protocol = g_ascii_strtoll(cell_text(row, "protocol", arena), NULL, 10),
                           .lease = lease ? kw_arena_copy(arena, lease->value) : KW_BYTES_NONE,
                           .lease_at_ms = lease ? lease->timestamp : 0};
    if (digests && !kw_registration_parse(digests->value, arena, &one))
        return kw_error_set(ret_error, KW_CORRUPT, "the registration of gateway %s is damaged", id);
    if (one.instance[0])
        g_array_append_val(self->gateways, one);
    return true;
}

static bool
add_row(reading *self, const kw_row *row, kw_error *ret_error)
{
    kw_arena *arena = self->image->arena;
    self->bytes += row->key.size;
    if (kw_bytes_equal(row->key, KW_CATALOG_TABLES_ROW))
        return add_tables(self, row, ret_error);
    const char *key = kw_arena_text(arena, row->key);
    if (g_str_has_prefix(key, KW_CATALOG_GATEWAY_PREFIX))
        return add_gateway(self, row, key + strlen(KW_CATALOG_GATEWAY_PREFIX), ret_error);
    kw_legacy_row legacy = {.row = key,
                            .fingerprint = cell_text(row, "fingerprint", arena),
                            .description = cell_text(row, "description", arena)};
    if (legacy.fingerprint[0])
        g_array_append_val(self->legacy, legacy);
    return true;
}

/* --- the scan -------------------------------------------------------------------------------------- */

static void
finish(reading *self, const kw_error *error)
{
    kw_catalog_image *image = self->image;
    kw_arena *arena = image->arena;
    image->tables_count = self->tables->len;
    image->tables = KW_ARENA_ARRAY(arena, kw_facts *, self->tables->len);
    for (guint i = 0; i < self->tables->len; i++)
        image->tables[i] = self->tables->pdata[i];
    image->gateways_count = self->gateways->len;
    image->gateways = KW_ARENA_ARRAY(arena, kw_registration, self->gateways->len);
    if (self->gateways->len)
        memcpy(image->gateways, self->gateways->data, self->gateways->len * sizeof(kw_registration));
    image->legacy_count = self->legacy->len;
    image->legacy = KW_ARENA_ARRAY(arena, kw_legacy_row, self->legacy->len);
    if (self->legacy->len)
        memcpy(image->legacy, self->legacy->data, self->legacy->len * sizeof(kw_legacy_row));
    kw_catalog_read_done done = self->done;
    void *user = self->user;
    kw_run_close(self->run);
    g_ptr_array_unref(self->tables);
    g_array_unref(self->gateways);
    g_array_unref(self->legacy);
    g_free(self);
    if (error)
        g_clear_pointer(&image, kw_catalog_image_free);
    done(user, image, error);
}

static void fetch(reading *self);

static void
fetched(void *user, kw_rows *rows, const kw_error *error)
{
    reading *self = user;
    kw_error found = KW_ERROR_NONE;
    if (error) {
        finish(self, error->code == KW_NOT_FOUND ? NULL : error);
        return;
    }
    bool end = rows->end, good = true;
    self->bytes += rows->bytes;
    if (self->bytes > BYTES_MAX)
        good = kw_error_set(&found, KW_LIMIT, "it holds more than %zu MiB", BYTES_MAX >> 20);
    for (size_t i = 0; good && i < rows->count; i++)
        good = add_row(self, &rows->rows[i], &found);
    kw_rows_free(rows);
    if (!good || end)
        finish(self, good ? NULL : &found);
    else
        fetch(self);
}

static void
fetch(reading *self)
{
    kw_run_fetch(self->run, ROWS_PER_FETCH, BYTES_PER_FETCH, false, self->deadline, fetched, self);
}

void
kw_catalog_read(kw_door *door, kw_bytes table, kw_deadline deadline, kw_catalog_read_done done, void *user)
{
    kw_arena *arena = kw_arena_new();
    reading *self = g_new0(reading, 1);
    *self = (reading){.deadline = deadline,
                      .image = KW_ARENA_NEW(arena, kw_catalog_image),
                      .tables = g_ptr_array_new(),
                      .gateways = g_array_new(FALSE, FALSE, sizeof(kw_registration)),
                      .legacy = g_array_new(FALSE, FALSE, sizeof(kw_legacy_row)),
                      .done = done,
                      .user = user};
    *self->image = (kw_catalog_image){.arena = arena, .id = ""};
    self->run = kw_door_open_run(door, &(kw_run_spec){.table = table});
    fetch(self);
}
