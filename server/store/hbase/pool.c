/* The life of a call between start and done: queue, send, deadline, repeat, reject. */
#include "store/hbase/pool_private.h"

#include "base/metrics.h"
#include "base/shortage.h"

#define SWEEP_LEAST_NS (2 * UINT64_C(1000000))
#define NS_PER_MS UINT64_C(1000000)
#define BUSY_LEAST_MS 10
#define BUSY_MOST_MS 5000

static void submit(kw_hbase_pool *pool, kw_hbase_call *call);

/* --- deadlines -------------------------------------------------------------------------------- */

/* Makes sure that the sweep comes at `when_ns` at the latest. */
static void
watch(kw_hbase_pool *pool, uint64_t when_ns)
{
    if (when_ns >= pool->sweep_ns)
        return;
    uint64_t now = kw_clock_mono_ns();
    pool->sweep_ns = MAX(when_ns, now + SWEEP_LEAST_NS);
    kw_timer_start_ms(pool->sweep, (pool->sweep_ns - now + NS_PER_MS - 1) / NS_PER_MS);
}

static void
leave_queue(kw_hbase_pool *pool, kw_hbase_call *call)
{
    if (call->state != KW_HBASE_CALL_QUEUED)
        return;
    if (call->pin)
        g_queue_unlink(&call->pin->channel->pinned, &call->queue_link);
    else
        kw_fair_remove(pool->queue, &call->turn);
}

static void
finish_as(kw_hbase_pool *pool, kw_hbase_call *call, kw_hbase_call_state state, const void *result,
          const kw_hbase_failure *failure)
{
    g_queue_unlink(&pool->active, &call->active_link);
    call->state = state;
    kw_hbase_failure doubtful;
    if (failure && call->doubtful) { /* whatever the last try came to, an earlier one may have been applied */
        doubtful = *failure;
        doubtful.error.maybe_applied = true;
        failure = &doubtful;
    }
    call->done(call, result, failure);
}

static void
fail_timed_out(kw_hbase_pool *pool, kw_hbase_call *call, kw_hbase_call_state state)
{
    kw_hbase_failure failure = {.kind = KW_HBASE_TIMED_OUT};
    kw_error_set(&failure.error, KW_TIMEOUT, "the deadline passed %s",
                 call->left ? "before the store answered" : "while the call waited for the store");
    failure.error.maybe_applied = call->left && call->changes;
    finish_as(pool, call, state, NULL, &failure);
}

/* The channel may only be slow, but nobody can tell: it gets no more calls until it has answered this one. */
static void
expire_in_flight(kw_hbase_pool *pool, kw_hbase_call *call)
{
    kw_hbase_channel *channel = call->channel;
    kw_hbase_server *server = kw_hbase_channel_server(channel);
    server->suspect = true;
    server->outstanding--;
    uint64_t now = kw_clock_mono_ns();
    kw_hbase_pace_took(&pool->paces[call->method], now - call->since_ns); /* at least */
    if (channel->overdue_ns == 0)
        channel->overdue_ns = now;
    if (!call->late)
        kw_hbase_channel_forget(channel, call);
    fail_timed_out(pool, call, call->late ? KW_HBASE_CALL_ABANDONED : KW_HBASE_CALL_IDLE);
    kw_hbase_channel_settle(channel);
}

