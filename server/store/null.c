/* Completes operations as cheaply as possible. Started operations are stored in a vector by value; one task
 * completes them all in the next loop iteration. A write allocates nothing, a read allocates its rows. */
#include "store/null.h"

#include "base/container.h"
#include "store/class.h"

typedef enum pending_kind {
    PENDING_WRITE,
    PENDING_MANY,
    PENDING_WRITE_IF,
    PENDING_INCREMENT,
    PENDING_GET,
    PENDING_FETCH,
    PENDING_CREATE,
    PENDING_FACTS,
    PENDING_SIMPLE,
    PENDING_REGIONS,
    PENDING_CLOSE
} pending_kind;

typedef struct null_scan {
    kw_range_scan base;
    kw_bytes start; /* the key of its one row; malloc'ed */
    bool fetched;
    bool closed;
} null_scan;

typedef struct pending {
    pending_kind kind;
    void (*done)(void); /* cast to the type of the kind */
    void *user;
    kw_rows *rows;
    null_scan *scan;
} pending;

typedef struct null_handle {
    kw_store_handle base;
    kw_task task;
    bool posted;
    pending *waiting;
    size_t waiting_count, waiting_capacity;
    pending *completing; /* the vector that becomes `waiting` at the next completion */
    size_t completing_capacity;
} null_handle;

static const uint8_t zeros[100];

static void
complete_fetch(const pending *operation)
{
    null_scan *scan = operation->scan;
    if (scan->closed) {
        kw_rows_free(operation->rows);
        g_free((void *)(uintptr_t)scan->start.data);
        g_free(scan);
        return;
    }
    ((kw_get_done)operation->done)(operation->user, operation->rows, NULL);
}

static void
complete_facts(const pending *operation)
{
    kw_arena *arena = kw_arena_new();
    kw_table_facts *facts = KW_ARENA_NEW(arena, kw_table_facts);
    facts->arena = arena;
    facts->exists = true;
    ((kw_table_facts_done)operation->done)(operation->user, facts, NULL);
}

static void
complete_regions(const pending *operation)
{
    kw_arena *arena = kw_arena_new();
    kw_regions *regions = KW_ARENA_NEW(arena, kw_regions);
    regions->arena = arena;
    regions->regions = KW_ARENA_NEW(arena, kw_region);
    regions->count = 1;
    ((kw_regions_done)operation->done)(operation->user, regions, NULL);
}

static void
complete(const pending *operation)
{
    switch (operation->kind) {
    case PENDING_WRITE:
        ((kw_write_done)operation->done)(operation->user, KW_OUTCOME_OK, NULL);
        return;
    case PENDING_MANY:
    case PENDING_CLOSE:
        ((void (*)(void *))operation->done)(operation->user);
        return;
    case PENDING_WRITE_IF:
        ((kw_write_if_done)operation->done)(operation->user, KW_OUTCOME_OK, true, NULL);
        return;
    case PENDING_INCREMENT:
        ((kw_increment_done)operation->done)(operation->user, KW_OUTCOME_OK, operation->rows, NULL);
        return;
    case PENDING_GET:
        ((kw_get_done)operation->done)(operation->user, operation->rows, NULL);
        return;
    case PENDING_FETCH:
        complete_fetch(operation);
        return;
    case PENDING_CREATE:
        ((kw_create_done)operation->done)(operation->user, true, NULL);
        return;
    case PENDING_FACTS:
        complete_facts(operation);
        return;
    case PENDING_SIMPLE:
        ((kw_simple_done)operation->done)(operation->user, NULL);
        return;
    case PENDING_REGIONS:
        complete_regions(operation);
        return;
    }
}

static void
complete_all(kw_task *task)
{
    null_handle *handle = KW_CONTAINER(task, null_handle, task);
    pending *now = handle->waiting;
    size_t count = handle->waiting_count, capacity = handle->waiting_capacity;
    handle->waiting = handle->completing;
    handle->waiting_capacity = handle->completing_capacity;
    handle->waiting_count = 0;
    handle->posted = false;
    handle->completing = NULL;
    handle->completing_capacity = 0;
    for (size_t i = 0; i < count; i++)
        complete(&now[i]);
    handle->completing = now;
    handle->completing_capacity = capacity;
}

