/* One filter per compaction, on RocksDB's background threads; keys come in order. */
#include "store/embedded/compaction.h"

#include "store/embedded/key.h"

typedef struct sieve {
    kw_catalog *catalog;
    int64_t now_ms;
    uint32_t table_id; /* whose table this is; 0: none yet */
    bool table_known;
    kw_stored_table *table;
    kw_buffer column; /* key of the present column, without timestamp and kind */
    int32_t versions; /* of it, seen so far */
} sieve;

static void
sieve_free(void *state)
{
    sieve *own = state;
    kw_stored_table_unref(own->table);
    kw_buffer_clear(&own->column);
    g_free(own);
}

static const char *
sieve_name(void *unused)
{
    (void)unused;
    return "keyway.sieve";
}

static void
enter_table(sieve *own, uint32_t id)
{
    if (own->table_id == id && own->table_known)
        return;
    kw_stored_table_unref(own->table);
    own->table_id = id;
    own->table_known = kw_catalog_find_id(own->catalog, id, &own->table);
}

static int32_t
count_version(sieve *own, kw_bytes column)
{
    if (!kw_bytes_equal(column, kw_buffer_bytes(&own->column))) {
        own->column.size = 0;
        kw_buffer_append(&own->column, column);
        own->versions = 0;
    }
    return own->versions++;
}

static unsigned char
drops(void *state, int level, const char *key, size_t key_size, const char *value, size_t value_size,
      char **new_value, size_t *new_size, unsigned char *changed)
{
    (void)level, (void)value, (void)value_size, (void)new_value, (void)new_size;
    *changed = 0;
    sieve *own = state;
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
    if (!kw_key_parse(kw_bytes_skip(whole, row_size), &cell) || cell.family >= own->table->families_count ||
        cell.family_marker || cell.kind != KW_KEY_PUT)
        return 0;
    const kw_stored_family *family = &own->table->families[cell.family];
    if (family->ttl_ms && family->min_versions == 0 && cell.timestamp < own->now_ms - family->ttl_ms)
        return 1;
    return count_version(own, kw_bytes_of(key, key_size - 9)) >= family->max_versions;
}

static rocksdb_compactionfilter_t *
make_sieve(void *catalog, rocksdb_compactionfiltercontext_t *context)
{
    (void)context;
    sieve *own = g_new0(sieve, 1);
    own->catalog = catalog;
    own->now_ms = kw_clock_wall_ms();
    return rocksdb_compactionfilter_create(own, sieve_free, drops, sieve_name);
}

static void
catalog_is_borrowed(void *catalog)
{
    (void)catalog;
}

rocksdb_compactionfilterfactory_t *
kw_compaction_factory_new(kw_catalog *catalog)
{
    return rocksdb_compactionfilterfactory_create(catalog, catalog_is_borrowed, make_sieve, sieve_name);
}
