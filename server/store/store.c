/* The asserting wrappers: programming mistakes end the process here, bad input is refused here, later
 * and on the loop; a store sees only what is allowed. Tables and the store itself are in table.c. */
#include "store/store.h"

#include "base/metrics.h"
#include "store/check.h"
#include "store/class.h"
#include "store/refuse.h"

static void
count_operations(const kw_store_handle *handle, kw_metric figure, size_t count)
{
    if (!handle->linked)
        kw_metrics_add(figure, (int64_t)count);
}

static void
assert_whole(const kw_store_handle *handle, bool has_completion)
{
    g_assert(handle && has_completion);
}

void
kw_store_handle_write(kw_store_handle *handle, const kw_write *write, kw_write_done done, void *user)
{
    assert_whole(handle, done);
    kw_error error;
    if (kw_store_handle_is_shut(handle, &error) || !kw_check_write(write, &error)) {
        kw_refuse_write(handle, &error, done, user);
        return;
    }
    count_operations(handle, KW_METRIC_store_writes, 1);
    handle->class->write(handle, write, done, user);
}

/* --- many writes: the allowed ones go on, the others are answered here -------------------------- */

typedef struct sifted {
    void (*done)(void *user);
    void *user;
    kw_written *results; /* the caller's */
    size_t count;        /* of the allowed ones */
    const kw_write **writes;
    kw_written *allowed_results;
    size_t *places;
} sifted;

static void
sifted_done(void *user)
{
    sifted *sift = user;
    for (size_t i = 0; i < sift->count; i++)
        sift->results[sift->places[i]] = sift->allowed_results[i];
    void (*done)(void *) = sift->done;
    void *done_user = sift->user;
    g_free(sift->writes);
    g_free(sift->allowed_results);
    g_free(sift->places);
    g_free(sift);
    done(done_user);
}

static sifted *
sift_writes(kw_store_handle *handle, const kw_write *const *writes, size_t count, kw_written *results)
{
    sifted *sift = g_new0(sifted, 1);
    sift->results = results;
    sift->writes = g_new(const kw_write *, count);
    sift->allowed_results = g_new0(kw_written, count);
    sift->places = g_new(size_t, count);
    for (size_t i = 0; i < count; i++) {
        if (!kw_store_handle_is_shut(handle, &results[i].error) &&
            kw_check_write(writes[i], &results[i].error)) {
            sift->places[sift->count] = i;
            sift->writes[sift->count++] = writes[i];
        } else {
            results[i].outcome = KW_OUTCOME_FAILED;
            kw_metrics_add(KW_METRIC_store_errors, 1);
        }
    }
    return sift;
}

static bool
all_allowed(const kw_write *const *writes, size_t count)
{
    kw_error ignored;
    for (size_t i = 0; i < count; i++)
        if (!kw_check_write(writes[i], &ignored))
            return false;
    return true;
}

void
kw_store_handle_write_many(kw_store_handle *handle, const kw_write *const *writes, size_t count,
                           kw_written *results, void (*done)(void *user), void *user)
{
    assert_whole(handle, done);
    g_assert(count == 0 || (writes && results));
    if (count == 0) {
        kw_refuse_later(handle, done, user);
        return;
    }
    if (!handle->closing && all_allowed(writes, count)) {
        count_operations(handle, KW_METRIC_store_writes, count);
        handle->class->write_many(handle, writes, count, results, done, user);
        return;
    }
    sifted *sift = sift_writes(handle, writes, count, results);
    sift->done = done;
    sift->user = user;
    count_operations(handle, KW_METRIC_store_writes, sift->count);
    if (sift->count == 0)
        kw_refuse_later(handle, sifted_done, sift);
    else
        handle->class->write_many(handle, sift->writes, sift->count, sift->allowed_results, sifted_done,
                                  sift);
}

/* --- conditional writes ------------------------------------------------------------------------- */

void
kw_store_handle_write_if(kw_store_handle *handle, const kw_write *write, const kw_check *check,
                         kw_write_if_done done, void *user)
{
    assert_whole(handle, done);
    kw_error error;
    if (kw_store_handle_is_shut(handle, &error) || !kw_check_condition(write, check, &error)) {
        kw_refuse_write_if(handle, &error, done, user);
        return;
    }
    count_operations(handle, KW_METRIC_store_writes, 1);
    handle->class->write_if(handle, write, check, done, user);
}

void
kw_store_handle_increment(kw_store_handle *handle, const kw_increment *increment, kw_increment_done done,
                          void *user)
{
    assert_whole(handle, done);
    kw_error error;
    if (kw_store_handle_is_shut(handle, &error) || !kw_check_increment(increment, &error)) {
        kw_refuse_increment(handle, &error, done, user);
        return;
    }
    count_operations(handle, KW_METRIC_store_writes, 1);
    handle->class->increment(handle, increment, done, user);
}

