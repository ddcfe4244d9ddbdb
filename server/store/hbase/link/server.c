/* The servers of a pool and their channels: the choice of a channel for a call, opening of channels, backoff,
 * pings, and the calls of a lost channel. */
#include "store/hbase/link/channel_private.h"
#include "store/hbase/link/move.h"
#include "store/hbase/link/pool_private.h"

#include "base/log.h"
#include "base/units.h"

/* After this many channels were lost with a call in flight and no reply in between, the server gets a
 * backoff. */
#define LOSSES_MAX 4
/* Before a call is sent on a channel that was idle for this time, its socket is checked. */
#define QUIET_MS 1000

/* The number of channels that are ready or opening. */
static uint32_t
count_usable(const kw_hbase_server *server)
{
    uint32_t count = 0;
    for (const GList *at = server->channels.head; at; at = at->next)
        count += ((const kw_hbase_channel *)at->data)->state <= KW_HBASE_READY;
    return count;
}

/* The call of the i-th oldest expected reply; NULL if it was forgotten or is a ping. */
static const kw_hbase_call *
expected_call(const kw_hbase_channel *channel, uint32_t i)
{
    return channel->expected[(channel->first_expected + i) % G_N_ELEMENTS(channel->expected)].call;
}

static uint64_t
ms_since(uint64_t then_ns, uint64_t now_ns)
{
    return now_ns > then_ns ? (now_ns - then_ns) / KW_NS_PER_MS : 0;
}

static bool
is_idle(const kw_hbase_channel *channel)
{
    return channel->state == KW_HBASE_READY && channel->in_flight == 0 && channel->pinned.length == 0 &&
           channel->overdue_ns == 0;
}

/* --- backoff ---------------------------------------------------------------------------------- */

/* A failure is a warning only once, until a channel to the server is ready again. */
static void
back_off(kw_hbase_server *server, const char *why)
{
    kw_hbase_store *store = server->pool->store;
    bool known = atomic_exchange(&store->failing[server->index], true);
    kw_log(known ? KW_LOG_DEBUG : KW_LOG_WARN, "hbase", "server failed, backing off",
           KW_LOG_FACT("server", server->name), KW_LOG_FACT("backoff_ms", server->backoff_ms),
           KW_LOG_FACT("reason", why));
    kw_hbase_store_note_failure(store, server->name, why);
    server->failed_ns = kw_clock_mono_ns();
    server->backoff_until_ns = server->failed_ns + (uint64_t)server->backoff_ms * KW_NS_PER_MS;
    server->backoff_ms = MIN(server->backoff_ms * 2, KW_HBASE_BACKOFF_MAX_MS);
}

static void
reset_backoff(kw_hbase_server *server)
{
    server->backoff_ms = server->pool->store->tuning.backoff_ms;
    server->backoff_until_ns = 0;
    server->suspect = false;
    server->losses = 0;
}

/* When the server can be tried again. A pool without a ready channel tries every server once a second. */
static uint64_t
rests_until_ns(const kw_hbase_server *server)
{
    uint64_t until = server->backoff_until_ns;
    return server->pool->ready ? until : MIN(until, server->failed_ns + KW_HBASE_PROBE_MS * KW_NS_PER_MS);
}

uint32_t
kw_hbase_servers_backoff_ms(const kw_hbase_pool *pool)
{
    uint64_t now = kw_clock_mono_ns(), first = UINT64_MAX;
    for (size_t i = 0; i < pool->servers_count; i++)
        first = MIN(first, rests_until_ns(&pool->servers[i]));
    return first > now ? (uint32_t)MIN(ms_since(now, first) + 1, KW_HBASE_BACKOFF_MAX_MS) : KW_HBASE_TICK_MS;
}

/* Closes the ready channels of a server that has not answered anything since this time, at which a ping was
 * sent or another channel began to open. */
static void
close_if_silent(kw_hbase_server *server, uint64_t since_ns)
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

void
kw_hbase_server_ready(kw_hbase_channel *channel)
{
    kw_hbase_server *server = channel->server;
    kw_hbase_pool *pool = server->pool;
    reset_backoff(server);
    if (atomic_exchange(&pool->store->failing[server->index], false))
        kw_log(KW_LOG_INFO, "hbase", "server answers again", KW_LOG_FACT("server", server->name));
    server->heard_ns = channel->used_ns;
    kw_log(KW_LOG_DEBUG, "hbase", "channel ready", KW_LOG_FACT("server", server->name),
           KW_LOG_FACT("channels", server->channels.length));
    if (pool->closing) {
        kw_hbase_channel_close(channel, KW_HBASE_LOSS_OURS, "closing");
        return;
    }
    kw_hbase_pool_feed_all(pool);
    if (kw_fair_count(pool->queue))
        kw_hbase_servers_grow(pool, true);
}

