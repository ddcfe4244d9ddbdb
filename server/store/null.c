/* Cheapest possible answers: started operations are kept by value in a vector that one posted task
 * tells whole on the loop's next turn. Nothing is allocated per write; a read allocates its rows. */
#include "store/null.h"

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

typedef struct null_run {
    kw_range_scan base;
    kw_bytes start; /* the key of its one row; malloc'ed */
    bool given;
    bool closed;
} null_run;

typedef struct pending {
    pending_kind kind;
    void (*done)(void); /* of the kind's type */
    void *user;
    kw_rows *rows;
    null_run *run;
} pending;

typedef struct null_handle {
    kw_store_handle base;
    kw_task task;
    bool posted;
    pending *waiting;
    size_t waiting_count, waiting_room;
    pending *telling; /* the other vector, swapped in */
    size_t telling_room;
} null_handle;

static const uint8_t zeros[100];

static void
tell_fetch(const pending *what)
{
    null_run *run = what->run;
    if (run->closed) {
        kw_rows_free(what->rows);
        g_free((void *)(uintptr_t)run->start.data);
        g_free(run);
        return;
    }
    ((kw_get_done)what->done)(what->user, what->rows, NULL);
}

static void
tell_facts(const pending *what)
{
    kw_arena *arena = kw_arena_new();
    kw_table_facts *facts = KW_ARENA_NEW(arena, kw_table_facts);
    facts->arena = arena;
    facts->exists = true;
    ((kw_table_facts_done)what->done)(what->user, facts, NULL);
}

static void
tell_regions(const pending *what)
{
    kw_arena *arena = kw_arena_new();
    kw_regions *regions = KW_ARENA_NEW(arena, kw_regions);
    regions->arena = arena;
    regions->regions = KW_ARENA_NEW(arena, kw_region);
    regions->count = 1;
    ((kw_regions_done)what->done)(what->user, regions, NULL);
}

static void
tell(const pending *what)
{
    switch (what->kind) {
    case PENDING_WRITE:
        ((kw_write_done)what->done)(what->user, KW_OUTCOME_OK, NULL);
        return;
    case PENDING_MANY:
    case PENDING_CLOSE:
        ((void (*)(void *))what->done)(what->user);
        return;
    case PENDING_WRITE_IF:
        ((kw_write_if_done)what->done)(what->user, KW_OUTCOME_OK, true, NULL);
        return;
    case PENDING_INCREMENT:
        ((kw_increment_done)what->done)(what->user, KW_OUTCOME_OK, what->rows, NULL);
        return;
    case PENDING_GET:
        ((kw_get_done)what->done)(what->user, what->rows, NULL);
        return;
    case PENDING_FETCH:
        tell_fetch(what);
        return;
    case PENDING_CREATE:
        ((kw_create_done)what->done)(what->user, true, NULL);
        return;
    case PENDING_FACTS:
        tell_facts(what);
        return;
    case PENDING_SIMPLE:
        ((kw_simple_done)what->done)(what->user, NULL);
        return;
    case PENDING_REGIONS:
        tell_regions(what);
        return;
    }
}

static void
handle_free(null_handle *handle)
{
    g_free(handle->waiting);
    g_free(handle->telling);
    g_free(handle);
}

static void
tell_all(kw_task *task)
{
    null_handle *handle = (null_handle *)((char *)task - offsetof(null_handle, task));
    pending *now = handle->waiting;
    size_t count = handle->waiting_count, room = handle->waiting_room;
    handle->waiting = handle->telling;
    handle->waiting_room = handle->telling_room;
    handle->waiting_count = 0;
    handle->posted = false;
    handle->telling = NULL;
    handle->telling_room = 0;
    bool closes = count && now[count - 1].kind == PENDING_CLOSE;
    for (size_t i = 0; i + closes < count; i++)
        tell(&now[i]);
    if (!closes) {
        handle->telling = now;
        handle->telling_room = room;
        return;
    }
    handle_free(handle);
    tell(&now[count - 1]);
    g_free(now);
}

