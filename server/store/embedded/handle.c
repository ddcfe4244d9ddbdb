/* The store handle of a loop. It collects the operations started in a loop iteration in three chains
 * (commits, jobs, slow jobs) and submits each chain as a whole, before the loop polls for events and after it
 * handled them. So calls that arrive together reach the committer together and share its next commit, and
 * each queue is locked at most twice per iteration, not once per operation. Runs on the loop's thread. */
#include "store/embedded/embedded_internal.h"

#include "base/metrics.h"

static void
flush(kw_embedded_handle *handle)
{
    if (handle->commits_first) {
        kw_committer_submit(handle->store->committer, handle->commits_first, handle->commits_last);
        handle->commits_first = handle->commits_last = NULL;
    }
    if (handle->jobs_first) {
        kw_pool_submit(handle->store->pool, handle->jobs_first, handle->jobs_last);
        handle->jobs_first = handle->jobs_last = NULL;
    }
    if (handle->slow_first) {
        kw_pool_submit(handle->store->filter_pool, handle->slow_first, handle->slow_last);
        handle->slow_first = handle->slow_last = NULL;
    }
}

static void
flush_before(uv_prepare_t *handle)
{
    flush(handle->data);
}

static void
flush_after(uv_check_t *handle)
{
    flush(handle->data);
    kw_embedded_drop_old_iterators(handle->data);
}

void
kw_embedded_queue_job(kw_embedded_handle *handle, kw_pool_job *job, bool slow)
{
    kw_pool_job **first = slow ? &handle->slow_first : &handle->jobs_first;
    kw_pool_job **last = slow ? &handle->slow_last : &handle->jobs_last;
    g_assert(job->work && job->task.run);
    g_assert(!handle->closed); /* nothing would submit the job */
    g_assert(!*first == !*last);
    job->next = NULL;
    if (*first)
        (*last)->next = job;
    else
        *first = job;
    *last = job;
    kw_embedded_begin_operation(handle);
}

static void
queue_commit(kw_embedded_handle *handle, kw_commit *commit)
{
    g_assert(!handle->closed); /* nothing would submit the commit */
    g_assert(!handle->commits_first == !handle->commits_last);
    commit->next = NULL;
    if (handle->commits_first)
        handle->commits_last->next = commit;
    else
        handle->commits_first = commit;
    handle->commits_last = commit;
    kw_embedded_begin_operation(handle);
}

/* Calls `closed` if the handle was closed and nothing is in flight. */
static void
settle(kw_embedded_handle *handle)
{
    if (!handle->closed || handle->in_flight > 0 || handle->uv_handles_open > 0)
        return;
    g_assert(!handle->commits_first && !handle->jobs_first && !handle->slow_first && !handle->finished_first);
    handle->closed(handle->closed_user);
}

void
kw_embedded_begin_operation(kw_embedded_handle *handle)
{
    handle->in_flight++;
}

void
kw_embedded_end_operation(kw_embedded_handle *handle)
{
    g_assert(handle->in_flight > 0);
    handle->in_flight--;
    settle(handle);
}

/* --- commits ---------------------------------------------------------------------------------------- */

static void
count_failures(const kw_commit *commit)
{
    if (commit->kind == KW_COMMIT_MANY)
        kw_count_failed_writes(commit->many.results, commit->many.count);
    else if (commit->kind == KW_COMMIT_COPY)
        kw_count_failed_writes(commit->copy.results, commit->copy.count);
    else if (commit->outcome != KW_OUTCOME_OK)
        kw_metrics_add(KW_METRIC_store_errors, 1);
}

