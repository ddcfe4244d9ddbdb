/* Lanes: a thread, a loop, its listeners and sessions; and how they come to an end.
 *
 *   drain: ears closed -> sessions quiet, finished -> (time is up: sessions closed) -> handler's state closed
 *          -> every request ended -> this lane is done -> the last lane tells
 */
#include "net/net.h"

#include "base/log.h"
#include "net/lane.h"
#include "net/listener.h"
#include "net/session.h"

#include <glib.h>
#include <stdatomic.h>

#define SWEEP_MS_LEAST 20
#define SWEEP_MS_MOST 250
#define LOG_MAX 10

/* --- logging within reason -------------------------------------------------------------------- */

bool
kw_lane_may_log(kw_lane *lane, kw_log_limit *limit, uint64_t *ret_unlogged)
{
    uint64_t second = uv_now(kw_loop_uv(lane->loop)) / 1000;
    if (second != limit->second) {
        limit->second = second;
        limit->logged = 0;
    }
    if (limit->logged++ >= LOG_MAX) {
        limit->unlogged++;
        return false;
    }
    *ret_unlogged = limit->unlogged;
    limit->unlogged = 0;
    return true;
}

void
kw_lane_log_broken(kw_lane *lane, const char *peer, const char *reason)
{
    uint64_t unlogged;
    kw_counters_add(KW_FIGURE_connections_broken, 1);
    if (!kw_lane_may_log(lane, &lane->broken_logged, &unlogged))
        return;
    if (unlogged > 0)
        kw_log(KW_LOG_WARN, "net", "connections broken, not logged", "count=%" G_GUINT64_FORMAT, unlogged);
    kw_log(KW_LOG_WARN, "net", "connection broken", "peer=%s reason=\"%s\"", peer, reason);
}

/* --- turns and time --------------------------------------------------------------------------- */

static void
on_flush(uv_idle_t *idle)
{
    kw_lane *lane = idle->data;
    uv_idle_stop(idle);
    kw_session *session = lane->dirty;
    lane->dirty = NULL;
    while (session) {
        kw_session *next = session->next_dirty;
        session->dirty = false;
        kw_session_turn(session);
        session = next;
    }
}

void
kw_lane_wake(kw_lane *lane)
{
    uv_idle_start(&lane->flush, on_flush);
}

static void
on_sweep(uv_timer_t *timer)
{
    kw_lane *lane = timer->data;
    uint64_t now_ms = uv_now(timer->loop);
    atomic_store_explicit(&lane->swept_ns, kw_clock_mono_ns(), memory_order_relaxed);
    for (kw_session *session = lane->sessions; session; session = session->next)
        kw_session_check_time(session, now_ms);
    if (kw_budget_pressure(NULL) != KW_PRESSURE_NONE)
        kw_lane_start_relief(lane);
}

static void
on_relief(uv_timer_t *timer)
{
    kw_lane *lane = timer->data;
    uint64_t now_ms = uv_now(timer->loop);
    for (kw_session *session = lane->sessions; session; session = session->next)
        kw_session_relieve(session, now_ms);
    if (lane->paused == 0 && kw_budget_pressure(NULL) == KW_PRESSURE_NONE)
        uv_timer_stop(timer);
}

void
kw_lane_start_relief(kw_lane *lane)
{
    if (!lane->done && !uv_is_active((uv_handle_t *)&lane->relief))
        uv_timer_start(&lane->relief, on_relief, KW_LANE_RELIEF_MS, KW_LANE_RELIEF_MS);
}

static void
start_sweep(kw_lane *lane)
{
    const kw_net_limits *limits = &lane->limits;
    uint64_t least = MIN(limits->frame_ms, limits->handshake_ms);
    if (limits->idle_ms > 0)
        least = MIN(least, limits->idle_ms);
    uint64_t every = lane->draining ? SWEEP_MS_LEAST : CLAMP(least / 4, SWEEP_MS_LEAST, SWEEP_MS_MOST);
    uv_timer_start(&lane->sweep, on_sweep, every, every);
}

