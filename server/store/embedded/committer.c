/* Group commit: one thread takes everything that all store handles submitted and writes it with one sync.
 *
 *   submit --> queue --> [take all] --> collect a batch --> write + sync --> told back to each loop
 *                 ^                                                            |
 *                 +------- callers that were answered come with the next -----+
 *
 * Callers that were answered together come back nearly together, but not quite. Written as soon as the
 * first is there, they would split into groups that take turns, each waiting for the other's sync. So
 * the committer waits for those that were just answered, for a fraction of what a sync takes, as long as
 * that is what they do: when most do not come back in time, it only tries now and then. A lone caller
 * never waits.
 */
#include "base/log.h"
#include "base/metrics.h"
#include "store/embedded/embedded_internal.h"
#include "store/embedded/selection.h"

#define BATCH_BYTES_MAX ((size_t)16 * 1024 * 1024)
#define PATIENCE_MAX_NS 1000000u
#define TRIES_EVERY 32
#define PROBE_NS 1000000000u
#define ROWS_MOST 64 /* of one record: a policy names 33 at most */

struct kw_committer {
    kw_embedded *store;
    kw_thread thread;
    kw_mutex lock; /* guards these */
    kw_condition filled;
    kw_commit *first, *last;
    size_t queued;
    size_t wake_at; /* the committer sleeps until so many are queued; 0: it is awake */
    bool stopping;

    kw_commit *pending; /* the rest is the committer thread's: taken, in order */
    kw_entries batch;
    uint64_t commit_ns; /* what a synced write took, smoothed */
    size_t told_count;  /* answered in this round */
    size_t expected;    /* those, and who was queued already when they were answered */
    double returning;   /* share of them that came back while waited for, smoothed */
    unsigned round;
    kw_stored_table *table;   /* the one found last, for this round */
    kw_embedded_handle *told; /* store handles with finished commits of this round */
};

void
kw_committer_submit(kw_committer *committer, kw_commit *first, kw_commit *last)
{
    size_t count = 1;
    for (kw_commit *at = first; at != last; at = at->next)
        count++;
    kw_mutex_lock(&committer->lock);
    g_assert(!committer->stopping);
    if (committer->first)
        committer->last->next = first;
    else
        committer->first = first;
    committer->last = last;
    last->next = NULL;
    committer->queued += count;
    if (committer->wake_at && committer->queued >= committer->wake_at)
        kw_condition_signal(&committer->filled);
    kw_mutex_unlock(&committer->lock);
}

/* --- taking ----------------------------------------------------------------------------------------- */

/* With the lock. */
static void
wait_for_company(kw_committer *committer)
{
    size_t before = committer->queued, missing = committer->expected - before;
    uint64_t patience_ns = MIN(committer->commit_ns / 6, PATIENCE_MAX_NS);
    uint64_t until_ns = kw_clock_mono_ns() + patience_ns;
    committer->wake_at = committer->expected;
    while (committer->queued < committer->expected && !committer->stopping)
        if (!kw_condition_wait_until(&committer->filled, &committer->lock, until_ns))
            break;
    committer->wake_at = 0;
    double came = (double)(committer->queued - before) / (double)missing;
    committer->returning = (committer->returning * 7 + MIN(came, 1)) / 8;
}

/* With the lock. After a failed write the committer waits for PROBE_NS at most. */
static void
wait_for_commits(kw_committer *committer)
{
    bool probes = atomic_load(&committer->store->disk) == KW_DISK_WRITE_FAILED;
    uint64_t until_ns = kw_clock_mono_ns() + PROBE_NS;
    while (!committer->first && !committer->stopping)
        if (!probes)
            kw_condition_wait(&committer->filled, &committer->lock);
        else if (!kw_condition_wait_until(&committer->filled, &committer->lock, until_ns))
            break;
}

