/* See order.h and order_internal.h. */
#include "store/order/order_internal.h"

#include "store/refuse.h"

/* How many writes that need a read first can be in progress at the same time, for each multi-write. */
#define SINGLES_MAX 64

static kw_order_store *
store_of(const kw_store *store)
{
    return (kw_order_store *)store;
}

/* --- how a write is ordered ------------------------------------------------------------------- */

typedef enum route {
    ROUTE_UNCHANGED,
    ROUTE_MARKED, /* unchanged, except for kw:w */
    ROUTE_PUT,
    ROUTE_REMOVAL,
    ROUTE_COUNTERS,
    ROUTE_RAISED,
    ROUTE_STAMP,
    ROUTE_TRACE
} route;

static route
route_of(const kw_write *write)
{
    const kw_ordering *ordering = write->ordering;
    if (ordering && write->timestamp != KW_TIMESTAMP_NONE && write->kind == KW_WRITE_PUT &&
        kw_leaves_traces(ordering))
        return ROUTE_TRACE;
    if (!ordering || write->timestamp != KW_TIMESTAMP_NONE)
        return ordering && ordering->regime.marks ? ROUTE_MARKED : ROUTE_UNCHANGED;
    if (ordering->regime.order == KW_WRITE_ORDER_STAMP)
        return ROUTE_STAMP;
    if (write->kind == KW_WRITE_DELETE)
        return ROUTE_REMOVAL;
    if (ordering->regime.order == KW_WRITE_ORDER_RAISED)
        return ROUTE_RAISED;
    return kw_writes_generation(ordering) && write->counters ? ROUTE_COUNTERS : ROUTE_PUT;
}

/* A single write that is executed as a multi-write of one write. */
typedef struct one_write {
    const kw_write *write;
    kw_written result;
    kw_write_done done;
    void *user;
} one_write;

static void
one_written(void *user)
{
    one_write one = *(one_write *)user;
    g_free(user);
    one.done(one.user, one.result.outcome, one.result.outcome == KW_OUTCOME_OK ? NULL : &one.result.error);
}

typedef void (*many_writer)(kw_order_handle *handle, const kw_write *const *writes, size_t count,
                            kw_written *results, void (*done)(void *user), void *user);

static void
write_one(kw_order_handle *handle, many_writer writer, const kw_write *write, kw_write_done done, void *user)
{
    one_write *one = g_new0(one_write, 1);
    *one = (one_write){.write = write, .done = done, .user = user};
    writer(handle, &one->write, 1, &one->result, one_written, one);
}

static void
handle_write(kw_store_handle *base, const kw_write *write, kw_write_done done, void *user)
{
    kw_order_handle *handle = kw_order_handle_of(base);
    if (kw_order_is_ahead(handle, write)) {
        write_one(handle, kw_order_write_ahead, write, done, user);
        return;
    }
    switch (route_of(write)) {
    case ROUTE_UNCHANGED:
        handle->inner->class->write(handle->inner, write, done, user);
        return;
    case ROUTE_MARKED:
        write_one(handle, kw_order_write_marked, write, done, user);
        return;
    case ROUTE_PUT:
        kw_order_put(handle, write, done, user);
        return;
    case ROUTE_REMOVAL:
        kw_order_remove(handle, write, done, user);
        return;
    case ROUTE_COUNTERS:
        kw_order_put_counters(handle, write, done, user);
        return;
    case ROUTE_RAISED:
        kw_order_raise(handle, write, done, user);
        return;
    case ROUTE_STAMP:
        write_one(handle, kw_order_stamp, write, done, user);
        return;
    case ROUTE_TRACE:
        write_one(handle, kw_order_trace, write, done, user);
        return;
    }
}

/* --- many writes ------------------------------------------------------------------------------ */

typedef struct many many;

/* A write of a multi-write that is sent alone. */
typedef struct single {
    many *owner;
    size_t index;
} single;

/* A multi-write. The writes that need no read are executed together. Each of the others is executed by
 * itself, up to SINGLES_MAX at the same time. */
