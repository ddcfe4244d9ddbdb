#include "store/hbase/link/move.h"

#include "base/metrics.h"

/* --- channels --------------------------------------------------------------------------------- */

#define TO(state) (1u << KW_HBASE_##state)
static const unsigned channel_moves[] = {
    [KW_HBASE_CHANNEL_NEW] = TO(RESOLVING),
    [KW_HBASE_RESOLVING] = TO(CONNECTING) | TO(CHANNEL_LOST),
    [KW_HBASE_CONNECTING] = TO(CONNECTING) | TO(GREETING) | TO(CHANNEL_LOST),
    [KW_HBASE_GREETING] = TO(READY) | TO(CHANNEL_LOST),
    [KW_HBASE_READY] = TO(RETIRED) | TO(CHANNEL_LOST),
    [KW_HBASE_RETIRED] = TO(CHANNEL_LOST),
    [KW_HBASE_CHANNEL_LOST] = TO(CHANNEL_GONE),
    [KW_HBASE_CHANNEL_GONE] = 0,
};

static bool
is_ready(kw_hbase_channel_state state)
{
    return state == KW_HBASE_READY || state == KW_HBASE_RETIRED;
}

static void
count_ready(kw_hbase_pool *pool, int change)
{
    pool->ready += (uint32_t)change;
    atomic_fetch_add(&pool->store->ready, (uint32_t)change);
    kw_metrics_add(KW_METRIC_channels_open, change);
    if (pool->ready == 0)
        pool->down_since_ns = kw_clock_mono_ns();
}

static void
join_server(kw_hbase_server *server, kw_hbase_channel *channel)
{
    g_assert(!server->opening);
    server->opening = channel;
    g_queue_push_tail_link(&server->channels, &channel->link);
    atomic_fetch_add(&server->pool->store->channels[server->index], 1);
}

static void
leave_server(kw_hbase_server *server, kw_hbase_channel *channel)
{
    g_queue_unlink(&server->channels, &channel->link);
    atomic_fetch_sub(&server->pool->store->channels[server->index], 1);
}

void
kw_hbase_channel_move(kw_hbase_channel *channel, kw_hbase_channel_state to)
{
    kw_hbase_server *server = channel->server;
    kw_hbase_channel_state from = channel->state;
    g_assert(channel_moves[from] & (1u << to));
    channel->state = to;
    if (from == KW_HBASE_CHANNEL_NEW)
        join_server(server, channel);
    if (is_ready(to) != is_ready(from))
        count_ready(server->pool, is_ready(to) ? 1 : -1);
    if ((to == KW_HBASE_READY || to == KW_HBASE_CHANNEL_GONE) && server->opening == channel)
        server->opening = NULL;
    if (to == KW_HBASE_CHANNEL_GONE)
        leave_server(server, channel);
}

/* --- calls ------------------------------------------------------------------------------------ */

#define CALL_TO(state) (1u << KW_HBASE_CALL_##state)
static const unsigned call_moves[] = {
    [KW_HBASE_CALL_IDLE] = CALL_TO(QUEUED) | CALL_TO(WAITING) | CALL_TO(IN_FLIGHT) | CALL_TO(REJECTED),
    [KW_HBASE_CALL_QUEUED] = CALL_TO(IN_FLIGHT) | CALL_TO(REJECTED) | CALL_TO(IDLE),
    [KW_HBASE_CALL_WAITING] = CALL_TO(QUEUED) | CALL_TO(IN_FLIGHT) | CALL_TO(REJECTED) | CALL_TO(IDLE),
    [KW_HBASE_CALL_IN_FLIGHT] = CALL_TO(WAITING) | CALL_TO(REJECTED) | CALL_TO(IDLE) | CALL_TO(ABANDONED),
    [KW_HBASE_CALL_REJECTED] = CALL_TO(IDLE),
    [KW_HBASE_CALL_ABANDONED] = CALL_TO(IDLE),
};

static bool
is_active(kw_hbase_call_state state)
{
    return state != KW_HBASE_CALL_IDLE && state != KW_HBASE_CALL_ABANDONED;
}

/* A call that kw_fair_pop has returned is no longer in the pool's queue. */
static void
leave_queue(kw_hbase_pool *pool, kw_hbase_call *call)
{
    if (call->pin)
        g_queue_unlink(&call->channel->pinned, &call->queue_link);
    else if (call->queue_item.fifo)
        kw_fair_remove(pool->queue, &call->queue_item);
}

static void
join_queue(kw_hbase_pool *pool, kw_hbase_call *call)
{
    call->queue_item.account = call->account;
    call->queue_item.call = call->number;
    if (call->pin)
        g_queue_push_tail_link(&call->channel->pinned, &call->queue_link);
    else
        kw_fair_push(pool->queue, &call->queue_item);
}

static void
leave(kw_hbase_pool *pool, kw_hbase_call *call)
{
    if (call->state == KW_HBASE_CALL_QUEUED) {
        leave_queue(pool, call);
    } else if (call->state == KW_HBASE_CALL_IN_FLIGHT) {
        g_assert(call->channel->server->outstanding > 0);
        call->channel->server->outstanding--;
    } else if (call->state == KW_HBASE_CALL_REJECTED) {
        g_queue_unlink(&pool->rejected, &call->queue_link);
    }
}

void
kw_hbase_call_move(kw_hbase_pool *pool, kw_hbase_call *call, kw_hbase_call_state to,
                   kw_hbase_channel *channel)
{
    kw_hbase_call_state from = call->state;
    bool needs_channel = to == KW_HBASE_CALL_IN_FLIGHT || (to == KW_HBASE_CALL_QUEUED && call->pin);
    g_assert(call_moves[from] & (1u << to));
    g_assert(needs_channel == (channel != NULL));
    leave(pool, call);
    if (is_active(to) && !is_active(from))
        g_queue_push_tail_link(&pool->active, &call->active_link);
    else if (is_active(from) && !is_active(to))
        g_queue_unlink(&pool->active, &call->active_link);
    call->state = to;
    if (channel)
        call->channel = channel;
    if (to == KW_HBASE_CALL_QUEUED)
        join_queue(pool, call);
    else if (to == KW_HBASE_CALL_IN_FLIGHT)
        channel->server->outstanding++;
    else if (to == KW_HBASE_CALL_REJECTED)
        g_queue_push_tail_link(&pool->rejected, &call->queue_link);
}
