/* The servers of a store handle and their channels: which one gets a call, when one more is opened, who
 * rests, who is pinged, and what happens to calls whose channel is lost. */
#include "store/hbase/pool_private.h"

#include "base/log.h"

#define NS_PER_MS UINT64_C(1000000)
/* Channels that died under a call, one after the other, before the server rests. */
#define LOSSES_MAX 4

static void open_channel(kw_hbase_server *server);

kw_hbase_server *
kw_hbase_channel_server(const kw_hbase_channel *channel)
{
    return channel->owner;
}

/* Channels that take calls or soon will. */
static uint32_t
useful(const kw_hbase_server *server)
{
    uint32_t count = 0;
    for (const GList *at = server->channels.head; at; at = at->next)
        count += ((const kw_hbase_channel *)at->data)->state <= KW_HBASE_READY;
    return count;
}

static uint64_t
ms_since(uint64_t then_ns, uint64_t now_ns)
{
    return now_ns > then_ns ? (now_ns - then_ns) / NS_PER_MS : 0;
}

static bool
is_idle(const kw_hbase_channel *channel)
{
    return channel->state == KW_HBASE_READY && channel->in_flight == 0 && channel->pinned.length == 0 &&
           channel->overdue_ns == 0;
}

/* --- rest ------------------------------------------------------------------------------------- */

static void
rest(kw_hbase_server *server, const char *why)
{
    kw_hbase_store *store = server->pool->store;
    kw_log(KW_LOG_WARN, "hbase", "server rests", "server=%s rest_ms=%lld reason=\"%s\"", server->name,
           (long long)server->rest_ms, why);
    kw_hbase_store_blame(store, server->name, why);
    server->rest_until_ns = kw_clock_mono_ns() + (uint64_t)server->rest_ms * NS_PER_MS;
    server->rest_ms = MIN(server->rest_ms * 2, KW_HBASE_REST_MAX_MS);
}

static void
rested(kw_hbase_server *server)
{
    server->rest_ms = server->pool->store->settings.rest_ms;
    server->rest_until_ns = 0;
    server->suspect = false;
    server->losses = 0;
}

uint32_t
kw_hbase_servers_rest_ms(const kw_hbase_pool *pool)
{
    uint64_t now = kw_clock_mono_ns(), first = UINT64_MAX;
    for (size_t i = 0; i < pool->servers_count; i++)
        first = MIN(first, pool->servers[i].rest_until_ns);
    return first > now ? (uint32_t)MIN(ms_since(now, first) + 1, KW_HBASE_REST_MAX_MS) : KW_HBASE_TICK_MS;
}

/* The server did not answer a ping and nothing else either: what is in flight there is lost. */
static void
give_up_silent(kw_hbase_server *server, uint64_t since_ns)
{
    if (server->heard_ns >= since_ns)
        return;
    for (GList *at = server->channels.head; at; at = at->next) {
        kw_hbase_channel *channel = at->data;
        if (channel->state == KW_HBASE_READY)
            kw_hbase_channel_close(channel, KW_HBASE_LOSS_SILENT, "the server is silent");
    }
}

/* --- events of a channel ---------------------------------------------------------------------- */

static void
on_ready(kw_hbase_channel *channel)
{
    kw_hbase_server *server = kw_hbase_channel_server(channel);
    kw_hbase_pool *pool = server->pool;
    server->opening = NULL;
    rested(server);
    server->heard_ns = channel->used_ns;
    pool->ready++;
    atomic_fetch_add(&pool->store->ready, 1);
    kw_log(KW_LOG_DEBUG, "hbase", "channel ready", "server=%s channels=%u", server->name,
           server->channels.length);
    if (pool->closing) {
        kw_hbase_channel_close(channel, KW_HBASE_LOSS_OURS, "closing");
        return;
    }
    kw_hbase_pool_feed_all(pool);
    if (kw_fair_count(pool->queue))
        kw_hbase_servers_grow(pool, true);
}

/* Is a reply outstanding that comes too late for its call? */
static bool
waits_for_late(const kw_hbase_channel *channel)
{
    for (uint32_t i = 0; i < channel->in_flight; i++) {
        const kw_hbase_call *call =
            channel->slots[(channel->first_slot + i) % G_N_ELEMENTS(channel->slots)].call;
        if (!call || call->state == KW_HBASE_CALL_ABANDONED)
            return true;
    }
    return false;
}

