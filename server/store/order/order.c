/* See order.h and order_internal.h. */
#include "store/order/order_internal.h"

#include "store/refuse.h"

/* Removals and puts of counters of one many-call that are under way at once. */
#define ALONE_MOST 64

static kw_order_store *
store_of(const kw_store *store)
{
    return (kw_order_store *)store;
}

/* --- which way a write goes ---------------------------------------------------------------------- */

typedef enum way { WAY_AS_IT_IS, WAY_PUT, WAY_REMOVAL, WAY_COUNTERS, WAY_STAMP } way;

static way
way_of(const kw_write *write)
{
    const kw_ordering *ordering = write->ordering;
    if (!ordering || write->timestamp != KW_TIMESTAMP_NONE)
        return WAY_AS_IT_IS;
    if (ordering->order == KW_WRITE_ORDER_STAMP)
        return WAY_STAMP;
    if (write->kind == KW_WRITE_DELETE)
        return WAY_REMOVAL;
    return ordering->atomics && write->counters ? WAY_COUNTERS : WAY_PUT;
}

typedef struct one_stamp {
    const kw_write *write;
    kw_written result;
    kw_write_done done;
    void *user;
} one_stamp;

static void
one_stamped(void *user)
{
    one_stamp one = *(one_stamp *)user;
    g_free(user);
    one.done(one.user, one.result.outcome, one.result.outcome == KW_OUTCOME_OK ? NULL : &one.result.error);
}

static void
stamp_one(kw_order_handle *handle, const kw_write *write, kw_write_done done, void *user)
{
    one_stamp *one = g_new0(one_stamp, 1);
    *one = (one_stamp){.write = write, .done = done, .user = user};
    kw_order_stamp(handle, &one->write, 1, &one->result, one_stamped, one);
}

static void
handle_write(kw_store_handle *base, const kw_write *write, kw_write_done done, void *user)
{
    kw_order_handle *handle = kw_order_handle_of(base);
    switch (way_of(write)) {
    case WAY_AS_IT_IS:
        handle->inner->class->write(handle->inner, write, done, user);
        return;
    case WAY_PUT:
        kw_order_put(handle, write, done, user);
        return;
    case WAY_REMOVAL:
        kw_order_remove(handle, write, done, user);
        return;
    case WAY_COUNTERS:
        kw_order_put_counters(handle, write, done, user);
        return;
    case WAY_STAMP:
        stamp_one(handle, write, done, user);
        return;
    }
}

/* --- many writes --------------------------------------------------------------------------------- */

typedef struct many many;

/* A write of many that goes by itself. */
typedef struct single {
    many *of;
    size_t place;
} single;

/* Writes of each way: those of a kind leave together, or one by one. */
struct many {
    kw_order_handle *handle;
    kw_arena *arena;
    const kw_write *const *writes;
    kw_written *results;
    const kw_write **list; /* as they are, or to be stamped */
    kw_written *written;
    size_t *places;
    size_t together;
    single *alone;
    size_t alone_count, begun, ended;
    bool together_over;
    void (*done)(void *user);
    void *user;
};

static void start_alone(many *op);

static void
settle(many *op)
{
    if (!op->together_over || op->ended < op->alone_count)
        return;
    void (*done)(void *) = op->done;
    void *user = op->user;
    kw_arena_free(op->arena);
    done(user);
}

static void
alone_done(void *user, kw_outcome outcome, const kw_error *error)
{
    single *one = user;
    many *op = one->of;
    op->results[one->place].outcome = outcome;
    if (error)
        op->results[one->place].error = *error;
    else
        kw_error_clear(&op->results[one->place].error);
    op->ended++;
    start_alone(op);
    settle(op);
}

static void
start_alone(many *op)
{
    while (op->begun < op->alone_count && op->begun - op->ended < ALONE_MOST) {
        single *one = &op->alone[op->begun++];
        handle_write(&op->handle->base, op->writes[one->place], alone_done, one);
    }
}

