#include "policy/requests.h"

#include "base/container.h"
#include "change/set.h"
#include "policy/apply.h"

#include <stdatomic.h>

/* Maximum numbers of requests without an answer: each can hold a text and a compiled policy, or two texts, or
 * copies of a page of the catalog. */
#define APPLIES_MAX 4
#define READS_MAX 16
#define TRANSFERS_MAX 2
#define RETRY_MS 1000

typedef kw_policy_request request;

static const kw_error ending = {.code = KW_UNAVAILABLE, .text = "the gateway is shutting down"};

static request *
request_of_task(kw_task *task)
{
    return KW_CONTAINER(task, request, task);
}

/* --- the reply ----------------------------------------------------------------------------------- */

/* A reply posted to the caller, in an arena of its own. */
typedef struct reply {
    kw_task task;
    kw_arena *arena;
    kw_apply_done apply_done;
    kw_versions_done versions_done;
    kw_transfer_done transfer_done;
    void *user;
    kw_applied applied;
    kw_stored_version *versions;
    size_t count;
    kw_transfer page;
    kw_error error;
} reply;

static void
deliver(kw_task *task)
{
    reply *self = KW_CONTAINER(task, reply, task);
    const kw_error *error = self->error.code == KW_OK ? NULL : &self->error;
    if (self->apply_done)
        self->apply_done(self->user, error ? NULL : &self->applied, error);
    else if (self->transfer_done)
        self->transfer_done(self->user, error ? NULL : &self->page, error);
    else
        self->versions_done(self->user, self->versions, self->count, error);
    kw_arena_free(self->arena);
}

static reply *
reply_new(const request *self, const kw_error *error)
{
    kw_arena *arena = kw_arena_new();
    reply *posted = KW_ARENA_NEW(arena, reply);
    *posted = (reply){.task.run = deliver,
                      .arena = arena,
                      .apply_done = self->apply_done,
                      .versions_done = self->versions_done,
                      .transfer_done = self->transfer_done,
                      .user = self->user,
                      .error = error ? *error : KW_ERROR_NONE};
    return posted;
}

static const char *
copy_text(kw_arena *arena, const char *text)
{
    return kw_arena_text(arena, kw_bytes_of_text(text ? text : ""));
}

static const char *const *
copy_texts(kw_arena *arena, const char *const *texts, size_t count)
{
    const char **copies = KW_ARENA_ARRAY(arena, const char *, count);
    for (size_t i = 0; i < count; i++)
        copies[i] = copy_text(arena, texts[i]);
    return copies;
}

static const kw_saved_cell *
copy_cells(kw_arena *arena, const kw_saved_cell *cells, size_t count)
{
    kw_saved_cell *copies = KW_ARENA_ARRAY(arena, kw_saved_cell, count);
    for (size_t i = 0; i < count; i++)
        copies[i] = (kw_saved_cell){kw_arena_copy(arena, cells[i].row), kw_arena_copy(arena, cells[i].column),
                                    kw_arena_copy(arena, cells[i].value)};
    return copies;
}

static kw_transfer
copy_transfer(kw_arena *arena, const kw_transfer *from)
{
    kw_transfer copy = *from;
    copy.cursor = kw_arena_copy(arena, from->cursor);
    copy.export_id = copy_text(arena, from->export_id);
    copy.cells = copy_cells(arena, from->cells, from->cells_count);
    copy.counters = copy_cells(arena, from->counters, from->counters_count);
    copy.counters_table = copy_text(arena, from->counters_table);
    return copy;
}

static void
answer(request *self, reply *posted)
{
    kw_loop_post(g_steal_pointer(&self->loop), &posted->task);
}

static void
answer_applied(request *self, const kw_error *error)
{
    if (!self->loop)
        return;
    reply *posted = reply_new(self, error);
    posted->applied = self->applied;
    posted->applied.plan = copy_text(posted->arena, self->applied.plan);
    posted->applied.copied = copy_texts(posted->arena, self->applied.copied, self->applied.copied_count);
    answer(self, posted);
}

