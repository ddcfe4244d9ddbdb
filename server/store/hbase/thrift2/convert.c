/* See convert.h. If a TDelete has columns, the Thrift2 handler uses deleteType and the timestamps of these
 * columns, and ignores the timestamp of the TDelete itself. A column without qualifier has an empty
 * qualifier, unless deleteType is for families. */
#include "store/hbase/thrift2/convert.h"

#include "base/metrics.h"
#include "store/check.h"

/* The size of HBase's KeyValue without row, family, qualifier and value: lengths, timestamp and type. */
#define KEY_VALUE_OVERHEAD 24
#define KEY_VALUE_MAX (10 * 1024 * 1024)
/* More than the field headers of a cell, a column or a mutation need in either protocol. */
#define WIRE_OVERHEAD 64

kw_hbase_shape
kw_hbase_shape_of(const kw_write *write)
{
    if (write->extra_cells_count)
        return KW_HBASE_SHAPE_MUTATIONS;
    if (write->kind == KW_WRITE_PUT)
        return write->markers_count ? KW_HBASE_SHAPE_MUTATIONS : KW_HBASE_SHAPE_PUT;
    size_t families = 0;
    for (size_t i = 0; i < write->columns_count; i++)
        families += write->columns[i].whole_family;
    return families && families < write->columns_count ? KW_HBASE_SHAPE_MUTATIONS : KW_HBASE_SHAPE_DELETE;
}

void
kw_hbase_to_put(kw_arena *arena, const kw_write *write, kw_durability durability, kw_hb_TPut *ret_put)
{
    kw_hb_TColumnValue *values = KW_ARENA_ARRAY(arena, kw_hb_TColumnValue, write->cells_count);
    for (size_t i = 0; i < write->cells_count; i++) {
        values[i].family = write->cells[i].family;
        values[i].qualifier = write->cells[i].qualifier;
        values[i].value = write->cells[i].value;
        values[i].has_timestamp = write->own_timestamps && write->cells[i].timestamp != KW_TIMESTAMP_NONE;
        values[i].timestamp = write->cells[i].timestamp;
    }
    *ret_put = (kw_hb_TPut){.row = write->row,
                            .columnValues = {.items = values, .count = (uint32_t)write->cells_count},
                            .has_timestamp = !write->own_timestamps && write->timestamp != KW_TIMESTAMP_NONE,
                            .timestamp = write->timestamp,
                            .has_durability = durability != KW_DURABILITY_DEFAULT,
                            .durability = (int32_t)durability};
}

/* A TDelete of the write's whole families, or of its other columns. */
static void
delete_some(kw_arena *arena, const kw_write *write, bool families, kw_durability durability,
            kw_hb_TDelete *ret_delete)
{
    bool stamped = write->timestamp != KW_TIMESTAMP_NONE;
    kw_hb_TColumn *columns = KW_ARENA_ARRAY(arena, kw_hb_TColumn, write->columns_count);
    uint32_t count = 0;
    for (size_t i = 0; i < write->columns_count; i++) {
        const kw_column *column = &write->columns[i];
        if (column->whole_family == families)
            columns[count++] = (kw_hb_TColumn){.family = column->family,
                                               .has_qualifier = !families,
                                               .qualifier = column->qualifier,
                                               .has_timestamp = stamped,
                                               .timestamp = write->timestamp};
    }
    *ret_delete = (kw_hb_TDelete){.row = write->row,
                                  .has_columns = count != 0,
                                  .columns = {.items = columns, .count = count},
                                  .has_timestamp = stamped && count == 0,
                                  .timestamp = write->timestamp,
                                  .has_deleteType = true,
                                  .deleteType = families ? KW_HB_TDeleteType_DELETE_FAMILY
                                                         : KW_HB_TDeleteType_DELETE_COLUMNS,
                                  .has_durability = durability != KW_DURABILITY_DEFAULT,
                                  .durability = (int32_t)durability};
}

void
kw_hbase_to_delete(kw_arena *arena, const kw_write *write, kw_durability durability,
                   kw_hb_TDelete *ret_delete)
{
    g_assert(kw_hbase_shape_of(write) == KW_HBASE_SHAPE_DELETE);
    bool families = write->columns_count && write->columns[0].whole_family;
    delete_some(arena, write, families, durability, ret_delete);
}

/* The attribute of a put for the time to live of its cells: 8 bytes, milliseconds. */
#define TTL_ATTRIBUTE "_ttl"