/* True if the reply to a call past its deadline is still missing. */
static bool
waits_for_late(const kw_hbase_channel *channel)
{
    for (uint32_t i = 0; i < channel->in_flight; i++) {
        const kw_hbase_call *call = expected_call(channel, i);
        if (!call || call->state == KW_HBASE_CALL_ABANDONED)
            return true;
    }
    return false;
}

void
kw_hbase_server_answered(kw_hbase_channel *channel, kw_hbase_call *call, const kw_wire_message *message)
{
    kw_hbase_server *server = channel->server;
    kw_hbase_pool *pool = server->pool;
    server->heard_ns = channel->used_ns;
    server->suspect = false;
    server->losses = 0;
    bool in_time = call && call->state == KW_HBASE_CALL_IN_FLIGHT;
    if (in_time)
        kw_hbase_pace_add(&pool->paces[call->method], channel->used_ns - call->since_ns);
    else if (!waits_for_late(channel))
        channel->overdue_ns = 0;
    kw_hbase_pool_feed(pool, channel);
    if (in_time)
        kw_hbase_answer(pool, channel, call, message);
    else if (call)
        kw_hbase_answer_late(pool, channel, call, message);
    kw_hbase_channel_close_if_done(channel);
}

static void
lose_call(kw_hbase_server *server, kw_hbase_channel *channel, kw_hbase_call *call, bool oldest)
{
    if (call->state == KW_HBASE_CALL_ABANDONED) {
        kw_hbase_call_move(server->pool, call, KW_HBASE_CALL_IDLE, NULL);
        call->late(call, NULL);
        return;
    }
    kw_hbase_failure failure = {.kind = KW_HBASE_LOST};
    if (oldest && channel->loss == KW_HBASE_LOSS_TOO_LARGE) {
        failure.kind = KW_HBASE_REPLY_TOO_LARGE;
        kw_error_set(&failure.error, KW_LIMIT, "the reply of the store is larger than %zu bytes",
                     channel->settings->reply_max);
        failure.error.maybe_applied = call->changes;
        kw_hbase_pool_finish(server->pool, call, NULL, &failure);
        return;
    }
    kw_error_set(&failure.error, KW_UNAVAILABLE, "the connection to the store was lost before it answered");
    failure.error.maybe_applied = call->changes;
    kw_hbase_pool_retry_or_fail(server->pool, call, &failure);
}

static void
lose_pinned(kw_hbase_server *server, kw_hbase_channel *channel)
{
    kw_hbase_failure failure = {.kind = KW_HBASE_LOST};
    kw_error_set(&failure.error, KW_UNAVAILABLE, "the connection to the store was lost");
    for (GList *at = channel->pins.head; at; at = at->next)
        ((kw_hbase_pin *)at->data)->channel = NULL;
    for (kw_hbase_call *call; (call = g_queue_peek_head(&channel->pinned));)
        kw_hbase_pool_finish(server->pool, call, NULL, &failure);
}

/* Decides if the loss of a channel means that the server has failed. */
static void
judge_loss(kw_hbase_server *server, const kw_hbase_channel *channel, bool opening, uint32_t in_flight)
{
    bool ours = channel->loss == KW_HBASE_LOSS_OURS, quiet = ours || (in_flight == 0 && !opening);
    kw_log(quiet || opening ? KW_LOG_DEBUG : KW_LOG_WARN, "hbase", "channel lost",
           KW_LOG_FACT("server", server->name), KW_LOG_FACT("calls", in_flight),
           KW_LOG_FACT("reason", channel->why));
    if (opening && !ours && kw_hbase_form_failed(channel))
        return;
    kw_metrics_add(KW_METRIC_channels_failed, !ours);
    if (quiet)
        return;
    if (opening) {
        back_off(server, server->trial.tried ? server->trial.text : channel->why);
        if (channel->loss == KW_HBASE_LOSS_SILENT)
            close_if_silent(server, channel->opened_ns);
    } else if (channel->loss == KW_HBASE_LOSS_SILENT) {
        if (server->backoff_until_ns <= kw_clock_mono_ns())
            back_off(server, channel->why);
    } else if (++server->losses >= LOSSES_MAX) {
        server->losses = 0;
        back_off(server, "several connections in a row were lost");
    }
}

