#include "support/fault_store.h"

#include "store/class.h"
#include "store/refuse.h"

typedef struct fault_store {
    kw_store base;
    kw_store *inner;
    kw_fault_plan *plan;
    char *about;
} fault_store;

typedef struct fault_handle {
    kw_store_handle base;
    kw_store_handle *inner;
    kw_fault_plan *plan;
    void (*closed)(void *user);
    void *closed_user;
} fault_handle;

typedef struct fault_range_scan {
    kw_range_scan base;
    kw_range_scan *inner;
    kw_get_done done; /* of the current fetch */
    void *user;
    bool truncate;
    bool broken;
} fault_range_scan;

/* True if this operation must fail; *ret_fault is how. */
static bool
must_fail(kw_fault_plan *plan, kw_fault *ret_fault)
{
    atomic_fetch_add(&plan->operations, 1);
    uint64_t left = atomic_load(&plan->fail_at);
    while (left > 0)
        if (atomic_compare_exchange_weak(&plan->fail_at, &left, left - 1))
            break;
    if (left != 1)
        return false;
    atomic_fetch_add(&plan->failed, 1);
    *ret_fault = (kw_fault)atomic_load(&plan->fault);
    return true;
}

static kw_error
fault_error(kw_fault fault, bool write)
{
    kw_error error;
    bool timeout = fault == KW_FAULT_TIMEOUT;
    kw_error_set(&error, timeout ? KW_TIMEOUT : KW_UNAVAILABLE, "%s on purpose",
                 timeout ? "the deadline passed" : "failed");
    error.maybe_applied =
        write && (timeout || fault == KW_FAULT_UNKNOWN_APPLIED || fault == KW_FAULT_UNKNOWN_LOST);
    return error;
}

static bool
is_applied(kw_fault fault)
{
    return fault == KW_FAULT_UNKNOWN_APPLIED || fault == KW_FAULT_TIMEOUT;
}

static kw_outcome
outcome_of(const kw_error *error)
{
    return error->maybe_applied ? KW_OUTCOME_UNKNOWN : KW_OUTCOME_FAILED;
}

/* --- writes: the reply depends on the fault, not on what the inner store did ----------------------- */

typedef struct struck {
    kw_error error;
    void *user;
    kw_written *results;
    size_t count;
    union {
        kw_write_done write;
        kw_write_if_done write_if;
        kw_increment_done increment;
        void (*many)(void *user);
    } done;
} struck;

static struck *
struck_new(kw_fault fault, void *user)
{
    struck *what = g_new0(struck, 1);
    what->error = fault_error(fault, true);
    what->user = user;
    return what;
}

static void
struck_write(void *user, kw_outcome outcome, const kw_error *error)
{
    struck *what = user;
    (void)outcome, (void)error;
    what->done.write(what->user, outcome_of(&what->error), &what->error);
    g_free(what);
}

static void
fault_write(kw_store_handle *base, const kw_write *write, kw_write_done done, void *user)
{
    fault_handle *handle = (fault_handle *)base;
    kw_fault fault;
    if (!must_fail(handle->plan, &fault)) {
        kw_store_handle_write(handle->inner, write, done, user);
        return;
    }
    struck *what = struck_new(fault, user);
    what->done.write = done;
    if (is_applied(fault))
        kw_store_handle_write(handle->inner, write, struck_write, what);
    else
        kw_refuse_write(base, &what->error, struck_write, what);
}

static void
struck_many(void *user)
{
    struck *what = user;
    for (size_t i = 0; i < what->count; i++)
        what->results[i] = (kw_written){outcome_of(&what->error), what->error};
    what->done.many(what->user);
    g_free(what);
}

static void
fault_write_many(kw_store_handle *base, const kw_write *const *writes, size_t count, kw_written *results,
                 void (*done)(void *), void *user)
{
    fault_handle *handle = (fault_handle *)base;
    kw_fault fault;
    if (!must_fail(handle->plan, &fault)) {
        kw_store_handle_write_many(handle->inner, writes, count, results, done, user);
        return;
    }
    struck *what = struck_new(fault, user);
    what->results = results;
    what->count = count;
    what->done.many = done;
    if (is_applied(fault))
        kw_store_handle_write_many(handle->inner, writes, count, results, struck_many, what);
    else
        kw_complete_later(base, struck_many, what);
}

