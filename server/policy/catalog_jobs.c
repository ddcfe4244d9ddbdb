#include "policy/catalog_jobs.h"

#include "base/container.h"
#include "base/log.h"
#include "catalog/forget.h"
#include "change/set.h"
#include "policy/table_states.h"
#include "schema/progress.h"

typedef struct catalog_job {
    kw_control_request request;
    kw_forget_done done;
    kw_verified_done verified_done; /* of a verification */
    kw_forget_command command;
    kw_verified_note verified;
    const char **names; /* names of store tables that were created, or emptied */
    size_t count;
    kw_error forgotten;
} catalog_job;

static const char *
copy_text(catalog_job *self, const char *text)
{
    return kw_control_request_text(&self->request, text);
}

static void
copy_names(catalog_job *self, const char *const *names, size_t count)
{
    self->names = KW_ARENA_ARRAY(self->request.arena, const char *, count);
    self->count = count;
    for (size_t i = 0; i < count; i++)
        self->names[i] = copy_text(self, names[i]);
}

static void
finish(catalog_job *self, const kw_error *error)
{
    kw_control_request_finish(&self->request, error);
}

/* True if the gateway serves. Otherwise the job fails. */
static bool
can_begin(catalog_job *self)
{
    kw_control *control = self->request.control;
    kw_error error;
    if (kw_control_is_in_service(control))
        return true;
    kw_error_set(&error, KW_UNAVAILABLE, "the gateway is not serving yet");
    finish(self, &error);
    return false;
}

/* --- forgetting ---------------------------------------------------------------------------------- */

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
        leave_out_forgotten(self->request.control, current);
    finish(self, self->forgotten.code == KW_OK ? NULL : &self->forgotten);
}

/* The job can have removed the records of the table's changes, even if it failed. Reads the records again,
 * because the steps of other changes are computed from those in the catalog. */
static void
on_forgotten(void *user, const char *const *emptied, size_t count, const kw_error *error)
{
    catalog_job *self = user;
    kw_control *control = self->request.control;
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
run_forget(kw_control_request *request)
{
    catalog_job *self = KW_CONTAINER(request, catalog_job, request);
    kw_control *control = request->control;
    kw_forget_request forget = {.table = self->command.table,
                                .path = self->command.path,
                                .drop_rows = self->command.drop_rows,
                                .policy = control->policy};
    if (can_begin(self))
        kw_catalog_forget(control->catalog, &forget, kw_control_call_deadline(control), on_forgotten, self);
}

static void
reply_forgotten(kw_control_request *request, const kw_error *error)
{
    const catalog_job *self = KW_CONTAINER(request, catalog_job, request);
    self->done(request->user, error ? NULL : self->names, error ? 0 : self->count, error);
}

void
kw_catalog_jobs_forget(void *user, const kw_forget_command *command, kw_loop *loop, kw_forget_done done,
                       void *done_user)
{
    static const kw_control_request_kind kind = {
        .group = KW_REQUESTS_FORGET, .is_job = true, .run = run_forget, .reply = reply_forgotten};
    catalog_job *self = kw_control_request_new(sizeof *self, &kind, user, loop, done_user);
    self->command = (kw_forget_command){copy_text(self, command->table), copy_text(self, command->path),
                                        command->drop_rows};
    self->done = done;
    kw_control_request_send(&self->request);
}

/* --- verified rows ------------------------------------------------------------------------------- */

/* The policy in service can have another key rule meanwhile; the catalog then has refused. */
static void
on_verified(void *user, const kw_error *error)
{
    catalog_job *self = user;
    const kw_policy *policy = self->request.control->policy;
    const kw_table *table = kw_policy_find_table(policy, kw_bytes_of_text(self->verified.table));
    int path = table ? kw_table_find_path(table, kw_bytes_of_text(self->verified.path)) : -1;
    if (!error && path >= 0 && table->paths[path].progress->state) {
        kw_path_state state = {.name = table->paths[path].progress->state,
                               .verified = true,
                               .checked_rows = self->verified.rows,
                               .checked_at_ms = self->verified.at_ms};
        kw_policy_set_path_state(self->request.control->policy, table->number, (size_t)path, &state);
        kw_table_states_publish(self->request.control);
        kw_log(KW_LOG_INFO, "catalog", "all rows of a path were verified",
               KW_LOG_FACT("table", self->verified.table), KW_LOG_FACT("path", self->verified.path),
               KW_LOG_FACT("rows", self->verified.rows));
    }
    finish(self, error);
}

static void
run_verified(kw_control_request *request)
{
    catalog_job *self = KW_CONTAINER(request, catalog_job, request);
    kw_control *control = request->control;
    if (can_begin(self))
        kw_catalog_note_verified(control->catalog, &self->verified, kw_control_call_deadline(control),
                                 on_verified, self);
}

static void
reply_verified(kw_control_request *request, const kw_error *error)
{
    KW_CONTAINER(request, catalog_job, request)->verified_done(request->user, error);
}

void
kw_catalog_jobs_verified(void *user, const kw_verified_rows *rows, kw_loop *loop, kw_verified_done done,
                         void *done_user)
{
    static const kw_control_request_kind kind = {
        .group = KW_REQUESTS_OTHER, .is_job = true, .run = run_verified, .reply = reply_verified};
    catalog_job *self = kw_control_request_new(sizeof *self, &kind, user, loop, done_user);
    self->verified = (kw_verified_note){.table = copy_text(self, rows->table),
                                        .path = copy_text(self, rows->path),
                                        .fingerprint = copy_text(self, rows->fingerprint),
                                        .store_table = copy_text(self, rows->store_table),
                                        .rows = rows->rows,
                                        .at_ms = kw_clock_wall_ms()};
    self->verified_done = done;
    kw_control_request_send(&self->request);
}

/* --- created store tables ------------------------------------------------------------------------ */

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

static void
run_created(kw_control_request *request)
{
    catalog_job *self = KW_CONTAINER(request, catalog_job, request);
    kw_control *control = request->control;
    if (can_begin(self))
        kw_catalog_note_created(control->catalog, self->names, self->count, kw_control_call_deadline(control),
                                on_registered, self);
}

void
kw_catalog_jobs_created(void *user, const char *const *store_tables, size_t count)
{
    static const kw_control_request_kind kind = {
        .group = KW_REQUESTS_OTHER, .is_job = true, .run = run_created};
    catalog_job *self = kw_control_request_new(sizeof *self, &kind, user, NULL, NULL);
    copy_names(self, store_tables, count);
    kw_control_request_send(&self->request);
}