void
kw_hbase_server_lost(kw_hbase_channel *channel)
{
    kw_hbase_server *server = channel->server;
    kw_hbase_pool *pool = server->pool;
    bool opening = server->opening == channel;
    uint32_t in_flight = channel->in_flight;
    kw_hbase_channel_move(channel, KW_HBASE_CHANNEL_GONE);
    judge_loss(server, channel, opening, in_flight);
    lose_pinned(server, channel);
    bool oldest = true;
    for (kw_hbase_call *call; (call = kw_hbase_channel_pop_call(channel)); oldest = false)
        lose_call(server, channel, call, oldest);
    if (!pool->closing)
        kw_hbase_servers_grow(pool, kw_fair_count(pool->queue) != 0);
}

/* --- choosing and opening --------------------------------------------------------------------- */

/* The channel with the lowest cost is used. The cost depends, in this order, on whether the server is
 * suspect, its outstanding calls, the channel's calls in flight, and the channel's scanners. */
static uint64_t
cost(const kw_hbase_server *server, const kw_hbase_channel *channel)
{
    return (uint64_t)server->suspect << 40 | (uint64_t)MIN(server->outstanding, 0xffffU) << 24 |
           (uint64_t)MIN(channel->in_flight, 0xffU) << 16 | MIN(channel->pins.length, 0xffffU);
}

/* True if the channel can be used. A server closes connections without calls and pings after a minute. If
 * this process was paused for that long, the loop has not seen the end of the connection yet. A call that is
 * sent nevertheless is certainly not executed, but Keyway could not know that. */
static bool
is_usable(kw_hbase_channel *channel, uint64_t now_ns)
{
    if (!is_idle(channel) || ms_since(channel->used_ns, now_ns) < QUIET_MS ||
        kw_hbase_channel_is_open(channel))
        return true;
    kw_hbase_channel_close(channel, KW_HBASE_LOSS_CLOSED, "the server closed the connection");
    return false;
}