static void
struck_write_if(void *user, kw_outcome outcome, bool applied, const kw_error *error)
{
    struck *what = user;
    (void)outcome, (void)applied, (void)error;
    what->done.write_if(what->user, outcome_of(&what->error), false, &what->error);
    g_free(what);
}

static void
fault_write_if(kw_store_handle *base, const kw_write *write, const kw_check *check, kw_write_if_done done,
               void *user)
{
    fault_handle *handle = (fault_handle *)base;
    kw_fault fault;
    if (!must_fail(handle->plan, &fault)) {
        kw_store_handle_write_if(handle->inner, write, check, done, user);
        return;
    }
    struck *what = struck_new(fault, user);
    what->done.write_if = done;
    if (is_applied(fault))
        kw_store_handle_write_if(handle->inner, write, check, struck_write_if, what);
    else
        kw_refuse_write_if(base, &what->error, struck_write_if, what);
}

static void
fault_write_derived(kw_store_handle *base, const kw_write *write, const kw_derivation *derivation,
                    kw_write_if_done done, void *user)
{
    fault_handle *handle = (fault_handle *)base;
    kw_fault fault;
    if (!must_fail(handle->plan, &fault)) {
        kw_store_handle_write_derived(handle->inner, write, derivation, done, user);
        return;
    }
    struck *what = struck_new(fault, user);
    what->done.write_if = done;
    if (is_applied(fault))
        kw_store_handle_write_derived(handle->inner, write, derivation, struck_write_if, what);
    else
        kw_refuse_write_if(base, &what->error, struck_write_if, what);
}

static void
struck_increment(void *user, kw_outcome outcome, kw_rows *rows, const kw_error *error)
{
    struck *what = user;
    (void)outcome, (void)error;
    kw_rows_free(rows);
    what->done.increment(what->user, outcome_of(&what->error), NULL, &what->error);
    g_free(what);
}

static void
fault_increment(kw_store_handle *base, const kw_increment *increment, kw_increment_done done, void *user)
{
    fault_handle *handle = (fault_handle *)base;
    kw_fault fault;
    if (!must_fail(handle->plan, &fault)) {
        kw_store_handle_increment(handle->inner, increment, done, user);
        return;
    }
    struck *what = struck_new(fault, user);
    what->done.increment = done;
    if (is_applied(fault))
        kw_store_handle_increment(handle->inner, increment, struck_increment, what);
    else
        kw_refuse_increment(base, &what->error, struck_increment, what);
}

static void
fault_copy_rows(kw_store_handle *base, const kw_row_copy *copies, size_t count, kw_deadline deadline,
                kw_written *results, void (*done)(void *), void *user)
{
    fault_handle *handle = (fault_handle *)base;
    kw_fault fault;
    if (!must_fail(handle->plan, &fault)) {
        kw_store_handle_copy_rows(handle->inner, copies, count, deadline, results, done, user);
        return;
    }
    struck *what = struck_new(fault, user);
    what->results = results;
    what->count = count;
    what->done.many = done;
    if (is_applied(fault))
        kw_store_handle_copy_rows(handle->inner, copies, count, deadline, results, struck_many, what);
    else
        kw_complete_later(base, struck_many, what);
}

/* --- reads ------------------------------------------------------------------------------------------ */

static void
fault_get(kw_store_handle *base, const kw_get *get, kw_get_done done, void *user)
{
    fault_handle *handle = (fault_handle *)base;
    kw_fault fault;
    if (!must_fail(handle->plan, &fault)) {
        kw_store_handle_get(handle->inner, get, done, user);
        return;
    }
    kw_error error = fault_error(fault, false);
    kw_complete_get_later(base, NULL, &error, done, user);
}