static pending *
add_pending(kw_store_handle *base, pending_kind kind, void (*done)(void), void *user)
{
    null_handle *handle = (null_handle *)base;
    if (handle->waiting_count == handle->waiting_capacity) {
        handle->waiting_capacity = handle->waiting_capacity ? handle->waiting_capacity * 2 : 64;
        handle->waiting = g_renew(pending, handle->waiting, handle->waiting_capacity);
    }
    if (!handle->posted) {
        handle->posted = true;
        kw_loop_post(base->loop, &handle->task);
    }
    pending *operation = &handle->waiting[handle->waiting_count++];
    *operation = (pending){.kind = kind, .done = done, .user = user};
    return operation;
}

static kw_rows *
one_row(kw_bytes key)
{
    static const char *const names[] = {"a", "b", "c"};
    kw_rows *rows = kw_rows_new();
    rows->rows = KW_ARENA_NEW(rows->arena, kw_row);
    rows->rows->key = kw_arena_copy(rows->arena, key);
    rows->rows->cells = KW_ARENA_ARRAY(rows->arena, kw_cell, 3);
    rows->rows->cells_count = 3;
    for (size_t i = 0; i < 3; i++)
        rows->rows->cells[i] = (kw_cell){.family = KW_BYTES_LITERAL("d"),
                                         .qualifier = kw_bytes_of(names[i], 1),
                                         .value = kw_bytes_of(zeros, sizeof zeros),
                                         .timestamp = 1};
    rows->count = rows->scanned = 1;
    rows->bytes = key.size + 3 + 3 * sizeof zeros;
    return rows;
}

/* --- the vtable --------------------------------------------------------------------------------- */

#define DONE(done) ((void (*)(void))(done))

static void
null_write(kw_store_handle *handle, const kw_write *write, kw_write_done done, void *user)
{
    (void)write;
    add_pending(handle, PENDING_WRITE, DONE(done), user);
}

static void
null_write_many(kw_store_handle *handle, const kw_write *const *writes, size_t count, kw_written *results,
                void (*done)(void *), void *user)
{
    (void)writes;
    for (size_t i = 0; i < count; i++) {
        results[i].outcome = KW_OUTCOME_OK;
        results[i].error.code = KW_OK;
    }
    add_pending(handle, PENDING_MANY, DONE(done), user);
}

static void
null_write_if(kw_store_handle *handle, const kw_write *write, const kw_check *check, kw_write_if_done done,
              void *user)
{
    (void)write, (void)check;
    add_pending(handle, PENDING_WRITE_IF, DONE(done), user);
}

static void
null_increment(kw_store_handle *handle, const kw_increment *increment, kw_increment_done done, void *user)
{
    kw_rows *rows = kw_rows_new();
    rows->rows = KW_ARENA_NEW(rows->arena, kw_row);
    rows->rows->key = kw_arena_copy(rows->arena, increment->row);
    rows->rows->cells = KW_ARENA_ARRAY(rows->arena, kw_cell, increment->columns_count);
    rows->rows->cells_count = (uint32_t)increment->columns_count;
    for (size_t i = 0; i < increment->columns_count; i++) {
        uint8_t *value = kw_arena_alloc(rows->arena, 8);
        kw_be64_store(value, (uint64_t)increment->amounts[i]);
        rows->rows->cells[i] =
            (kw_cell){.family = kw_arena_copy(rows->arena, increment->columns[i].family),
                      .qualifier = kw_arena_copy(rows->arena, increment->columns[i].qualifier),
                      .value = kw_bytes_of(value, 8),
                      .timestamp = 1};
    }
    rows->count = 1;
    add_pending(handle, PENDING_INCREMENT, DONE(done), user)->rows = rows;
}

static void
null_get(kw_store_handle *handle, const kw_get *get, kw_get_done done, void *user)
{
    add_pending(handle, PENDING_GET, DONE(done), user)->rows = one_row(get->row);
}

static void
null_get_many(kw_store_handle *handle, const kw_get *const *gets, size_t count, kw_get_done done, void *user)
{
    kw_rows *rows = one_row(gets[0]->row);
    kw_row *all = KW_ARENA_ARRAY(rows->arena, kw_row, count);
    for (size_t i = 0; i < count; i++) {
        all[i] = rows->rows[0];
        all[i].key = kw_arena_copy(rows->arena, gets[i]->row);
    }
    rows->rows = all;
    rows->count = rows->scanned = count;
    rows->bytes *= count;
    add_pending(handle, PENDING_GET, DONE(done), user)->rows = rows;
}

