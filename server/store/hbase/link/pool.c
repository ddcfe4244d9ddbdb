/* The calls of a pool between start and done: queue, sending, retries. See sweep.c for deadlines, reject.c
 * for calls that fail before they are sent, server.c for the choice of a channel. */
#include "store/hbase/link/failure.h"
#include "store/hbase/link/move.h"
#include "store/hbase/link/pool_private.h"

#include "base/container.h"
#include "base/metrics.h"
#include "base/shortage.h"
#include "base/units.h"

/* After this time the channels are closed even if open scanners remain. */
#define CLOSE_NS (500 * KW_NS_PER_MS)

/* --- the end and the queue -------------------------------------------------------------------- */

/* An attempt failed. Without an answer, the store can still apply it. */
static void
note_doubt(kw_hbase_pool *pool, const kw_hbase_failure *failure)
{
    if (failure->error.maybe_applied)
        kw_store_note_doubt(&pool->store->base);
}

void
kw_hbase_pool_finish_as(kw_hbase_pool *pool, kw_hbase_call *call, kw_hbase_call_state state,
                        const void *result, const kw_hbase_failure *failure)
{
    kw_hbase_call_move(pool, call, state, NULL);
    kw_hbase_failure doubtful;
    if (failure)
        note_doubt(pool, failure);
    if (failure && call->doubtful) { /* whatever this failure is, an earlier attempt may have been applied */
        doubtful = *failure;
        doubtful.error.maybe_applied = true;
        failure = &doubtful;
    }
    call->done(call, result, failure);
}

void
kw_hbase_pool_finish(kw_hbase_pool *pool, kw_hbase_call *call, const void *result,
                     const kw_hbase_failure *failure)
{
    kw_hbase_pool_finish_as(pool, call, KW_HBASE_CALL_IDLE, result, failure);
}

/* True if the call cannot be expected to be answered in time with this many calls before it. */
static bool
is_hopeless(const kw_hbase_pool *pool, const kw_hbase_call *call, size_t before)
{
    uint64_t done_ns = kw_clock_mono_ns() + kw_hbase_flow_wait_ns(&pool->flow, before) +
                       kw_hbase_pace_expected_ns(&pool->paces[call->method]);
    return call->deadline <= done_ns;
}

/* Removes and returns the next call of the queue that can be answered in time, NULL if there is none. The
 * last call is returned in any case: nobody would gain from its rejection, and the expected duration can come
 * from a few very slow calls. */
static kw_hbase_call *
pop_queued(kw_hbase_pool *pool)
{
    for (kw_fair_item *item; (item = kw_fair_pop(pool->queue));) {
        kw_hbase_call *call = KW_CONTAINER(item, kw_hbase_call, queue_item);
        bool last = kw_fair_count(pool->queue) == 0;
        if (!last && !kw_deadline_passed(call->deadline) && is_hopeless(pool, call, 0)) {
            kw_hbase_reject_busy(pool, call);
            continue;
        }
        kw_hbase_flow_dequeued(&pool->flow, kw_clock_mono_ns(), kw_fair_count(pool->queue));
        return call;
    }
    return NULL;
}

/* True if the caller has disconnected or there is no memory for the reply. */
static bool
is_unwanted(const kw_hbase_call *call, kw_hbase_failure *ret_failure)
{
    *ret_failure = (kw_hbase_failure){.kind = KW_HBASE_UNREACHABLE};
    return call->account && !kw_shortage_check(call->account, &ret_failure->error);
}

/* --- sending ---------------------------------------------------------------------------------- */

static bool
can_send(const kw_hbase_pool *pool, const kw_hbase_channel *channel)
{
    return channel->overdue_ns == 0 && channel->in_flight < pool->store->tuning.pipeline;
}

/* True if the gateway has lost its lease since the call began. The call would read and write rows by the
 * policy of that time; other gateways can use a later one by now. */
static bool
is_fenced_off(const kw_fence *fence, const kw_hbase_call *call)
{
    return call->fenced && fence && (!kw_fence_is_open(fence) || call->era != kw_fence_era(fence));
}