kw_hbase_channel *
kw_hbase_servers_choose(kw_hbase_pool *pool)
{
    uint64_t now_ns = kw_clock_mono_ns();
    kw_hbase_channel *best = NULL;
    uint64_t least = UINT64_MAX;
    uint32_t max_in_flight = pool->store->tuning.pipeline;
    pool->rotation++;
    for (size_t i = 0; i < pool->servers_count; i++) {
        kw_hbase_server *server = &pool->servers[(pool->rotation + i) % pool->servers_count];
        for (GList *at = server->channels.head; at; at = at->next) {
            kw_hbase_channel *channel = at->data;
            if (channel->state != KW_HBASE_READY || channel->in_flight >= max_in_flight ||
                channel->pinned.length || channel->overdue_ns > 0)
                continue;
            uint64_t this_cost = cost(server, channel);
            if (this_cost < least && is_usable(channel, now_ns)) {
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
    int64_t timeout_ms = server->pool->store->tuning.connect_timeout_ms;
    kw_hbase_channel_open(server, kw_deadline_in_ms(timeout_ms));
}

static bool
can_open(const kw_hbase_server *server, uint64_t now_ns, bool wanted)
{
    uint32_t own = count_usable(server);
    return !server->opening && rests_until_ns(server) <= now_ns &&
           (own == 0 || (wanted && kw_hbase_store_allows_channel(server->pool->store, server->index, own)));
}

void
kw_hbase_servers_grow(kw_hbase_pool *pool, bool wanted)
{
    uint64_t now = kw_clock_mono_ns();
    for (size_t i = 0; i < pool->servers_count; i++) {
        if (can_open(&pool->servers[i], now, wanted))
            open_channel(&pool->servers[i]);
    }
}

/* --- every tick ------------------------------------------------------------------------------- */

static void
tick_ready(kw_hbase_server *server, kw_hbase_channel *channel, uint64_t now_ns)
{
    const kw_hbase_tuning *tuning = &server->pool->store->tuning;
    if (channel->overdue_ns > 0 && ms_since(channel->overdue_ns, now_ns) >= KW_HBASE_OVERDUE_MS) {
        kw_hbase_channel_retire(channel, kw_deadline_in_ms(KW_HBASE_LINGER_MS));
        return;
    }
    if (channel->ping_sent_ns) {
        if (ms_since(channel->ping_sent_ns, now_ns) < (uint64_t)tuning->connect_timeout_ms)
            return;
        kw_hbase_channel_close(channel, KW_HBASE_LOSS_SILENT, "a ping was not answered");
        close_if_silent(server, channel->ping_sent_ns);
    } else if (is_idle(channel) && ms_since(channel->used_ns, now_ns) >= (uint64_t)tuning->ping_ms) {
        kw_hbase_channel_ping(channel);
    } else if (is_idle(channel) && channel->pins.length == 0 &&
               kw_hbase_store_has_excess(server->pool->store, server->index, count_usable(server))) {
        kw_hbase_channel_close(channel, KW_HBASE_LOSS_OURS, "one channel too many");
    }
}

static void
tick_opening(kw_hbase_channel *channel, uint64_t now_ns)
{
    if (channel->open_deadline <= now_ns)
        kw_hbase_channel_close(channel, KW_HBASE_LOSS_SILENT, "%s",
                               channel->state == KW_HBASE_GREETING ? "silent, or too many connections"
                                                                   : "no connection within connect_timeout");
    else if (channel->state == KW_HBASE_CONNECTING && channel->address_deadline <= now_ns)
        kw_hbase_channel_try_next_address(channel);
}

static void
tick_channel(kw_hbase_server *server, kw_hbase_channel *channel, uint64_t now_ns)
{
    switch (channel->state) {
    case KW_HBASE_RESOLVING:
    case KW_HBASE_CONNECTING:
    case KW_HBASE_GREETING:
        tick_opening(channel, now_ns);
        return;
    case KW_HBASE_READY:
        tick_ready(server, channel, now_ns);
        return;
    case KW_HBASE_RETIRED:
        if (channel->open_deadline <= now_ns)
            kw_hbase_channel_close(channel, KW_HBASE_LOSS_OURS, "a late reply did not arrive");
        return;
    case KW_HBASE_CHANNEL_NEW:
    case KW_HBASE_CHANNEL_LOST:
    case KW_HBASE_CHANNEL_GONE:
        return;
    }
}

/* If calls are outstanding and the server has been silent for a while, pings it or opens a channel. */
static void
probe(kw_hbase_server *server, uint64_t now_ns)
{
    uint64_t silent_ms = ms_since(server->heard_ns, now_ns);
    if (server->outstanding == 0 || silent_ms < (uint64_t)server->pool->store->tuning.connect_timeout_ms)
        return;
    server->suspect = true;
    bool probing = server->opening != NULL;
    kw_hbase_channel *idle = NULL;
    for (GList *at = server->channels.head; at; at = at->next) {
        kw_hbase_channel *channel = at->data;
        probing = probing || (channel->state == KW_HBASE_READY && channel->ping_sent_ns);
        if (is_idle(channel))
            idle = channel;
    }
    if (probing)
        return;
    if (idle)
        kw_hbase_channel_ping(idle);
    else if (server->backoff_until_ns <= now_ns)
        open_channel(server);
}

/* True if this loop was stalled. Its timers run before it reads from sockets, so it must first read what the
 * servers have answered in the meantime. Never true twice in a row, so that a loop that is always late
 * detects silent servers too. */
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

/* --- closing ---------------------------------------------------------------------------------- */

/* True if a call or a scanner needs the channel. */
static bool
is_needed(const kw_hbase_channel *channel)
{
    for (uint32_t i = 0; i < channel->in_flight; i++) {
        if (expected_call(channel, i))
            return true;
    }
    return channel->pinned.length || channel->pins.length;
}

void
kw_hbase_channel_close_if_done(kw_hbase_channel *channel)
{
    if (channel->state == KW_HBASE_RETIRED && !is_needed(channel))
        kw_hbase_channel_close(channel, KW_HBASE_LOSS_OURS, "retired");
}

bool
kw_hbase_servers_close(kw_hbase_pool *pool, bool now)
{
    bool none = true;
    for (size_t i = 0; i < pool->servers_count; i++) {
        for (GList *at = pool->servers[i].channels.head; at; at = at->next) {
            none = false;
            if (now || !is_needed(at->data))
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
    server->settings = (kw_hbase_channel_settings){
        .host = where->host, .port = where->port, .tls = store->tls, .reply_max = KW_HBASE_REPLY_MAX};
    server->name = g_strdup_printf("%s:%u", where->host, where->port);
    server->backoff_ms = store->tuning.backoff_ms;
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
    kw_hbase_channel_close_if_done(channel);
}