struct many {
    kw_order_handle *handle;
    kw_arena *arena;
    const kw_write *const *writes;
    kw_written *results;
    const kw_write **batch; /* the writes of the batch */
    kw_written *written;
    size_t *indexes;
    size_t batch_count;
    single *singles;
    size_t singles_count, started, finished;
    bool batch_done;
    void (*done)(void *user);
    void *user;
};

static void start_singles(many *op);

static void
finish_if_done(many *op)
{
    if (!op->batch_done || op->finished < op->singles_count)
        return;
    void (*done)(void *) = op->done;
    void *user = op->user;
    kw_arena_free(op->arena);
    done(user);
}

static void
on_single_done(void *user, kw_outcome outcome, const kw_error *error)
{
    single *one = user;
    many *op = one->owner;
    op->results[one->index].outcome = outcome;
    if (error)
        op->results[one->index].error = *error;
    else
        kw_error_clear(&op->results[one->index].error);
    op->finished++;
    start_singles(op);
    finish_if_done(op);
}

static void
start_singles(many *op)
{
    while (op->started < op->singles_count && op->started - op->finished < SINGLES_MAX) {
        single *one = &op->singles[op->started++];
        handle_write(&op->handle->base, op->writes[one->index], on_single_done, one);
    }
}

static void
on_batch_done(void *user)
{
    many *op = user;
    for (size_t i = 0; i < op->batch_count; i++)
        op->results[op->indexes[i]] = op->written[i];
    op->batch_done = true;
    finish_if_done(op);
}

static bool
is_single(const kw_write *write)
{
    route chosen = route_of(write);
    return chosen == ROUTE_REMOVAL || chosen == ROUTE_COUNTERS || chosen == ROUTE_RAISED;
}

static void
divide(many *op, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (is_single(op->writes[i])) {
            op->singles[op->singles_count++] = (single){op, i};
            continue;
        }
        op->batch[op->batch_count] = op->writes[i];
        op->indexes[op->batch_count++] = i;
    }
}

static void
write_batch(kw_order_handle *handle, const kw_write *const *writes, size_t count, kw_written *results,
            void (*done)(void *user), void *user)
{
    if (route_of(writes[0]) == ROUTE_STAMP)
        kw_order_stamp(handle, writes, count, results, done, user);
    else if (route_of(writes[0]) == ROUTE_TRACE)
        kw_order_trace(handle, writes, count, results, done, user);
    else if (writes[0]->ordering && writes[0]->ordering->regime.marks)
        kw_order_write_marked(handle, writes, count, results, done, user);
    else if (kw_order_has_steps(writes, count))
        kw_order_write_in_steps(handle, writes, count, results, done, user);
    else
        handle->inner->class->write_many(handle->inner, writes, count, results, done, user);
}

/* All writes with an ordering belong to records of the same table. */
static void
handle_write_many(kw_store_handle *base, const kw_write *const *writes, size_t count, kw_written *results,
                  void (*done)(void *user), void *user)
{
    kw_order_handle *handle = kw_order_handle_of(base);
    bool any_single = false, any_ahead = false;
    for (size_t i = 0; i < count && !any_ahead; i++) {
        any_single = any_single || is_single(writes[i]);
        any_ahead = kw_order_is_ahead(handle, writes[i]);
    }
    if (any_ahead) {
        kw_order_write_ahead(handle, writes, count, results, done, user);
        return;
    }
    if (!any_single) {
        write_batch(handle, writes, count, results, done, user);
        return;
    }
    kw_arena *arena = kw_arena_new_for(NULL, KW_MEMORY_STORE);
    many *op = KW_ARENA_NEW(arena, many);
    *op = (many){.handle = handle,
                 .arena = arena,
                 .writes = writes,
                 .results = results,
                 .batch = KW_ARENA_ARRAY(arena, const kw_write *, count),
                 .written = KW_ARENA_ARRAY(arena, kw_written, count),
                 .indexes = KW_ARENA_ARRAY(arena, size_t, count),
                 .singles = KW_ARENA_ARRAY(arena, single, count),
                 .done = done,
                 .user = user};
    divide(op, count);
    op->batch_done = op->batch_count == 0;
    if (op->batch_count)
        write_batch(handle, op->batch, op->batch_count, op->written, on_batch_done, op);
    start_singles(op);
}