static void
send_call(kw_hbase_pool *pool, kw_hbase_channel *channel, kw_hbase_call *call)
{
    kw_hbase_failure failure = {.kind = KW_HBASE_OTHER};
    kw_hbase_server *server = channel->server;
    if (kw_deadline_passed(call->deadline)) { /* the caller may have a TIMEOUT already */
        kw_hbase_reject_late(pool, call);
        return;
    }
    if (is_fenced_off(atomic_load(&pool->store->fence), call)) {
        kw_hbase_reject_fenced(pool, call);
        return;
    }
    kw_hbase_failure unwanted;
    if (is_unwanted(call, &unwanted)) {
        kw_hbase_reject(pool, call, &unwanted);
        return;
    }
    if (!kw_hbase_channel_send(channel, call, &failure.error)) {
        kw_hbase_reject(pool, call, &failure);
        return;
    }
    if (server->outstanding == 0)
        server->heard_ns = channel->used_ns;
    kw_hbase_call_move(pool, call, KW_HBASE_CALL_IN_FLIGHT, channel);
    call->since_ns = channel->used_ns;
    call->sent = true;
    if (call->ret_sent)
        *call->ret_sent = true;
    call->attempts++;
}

/* A retired channel still accepts closeScanner. */
static bool
is_pin_usable(const kw_hbase_call *call)
{
    const kw_hbase_channel *channel = call->pin->channel;
    if (!channel || channel->state >= KW_HBASE_CHANNEL_LOST)
        return false;
    return channel->state == KW_HBASE_READY || call->method == KW_HB_THBaseService_closeScanner;
}

static void
submit_pinned(kw_hbase_pool *pool, kw_hbase_call *call)
{
    if (!is_pin_usable(call)) {
        kw_hbase_reject_lost(pool, call);
        return;
    }
    kw_hbase_channel *channel = call->pin->channel;
    kw_hbase_call_move(pool, call, KW_HBASE_CALL_QUEUED, channel);
    kw_hbase_pool_feed(pool, channel);
    if (channel->pinned.length)
        kw_hbase_servers_grow(pool, true);
}

/* True if no server could be reached for so long that calls do not wait any more. */
static bool
is_down(const kw_hbase_pool *pool)
{
    return pool->ready == 0 && kw_clock_mono_ns() - pool->down_since_ns > KW_HBASE_PATIENCE_MS * KW_NS_PER_MS;
}

void
kw_hbase_pool_submit(kw_hbase_pool *pool, kw_hbase_call *call)
{
    if (call->pin) {
        submit_pinned(pool, call);
        return;
    }
    kw_hbase_channel *channel = kw_fair_count(pool->queue) ? NULL : kw_hbase_servers_choose(pool);
    size_t before = kw_fair_ahead(pool->queue, call->account);
    if (channel) {
        send_call(pool, channel, call);
    } else if (pool->closing || is_down(pool)) {
        kw_hbase_reject_unreachable(pool, call);
    } else if (kw_fair_count(pool->queue) >= KW_HBASE_QUEUE_MAX ||
               (before > 0 && is_hopeless(pool, call, before))) {
        kw_hbase_reject_busy(pool, call);
    } else {
        kw_hbase_call_move(pool, call, KW_HBASE_CALL_QUEUED, NULL);
        kw_hbase_servers_grow(pool, true);
    }
}

/* The next call for a channel. Pinned calls and queued ones alternate. */
static kw_hbase_call *
next_for(kw_hbase_pool *pool, kw_hbase_channel *channel)
{
    bool has_queued = channel->state == KW_HBASE_READY && kw_fair_count(pool->queue);
    bool from_pinned = channel->pinned.length && !(channel->last_sent_pinned && has_queued);
    kw_hbase_call *queued = !from_pinned && has_queued ? pop_queued(pool) : NULL;
    if (queued) {
        channel->last_sent_pinned = false;
        return queued;
    }
    if (channel->pinned.length == 0)
        return NULL;
    channel->last_sent_pinned = true;
    return g_queue_peek_head(&channel->pinned);
}

