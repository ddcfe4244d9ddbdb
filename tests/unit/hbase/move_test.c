/* The states of channels and calls: in each state, the lists and counts are those of the state, and all moves
 * that the pictures in channel.h and pool.h do not have abort. */
#include "store/hbase/link/move.h"

#include "base/metrics.h"

#include "support/move_aborts.h"

typedef struct scene {
    kw_hbase_store store;
    _Atomic uint32_t channels[1];
    kw_hbase_server server;
    kw_hbase_pool pool;
    kw_hbase_channel channel;
    kw_hbase_pin pin;
    kw_hbase_call call;
    int64_t metric; /* at the beginning */
} scene;

static scene *
scene_new(void)
{
    scene *self = g_new0(scene, 1);
    self->store.channels = self->channels;
    self->server.pool = &self->pool;
    self->pool.store = &self->store;
    self->pool.servers = &self->server;
    self->pool.servers_count = 1;
    self->pool.queue = kw_fair_new();
    self->channel.server = &self->server;
    self->channel.link.data = &self->channel;
    self->call.queue_link.data = self->call.active_link.data = &self->call;
    self->pin.channel = &self->channel;
    self->metric = kw_metrics_read(KW_METRIC_channels_open);
    return self;
}

static void
scene_free(scene *self)
{
    kw_fair_free(self->pool.queue);
    g_free(self);
}

/* --- channels ----------------------------------------------------------------------------------------- */

typedef struct pair {
    int from, to;
} pair;

static const pair channel_pairs[] = {
    {KW_HBASE_CHANNEL_NEW, KW_HBASE_RESOLVING},  {KW_HBASE_RESOLVING, KW_HBASE_CONNECTING},
    {KW_HBASE_CONNECTING, KW_HBASE_CONNECTING},  {KW_HBASE_CONNECTING, KW_HBASE_GREETING},
    {KW_HBASE_GREETING, KW_HBASE_READY},         {KW_HBASE_READY, KW_HBASE_RETIRED},
    {KW_HBASE_RESOLVING, KW_HBASE_CHANNEL_LOST}, {KW_HBASE_CONNECTING, KW_HBASE_CHANNEL_LOST},
    {KW_HBASE_GREETING, KW_HBASE_CHANNEL_LOST},  {KW_HBASE_READY, KW_HBASE_CHANNEL_LOST},
    {KW_HBASE_RETIRED, KW_HBASE_CHANNEL_LOST},   {KW_HBASE_CHANNEL_LOST, KW_HBASE_CHANNEL_GONE},
};

static bool
has_pair(const pair *pairs, size_t count, int from, int to)
{
    for (size_t i = 0; i < count; i++)
        if (pairs[i].from == from && pairs[i].to == to)
            return true;
    return false;
}

static void
expect_channel(scene *self, bool opening)
{
    kw_hbase_channel_state state = self->channel.state;
    bool listed = state > KW_HBASE_CHANNEL_NEW && state < KW_HBASE_CHANNEL_GONE;
    bool ready = state == KW_HBASE_READY || state == KW_HBASE_RETIRED;
    g_assert_cmpuint(self->server.channels.length, ==, listed);
    g_assert_cmpuint(self->channels[0], ==, listed);
    g_assert_cmpuint(self->pool.ready, ==, ready);
    g_assert_cmpuint(self->store.ready, ==, ready);
    g_assert_cmpint(kw_metrics_read(KW_METRIC_channels_open) - self->metric, ==, ready);
    g_assert_true(self->server.opening == (opening ? &self->channel : NULL));
}

static void
move_channel(void *user, int to)
{
    scene *self = user;
    kw_hbase_channel_move(&self->channel, (kw_hbase_channel_state)to);
}

/* Moves the channel along the path, which ends with NEW, and expects that no other move is possible. A server
 * has an opening channel until the channel is ready, or its failure was noted. */
static void
walk_channel(const kw_hbase_channel_state *path)
{
    scene *self = scene_new();
    bool was_ready = false;
    for (;; path++) {
        kw_hbase_channel_state from = self->channel.state;
        was_ready = was_ready || from == KW_HBASE_READY;
        expect_channel(self, from > KW_HBASE_CHANNEL_NEW && from < KW_HBASE_CHANNEL_GONE && !was_ready);
        for (int to = KW_HBASE_CHANNEL_NEW; to <= KW_HBASE_CHANNEL_GONE; to++)
            g_assert_cmpint(move_aborts(move_channel, self, to), ==,
                            !has_pair(channel_pairs, G_N_ELEMENTS(channel_pairs), (int)from, to));
        if (*path == KW_HBASE_CHANNEL_NEW)
            break;
        move_channel(self, (int)*path);
    }
    scene_free(self);
}

#define WALK(...) walk_channel((const kw_hbase_channel_state[]){__VA_ARGS__, KW_HBASE_CHANNEL_NEW})

KW_TEST(test_channels, "/hbase/move/channels")
{
    WALK(KW_HBASE_RESOLVING, KW_HBASE_CONNECTING, KW_HBASE_CONNECTING, KW_HBASE_GREETING, KW_HBASE_READY,
         KW_HBASE_RETIRED, KW_HBASE_CHANNEL_LOST, KW_HBASE_CHANNEL_GONE);
    WALK(KW_HBASE_RESOLVING, KW_HBASE_CONNECTING, KW_HBASE_GREETING, KW_HBASE_READY, KW_HBASE_CHANNEL_LOST,
         KW_HBASE_CHANNEL_GONE);
    WALK(KW_HBASE_RESOLVING, KW_HBASE_CHANNEL_LOST, KW_HBASE_CHANNEL_GONE);
    WALK(KW_HBASE_RESOLVING, KW_HBASE_CONNECTING, KW_HBASE_GREETING, KW_HBASE_CHANNEL_LOST,
         KW_HBASE_CHANNEL_GONE);
}