static void
fault_get_many(kw_store_handle *base, const kw_get *const *gets, size_t count, kw_get_done done, void *user)
{
    fault_handle *handle = (fault_handle *)base;
    kw_fault fault;
    if (!must_fail(handle->plan, &fault)) {
        kw_store_handle_get_many(handle->inner, gets, count, done, user);
        return;
    }
    kw_error error = fault_error(fault, false);
    kw_complete_get_later(base, NULL, &error, done, user);
}

static kw_range_scan *
fault_open_range_scan(kw_store_handle *base, const kw_range_scan_spec *spec)
{
    fault_range_scan *run = g_new0(fault_range_scan, 1);
    run->base.handle = base;
    run->inner = kw_store_handle_open_range_scan(((fault_handle *)base)->inner, spec);
    return &run->base;
}

static void
range_scan_free(fault_range_scan *run)
{
    kw_range_scan_close(run->inner);
    g_free(run);
}

/* Returns the fetched rows to the caller. If the range scan was closed during the fetch, drops them. */
static void
return_rows(fault_range_scan *run, kw_rows *rows, const kw_error *error)
{
    if (run->inner) {
        run->done(run->user, rows, error);
        return;
    }
    kw_rows_free(rows);
    g_free(run);
}

static void
inner_fetched(void *user, kw_rows *rows, const kw_error *error)
{
    fault_range_scan *run = user;
    if (rows && run->truncate) {
        rows->count = (rows->count + 1) / 2;
        rows->end = false;
        run->broken = true;
    }
    return_rows(run, rows, error);
}

static void
struck_fetch(void *user, kw_rows *rows, const kw_error *error)
{
    return_rows(user, rows, error);
}

static void
fault_range_scan_fetch(kw_range_scan *base, uint32_t max_rows, size_t max_bytes, bool more_hint,
                       kw_deadline deadline, kw_get_done done, void *user)
{
    fault_range_scan *run = (fault_range_scan *)base;
    run->done = done;
    run->user = user;
    fault_handle *handle = (fault_handle *)base->handle;
    kw_fault fault = KW_FAULT_FAILED;
    bool struck_now = must_fail(handle->plan, &fault);
    run->truncate = struck_now && fault == KW_FAULT_TRUNCATED;
    if (run->broken || (struck_now && !run->truncate)) {
        kw_error error = fault_error(fault, false);
        kw_complete_get_later(base->handle, NULL, &error, struck_fetch, run);
        return;
    }
    kw_range_scan_fetch(run->inner, max_rows, max_bytes, more_hint, deadline, inner_fetched, run);
}

static void
fault_range_scan_close(kw_range_scan *base)
{
    fault_range_scan *run = (fault_range_scan *)base;
    bool answer_on_its_way = base->fetching && !run->inner->fetching;
    if (!answer_on_its_way) {
        range_scan_free(run); /* the inner range scan calls nothing back */
        return;
    }
    kw_range_scan_close(run->inner);
    run->inner = NULL;
}

/* --- tables ----------------------------------------------------------------------------------------- */

static void
fault_create_table(kw_store_handle *base, const kw_table_spec *spec, kw_create_done done, void *user)
{
    fault_handle *handle = (fault_handle *)base;
    kw_fault fault;
    if (!must_fail(handle->plan, &fault)) {
        kw_store_handle_create_table(handle->inner, spec, done, user);
        return;
    }
    kw_error error = fault_error(fault, false);
    kw_refuse_create(base, &error, done, user);
}

static void
fault_describe_table(kw_store_handle *base, kw_bytes table, kw_deadline deadline, kw_table_facts_done done,
                     void *user)
{
    fault_handle *handle = (fault_handle *)base;
    kw_fault fault;
    if (!must_fail(handle->plan, &fault)) {
        kw_store_handle_describe_table(handle->inner, table, deadline, done, user);
        return;
    }
    kw_error error = fault_error(fault, false);
    kw_refuse_facts(base, &error, done, user);
}