void
kw_hbase_pool_feed(kw_hbase_pool *pool, kw_hbase_channel *channel)
{
    while ((channel->state == KW_HBASE_READY || channel->state == KW_HBASE_RETIRED) &&
           can_send(pool, channel)) {
        kw_hbase_call *call = next_for(pool, channel);
        if (!call)
            return;
        send_call(pool, channel, call);
    }
}

void
kw_hbase_pool_feed_all(kw_hbase_pool *pool)
{
    kw_hbase_channel *channel;
    kw_hbase_call *call;
    while (kw_fair_count(pool->queue) && (channel = kw_hbase_servers_choose(pool)) &&
           (call = pop_queued(pool)))
        send_call(pool, channel, call);
}

/* --- retries ---------------------------------------------------------------------------------- */

bool
kw_hbase_pool_allow_retry(kw_hbase_pool *pool, kw_deadline deadline, uint32_t attempts,
                          uint64_t *ret_delay_ms)
{
    uint64_t max_ms = UINT64_C(20) << MIN(attempts, 6);
    uint64_t delay_ms = attempts <= 1 ? 0 : max_ms / 2 + kw_random_u64() % (max_ms / 2);
    if (pool->closing || attempts >= KW_HBASE_ATTEMPTS_MAX || pool->budget < 1.0 ||
        kw_deadline_left_ms(deadline) <= (int64_t)delay_ms)
        return false;
    pool->budget -= 1.0;
    kw_metrics_add(KW_METRIC_store_retries, 1);
    *ret_delay_ms = delay_ms;
    return true;
}

static void
wait_ms(kw_hbase_pool *pool, kw_hbase_call *call, uint64_t delay_ms)
{
    kw_hbase_call_move(pool, call, KW_HBASE_CALL_WAITING, NULL);
    call->not_before_ns = kw_clock_mono_ns() + delay_ms * KW_NS_PER_MS;
    kw_hbase_pool_sweep_by(pool, call->not_before_ns);
}

void
kw_hbase_pool_retry_or_fail(kw_hbase_pool *pool, kw_hbase_call *call, const kw_hbase_failure *failure)
{
    uint64_t delay_ms;
    uint32_t attempts = call->attempts; /* the first retry has no delay */
    if (failure->kind == KW_HBASE_TEMPORARY)
        attempts++; /* unless HBase needs time to recover */
    if (!call->repeatable || call->pin ||
        !kw_hbase_pool_allow_retry(pool, call->deadline, attempts, &delay_ms)) {
        kw_hbase_pool_finish(pool, call, NULL, failure);
        return;
    }
    call->doubtful = call->doubtful || failure->error.maybe_applied;
    note_doubt(pool, failure);
    wait_ms(pool, call, delay_ms);
    if (delay_ms == 0)
        kw_hbase_pool_submit(pool, call);
}

/* --- start and close -------------------------------------------------------------------------- */

static void
activate(kw_hbase_call *call)
{
    g_assert(call->state == KW_HBASE_CALL_IDLE && call->done && !call->rejected);
    call->queue_link.data = call;
    call->active_link.data = call;
    call->channel = NULL;
    call->attempts = 0;
    call->sent = false;
    call->doubtful = false;
}

void
kw_hbase_pool_start(kw_hbase_pool *pool, kw_hbase_call *call)
{
    kw_hbase_pool_start_after(pool, call, 0);
}

void
kw_hbase_pool_start_after(kw_hbase_pool *pool, kw_hbase_call *call, uint64_t delay_ms)
{
    call->deadline = kw_hbase_deadline(call->deadline);
    activate(call);
    if (kw_deadline_passed(call->deadline)) {
        kw_hbase_reject_late(pool, call);
        return;
    }
    kw_hbase_pool_sweep_by(pool, call->deadline);
    double earned = pool->store->tuning.retry_percent / 100.0;
    pool->budget = MIN(pool->budget + earned, KW_HBASE_BUDGET_MAX);
    if (delay_ms)
        wait_ms(pool, call, delay_ms);
    else
        kw_hbase_pool_submit(pool, call);
}