static void
on_answered(kw_hbase_channel *channel, kw_hbase_call *call, const kw_wire_message *message)
{
    kw_hbase_server *server = kw_hbase_channel_server(channel);
    kw_hbase_pool *pool = server->pool;
    server->heard_ns = channel->used_ns;
    server->suspect = false;
    server->losses = 0;
    bool awaited = call && call->state == KW_HBASE_CALL_IN_FLIGHT;
    if (awaited) {
        server->outstanding--;
        kw_hbase_pace_took(&pool->paces[call->method], channel->used_ns - call->since_ns);
    } else if (!waits_for_late(channel)) {
        channel->overdue_ns = 0;
    }
    kw_hbase_pool_feed(pool, channel);
    if (awaited)
        kw_hbase_answer(pool, channel, call, message);
    else if (call)
        kw_hbase_answer_late(pool, channel, call, message);
    kw_hbase_channel_settle(channel);
}

static void
lose_call(kw_hbase_server *server, kw_hbase_channel *channel, kw_hbase_call *call, bool oldest)
{
    if (call->state == KW_HBASE_CALL_ABANDONED) {
        call->state = KW_HBASE_CALL_IDLE;
        call->late(call, NULL);
        return;
    }
    server->outstanding--;
    kw_hbase_failure failure = {.kind = KW_HBASE_LOST};
    if (oldest && channel->loss == KW_HBASE_LOSS_TOO_LARGE) {
        failure.kind = KW_HBASE_REPLY_TOO_LARGE;
        kw_error_set(&failure.error, KW_LIMIT, "the answer of the store is larger than %zu bytes",
                     channel->settings->reply_max);
        failure.error.maybe_applied = call->changes;
        kw_hbase_pool_finish(server->pool, call, NULL, &failure);
        return;
    }
    kw_error_set(&failure.error, KW_UNAVAILABLE, "the connection to the store was lost before it answered");
    failure.error.maybe_applied = call->changes;
    kw_hbase_pool_lost(server->pool, call, &failure);
}

static void
lose_pinned(kw_hbase_server *server, kw_hbase_channel *channel)
{
    kw_hbase_failure failure = {.kind = KW_HBASE_LOST};
    kw_error_set(&failure.error, KW_UNAVAILABLE, "the connection to the store was lost");
    for (GList *at = channel->pins.head; at; at = at->next)
        ((kw_hbase_pin *)at->data)->channel = NULL;
    for (GList *at; (at = g_queue_pop_head_link(&channel->pinned));)
        kw_hbase_pool_finish(server->pool, at->data, NULL, &failure);
}

/* What the loss says about the server. */
static void
judge_loss(kw_hbase_server *server, const kw_hbase_channel *channel, bool opening, uint32_t in_flight)
{
    bool quiet = channel->loss == KW_HBASE_LOSS_OURS || (in_flight == 0 && !opening);
    kw_log(quiet ? KW_LOG_DEBUG : KW_LOG_WARN, "hbase", "channel lost", "server=%s calls=%u reason=\"%s\"",
           server->name, in_flight, channel->why);
    if (quiet)
        return;
    if (opening) {
        rest(server, channel->why);
        if (channel->loss == KW_HBASE_LOSS_SILENT)
            give_up_silent(server, channel->opened_ns);
    } else if (channel->loss == KW_HBASE_LOSS_SILENT) {
        if (server->rest_until_ns <= kw_clock_mono_ns())
            rest(server, channel->why);
    } else if (++server->losses >= LOSSES_MAX) {
        server->losses = 0;
        rest(server, "one connection after the other was lost");
    }
}

static void
on_lost(kw_hbase_channel *channel)
{
    kw_hbase_server *server = kw_hbase_channel_server(channel);
    kw_hbase_pool *pool = server->pool;
    bool opening = server->opening == channel;
    uint32_t in_flight = channel->in_flight;
    g_queue_unlink(&server->channels, &channel->link);
    atomic_fetch_sub(&pool->store->channels[server->index], 1);
    if (opening)
        server->opening = NULL;
    if (channel->was_ready) {
        atomic_fetch_sub(&pool->store->ready, 1);
        if (--pool->ready == 0)
            pool->down_since_ns = kw_clock_mono_ns();
    }
    judge_loss(server, channel, opening, in_flight);
    lose_pinned(server, channel);
    bool oldest = true;
    for (kw_hbase_call *call; (call = kw_hbase_channel_take(channel)); oldest = false)
        lose_call(server, channel, call, oldest);
    if (!pool->closing)
        kw_hbase_servers_grow(pool, kw_fair_count(pool->queue) != 0);
}

