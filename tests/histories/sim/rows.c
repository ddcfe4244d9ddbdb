/* See rows.h: tables, rows and their cells. */
#include "histories/sim/rows_internal.h"

#include "base/clock.h"

#include <string.h>

static gint
compare_keys(gconstpointer a, gconstpointer b, gpointer user)
{
    (void)user;
    return kw_bytes_compare(sim_bytes((GBytes *)a), sim_bytes((GBytes *)b));
}

static void
cell_free(gpointer data)
{
    sim_cell *cell = data;
    g_bytes_unref(cell->family);
    g_bytes_unref(cell->qualifier);
    g_bytes_unref(cell->value);
    g_free(cell);
}

static void
row_free(gpointer data)
{
    sim_row *row = data;
    g_bytes_unref(row->key);
    g_ptr_array_unref(row->cells);
    g_free(row);
}

static void
table_free(gpointer data)
{
    sim_table *table = data;
    g_ptr_array_unref(table->families);
    g_ptr_array_unref(table->descriptors);
    g_array_unref(table->limits);
    g_tree_unref(table->rows);
    g_free(table);
}

sim_rows *
sim_rows_new(void)
{
    sim_rows *rows = g_new0(sim_rows, 1);
    rows->tables = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, table_free);
    rows->scanners = g_ptr_array_new();
    rows->ties = g_string_new(NULL);
    return rows;
}

void
sim_rows_free(sim_rows *rows)
{
    for (guint i = 0; i < rows->scanners->len; i++)
        if (rows->scanners->pdata[i])
            sim_scanner_free(rows->scanners->pdata[i]);
    g_ptr_array_unref(rows->scanners);
    g_hash_table_unref(rows->tables);
    g_string_free(rows->ties, TRUE);
    g_free(rows);
}

void
sim_rows_set_clock(sim_rows *rows, sim_region region, int64_t offset_ms)
{
    rows->clock_ms[region] = offset_ms;
}

int64_t
sim_now_ms(const sim_rows *rows, const sim_table *table)
{
    return kw_clock_wall_ms() + rows->clock_ms[table->region];
}

sim_table *
sim_find_table(sim_rows *rows, kw_bytes name)
{
    g_autofree char *text = g_strndup((const char *)name.data, name.size);
    return g_hash_table_lookup(rows->tables, text);
}

bool
sim_has_family(const sim_table *table, kw_bytes family)
{
    for (guint i = 0; i < table->families->len; i++)
        if (kw_bytes_equal(sim_bytes(table->families->pdata[i]), family))
            return true;
    return false;
}

/* --- rows ------------------------------------------------------------------------------------- */

sim_row *
sim_find_row(const sim_table *table, kw_bytes key)
{
    g_autoptr(GBytes) like = sim_copy(key);
    return g_tree_lookup(table->rows, like);
}

sim_row *
sim_make_row(sim_table *table, kw_bytes key)
{
    sim_row *row = sim_find_row(table, key);
    if (row)
        return row;
    row = g_new0(sim_row, 1);
    row->table = table;
    row->key = sim_copy(key);
    row->cells = g_ptr_array_new_with_free_func(cell_free);
    g_tree_insert(table->rows, row->key, row);
    return row;
}

static const sim_limits *
limits_of(const sim_row *row, GBytes *family)
{
    const sim_table *table = row->table;
    for (guint i = 0; i < table->families->len; i++)
        if (g_bytes_equal(table->families->pdata[i], family))
            return &g_array_index(table->limits, sim_limits, i);
    g_assert_not_reached();
}

/* True if `by` makes `cell` invisible to every later read: a newer version of the cell, or a marker that
 * reaches as far. (Families with such rows keep one version.) */
static bool
replaces(const sim_cell *by, const sim_cell *cell)
{
    if (by->kind != cell->kind || by == cell || !g_bytes_equal(by->family, cell->family) ||
        !g_bytes_equal(by->qualifier, cell->qualifier))
        return false;
    return by->timestamp > cell->timestamp ||
           (by->timestamp == cell->timestamp && by->sequence > cell->sequence);
}

#define CELLS_MANY 32

/* The last cell is new. Drops the cells that it replaces, or itself if another one replaces it. One pass,
 * because a row of heartbeats has eight cells of every gateway that ever ran. */