static void
together_done(void *user)
{
    many *op = user;
    for (size_t i = 0; i < op->together; i++)
        op->results[op->places[i]] = op->written[i];
    op->together_over = true;
    settle(op);
}

static bool
goes_alone(const kw_write *write)
{
    way of = way_of(write);
    return of == WAY_REMOVAL || of == WAY_COUNTERS;
}

static void
sort_out(many *op, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (goes_alone(op->writes[i])) {
            op->alone[op->alone_count++] = (single){op, i};
            continue;
        }
        op->list[op->together] = op->writes[i];
        op->places[op->together++] = i;
    }
}

static void
write_together(kw_order_handle *handle, const kw_write *const *writes, size_t count, kw_written *results,
               void (*done)(void *user), void *user)
{
    if (way_of(writes[0]) == WAY_STAMP)
        kw_order_stamp(handle, writes, count, results, done, user);
    else
        handle->inner->class->write_many(handle->inner, writes, count, results, done, user);
}

/* All writes with an ordering are of one table. */
static void
handle_write_many(kw_store_handle *base, const kw_write *const *writes, size_t count, kw_written *results,
                  void (*done)(void *user), void *user)
{
    kw_order_handle *handle = kw_order_handle_of(base);
    bool any_alone = false;
    for (size_t i = 0; i < count && !any_alone; i++)
        any_alone = goes_alone(writes[i]);
    if (!any_alone) {
        write_together(handle, writes, count, results, done, user);
        return;
    }
    kw_arena *arena = kw_arena_new_for(NULL, KW_MEMORY_STORE);
    many *op = KW_ARENA_NEW(arena, many);
    *op = (many){.handle = handle,
                 .arena = arena,
                 .writes = writes,
                 .results = results,
                 .list = KW_ARENA_ARRAY(arena, const kw_write *, count),
                 .written = KW_ARENA_ARRAY(arena, kw_written, count),
                 .places = KW_ARENA_ARRAY(arena, size_t, count),
                 .alone = KW_ARENA_ARRAY(arena, single, count),
                 .done = done,
                 .user = user};
    sort_out(op, count);
    op->together_over = op->together == 0;
    if (op->together)
        write_together(handle, op->list, op->together, op->written, together_done, op);
    start_alone(op);
}

/* --- what goes through --------------------------------------------------------------------------- */

static void
handle_create_table(kw_store_handle *base, const kw_table_spec *spec, kw_create_done done, void *user)
{
    kw_store_handle *inner = kw_order_handle_of(base)->inner;
    inner->class->create_table(inner, spec, done, user);
}

static void
handle_describe_table(kw_store_handle *base, kw_bytes table, kw_deadline deadline, kw_table_facts_done done,
                      void *user)
{
    kw_store_handle *inner = kw_order_handle_of(base)->inner;
    inner->class->describe_table(inner, table, deadline, done, user);
}

static void
handle_drop_table(kw_store_handle *base, kw_bytes table, kw_deadline deadline, kw_simple_done done,
                  void *user)
{
    kw_store_handle *inner = kw_order_handle_of(base)->inner;
    inner->class->drop_table(inner, table, deadline, done, user);
}

static void
handle_regions(kw_store_handle *base, kw_bytes table, kw_deadline deadline, kw_regions_done done, void *user)
{
    kw_store_handle *inner = kw_order_handle_of(base)->inner;
    inner->class->regions(inner, table, deadline, done, user);
}

/* --- opening and closing ------------------------------------------------------------------------- */

void
kw_order_handle_settle(kw_order_handle *handle)
{
    if (!handle->closed_inner || handle->runs)
        return;
    g_hash_table_destroy(handle->sums);
    g_hash_table_destroy(handle->rows);
    kw_order_forget_filter(handle);
    g_free(handle);
}

static void
inner_closed(void *user)
{
    kw_order_handle *handle = user;
    void (*closed)(void *) = handle->closed;
    void *closed_user = handle->user;
    kw_fine_timers_free(handle->timers);
    handle->closed_inner = true;
    handle->runs++; /* the callback may close the last run */
    closed(closed_user);
    handle->runs--;
    kw_order_handle_settle(handle);
}

