/* Calls whose work takes long because of what a caller sent, such as a policy text: on the service's worker
 * threads, within the call's deadline and a budget. Inside of the module.
 *
 *   loop: kw_offload_start --> a worker: work --> the same loop: reply, which ends the exchange
 */
#pragma once

#include "base/effort.h"
#include "service/exchange.h"

/* Memory that one call's work may hold, and how long it may take, whatever the call's deadline is. */
#define KW_OFFLOAD_BYTES ((size_t)256 << 20)
#define KW_OFFLOAD_MS 60000

/* Calls that wait for a worker; more get BUSY. The threads are shared fairly among callers, see
 * base/workers.h. */
#define KW_OFFLOAD_QUEUE 16
#define KW_OFFLOAD_THREADS 3

/* Embedded in the struct of a call, which is not in the call's arena: that belongs to the loop. */
typedef struct kw_offload {
    kw_worker_job job;
    kw_exchange *exchange;
    kw_effort effort;
    bool (*work)(struct kw_offload *self);
    void (*reply)(struct kw_offload *self, const kw_error *error);
    bool good;
    kw_error error; /* for work to fill; it returns false then */
} kw_offload;

/* Between the records of a sample: work that fills the arena. */
static inline bool
kw_offload_may_go_on(kw_effort *effort, const kw_arena *arena)
{
    return kw_effort_hold(effort, kw_arena_used(arena)) && kw_effort_spend(effort, 200);
}

/* work reads the exchange's arguments and changes nothing of the exchange. When its effort is over, its
 * result is dropped, and error says why. reply ends the exchange and frees the struct; BUSY when too many
 * calls wait. */
void kw_offload_start(kw_offload *self, kw_exchange *exchange, bool (*work)(kw_offload *self),
                      void (*reply)(kw_offload *self, const kw_error *error));
