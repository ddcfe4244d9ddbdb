/* The door's table of operations, its tick and its end. */
#include "store/hbase/door.h"

static void
ticked(void *user)
{
    kw_hbase_clock_tick(user);
}

static void
free_when_last(kw_hbase_door *door)
{
    if (!door->gone || door->runs)
        return;
    g_free(door->heartbeats);
    g_free(door);
}

void
kw_hbase_door_release(kw_hbase_door *door)
{
    door->runs--;
    free_when_last(door);
}

static void
pool_closed(void *user)
{
    kw_hbase_door *door = user;
    kw_hbase_store *store = (kw_hbase_store *)door->base.store;
    void (*closed)(void *) = door->closed;
    void *closed_user = door->user;
    atomic_fetch_sub(&store->doors, 1);
    kw_hbase_coalescer_free(door->coalescer);
    g_hash_table_destroy(door->questions);
    g_hash_table_destroy(door->families);
    door->gone = true;
    free_when_last(door);
    closed(closed_user);
}

static void
close_all(kw_task *task)
{
    kw_hbase_door *door = (kw_hbase_door *)(void *)((char *)task - offsetof(kw_hbase_door, close_task));
    kw_error error;
    kw_error_set(&error, KW_UNAVAILABLE, "the gateway is shutting down");
    kw_hbase_coalescer_close(door->coalescer, &error);
    kw_hbase_pool_close(&door->pool, pool_closed);
}

/* Later: no operation completes inside of this. */
static void
door_close(kw_door *base, void (*closed)(void *user), void *user)
{
    kw_hbase_door *door = kw_hbase_door_of(base);
    door->closed = closed;
    door->user = user;
    kw_hbase_clock_stop(door);
    door->close_task.run = close_all;
    kw_loop_post(base->loop, &door->close_task);
}

static const kw_door_class door_class = {
    .write = kw_hbase_write,
    .write_many = kw_hbase_write_many,
    .write_if = kw_hbase_write_if,
    .increment = kw_hbase_increment,
    .get = kw_hbase_get,
    .get_many = kw_hbase_get_many,
    .open_run = kw_hbase_open_run,
    .run_fetch = kw_hbase_run_fetch,
    .run_close = kw_hbase_run_close,
    .create_table = kw_hbase_create_table,
    .describe_table = kw_hbase_describe_table,
    .drop_table = kw_hbase_drop_table,
    .regions = kw_hbase_regions,
    .close = door_close,
};

kw_door *
kw_hbase_door_new(kw_hbase_store *store, kw_loop *loop)
{
    kw_hbase_door *door = g_new0(kw_hbase_door, 1);
    door->base.class = &door_class;
    door->base.store = &store->base;
    door->base.loop = loop;
    atomic_fetch_add(&store->doors, 1);
    kw_hbase_pool_init(&door->pool, store, loop, ticked, door);
    uint32_t at_once = (uint32_t)(store->settings.channels * store->settings.pipeline);
    door->coalescer = kw_hbase_coalescer_new(&door->base, loop, at_once, (size_t)store->settings.batch_bytes);
    door->questions = kw_hbase_questions_new();
    door->families = kw_hbase_families_new();
    return &door->base;
}

/* --- how large rows are ----------------------------------------------------------------------- */

static kw_hbase_size *
size_of(kw_hbase_door *door, kw_bytes table, uint64_t *ret_hash)
{
    *ret_hash = kw_bytes_hash(table);
    return &door->sizes[*ret_hash % G_N_ELEMENTS(door->sizes)];
}

size_t
kw_hbase_row_bytes(kw_hbase_door *door, kw_bytes table)
{
    uint64_t hash;
    const kw_hbase_size *size = size_of(door, table, &hash);
    return size->table_hash == hash ? size->row_bytes : 0;
}

void
kw_hbase_saw_rows(kw_hbase_door *door, kw_bytes table, size_t row_bytes)
{
    uint64_t hash;
    kw_hbase_size *size = size_of(door, table, &hash);
    size_t before = size->table_hash == hash ? size->row_bytes : row_bytes;
    size->table_hash = hash;
    size->row_bytes = MAX((before * 3 + row_bytes) / 4, MAX(row_bytes / 2, 1));
}
