#include "service/offload.h"

#include "base/guard.h"

#define RETRY_MS 1000

/* Called on a worker. True if the gateway is stopping, the client has disconnected, or others wait for the
 * thread. */
static bool
must_stop(void *user)
{
    kw_offload *self = user;
    return kw_workers_are_shut(self->exchange->worker->service->offloads) ||
           kw_account_client_is_gone(self->exchange->account) || kw_worker_job_must_yield(&self->job);
}

static bool
refuse_busy(kw_error *error)
{
    kw_error_set(error, KW_BUSY,
                 "all threads for calls of this kind are busy, and other callers wait; try again later");
    error->retry_after_ms = RETRY_MS;
    return false;
}

static void
run_work(void *user)
{
    kw_offload *self = user;
    self->good = self->work(self);
}

static void
run(kw_worker_job *job)
{
    kw_offload *self = (kw_offload *)job;
    if (kw_deadline_passed(self->effort.deadline))
        kw_error_set(&self->error, KW_TIMEOUT,
                     "the deadline passed while the call waited for a worker thread");
    else if (!kw_guard_run(self->arena, run_work, self, &self->error))
        self->good = false;
    else if (self->effort.over && self->job.yielded)
        self->good = refuse_busy(&self->error);
    else if (self->effort.over)
        self->good = kw_effort_fail(&self->effort, "the call was processed", &self->error);
}

/* Ends the work on the loop. */
static void
end(kw_offload *self)
{
    kw_effort_release(&self->effort);
    kw_arena_adopt(self->exchange->call.arena, g_steal_pointer(&self->arena));
    self->reply(self, self->good ? NULL : &self->error);
}

static void
done(kw_worker_job *job)
{
    kw_offload *self = (kw_offload *)job;
    if (job->dropped)
        self->good = refuse_busy(&self->error);
    end(self);
}

void
kw_offload_start(kw_offload *self, kw_exchange *exchange, bool (*work)(kw_offload *self),
                 void (*reply)(kw_offload *self, const kw_error *error))
{
    kw_deadline deadline = kw_deadline_earlier(exchange->call.deadline, kw_deadline_in_ms(KW_OFFLOAD_MS));
    kw_guard_end();
    self->exchange = exchange;
    self->arena = kw_arena_new_for(exchange->account, KW_MEMORY_CALLS);
    self->job = (kw_worker_job){.peer = kw_request_peer_number(exchange->request),
                                .caller = exchange->account,
                                .deadline = deadline,
                                .run = run,
                                .done = done};
    self->work = work;
    self->reply = reply;
    self->effort = (kw_effort){.deadline = deadline,
                               .is_cancelled = must_stop,
                               .user = self,
                               .account = exchange->account,
                               .bytes_most = (size_t)MIN((int64_t)KW_OFFLOAD_BYTES, kw_budget_call_share())};
    kw_error_set(&self->error, KW_UNAVAILABLE, "the gateway is stopping"); /* for a job that is skipped */
    if (kw_worker_port_submit(exchange->worker->offload, &self->job))
        return;
    refuse_busy(&self->error);
    end(self);
}
