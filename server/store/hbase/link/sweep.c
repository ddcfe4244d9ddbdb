/* The deadlines of a pool's calls, and the delays before attempts. One timer runs when the first call is due:
 *
 *   its deadline has passed -> done(TIMED_OUT); its channel gets no more calls until it has answered
 *   its delay has ended     -> the call is sent
 */
#include "base/units.h"
#include "store/hbase/link/failure.h"
#include "store/hbase/link/pool_private.h"

#define SWEEP_MIN_NS (2 * UINT64_C(1000000))

void
kw_hbase_pool_sweep_by(kw_hbase_pool *pool, uint64_t when_ns)
{
    if (when_ns >= pool->sweep_ns)
        return;
    uint64_t now = kw_clock_mono_ns();
    pool->sweep_ns = MAX(when_ns, now + SWEEP_MIN_NS);
    kw_timer_start_ms(pool->sweep, (pool->sweep_ns - now + KW_NS_PER_MS - 1) / KW_NS_PER_MS);
}

static void
fail_timed_out(kw_hbase_pool *pool, kw_hbase_call *call, kw_hbase_call_state state)
{
    kw_hbase_failure failure = {.kind = KW_HBASE_TIMED_OUT};
    kw_hbase_timeout_error(call->sent, call->changes, &failure.error);
    kw_hbase_pool_finish_as(pool, call, state, NULL, &failure);
}

/* The channel can be slow or dead. It gets no more calls until it has answered this one. */
static void
expire_in_flight(kw_hbase_pool *pool, kw_hbase_call *call)
{
    kw_hbase_channel *channel = call->channel;
    channel->server->suspect = true;
    uint64_t now = kw_clock_mono_ns();
    kw_hbase_pace_add(&pool->paces[call->method],
                      now - call->since_ns); /* such a call takes at least this time */
    if (channel->overdue_ns == 0)
        channel->overdue_ns = now;
    if (!call->late)
        kw_hbase_channel_forget(channel, call);
    fail_timed_out(pool, call, call->late ? KW_HBASE_CALL_ABANDONED : KW_HBASE_CALL_IDLE);
    kw_hbase_channel_close_if_done(channel);
}

static void
expire(kw_hbase_pool *pool, kw_hbase_call *call)
{
    switch (call->state) {
    case KW_HBASE_CALL_QUEUED:
    case KW_HBASE_CALL_WAITING:
        fail_timed_out(pool, call, KW_HBASE_CALL_IDLE);
        return;
    case KW_HBASE_CALL_IN_FLIGHT:
        expire_in_flight(pool, call);
        return;
    case KW_HBASE_CALL_REJECTED:
    case KW_HBASE_CALL_IDLE:
    case KW_HBASE_CALL_ABANDONED:
        return;
    }
}

/* When the sweep must handle this call. */
static uint64_t
due_ns(const kw_hbase_call *call)
{
    if (call->state == KW_HBASE_CALL_REJECTED)
        return UINT64_MAX;
    return call->state == KW_HBASE_CALL_WAITING ? MIN(call->deadline, call->not_before_ns) : call->deadline;
}

/* Moves the due calls from the list of active calls to `due`. Returns when the next of the others is due. */
static uint64_t
collect_due(kw_hbase_pool *pool, uint64_t now, GQueue *due)
{
    uint64_t next = UINT64_MAX;
    for (GList *at = pool->active.head, *following; at; at = following) {
        uint64_t at_ns = due_ns(at->data);
        following = at->next;
        if (at_ns <= now) {
            g_queue_unlink(&pool->active, at);
            g_queue_push_tail_link(due, at);
        } else {
            next = MIN(next, at_ns);
        }
    }
    return next;
}

/* Fails calls whose deadline has passed, and sends those whose delay is over. Both can start other calls, so
 * the due ones are collected first. */
void
kw_hbase_pool_sweep(void *user)
{
    kw_hbase_pool *pool = user;
    uint64_t now = kw_clock_mono_ns();
    GQueue due = G_QUEUE_INIT;
    pool->sweep_ns = UINT64_MAX;
    kw_hbase_pool_sweep_by(pool, collect_due(pool, now, &due));
    for (GList *at; (at = g_queue_pop_head_link(&due));) {
        kw_hbase_call *call = at->data;
        g_queue_push_tail_link(&pool->active, at);
        if (call->deadline <= now) {
            expire(pool, call);
        } else if (call->state == KW_HBASE_CALL_WAITING) {
            kw_hbase_pool_sweep_by(pool, call->deadline);
            kw_hbase_pool_submit(pool, call);
        }
    }
}