static kw_range_scan *
null_open_range_scan(kw_store_handle *handle, const kw_range_scan_spec *spec)
{
    null_scan *scan = g_new0(null_scan, 1);
    scan->base.handle = handle;
    kw_bytes key = spec->start.size ? spec->start : KW_BYTES_LITERAL("row");
    scan->start = kw_bytes_of(g_memdup2(key.data, key.size), key.size);
    return &scan->base;
}

static void
null_range_scan_fetch(kw_range_scan *base, uint32_t max_rows, size_t max_bytes, bool more_hint,
                      kw_deadline deadline, kw_get_done done, void *user)
{
    (void)max_rows, (void)max_bytes, (void)more_hint, (void)deadline;
    null_scan *scan = (null_scan *)base;
    pending *operation = add_pending(base->handle, PENDING_FETCH, DONE(done), user);
    operation->scan = scan;
    operation->rows = scan->fetched ? kw_rows_new() : one_row(scan->start);
    operation->rows->end = true;
    scan->fetched = true;
}

static void
null_range_scan_close(kw_range_scan *base)
{
    null_scan *scan = (null_scan *)base;
    scan->closed = true;
    if (base->fetching)
        return; /* the pending completion frees it */
    g_free((void *)(uintptr_t)scan->start.data);
    g_free(scan);
}

static void
null_create_table(kw_store_handle *handle, const kw_table_spec *spec, kw_create_done done, void *user)
{
    (void)spec;
    add_pending(handle, PENDING_CREATE, DONE(done), user);
}

static void
null_describe_table(kw_store_handle *handle, kw_bytes table, kw_deadline deadline, kw_table_facts_done done,
                    void *user)
{
    (void)table, (void)deadline;
    add_pending(handle, PENDING_FACTS, DONE(done), user);
}

static void
null_drop_table(kw_store_handle *handle, kw_bytes table, kw_deadline deadline, kw_simple_done done,
                void *user)
{
    (void)table, (void)deadline;
    add_pending(handle, PENDING_SIMPLE, DONE(done), user);
}

static void
null_regions(kw_store_handle *handle, kw_bytes table, kw_deadline deadline, kw_regions_done done, void *user)
{
    (void)table, (void)deadline;
    add_pending(handle, PENDING_REGIONS, DONE(done), user);
}

static void
null_close(kw_store_handle *handle, void (*closed)(void *), void *user)
{
    add_pending(handle, PENDING_CLOSE, DONE(closed), user);
}

static void
null_free_handle(kw_store_handle *base)
{
    null_handle *handle = (null_handle *)base;
    g_free(handle->waiting);
    g_free(handle->completing);
    g_free(handle);
}

static const kw_store_handle_class null_handle_class = {
    .write = null_write,
    .write_many = null_write_many,
    .write_if = null_write_if,
    .increment = null_increment,
    .get = null_get,
    .get_many = null_get_many,
    .open_range_scan = null_open_range_scan,
    .range_scan_fetch = null_range_scan_fetch,
    .range_scan_close = null_range_scan_close,
    .create_table = null_create_table,
    .describe_table = null_describe_table,
    .drop_table = null_drop_table,
    .regions = null_regions,
    .close = null_close,
    .free = null_free_handle,
};

static const char *
null_about(const kw_store *store)
{
    (void)store;
    return "null store (keeps nothing)";
}

static bool
null_ready(kw_store *store, kw_error *ret_error)
{
    (void)store, (void)ret_error;
    return true;
}

static bool
null_clock_offset_ms(kw_store *store, int64_t *ret_offset_ms)
{
    (void)store;
    *ret_offset_ms = 0;
    return true;
}

static kw_store_handle *
null_open_handle(kw_store *store, kw_loop *loop)
{
    null_handle *handle = g_new0(null_handle, 1);
    handle->base = (kw_store_handle){.class = &null_handle_class, .store = store, .loop = loop};
    handle->task.run = complete_all;
    return &handle->base;
}

static void
null_reload(kw_store *store)
{
    (void)store;
}

static void
null_free(kw_store *store)
{
    g_free(store);
}

kw_store *
kw_null_store_open(void)
{
    static const kw_store_class null_class = {
        .name = "null",
        .about = null_about,
        .ready = null_ready,
        .clock_offset_ms = null_clock_offset_ms,
        .open_handle = null_open_handle,
        .reload = null_reload,
        .free = null_free,
    };
    kw_store *store = g_new0(kw_store, 1);
    store->class = &null_class;
    return store;
}