static void
set_ttl(kw_arena *arena, int64_t ttl_ms, kw_hb_TPut *put)
{
    uint8_t *ttl = kw_arena_alloc(arena, 8);
    kw_be64_store(ttl, (uint64_t)ttl_ms);
    put->has_attributes = true;
    put->attributes.count = 1;
    put->attributes.items = kw_arena_alloc(arena, sizeof *put->attributes.items);
    put->attributes.items[0].key = KW_BYTES_LITERAL(TTL_ATTRIBUTE);
    put->attributes.items[0].value = kw_bytes_of(ttl, 8);
}

static uint32_t
add_put(kw_hb_TMutation *mutations, uint32_t at, const kw_hb_TPut *put)
{
    mutations[at] = (kw_hb_TMutation){.has_put = true, .put = put};
    return at + 1;
}

/* Adds a put of these extra cells, if there are any. If ttl_ms is 0, they do not expire. */
static uint32_t
add_extra(kw_hb_TMutation *mutations, uint32_t at, kw_arena *arena, const kw_write *cells, int64_t ttl_ms,
          kw_durability durability)
{
    kw_hb_TPut *put = KW_ARENA_NEW(arena, kw_hb_TPut);
    if (cells->cells_count == 0)
        return at;
    kw_hbase_to_put(arena, cells, durability, put);
    if (ttl_ms)
        set_ttl(arena, ttl_ms, put);
    return add_put(mutations, at, put);
}

/* A put has one time to live, so the cells that expire and those that do not are put separately. */
static uint32_t
add_extras(kw_hb_TMutation *mutations, uint32_t at, kw_arena *arena, const kw_write *write,
           kw_durability durability)
{
    size_t count = write->extra_cells_count;
    size_t lasting = write->extra_cells_ttl_ms ? MIN(write->lasting_cells_count, count) : count;
    kw_write cells = {
        .row = write->row, .cells = write->extra_cells, .cells_count = lasting, .own_timestamps = true};
    at = add_extra(mutations, at, arena, &cells, 0, durability);
    cells.cells += lasting;
    cells.cells_count = count - lasting;
    return add_extra(mutations, at, arena, &cells, write->extra_cells_ttl_ms, durability);
}

static uint32_t
add_delete(kw_hb_TMutation *mutations, uint32_t at, const kw_hb_TDelete *removal)
{
    mutations[at] = (kw_hb_TMutation){.has_deleteSingle = true, .deleteSingle = removal};
    return at + 1;
}

/* One TDelete cannot have both columns and whole families. */
static uint32_t
add_deletes(kw_hb_TMutation *mutations, kw_arena *arena, const kw_write *write, kw_durability durability)
{
    uint32_t count = 0;
    size_t families = 0;
    for (size_t i = 0; i < write->columns_count; i++)
        families += write->columns[i].whole_family;
    for (int whole = 0; whole < 2; whole++) {
        bool any = whole ? families > 0 : families < write->columns_count || write->columns_count == 0;
        if (!any)
            continue;
        kw_hb_TDelete *removal = KW_ARENA_NEW(arena, kw_hb_TDelete);
        delete_some(arena, write, whole == 1, durability, removal);
        count = add_delete(mutations, count, removal);
    }
    return count;
}

static uint32_t
add_marker(kw_hb_TMutation *mutations, uint32_t at, kw_arena *arena, const kw_write *write,
           const kw_marker *marker, kw_durability durability)
{
    kw_hb_TDelete *removal = KW_ARENA_NEW(arena, kw_hb_TDelete);
    const kw_write one = {.row = write->row,
                          .columns = &marker->column,
                          .columns_count = !marker->whole_row,
                          .timestamp = marker->until_ms};
    delete_some(arena, &one, !marker->whole_row && marker->column.whole_family, durability, removal);
    return add_delete(mutations, at, removal);
}

const kw_hb_TRowMutations *
kw_hbase_to_mutations(kw_arena *arena, const kw_write *write, kw_durability durability)
{
    kw_hb_TMutation *mutations = KW_ARENA_ARRAY(arena, kw_hb_TMutation, 4 + write->markers_count);
    uint32_t count = 0;
    for (size_t i = 0; i < write->markers_count; i++)
        count = add_marker(mutations, count, arena, write, &write->markers[i], durability);
    if (write->kind == KW_WRITE_PUT && write->cells_count) {
        kw_hb_TPut *put = KW_ARENA_NEW(arena, kw_hb_TPut);
        kw_hbase_to_put(arena, write, durability, put);
        count = add_put(mutations, count, put);
    } else if (write->kind == KW_WRITE_DELETE) {
        count = add_deletes(mutations, arena, write, durability);
    }
    if (write->extra_cells_count)
        count = add_extras(mutations, count, arena, write, durability);
    kw_hb_TRowMutations *all = KW_ARENA_NEW(arena, kw_hb_TRowMutations);
    all->row = write->row;
    all->mutations.items = mutations;
    all->mutations.count = count;
    return all;
}

