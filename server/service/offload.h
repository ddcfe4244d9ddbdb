/* Internal to service: executes calls whose work can be long, such as compiling a policy text, on the
 * service's worker threads, bounded by the call's deadline and an effort.
 *
 *   loop: kw_offload_start --> a worker: work --> the same loop: reply, which ends the exchange
 */
#pragma once

#include "base/effort.h"
#include "service/exchange.h"

/* Maximum memory and time of one call's work. The share of a call (kw_budget_call_share) and the call's
 * deadline apply, too: the smaller share and the earlier deadline count. */
#define KW_OFFLOAD_BYTES ((size_t)256 << 20)
#define KW_OFFLOAD_MS 60000

/* Maximum number of calls that wait for a worker; further calls get BUSY. Callers share the threads fairly,
 * see base/workers.h. */
#define KW_OFFLOAD_QUEUE 16
#define KW_OFFLOAD_THREADS 3

/* A member of a struct that is allocated separately, because the call's arena belongs to the loop. */
typedef struct kw_offload {
    kw_worker_job job;
    kw_exchange *exchange;
    kw_arena *arena; /* for the work; when reply is called, its memory is part of the call's arena */
    kw_effort effort;
    bool (*work)(struct kw_offload *self);
    void (*reply)(struct kw_offload *self, const kw_error *error);
    bool good;
    kw_error error; /* set by work before it returns false */
} kw_offload;

/* Call this between the records of a sample, while work fills the arena. False once the effort is used up. */
static inline bool
kw_offload_can_continue(kw_effort *effort, const kw_arena *arena)
{
    return kw_effort_hold(effort, kw_arena_used(arena)) && kw_effort_spend(effort, 200);
}

/* Calls work on a worker, in a guard of self->arena, then reply on the loop. work reads the exchange's
 * arguments and must not change the exchange. If its effort is used up, its result is dropped and error is
 * set. reply ends the exchange and frees the struct. It gets BUSY if too many calls wait, if memory is short,
 * or if the work had to stop because other callers wait for the thread; UNAVAILABLE if the gateway stops
 * before the work begins. */
void kw_offload_start(kw_offload *self, kw_exchange *exchange, bool (*work)(kw_offload *self),
                      void (*reply)(kw_offload *self, const kw_error *error));
