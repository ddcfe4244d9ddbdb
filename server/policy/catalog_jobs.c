/* Caller's loop -> main loop: the job is queued, then executed -> caller's loop: the reply. */
#include "policy/catalog_jobs.h"

#include "base/container.h"
#include "base/log.h"
#include "catalog/forget.h"
#include "change/set.h"
#include "policy/table_states.h"

#include <glib.h>

struct kw_catalog_job {
    kw_task task; /* posts the job to the main loop */
    kw_job job;
    kw_control *control;
    struct kw_catalog_job *next_open;
    kw_arena *arena;
    kw_forget_command command; /* table NULL: the job is another one */
    kw_verified_note verified; /* table NULL: the job registers created store tables */
    const char **names;        /* names of store tables that were created, or emptied */
    size_t count;
    kw_error forgotten;
    kw_loop *loop; /* the caller's loop; NULL: no caller waits */
    kw_forget_done done;
    kw_verified_done verified_done; /* of a verification, instead of done */
    void *user;
};
typedef struct kw_catalog_job catalog_job;

static const char *
copy_text(catalog_job *self, const char *text)
{
    return text ? kw_arena_text(self->arena, kw_bytes_of_text(text)) : NULL;
}

static void
copy_names(catalog_job *self, const char *const *names, size_t count)
{
    self->names = KW_ARENA_ARRAY(self->arena, const char *, count);
    self->count = count;
    for (size_t i = 0; i < count; i++)
        self->names[i] = copy_text(self, names[i]);
}

/* --- the reply ----------------------------------------------------------------------------------- */

/* A reply posted to the caller. The job can continue after it was sent. */
typedef struct reply {
    kw_task task;
    char **names;
    size_t count;
    kw_forget_done done;
    kw_verified_done verified_done;
    void *user;
    kw_error error;
} reply;

static void
deliver(kw_task *task)
{
    reply *self = (reply *)task;
    const kw_error *error = self->error.code == KW_OK ? NULL : &self->error;
    if (self->verified_done)
        self->verified_done(self->user, error);
    else
        self->done(self->user, (const char *const *)self->names, self->count, error);
    g_strfreev(self->names);
    g_free(self);
}

static void
answer(catalog_job *self, const kw_error *error)
{
    if (!self->loop)
        return;
    reply *posted = g_new0(reply, 1);
    *posted = (reply){
        .task.run = deliver, .done = self->done, .verified_done = self->verified_done, .user = self->user};
    posted->names = g_new0(char *, self->count + 1);
    for (; posted->count < self->count; posted->count++)
        posted->names[posted->count] = g_strdup(self->names[posted->count]);
    if (error)
        posted->error = *error;
    kw_loop_post(g_steal_pointer(&self->loop), &posted->task);
}

static void
finish(catalog_job *self, const kw_error *error)
{
    kw_control *control = self->control;
    catalog_job **at = &control->catalog_jobs;
    answer(self, error);
    while (*at != self)
        at = &(*at)->next_open;
    *at = self->next_open;
    kw_arena_free(self->arena);
    kw_jobs_next(&control->jobs);
}

void
kw_catalog_jobs_end(kw_control *control)
{
    static const kw_error ending = {.code = KW_UNAVAILABLE, .text = "the gateway is shutting down"};
    for (catalog_job *at = control->catalog_jobs; at; at = at->next_open)
        answer(at, &ending);
}

/* Leaves out records of ended changes that the catalog no longer has. */
static void
leave_out_forgotten(kw_control *control, const kw_current *current)
{
    const kw_change_set *old = control->changes;
    g_autofree kw_change_record *records = g_new(kw_change_record, old->count + 1);
    size_t count = 0;
    for (size_t i = 0; i < old->count; i++) {
        const kw_change_record *each = &old->records[i];
        if (each->under_way ||
            kw_changes_find(current->changes, current->changes_count, each->table, each->path))
            records[count++] = *each;
    }
    g_autoptr(kw_change_set) fresh = kw_change_set_new(records, count, old);
    kw_control_set_changes(control, fresh);
}

static void
on_changes_read(void *user, const kw_current *current, const kw_error *error)
{
    catalog_job *self = user;
    if (error)
        kw_log(KW_LOG_WARN, "catalog", "cannot read the records of changes again",
               KW_LOG_FACT("reason", error->text),
               KW_LOG_FACT("hint", "run keyway reload before the next keyway change command"));
    else
        leave_out_forgotten(self->control, current);
    finish(self, self->forgotten.code == KW_OK ? NULL : &self->forgotten);
}

/* The job can have removed the records of the table's changes, even if it failed. Reads the records again,
 * because the steps of other changes are computed from those in the catalog. */
