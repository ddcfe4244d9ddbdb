/* See tables.h. The key 00000000 'n' stores the next free id, and 00000000 't' NAME the record of a table.
 * In memory there are two hash tables, by name and by id, under one lock, which is held during look-ups and
 * changes only. */
#include "store/embedded/tables.h"

#include "base/thread.h"
#include "store/check.h"
#include "store/embedded/engine.h"
#include "store/embedded/record.h"

#include <stdatomic.h>

struct kw_embedded_tables {
    _Atomic unsigned references;
    kw_mutex lock;       /* guards the members below; no other lock is taken while it is held */
    GHashTable *by_name; /* kw_bytes (the table's own) -> kw_stored_table, a reference */
    GHashTable *by_id;   /* id -> kw_stored_table, borrowed from by_name */
    uint32_t next_id;
    bool loaded;
};

static const uint8_t next_id_key[] = {0, 0, 0, 0, 'n'};
static const uint8_t table_key_start[] = {0, 0, 0, 0, 't'};

int
kw_stored_table_family(const kw_stored_table *table, kw_bytes name)
{
    for (size_t i = 0; i < table->families_count; i++)
        if (kw_bytes_equal(table->families[i].name, name))
            return (int)i;
    return -1;
}

kw_stored_table *
kw_stored_table_ref(kw_stored_table *table)
{
    unsigned references = atomic_fetch_add_explicit(&table->references, 1, memory_order_relaxed);
    g_assert(references > 0);
    return table;
}

void
kw_stored_table_unref(kw_stored_table *table)
{
    if (table && atomic_fetch_sub_explicit(&table->references, 1, memory_order_acq_rel) == 1)
        kw_arena_free(table->arena);
}

static guint
hash_name(gconstpointer name)
{
    return (guint)kw_bytes_hash(*(const kw_bytes *)name);
}

static gboolean
equal_names(gconstpointer a, gconstpointer b)
{
    return kw_bytes_equal(*(const kw_bytes *)a, *(const kw_bytes *)b);
}

static void
unref_table(gpointer table)
{
    kw_stored_table_unref(table);
}

kw_embedded_tables *
kw_embedded_tables_new(void)
{
    kw_embedded_tables *tables = g_new0(kw_embedded_tables, 1);
    kw_mutex_init(&tables->lock);
    tables->by_name = g_hash_table_new_full(hash_name, equal_names, NULL, unref_table);
    tables->by_id = g_hash_table_new(g_direct_hash, g_direct_equal);
    tables->next_id = 1;
    atomic_store(&tables->references, 1);
    return tables;
}

kw_embedded_tables *
kw_embedded_tables_ref(kw_embedded_tables *tables)
{
    unsigned references = atomic_fetch_add(&tables->references, 1);
    g_assert(references > 0);
    return tables;
}

void
kw_embedded_tables_unref(kw_embedded_tables *tables)
{
    if (!tables || atomic_fetch_sub(&tables->references, 1) > 1)
        return;
    g_hash_table_destroy(tables->by_id);
    g_hash_table_destroy(tables->by_name);
    kw_mutex_clear(&tables->lock);
    g_free(tables);
}

/* Called with the lock held. Takes over the reference. */
static void
add_locked(kw_embedded_tables *tables, kw_stored_table *table)
{
    g_hash_table_replace(tables->by_name, &table->name, table);
    g_hash_table_insert(tables->by_id, GUINT_TO_POINTER(table->id), table);
    if (table->id >= tables->next_id)
        tables->next_id = table->id + 1;
}

static bool
load_entries(kw_embedded_tables *tables, rocksdb_iterator_t *at, kw_error *ret_error)
{
    rocksdb_iter_seek(at, (const char *)table_key_start, sizeof table_key_start);
    for (; rocksdb_iter_valid(at); rocksdb_iter_next(at)) {
        size_t key_size, size;
        const char *key = rocksdb_iter_key(at, &key_size);
        if (key_size <= sizeof table_key_start || memcmp(key, table_key_start, sizeof table_key_start) != 0)
            break;
        const char *value = rocksdb_iter_value(at, &size);
        kw_stored_table *table = kw_table_record_read(kw_bytes_of(value, size));
        if (!table)
            return kw_error_set(
                ret_error, KW_CORRUPT, "the record of table %s in the list of tables is malformed",
                kw_show(kw_bytes_skip(kw_bytes_of(key, key_size), sizeof table_key_start)).text);
        kw_mutex_lock(&tables->lock);
        add_locked(tables, table);
        kw_mutex_unlock(&tables->lock);
    }
    return kw_engine_check_iterator(at, ret_error);
}

static bool
load_next_id(kw_embedded_tables *tables, rocksdb_t *db, kw_error *ret_error)
{
    char *value;
    size_t size;
    if (!kw_engine_get(db, kw_bytes_of(next_id_key, sizeof next_id_key), "reading the list of tables", &value,
                       &size, ret_error))
        return false;
    uint32_t next_id = value && size == 4 ? kw_be32_load((const uint8_t *)value) : 0;
    rocksdb_free(value);
    if (value && size != 4)
        return kw_error_set(ret_error, KW_CORRUPT,
                            "the next table id in the list of tables has %zu bytes instead of 4", size);
    kw_mutex_lock(&tables->lock);
    if (next_id > tables->next_id)
        tables->next_id = next_id;
    tables->loaded = true;
    kw_mutex_unlock(&tables->lock);
    return true;
}