bool
kw_net_alive(const kw_net *net, uint64_t max_age_ms)
{
    uint64_t now_ns = kw_clock_mono_ns();
    for (unsigned i = 0; i < net->lanes_count; i++) {
        uint64_t swept_ns = atomic_load_explicit(&net->lanes[i].swept_ns, memory_order_relaxed);
        if (now_ns > swept_ns && now_ns - swept_ns > max_age_ms * 1000000)
            return false;
    }
    return true;
}

typedef struct limits_task {
    kw_task task;
    kw_lane *lane;
    kw_net_limits limits;
} limits_task;

static void
take_limits(kw_task *task)
{
    limits_task *given = (limits_task *)task;
    given->lane->limits = given->limits;
    if (!given->lane->draining)
        start_sweep(given->lane);
    g_free(given);
}

void
kw_net_set_limits(kw_net *net, kw_net_limits limits)
{
    for (unsigned i = 0; i < net->lanes_count; i++) {
        limits_task *given = g_new0(limits_task, 1);
        *given = (limits_task){.task.run = take_limits, .lane = &net->lanes[i], .limits = limits};
        kw_loop_post(net->lanes[i].loop, &given->task);
    }
}

/* --- birth ------------------------------------------------------------------------------------ */

static void
lane_init(kw_lane *lane, kw_net *net, unsigned index, kw_net_limits limits)
{
    lane->net = net;
    lane->limits = limits;
    lane->loop = kw_loop_new();
    lane->scratch = g_malloc(KW_LANE_SCRATCH);
    uv_loop_t *uv = kw_loop_uv(lane->loop);
    uv_idle_init(uv, &lane->flush);
    uv_timer_init(uv, &lane->sweep);
    uv_timer_init(uv, &lane->relief);
    uv_timer_init(uv, &lane->drain_timer);
    lane->flush.data = lane->sweep.data = lane->relief.data = lane->drain_timer.data = lane;
    lane->state = net->handler.loop_open(net->handler.user, lane->loop, index);
}

kw_net *
kw_net_new(unsigned loops, kw_net_limits limits, const kw_net_handler *handler)
{
    g_assert(loops >= 1);
    kw_net *net = g_new0(kw_net, 1);
    net->handler = *handler;
    net->peers = kw_peers_new();
    net->lanes = g_new0(kw_lane, loops);
    net->lanes_count = loops;
    for (unsigned i = 0; i < loops; i++)
        lane_init(&net->lanes[i], net, i, limits);
    return net;
}

static void
run_lane(void *user)
{
    kw_lane *lane = user;
    start_sweep(lane);
    kw_loop_run(lane->loop);
}

void
kw_net_start(kw_net *net)
{
    net->started = true;
    for (unsigned i = 0; i < net->lanes_count; i++) {
        char name[16];
        g_snprintf(name, sizeof name, "loop-%u", i);
        net->lanes[i].has_thread = true;
        atomic_store(&net->lanes[i].swept_ns, kw_clock_mono_ns());
        kw_thread_start(&net->lanes[i].thread, name, run_lane, &net->lanes[i]);
    }
}

/* --- the end ---------------------------------------------------------------------------------- */

static void
tell_drained(kw_task *task)
{
    kw_net *net = (kw_net *)((char *)task - offsetof(kw_net, tell_task));
    net->drained(net->drained_user);
}

static void
lane_done(kw_lane *lane)
{
    kw_net *net = lane->net;
    uv_close((uv_handle_t *)&lane->flush, NULL);
    uv_close((uv_handle_t *)&lane->sweep, NULL);
    uv_close((uv_handle_t *)&lane->relief, NULL);
    uv_close((uv_handle_t *)&lane->drain_timer, NULL);
    lane->done = true;
    if (atomic_fetch_sub(&net->lanes_left, 1) == 1)
        kw_loop_post(net->tell, &net->tell_task);
}