static void
expire(kw_hbase_pool *pool, kw_hbase_call *call)
{
    switch (call->state) {
    case KW_HBASE_CALL_QUEUED:
    case KW_HBASE_CALL_WAITING:
        leave_queue(pool, call);
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

static bool
due(const kw_hbase_call *call, uint64_t now)
{
    if (call->state == KW_HBASE_CALL_REJECTED)
        return false;
    return call->deadline <= now || (call->state == KW_HBASE_CALL_WAITING && call->not_before_ns <= now);
}

/* Completions start other calls, so what is due is set aside first. */
static void
sweep(void *user)
{
    kw_hbase_pool *pool = user;
    uint64_t now = kw_clock_mono_ns(), next = UINT64_MAX;
    GQueue all_due = G_QUEUE_INIT;
    pool->sweep_ns = UINT64_MAX;
    for (GList *at = pool->active.head, *following; at; at = following) {
        kw_hbase_call *call = at->data;
        following = at->next;
        if (due(call, now)) {
            g_queue_unlink(&pool->active, at);
            g_queue_push_tail_link(&all_due, at);
        } else if (call->state != KW_HBASE_CALL_REJECTED) {
            next = MIN(next, call->deadline);
            if (call->state == KW_HBASE_CALL_WAITING)
                next = MIN(next, call->not_before_ns);
        }
    }
    watch(pool, next);
    for (GList *at; (at = g_queue_pop_head_link(&all_due));) {
        kw_hbase_call *call = at->data;
        g_queue_push_tail_link(&pool->active, at);
        if (call->deadline <= now) {
            expire(pool, call);
        } else if (call->state == KW_HBASE_CALL_WAITING) {
            watch(pool, call->deadline);
            submit(pool, call);
        }
    }
}

/* --- ends ------------------------------------------------------------------------------------- */

void
kw_hbase_pool_finish(kw_hbase_pool *pool, kw_hbase_call *call, const void *result,
                     const kw_hbase_failure *failure)
{
    finish_as(pool, call, KW_HBASE_CALL_IDLE, result, failure);
}

static void
finish_rejected(kw_task *task)
{
    kw_hbase_pool *pool = (kw_hbase_pool *)((char *)task - offsetof(kw_hbase_pool, reject_task));
    pool->reject_posted = false;
    for (guint left = pool->rejected.length; left; left--) {
        kw_hbase_call *call = g_queue_pop_head_link(&pool->rejected)->data;
        g_autofree kw_hbase_failure *failure = g_steal_pointer(&call->rejected);
        kw_hbase_pool_finish(pool, call, NULL, failure);
    }
}

/* In no queue, but in the list of all calls. */
static void
reject(kw_hbase_pool *pool, kw_hbase_call *call, const kw_hbase_failure *failure)
{
    call->state = KW_HBASE_CALL_REJECTED;
    call->rejected = g_memdup2(failure, sizeof *failure);
    g_queue_push_tail_link(&pool->rejected, &call->queue_link);
    if (!pool->reject_posted) {
        pool->reject_posted = true;
        kw_loop_post(pool->loop, &pool->reject_task);
    }
}

static void
reject_lost(kw_hbase_pool *pool, kw_hbase_call *call)
{
    kw_hbase_failure failure = {.kind = KW_HBASE_LOST};
    kw_error_set(&failure.error, KW_UNAVAILABLE, "the connection to the store was lost");
    reject(pool, call, &failure);
}

static void
reject_unreachable(kw_hbase_pool *pool, kw_hbase_call *call)
{
    kw_hbase_failure failure = {.kind = KW_HBASE_UNREACHABLE};
    kw_error_set(&failure.error, KW_UNAVAILABLE,
                 pool->closing ? "the gateway is shutting down"
                               : "no Thrift2 server of the store can be reached");
    failure.error.retry_after_ms = pool->closing ? 0 : kw_hbase_servers_rest_ms(pool);
    failure.error.maybe_applied = call->left && call->changes;
    reject(pool, call, &failure);
}

static void
reject_late(kw_hbase_pool *pool, kw_hbase_call *call)
{
    kw_hbase_failure failure = {.kind = KW_HBASE_TIMED_OUT};
    kw_error_set(&failure.error, KW_TIMEOUT, "the deadline had passed before the store was asked");
    reject(pool, call, &failure);
}

/* Too many wait already, or for too long. */
static void
reject_busy(kw_hbase_pool *pool, kw_hbase_call *call)
{
    kw_hbase_failure failure = {.kind = KW_HBASE_UNREACHABLE};
    uint64_t wait_ms = kw_hbase_flow_wait_ns(&pool->flow, kw_fair_count(pool->queue)) / NS_PER_MS;
    kw_error_set(&failure.error, KW_BUSY, "the store has more to do than it can, %zu calls wait for it",
                 kw_fair_count(pool->queue));
    failure.error.retry_after_ms = (uint32_t)CLAMP(wait_ms / 2, BUSY_LEAST_MS, BUSY_MOST_MS);
    reject(pool, call, &failure);
}

/* Would the call be answered in time, if so many go before it? */
static bool
is_hopeless(const kw_hbase_pool *pool, const kw_hbase_call *call, size_t before)
{
    uint64_t done_ns = kw_clock_mono_ns() + kw_hbase_flow_wait_ns(&pool->flow, before) +
                       kw_hbase_pace_expected_ns(&pool->paces[call->method]);
    return call->deadline <= done_ns;
}

/* The next call of the queue that is worth sending, NULL when none is left. */
static kw_hbase_call *
take_queued(kw_hbase_pool *pool)
{
    for (kw_fair_item *item; (item = kw_fair_pop(pool->queue));) {
        kw_hbase_call *call = (kw_hbase_call *)(void *)((char *)item - offsetof(kw_hbase_call, turn));
        if (!kw_deadline_passed(call->deadline) && is_hopeless(pool, call, 0)) {
            reject_busy(pool, call);
            continue;
        }
        kw_hbase_flow_left(&pool->flow, kw_clock_mono_ns(), kw_fair_count(pool->queue));
        return call;
    }
    return NULL;
}

/* Nobody waits for what it would read, or there is no memory for it. */
static bool
is_unwanted(const kw_hbase_call *call, kw_hbase_failure *ret_failure)
{
    *ret_failure = (kw_hbase_failure){.kind = KW_HBASE_UNREACHABLE};
    return call->account && !kw_shortage_check(call->account, &ret_failure->error);
}

/* --- sending ---------------------------------------------------------------------------------- */

static bool
has_room(const kw_hbase_pool *pool, const kw_hbase_channel *channel)
{
    return channel->overdue_ns == 0 && channel->in_flight < (uint32_t)pool->store->settings.pipeline;
}

static void
send_call(kw_hbase_pool *pool, kw_hbase_channel *channel, kw_hbase_call *call)
{
    kw_hbase_failure failure = {.kind = KW_HBASE_OTHER};
    kw_hbase_server *server = kw_hbase_channel_server(channel);
    if (kw_deadline_passed(call->deadline)) { /* its caller may have been told so already */
        reject_late(pool, call);
        return;
    }
    kw_hbase_failure unwanted;
    if (is_unwanted(call, &unwanted)) {
        reject(pool, call, &unwanted);
        return;
    }
    if (!kw_hbase_channel_send(channel, call, &failure.error)) {
        reject(pool, call, &failure);
        return;
    }
    if (server->outstanding++ == 0)
        server->heard_ns = channel->used_ns;
    call->state = KW_HBASE_CALL_IN_FLIGHT;
    call->channel = channel;
    call->since_ns = channel->used_ns;
    call->left = true;
    if (call->ret_left)
        *call->ret_left = true;
    call->attempts++;
}

/* A retired channel still takes what cleans up on it. */
static bool
pin_usable(const kw_hbase_call *call)
{
    const kw_hbase_channel *channel = call->pin->channel;
    if (!channel || channel->state == KW_HBASE_CHANNEL_LOST)
        return false;
    return channel->state == KW_HBASE_READY || call->method == KW_HB_THBaseService_closeScanner;
}

static void
submit_pinned(kw_hbase_pool *pool, kw_hbase_call *call)
{
    if (!pin_usable(call)) {
        reject_lost(pool, call);
        return;
    }
    kw_hbase_channel *channel = call->pin->channel;
    call->state = KW_HBASE_CALL_QUEUED;
    g_queue_push_tail_link(&channel->pinned, &call->queue_link);
    kw_hbase_pool_feed(pool, channel);
    if (channel->pinned.length)
        kw_hbase_servers_grow(pool, true);
}

static bool
out_of_patience(const kw_hbase_pool *pool)
{
    return pool->ready == 0 && kw_clock_mono_ns() - pool->down_since_ns > KW_HBASE_PATIENCE_MS * NS_PER_MS;
}

static void
submit(kw_hbase_pool *pool, kw_hbase_call *call)
{
    if (call->pin) {
        submit_pinned(pool, call);
        return;
    }
    kw_hbase_channel *channel = kw_fair_count(pool->queue) ? NULL : kw_hbase_servers_choose(pool);
    size_t before = kw_fair_ahead(pool->queue, call->account);
    if (channel) {
        send_call(pool, channel, call);
    } else if (pool->closing || out_of_patience(pool)) {
        reject_unreachable(pool, call);
    } else if (kw_fair_count(pool->queue) >= KW_HBASE_QUEUE_MAX ||
               (before > 0 && is_hopeless(pool, call, before))) {
        reject_busy(pool, call);
    } else {
        call->state = KW_HBASE_CALL_QUEUED;
        call->turn.account = call->account;
        call->turn.call = call->number;
        kw_fair_push(pool->queue, &call->turn);
        kw_hbase_servers_grow(pool, true);
    }
}

/* Pinned calls and the others take turns. */
static kw_hbase_call *
next_for(kw_hbase_pool *pool, kw_hbase_channel *channel)
{
    bool takes_queue = channel->state == KW_HBASE_READY && kw_fair_count(pool->queue);
    bool from_pinned = channel->pinned.length && !(channel->took_pinned && takes_queue);
    kw_hbase_call *queued = !from_pinned && takes_queue ? take_queued(pool) : NULL;
    if (queued) {
        channel->took_pinned = false;
        return queued;
    }
    if (channel->pinned.length == 0)
        return NULL;
    channel->took_pinned = true;
    return g_queue_pop_head_link(&channel->pinned)->data;
}

void
kw_hbase_pool_feed(kw_hbase_pool *pool, kw_hbase_channel *channel)
{
    while ((channel->state == KW_HBASE_READY || channel->state == KW_HBASE_RETIRED) &&
           has_room(pool, channel)) {
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
           (call = take_queued(pool)))
        send_call(pool, channel, call);
}

/* --- repeating -------------------------------------------------------------------------------- */

bool
kw_hbase_pool_may_repeat(kw_hbase_pool *pool, kw_deadline deadline, uint32_t attempts, uint64_t *ret_delay_ms)
{
    uint64_t most = UINT64_C(20) << MIN(attempts, 6);
    uint64_t delay_ms = attempts <= 1 ? 0 : most / 2 + kw_random_u64() % (most / 2);
    if (pool->closing || attempts >= KW_HBASE_ATTEMPTS_MAX || pool->budget < 1.0 ||
        kw_deadline_left_ms(deadline) <= (int64_t)delay_ms)
        return false;
    pool->budget -= 1.0;
    kw_metrics_add(KW_METRIC_store_retries, 1);
    *ret_delay_ms = delay_ms;
    return true;
}

static void
wait_for(kw_hbase_pool *pool, kw_hbase_call *call, uint64_t delay_ms)
{
    call->state = KW_HBASE_CALL_WAITING;
    call->not_before_ns = kw_clock_mono_ns() + delay_ms * NS_PER_MS;
    watch(pool, call->not_before_ns);
}

void
kw_hbase_pool_lost(kw_hbase_pool *pool, kw_hbase_call *call, const kw_hbase_failure *failure)
{
    uint64_t delay_ms;
    uint32_t pause =
        failure->kind == KW_HBASE_TROUBLE ? 1 : 0; /* the first repeat of a lost call is at once */
    if (!call->repeatable || call->pin ||
        !kw_hbase_pool_may_repeat(pool, call->deadline, call->attempts + pause, &delay_ms)) {
        kw_hbase_pool_finish(pool, call, NULL, failure);
        return;
    }
    call->channel = NULL;
    call->doubtful = call->doubtful || failure->error.maybe_applied;
    if (delay_ms)
        wait_for(pool, call, delay_ms);
    else
        submit(pool, call);
}

/* --- start and end ---------------------------------------------------------------------------- */

static void
enter(kw_hbase_pool *pool, kw_hbase_call *call)
{
    g_assert(call->state == KW_HBASE_CALL_IDLE);
    call->queue_link.data = call;
    call->active_link.data = call;
    call->channel = NULL;
    call->attempts = 0;
    call->left = false;
    call->doubtful = false;
    g_queue_push_tail_link(&pool->active, &call->active_link);
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
    enter(pool, call);
    if (kw_deadline_passed(call->deadline)) {
        reject_late(pool, call);
        return;
    }
    watch(pool, call->deadline);
    double earned = (double)pool->store->settings.retry_percent / 100.0;
    pool->budget = MIN(pool->budget + earned, KW_HBASE_BUDGET_MAX);
    if (delay_ms)
        wait_for(pool, call, delay_ms);
    else
        submit(pool, call);
}

void
kw_hbase_pool_reject(kw_hbase_pool *pool, kw_hbase_call *call, const kw_error *error)
{
    kw_hbase_failure failure = {.kind = KW_HBASE_OTHER, .error = *error};
    enter(pool, call);
    reject(pool, call, &failure);
}

static void
close_when_empty(kw_hbase_pool *pool)
{
    bool now = kw_clock_mono_ns() >= pool->close_by_ns;
    if (!kw_hbase_servers_close(pool, now) || pool->active.length)
        return;
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
    if (out_of_patience(pool)) {
        kw_fair_item *item;
        while ((item = kw_fair_pop(pool->queue)))
            reject_unreachable(pool, (kw_hbase_call *)(void *)((char *)item - offsetof(kw_hbase_call, turn)));
    }
    pool->ticked(pool->user);
}

void
kw_hbase_pool_init(kw_hbase_pool *pool, kw_hbase_store *store, kw_loop *loop, void (*ticked)(void *user),
                   void *user)
{
    *pool = (kw_hbase_pool){.store = store, .loop = loop, .ticked = ticked, .user = user};
    pool->servers_count = store->settings.servers_count;
    pool->servers = g_new0(kw_hbase_server, pool->servers_count);
    for (size_t i = 0; i < pool->servers_count; i++)
        kw_hbase_server_init(&pool->servers[i], pool, i);
    g_queue_init(&pool->active);
    pool->queue = kw_fair_new();
    g_queue_init(&pool->rejected);
    pool->reject_task.run = finish_rejected;
    pool->sweep = kw_timer_new(loop, sweep, pool);
    pool->sweep_ns = UINT64_MAX;
    pool->tick = kw_timer_new(loop, tick, pool);
    pool->scratch = kw_arena_new();
    pool->budget = KW_HBASE_BUDGET_MAX;
    pool->down_since_ns = kw_clock_mono_ns();
    kw_timer_start_ms(pool->tick, 1);
}

/* Everything but the closing of scanners fails now. */
static void
fail_all(kw_hbase_pool *pool)
{
    for (GList *at = pool->active.head, *following; at; at = following) {
        kw_hbase_call *call = at->data;
        following = at->next;
        if (call->method == KW_HB_THBaseService_closeScanner || call->state == KW_HBASE_CALL_REJECTED)
            continue;
        leave_queue(pool, call);
        if (call->state == KW_HBASE_CALL_IN_FLIGHT) {
            kw_hbase_channel_server(call->channel)->outstanding--;
            kw_hbase_channel_forget(call->channel, call);
        }
        reject_unreachable(pool, call);
    }
}

void
kw_hbase_pool_close(kw_hbase_pool *pool, void (*closed)(void *user))
{
    g_assert(!pool->closing);
    pool->closing = true;
    pool->closed = closed;
    pool->close_by_ns = kw_clock_mono_ns() + 500 * NS_PER_MS;
    fail_all(pool);
    kw_timer_start_ms(pool->tick, 1);
}