/* --- reads -------------------------------------------------------------------------------------- */

void
kw_store_handle_get(kw_store_handle *handle, const kw_get *get, kw_get_done done, void *user)
{
    assert_whole(handle, done);
    kw_error error;
    if (kw_store_handle_is_shut(handle, &error) || !kw_check_get(get, &error)) {
        kw_refuse_get(handle, NULL, &error, done, user);
        return;
    }
    count_operations(handle, KW_METRIC_store_reads, 1);
    handle->class->get(handle, get, done, user);
}

static bool
check_gets(const kw_get *const *gets, size_t count, kw_error *ret_error)
{
    for (size_t i = 0; i < count; i++) {
        g_assert(kw_bytes_equal(gets[i]->table, gets[0]->table));
        if (!kw_check_get(gets[i], ret_error))
            return kw_error_prefix(ret_error, "get %zu of %zu", i + 1, count);
    }
    return true;
}

void
kw_store_handle_get_many(kw_store_handle *handle, const kw_get *const *gets, size_t count, kw_get_done done,
                         void *user)
{
    assert_whole(handle, done);
    g_assert(count == 0 || gets);
    kw_error error;
    if (count == 0) {
        kw_refuse_get(handle, kw_rows_new(), NULL, done, user);
    } else if (kw_store_handle_is_shut(handle, &error) || !check_gets(gets, count, &error)) {
        kw_refuse_get(handle, NULL, &error, done, user);
    } else {
        count_operations(handle, KW_METRIC_store_reads, count);
        handle->class->get_many(handle, gets, count, done, user);
    }
}

/* --- runs --------------------------------------------------------------------------------------- */

static kw_range_scan *
refused_run(kw_store_handle *handle, const kw_error *error)
{
    kw_range_scan *run = g_new0(kw_range_scan, 1);
    run->handle = handle;
    run->refusal = g_memdup2(error, sizeof *error);
    return run;
}

kw_range_scan *
kw_store_handle_open_range_scan(kw_store_handle *handle, const kw_range_scan_spec *spec)
{
    assert_whole(handle, spec);
    kw_error error;
    if (kw_store_handle_is_shut(handle, &error) || !kw_check_range_scan_spec(spec, &error))
        return refused_run(handle, &error);
    kw_range_scan *run = handle->class->open_range_scan(handle, spec);
    g_assert(run && run->handle == handle && !run->fetching && !run->refusal);
    count_operations(handle, KW_METRIC_runs_opened, 1);
    return run;
}

static void
fetched(void *user, kw_rows *rows, const kw_error *error)
{
    kw_range_scan *run = user;
    g_assert(run->fetching && !rows == !!error);
    run->fetching = false;
    if (rows)
        count_operations(run->handle, KW_METRIC_rows_scanned, rows->scanned);
    run->done(run->user, rows, error);
}

/* A refused run that was closed with its answer on the way has no completion any more. */
static void
refused_fetch_done(void *user)
{
    kw_range_scan *run = user;
    run->fetching = false;
    if (run->done)
        run->done(run->user, NULL, run->refusal);
    else
        kw_range_scan_close(run);
}

/* The same for a run of a store handle that was closed since; the run itself is still there. */
static void
shut_fetch_done(void *user)
{
    kw_range_scan *run = user;
    kw_error error;
    run->fetching = false;
    run->shut = false;
    kw_store_handle_is_shut(run->handle, &error);
    if (run->done)
        run->done(run->user, NULL, &error);
    else
        kw_range_scan_close(run);
}

void
kw_range_scan_fetch(kw_range_scan *run, uint32_t max_rows, size_t max_bytes, bool more_hint,
                    kw_deadline deadline, kw_get_done done, void *user)
{
    g_assert(run && !run->fetching && max_rows > 0 && max_bytes > 0);
    assert_whole(run->handle, done);
    run->fetching = true;
    run->done = done;
    run->user = user;
    run->shut = run->handle->closing;
    if (run->refusal)
        kw_refuse_later(run->handle, refused_fetch_done, run);
    else if (run->shut)
        kw_refuse_later(run->handle, shut_fetch_done, run);
    else
        run->handle->class->run_fetch(run, max_rows, max_bytes, more_hint, deadline, fetched, run);
}

void
kw_range_scan_close(kw_range_scan *run)
{
    if (!run)
        return;
    bool refused = run->refusal || run->shut;
    if (!refused) {
        run->handle->class->run_close(run);
        return;
    }
    run->done = NULL;
    if (run->fetching)
        return;
    g_free(run->refusal);
    g_free(run);
}
