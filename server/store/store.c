/* The wrappers around a store's functions for rows; those for tables and the store itself are in table.c.
 * They assert against bugs in the caller and reject bad input, so a store receives only valid arguments. A
 * rejection is reported like any other result: by the completion, in a later loop iteration. */
#include "store/store.h"

#include "base/guard.h"
#include "base/metrics.h"
#include "store/check.h"
#include "store/class.h"
#include "store/control.h"
#include "store/refuse.h"

static void
count_operations(const kw_store_handle *handle, kw_metric metric, size_t count)
{
    if (!handle->linked)
        kw_metrics_add(metric, (int64_t)count);
}

/* Called first by each operation. From then on, the store uses memory of the caller's arena. */
static void
begin_operation(const kw_store_handle *handle, bool is_valid)
{
    g_assert(handle && is_valid);
    kw_guard_end();
}

/* A store with one writer sets one timestamp per write. */
static void
assert_valid_write(const kw_store_handle *handle, const kw_write *write)
{
    bool own = write->own_timestamps && write->kind == KW_WRITE_PUT;
    g_assert(!own || (kw_store_is_shared(handle->store) && write->timestamp != KW_TIMESTAMP_NONE));
    g_assert(own || (!write->own_timestamps && write->markers_count == 0));
}

void
kw_store_handle_write(kw_store_handle *handle, const kw_write *write, kw_write_done done, void *user)
{
    begin_operation(handle, done);
    assert_valid_write(handle, write);
    kw_error error;
    if (kw_store_handle_is_closing(handle, &error) || !kw_check_write(write, &error)) {
        kw_refuse_write(handle, &error, done, user);
        return;
    }
    count_operations(handle, KW_METRIC_store_writes, 1);
    handle->class->write(handle, write, done, user);
}

/* --- several writes: the store receives the valid ones, the others are rejected here ------------- */

typedef struct partial_writes {
    void (*done)(void *user);
    void *user;
    kw_written *results; /* the caller's */
    size_t count;        /* of valid writes */
    const kw_write **writes;
    kw_written *valid_results;
    size_t *indexes; /* of the valid writes among the caller's */
} partial_writes;

static void
partial_writes_done(void *user)
{
    partial_writes *partial = user;
    for (size_t i = 0; i < partial->count; i++)
        partial->results[partial->indexes[i]] = partial->valid_results[i];
    void (*done)(void *) = partial->done;
    void *done_user = partial->user;
    g_free(partial->writes);
    g_free(partial->valid_results);
    g_free(partial->indexes);
    g_free(partial);
    done(done_user);
}

static partial_writes *
check_writes(kw_store_handle *handle, const kw_write *const *writes, size_t count, kw_written *results)
{
    partial_writes *partial = g_new0(partial_writes, 1);
    partial->results = results;
    partial->writes = g_new(const kw_write *, count);
    partial->valid_results = g_new0(kw_written, count);
    partial->indexes = g_new(size_t, count);
    for (size_t i = 0; i < count; i++) {
        if (!kw_store_handle_is_closing(handle, &results[i].error) &&
            kw_check_write_of_many(writes, count, i, &results[i].error)) {
            partial->indexes[partial->count] = i;
            partial->writes[partial->count++] = writes[i];
        } else {
            results[i].outcome = KW_OUTCOME_FAILED;
            kw_metrics_add(KW_METRIC_store_errors, 1);
        }
    }
    return partial;
}

static bool
all_valid(const kw_write *const *writes, size_t count)
{
    kw_error ignored;
    for (size_t i = 0; i < count; i++)
        if (!kw_check_write_of_many(writes, count, i, &ignored))
            return false;
    return true;
}