static void
drop_superfluous(sim_row *row)
{
    const sim_cell *added = row->cells->pdata[row->cells->len - 1];
    bool superfluous = false;
    if (limits_of(row, added->family)->versions > 1)
        return;
    for (guint i = 0; i + 1 < row->cells->len;) {
        superfluous = superfluous || replaces(row->cells->pdata[i], added);
        if (replaces(added, row->cells->pdata[i]))
            g_ptr_array_remove_index(row->cells, i);
        else
            i++;
    }
    if (superfluous)
        g_ptr_array_remove_index(row->cells, row->cells->len - 1);
}

void
sim_add_cell(sim_rows *rows, sim_row *row, sim_cell cell)
{
    cell.sequence = ++rows->sequence;
    sim_note_ties(rows, row, &cell);
    g_ptr_array_add(row->cells, g_memdup2(&cell, sizeof cell));
    if (row->cells->len > CELLS_MANY)
        drop_superfluous(row);
}

/* --- what is visible -------------------------------------------------------------------------- */

static bool
hides(const sim_cell *marker, const sim_cell *cell)
{
    if (marker->kind == SIM_PUT || marker->timestamp < cell->timestamp ||
        !g_bytes_equal(marker->family, cell->family))
        return false;
    if (marker->kind == SIM_DELETE_VERSION && marker->timestamp != cell->timestamp)
        return false;
    return marker->kind == SIM_DELETE_FAMILY || g_bytes_equal(marker->qualifier, cell->qualifier);
}

static bool
has_markers(const sim_row *row)
{
    for (guint i = 0; i < row->cells->len; i++)
        if (((const sim_cell *)row->cells->pdata[i])->kind != SIM_PUT)
            return true;
    return false;
}

static bool
is_hidden(const sim_row *row, const sim_cell *cell, bool marked, int64_t now_ms)
{
    if (cell->ttl_ms && cell->timestamp + cell->ttl_ms < now_ms)
        return true;
    for (guint i = 0; marked && i < row->cells->len; i++)
        if (hides(row->cells->pdata[i], cell))
            return true;
    return false;
}

static bool
is_asked(const sim_asked *asked, const sim_cell *cell)
{
    if ((asked->from || asked->to) && (cell->timestamp < asked->from || cell->timestamp >= asked->to))
        return false;
    for (uint32_t i = 0; i < asked->columns_count; i++) {
        const kw_hb_TColumn *column = &asked->columns[i];
        if (kw_bytes_equal(column->family, sim_bytes(cell->family)) &&
            (!column->has_qualifier || kw_bytes_equal(column->qualifier, sim_bytes(cell->qualifier))))
            return true;
    }
    return !asked->has_columns;
}

/* HBase's order; of cells with one timestamp the later write is first. */
static gint
compare_cells(gconstpointer a, gconstpointer b)
{
    const sim_cell *one = *(sim_cell *const *)a, *other = *(sim_cell *const *)b;
    int order = kw_bytes_compare(sim_bytes(one->family), sim_bytes(other->family));
    if (order == 0)
        order = kw_bytes_compare(sim_bytes(one->qualifier), sim_bytes(other->qualifier));
    if (order == 0 && one->timestamp != other->timestamp)
        order = one->timestamp > other->timestamp ? -1 : 1;
    if (order == 0)
        order = one->sequence > other->sequence ? -1 : 1;
    return order;
}

static bool
same_column(const sim_cell *a, const sim_cell *b)
{
    return g_bytes_equal(a->family, b->family) && g_bytes_equal(a->qualifier, b->qualifier);
}

/* True if the family keeps this version of the cell. */
static bool
is_kept(const sim_row *row, const sim_cell *cell, int32_t version, int64_t now_ms)
{
    const sim_limits *limits = limits_of(row, cell->family);
    bool expired = limits->ttl_ms && cell->timestamp + limits->ttl_ms < now_ms;
    return (!limits->versions || version <= limits->versions) && (!expired || version <= limits->least);
}