bool
kw_embedded_tables_load(kw_embedded_tables *tables, rocksdb_t *db, kw_error *ret_error)
{
    rocksdb_readoptions_t *options = rocksdb_readoptions_create();
    rocksdb_readoptions_set_total_order_seek(options, 1);
    rocksdb_iterator_t *at = rocksdb_create_iterator(db, options);
    bool good = load_entries(tables, at, ret_error) && load_next_id(tables, db, ret_error);
    rocksdb_iter_destroy(at);
    rocksdb_readoptions_destroy(options);
    return good;
}

static kw_bytes
without_default_namespace(kw_bytes name)
{
    kw_bytes prefix = KW_BYTES_LITERAL("default:");
    return kw_bytes_starts_with(name, prefix) ? kw_bytes_skip(name, prefix.size) : name;
}

kw_stored_table *
kw_embedded_tables_find(kw_embedded_tables *tables, kw_bytes name)
{
    kw_bytes own = without_default_namespace(name);
    kw_mutex_lock(&tables->lock);
    kw_stored_table *table = g_hash_table_lookup(tables->by_name, &own);
    if (table)
        kw_stored_table_ref(table);
    kw_mutex_unlock(&tables->lock);
    return table;
}

bool
kw_embedded_tables_find_id(kw_embedded_tables *tables, uint32_t id, kw_stored_table **ret_table)
{
    kw_mutex_lock(&tables->lock);
    bool known = tables->loaded && id < tables->next_id;
    kw_stored_table *table = g_hash_table_lookup(tables->by_id, GUINT_TO_POINTER(id));
    *ret_table = table ? kw_stored_table_ref(table) : NULL;
    kw_mutex_unlock(&tables->lock);
    return known;
}

static void
append_table_key(kw_buffer *key, kw_bytes name)
{
    kw_buffer_append(key, kw_bytes_of(table_key_start, sizeof table_key_start));
    kw_buffer_append(key, name);
}

static bool
write_synced(rocksdb_t *db, rocksdb_writebatch_t *batch, kw_error *ret_error)
{
    rocksdb_writeoptions_t *options = rocksdb_writeoptions_create();
    rocksdb_writeoptions_set_sync(options, 1);
    char *failed = NULL;
    rocksdb_write(db, options, batch, &failed);
    rocksdb_writeoptions_destroy(options);
    return !failed || kw_engine_failed(failed, "writing the list of tables", ret_error);
}

static bool
store_table(rocksdb_t *db, kw_bytes name, uint32_t id, kw_bytes record, kw_error *ret_error)
{
    kw_buffer key = KW_BUFFER_EMPTY;
    append_table_key(&key, name);
    uint8_t next[4];
    kw_be32_store(next, id + 1);
    rocksdb_writebatch_t *batch = rocksdb_writebatch_create();
    rocksdb_writebatch_put(batch, (const char *)key.data, key.size, (const char *)record.data, record.size);
    rocksdb_writebatch_put(batch, (const char *)next_id_key, sizeof next_id_key, (const char *)next, 4);
    bool good = write_synced(db, batch, ret_error);
    rocksdb_writebatch_destroy(batch);
    kw_buffer_clear(&key);
    return good;
}

bool
kw_embedded_tables_create(kw_embedded_tables *tables, rocksdb_t *db, const kw_table_spec *spec,
                          bool *ret_created, kw_error *ret_error)
{
    g_autoptr(kw_stored_table) existing = kw_embedded_tables_find(tables, spec->name);
    if (existing) {
        *ret_created = false;
        return true;
    }
    kw_bytes name = without_default_namespace(spec->name);
    uint32_t id = tables->next_id; /* needs no lock: only this thread changes it */
    g_assert(tables->loaded && id != 0);
    kw_buffer record = KW_BUFFER_EMPTY;
    kw_table_record_write(&record, id, name, spec);
    kw_stored_table *table = kw_table_record_read(kw_buffer_bytes(&record));
    g_assert(table);
    bool good = store_table(db, name, id, kw_buffer_bytes(&record), ret_error);
    kw_buffer_clear(&record);
    if (!good) {
        kw_stored_table_unref(table);
        return false;
    }
    kw_mutex_lock(&tables->lock);
    add_locked(tables, table);
    kw_mutex_unlock(&tables->lock);
    *ret_created = true;
    return true;
}

static bool
remove_stored(rocksdb_t *db, kw_bytes name, kw_error *ret_error)
{
    kw_buffer key = KW_BUFFER_EMPTY;
    append_table_key(&key, name);
    rocksdb_writebatch_t *batch = rocksdb_writebatch_create();
    rocksdb_writebatch_delete(batch, (const char *)key.data, key.size);
    bool good = write_synced(db, batch, ret_error);
    rocksdb_writebatch_destroy(batch);
    kw_buffer_clear(&key);
    return good;
}

bool
kw_embedded_tables_drop(kw_embedded_tables *tables, rocksdb_t *db, kw_bytes name, uint32_t *ret_id,
                        kw_error *ret_error)
{
    g_autoptr(kw_stored_table) table = kw_embedded_tables_find(tables, name);
    if (!table)
        return kw_error_set(ret_error, KW_NOT_FOUND, "table %s does not exist", kw_show(name).text);
    if (!remove_stored(db, table->name, ret_error))
        return false;
    kw_mutex_lock(&tables->lock);
    g_hash_table_remove(tables->by_id, GUINT_TO_POINTER(table->id));
    g_hash_table_remove(tables->by_name, &table->name);
    kw_mutex_unlock(&tables->lock);
    *ret_id = table->id;
    return true;
}