static size_t
cells_bytes(const kw_cell *cells, size_t count)
{
    size_t bytes = count * WIRE_OVERHEAD;
    for (size_t i = 0; i < count; i++)
        bytes += cells[i].family.size + cells[i].qualifier.size + cells[i].value.size;
    return bytes;
}

static size_t
column_bytes(const kw_column *column)
{
    return column->family.size + column->qualifier.size + WIRE_OVERHEAD;
}

/* The maximum number of mutations that kw_hbase_to_mutations makes of the write. Each contains the row key.
 */
static size_t
count_mutations(const kw_write *write)
{
    size_t deletes_or_puts = write->kind == KW_WRITE_DELETE ? 2 : 1;
    return write->markers_count + deletes_or_puts + (write->extra_cells_count ? 2 : 0);
}

size_t
kw_hbase_write_bytes(const kw_write *write)
{
    bool mutations = kw_hbase_shape_of(write) == KW_HBASE_SHAPE_MUTATIONS;
    size_t rows = 1 + (mutations ? count_mutations(write) : 0);
    size_t bytes = rows * (write->row.size + WIRE_OVERHEAD);
    if (write->kind == KW_WRITE_PUT)
        bytes += cells_bytes(write->cells, write->cells_count);
    for (size_t i = 0; write->kind == KW_WRITE_DELETE && i < write->columns_count; i++)
        bytes += column_bytes(&write->columns[i]);
    for (size_t i = 0; i < write->markers_count; i++)
        bytes += write->markers[i].whole_row ? 0 : column_bytes(&write->markers[i].column);
    return bytes + cells_bytes(write->extra_cells, write->extra_cells_count);
}

bool
kw_hbase_check_write(const kw_write *write, kw_error *ret_error)
{
    for (size_t i = 0; write->kind == KW_WRITE_PUT && i < write->cells_count; i++) {
        const kw_cell *cell = &write->cells[i];
        size_t size = KEY_VALUE_OVERHEAD + write->row.size + cell->family.size + cell->qualifier.size +
                      cell->value.size;
        if (size > KEY_VALUE_MAX)
            return kw_error_set(
                ret_error, KW_LIMIT,
                "table %s: column %s:%s: a value of %zu bytes is too large for the store, which "
                "accepts at most %d including row key and column name",
                kw_show(write->table).text, kw_show(cell->family).text, kw_show(cell->qualifier).text,
                cell->value.size, KEY_VALUE_MAX);
    }
    return true;
}

/* Families come last: HBase's Get and Scan return only f:q for "f, f:q", but all of f for "f:q, f". */
kw_hb_TColumn *
kw_hbase_to_columns(kw_arena *arena, const kw_column *columns, size_t count)
{
    kw_hb_TColumn *items = KW_ARENA_ARRAY(arena, kw_hb_TColumn, count);
    size_t at = 0;
    for (int families = 0; families < 2; families++) {
        for (size_t i = 0; i < count; i++) {
            if (columns[i].whole_family != (families == 1))
                continue;
            items[at].family = columns[i].family;
            items[at].has_qualifier = !families;
            items[at++].qualifier = columns[i].qualifier;
        }
    }
    return items;
}

void
kw_hbase_to_get(kw_arena *arena, const kw_get *get, kw_hb_TGet *ret_get)
{
    *ret_get = (kw_hb_TGet){.row = get->row,
                            .has_maxVersions = get->max_versions > 1,
                            .maxVersions = get->max_versions,
                            .has_filterString = get->filter.size != 0,
                            .filterString = get->filter,
                            .has_cacheBlocks = get->keep_blocks_out_of_cache};
    if (get->columns_count) {
        ret_get->has_columns = true;
        ret_get->columns.items = kw_hbase_to_columns(arena, get->columns, get->columns_count);
        ret_get->columns.count = (uint32_t)get->columns_count;
    }
    if (get->time_from || get->time_to) {
        kw_hb_TTimeRange *range = KW_ARENA_NEW(arena, kw_hb_TTimeRange);
        range->minStamp = get->time_from;
        range->maxStamp = get->time_to;
        ret_get->has_timeRange = true;
        ret_get->timeRange = range;
    }
}