/* False when the committer stops and nothing is left. True with nothing pending: the disk is to be probed. */
static bool
take(kw_committer *committer)
{
    kw_mutex_lock(&committer->lock);
    committer->expected = committer->told_count + committer->queued;
    committer->told_count = 0;
    committer->wake_at = 1;
    wait_for_commits(committer);
    committer->wake_at = 0;
    bool worth = committer->returning > 0.4 || committer->round++ % TRIES_EVERY == 0;
    if (committer->queued < committer->expected && worth)
        wait_for_company(committer);
    committer->pending = committer->first;
    committer->first = committer->last = NULL;
    committer->queued = 0;
    bool ended = committer->stopping && !committer->pending;
    kw_mutex_unlock(&committer->lock);
    return !ended;
}

/* --- telling ---------------------------------------------------------------------------------------- */

static void
finish(kw_committer *committer, kw_commit *commit)
{
    kw_embedded_handle *handle = commit->handle;
    commit->next = NULL;
    committer->told_count++;
    if (handle->told_first) {
        handle->told_last->next = commit;
    } else {
        handle->told_first = commit;
        handle->told_next = committer->told;
        committer->told = handle;
    }
    handle->told_last = commit;
}

/* One post per store handle; the store handle may be gone as soon as its last chain was posted. */
static void
tell_handles(kw_committer *committer)
{
    while (committer->told) {
        kw_embedded_handle *handle = committer->told;
        kw_commit *first = handle->told_first;
        committer->told = handle->told_next;
        handle->told_first = NULL;
        kw_loop_post(handle->base.loop, &first->task);
    }
}

/* --- collecting ------------------------------------------------------------------------------------- */

static kw_stored_table *
find_table(kw_committer *committer, kw_bytes name, kw_error *ret_error)
{
    if (committer->table && kw_bytes_equal(committer->table->name, name))
        return committer->table;
    kw_stored_table_unref(committer->table);
    committer->table = kw_embedded_tables_find(committer->store->catalog, name);
    if (!committer->table)
        kw_unknown_table(name, ret_error);
    return committer->table;
}

/* stamp: what the store gives the write if its caller gave it none. */
static bool
add_write(kw_committer *committer, const kw_write *write, int64_t stamp, kw_error *ret_error)
{
    kw_stored_table *table = find_table(committer, write->table, ret_error);
    if (write->timestamp != KW_TIMESTAMP_NONE)
        stamp = write->timestamp;
    return table && kw_entries_add(&committer->batch, table, write, stamp, ret_error);
}

static int64_t
stamp_one(kw_committer *committer, const kw_write *write)
{
    if (write->timestamp != KW_TIMESTAMP_NONE)
        return write->timestamp;
    return kw_stamps_give(&committer->store->stamps, &write->row, 1, write->kind == KW_WRITE_DELETE);
}

/* How many writes from this one on are rows of one record. */
static size_t
record_rows(const kw_commit *commit, size_t first)
{
    const kw_write *const *writes = commit->many.writes;
    size_t end = first + 1;
    while (end < commit->many.count && writes[first]->record &&
           writes[end]->record == writes[first]->record && writes[end]->timestamp == writes[first]->timestamp)
        end++;
    return MIN(end - first, ROWS_MOST);
}

static int64_t
stamp_record(kw_committer *committer, const kw_write *const *writes, size_t count)
{
    kw_bytes rows[ROWS_MOST];
    bool removal = false;
    if (writes[0]->timestamp != KW_TIMESTAMP_NONE)
        return writes[0]->timestamp;
    for (size_t i = 0; i < count; i++) {
        rows[i] = writes[i]->row;
        removal = removal || writes[i]->kind == KW_WRITE_DELETE;
    }
    return kw_stamps_give(&committer->store->stamps, rows, count, removal);
}

static bool
add_many(kw_committer *committer, kw_commit *commit)
{
    size_t rows_end = 0;
    int64_t stamp = 0;
    for (size_t i = 0; i < commit->many.count; i++) {
        kw_written *result = &commit->many.results[i];
        if (i == rows_end) {
            size_t count = record_rows(commit, i);
            stamp = stamp_record(committer, commit->many.writes + i, count);
            rows_end = i + count;
        }
        bool good = add_write(committer, commit->many.writes[i], stamp, &result->error);
        result->outcome = good ? KW_OUTCOME_OK : KW_OUTCOME_FAILED;
        if (good)
            result->error.code = KW_OK;
    }
    return true;
}