void
kw_store_handle_write_many(kw_store_handle *handle, const kw_write *const *writes, size_t count,
                           kw_written *results, void (*done)(void *user), void *user)
{
    begin_operation(handle, done);
    g_assert(count == 0 || (writes && results));
    for (size_t i = 0; i < count; i++)
        assert_valid_write(handle, writes[i]);
    if (count == 0) {
        kw_complete_later(handle, done, user);
        return;
    }
    if (!handle->closing && all_valid(writes, count)) {
        count_operations(handle, KW_METRIC_store_writes, count);
        handle->class->write_many(handle, writes, count, results, done, user);
        return;
    }
    partial_writes *partial = check_writes(handle, writes, count, results);
    partial->done = done;
    partial->user = user;
    count_operations(handle, KW_METRIC_store_writes, partial->count);
    if (partial->count == 0)
        kw_complete_later(handle, partial_writes_done, partial);
    else
        handle->class->write_many(handle, partial->writes, partial->count, partial->valid_results,
                                  partial_writes_done, partial);
}

/* --- conditional writes ------------------------------------------------------------------------- */

static bool
check_others(const kw_store_handle *handle, const kw_ordering *ordering, size_t others_count,
             kw_error *ret_error)
{
    if (others_count == 0 || !kw_store_is_shared(handle->store) || (ordering && kw_stamps_writer(ordering)))
        return true;
    return kw_error_set(ret_error, KW_REFUSED,
                        "increments and conditional writes of several rows need order: stamp and atomics: "
                        "true in this store, which cannot write several rows in one commit");
}

void
kw_store_handle_write_if(kw_store_handle *handle, const kw_write *write, const kw_check *check,
                         kw_write_if_done done, void *user)
{
    begin_operation(handle, done);
    kw_error error;
    if (kw_store_handle_is_closing(handle, &error) || !kw_check_condition(write, check, &error) ||
        !check_others(handle, write->ordering, write->others_count, &error)) {
        kw_refuse_write_if(handle, &error, done, user);
        return;
    }
    count_operations(handle, KW_METRIC_store_writes, 1 + write->others_count);
    handle->class->write_if(handle, write, check, done, user);
}

static void
assert_valid_derivation(const kw_write *write, const kw_derivation *derivation)
{
    g_assert(write->kind == KW_WRITE_PUT && write->timestamp == KW_TIMESTAMP_NONE);
    g_assert(derivation->derive && derivation->columns_count > 0);
    g_assert(derivation->columns_count <= KW_STORE_DERIVED_COLUMNS_MAX);
    for (size_t i = 0; i < derivation->columns_count; i++)
        g_assert(!derivation->columns[i].whole_family);
}

static bool
check_derives(const kw_store_handle *handle, const kw_ordering *ordering, kw_error *ret_error)
{
    bool atomic = !kw_store_is_shared(handle->store) || (ordering && kw_writes_writer(ordering));
    return (atomic && handle->class->write_derived) ||
           kw_error_set(ret_error, KW_REFUSED,
                        "writes that depend on what they read need atomics: true, and with order: store a "
                        "path over fields that change, in this store");
}

void
kw_store_handle_write_derived(kw_store_handle *handle, const kw_write *write, const kw_derivation *derivation,
                              kw_write_if_done done, void *user)
{
    begin_operation(handle, done);
    assert_valid_derivation(write, derivation);
    kw_error error;
    if (kw_store_handle_is_closing(handle, &error) || !kw_check_derivation(write, derivation, &error) ||
        !check_derives(handle, write->ordering, &error) ||
        !check_others(handle, write->ordering, write->others_count, &error)) {
        kw_refuse_write_if(handle, &error, done, user);
        return;
    }
    count_operations(handle, KW_METRIC_store_writes, 1 + write->others_count);
    handle->class->write_derived(handle, write, derivation, done, user);
}

void
kw_store_handle_increment(kw_store_handle *handle, const kw_increment *increment, kw_increment_done done,
                          void *user)
{
    begin_operation(handle, done);
    kw_error error;
    if (kw_store_handle_is_closing(handle, &error) || !kw_check_increment(increment, &error) ||
        !check_others(handle, increment->ordering, increment->others_count, &error)) {
        kw_refuse_increment(handle, &error, done, user);
        return;
    }
    count_operations(handle, KW_METRIC_store_writes, 1 + increment->others_count);
    handle->class->increment(handle, increment, done, user);
}

/* --- copies ------------------------------------------------------------------------------------- */

