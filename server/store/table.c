/* The wrappers around a store's functions for tables and for the store itself; see store.c. */
#include "base/guard.h"
#include "base/units.h"
#include "store/check.h"
#include "store/class.h"
#include "store/refuse.h"

void
kw_store_handle_create_table(kw_store_handle *handle, const kw_table_spec *spec, kw_create_done done,
                             void *user)
{
    g_assert(handle && done);
    kw_guard_end();
    kw_error error;
    if (!kw_store_handle_is_closing(handle, &error) && kw_check_table_spec(spec, &error))
        handle->class->create_table(handle, spec, done, user);
    else
        kw_refuse_create(handle, &error, done, user);
}

void
kw_store_handle_describe_table(kw_store_handle *handle, kw_bytes table, kw_deadline deadline,
                               kw_table_facts_done done, void *user)
{
    g_assert(handle && done);
    kw_guard_end();
    kw_error error;
    if (!kw_store_handle_is_closing(handle, &error) && kw_check_table_name(table, &error))
        handle->class->describe_table(handle, table, deadline, done, user);
    else
        kw_refuse_facts(handle, &error, done, user);
}

void
kw_store_handle_drop_table(kw_store_handle *handle, kw_bytes table, kw_deadline deadline, kw_simple_done done,
                           void *user)
{
    g_assert(handle && done);
    kw_guard_end();
    kw_error error;
    if (!kw_store_handle_is_closing(handle, &error) && kw_check_table_name(table, &error))
        handle->class->drop_table(handle, table, deadline, done, user);
    else
        kw_refuse_simple(handle, &error, done, user);
}

void
kw_store_handle_regions(kw_store_handle *handle, kw_bytes table, kw_deadline deadline, kw_regions_done done,
                        void *user)
{
    g_assert(handle && done);
    kw_guard_end();
    kw_error error;
    if (!kw_store_handle_is_closing(handle, &error) && kw_check_table_name(table, &error))
        handle->class->regions(handle, table, deadline, done, user);
    else
        kw_refuse_regions(handle, &error, done, user);
}

/* A name from a caller must not lead out of the folder for backups. */
static bool
check_backup_name(kw_bytes name, kw_error *ret_error)
{
    bool good = name.size > 0 && name.size <= KW_BACKUP_NAME_MAX && name.data[0] != '.';
    for (size_t i = 0; good && i < name.size; i++)
        good = g_ascii_isalnum(name.data[i]) || name.data[i] == '.' || name.data[i] == '_' ||
               name.data[i] == '-';
    return good ||
           kw_error_set(ret_error, KW_INVALID,
                        "\"%s\" cannot be the name of a backup: use 1 to %d letters, digits, '.', '_' "
                        "and '-', and no '.' at its start",
                        kw_show(name).text, KW_BACKUP_NAME_MAX);
}

static bool
check_makes_backups(const kw_store_handle *handle, kw_error *ret_error)
{
    return handle->class->backup ||
           kw_error_set(
               ret_error, KW_REFUSED,
               "only the embedded store makes backups with this command; for HBase, take snapshots of "
               "the store tables (docs/backup.md)");
}

void
kw_store_handle_backup(kw_store_handle *handle, kw_bytes name, kw_backup_done done, void *user)
{
    g_assert(handle && done);
    kw_guard_end();
    kw_error error;
    if (!kw_store_handle_is_closing(handle, &error) && check_makes_backups(handle, &error) &&
        check_backup_name(name, &error))
        handle->class->backup(handle, name, done, user);
    else
        kw_refuse_backup(handle, &error, done, user);
}

const char *
kw_store_about(const kw_store *store)
{
    g_assert(store);
    return store->class->about(store);
}

bool
kw_store_ready(kw_store *store, kw_error *ret_error)
{
    g_assert(store);
    return store->class->ready(store, ret_error);
}

bool
kw_store_clock_offset_ms(kw_store *store, int64_t *ret_offset_ms)
{
    g_assert(store && ret_offset_ms);
    return store->class->clock_offset_ms(store, ret_offset_ms);
}

bool
kw_store_time(kw_store *store, kw_span *ret_span)
{
    g_assert(store && ret_span);
    return store->class->time && store->class->time(store, false, ret_span);
}

bool
kw_store_time_estimate(kw_store *store, kw_span *ret_span)
{
    g_assert(store && ret_span);
    return store->class->time && store->class->time(store, true, ret_span);
}

bool
kw_store_earliest_ms(kw_store *store, int64_t *ret_ms)
{
    g_assert(store && ret_ms);
    kw_span span;
    if (store->class->earliest_ms)
        return store->class->earliest_ms(store, ret_ms);
    if (!kw_store_time(store, &span) || span.earliest_ns == INT64_MIN)
        return false;
    *ret_ms = span.earliest_ns / (int64_t)KW_NS_PER_MS;
    return true;
}

void
kw_store_keep_time_known(kw_store *store)
{
    g_assert(store);
    if (store->class->keep_time_known)
        store->class->keep_time_known(store);
}

void
kw_store_expect_stamps(kw_store *store, bool expected)
{
    g_assert(store);
    if (store->class->expect_stamps)
        store->class->expect_stamps(store, expected);
}

void
kw_store_set_fence(kw_store *store, const kw_fence *fence)
{
    g_assert(store);
    if (store->class->set_fence)
        store->class->set_fence(store, fence);
}

uint64_t
kw_store_last_doubt_ns(const kw_store *store)
{
    g_assert(store);
    return store->class->last_doubt_ns ? store->class->last_doubt_ns(store)
                                       : atomic_load(&store->last_doubt_ns);
}

bool
kw_store_is_shared(const kw_store *store)
{
    g_assert(store);
    return store->class->shared;
}

void
kw_store_reload(kw_store *store)
{
    g_assert(store);
    store->class->reload(store);
}