/* A cell's timestamp takes part in arithmetic, which must not overflow. */
static bool
refuse_timestamp(kw_bytes table, const kw_hb_TResult *result, int64_t timestamp, kw_error *ret_error)
{
    kw_metrics_add(KW_METRIC_store_times_rejected, 1);
    return kw_error_set(ret_error, KW_CORRUPT,
                        "table %s, row %s: the store returned a cell with the timestamp %lld, which no cell "
                        "can have",
                        kw_show(table).text, kw_show(result->row).text, (long long)timestamp);
}

bool
kw_hbase_from_result(kw_rows *rows, kw_bytes table, const kw_hb_TResult *result, kw_row *ret_row,
                     kw_error *ret_error)
{
    uint32_t count = result->columnValues.count;
    kw_cell *cells = kw_arena_alloc(rows->arena, count * sizeof(kw_cell));
    rows->bytes += result->row.size;
    for (uint32_t i = 0; i < count; i++) {
        const kw_hb_TColumnValue *value = &result->columnValues.items[i];
        if (value->timestamp < 0 || value->timestamp == KW_TIMESTAMP_NONE)
            return refuse_timestamp(table, result, value->timestamp, ret_error);
        cells[i] = (kw_cell){.family = value->family,
                             .qualifier = value->qualifier,
                             .value = value->value,
                             .timestamp = value->timestamp};
        rows->bytes += value->qualifier.size + value->value.size;
    }
    *ret_row = (kw_row){.key = result->row, .cells = cells, .cells_count = count};
    return true;
}

void
kw_hbase_to_table_name(kw_bytes table, kw_hb_TTableName *ret_name)
{
    const uint8_t *colon = memchr(table.data, ':', table.size);
    size_t space = colon ? (size_t)(colon - table.data) : 0;
    *ret_name = (kw_hb_TTableName){.has_ns = colon != NULL,
                                   .ns = kw_bytes_of(table.data, space),
                                   .qualifier = colon ? kw_bytes_skip(table, space + 1) : table};
}

kw_cell *
kw_hbase_copy_cells(kw_arena *arena, const kw_cell *cells, size_t count)
{
    kw_cell *copies = KW_ARENA_ARRAY(arena, kw_cell, count);
    for (size_t i = 0; i < count; i++)
        copies[i] = (kw_cell){.family = kw_arena_copy(arena, cells[i].family),
                              .qualifier = kw_arena_copy(arena, cells[i].qualifier),
                              .value = kw_arena_copy(arena, cells[i].value),
                              .timestamp = cells[i].timestamp};
    return copies;
}

guint
kw_hbase_row_key_hash(gconstpointer key)
{
    const kw_hbase_row_key *row = key;
    uint64_t hash = kw_bytes_hash(row->row) ^ kw_bytes_hash(row->table) * 31;
    return (guint)(hash ^ hash >> 32);
}

gboolean
kw_hbase_row_key_equal(gconstpointer a, gconstpointer b)
{
    const kw_hbase_row_key *one = a, *other = b;
    return kw_bytes_equal(one->row, other->row) && kw_bytes_equal(one->table, other->table);
}

const kw_family_setting *
kw_hbase_find_setting(const kw_family_setting *settings, size_t count, kw_bytes name)
{
    const kw_family_setting *configured = NULL;
    for (size_t i = 0; i < count; i++) {
        if (!kw_bytes_equal(settings[i].name, name))
            continue;
        if (!settings[i].configures)
            return &settings[i];
        configured = &settings[i];
    }
    return configured;
}

void
kw_hbase_add_configuration(kw_arena *arena, kw_bytes name, kw_bytes value,
                           kw_hb_TColumnFamilyDescriptor *family)
{
    uint32_t count = family->configuration.count;
    size_t bytes = sizeof *family->configuration.items;
    void *items = kw_arena_alloc0(arena, (count + 1) * bytes);
    if (count)
        memcpy(items, family->configuration.items, count * bytes);
    family->has_configuration = true;
    family->configuration.items = items;
    family->configuration.items[count].key = name;
    family->configuration.items[count].value = value;
    family->configuration.count++;
}
