/* The operations, the tick and the closing of a store handle, and its statistics of row sizes. */
#include "store/hbase/handle.h"

#include "base/container.h"

static void
ticked(void *user)
{
    kw_hbase_clock_tick(user);
}

static void
pool_closed(void *user)
{
    kw_hbase_handle *handle = user;
    kw_hbase_store *store = (kw_hbase_store *)handle->base.store;
    atomic_fetch_sub(&store->handles, 1);
    kw_hbase_coalescer_free(handle->coalescer);
    g_hash_table_destroy(handle->shared_gets);
    g_hash_table_destroy(handle->families);
    handle->closed(handle->user);
}

static void
close_all(kw_task *task)
{
    kw_hbase_handle *handle = KW_CONTAINER(task, kw_hbase_handle, close_task);
    kw_hbase_coalescer_close(handle->coalescer, &kw_error_shutting_down);
    kw_hbase_pool_close(&handle->pool, pool_closed);
}

/* Closes in a later loop iteration, so that no operation completes inside this call. */
static void
handle_close(kw_store_handle *base, void (*closed)(void *user), void *user)
{
    kw_hbase_handle *handle = kw_hbase_handle_of(base);
    g_assert(!handle->closed);
    handle->closed = closed;
    handle->user = user;
    kw_hbase_clock_stop(handle);
    handle->close_task.run = close_all;
    kw_loop_post(base->loop, &handle->close_task);
}

static void
handle_free(kw_store_handle *base)
{
    kw_hbase_handle *handle = kw_hbase_handle_of(base);
    g_free(handle->heartbeats);
    g_free(handle);
}

static const kw_store_handle_class handle_class = {
    .write = kw_hbase_write,
    .write_many = kw_hbase_write_many,
    .write_if = kw_hbase_write_if,
    .increment = kw_hbase_increment,
    .get = kw_hbase_get,
    .get_many = kw_hbase_get_many,
    .open_range_scan = kw_hbase_open_range_scan,
    .range_scan_fetch = kw_hbase_range_scan_fetch,
    .range_scan_close = kw_hbase_range_scan_close,
    .create_table = kw_hbase_create_table,
    .describe_table = kw_hbase_describe_table,
    .drop_table = kw_hbase_drop_table,
    .regions = kw_hbase_regions,
    .close = handle_close,
    .free = handle_free,
};

kw_store_handle *
kw_hbase_handle_new(kw_hbase_store *store, kw_loop *loop)
{
    kw_hbase_handle *handle = g_new0(kw_hbase_handle, 1);
    handle->base.class = &handle_class;
    handle->base.store = &store->base;
    handle->base.loop = loop;
    atomic_fetch_add(&store->handles, 1);
    kw_hbase_pool_init(&handle->pool, store, loop, ticked, handle);
    uint32_t max_calls = (uint32_t)store->settings.channels * store->tuning.pipeline;
    handle->coalescer = kw_hbase_coalescer_new(&handle->base, loop, max_calls, store->tuning.batch_bytes);
    handle->shared_gets = kw_hbase_shared_gets_new();
    handle->families = kw_hbase_families_new();
    return &handle->base;
}

/* --- sizes of rows ---------------------------------------------------------------------------- */

/* The table's entry. Tables whose hashes have the same remainder share an entry. */
static kw_hbase_row_size *
entry_of(kw_hbase_handle *handle, kw_bytes table, uint64_t *ret_hash)
{
    *ret_hash = kw_bytes_hash(table);
    return &handle->row_sizes[*ret_hash % G_N_ELEMENTS(handle->row_sizes)];
}

size_t
kw_hbase_row_bytes(kw_hbase_handle *handle, kw_bytes table)
{
    uint64_t hash;
    const kw_hbase_row_size *entry = entry_of(handle, table, &hash);
    return entry->table_hash == hash ? entry->row_bytes : 0;
}

void
kw_hbase_note_row_bytes(kw_hbase_handle *handle, kw_bytes table, size_t row_bytes)
{
    uint64_t hash;
    kw_hbase_row_size *entry = entry_of(handle, table, &hash);
    size_t before = entry->table_hash == hash ? entry->row_bytes : row_bytes;
    entry->table_hash = hash;
    entry->row_bytes = MAX((before * 3 + row_bytes) / 4, MAX(row_bytes / 2, 1));
}
