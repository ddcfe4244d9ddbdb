/* Calls that fail before they are sent (again). done is called from a task in the next loop iteration, so
 * that it never runs inside kw_hbase_pool_start. */
#include "base/container.h"
#include "base/units.h"
#include "store/hbase/link/move.h"
#include "store/hbase/link/pool_private.h"

#define BUSY_MIN_MS 10
#define BUSY_MAX_MS 5000

void
kw_hbase_finish_rejected(kw_task *task)
{
    kw_hbase_pool *pool = KW_CONTAINER(task, kw_hbase_pool, reject_task);
    pool->reject_posted = false;
    for (guint left = pool->rejected.length; left; left--) {
        kw_hbase_call *call = g_queue_peek_head(&pool->rejected);
        g_autofree kw_hbase_failure *failure = g_steal_pointer(&call->rejected);
        kw_hbase_pool_finish(pool, call, NULL, failure);
    }
}

void
kw_hbase_reject(kw_hbase_pool *pool, kw_hbase_call *call, const kw_hbase_failure *failure)
{
    kw_hbase_call_move(pool, call, KW_HBASE_CALL_REJECTED, NULL);
    call->rejected = g_memdup2(failure, sizeof *failure);
    if (!pool->reject_posted) {
        pool->reject_posted = true;
        kw_loop_post(pool->loop, &pool->reject_task);
    }
}

void
kw_hbase_reject_lost(kw_hbase_pool *pool, kw_hbase_call *call)
{
    kw_hbase_failure failure = {.kind = KW_HBASE_LOST};
    kw_error_set(&failure.error, KW_UNAVAILABLE, "the connection to the store was lost");
    kw_hbase_reject(pool, call, &failure);
}

void
kw_hbase_reject_unreachable(kw_hbase_pool *pool, kw_hbase_call *call)
{
    kw_hbase_failure failure = {.kind = KW_HBASE_UNREACHABLE, .error = kw_error_shutting_down};
    if (!pool->closing) {
        kw_error_set(&failure.error, KW_UNAVAILABLE, "no Thrift2 server of the store can be reached");
        failure.error.retry_after_ms = kw_hbase_servers_backoff_ms(pool);
    }
    failure.error.maybe_applied = call->sent && call->changes;
    kw_hbase_reject(pool, call, &failure);
}

void
kw_hbase_reject_fenced(kw_hbase_pool *pool, kw_hbase_call *call)
{
    kw_hbase_failure failure = {.kind = KW_HBASE_UNREACHABLE};
    kw_error_set(&failure.error, KW_UNAVAILABLE,
                 "the lease of this gateway has expired, so it does not write records; try again");
    failure.error.maybe_applied = call->sent && call->changes;
    kw_hbase_reject(pool, call, &failure);
}

void
kw_hbase_reject_late(kw_hbase_pool *pool, kw_hbase_call *call)
{
    kw_hbase_failure failure = {.kind = KW_HBASE_TIMED_OUT};
    kw_error_set(&failure.error, KW_TIMEOUT, "the deadline passed before the call was sent to the store");
    kw_hbase_reject(pool, call, &failure);
}

void
kw_hbase_reject_busy(kw_hbase_pool *pool, kw_hbase_call *call)
{
    kw_hbase_failure failure = {.kind = KW_HBASE_UNREACHABLE};
    size_t waiting = kw_fair_count(pool->queue);
    uint64_t wait_ms = kw_hbase_flow_wait_ns(&pool->flow, waiting) / KW_NS_PER_MS;
    kw_error_set(&failure.error, KW_BUSY, "the store is overloaded: %zu call%s for it; try again later",
                 waiting, waiting == 1 ? " waits" : "s wait");
    failure.error.retry_after_ms = (uint32_t)CLAMP(wait_ms / 2, BUSY_MIN_MS, BUSY_MAX_MS);
    kw_hbase_reject(pool, call, &failure);
}