kw_cell *
sim_read(const sim_row *row, const sim_asked *asked, int64_t now_ms, kw_arena *arena, size_t *ret_count)
{
    g_autoptr(GPtrArray) seen = g_ptr_array_new();
    bool marked = has_markers(row);
    for (guint i = 0; i < row->cells->len; i++) {
        sim_cell *cell = row->cells->pdata[i];
        if (cell->kind == SIM_PUT && is_asked(asked, cell) && !is_hidden(row, cell, marked, now_ms))
            g_ptr_array_add(seen, cell);
    }
    g_ptr_array_sort(seen, compare_cells);
    kw_cell *cells = KW_ARENA_ARRAY(arena, kw_cell, seen->len);
    int32_t versions = 0; /* of the column, so far */
    *ret_count = 0;
    for (guint i = 0; i < seen->len; i++) {
        const sim_cell *cell = seen->pdata[i], *before = i ? seen->pdata[i - 1] : NULL;
        bool same = before && same_column(cell, before);
        if (same && cell->timestamp == before->timestamp)
            continue;
        versions = same ? versions + 1 : 1;
        if (versions > MAX(asked->versions, 1) || !is_kept(row, cell, versions, now_ms))
            continue;
        cells[(*ret_count)++] = (kw_cell){.family = kw_arena_copy(arena, sim_bytes(cell->family)),
                                          .qualifier = kw_arena_copy(arena, sim_bytes(cell->qualifier)),
                                          .value = kw_arena_copy(arena, sim_bytes(cell->value)),
                                          .timestamp = cell->timestamp};
    }
    return cells;
}

bool
sim_newest(const sim_row *row, kw_bytes family, kw_bytes qualifier, int64_t now_ms, kw_arena *arena,
           kw_cell *ret_cell)
{
    kw_hb_TColumn column = {.family = family, .has_qualifier = true, .qualifier = qualifier};
    sim_asked asked = {.columns = &column, .columns_count = 1, .has_columns = true, .versions = 1};
    size_t count = 0;
    kw_cell *cells = row ? sim_read(row, &asked, now_ms, arena, &count) : NULL;
    if (count)
        *ret_cell = cells[0];
    return count > 0;
}

/* --- compactions ------------------------------------------------------------------------------ */

typedef struct purging {
    int64_t now_ms;
    int64_t markers_ms; /* the most for which markers are kept */
} purging;

/* As in HBase: a marker that is kept hides later puts, and the cells that it hides now are dropped anyway. */
static bool
is_purged(const purging *self, const sim_row *row, const sim_cell *cell, bool marked)
{
    if (cell->kind == SIM_PUT)
        return is_hidden(row, cell, marked, self->now_ms);
    int64_t kept_ms = MIN(limits_of(row, cell->family)->markers_ms, self->markers_ms);
    return kept_ms == 0 || self->now_ms - cell->timestamp > kept_ms;
}

static gboolean
purge_row(gpointer key, gpointer value, gpointer user)
{
    sim_row *row = value;
    GPtrArray *kept = g_ptr_array_new_with_free_func(cell_free);
    bool marked = has_markers(row);
    (void)key;
    for (guint i = 0; i < row->cells->len; i++) {
        sim_cell *cell = row->cells->pdata[i];
        if (!is_purged(user, row, cell, marked)) {
            g_ptr_array_add(kept, g_memdup2(cell, sizeof *cell));
            g_bytes_ref(cell->family);
            g_bytes_ref(cell->qualifier);
            g_bytes_ref(cell->value);
        }
    }
    g_ptr_array_unref(row->cells);
    row->cells = kept;
    return FALSE;
}

void
sim_rows_purge(sim_rows *rows, int64_t markers_ms)
{
    GHashTableIter iter;
    gpointer table;
    g_hash_table_iter_init(&iter, rows->tables);
    while (g_hash_table_iter_next(&iter, NULL, &table)) {
        purging how = {sim_now_ms(rows, table), markers_ms};
        g_tree_foreach(((sim_table *)table)->rows, purge_row, &how);
    }
}

/* --- tables ----------------------------------------------------------------------------------- */

/* Most that one decoded descriptor of a family can need. */
#define DESCRIPTOR_BYTES_MAX ((size_t)1 << 20)