/* Later: no operation completes inside of this. */
static void
close_all(void *user)
{
    kw_order_handle *handle = user;
    kw_order_sums_close(handle);
    kw_waits_close(handle);
    kw_store_handle_close(handle->inner, inner_closed, handle);
}

static void
handle_close(kw_store_handle *base, void (*closed)(void *user), void *user)
{
    kw_order_handle *handle = kw_order_handle_of(base);
    handle->closed = closed;
    handle->user = user;
    kw_refuse_later(base, close_all, handle);
}

static kw_store_handle *
open_handle(kw_store *base, kw_loop *loop)
{
    static const kw_store_handle_class handle_class = {
        .write = handle_write,
        .write_many = handle_write_many,
        .write_if = kw_order_write_if,
        .increment = kw_order_increment,
        .get = kw_order_get,
        .get_many = kw_order_get_many,
        .open_range_scan = kw_order_open_range_scan,
        .run_fetch = kw_order_range_scan_fetch,
        .run_close = kw_order_range_scan_close,
        .create_table = handle_create_table,
        .describe_table = handle_describe_table,
        .drop_table = handle_drop_table,
        .regions = handle_regions,
        .close = handle_close,
    };
    kw_order_handle *handle = g_new0(kw_order_handle, 1);
    handle->base = (kw_store_handle){.class = &handle_class, .store = base, .loop = loop};
    handle->inner = kw_store_open_handle(store_of(base)->inner, loop);
    handle->inner->linked = true;
    handle->settings = &store_of(base)->settings;
    handle->timers = kw_fine_timers_new(loop);
    handle->sums = kw_row_names_new();
    handle->rows = kw_row_names_new();
    g_queue_init(&handle->waits);
    return &handle->base;
}

/* --- the store ----------------------------------------------------------------------------------- */

static const char *
about(const kw_store *store)
{
    return kw_store_about(store_of(store)->inner);
}

static bool
ready(kw_store *base, kw_error *ret_error)
{
    kw_order_store *store = store_of(base);
    if (!kw_store_ready(store->inner, ret_error))
        return false;
    if (!atomic_load(&store->stamps) || kw_order_time_is_known(store, ret_error))
        return true;
    return kw_error_prefix(ret_error, "tables with order: stamp are not served");
}

static bool
clock_offset_ms(kw_store *store, int64_t *ret_offset_ms)
{
    return kw_store_clock_offset_ms(store_of(store)->inner, ret_offset_ms);
}

static bool
inner_time(kw_store *store, bool roughly, kw_span *ret_span)
{
    kw_store *inner = store_of(store)->inner;
    return roughly ? kw_store_time_about(inner, ret_span) : kw_store_time(inner, ret_span);
}

static void
use_time(kw_store *store)
{
    kw_store_use_time(store_of(store)->inner);
}

static void
expect_stamps(kw_store *base, bool expected)
{
    kw_order_store *store = store_of(base);
    atomic_store(&store->stamps, expected);
    if (expected)
        kw_store_use_time(store->inner);
}

static void
reload(kw_store *store)
{
    kw_store_reload(store_of(store)->inner);
}

static void
free_store(kw_store *base)
{
    kw_store_free(store_of(base)->inner);
    g_free(base);
}

kw_store *
kw_order_store_new(kw_store *inner, const kw_order_settings *settings)
{
    static const kw_store_class store_class = {.name = "order",
                                               .shared = true, /* one process orders its writes by itself */
                                               .about = about,
                                               .ready = ready,
                                               .clock_offset_ms = clock_offset_ms,
                                               .time = inner_time,
                                               .use_time = use_time,
                                               .expect_stamps = expect_stamps,
                                               .open_handle = open_handle,
                                               .reload = reload,
                                               .free = free_store};
    kw_order_store *store = g_new0(kw_order_store, 1);
    store->base.class = &store_class;
    store->inner = inner;
    store->settings = *settings;
    return &store->base;
}
