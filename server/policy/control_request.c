#include "policy/control_request.h"

#include "base/container.h"
#include "policy/control.h"

#define RETRY_MS 1000

static const unsigned most[KW_REQUEST_GROUPS] = {
    [KW_REQUESTS_APPLY] = 4,   [KW_REQUESTS_READ] = 16,   [KW_REQUESTS_TRANSFER] = 2,
    [KW_REQUESTS_CHANGE] = 16, [KW_REQUESTS_FORGET] = 16, [KW_REQUESTS_OTHER] = UINT_MAX};

void *
kw_control_request_new(size_t size, const kw_control_request_kind *kind, kw_control *control, kw_loop *loop,
                       void *user)
{
    kw_arena *arena = kw_arena_new();
    kw_control_request *self = kw_arena_alloc0(arena, size);
    *self = (kw_control_request){
        .kind = kind, .control = control, .arena = arena, .loop = loop, .user = user, .references = 1};
    return self;
}

const char *
kw_control_request_text(const kw_control_request *self, const char *text)
{
    return text ? kw_arena_text(self->arena, kw_bytes_of_text(text)) : NULL;
}

/* --- the end ------------------------------------------------------------------------------------------- */

static void
unref(kw_control_request *self)
{
    if (atomic_fetch_sub(&self->references, 1) == 1)
        kw_arena_free(self->arena);
}

static void
reply(kw_task *task)
{
    kw_control_request *self = KW_CONTAINER(task, kw_control_request, task);
    self->kind->reply(self, self->error.code == KW_OK ? NULL : &self->error);
    unref(self);
}

static void
answer(kw_control_request *self, const kw_error *error)
{
    if (!self->loop)
        return;
    self->error = error ? *error : KW_ERROR_NONE;
    self->task.run = reply;
    atomic_fetch_add(&self->references, 1);
    kw_loop_post(g_steal_pointer(&self->loop), &self->task);
}

/* Ends a request that is in no list and no job. */
static void
end(kw_control_request *self, const kw_error *error)
{
    atomic_fetch_sub(&self->control->requests_count[self->kind->group], 1);
    answer(self, error);
    if (self->kind->clear)
        self->kind->clear(self);
    unref(self);
}

void
kw_control_request_finish(kw_control_request *self, const kw_error *error)
{
    kw_control *control = self->control;
    bool is_job = self->kind->is_job;
    kw_control_request **at = &control->requests;
    while (*at != self)
        at = &(*at)->next_open;
    *at = self->next_open;
    end(self, error);
    if (is_job)
        kw_jobs_next(&control->jobs);
}

void
kw_control_requests_stop(kw_control *control)
{
    for (kw_control_request *at = control->requests; at; at = at->next_open)
        answer(at, &kw_error_shutting_down);
    for (kw_control_request *at = control->requests, *next = NULL; at; at = next) {
        next = at->next_open;
        if (at->kind->stop)
            at->kind->stop(at);
    }
}

/* --- from the caller's loop to the main loop ------------------------------------------------------------ */

static void
run(kw_job *job)
{
    kw_control_request *self = KW_CONTAINER(job, kw_control_request, job);
    if (self->control->state >= KW_CONTROL_DRAINING)
        kw_control_request_finish(self, &kw_error_shutting_down);
    else
        self->kind->run(self);
}

static void
begin(kw_control_request *self)
{
    kw_control *control = self->control;
    if (control->state >= KW_CONTROL_DRAINING) {
        end(self, &kw_error_shutting_down);
        return;
    }
    self->next_open = control->requests;
    control->requests = self;
    self->job.run = run;
    if (self->kind->is_job)
        kw_jobs_add(&control->jobs, &self->job);
    else
        self->kind->run(self);
}

static void
arrive(kw_task *task)
{
    begin(KW_CONTAINER(task, kw_control_request, task));
}

void
kw_control_request_begin(kw_control_request *self)
{
    atomic_fetch_add(&self->control->requests_count[self->kind->group], 1);
    begin(self);
}

void
kw_control_request_send(kw_control_request *self)
{
    static const kw_error busy = {
        .code = KW_BUSY,
        .retry_after_ms = RETRY_MS,
        .text = "too many calls about policy versions, changes or the catalog are waiting"};
    kw_request_group group = self->kind->group;
    self->task.run = arrive;
    if (atomic_fetch_add(&self->control->requests_count[group], 1) < most[group])
        kw_loop_post(self->control->loop, &self->task);
    else
        end(self, &busy);
}
