/* One filter per compaction, on a background thread of RocksDB, which passes the keys in order. See
 * compaction.h for the rules. */
#include "store/embedded/compaction.h"

#include "store/embedded/key.h"

typedef struct compaction_filter {
    kw_embedded_tables *tables;
    int64_t now_ms;
    uint32_t table_id;      /* of the last entry; 0: none yet */
    bool table_known;       /* the list of tables says whether the table with this id exists */
    kw_stored_table *table; /* NULL: the table was dropped, or table_known is false */
    kw_buffer row;          /* row prefix of the last entry */
    int family;             /* of the last entry; -1: none yet */
    int64_t family_deleted; /* timestamp of the family's newest marker; -1: none */
    kw_buffer column;       /* escaped qualifier of the last entry, if in_column */
    bool in_column;
    int64_t column_deleted; /* timestamp of the column's newest marker; -1: none */
    int32_t versions;       /* puts of the column so far */
} compaction_filter;

static void
compaction_filter_free(void *opaque)
{
    compaction_filter *filter = opaque;
    kw_stored_table_unref(filter->table);
    kw_embedded_tables_unref(filter->tables);
    kw_buffer_clear(&filter->row);
    kw_buffer_clear(&filter->column);
    g_free(opaque);
}

static const char *
compaction_filter_name(void *unused)
{
    (void)unused;
    return "keyway.compaction";
}

static void
enter_table(compaction_filter *filter, uint32_t id)
{
    if (filter->table_id == id && filter->table_known)
        return;
    kw_stored_table_unref(filter->table);
    filter->table_id = id;
    filter->table_known = kw_embedded_tables_find_id(filter->tables, id, &filter->table);
}

static void
buffer_replace(kw_buffer *buffer, kw_bytes bytes)
{
    buffer->size = 0;
    kw_buffer_append(buffer, bytes);
}

static void
enter_column(compaction_filter *filter, kw_bytes row, const kw_key_cell *cell)
{
    if (!kw_bytes_equal(row, kw_buffer_bytes(&filter->row))) {
        buffer_replace(&filter->row, row);
        filter->family = -1;
    }
    if (filter->family != (int)cell->family) {
        filter->family = (int)cell->family;
        filter->family_deleted = -1;
        filter->in_column = false;
    }
    if (!cell->family_marker &&
        (!filter->in_column || !kw_bytes_equal(cell->qualifier, kw_buffer_bytes(&filter->column)))) {
        buffer_replace(&filter->column, cell->qualifier);
        filter->in_column = true;
        filter->column_deleted = -1;
        filter->versions = 0;
    }
}

static bool
is_hidden(const compaction_filter *filter, const kw_key_cell *cell)
{
    if (cell->family_marker)
        return filter->family_deleted >= 0;
    return cell->timestamp <= filter->family_deleted || cell->timestamp <= filter->column_deleted;
}

/* Call it after enter_column. */
static bool
should_drop_cell(compaction_filter *filter, const kw_key_cell *cell)
{
    const kw_stored_family *family = &filter->table->families[cell->family];
    if (family->ttl_ms && family->min_versions == 0 && cell->timestamp < filter->now_ms - family->ttl_ms)
        return true;
    if (!family->keep_deleted && is_hidden(filter, cell))
        return true;
    if (cell->family_marker)
        filter->family_deleted = cell->timestamp;
    else if (cell->kind == KW_KEY_DELETE)
        filter->column_deleted = cell->timestamp;
    else
        return filter->versions++ >= family->max_versions;
    return false;
}

static bool
should_drop_entry(compaction_filter *filter, kw_bytes key)
{
    size_t row_size = kw_key_row_size(key);
    uint32_t id = key.size >= 4 ? kw_be32_load(key.data) : 0;
    if (row_size == 0 || id == 0)
        return false;
    enter_table(filter, id);
    if (!filter->table_known)
        return false;
    if (!filter->table)
        return true;
    kw_key_cell cell;
    if (!kw_key_parse(kw_bytes_skip(key, row_size), &cell) || cell.family >= filter->table->families_count)
        return false;
    enter_column(filter, kw_bytes_of(key.data, row_size), &cell);
    return should_drop_cell(filter, &cell);
}

/* RocksDB's signature. This filter does not change values. */
static unsigned char
compaction_filter_run(void *opaque, int level, const char *key, size_t key_size, const char *value,
                      size_t value_size, char **new_value, size_t *new_size, unsigned char *changed)
{
    (void)level, (void)value, (void)value_size, (void)new_value, (void)new_size;
    *changed = 0;
    return should_drop_entry(opaque, kw_bytes_of(key, key_size));
}

static rocksdb_compactionfilter_t *
compaction_filter_new(void *tables, rocksdb_compactionfiltercontext_t *context)
{
    (void)context;
    compaction_filter *filter = g_new0(compaction_filter, 1);
    filter->tables = kw_embedded_tables_ref(tables);
    filter->now_ms = kw_clock_wall_ms();
    filter->family = -1;
    return rocksdb_compactionfilter_create(filter, compaction_filter_free, compaction_filter_run,
                                           compaction_filter_name);
}

static void
unref_tables(void *tables)
{
    kw_embedded_tables_unref(tables);
}

rocksdb_compactionfilterfactory_t *
kw_compaction_factory_new(kw_embedded_tables *tables)
{
    return rocksdb_compactionfilterfactory_create(kw_embedded_tables_ref(tables), unref_tables,
                                                  compaction_filter_new, compaction_filter_name);
}