static const kw_hbase_channel_events channel_events = {
    .ready = on_ready, .answered = on_answered, .lost = on_lost};

/* --- choosing and opening --------------------------------------------------------------------- */

static uint64_t
cost(const kw_hbase_server *server, const kw_hbase_channel *channel)
{
    return (uint64_t)server->suspect << 40 | (uint64_t)MIN(server->outstanding, 0xffffU) << 24 |
           (uint64_t)MIN(channel->in_flight, 0xffU) << 16 | MIN(channel->pins.length, 0xffffU);
}

kw_hbase_channel *
kw_hbase_servers_choose(kw_hbase_pool *pool)
{
    kw_hbase_channel *best = NULL;
    uint64_t least = UINT64_MAX;
    uint32_t room = (uint32_t)pool->store->settings.pipeline;
    pool->turn++;
    for (size_t i = 0; i < pool->servers_count; i++) {
        kw_hbase_server *server = &pool->servers[(pool->turn + i) % pool->servers_count];
        for (GList *at = server->channels.head; at; at = at->next) {
            kw_hbase_channel *channel = at->data;
            if (channel->state != KW_HBASE_READY || channel->in_flight >= room || channel->pinned.length ||
                channel->overdue_ns > 0)
                continue;
            uint64_t this_cost = cost(server, channel);
            if (this_cost < least) {
                least = this_cost;
                best = channel;
            }
        }
    }
    return best;
}

static void
open_channel(kw_hbase_server *server)
{
    kw_hbase_pool *pool = server->pool;
    kw_deadline deadline = kw_deadline_in_ms(pool->store->settings.connect_timeout_ms);
    server->opening = kw_hbase_channel_open(pool->loop, &server->settings, &channel_events, server, deadline);
    g_queue_push_tail_link(&server->channels, &server->opening->link);
    atomic_fetch_add(&pool->store->channels[server->index], 1);
}

static bool
may_open(const kw_hbase_server *server, uint64_t now_ns, bool wanted)
{
    uint32_t own = useful(server);
    return !server->opening && server->rest_until_ns <= now_ns &&
           (own == 0 || (wanted && kw_hbase_store_allows(server->pool->store, server->index, own)));
}

void
kw_hbase_servers_grow(kw_hbase_pool *pool, bool wanted)
{
    uint64_t now = kw_clock_mono_ns();
    for (size_t i = 0; i < pool->servers_count; i++) {
        if (may_open(&pool->servers[i], now, wanted))
            open_channel(&pool->servers[i]);
    }
}

/* --- every tick ------------------------------------------------------------------------------- */

static void
tick_ready(kw_hbase_server *server, kw_hbase_channel *channel, uint64_t now_ns)
{
    const kw_model_hbase *settings = &server->pool->store->settings;
    if (channel->overdue_ns > 0 && ms_since(channel->overdue_ns, now_ns) >= KW_HBASE_OVERDUE_MS) {
        kw_hbase_channel_retire(channel, kw_deadline_in_ms(KW_HBASE_LINGER_MS));
        return;
    }
    if (channel->ping_sent_ns) {
        if (ms_since(channel->ping_sent_ns, now_ns) < (uint64_t)settings->connect_timeout_ms)
            return;
        kw_hbase_channel_close(channel, KW_HBASE_LOSS_SILENT, "a ping was not answered");
        give_up_silent(server, channel->ping_sent_ns);
    } else if (is_idle(channel) && ms_since(channel->used_ns, now_ns) >= (uint64_t)settings->ping_ms) {
        kw_hbase_channel_ping(channel);
    } else if (is_idle(channel) && channel->pins.length == 0 &&
               kw_hbase_store_wants_back(server->pool->store, server->index, useful(server))) {
        kw_hbase_channel_close(channel, KW_HBASE_LOSS_OURS, "one channel too many");
    }
}

static void
tick_channel(kw_hbase_server *server, kw_hbase_channel *channel, uint64_t now_ns)
{
    switch (channel->state) {
    case KW_HBASE_RESOLVING:
    case KW_HBASE_CONNECTING:
    case KW_HBASE_GREETING:
        if (channel->open_deadline <= now_ns)
            kw_hbase_channel_close(channel, KW_HBASE_LOSS_SILENT, "%s",
                                   channel->state == KW_HBASE_GREETING
                                       ? "connected, but the server is silent (too many connections?)"
                                       : "no connection within connect_timeout");
        return;
    case KW_HBASE_READY:
        tick_ready(server, channel, now_ns);
        return;
    case KW_HBASE_RETIRED:
        if (channel->open_deadline <= now_ns)
            kw_hbase_channel_close(channel, KW_HBASE_LOSS_OURS, "its late reply never came");
        return;
    case KW_HBASE_CHANNEL_LOST:
        return;
    }
}