static void
answer_versions(request *self, const kw_version *versions, size_t count, const kw_error *error)
{
    if (!self->loop)
        return;
    reply *posted = reply_new(self, error);
    posted->count = count;
    posted->versions = KW_ARENA_ARRAY(posted->arena, kw_stored_version, count);
    for (size_t i = 0; i < count; i++)
        posted->versions[i] = (kw_stored_version){.number = versions[i].name.number,
                                                  .author = copy_text(posted->arena, versions[i].author),
                                                  .reason = copy_text(posted->arena, versions[i].reason),
                                                  .at_ms = versions[i].at_ms,
                                                  .text = kw_arena_copy(posted->arena, versions[i].text)};
    answer(self, posted);
}

static _Atomic unsigned *
count_of(const request *self)
{
    kw_control *control = self->control;
    return self->command.policy  ? &control->policy_applies
           : self->transfer_done ? &control->transfers
                                 : &control->policy_reads;
}

static void
request_free(request *self)
{
    atomic_fetch_sub(count_of(self), 1);
    request **at = &self->control->policy_requests;
    while (*at != self)
        at = &(*at)->next_open;
    *at = self->next_open;
    kw_policy_unref(self->command.policy);
    kw_timer_free(self->wait);
    kw_policy_unref(self->old);
    kw_policy_unref(self->policy);
    kw_change_set_unref(self->base);
    kw_change_set_unref(self->changes);
    kw_arena_free(self->arena);
}

void
kw_policy_requests_end(kw_control *control)
{
    for (request *at = control->policy_requests; at; at = at->next_open)
        if (at->loop)
            answer(at, reply_new(at, &ending));
    request *waiting = control->policy_requests;
    while (waiting && !waiting->wait && !waiting->preview)
        waiting = waiting->next_open;
    if (waiting)
        kw_policy_apply_end(waiting);
}

void
kw_policy_request_finish(kw_policy_request *self, const kw_error *error)
{
    kw_control *control = self->control;
    answer_applied(self, error);
    request_free(self);
    kw_jobs_next(&control->jobs);
}

static void
finish_versions(request *self, const kw_version *versions, size_t count, const kw_error *error)
{
    answer_versions(self, versions, count, error);
    request_free(self);
}

void
kw_policy_request_finish_transfer(kw_policy_request *self, const kw_transfer *page, const kw_error *error)
{
    if (self->loop) {
        reply *posted = reply_new(self, error);
        if (!error)
            posted->page = copy_transfer(posted->arena, page);
        answer(self, posted);
    }
    request_free(self);
}

/* --- reading versions ------------------------------------------------------------------------------ */

static void
on_listed(void *user, const kw_version *versions, size_t count, const kw_error *error)
{
    finish_versions(user, versions, count, error);
}

static void
on_read(void *user, const kw_version *version, const kw_error *error)
{
    finish_versions(user, version, version ? 1 : 0, error);
}

/* The list has the newest version up to the wanted number. It is the wanted one if it has this number. */
static void
on_found(void *user, const kw_version *versions, size_t count, const kw_error *error)
{
    request *self = user;
    kw_error missing;
    if (error) {
        finish_versions(self, NULL, 0, error);
    } else if (count == 0) {
        kw_error_set(&missing, KW_NOT_FOUND, "the catalog has no policy version yet");
        finish_versions(self, NULL, 0, &missing);
    } else if (self->number > 0 && versions[0].name.number != self->number) {
        kw_error_set(&missing, KW_NOT_FOUND,
                     "there is no policy version %" G_GINT64_FORMAT "; the current one is %" G_GINT64_FORMAT,
                     self->number, versions[0].name.number);
        finish_versions(self, NULL, 0, &missing);
    } else {
        kw_catalog_read_version(self->control->catalog, &versions[0].name,
                                kw_control_call_deadline(self->control), on_read, self);
    }
}

