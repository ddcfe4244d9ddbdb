#include "service/offload.h"

#define RETRY_MS 1000

static bool
is_stopping(void *user)
{
    return kw_workers_are_shut(user);
}

static void
run(kw_worker_job *job)
{
    kw_offload *self = (kw_offload *)job;
    if (kw_deadline_passed(self->effort.deadline)) {
        kw_error_set(&self->error, KW_TIMEOUT, "the deadline passed while the call waited for others");
        return;
    }
    self->good = self->work(self);
    if (self->effort.over)
        self->good = kw_effort_fail(&self->effort, "the call was worked on", &self->error);
}

static void
done(kw_worker_job *job)
{
    kw_offload *self = (kw_offload *)job;
    self->reply(self, self->good ? NULL : &self->error);
}

void
kw_offload_start(kw_offload *self, kw_exchange *exchange, bool (*work)(kw_offload *self),
                 void (*reply)(kw_offload *self, const kw_error *error))
{
    kw_service *service = exchange->part->service;
    self->exchange = exchange;
    self->job = (kw_worker_job){.run = run, .done = done};
    self->work = work;
    self->reply = reply;
    self->effort = (kw_effort){
        .deadline = kw_deadline_earlier(exchange->call.deadline, kw_deadline_in_ms(KW_OFFLOAD_MS)),
        .is_cancelled = is_stopping,
        .user = service->offloads,
        .bytes_most = KW_OFFLOAD_BYTES};
    kw_error_set(&self->error, KW_UNAVAILABLE, "the gateway is stopping"); /* for a job that is not run */
    if (kw_worker_port_submit(exchange->part->offload, &self->job))
        return;
    kw_error_set(&self->error, KW_BUSY, "%d calls of this kind wait already", KW_OFFLOAD_QUEUE);
    self->error.retry_after_ms = RETRY_MS;
    reply(self, &self->error);
}