static bool
add_conditional(kw_committer *committer, kw_commit *commit)
{
    bool increments = commit->kind == KW_COMMIT_INCREMENT;
    kw_bytes name = increments ? commit->increment->table : commit->write->table;
    kw_stored_table *table = find_table(committer, name, &commit->error);
    if (!table)
        return false;
    if (!increments)
        return kw_conditional_write(committer->store, &committer->batch, table,
                                    stamp_one(committer, commit->write), commit);
    int64_t stamp = kw_stamps_give(&committer->store->stamps, &commit->increment->row, 1, false);
    return kw_conditional_increment(committer->store, &committer->batch, table, stamp, commit);
}

static bool
add(kw_committer *committer, kw_commit *commit)
{
    if (!kw_embedded_check_deadline(commit->deadline, "the write was applied", &commit->error))
        return false;
    switch (commit->kind) {
    case KW_COMMIT_WRITE:
        return add_write(committer, commit->write, stamp_one(committer, commit->write), &commit->error);
    case KW_COMMIT_MANY:
        return add_many(committer, commit);
    case KW_COMMIT_IF:
    case KW_COMMIT_INCREMENT:
        return add_conditional(committer, commit);
    case KW_COMMIT_CREATE:
    case KW_COMMIT_DROP:
        break;
    }
    g_assert_not_reached();
}

static void
fail_many(kw_commit *commit, kw_outcome outcome, const kw_error *error)
{
    for (size_t i = 0; i < commit->many.count; i++)
        if (commit->many.results[i].outcome == KW_OUTCOME_OK)
            commit->many.results[i] = (kw_written){outcome, *error};
}

/* Before it was written: certainly not applied. */
static void
fail_before(kw_commit *commit)
{
    commit->outcome = KW_OUTCOME_FAILED;
    if (commit->kind != KW_COMMIT_MANY)
        return;
    for (size_t i = 0; i < commit->many.count; i++)
        commit->many.results[i].outcome = KW_OUTCOME_OK;
    fail_many(commit, KW_OUTCOME_FAILED, &commit->error);
}

/* The engine failed while writing: the log may hold it all the same, unless the error says that it does not.
 */
static void
fail_written(kw_commit *commit, const kw_error *error)
{
    kw_outcome outcome = error->maybe_applied ? KW_OUTCOME_UNKNOWN : KW_OUTCOME_FAILED;
    if (commit->kind == KW_COMMIT_MANY)
        fail_many(commit, outcome, error);
    if (commit->outcome != KW_OUTCOME_OK)
        return;
    commit->outcome = outcome;
    commit->error = *error;
    commit->applied = false;
    kw_rows_free(commit->rows);
    commit->rows = NULL;
}

/* --- rounds ----------------------------------------------------------------------------------------- */

static void
write_batch(kw_committer *committer, kw_commit *collected, bool synced)
{
    kw_error error;
    uint64_t began_ns = kw_clock_mono_ns();
    bool any = committer->batch.bytes > 0;
    kw_stamps_raise(&committer->store->stamps, &committer->batch);
    bool good = kw_entries_write(&committer->batch, &committer->store->engine, synced, &error);
    kw_stamps_raised(&committer->store->stamps, good);
    if (any && synced) {
        kw_metrics_add(KW_METRIC_commits, 1);
        committer->commit_ns = (committer->commit_ns * 7 + (kw_clock_mono_ns() - began_ns)) / 8;
    }
    if (any)
        atomic_store(&committer->store->disk, good ? KW_DISK_WORKS
                                              : kw_engine_sync_failed(&committer->store->engine)
                                                  ? KW_DISK_SYNC_FAILED
                                                  : KW_DISK_WRITE_FAILED);
    while (collected) {
        kw_commit *next = collected->next;
        if (!good)
            fail_written(collected, &error);
        finish(committer, collected);
        collected = next;
    }
    tell_handles(committer);
}