static void
on_forgotten(void *user, const char *const *emptied, size_t count, const kw_error *error)
{
    catalog_job *self = user;
    kw_control *control = self->control;
    self->forgotten = error ? *error : KW_ERROR_NONE;
    if (!error)
        copy_names(self, emptied, count);
    if (control->changes)
        kw_catalog_read_current_changes(control->catalog, kw_control_call_deadline(control), on_changes_read,
                                        self);
    else
        finish(self, error);
}

static void
on_registered(void *user, const kw_error *error)
{
    catalog_job *self = user;
    if (error)
        kw_log(KW_LOG_WARN, "catalog", "cannot register a store table that Keyway created",
               KW_LOG_FACT("first", self->names[0]), KW_LOG_FACT("reason", error->text),
               KW_LOG_FACT("hint", "keyway forget will not drop its rows"));
    finish(self, NULL);
}

/* The policy in service can have another key rule meanwhile; the catalog then has refused. */
static void
on_verified(void *user, const kw_error *error)
{
    catalog_job *self = user;
    const kw_policy *policy = self->control->policy;
    const kw_table *table = kw_policy_find_table(policy, kw_bytes_of_text(self->verified.table));
    int path = table ? kw_table_find_path(table, kw_bytes_of_text(self->verified.path)) : -1;
    if (!error && path >= 0 && table->paths[path].state) {
        kw_path_state state = {.name = table->paths[path].state,
                               .verified = true,
                               .checked_rows = self->verified.rows,
                               .checked_at_ms = self->verified.at_ms};
        kw_policy_set_path_state(self->control->policy, table->number, (size_t)path, &state);
        kw_table_states_publish(self->control);
        kw_log(KW_LOG_INFO, "catalog", "all rows of a path were verified",
               KW_LOG_FACT("table", self->verified.table), KW_LOG_FACT("path", self->verified.path),
               KW_LOG_FACT("rows", self->verified.rows));
    }
    finish(self, error);
}

/* --- execution ----------------------------------------------------------------------------------- */

static void
run(kw_job *job)
{
    catalog_job *self = KW_CONTAINER(job, catalog_job, job);
    kw_control *control = self->control;
    kw_deadline deadline = kw_control_call_deadline(control);
    kw_error error;
    if (control->state != KW_CONTROL_SERVING) {
        kw_error_set(&error, KW_UNAVAILABLE, "the gateway is not serving yet");
        finish(self, &error);
    } else if (!control->catalog) {
        kw_error_set(&error, KW_INVALID, "this store keeps no rows and no catalog");
        finish(self, &error);
    } else if (self->command.table) {
        kw_forget_request request = {.table = self->command.table,
                                     .path = self->command.path,
                                     .drop_rows = self->command.drop_rows,
                                     .policy = control->policy};
        kw_catalog_forget(control->catalog, &request, deadline, on_forgotten, self);
    } else if (self->verified.table) {
        kw_catalog_note_verified(control->catalog, &self->verified, deadline, on_verified, self);
    } else {
        kw_catalog_note_created(control->catalog, self->names, self->count, deadline, on_registered, self);
    }
}

static void
queue(kw_task *task)
{
    catalog_job *self = KW_CONTAINER(task, catalog_job, task);
    kw_control *control = self->control;
    self->next_open = control->catalog_jobs;
    control->catalog_jobs = self;
    self->job.run = run;
    kw_jobs_add(&self->control->jobs, &self->job);
}

static catalog_job *
job_new(kw_control *control)
{
    kw_arena *arena = kw_arena_new();
    catalog_job *self = KW_ARENA_NEW(arena, catalog_job);
    *self = (catalog_job){.task.run = queue, .control = control, .arena = arena};
    return self;
}

void
kw_catalog_jobs_forget(void *user, const kw_forget_command *command, kw_loop *loop, kw_forget_done done,
                       void *done_user)
{
    catalog_job *self = job_new(user);
    self->command = (kw_forget_command){copy_text(self, command->table), copy_text(self, command->path),
                                        command->drop_rows};
    self->loop = loop;
    self->done = done;
    self->user = done_user;
    kw_loop_post(self->control->loop, &self->task);
}

void
kw_catalog_jobs_verified(void *user, const kw_verified_rows *rows, kw_loop *loop, kw_verified_done done,
                         void *done_user)
{
    catalog_job *self = job_new(user);
    self->verified = (kw_verified_note){.table = copy_text(self, rows->table),
                                        .path = copy_text(self, rows->path),
                                        .fingerprint = copy_text(self, rows->fingerprint),
                                        .store_table = copy_text(self, rows->store_table),
                                        .rows = rows->rows,
                                        .at_ms = kw_clock_wall_ms()};
    self->loop = loop;
    self->verified_done = done;
    self->user = done_user;
    kw_loop_post(self->control->loop, &self->task);
}

void
kw_catalog_jobs_created(void *user, const char *const *store_tables, size_t count)
{
    catalog_job *self = job_new(user);
    copy_names(self, store_tables, count);
    kw_loop_post(self->control->loop, &self->task);
}