static void
fault_drop_table(kw_store_handle *base, kw_bytes table, kw_deadline deadline, kw_simple_done done, void *user)
{
    fault_handle *handle = (fault_handle *)base;
    kw_fault fault;
    if (!must_fail(handle->plan, &fault)) {
        kw_store_handle_drop_table(handle->inner, table, deadline, done, user);
        return;
    }
    kw_error error = fault_error(fault, false);
    kw_refuse_simple(base, &error, done, user);
}

static void
fault_regions(kw_store_handle *base, kw_bytes table, kw_deadline deadline, kw_regions_done done, void *user)
{
    fault_handle *handle = (fault_handle *)base;
    kw_fault fault;
    if (!must_fail(handle->plan, &fault)) {
        kw_store_handle_regions(handle->inner, table, deadline, done, user);
        return;
    }
    kw_error error = fault_error(fault, false);
    kw_refuse_regions(base, &error, done, user);
}

/* --- store handle and store ------------------------------------------------------------------------ */

static void
inner_closed(void *user)
{
    fault_handle *handle = user;
    handle->closed(handle->closed_user);
}

/* Runs after the callbacks of the operations that failed here. */
static void
close_inner(void *user)
{
    kw_store_handle_close(((fault_handle *)user)->inner, inner_closed, user);
}

static void
fault_close(kw_store_handle *base, void (*closed)(void *), void *user)
{
    fault_handle *handle = (fault_handle *)base;
    handle->closed = closed;
    handle->closed_user = user;
    kw_complete_later(base, close_inner, handle);
}

static kw_store_handle *
fault_open_handle(kw_store *base, kw_loop *loop)
{
    static const kw_store_handle_class handle_class = {
        .write = fault_write,
        .write_many = fault_write_many,
        .write_if = fault_write_if,
        .write_derived = fault_write_derived,
        .increment = fault_increment,
        .copy_rows = fault_copy_rows,
        .get = fault_get,
        .get_many = fault_get_many,
        .open_range_scan = fault_open_range_scan,
        .range_scan_fetch = fault_range_scan_fetch,
        .range_scan_close = fault_range_scan_close,
        .create_table = fault_create_table,
        .describe_table = fault_describe_table,
        .drop_table = fault_drop_table,
        .regions = fault_regions,
        .close = fault_close,
    };
    fault_store *store = (fault_store *)base;
    fault_handle *handle = g_new0(fault_handle, 1);
    handle->base = (kw_store_handle){.class = &handle_class, .store = base, .loop = loop};
    handle->inner = kw_store_open_handle(store->inner, loop);
    handle->plan = store->plan;
    return &handle->base;
}

static const char *
fault_about(const kw_store *store)
{
    return ((const fault_store *)store)->about;
}

static bool
fault_ready(kw_store *store, kw_error *ret_error)
{
    return kw_store_ready(((fault_store *)store)->inner, ret_error);
}

static bool
fault_clock_offset_ms(kw_store *store, int64_t *ret_offset_ms)
{
    return kw_store_clock_offset_ms(((fault_store *)store)->inner, ret_offset_ms);
}

static void
fault_reload(kw_store *store)
{
    kw_store_reload(((fault_store *)store)->inner);
}

static void
fault_free(kw_store *base)
{
    fault_store *store = (fault_store *)base;
    kw_store_free(store->inner);
    g_free(store->about);
    g_free(store);
}

kw_store *
kw_fault_store_new(kw_store *inner, kw_fault_plan *plan)
{
    static const kw_store_class store_class = {
        .name = "fault",
        .about = fault_about,
        .ready = fault_ready,
        .clock_offset_ms = fault_clock_offset_ms,
        .open_handle = fault_open_handle,
        .reload = fault_reload,
        .free = fault_free,
    };
    fault_store *store = g_new0(fault_store, 1);
    store->base.class = &store_class;
    store->inner = inner;
    store->plan = plan;
    store->about = g_strdup_printf("%s, failing on purpose", kw_store_about(inner));
    return &store->base;
}