static void
complete_one(kw_commit *commit)
{
    const kw_error *error = commit->outcome == KW_OUTCOME_OK ? NULL : &commit->error;
    g_assert(!error || error->code != KW_OK);
    count_failures(commit);
    switch (commit->kind) {
    case KW_COMMIT_WRITE:
        commit->done.write(commit->user, commit->outcome, error);
        return;
    case KW_COMMIT_MANY:
    case KW_COMMIT_COPY:
        commit->done.many(commit->user);
        return;
    case KW_COMMIT_IF:
    case KW_COMMIT_DERIVED:
        commit->done.write_if(commit->user, commit->outcome, commit->applied, error);
        return;
    case KW_COMMIT_INCREMENT:
        g_assert(!commit->rows == !!error);
        commit->done.increment(commit->user, commit->outcome, commit->rows, error);
        return;
    case KW_COMMIT_CREATE:
        commit->done.create(commit->user, commit->applied, error);
        return;
    case KW_COMMIT_DROP:
        commit->done.drop(commit->user, error);
        return;
    }
}

static void
complete_chain(kw_task *task)
{
    kw_commit *commit = (kw_commit *)task;
    kw_embedded_handle *handle = commit->handle;
    kw_embedded_begin_operation(handle); /* keeps the store handle until the end of the chain */
    while (commit) {
        kw_commit *next = commit->next;
        g_assert(commit->handle == handle);
        complete_one(commit);
        commit->next = handle->spare_commits;
        handle->spare_commits = commit;
        kw_embedded_end_operation(handle);
        commit = next;
    }
    kw_embedded_end_operation(handle);
}

static kw_commit *
commit_new(kw_store_handle *base, kw_commit_kind kind, kw_deadline deadline, kw_durability durability,
           void *user)
{
    kw_embedded_handle *handle = (kw_embedded_handle *)base;
    kw_commit *commit = handle->spare_commits;
    if (commit)
        handle->spare_commits = commit->next;
    else
        commit = g_new(kw_commit, 1);
    commit->task.run = complete_chain;
    commit->handle = handle;
    commit->kind = kind;
    commit->deadline = deadline;
    commit->unsynced = durability == KW_DURABILITY_SKIP_WAL || durability == KW_DURABILITY_ASYNC_WAL;
    commit->user = user;
    commit->outcome = KW_OUTCOME_OK;
    commit->applied = false;
    commit->rows = NULL;
    queue_commit(handle, commit);
    return commit;
}

static void
handle_write(kw_store_handle *handle, const kw_write *write, kw_write_done done, void *user)
{
    kw_commit *commit = commit_new(handle, KW_COMMIT_WRITE, write->deadline, write->durability, user);
    commit->write = write;
    commit->done.write = done;
}

static void
handle_write_many(kw_store_handle *handle, const kw_write *const *writes, size_t count, kw_written *results,
                  void (*done)(void *), void *user)
{
    kw_commit *commit = commit_new(handle, KW_COMMIT_MANY, writes[0]->deadline, writes[0]->durability, user);
    commit->many.writes = writes;
    commit->many.count = count;
    commit->many.results = results;
    commit->many.next = 0;
    commit->done.many = done;
}

static void
handle_write_if(kw_store_handle *handle, const kw_write *write, const kw_check *check, kw_write_if_done done,
                void *user)
{
    kw_commit *commit = commit_new(handle, KW_COMMIT_IF, write->deadline, write->durability, user);
    commit->write = write;
    commit->check = check;
    commit->done.write_if = done;
}

static void
handle_write_derived(kw_store_handle *handle, const kw_write *write, const kw_derivation *derivation,
                     kw_write_if_done done, void *user)
{
    kw_commit *commit = commit_new(handle, KW_COMMIT_DERIVED, write->deadline, write->durability, user);
    commit->write = write;
    commit->derivation = derivation;
    commit->done.write_if = done;
}

static void
handle_increment(kw_store_handle *handle, const kw_increment *increment, kw_increment_done done, void *user)
{
    kw_commit *commit =
        commit_new(handle, KW_COMMIT_INCREMENT, increment->deadline, increment->durability, user);
    commit->increment = increment;
    commit->done.increment = done;
}