static char *
name_of(const kw_hb_TTableName *name)
{
    if (name->has_ns && !kw_bytes_equal(name->ns, KW_BYTES_LITERAL("default")))
        return g_strdup_printf("%.*s:%.*s", (int)name->ns.size, (const char *)name->ns.data,
                               (int)name->qualifier.size, (const char *)name->qualifier.data);
    return g_strndup((const char *)name->qualifier.data, name->qualifier.size);
}

static int64_t
markers_ms(const kw_hb_TColumnFamilyDescriptor *family)
{
    for (uint32_t i = 0; i < family->configuration.count; i++) {
        kw_bytes value = family->configuration.items[i].value;
        g_autofree char *text = g_strndup((const char *)value.data, value.size);
        if (kw_bytes_equal(family->configuration.items[i].key,
                           KW_BYTES_LITERAL("hbase.hstore.time.to.purge.deletes")))
            return g_ascii_strtoll(text, NULL, 10);
    }
    return 0;
}

static void
add_family(sim_table *table, const kw_hb_TColumnFamilyDescriptor *family)
{
    bool expires = family->has_timeToLive && family->timeToLive != INT32_MAX;
    sim_limits limits = {.versions = family->has_maxVersions ? family->maxVersions : 0,
                         .least = family->has_minVersions ? family->minVersions : 0,
                         .ttl_ms = expires ? (int64_t)family->timeToLive * 1000 : 0,
                         .markers_ms = markers_ms(family)};
    kw_buffer encoded = KW_BUFFER_EMPTY;
    kw_wire_struct_encode(&encoded, KW_WIRE_COMPACT, &kw_hb_TColumnFamilyDescriptor_wire, family);
    g_ptr_array_add(table->descriptors, sim_copy(kw_buffer_bytes(&encoded)));
    kw_buffer_clear(&encoded);
    g_ptr_array_add(table->families, sim_copy(family->name));
    g_array_append_val(table->limits, limits);
}

void
sim_create_table(sim_rows *rows, const kw_hb_TTableDescriptor *descriptor)
{
    char *name = name_of(descriptor->tableName);
    sim_table *table = g_new0(sim_table, 1);
    table->families = g_ptr_array_new_with_free_func((GDestroyNotify)g_bytes_unref);
    table->descriptors = g_ptr_array_new_with_free_func((GDestroyNotify)g_bytes_unref);
    table->rows = g_tree_new_full(compare_keys, NULL, NULL, row_free);
    table->region = strcmp(name, "keyway_clock") == 0 ? SIM_CLOCK : SIM_DATA;
    table->limits = g_array_new(FALSE, FALSE, sizeof(sim_limits));
    for (uint32_t i = 0; i < descriptor->columns.count; i++)
        add_family(table, &descriptor->columns.items[i]);
    if (g_hash_table_contains(rows->tables, name)) {
        table_free(table);
        g_free(name);
    } else {
        g_hash_table_insert(rows->tables, name, table);
    }
}

void
sim_describe(const sim_table *table, kw_arena *arena, kw_hb_TTableDescriptor *ret_descriptor)
{
    const kw_wire_limits limits = {.decoded_bytes = DESCRIPTOR_BYTES_MAX, .depth = KW_WIRE_DEPTH_DEFAULT};
    guint count = table->descriptors->len;
    ret_descriptor->has_columns = true;
    ret_descriptor->columns.count = count;
    ret_descriptor->columns.items = KW_ARENA_ARRAY(arena, kw_hb_TColumnFamilyDescriptor, count);
    for (guint i = 0; i < count; i++) {
        kw_error error;
        if (!kw_wire_struct_decode(&kw_hb_TColumnFamilyDescriptor_wire, KW_WIRE_COMPACT,
                                   sim_bytes(table->descriptors->pdata[i]), limits, arena,
                                   &ret_descriptor->columns.items[i], &error))
            g_error("%s", error.text);
    }
}

sim_table *
sim_table_named(sim_rows *rows, const kw_hb_TTableName *name)
{
    g_autofree char *text = name_of(name);
    return g_hash_table_lookup(rows->tables, text);
}

void
sim_drop_table(sim_rows *rows, const kw_hb_TTableName *name)
{
    g_autofree char *text = name_of(name);
    g_hash_table_remove(rows->tables, text);
}