/* A store with several writers needs to know how writes are ordered. */
static bool
check_can_copy(const kw_store_handle *handle, bool has_function, bool has_ordering, kw_error *ret_error)
{
    if (has_function && (has_ordering || !kw_store_is_shared(handle->store)))
        return true;
    return kw_error_set(ret_error, KW_REFUSED,
                        "the embedded store cannot sweep rows, and other stores can copy and sweep only rows "
                        "of tables with an order of writes");
}

static bool
check_copies(const kw_store_handle *handle, const kw_row_copy *copies, size_t count, kw_error *ret_error)
{
    bool ordered = true;
    for (size_t i = 0; i < count; i++) {
        g_assert(!copies[i].both_ways || copies[i].ordering);
        ordered = ordered && copies[i].ordering;
        if (!kw_check_row_copy(&copies[i], ret_error))
            return kw_error_prefix(ret_error, "copy %zu of %zu", i + 1, count);
    }
    return check_can_copy(handle, handle->class->copy_rows, ordered, ret_error);
}

void
kw_store_handle_copy_rows(kw_store_handle *handle, const kw_row_copy *copies, size_t count,
                          kw_deadline deadline, kw_written *results, void (*done)(void *user), void *user)
{
    begin_operation(handle, done);
    g_assert(count == 0 || (copies && results));
    kw_error error;
    if (count == 0) {
        kw_complete_later(handle, done, user);
    } else if (kw_store_handle_is_closing(handle, &error) || !check_copies(handle, copies, count, &error)) {
        kw_refuse_copies(handle, &error, results, count, done, user);
    } else {
        count_operations(handle, KW_METRIC_store_writes, count);
        handle->class->copy_rows(handle, copies, count, deadline, results, done, user);
    }
}

static bool
check_sweeps(const kw_store_handle *handle, const kw_row_sweep *sweeps, size_t count, kw_error *ret_error)
{
    bool ordered = true;
    for (size_t i = 0; i < count; i++) {
        ordered = ordered && sweeps[i].ordering;
        if (!kw_check_row_sweep(&sweeps[i], ret_error))
            return kw_error_prefix(ret_error, "sweep %zu of %zu", i + 1, count);
    }
    return check_can_copy(handle, handle->class->sweep_rows, ordered, ret_error);
}

void
kw_store_handle_sweep_rows(kw_store_handle *handle, const kw_row_sweep *sweeps, size_t count,
                           kw_deadline deadline, kw_written *results, void (*done)(void *user), void *user)
{
    begin_operation(handle, done);
    g_assert(count == 0 || (sweeps && results));
    kw_error error;
    if (count == 0) {
        kw_complete_later(handle, done, user);
    } else if (kw_store_handle_is_closing(handle, &error) || !check_sweeps(handle, sweeps, count, &error)) {
        kw_refuse_copies(handle, &error, results, count, done, user);
    } else {
        count_operations(handle, KW_METRIC_store_writes, count);
        handle->class->sweep_rows(handle, sweeps, count, deadline, results, done, user);
    }
}

/* --- reads -------------------------------------------------------------------------------------- */

static void
assert_valid_get(const kw_store_handle *handle, const kw_get *get)
{
    g_assert(!get->other || (kw_store_is_shared(handle->store) && get->ordering &&
                             get->ordering->regime.order == KW_WRITE_ORDER_STAMP));
}

void
kw_store_handle_get(kw_store_handle *handle, const kw_get *get, kw_get_done done, void *user)
{
    begin_operation(handle, done);
    assert_valid_get(handle, get);
    kw_error error;
    if (kw_store_handle_is_closing(handle, &error) || !kw_check_get(get, &error)) {
        kw_complete_get_later(handle, NULL, &error, done, user);
        return;
    }
    count_operations(handle, KW_METRIC_store_reads, 1);
    handle->class->get(handle, get, done, user);
}

static bool
check_gets(const kw_store_handle *handle, const kw_get *const *gets, size_t count, kw_error *ret_error)
{
    for (size_t i = 0; i < count; i++) {
        g_assert(kw_bytes_equal(gets[i]->table, gets[0]->table));
        assert_valid_get(handle, gets[i]);
        if (!kw_check_get_like(gets[i], i ? gets[i - 1] : NULL, ret_error))
            return kw_error_prefix(ret_error, "get %zu of %zu", i + 1, count);
    }
    return true;
}

