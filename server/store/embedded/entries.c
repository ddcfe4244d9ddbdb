/* Collects the entries of writes in a RocksDB write batch. Runs on the committer's thread. */
#include "store/embedded/embedded_internal.h"

#include "store/embedded/key.h"
#include "store/embedded/selection.h"

/* RocksDB keeps the memory of a batch after it was written. A larger batch is freed. */
#define KEPT_BYTES ((size_t)1024 * 1024)

void
kw_entries_init(kw_entries *batch)
{
    *batch =
        (kw_entries){.plain = rocksdb_writebatch_create(), .indexed = rocksdb_writebatch_wi_create(0, 1)};
}

void
kw_entries_clear(kw_entries *batch)
{
    rocksdb_writebatch_destroy(batch->plain);
    rocksdb_writebatch_wi_destroy(batch->indexed);
    kw_buffer_clear(&batch->key);
    *batch = (kw_entries){0};
}

void
kw_entries_begin(kw_entries *batch, bool indexed)
{
    g_assert(batch->bytes == 0); /* the last batch was written */
    batch->is_indexed = indexed;
    batch->count = batch->largest_bytes = 0;
}

void
kw_entries_put(kw_entries *batch, kw_bytes key, kw_bytes value)
{
    const char *key_data = (const char *)key.data, *value_data = value.size ? (const char *)value.data : "";
    if (batch->is_indexed)
        rocksdb_writebatch_wi_put(batch->indexed, key_data, key.size, value_data, value.size);
    else
        rocksdb_writebatch_put(batch->plain, key_data, key.size, value_data, value.size);
    batch->bytes += key.size + value.size;
    batch->largest_bytes = MAX(batch->largest_bytes, key.size + value.size);
    batch->count++;
}

void
kw_entries_set_savepoint(kw_entries *batch)
{
    g_assert(!batch->is_indexed);
    rocksdb_writebatch_set_save_point(batch->plain);
    batch->savepoint_bytes = batch->bytes;
}

void
kw_entries_end_savepoint(kw_entries *batch, bool keep)
{
    char *failed = NULL;
    if (keep) {
        rocksdb_writebatch_pop_save_point(batch->plain, &failed);
    } else {
        rocksdb_writebatch_rollback_to_save_point(batch->plain, &failed);
        batch->bytes = batch->savepoint_bytes;
    }
    g_assert(!failed); /* there is a saved state */
}

static void
empty_plain(kw_entries *batch)
{
    if (batch->bytes <= KEPT_BYTES) {
        rocksdb_writebatch_clear(batch->plain);
        return;
    }
    rocksdb_writebatch_destroy(batch->plain);
    batch->plain = rocksdb_writebatch_create();
}

static void
empty_indexed(kw_entries *batch)
{
    if (batch->bytes <= KEPT_BYTES) {
        rocksdb_writebatch_wi_clear(batch->indexed);
        return;
    }
    rocksdb_writebatch_wi_destroy(batch->indexed);
    batch->indexed = rocksdb_writebatch_wi_create(0, 1);
}

bool
kw_entries_write(kw_entries *batch, kw_engine *engine, bool synced, kw_error *ret_error)
{
    if (batch->bytes == 0)
        return true;
    char *failed = NULL;
    rocksdb_writeoptions_t *options = synced ? engine->write_synced : engine->write_unsynced;
    if (batch->is_indexed) {
        rocksdb_write_writebatch_wi(engine->db, options, batch->indexed, &failed);
        empty_indexed(batch);
    } else {
        rocksdb_write(engine->db, options, batch->plain, &failed);
        empty_plain(batch);
    }
    batch->bytes = 0;
    return kw_engine_check_write(engine, failed, ret_error);
}

rocksdb_iterator_t *
kw_entries_iterator(kw_entries *batch, kw_embedded *store)
{
    g_assert(batch->is_indexed || batch->count == 0);
    rocksdb_iterator_t *stored = rocksdb_create_iterator(store->engine.db, store->get_options);
    if (!batch->is_indexed)
        return stored;
    return rocksdb_writebatch_wi_create_iterator_with_base(batch->indexed, stored);
}

/* --- entries of a write ----------------------------------------------------------------------------- */

bool
kw_entries_check(const kw_stored_table *table, const kw_write *write, kw_error *ret_error)
{
    bool put = write->kind == KW_WRITE_PUT;
    size_t count = put ? write->cells_count : write->columns_count;
    for (size_t i = 0; i < count; i++) {
        kw_bytes family = put ? write->cells[i].family : write->columns[i].family;
        if (kw_stored_table_family(table, family) < 0)
            return kw_unknown_family(table, family, ret_error);
    }
    return true;
}

static void
put_family_marker(kw_entries *batch, size_t prefix_size, unsigned family, int64_t timestamp)
{
    batch->key.size = prefix_size;
    kw_key_family_marker(&batch->key, family, timestamp);
    kw_entries_put(batch, kw_buffer_bytes(&batch->key), KW_BYTES_NONE);
}

static void
put_column(kw_entries *batch, size_t prefix_size, unsigned family, kw_bytes qualifier, int64_t timestamp,
           kw_key_kind kind, kw_bytes value)
{
    batch->key.size = prefix_size;
    kw_key_column(&batch->key, family, qualifier, timestamp, kind);
    kw_entries_put(batch, kw_buffer_bytes(&batch->key), value);
}

static void
add_cells(kw_entries *batch, const kw_stored_table *table, const kw_write *write, size_t prefix,
          int64_t stamp)
{
    for (size_t i = 0; i < write->cells_count; i++) {
        const kw_cell *cell = &write->cells[i];
        unsigned family = (unsigned)kw_stored_table_family(table, cell->family);
        put_column(batch, prefix, family, cell->qualifier, stamp, KW_KEY_PUT, cell->value);
    }
}

static void
add_markers(kw_entries *batch, const kw_stored_table *table, const kw_write *write, size_t prefix,
            int64_t stamp)
{
    if (write->columns_count == 0)
        for (size_t i = 0; i < table->families_count; i++)
            put_family_marker(batch, prefix, (unsigned)i, stamp);
    for (size_t i = 0; i < write->columns_count; i++) {
        const kw_column *column = &write->columns[i];
        unsigned family = (unsigned)kw_stored_table_family(table, column->family);
        if (column->whole_family)
            put_family_marker(batch, prefix, family, stamp);
        else
            put_column(batch, prefix, family, column->qualifier, stamp, KW_KEY_DELETE, KW_BYTES_NONE);
    }
}

bool
kw_entries_add(kw_entries *batch, const kw_stored_table *table, const kw_write *write, int64_t stamp,
               kw_error *ret_error)
{
    if (!kw_entries_check(table, write, ret_error))
        return false;
    batch->key.size = 0;
    kw_key_row(&batch->key, table->id, write->row);
    size_t prefix = batch->key.size;
    if (write->kind == KW_WRITE_PUT)
        add_cells(batch, table, write, prefix, stamp);
    else
        add_markers(batch, table, write, prefix, stamp);
    return true;
}