static void
handle_copy_rows(kw_store_handle *handle, const kw_row_copy *copies, size_t count, kw_deadline deadline,
                 kw_written *results, void (*done)(void *), void *user)
{
    kw_commit *commit = commit_new(handle, KW_COMMIT_COPY, deadline, KW_DURABILITY_ASYNC_WAL, user);
    commit->copy.copies = copies;
    commit->copy.count = count;
    commit->copy.results = results;
    commit->copy.next = 0;
    commit->done.many = done;
}

static void
handle_create_table(kw_store_handle *handle, const kw_table_spec *spec, kw_create_done done, void *user)
{
    kw_commit *commit = commit_new(handle, KW_COMMIT_CREATE, spec->deadline, KW_DURABILITY_DEFAULT, user);
    commit->spec = spec;
    commit->done.create = done;
}

static void
handle_drop_table(kw_store_handle *handle, kw_bytes table, kw_deadline deadline, kw_simple_done done,
                  void *user)
{
    kw_commit *commit = commit_new(handle, KW_COMMIT_DROP, deadline, KW_DURABILITY_DEFAULT, user);
    commit->table = table;
    commit->done.drop = done;
}

/* --- open and close --------------------------------------------------------------------------------- */

static void
handle_closed(uv_handle_t *closed)
{
    kw_embedded_handle *handle = closed->data;
    handle->uv_handles_open--;
    settle(handle);
}

/* Operations in flight still report their true outcomes: they finish soon, and `closing` cancels long
 * reads. */
static void
handle_close(kw_store_handle *base, void (*closed)(void *), void *user)
{
    kw_embedded_handle *handle = (kw_embedded_handle *)base;
    handle->closed = closed;
    handle->closed_user = user;
    atomic_store(&handle->closing, true);
    flush(handle);
    uv_close((uv_handle_t *)&handle->before_poll, handle_closed);
    uv_close((uv_handle_t *)&handle->after_poll, handle_closed);
}

static void
handle_free(kw_store_handle *base)
{
    kw_embedded_handle *handle = (kw_embedded_handle *)base;
    g_assert(handle->waiting_scans.length == 0);
    while (handle->spare_commits) {
        kw_commit *next = handle->spare_commits->next;
        g_free(handle->spare_commits);
        handle->spare_commits = next;
    }
    g_free(handle);
}

kw_store_handle *
kw_embedded_open_handle(kw_store *store, kw_loop *loop)
{
    static const kw_store_handle_class handle_class = {
        .write = handle_write,
        .write_many = handle_write_many,
        .write_if = handle_write_if,
        .write_derived = handle_write_derived,
        .increment = handle_increment,
        .copy_rows = handle_copy_rows,
        .get = kw_embedded_get,
        .get_many = kw_embedded_get_many,
        .open_range_scan = kw_embedded_open_range_scan,
        .range_scan_fetch = kw_embedded_range_scan_fetch,
        .range_scan_close = kw_embedded_range_scan_close,
        .create_table = handle_create_table,
        .describe_table = kw_embedded_describe_table,
        .drop_table = handle_drop_table,
        .regions = kw_embedded_regions,
        .backup = kw_embedded_backup,
        .close = handle_close,
        .free = handle_free,
    };
    kw_embedded_handle *handle = g_new0(kw_embedded_handle, 1);
    handle->base = (kw_store_handle){.class = &handle_class, .store = store, .loop = loop};
    handle->store = (kw_embedded *)store;
    uv_prepare_init(kw_loop_uv(loop), &handle->before_poll);
    uv_check_init(kw_loop_uv(loop), &handle->after_poll);
    handle->before_poll.data = handle->after_poll.data = handle;
    uv_prepare_start(&handle->before_poll, flush_before);
    uv_check_start(&handle->after_poll, flush_after);
    uv_unref((uv_handle_t *)&handle->before_poll);
    uv_unref((uv_handle_t *)&handle->after_poll);
    handle->uv_handles_open = 2;
    return &handle->base;
}