/* --- operations that are passed on ------------------------------------------------------------ */

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

/* --- opening and closing ---------------------------------------------------------------------- */

static void
inner_closed(void *user)
{
    kw_order_handle *handle = user;
    kw_fine_timers_free(handle->timers);
    handle->closed(handle->user);
}

/* Closes in a later loop iteration, so that no operation completes inside the call. */
static void
close_all(void *user)
{
    kw_order_handle *handle = user;
    kw_order_increments_close(handle);
    kw_order_cas_close(handle);
    kw_waits_close(handle);
    kw_store_handle_close(handle->inner, inner_closed, handle);
}

static void
handle_close(kw_store_handle *base, void (*closed)(void *user), void *user)
{
    kw_order_handle *handle = kw_order_handle_of(base);
    handle->closed = closed;
    handle->user = user;
    kw_complete_later(base, close_all, handle);
}

/* The inner store frees the inner handle. */
static void
handle_free(kw_store_handle *base)
{
    kw_order_handle *handle = kw_order_handle_of(base);
    g_hash_table_destroy(handle->increments);
    g_hash_table_destroy(handle->cas_rows);
    g_hash_table_destroy(handle->rows);
    kw_order_forget_filter(handle);
    g_free(handle);
}

static kw_store_handle *
open_handle(kw_store *base, kw_loop *loop)
{
    static const kw_store_handle_class handle_class = {
        .write = handle_write,
        .write_many = handle_write_many,
        .write_if = kw_order_write_if,
        .write_derived = kw_order_write_derived,
        .increment = kw_order_increment,
        .copy_rows = kw_order_copy_rows,
        .sweep_rows = kw_order_sweep_rows,
        .get = kw_order_get,
        .get_many = kw_order_get_many,
        .open_range_scan = kw_order_open_range_scan,
        .range_scan_fetch = kw_order_range_scan_fetch,
        .range_scan_close = kw_order_range_scan_close,
        .create_table = handle_create_table,
        .describe_table = handle_describe_table,
        .drop_table = handle_drop_table,
        .regions = handle_regions,
        .close = handle_close,
        .free = handle_free,
    };
    kw_order_handle *handle = g_new0(kw_order_handle, 1);
    handle->base = (kw_store_handle){.class = &handle_class, .store = base, .loop = loop};
    handle->inner = kw_store_open_handle(store_of(base)->inner, loop);
    handle->inner->linked = true;
    handle->settings = &store_of(base)->settings;
    handle->timers = kw_fine_timers_new(loop);
    handle->increments = kw_order_row_table_new();
    handle->cas_rows = kw_order_row_table_new();
    handle->rows = kw_order_row_table_new();
    g_queue_init(&handle->waits);
    return &handle->base;
}

/* --- the store -------------------------------------------------------------------------------- */

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
    return roughly ? kw_store_time_estimate(inner, ret_span) : kw_store_time(inner, ret_span);
}

static void
keep_time_known(kw_store *store)
{
    kw_store_keep_time_known(store_of(store)->inner);
}

static void
expect_stamps(kw_store *base, bool expected)
{
    kw_order_store *store = store_of(base);
    atomic_store(&store->stamps, expected);
    if (expected)
        kw_store_keep_time_known(store->inner);
}

static uint64_t
last_doubt_ns(const kw_store *store)
{
    return kw_store_last_doubt_ns(((const kw_order_store *)store)->inner);
}

static void
set_fence(kw_store *store, const kw_fence *fence)
{
    kw_store_set_fence(store_of(store)->inner, fence);
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
                                               .shared = true, /* one writer needs no ordering store */
                                               .about = about,
                                               .ready = ready,
                                               .clock_offset_ms = clock_offset_ms,
                                               .time = inner_time,
                                               .keep_time_known = keep_time_known,
                                               .expect_stamps = expect_stamps,
                                               .set_fence = set_fence,
                                               .last_doubt_ns = last_doubt_ns,
                                               .open_handle = open_handle,
                                               .reload = reload,
                                               .free = free_store};
    kw_order_store *store = g_new0(kw_order_store, 1);
    store->base.class = &store_class;
    store->inner = inner;
    store->settings = *settings;
    return &store->base;
}