static void
read_versions(request *self)
{
    kw_catalog *catalog = self->control->catalog;
    if (self->limit > 0)
        kw_catalog_read_history(catalog, self->before, self->limit, kw_control_call_deadline(self->control),
                                on_listed, self);
    else
        kw_catalog_read_history(catalog, self->number > 0 ? self->number + 1 : 0, 1,
                                kw_control_call_deadline(self->control), on_found, self);
}

/* --- from the caller's loop to the main loop ------------------------------------------------------- */

static void
run_apply(kw_job *job)
{
    kw_policy_apply_run(KW_CONTAINER(job, request, job));
}

/* Ends a request that does not begin. */
static void
refuse(request *self, const kw_error *error)
{
    if (self->transfer_done)
        kw_policy_request_finish_transfer(self, NULL, error);
    else
        finish_versions(self, NULL, 0, error);
}

static void
begin(kw_task *task)
{
    request *self = request_of_task(task);
    kw_control *control = self->control;
    kw_error error;
    self->next_open = control->policy_requests;
    control->policy_requests = self;
    if (control->state >= KW_CONTROL_DRAINING && self->loop)
        answer(self, reply_new(self, &ending));
    if (self->command.policy) {
        self->job.run = run_apply;
        kw_jobs_add(&control->jobs, &self->job);
    } else if (!control->catalog) {
        kw_error_set(&error, KW_INVALID, "this store keeps no rows and no catalog");
        refuse(self, &error);
    } else if (control->state >= KW_CONTROL_DRAINING) {
        refuse(self, &ending);
    } else if (self->transfer_done) {
        kw_policy_request_transfer(self);
    } else {
        read_versions(self);
    }
}

/* On the caller's thread. */
static void
pass_on(request *self)
{
    static const kw_error busy = {.code = KW_BUSY,
                                  .retry_after_ms = RETRY_MS,
                                  .text = "too many calls about policy versions or the catalog are waiting"};
    unsigned most = self->command.policy ? APPLIES_MAX : self->transfer_done ? TRANSFERS_MAX : READS_MAX;
    if (atomic_fetch_add(count_of(self), 1) < most) {
        kw_loop_post(self->control->loop, &self->task);
        return;
    }
    atomic_fetch_sub(count_of(self), 1);
    answer(self, reply_new(self, &busy));
    kw_policy_unref(self->command.policy);
    kw_arena_free(self->arena);
}

static request *
request_new(kw_control *control, kw_loop *loop, void *user)
{
    kw_arena *arena = kw_arena_new();
    request *self = KW_ARENA_NEW(arena, request);
    *self = (request){.task.run = begin, .control = control, .arena = arena, .loop = loop, .user = user};
    return self;
}

void
kw_policy_requests_apply(void *user, const kw_apply_command *command, kw_loop *loop, kw_apply_done done,
                         void *done_user)
{
    request *self = request_new(user, loop, done_user);
    self->apply_done = done;
    self->command = *command;
    self->command.policy = kw_policy_ref(command->policy);
    self->command.text = kw_arena_copy(self->arena, command->text);
    self->command.author = copy_text(self->arena, command->author);
    self->command.reason = copy_text(self->arena, command->reason);
    pass_on(self);
}

void
kw_policy_requests_history(void *user, int64_t before, size_t limit, kw_loop *loop, kw_versions_done done,
                           void *done_user)
{
    request *self = request_new(user, loop, done_user);
    self->versions_done = done;
    self->before = before;
    self->limit = limit;
    pass_on(self);
}

void
kw_policy_requests_version(void *user, int64_t number, kw_loop *loop, kw_versions_done done, void *done_user)
{
    request *self = request_new(user, loop, done_user);
    self->versions_done = done;
    self->number = number;
    pass_on(self);
}

void
kw_policy_requests_transfer(void *user, const kw_transfer *command, kw_loop *loop, kw_transfer_done done,
                            void *done_user)
{
    request *self = request_new(user, loop, done_user);
    self->transfer_done = done;
    self->transfer = copy_transfer(self->arena, command);
    pass_on(self);
}
