/* The wrappers for tables and for the store itself; see store.c. */
#include "store/check.h"
#include "store/class.h"
#include "store/refuse.h"

void
kw_door_create_table(kw_door *door, const kw_table_spec *spec, kw_create_done done, void *user)
{
    g_assert(door && done);
    kw_error error;
    if (!kw_door_is_shut(door, &error) && kw_check_table_spec(spec, &error))
        door->class->create_table(door, spec, done, user);
    else
        kw_refuse_create(door, &error, done, user);
}

void
kw_door_describe_table(kw_door *door, kw_bytes table, kw_deadline deadline, kw_table_facts_done done,
                       void *user)
{
    g_assert(door && done);
    kw_error error;
    if (!kw_door_is_shut(door, &error) && kw_check_table_name(table, &error))
        door->class->describe_table(door, table, deadline, done, user);
    else
        kw_refuse_facts(door, &error, done, user);
}

void
kw_door_drop_table(kw_door *door, kw_bytes table, kw_deadline deadline, kw_simple_done done, void *user)
{
    g_assert(door && done);
    kw_error error;
    if (!kw_door_is_shut(door, &error) && kw_check_table_name(table, &error))
        door->class->drop_table(door, table, deadline, done, user);
    else
        kw_refuse_simple(door, &error, done, user);
}

void
kw_door_regions(kw_door *door, kw_bytes table, kw_deadline deadline, kw_regions_done done, void *user)
{
    g_assert(door && done);
    kw_error error;
    if (!kw_door_is_shut(door, &error) && kw_check_table_name(table, &error))
        door->class->regions(door, table, deadline, done, user);
    else
        kw_refuse_regions(door, &error, done, user);
}

void
kw_door_close(kw_door *door, void (*closed)(void *user), void *user)
{
    g_assert(door && !door->closing && closed);
    door->closing = true;
    door->class->close(door, closed, user);
}

const char *
kw_store_about(const kw_store *store)
{
    return store->class->about(store);
}

bool
kw_store_ready(kw_store *store, kw_error *ret_error)
{
    return store->class->ready(store, ret_error);
}

bool
kw_store_clock_offset_ms(kw_store *store, int64_t *ret_offset_ms)
{
    return store->class->clock_offset_ms(store, ret_offset_ms);
}

bool
kw_store_time(kw_store *store, kw_span *ret_span)
{
    return store->class->time && store->class->time(store, false, ret_span);
}

bool
kw_store_time_about(kw_store *store, kw_span *ret_span)
{
    return store->class->time && store->class->time(store, true, ret_span);
}

void
kw_store_use_time(kw_store *store)
{
    if (store->class->use_time)
        store->class->use_time(store);
}

void
kw_store_expect_stamps(kw_store *store, bool expected)
{
    if (store->class->expect_stamps)
        store->class->expect_stamps(store, expected);
}

bool
kw_store_is_shared(const kw_store *store)
{
    return store->class->shared;
}

kw_door *
kw_store_open_door(kw_store *store, kw_loop *loop)
{
    g_assert(store && loop);
    kw_door *door = store->class->open_door(store, loop);
    g_assert(door && door->store == store && door->loop == loop);
    return door;
}

void
kw_store_free(kw_store *store)
{
    if (store)
        store->class->free(store);
}

void
kw_store_reload(kw_store *store)
{
    store->class->reload(store);
}