/* --- calls -------------------------------------------------------------------------------------------- */

static const pair call_pairs[] = {
    {KW_HBASE_CALL_IDLE, KW_HBASE_CALL_QUEUED},         {KW_HBASE_CALL_IDLE, KW_HBASE_CALL_WAITING},
    {KW_HBASE_CALL_IDLE, KW_HBASE_CALL_IN_FLIGHT},      {KW_HBASE_CALL_IDLE, KW_HBASE_CALL_REJECTED},
    {KW_HBASE_CALL_QUEUED, KW_HBASE_CALL_IN_FLIGHT},    {KW_HBASE_CALL_QUEUED, KW_HBASE_CALL_REJECTED},
    {KW_HBASE_CALL_QUEUED, KW_HBASE_CALL_IDLE},         {KW_HBASE_CALL_WAITING, KW_HBASE_CALL_QUEUED},
    {KW_HBASE_CALL_WAITING, KW_HBASE_CALL_IN_FLIGHT},   {KW_HBASE_CALL_WAITING, KW_HBASE_CALL_REJECTED},
    {KW_HBASE_CALL_WAITING, KW_HBASE_CALL_IDLE},        {KW_HBASE_CALL_IN_FLIGHT, KW_HBASE_CALL_WAITING},
    {KW_HBASE_CALL_IN_FLIGHT, KW_HBASE_CALL_REJECTED},  {KW_HBASE_CALL_IN_FLIGHT, KW_HBASE_CALL_IDLE},
    {KW_HBASE_CALL_IN_FLIGHT, KW_HBASE_CALL_ABANDONED}, {KW_HBASE_CALL_REJECTED, KW_HBASE_CALL_IDLE},
    {KW_HBASE_CALL_ABANDONED, KW_HBASE_CALL_IDLE},
};

static void
expect_call(scene *self)
{
    kw_hbase_call_state state = self->call.state;
    bool active = state != KW_HBASE_CALL_IDLE && state != KW_HBASE_CALL_ABANDONED;
    bool queued = state == KW_HBASE_CALL_QUEUED, pinned = self->call.pin != NULL;
    g_assert_cmpuint(self->pool.active.length, ==, active);
    g_assert_cmpuint(kw_fair_count(self->pool.queue), ==, queued && !pinned);
    g_assert_cmpuint(self->channel.pinned.length, ==, queued && pinned);
    g_assert_cmpuint(self->server.outstanding, ==, state == KW_HBASE_CALL_IN_FLIGHT);
    g_assert_cmpuint(self->pool.rejected.length, ==, state == KW_HBASE_CALL_REJECTED);
}

static void
move_call(void *user, int to)
{
    scene *self = user;
    bool channel = to == KW_HBASE_CALL_IN_FLIGHT || (to == KW_HBASE_CALL_QUEUED && self->call.pin);
    kw_hbase_call_move(&self->pool, &self->call, (kw_hbase_call_state)to, channel ? &self->channel : NULL);
}

/* Makes each possible move once, and expects that no other one is possible. */
static void
walk_calls(bool pinned)
{
    static const kw_hbase_call_state path[] = {
        KW_HBASE_CALL_QUEUED,    KW_HBASE_CALL_IDLE,      KW_HBASE_CALL_WAITING,   KW_HBASE_CALL_IDLE,
        KW_HBASE_CALL_IN_FLIGHT, KW_HBASE_CALL_IDLE,      KW_HBASE_CALL_REJECTED,  KW_HBASE_CALL_IDLE,
        KW_HBASE_CALL_QUEUED,    KW_HBASE_CALL_IN_FLIGHT, KW_HBASE_CALL_WAITING,   KW_HBASE_CALL_QUEUED,
        KW_HBASE_CALL_REJECTED,  KW_HBASE_CALL_IDLE,      KW_HBASE_CALL_WAITING,   KW_HBASE_CALL_IN_FLIGHT,
        KW_HBASE_CALL_REJECTED,  KW_HBASE_CALL_IDLE,      KW_HBASE_CALL_WAITING,   KW_HBASE_CALL_REJECTED,
        KW_HBASE_CALL_IDLE,      KW_HBASE_CALL_IN_FLIGHT, KW_HBASE_CALL_ABANDONED, KW_HBASE_CALL_IDLE};
    scene *self = scene_new();
    self->call.pin = pinned ? &self->pin : NULL;
    expect_call(self);
    for (size_t i = 0; i < G_N_ELEMENTS(path); i++) {
        for (int to = KW_HBASE_CALL_IDLE; to <= KW_HBASE_CALL_ABANDONED; to++)
            g_assert_cmpint(move_aborts(move_call, self, to), ==,
                            !has_pair(call_pairs, G_N_ELEMENTS(call_pairs), (int)self->call.state, to));
        move_call(self, (int)path[i]);
        expect_call(self);
    }
    scene_free(self);
}

KW_TEST(test_calls, "/hbase/move/calls")
{
    walk_calls(false);
    walk_calls(true);
}

/* A call that the queue has returned is in it no longer, but still QUEUED until it is sent. */
KW_TEST(test_popped, "/hbase/move/popped")
{
    scene *self = scene_new();
    move_call(self, KW_HBASE_CALL_QUEUED);
    g_assert_true(kw_fair_pop(self->pool.queue) == &self->call.queue_item);
    move_call(self, KW_HBASE_CALL_IN_FLIGHT);
    expect_call(self);
    move_call(self, KW_HBASE_CALL_IDLE);
    scene_free(self);
}
