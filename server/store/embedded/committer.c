/* Group commit: one thread writes the commits of all store handles, and syncs many of them together.
 *
 *   submit --> queue --> [take all] --> collect a batch --> write + sync --> post to the loops
 *                ^                                                              |
 *                +--------------- callers send their next writes ---------------+
 *
 * One pass from "take all" to "post" is a round. It writes the small commits first, then some large ones.
 * What it leaves, and the next slice of a call with many records, is part of the next round, with the commits
 * that have arrived by then (turns.h).
 *
 * Callers whose writes complete together send their next writes at almost the same time. If the committer
 * wrote the first of these writes at once, the callers would split into two groups, and each group would
 * wait for the sync of the other. The committer therefore first waits until as many commits have arrived as
 * it has just completed, but at most a sixth of the duration of a sync. If most of them do not arrive in
 * time, it waits only in one of CALLER_WAIT_EVERY rounds. The commit of a single caller is never delayed.
 */
#include "base/log.h"
#include "base/metrics.h"
#include "store/embedded/embedded_internal.h"
#include "store/embedded/turns.h"

/* A batch ends with the commit that makes it larger than this. RocksDB copies it into the write buffer. */
#define BATCH_BYTES_MAX ((size_t)4 * 1024 * 1024)
#define CALLER_WAIT_MAX_NS 1000000u
#define CALLER_WAIT_EVERY 32
#define IDLE_NS 1000000000u

struct kw_committer {
    kw_embedded *store;
    kw_thread thread;
    kw_mutex lock; /* guards the members down to `stopping` */
    kw_condition filled;
    kw_commit *first, *last;
    size_t queued;
    size_t wake_at; /* signal `filled` when this many commits are queued; 0: the committer is not waiting */
    bool stopping;

    /* Used by the committer's thread only. */
    kw_commit *pending;                            /* taken from the queue */
    kw_commit *unfinished_first, *unfinished_last; /* MANY commits of which a slice was written */
    size_t large_entries;                          /* that this round has collected, of large commits */
    kw_copies copies; /* the taken commits that copy rows; one slice of them runs after each round */
    kw_collector collector;
    uint64_t commit_ns;    /* duration of a synced write, smoothed */
    size_t finished_count; /* commits finished since the committer last took all */
    size_t expected;       /* queue length to wait for: the commits queued now plus those just finished */
    double arrived_share;  /* share of the missing commits that arrived during the waits, smoothed */
    unsigned round;
    kw_embedded_handle *finished_handles; /* store handles with finished commits to post */
};