/* Takes the commits for which `lazy` holds out of the pending ones, adds them to the batch, writes it. */
static void
run_batch(kw_committer *committer, bool lazy, bool indexed)
{
    kw_commit *collected = NULL, **collected_end = &collected;
    kw_commit **at = &committer->pending;
    kw_entries_begin(&committer->batch, indexed);
    while (*at && committer->batch.bytes < BATCH_BYTES_MAX && (*at)->kind < KW_COMMIT_CREATE) {
        kw_commit *commit = *at;
        if (commit->lazy != lazy) {
            at = &commit->next;
            continue;
        }
        *at = commit->next;
        if (!add(committer, commit))
            fail_before(commit);
        commit->next = NULL;
        *collected_end = commit;
        collected_end = &commit->next;
    }
    write_batch(committer, collected, !lazy);
}

static void
change_tables(kw_committer *committer)
{
    kw_commit *commit = committer->pending;
    kw_embedded *store = committer->store;
    committer->pending = commit->next;
    kw_stored_table_unref(g_steal_pointer(&committer->table)); /* it may be the one that goes */
    uint32_t dropped;
    bool good = kw_embedded_check_deadline(commit->deadline, "the table was changed", &commit->error);
    if (good && commit->kind == KW_COMMIT_CREATE)
        good = kw_embedded_tables_create(store->catalog, store->engine.db, commit->spec, &commit->applied,
                                         &commit->error);
    else if (good)
        good = kw_embedded_tables_drop(store->catalog, store->engine.db, commit->table, &dropped,
                                       &commit->error);
    if (good && commit->kind == KW_COMMIT_DROP)
        kw_engine_forget_table(&store->engine, dropped);
    commit->outcome = good ? KW_OUTCOME_OK : KW_OUTCOME_FAILED;
    finish(committer, commit);
    tell_handles(committer);
}

typedef struct look {
    bool lazy, synced, conditional;
} look;

/* What is pending in front of the next change of tables? */
static look
look_ahead(const kw_committer *committer)
{
    look seen = {0};
    for (const kw_commit *at = committer->pending; at && at->kind < KW_COMMIT_CREATE; at = at->next) {
        if (at->lazy)
            seen.lazy = true;
        else
            seen.synced = true;
        if (at->kind == KW_COMMIT_IF || at->kind == KW_COMMIT_INCREMENT)
            seen.conditional = true;
    }
    return seen;
}

static void
run_round(kw_committer *committer)
{
    kw_stamps_begin(&committer->store->stamps);
    while (committer->pending) {
        look ahead = look_ahead(committer);
        if (ahead.lazy)
            run_batch(committer, true, ahead.conditional);
        if (ahead.synced)
            run_batch(committer, false, ahead.conditional);
        if (!ahead.lazy && !ahead.synced)
            change_tables(committer);
    }
    kw_stored_table_unref(committer->table);
    committer->table = NULL;
}

/* After a failed write /readyz returns 503, so a load balancer may send no more writes. The store finds out
 * by itself when its disk works again. */
static void
probe_disk(kw_committer *committer)
{
    kw_entries_begin(&committer->batch, false);
    kw_stamps_mark(&committer->store->stamps, &committer->batch);
    write_batch(committer, NULL, true);
}

static void
serve(void *user)
{
    kw_committer *committer = user;
    rocksdb_set_perf_level(rocksdb_disable);
    while (take(committer)) {
        if (committer->pending)
            run_round(committer);
        else
            probe_disk(committer);
    }
}

kw_committer *
kw_committer_start(kw_embedded *store)
{
    kw_committer *committer = g_new0(kw_committer, 1);
    committer->store = store;
    kw_mutex_init(&committer->lock);
    kw_condition_init(&committer->filled);
    kw_entries_init(&committer->batch);
    kw_thread_start(&committer->thread, "kw-committer", serve, committer);
    return committer;
}

void
kw_committer_stop(kw_committer *committer)
{
    if (!committer)
        return;
    kw_mutex_lock(&committer->lock);
    committer->stopping = true;
    kw_condition_broadcast(&committer->filled);
    kw_mutex_unlock(&committer->lock);
    kw_thread_join(&committer->thread);
    kw_entries_clear(&committer->batch);
    kw_condition_clear(&committer->filled);
    kw_mutex_clear(&committer->lock);
    g_free(committer);
}
