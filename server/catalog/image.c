/* See image.h. Reads the table with one range scan, which stops before the texts of policies. */
#include "catalog/image.h"

#include "base/metrics.h"
#include "store/check.h"

#define ROWS_PER_FETCH 1000
#define BYTES_PER_FETCH ((size_t)4 * 1024 * 1024)
/* The table is Keyway's, but other programs can write to it: limits what a start reads of it. */
#define BYTES_MAX ((size_t)256 * 1024 * 1024)

typedef struct reading {
    kw_range_scan *scan;
    kw_deadline deadline;
    kw_catalog_image *image;
    GArray *tables;   /* kw_facts * */
    GArray *created;  /* const char * */
    GArray *zones;    /* kw_zone_text */
    GArray *gateways; /* kw_registration */
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

bool
kw_catalog_image_check_whole(const kw_catalog_image *image, kw_error *ret_error)
{
    return !image->importing[0] ||
           kw_error_set(ret_error, KW_UNAVAILABLE,
                        "an export is being imported into the catalog; run keyway catalog import to its end");
}

bool
kw_catalog_image_is_created(const kw_catalog_image *image, const char *store_table)
{
    for (size_t i = 0; i < image->created_count; i++)
        if (g_str_equal(image->created[i], store_table))
            return true;
    return false;
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

/* "" if the cell is absent. */
static const char *
cell_text(const kw_row *row, const char *qualifier, kw_arena *arena)
{
    const kw_cell *cell = find_cell(row, qualifier);
    return cell ? kw_arena_text(arena, cell->value) : "";
}

static bool
add_table(reading *self, const kw_cell *cell, kw_error *ret_error)
{
    static const kw_bytes prefix = {(const uint8_t *)KW_CATALOG_TABLE_PREFIX,
                                    strlen(KW_CATALOG_TABLE_PREFIX)};
    kw_bytes name = kw_bytes_skip(cell->qualifier, prefix.size);
    kw_facts *facts;
    if (!kw_facts_parse(cell->value, self->image->arena, &facts, ret_error))
        return kw_error_prefix(ret_error, "table %s", kw_show(name).text);
    if (!kw_bytes_equal(kw_bytes_of_text(facts->table), name))
        return kw_error_set(ret_error, KW_CORRUPT, "table %s: its facts name another table, %s",
                            kw_show(name).text, facts->table);
    g_array_append_val(self->tables, facts);
    return true;
}

static void
add_created(reading *self, kw_bytes store_table)
{
    const char *name = kw_arena_text(self->image->arena, store_table);
    g_array_append_val(self->created, name);
}

static void
add_zone(reading *self, const kw_cell *cell)
{
    kw_arena *arena = self->image->arena;
    kw_bytes key = kw_bytes_skip(cell->qualifier, strlen(KW_CATALOG_ZONE_PREFIX));
    kw_zone_text zone = {kw_arena_text(arena, key), kw_arena_text(arena, cell->value)};
    g_array_append_val(self->zones, zone);
}

bool
kw_catalog_check_timestamp(const kw_cell *cell, kw_error *ret_error)
{
    if (kw_plausible_is_time(cell->timestamp))
        return true;
    kw_metrics_add(KW_METRIC_store_times_rejected, 1);
    return kw_error_set(ret_error, KW_CORRUPT,
                        "the cell %s of the catalog has the timestamp %lld, which no clock can have",
                        kw_show(cell->qualifier).text, (long long)cell->timestamp);
}

static bool
add_tables(reading *self, const kw_row *row, kw_error *ret_error)
{
    kw_catalog_image *image = self->image;
    kw_bytes table = KW_BYTES_LITERAL(KW_CATALOG_TABLE_PREFIX);
    kw_bytes created = KW_BYTES_LITERAL(KW_CATALOG_CREATED_PREFIX);
    kw_bytes zone = KW_BYTES_LITERAL(KW_CATALOG_ZONE_PREFIX);
    const kw_cell *version = find_cell(row, "policy"), *changes = find_cell(row, "changes");
    image->id = cell_text(row, "id", image->arena);
    image->importing = cell_text(row, "importing", image->arena);
    if (version && !kw_version_parse(version->value, &image->version, ret_error))
        return false;
    if (changes &&
        !kw_changes_parse(changes->value, image->arena, &image->changes, &image->changes_count, ret_error))
        return false;
    for (uint32_t i = 0; i < row->cells_count; i++) {
        const kw_cell *cell = &row->cells[i];
        if (!kw_catalog_check_timestamp(cell, ret_error))
            return false;
        image->newest_ms = MAX(image->newest_ms, cell->timestamp);
        if (kw_bytes_starts_with(cell->qualifier, created))
            add_created(self, kw_bytes_skip(cell->qualifier, created.size));
        if (kw_bytes_starts_with(cell->qualifier, zone))
            add_zone(self, cell);
        if (kw_bytes_starts_with(cell->qualifier, table) && cell->value.size > 0 &&
            !add_table(self, cell, ret_error))
            return false;
    }
    return true;
}

/* Does not read the content of a registration with another protocol; a damaged registration counts as one
 * with another protocol. */
static void
add_gateway(reading *self, const kw_row *row, const char *instance)
{
    kw_arena *arena = self->image->arena;
    const kw_cell *lease = find_cell(row, "lease"), *says = find_cell(row, "says");
    kw_registration one = {.instance = instance,
                           .id = cell_text(row, "id", arena),
                           .protocol = g_ascii_strtoll(cell_text(row, "protocol", arena), NULL, 10)};
    if (!lease || !one.id[0])
        return; /* not written by a gateway */
    one.lease = kw_arena_copy(arena, lease->value);
    one.lease_at_ms =
        kw_catalog_check_timestamp(lease, NULL) ? lease->timestamp : KW_CATALOG_LEASE_UNKNOWN_MS;
    if (one.protocol == KW_CATALOG_PROTOCOL && (!says || !kw_registration_parse(says->value, arena, &one)))
        one.protocol = -1;
    g_array_append_val(self->gateways, one);
}

static bool
add_row(reading *self, const kw_row *row, kw_error *ret_error)
{
    kw_arena *arena = self->image->arena;
    self->bytes += row->key.size;
    if (kw_bytes_equal(row->key, KW_CATALOG_FACTS_ROW))
        return add_tables(self, row, ret_error);
    const char *key = kw_arena_text(arena, row->key);
    if (g_str_has_prefix(key, KW_CATALOG_GATEWAY_PREFIX)) {
        add_gateway(self, row, key + strlen(KW_CATALOG_GATEWAY_PREFIX));
        return true;
    }
    return true;
}

/* --- the scan -------------------------------------------------------------------------------------- */

/* Copies the array's elements to the arena and frees the array. */
static void *
move_array(GArray *from, kw_arena *arena, size_t *ret_count)
{
    gsize count, size = g_array_get_element_size(from);
    g_autofree char *data = g_array_steal(from, &count);
    void *moved = kw_arena_alloc0(arena, count * size);
    if (count)
        memcpy(moved, data, count * size);
    g_array_unref(from);
    *ret_count = count;
    return moved;
}

static void
finish(reading *self, const kw_error *error)
{
    kw_catalog_image *image = self->image;
    kw_arena *arena = image->arena;
    image->tables = move_array(self->tables, arena, &image->tables_count);
    image->created = move_array(self->created, arena, &image->created_count);
    image->zones = move_array(self->zones, arena, &image->zones_count);
    image->gateways = move_array(self->gateways, arena, &image->gateways_count);
    kw_catalog_read_done done = self->done;
    void *user = self->user;
    kw_range_scan_close(self->scan);
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
    kw_range_scan_fetch(self->scan, ROWS_PER_FETCH, BYTES_PER_FETCH, false, self->deadline, fetched, self);
}

static void
read_rows(kw_store_handle *handle, kw_range_scan_spec rows, kw_deadline deadline, kw_catalog_read_done done,
          void *user)
{
    kw_arena *arena = kw_arena_new();
    reading *self = g_new0(reading, 1);
    *self = (reading){.deadline = deadline,
                      .image = KW_ARENA_NEW(arena, kw_catalog_image),
                      .tables = g_array_new(FALSE, FALSE, sizeof(kw_facts *)),
                      .created = g_array_new(FALSE, FALSE, sizeof(const char *)),
                      .zones = g_array_new(FALSE, FALSE, sizeof(kw_zone_text)),
                      .gateways = g_array_new(FALSE, FALSE, sizeof(kw_registration)),
                      .done = done,
                      .user = user};
    *self->image = (kw_catalog_image){.arena = arena, .id = "", .importing = ""};
    self->scan = kw_store_handle_open_range_scan(handle, &rows);
    fetch(self);
}

void
kw_catalog_read(kw_store_handle *handle, kw_bytes table, kw_deadline deadline, kw_catalog_read_done done,
                void *user)
{
    read_rows(handle,
              (kw_range_scan_spec){.table = table, .stop = KW_BYTES_LITERAL(KW_CATALOG_POLICY_PREFIX)},
              deadline, done, user);
}

void
kw_catalog_read_gateways(kw_store_handle *handle, kw_bytes table, kw_deadline deadline,
                         kw_catalog_read_done done, void *user)
{
    read_rows(handle,
              (kw_range_scan_spec){.table = table,
                                   .start = KW_BYTES_LITERAL(KW_CATALOG_GATEWAY_PREFIX),
                                   .stop = KW_BYTES_LITERAL(KW_CATALOG_GATEWAY_STOP)},
              deadline, done, user);
}