static pending *
add(kw_store_handle *base, pending_kind kind, void (*done)(void), void *user)
{
    null_handle *handle = (null_handle *)base;
    if (handle->waiting_count == handle->waiting_room) {
        handle->waiting_room = handle->waiting_room ? handle->waiting_room * 2 : 64;
        handle->waiting = g_renew(pending, handle->waiting, handle->waiting_room);
    }
    if (!handle->posted) {
        handle->posted = true;
        kw_loop_post(base->loop, &handle->task);
    }
    pending *what = &handle->waiting[handle->waiting_count++];
    *what = (pending){.kind = kind, .done = done, .user = user};
    return what;
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
    add(handle, PENDING_WRITE, DONE(done), user);
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
    add(handle, PENDING_MANY, DONE(done), user);
}

static void
null_write_if(kw_store_handle *handle, const kw_write *write, const kw_check *check, kw_write_if_done done,
              void *user)
{
    (void)write, (void)check;
    add(handle, PENDING_WRITE_IF, DONE(done), user);
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
    add(handle, PENDING_INCREMENT, DONE(done), user)->rows = rows;
}

static void
null_get(kw_store_handle *handle, const kw_get *get, kw_get_done done, void *user)
{
    add(handle, PENDING_GET, DONE(done), user)->rows = one_row(get->row);
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
    add(handle, PENDING_GET, DONE(done), user)->rows = rows;
}

static kw_range_scan *
null_open_run(kw_store_handle *handle, const kw_range_scan_spec *spec)
{
    null_run *run = g_new0(null_run, 1);
    run->base.handle = handle;
    kw_bytes key = spec->start.size ? spec->start : KW_BYTES_LITERAL("row");
    run->start = kw_bytes_of(g_memdup2(key.data, key.size), key.size);
    return &run->base;
}

static void
null_run_fetch(kw_range_scan *base, uint32_t max_rows, size_t max_bytes, bool more_hint, kw_deadline deadline,
               kw_get_done done, void *user)
{
    (void)max_rows, (void)max_bytes, (void)more_hint, (void)deadline;
    null_run *run = (null_run *)base;
    pending *what = add(base->handle, PENDING_FETCH, DONE(done), user);
    what->run = run;
    what->rows = run->given ? kw_rows_new() : one_row(run->start);
    what->rows->end = true;
    run->given = true;
}

static void
null_run_close(kw_range_scan *base)
{
    null_run *run = (null_run *)base;
    run->closed = true;
    if (base->fetching)
        return; /* the answer on its way frees it */
    g_free((void *)(uintptr_t)run->start.data);
    g_free(run);
}

static void
null_create_table(kw_store_handle *handle, const kw_table_spec *spec, kw_create_done done, void *user)
{
    (void)spec;
    add(handle, PENDING_CREATE, DONE(done), user);
}

static void
null_describe_table(kw_store_handle *handle, kw_bytes table, kw_deadline deadline, kw_table_facts_done done,
                    void *user)
{
    (void)table, (void)deadline;
    add(handle, PENDING_FACTS, DONE(done), user);
}

static void
null_drop_table(kw_store_handle *handle, kw_bytes table, kw_deadline deadline, kw_simple_done done,
                void *user)
{
    (void)table, (void)deadline;
    add(handle, PENDING_SIMPLE, DONE(done), user);
}

static void
null_regions(kw_store_handle *handle, kw_bytes table, kw_deadline deadline, kw_regions_done done, void *user)
{
    (void)table, (void)deadline;
    add(handle, PENDING_REGIONS, DONE(done), user);
}

static void
null_close(kw_store_handle *handle, void (*closed)(void *), void *user)
{
    add(handle, PENDING_CLOSE, DONE(closed), user);
}

static const kw_store_handle_class null_handle_class = {
    .write = null_write,
    .write_many = null_write_many,
    .write_if = null_write_if,
    .increment = null_increment,
    .get = null_get,
    .get_many = null_get_many,
    .open_range_scan = null_open_run,
    .run_fetch = null_run_fetch,
    .run_close = null_run_close,
    .create_table = null_create_table,
    .describe_table = null_describe_table,
    .drop_table = null_drop_table,
    .regions = null_regions,
    .close = null_close,
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
    handle->task.run = tell_all;
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
