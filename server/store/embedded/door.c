/* A loop's door: what a turn of the loop starts is kept in two chains and handed on once, before the loop
 * waits for events and after it handled them. So calls that arrive together reach the committer together
 * and share its next commit, and a lock is taken once per turn. */
#include "store/embedded/internal.h"

#include "base/counters.h"

static void
flush(kw_embedded_door *door)
{
    if (door->commits_first) {
        kw_committer_submit(door->store->committer, door->commits_first, door->commits_last);
        door->commits_first = door->commits_last = NULL;
    }
    if (door->jobs_first) {
        kw_pool_submit(door->store->pool, door->jobs_first, door->jobs_last);
        door->jobs_first = door->jobs_last = NULL;
    }
    if (door->slow_first) {
        kw_pool_submit(door->store->sifters, door->slow_first, door->slow_last);
        door->slow_first = door->slow_last = NULL;
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
}

void
kw_embedded_queue_job(kw_embedded_door *door, kw_job *job, bool slow)
{
    kw_job **first = slow ? &door->slow_first : &door->jobs_first;
    kw_job **last = slow ? &door->slow_last : &door->jobs_last;
    job->next = NULL;
    if (*first)
        (*last)->next = job;
    else
        *first = job;
    *last = job;
    kw_embedded_begin(door);
}

void
kw_embedded_queue_commit(kw_embedded_door *door, kw_commit *commit)
{
    commit->next = NULL;
    if (door->commits_first)
        door->commits_last->next = commit;
    else
        door->commits_first = commit;
    door->commits_last = commit;
    kw_embedded_begin(door);
}

void
kw_embedded_begin(kw_embedded_door *door)
{
    door->in_flight++;
}

void
kw_embedded_end(kw_embedded_door *door)
{
    g_assert(door->in_flight > 0);
    door->in_flight--;
    kw_embedded_door_settle(door);
}

/* --- commits ---------------------------------------------------------------------------------------- */

static void
tell_one(kw_commit *commit)
{
    const kw_error *error = commit->outcome == KW_OUTCOME_OK ? NULL : &commit->error;
    if (error)
        kw_counters_add(KW_FIGURE_store_errors, 1);
    switch (commit->kind) {
    case KW_COMMIT_WRITE:
        commit->done.write(commit->user, commit->outcome, error);
        return;
    case KW_COMMIT_MANY:
        commit->done.many(commit->user);
        return;
    case KW_COMMIT_IF:
        commit->done.write_if(commit->user, commit->outcome, commit->applied, error);
        return;
    case KW_COMMIT_INCREMENT:
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
tell_chain(kw_task *task)
{
    kw_commit *commit = (kw_commit *)task;
    kw_embedded_door *door = commit->door;
    kw_embedded_begin(door); /* holds the door until the chain is told */
    while (commit) {
        kw_commit *next = commit->next;
        tell_one(commit);
        commit->next = door->spare_commits;
        door->spare_commits = commit;
        kw_embedded_end(door);
        commit = next;
    }
    kw_embedded_end(door);
}

static kw_commit *
commit_new(kw_door *base, kw_commit_kind kind, kw_deadline deadline, kw_durability durability, void *user)
{
    kw_embedded_door *door = (kw_embedded_door *)base;
    kw_commit *commit = door->spare_commits;
    if (commit)
        door->spare_commits = commit->next;
    else
        commit = g_new(kw_commit, 1);
    commit->task.run = tell_chain;
    commit->door = door;
    commit->kind = kind;
    commit->deadline = deadline;
    commit->lazy = durability == KW_DURABILITY_SKIP_WAL || durability == KW_DURABILITY_ASYNC_WAL;
    commit->user = user;
    commit->outcome = KW_OUTCOME_OK;
    commit->applied = false;
    commit->rows = NULL;
    kw_embedded_queue_commit(door, commit);
    return commit;
}

static void
door_write(kw_door *door, const kw_write *write, kw_write_done done, void *user)
{
    kw_commit *commit = commit_new(door, KW_COMMIT_WRITE, write->deadline, write->durability, user);
    commit->write = write;
    commit->done.write = done;
}

static void
door_write_many(kw_door *door, const kw_write *const *writes, size_t count, kw_written *results,
                void (*done)(void *), void *user)
{
    kw_commit *commit = commit_new(door, KW_COMMIT_MANY, writes[0]->deadline, writes[0]->durability, user);
    commit->many.writes = writes;
    commit->many.count = count;
    commit->many.results = results;
    commit->done.many = done;
}

static void
door_write_if(kw_door *door, const kw_write *write, const kw_check *check, kw_write_if_done done, void *user)
{
    kw_commit *commit = commit_new(door, KW_COMMIT_IF, write->deadline, write->durability, user);
    commit->write = write;
    commit->check = check;
    commit->done.write_if = done;
}

static void
door_increment(kw_door *door, const kw_increment *increment, kw_increment_done done, void *user)
{
    kw_commit *commit =
        commit_new(door, KW_COMMIT_INCREMENT, increment->deadline, increment->durability, user);
    commit->increment = increment;
    commit->done.increment = done;
}

static void
door_create_table(kw_door *door, const kw_table_spec *spec, kw_create_done done, void *user)
{
    kw_commit *commit = commit_new(door, KW_COMMIT_CREATE, spec->deadline, KW_DURABILITY_DEFAULT, user);
    commit->spec = spec;
    commit->done.create = done;
}

static void
door_drop_table(kw_door *door, kw_bytes table, kw_deadline deadline, kw_simple_done done, void *user)
{
    kw_commit *commit = commit_new(door, KW_COMMIT_DROP, deadline, KW_DURABILITY_DEFAULT, user);
    commit->table = table;
    commit->done.drop = done;
}

/* --- opening and closing ---------------------------------------------------------------------------- */

void
kw_embedded_door_settle(kw_embedded_door *door)
{
    if (!door->closed || door->in_flight > 0 || door->handles_open > 0)
        return;
    if (!door->closed_told) {
        door->closed_told = true;
        door->runs++; /* the callback may close the last run */
        door->closed(door->closed_user);
        door->runs--;
    }
    if (door->runs > 0)
        return;
    while (door->spare_commits) {
        kw_commit *next = door->spare_commits->next;
        g_free(door->spare_commits);
        door->spare_commits = next;
    }
    g_free(door);
}

static void
handle_closed(uv_handle_t *handle)
{
    kw_embedded_door *door = handle->data;
    door->handles_open--;
    kw_embedded_door_settle(door);
}

/* What is in flight gets its true outcome: the committer and the readers are never far behind, and what may
 * take long is given up. */
static void
door_close(kw_door *base, void (*closed)(void *), void *user)
{
    kw_embedded_door *door = (kw_embedded_door *)base;
    door->closed = closed;
    door->closed_user = user;
    atomic_store(&door->closing, true);
    flush(door);
    uv_close((uv_handle_t *)&door->before_poll, handle_closed);
    uv_close((uv_handle_t *)&door->after_poll, handle_closed);
}

kw_door *
kw_embedded_open_door(kw_store *store, kw_loop *loop)
{
    static const kw_door_class door_class = {
        .write = door_write,
        .write_many = door_write_many,
        .write_if = door_write_if,
        .increment = door_increment,
        .get = kw_embedded_get,
        .get_many = kw_embedded_get_many,
        .open_run = kw_embedded_open_run,
        .run_fetch = kw_embedded_run_fetch,
        .run_close = kw_embedded_run_close,
        .create_table = door_create_table,
        .describe_table = kw_embedded_describe_table,
        .drop_table = door_drop_table,
        .regions = kw_embedded_regions,
        .close = door_close,
    };
    kw_embedded_door *door = g_new0(kw_embedded_door, 1);
    door->base = (kw_door){.class = &door_class, .store = store, .loop = loop};
    door->store = (kw_embedded *)store;
    uv_prepare_init(kw_loop_uv(loop), &door->before_poll);
    uv_check_init(kw_loop_uv(loop), &door->after_poll);
    door->before_poll.data = door->after_poll.data = door;
    uv_prepare_start(&door->before_poll, flush_before);
    uv_check_start(&door->after_poll, flush_after);
    uv_unref((uv_handle_t *)&door->before_poll);
    uv_unref((uv_handle_t *)&door->after_poll);
    door->handles_open = 2;
    return &door->base;
}
