/* One filter per compaction, on RocksDB's background threads; keys come in order. */
#include "store/embedded/compaction.h"

#include "store/embedded/key.h"

typedef struct row_filter {
    kw_embedded_tables *catalog;
    int64_t now_ms;
    uint32_t table_id; /* whose table this is; 0: none yet */
    bool table_known;
    kw_stored_table *table;
    kw_buffer row;          /* prefix of the present row */
    int family;             /* of it; -1: none yet */
    int64_t family_deleted; /* its newest marker; -1: none */
    kw_buffer column;       /* escaped qualifier of the present column */
    bool in_column;
    int64_t column_deleted; /* its newest marker; -1: none */
    int32_t versions;       /* of it, seen so far */
} row_filter;

static void
row_filter_free(void *state)
{
    row_filter *own = state;
    kw_stored_table_unref(own->table);
    kw_embedded_tables_unref(own->catalog);
    kw_buffer_clear(&own->row);
    kw_buffer_clear(&own->column);
    g_free(own);
}

static const char *
row_filter_name(void *unused)
{
    (void)unused;
    return "keyway.sieve";
}

static void
enter_table(row_filter *own, uint32_t id)
{
    if (own->table_id == id && own->table_known)
        return;
    kw_stored_table_unref(own->table);
    own->table_id = id;
    own->table_known = kw_embedded_tables_find_id(own->catalog, id, &own->table);
}

static void
replace(kw_buffer *buffer, kw_bytes bytes)
{
    buffer->size = 0;
    kw_buffer_append(buffer, bytes);
}

static void
enter_place(row_filter *own, kw_bytes row, const kw_key_cell *cell)
{
    if (!kw_bytes_equal(row, kw_buffer_bytes(&own->row))) {
        replace(&own->row, row);
        own->family = -1;
    }
    if (own->family != (int)cell->family) {
        own->family = (int)cell->family;
        own->family_deleted = -1;
        own->in_column = false;
    }
    if (!cell->family_marker &&
        (!own->in_column || !kw_bytes_equal(cell->qualifier, kw_buffer_bytes(&own->column)))) {
        replace(&own->column, cell->qualifier);
        own->in_column = true;
        own->column_deleted = -1;
        own->versions = 0;
    }
}

static bool
is_hidden(const row_filter *own, const kw_key_cell *cell)
{
    if (cell->family_marker)
        return own->family_deleted >= 0;
    return cell->timestamp <= own->family_deleted || cell->timestamp <= own->column_deleted;
}

/* After enter_place. */
static bool
drops_cell(row_filter *own, const kw_key_cell *cell)
{
    const kw_stored_family *family = &own->table->families[cell->family];
    if (family->ttl_ms && family->min_versions == 0 && cell->timestamp < own->now_ms - family->ttl_ms)
        return true;
    if (!family->keep_deleted && is_hidden(own, cell))
        return true;
    if (cell->family_marker)
        own->family_deleted = cell->timestamp;
    else if (cell->kind == KW_KEY_DELETE)
        own->column_deleted = cell->timestamp;
    else
        return own->versions++ >= family->max_versions;
    return false;
}

static unsigned char
drops(void *state, int level, const char *key, size_t key_size, const char *value, size_t value_size,
      char **new_value, size_t *new_size, unsigned char *changed)
{
    (void)level, (void)value, (void)value_size, (void)new_value, (void)new_size;
    *changed = 0;
    row_filter *own = state;
    kw_bytes whole = kw_bytes_of(key, key_size);
    size_t row_size = kw_key_row_size(whole);
    uint32_t id = key_size >= 4 ? kw_be32_load(whole.data) : 0;
    if (row_size == 0 || id == 0)
        return 0;
    enter_table(own, id);
    if (!own->table_known)
        return 0;
    if (!own->table)
        return 1;
    kw_key_cell cell;
    if (!kw_key_parse(kw_bytes_skip(whole, row_size), &cell) || cell.family >= own->table->families_count)
        return 0;
    enter_place(own, kw_bytes_of(key, row_size), &cell);
    return drops_cell(own, &cell);
}

static rocksdb_compactionfilter_t *
make_row_filter(void *catalog, rocksdb_compactionfiltercontext_t *context)
{
    (void)context;
    row_filter *own = g_new0(row_filter, 1);
    own->catalog = kw_embedded_tables_ref(catalog);
    own->now_ms = kw_clock_wall_ms();
    own->family = -1;
    return rocksdb_compactionfilter_create(own, row_filter_free, drops, row_filter_name);
}

static void
drop_catalog(void *catalog)
{
    kw_embedded_tables_unref(catalog);
}

rocksdb_compactionfilterfactory_t *
kw_compaction_factory_new(kw_embedded_tables *catalog)
{
    return rocksdb_compactionfilterfactory_create(kw_embedded_tables_ref(catalog), drop_catalog,
                                                  make_row_filter, row_filter_name);
}