static void
on_state_closed(void *user)
{
    kw_lane *lane = user;
    lane->closed_state = true;
    kw_lane_settle(lane);
}

void
kw_lane_settle(kw_lane *lane)
{
    if (!lane->draining || lane->done || lane->open_ears > 0 || lane->open_sessions > 0)
        return;
    if (!lane->closing_state && (lane->requests == 0 || lane->hurried)) {
        lane->closing_state = true;
        lane->net->handler.loop_close(lane->state, on_state_closed, lane);
        return;
    }
    if (lane->closed_state && !lane->sessions)
        lane_done(lane);
}

static void
hurry(kw_lane *lane)
{
    if (!lane->draining || lane->hurried)
        return;
    lane->hurried = true;
    for (kw_session *session = lane->sessions; session; session = session->next)
        kw_session_close(session);
    kw_lane_settle(lane);
}

static void
on_drain_timer(uv_timer_t *timer)
{
    kw_lane *lane = timer->data;
    if (lane->open_sessions > 0 || lane->requests > 0)
        kw_log(KW_LOG_WARN, "net", "drain time is up", "connections=%zu calls=%zu", lane->open_sessions,
               lane->requests);
    hurry(lane);
}

static void
lane_hurry(kw_task *task)
{
    hurry((kw_lane *)((char *)task - offsetof(kw_lane, hurry_task)));
}

static void
lane_drain(kw_task *task)
{
    kw_lane *lane = (kw_lane *)((char *)task - offsetof(kw_lane, drain_task));
    lane->draining = true;
    kw_listener_close_all(lane);
    for (kw_session *session = lane->sessions; session; session = session->next)
        kw_session_drain(session);
    start_sweep(lane);
    uv_timer_start(&lane->drain_timer, on_drain_timer, lane->net->drain_ms, 0);
    kw_lane_settle(lane);
}

void
kw_net_drain(kw_net *net, uint64_t drain_ms, kw_loop *tell, void (*drained)(void *user), void *user)
{
    net->drain_ms = drain_ms;
    net->tell = tell;
    net->tell_task.run = tell_drained;
    net->drained = drained;
    net->drained_user = user;
    atomic_store(&net->lanes_left, net->lanes_count);
    for (unsigned i = 0; i < net->lanes_count; i++) {
        net->lanes[i].drain_task.run = lane_drain;
        kw_loop_post(net->lanes[i].loop, &net->lanes[i].drain_task);
    }
}

void
kw_net_hurry(kw_net *net)
{
    for (unsigned i = 0; i < net->lanes_count; i++) {
        net->lanes[i].hurry_task.run = lane_hurry;
        kw_loop_post(net->lanes[i].loop, &net->lanes[i].hurry_task);
    }
}

static void
lane_clear(kw_lane *lane)
{
    kw_loop_free(lane->loop);
    kw_frame_pool_clear(&lane->frames);
    while (lane->spare_requests) {
        kw_request *next = lane->spare_requests->next;
        g_free(lane->spare_requests);
        lane->spare_requests = next;
    }
    for (size_t i = 0; i < lane->spare_outputs_count; i++)
        kw_buffer_clear(&lane->spare_outputs[i]);
    kw_buffer_clear(&lane->plain);
    g_free(lane->scratch);
}

void
kw_net_free(kw_net *net)
{
    if (!net)
        return;
    for (unsigned i = 0; i < net->lanes_count; i++)
        if (net->lanes[i].has_thread) {
            kw_loop_stop(net->lanes[i].loop);
            kw_thread_join(&net->lanes[i].thread);
        }
    for (unsigned i = 0; i < net->lanes_count; i++)
        lane_clear(&net->lanes[i]);
    kw_peers_free(net->peers);
    g_free(net->lanes);
    g_free(net);
}