/* Calls are outstanding and the server has said nothing for a while: is it there at all? */
static void
probe(kw_hbase_server *server, uint64_t now_ns)
{
    uint64_t silent_ms = ms_since(server->heard_ns, now_ns);
    if (server->outstanding == 0 || silent_ms < (uint64_t)server->pool->store->settings.connect_timeout_ms)
        return;
    server->suspect = true;
    bool asked = server->opening != NULL;
    kw_hbase_channel *idle = NULL;
    for (GList *at = server->channels.head; at; at = at->next) {
        kw_hbase_channel *channel = at->data;
        asked = asked || (channel->state == KW_HBASE_READY && channel->ping_sent_ns);
        if (is_idle(channel))
            idle = channel;
    }
    if (asked)
        return;
    if (idle)
        kw_hbase_channel_ping(idle);
    else if (server->rest_until_ns <= now_ns)
        open_channel(server);
}

/* This loop stood still, and its timers come before what it reads: what servers answered meanwhile is read
 * before they are judged. Not twice in a row: a loop that is always late judges, too. */
static bool
is_late(kw_hbase_pool *pool, uint64_t now_ns)
{
    pool->late = !pool->late && pool->ticked_ns && ms_since(pool->ticked_ns, now_ns) > 2 * KW_HBASE_TICK_MS;
    pool->ticked_ns = now_ns;
    return pool->late;
}

void
kw_hbase_servers_tick(kw_hbase_pool *pool)
{
    uint64_t now = kw_clock_mono_ns();
    bool late = is_late(pool, now);
    for (size_t i = 0; i < pool->servers_count && !late; i++) {
        kw_hbase_server *server = &pool->servers[i];
        for (GList *at = server->channels.head, *next; at; at = next) {
            next = at->next;
            tick_channel(server, at->data, now);
        }
        probe(server, now);
    }
    kw_hbase_servers_grow(pool, kw_fair_count(pool->queue) != 0);
}

/* --- ends ------------------------------------------------------------------------------------- */

static bool
is_awaited(const kw_hbase_channel *channel)
{
    for (uint32_t i = 0; i < channel->in_flight; i++) {
        if (channel->slots[(channel->first_slot + i) % G_N_ELEMENTS(channel->slots)].call)
            return true;
    }
    return channel->pinned.length || channel->pins.length;
}

void
kw_hbase_channel_settle(kw_hbase_channel *channel)
{
    if (channel->state == KW_HBASE_RETIRED && !is_awaited(channel))
        kw_hbase_channel_close(channel, KW_HBASE_LOSS_OURS, "retired");
}

bool
kw_hbase_servers_close(kw_hbase_pool *pool, bool now)
{
    bool none = true;
    for (size_t i = 0; i < pool->servers_count; i++) {
        for (GList *at = pool->servers[i].channels.head; at; at = at->next) {
            none = false;
            if (now || !is_awaited(at->data))
                kw_hbase_channel_close(at->data, KW_HBASE_LOSS_OURS, "closing");
        }
    }
    return none;
}

void
kw_hbase_server_init(kw_hbase_server *server, kw_hbase_pool *pool, size_t index)
{
    kw_hbase_store *store = pool->store;
    const kw_model_server *where = &store->settings.servers[index];
    server->index = index;
    server->pool = pool;
    server->settings = (kw_hbase_channel_settings){.host = where->host,
                                                   .port = where->port,
                                                   .form = store->form,
                                                   .tls = store->tls,
                                                   .reply_max = KW_HBASE_REPLY_MAX};
    server->name = g_strdup_printf("%s:%u", where->host, where->port);
    server->rest_ms = store->settings.rest_ms;
    g_queue_init(&server->channels);
}

/* --- pins ------------------------------------------------------------------------------------- */

void
kw_hbase_pool_pin(kw_hbase_pin *pin, kw_hbase_channel *channel)
{
    g_assert(!pin->channel);
    pin->channel = channel;
    pin->link.data = pin;
    g_queue_push_tail_link(&channel->pins, &pin->link);
}

void
kw_hbase_pool_unpin(kw_hbase_pin *pin)
{
    kw_hbase_channel *channel = pin->channel;
    if (!channel)
        return;
    pin->channel = NULL;
    g_queue_unlink(&channel->pins, &pin->link);
    kw_hbase_channel_settle(channel);
}