void
kw_store_handle_get_many(kw_store_handle *handle, const kw_get *const *gets, size_t count, kw_get_done done,
                         void *user)
{
    begin_operation(handle, done);
    g_assert(count == 0 || gets);
    kw_error error;
    if (count == 0) {
        kw_complete_get_later(handle, kw_rows_new(), NULL, done, user);
    } else if (kw_store_handle_is_closing(handle, &error) || !check_gets(handle, gets, count, &error)) {
        kw_complete_get_later(handle, NULL, &error, done, user);
    } else {
        count_operations(handle, KW_METRIC_store_reads, count);
        handle->class->get_many(handle, gets, count, done, user);
    }
}

/* --- range scans --------------------------------------------------------------------------------- */

static kw_range_scan *
rejected_scan(kw_store_handle *handle, const kw_error *error)
{
    kw_range_scan *scan = g_new0(kw_range_scan, 1);
    scan->handle = handle;
    scan->rejection = g_memdup2(error, sizeof *error);
    return scan;
}

kw_range_scan *
kw_store_handle_open_range_scan(kw_store_handle *handle, const kw_range_scan_spec *spec)
{
    begin_operation(handle, spec);
    kw_error error;
    if (kw_store_handle_is_closing(handle, &error) || !kw_check_range_scan_spec(spec, &error))
        return rejected_scan(handle, &error);
    kw_range_scan *scan = handle->class->open_range_scan(handle, spec);
    g_assert(scan && scan->handle == handle && !scan->fetching && !scan->rejection);
    count_operations(handle, KW_METRIC_range_scans_opened, 1);
    return scan;
}

static void
fetch_done(void *user, kw_rows *rows, const kw_error *error)
{
    kw_range_scan *scan = user;
    g_assert(scan->fetching && !rows == !!error);
    scan->fetching = false;
    if (rows)
        count_operations(scan->handle, KW_METRIC_rows_scanned, rows->scanned);
    scan->done(scan->user, rows, error);
}

/* done is NULL if the scan was closed while this task was pending. */
static void
rejected_fetch_done(void *user)
{
    kw_range_scan *scan = user;
    kw_error rejection = *scan->rejection; /* done can close the scan and then use the error */
    scan->fetching = false;
    if (scan->done)
        scan->done(scan->user, NULL, &rejection);
    else
        kw_range_scan_close(scan);
}

/* As above, for a fetch that was started after the store handle was closed. The store still has the scan. */
static void
closed_fetch_done(void *user)
{
    kw_range_scan *scan = user;
    kw_error error;
    scan->fetching = false;
    scan->rejected_by_close = false;
    kw_store_handle_is_closing(scan->handle, &error);
    if (scan->done)
        scan->done(scan->user, NULL, &error);
    else
        kw_range_scan_close(scan);
}

void
kw_range_scan_fetch(kw_range_scan *scan, uint32_t max_rows, size_t max_bytes, bool more_hint,
                    kw_deadline deadline, kw_get_done done, void *user)
{
    g_assert(scan && !scan->fetching && max_rows > 0 && max_bytes > 0);
    begin_operation(scan->handle, done);
    scan->fetching = true;
    scan->done = done;
    scan->user = user;
    scan->rejected_by_close = scan->handle->closing;
    if (scan->rejection)
        kw_complete_later(scan->handle, rejected_fetch_done, scan);
    else if (scan->rejected_by_close)
        kw_complete_later(scan->handle, closed_fetch_done, scan);
    else
        scan->handle->class->range_scan_fetch(scan, max_rows, max_bytes, more_hint, deadline, fetch_done,
                                              scan);
}

void
kw_range_scan_close(kw_range_scan *scan)
{
    if (!scan)
        return;
    bool rejected = scan->rejection || scan->rejected_by_close;
    if (!rejected) {
        scan->handle->class->range_scan_close(scan);
        return;
    }
    scan->done = NULL;
    if (scan->fetching)
        return;
    g_free(scan->rejection);
    g_free(scan);
}
