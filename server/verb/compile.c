#include "verb/compile.h"

#include <glib.h>

#define RETRY_MS 100

struct kw_compiling {
    kw_worker_job job;
    kw_prepared *prepared; /* owns a reference */
    bool good;
    kw_error error;
    kw_compiled done; /* NULL: cancelled */
    void *user;
    kw_compiling **slot;
};

static const kw_error too_many = {
    .code = KW_BUSY, .retry_after_ms = RETRY_MS, .text = "too many filters wait to be compiled"};

/* True, with the error, if the deadline has passed. */
static bool
is_late(kw_compiling *self)
{
    if (!kw_deadline_passed(self->job.deadline))
        return false;
    kw_error_set(&self->error, KW_TIMEOUT, "the deadline passed before the filter was compiled");
    return true;
}

static void
compile(kw_worker_job *job)
{
    kw_compiling *self = (kw_compiling *)job;
    if (!is_late(self))
        self->good = kw_prepared_compile(self->prepared, &self->error);
}

static void
compiled(kw_worker_job *job)
{
    kw_compiling *self = (kw_compiling *)job;
    if (job->dropped && !is_late(self))
        self->error = too_many;
    kw_error error = self->error;
    bool good = self->good;
    kw_compiled done = self->done;
    void *user = self->user;
    if (done)
        *self->slot = NULL;
    kw_prepared_unref(self->prepared);
    g_free(self);
    if (done)
        done(user, good ? NULL : &error);
}

static void
compile_at_once(kw_prepared *prepared, kw_compiled done, void *user)
{
    kw_error error;
    done(user, kw_prepared_compile(prepared, &error) ? NULL : &error);
}

void
kw_compile(kw_call *call, kw_prepared *prepared, kw_compiled done, void *user, kw_compiling **slot)
{
    *slot = NULL;
    if (!prepared || !call->compiler || !kw_prepared_needs_compiling(prepared)) {
        if (prepared)
            compile_at_once(prepared, done, user);
        else
            done(user, NULL);
        return;
    }
    kw_compiling *self = g_new0(kw_compiling, 1);
    *self = (kw_compiling){.job = {.peer = call->peer,
                                   .caller = call->account,
                                   .deadline = call->deadline,
                                   .run = compile,
                                   .done = compiled},
                           .prepared = kw_prepared_ref(prepared),
                           .done = done,
                           .user = user,
                           .slot = slot};
    kw_error_set(&self->error, KW_UNAVAILABLE,
                 "the gateway is stopping"); /* the error of a job that never starts */
    if (kw_worker_port_submit(call->compiler, &self->job)) {
        *slot = self;
        return;
    }
    kw_prepared_unref(self->prepared);
    g_free(self);
    done(user, &too_many);
}

void
kw_compiling_give_up(kw_compiling *self)
{
    if (self)
        self->done = NULL;
}