void
kw_committer_submit(kw_committer *committer, kw_commit *first, kw_commit *last)
{
    size_t count = 1;
    g_assert(first && last);
    for (kw_commit *at = first; at != last; at = at->next)
        count++;
    kw_mutex_lock(&committer->lock);
    g_assert(!committer->stopping);
    g_assert(!committer->first == !committer->queued);
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

/* --- waiting for commits ---------------------------------------------------------------------------- */

/* Waits until the expected number of commits is queued, for a limited time. Called with the lock held. */
static void
wait_for_callers(kw_committer *committer)
{
    size_t before = committer->queued, missing = committer->expected - before;
    uint64_t wait_ns = MIN(committer->commit_ns / 6, CALLER_WAIT_MAX_NS);
    uint64_t deadline_ns = kw_clock_mono_ns() + wait_ns;
    committer->wake_at = committer->expected;
    while (committer->queued < committer->expected && !committer->stopping)
        if (!kw_condition_wait_until(&committer->filled, &committer->lock, deadline_ns))
            break;
    committer->wake_at = 0;
    double share = (double)(committer->queued - before) / (double)missing;
    committer->arrived_share = (committer->arrived_share * 7 + MIN(share, 1)) / 8;
}

/* Waits until there is something to do, at most IDLE_NS. Called with the lock held. */
static void
wait_for_commits(kw_committer *committer)
{
    uint64_t deadline_ns = kw_clock_mono_ns() + IDLE_NS;
    while (!committer->first && !committer->stopping && !committer->copies.first && !committer->pending)
        if (!kw_condition_wait_until(&committer->filled, &committer->lock, deadline_ns))
            break;
}

/* Appends a list to a list. */
static void
append(kw_commit **list, kw_commit *more)
{
    while (*list)
        list = &(*list)->next;
    *list = more;
}

/* Appends the queue to what the last round has left in `pending`, and moves copies to `copies`. Returns false
 * if the committer stops and nothing is left to do. If it returns true and there are neither pending commits
 * nor copies, the caller must probe the disk. */
static bool
take_pending(kw_committer *committer)
{
    g_assert(!committer->finished_handles);
    kw_mutex_lock(&committer->lock);
    committer->expected = committer->finished_count + committer->queued;
    committer->finished_count = 0;
    committer->wake_at = 1;
    wait_for_commits(committer);
    committer->wake_at = 0;
    bool worthwhile = committer->arrived_share > 0.4 || committer->round++ % CALLER_WAIT_EVERY == 0;
    if (committer->queued && committer->queued < committer->expected && worthwhile)
        wait_for_callers(committer);
    append(&committer->pending, committer->first);
    committer->first = committer->last = NULL;
    committer->queued = 0;
    kw_copies_take(&committer->copies, &committer->pending);
    bool ended = committer->stopping && !committer->pending && !committer->copies.first;
    kw_mutex_unlock(&committer->lock);
    return !ended;
}

/* --- reporting results ------------------------------------------------------------------------------ */

static void
finish(kw_committer *committer, kw_commit *commit)
{
    kw_embedded_handle *handle = commit->handle;
    commit->next = NULL;
    committer->finished_count++;
    if (handle->finished_first) {
        handle->finished_last->next = commit;
    } else {
        handle->finished_first = commit;
        handle->next_finished = committer->finished_handles;
        committer->finished_handles = handle;
    }
    handle->finished_last = commit;
}

/* Posts one task per store handle, for all its finished commits. The loop can free the store handle as soon
 * as the task is posted. */
static void
post_finished(kw_committer *committer)
{
    while (committer->finished_handles) {
        kw_embedded_handle *handle = committer->finished_handles;
        kw_commit *first = handle->finished_first;
        committer->finished_handles = handle->next_finished;
        handle->finished_first = NULL;
        kw_loop_post(handle->base.loop, &first->task);
    }
}

/* --- failures ------------------------------------------------------------------------------------- */

/* Fails those writes of the last slice that were in the batch. */
static void
fail_slice(kw_commit *commit, kw_outcome outcome, const kw_error *error)
{
    for (size_t i = commit->many.slice_from; i < commit->many.next; i++)
        if (commit->many.results[i].outcome == KW_OUTCOME_OK)
            commit->many.results[i] = (kw_written){outcome, *error};
}

/* For a commit that was not added to the batch: it is certain that it, or the rest of it, was not applied. */
static void
fail_uncollected(kw_commit *commit)
{
    commit->outcome = KW_OUTCOME_FAILED;
    if (commit->kind != KW_COMMIT_MANY)
        return;
    commit->many.slice_from = commit->many.count;
    for (; commit->many.next < commit->many.count; commit->many.next++)
        commit->many.results[commit->many.next] = (kw_written){KW_OUTCOME_FAILED, commit->error};
}

/* For a commit whose batch the engine failed to write. If error->maybe_applied is set, the write-ahead log
 * can contain the commit anyway. */
static void
fail_written(kw_commit *commit, const kw_error *error)
{
    kw_outcome outcome = error->maybe_applied ? KW_OUTCOME_UNKNOWN : KW_OUTCOME_FAILED;
    if (commit->kind == KW_COMMIT_MANY)
        fail_slice(commit, outcome, error);
    if (commit->outcome != KW_OUTCOME_OK)
        return;
    commit->outcome = outcome;
    commit->error = *error;
    commit->applied = false;
    kw_rows_free(commit->rows);
    commit->rows = NULL;
}

/* --- rounds ----------------------------------------------------------------------------------------- */

static bool
write_entries(kw_committer *committer, bool synced, kw_error *ret_error)
{
    uint64_t began_ns = kw_clock_mono_ns();
    bool has_entries = committer->collector.batch.bytes > 0;
    kw_stamps_add_mark_if_needed(&committer->store->stamps, &committer->collector.batch);
    kw_blocks_add_mark_if_needed(&committer->store->blocks, &committer->collector.batch);
    int64_t bytes = (int64_t)committer->collector.batch.bytes;
    atomic_fetch_add_explicit(&committer->store->written_bytes, (uint64_t)bytes, memory_order_relaxed);
    kw_budget_charge(KW_MEMORY_STORE, bytes);
    bool good = kw_entries_write(&committer->collector.batch, &committer->store->engine, synced, ret_error);
    kw_budget_charge(KW_MEMORY_STORE, -bytes);
    kw_stamps_written(&committer->store->stamps, good);
    kw_blocks_written(&committer->store->blocks, good);
    if (has_entries && synced && good)
        kw_acknowledged_note(&committer->store->acknowledged,
                             rocksdb_get_latest_sequence_number(committer->store->engine.db));
    if (has_entries && synced) {
        kw_metrics_add(KW_METRIC_commits, 1);
        committer->commit_ns = (committer->commit_ns * 7 + (kw_clock_mono_ns() - began_ns)) / 8;
    }
    if (has_entries)
        atomic_store(&committer->store->disk, kw_engine_disk(&committer->store->engine));
    return good;
}

static bool
is_unfinished(const kw_commit *commit)
{
    return commit->kind == KW_COMMIT_MANY && commit->many.next < commit->many.count;
}

static void
keep_unfinished(kw_committer *committer, kw_commit *commit)
{
    commit->next = NULL;
    if (committer->unfinished_first)
        committer->unfinished_last->next = commit;
    else
        committer->unfinished_first = commit;
    committer->unfinished_last = commit;
}

static void
write_batch(kw_committer *committer, kw_commit *collected, bool synced)
{
    kw_error error;
    bool good = write_entries(committer, synced, &error);
    while (collected) {
        kw_commit *next = collected->next;
        if (!good)
            fail_written(collected, &error);
        if (is_unfinished(collected))
            keep_unfinished(committer, collected);
        else
            finish(committer, collected);
        collected = next;
    }
    post_finished(committer);
}

/* Takes a pending commit out and adds it to the batch. A commit that cannot be added fails, and is reported
 * together with the batch. */
static kw_commit *
collect(kw_committer *committer, kw_commit **at)
{
    kw_commit *commit = *at;
    *at = commit->next;
    commit->next = NULL;
    if (!kw_collector_add(&committer->collector, commit))
        fail_uncollected(commit);
    return commit;
}

/* Writes one batch of small commits: those with this value of `unsynced`, in order, up to the first large
 * one, the next change of tables or the maximum size of a batch. */
static void
run_small(kw_committer *committer, bool unsynced, bool indexed)
{
    kw_commit *collected = NULL, **collected_end = &collected;
    kw_commit **at = &committer->pending;
    kw_entries_begin(&committer->collector.batch, indexed);
    while (*at && committer->collector.batch.bytes < BATCH_BYTES_MAX && (*at)->kind < KW_COMMIT_CREATE &&
           !kw_turns_is_large(*at)) {
        if ((*at)->unsynced != unsynced) {
            at = &(*at)->next;
            continue;
        }
        *collected_end = collect(committer, at);
        collected_end = &(*collected_end)->next;
    }
    write_batch(committer, collected, !unsynced);
}

/* Writes one batch of large commits, the first of those that are pending. A conditional operation has a batch
 * for itself: such a batch needs no index, because the operation reads before it adds. */
static void
run_large(kw_committer *committer)
{
    kw_commit *collected = NULL, **collected_end = &collected;
    kw_commit **first = &committer->pending;
    const kw_entries *batch = &committer->collector.batch;
    bool unsynced = (*first)->unsynced, many = (*first)->kind == KW_COMMIT_MANY;
    bool reads = kw_collector_can_read(&committer->collector, *first);
    kw_entries_begin(&committer->collector.batch, many && reads);
    do {
        *collected_end = collect(committer, first);
        collected_end = &(*collected_end)->next;
    } while (!reads && *first && (*first)->kind < KW_COMMIT_CREATE && (*first)->unsynced == unsynced &&
             !kw_collector_can_read(&committer->collector, *first) && batch->count < KW_TURNS_ROUND_ENTRIES &&
             batch->bytes < BATCH_BYTES_MAX);
    committer->large_entries += batch->count;
    write_batch(committer, collected, !unsynced);
}

static void
change_tables(kw_committer *committer)
{
    kw_commit *commit = committer->pending;
    kw_embedded *store = committer->store;
    committer->pending = commit->next;
    kw_collector_forget_table(&committer->collector); /* it can be the table to drop */
    uint32_t dropped;
    bool good = kw_embedded_check_deadline(commit->deadline, "the table was changed", &commit->error);
    if (good && commit->kind == KW_COMMIT_CREATE)
        good = kw_embedded_tables_create(store->tables, store->engine.db, commit->spec, &commit->applied,
                                         &commit->error);
    else if (good)
        good =
            kw_embedded_tables_drop(store->tables, store->engine.db, commit->table, &dropped, &commit->error);
    if (good && commit->kind == KW_COMMIT_DROP)
        kw_engine_forget_table(&store->engine, dropped);
    commit->outcome = good ? KW_OUTCOME_OK : KW_OUTCOME_FAILED;
    finish(committer, commit);
    post_finished(committer);
}

typedef struct pending_kinds {
    bool unsynced, synced, conditional;
} pending_kinds;

/* The kinds of the small commits that are pending before the first large one or the next change of tables. */
static pending_kinds
kinds_of_small(const kw_committer *committer)
{
    pending_kinds kinds = {0};
    for (const kw_commit *at = committer->pending;
         at && at->kind < KW_COMMIT_CREATE && !kw_turns_is_large(at); at = at->next) {
        if (at->unsynced)
            kinds.unsynced = true;
        else
            kinds.synced = true;
        if (kw_collector_can_read(&committer->collector, at))
            kinds.conditional = true;
    }
    return kinds;
}

static void
begin_round(kw_embedded *store)
{
    atomic_store(&store->round_ms, KW_ROUND_BEGINS);
    kw_stamps_begin(&store->stamps);
    atomic_store(&store->round_ms, store->stamps.now_ms);
}

static void
run_round(kw_committer *committer)
{
    begin_round(committer->store);
    committer->large_entries = 0;
    kw_turns_arrange(&committer->pending);
    while (committer->pending && committer->large_entries < KW_TURNS_ROUND_ENTRIES) {
        pending_kinds kinds = kinds_of_small(committer);
        if (kinds.unsynced)
            run_small(committer, true, kinds.conditional);
        if (kinds.synced)
            run_small(committer, false, kinds.conditional);
        if (kinds.unsynced || kinds.synced)
            continue;
        if (committer->pending->kind < KW_COMMIT_CREATE)
            run_large(committer);
        else
            change_tables(committer);
    }
    append(&committer->pending, committer->unfinished_first);
    committer->unfinished_first = committer->unfinished_last = NULL;
    kw_collector_forget_table(&committer->collector);
    atomic_store(&committer->store->round_ms, KW_NO_ROUND);
}

/* Runs one slice of the copies, without a sync. */
static void
run_copies(kw_committer *committer)
{
    kw_error error;
    kw_entries_begin(&committer->collector.batch, false);
    kw_copies_collect(&committer->copies, committer->store, &committer->collector.batch);
    bool good = write_entries(committer, false, &error);
    kw_commit *done = kw_copies_end_slice(&committer->copies, good ? NULL : &error);
    if (!done)
        return;
    finish(committer, done);
    committer->finished_count--; /* the committer does not wait for the next copy of this caller */
    post_finished(committer);
}

/* Writes only the mark of the timestamps (stamps.h), to detect when the disk works again. After a failed
 * write, /readyz returns 503. If load balancers then stop sending calls, there is no other write that could
 * detect it. */
static void
probe_disk(kw_committer *committer)
{
    kw_entries_begin(&committer->collector.batch, false);
    kw_stamps_add_mark(&committer->store->stamps, &committer->collector.batch);
    write_batch(committer, NULL, true);
}

static void
idle(kw_committer *committer)
{
    kw_disk_state disk = atomic_load(&committer->store->disk);
    if (disk == KW_DISK_FULL || disk == KW_DISK_WRITE_FAILED)
        probe_disk(committer);
    else
        kw_acknowledged_look(&committer->store->acknowledged);
}

static void
run_committer(void *user)
{
    kw_committer *committer = user;
    rocksdb_set_perf_level(rocksdb_disable);
    while (take_pending(committer)) {
        if (committer->pending)
            run_round(committer);
        else if (!committer->copies.first)
            idle(committer);
        if (committer->copies.first)
            run_copies(committer);
    }
}

kw_committer *
kw_committer_start(kw_embedded *store)
{
    kw_committer *committer = g_new0(kw_committer, 1);
    committer->store = store;
    kw_mutex_init(&committer->lock);
    kw_condition_init(&committer->filled);
    committer->collector.store = store;
    kw_entries_init(&committer->collector.batch);
    kw_thread_start(&committer->thread, "kw-committer", run_committer, committer);
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
    kw_entries_clear(&committer->collector.batch);
    kw_copies_clear(&committer->copies);
    kw_condition_clear(&committer->filled);
    kw_mutex_clear(&committer->lock);
    g_free(committer);
}