void
kw_hbase_pool_reject(kw_hbase_pool *pool, kw_hbase_call *call, const kw_error *error)
{
    kw_hbase_failure failure = {.kind = KW_HBASE_OTHER, .error = *error};
    activate(call);
    kw_hbase_reject(pool, call, &failure);
}

static void
assert_empty(const kw_hbase_pool *pool)
{
    g_assert(pool->active.length == 0 && pool->rejected.length == 0 && kw_fair_count(pool->queue) == 0);
    g_assert(pool->ready == 0);
    for (size_t i = 0; i < pool->servers_count; i++) {
        const kw_hbase_server *server = &pool->servers[i];
        g_assert(server->outstanding == 0 && server->channels.length == 0 && !server->opening);
    }
}

static void
close_when_empty(kw_hbase_pool *pool)
{
    bool now = kw_clock_mono_ns() >= pool->close_by_ns;
    if (!kw_hbase_servers_close(pool, now) || pool->active.length)
        return;
    assert_empty(pool);
    kw_timer_free(pool->sweep);
    kw_timer_free(pool->tick);
    kw_fair_free(pool->queue);
    kw_arena_free(pool->scratch);
    for (size_t i = 0; i < pool->servers_count; i++)
        g_free(pool->servers[i].name);
    g_free(pool->servers);
    pool->closed(pool->user);
}

static void
tick(void *user)
{
    kw_hbase_pool *pool = user;
    if (pool->closing) {
        kw_timer_start_ms(pool->tick, 2);
        close_when_empty(pool);
        return;
    }
    kw_timer_start_ms(pool->tick, KW_HBASE_TICK_MS);
    kw_hbase_servers_tick(pool);
    if (is_down(pool)) {
        kw_fair_item *item;
        while ((item = kw_fair_pop(pool->queue)))
            kw_hbase_reject_unreachable(pool, KW_CONTAINER(item, kw_hbase_call, queue_item));
    }
    pool->ticked(pool->user);
}

void
kw_hbase_pool_init(kw_hbase_pool *pool, kw_hbase_store *store, kw_loop *loop, void (*ticked)(void *user),
                   void *user)
{
    g_assert(store->settings.servers_count > 0);
    *pool = (kw_hbase_pool){.store = store, .loop = loop, .ticked = ticked, .user = user};
    pool->servers_count = store->settings.servers_count;
    pool->servers = g_new0(kw_hbase_server, pool->servers_count);
    for (size_t i = 0; i < pool->servers_count; i++)
        kw_hbase_server_init(&pool->servers[i], pool, i);
    g_queue_init(&pool->active);
    pool->queue = kw_fair_new();
    g_queue_init(&pool->rejected);
    pool->reject_task.run = kw_hbase_finish_rejected;
    pool->sweep = kw_timer_new(loop, kw_hbase_pool_sweep, pool);
    pool->sweep_ns = UINT64_MAX;
    pool->tick = kw_timer_new(loop, tick, pool);
    pool->scratch = kw_arena_new();
    pool->budget = KW_HBASE_BUDGET_MAX;
    pool->down_since_ns = kw_clock_mono_ns();
    kw_timer_start_ms(pool->tick, 1);
}

/* Fails all calls except closeScanner. */
static void
fail_all(kw_hbase_pool *pool)
{
    for (GList *at = pool->active.head, *following; at; at = following) {
        kw_hbase_call *call = at->data;
        following = at->next;
        if (call->method == KW_HB_THBaseService_closeScanner || call->state == KW_HBASE_CALL_REJECTED)
            continue;
        if (call->state == KW_HBASE_CALL_IN_FLIGHT)
            kw_hbase_channel_forget(call->channel, call);
        kw_hbase_reject_unreachable(pool, call);
    }
}

void
kw_hbase_pool_close(kw_hbase_pool *pool, void (*closed)(void *user))
{
    g_assert(!pool->closing);
    pool->closing = true;
    pool->closed = closed;
    pool->close_by_ns = kw_clock_mono_ns() + CLOSE_NS;
    fail_all(pool);
    kw_timer_start_ms(pool->tick, 1);
}
