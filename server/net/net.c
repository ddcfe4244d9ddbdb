/* Workers: each is a thread with a loop, its listeners and sessions. Starts them, drains them and stops them.
 *
 *   drain: close listening sockets -> finish quiet sessions -> (after drain_ms: the handler answers all calls,
 *          and the sessions finish -> after KW_NET_LAST_REPLIES_MS: close all sessions)
 *          -> close the handler's state, which ends every request -> this worker is done
 *          -> the last worker calls drained
 */
#include "net/net.h"

#include "base/container.h"
#include "base/log.h"
#include "base/stall.h"
#include "net/listener.h"
#include "net/relief.h"
#include "net/session.h"
#include "net/unix_socket.h"
#include "net/worker.h"

#include <glib.h>
#include <stdatomic.h>

#define SWEEP_MS_LEAST 20
#define SWEEP_MS_MOST 250

void
kw_net_worker_log_broken(kw_net_worker *worker, const char *peer, const char *reason)
{
    uint64_t unlogged;
    kw_metrics_add(KW_METRIC_connections_broken, 1);
    if (!kw_log_limit_allows(&worker->broken_logged, KW_NET_WORKER_LOG_MAX, &unlogged))
        return;
    if (unlogged > 0)
        kw_log(KW_LOG_WARN, "net", "connections broken, not logged", KW_LOG_FACT("count", unlogged));
    kw_log(KW_LOG_WARN, "net", "connection broken", KW_LOG_FACT("peer", peer), KW_LOG_FACT("reason", reason));
}

/* --- loop iterations and timers ------------------------------------------------------------------ */

static void
on_flush(uv_idle_t *idle)
{
    kw_net_worker *worker = idle->data;
    uv_idle_stop(idle);
    kw_session *session = worker->dirty;
    worker->dirty = NULL;
    while (session) {
        kw_session *next = session->next_dirty;
        session->dirty = false;
        kw_stall_step();
        kw_session_update(session);
        session = next;
    }
}

void
kw_net_worker_wake(kw_net_worker *worker)
{
    uv_idle_start(&worker->flush, on_flush);
}

static void
on_sweep(uv_timer_t *timer)
{
    kw_net_worker *worker = timer->data;
    uint64_t now_ms = uv_now(timer->loop);
    atomic_store_explicit(&worker->swept_ns, kw_clock_mono_ns(), memory_order_relaxed);
    for (kw_session *session = worker->sessions; session; session = session->next)
        kw_session_check_time(session, now_ms);
    kw_relief_configure(worker);
    if (kw_relief_is_needed(worker))
        kw_net_worker_start_relief(worker);
}

static void
on_relief(uv_timer_t *timer)
{
    kw_net_worker *worker = timer->data;
    kw_relief_run(worker, uv_now(timer->loop));
    if (!kw_relief_is_needed(worker))
        uv_timer_stop(timer);
}

void
kw_net_worker_start_relief(kw_net_worker *worker)
{
    if (!worker->done && !uv_is_active((uv_handle_t *)&worker->relief))
        uv_timer_start(&worker->relief, on_relief, KW_NET_WORKER_RELIEF_MS, KW_NET_WORKER_RELIEF_MS);
}

static void
start_sweep(kw_net_worker *worker)
{
    const kw_net_limits *limits = &worker->limits;
    uint64_t least = limits->idle_ms > 0 ? MIN(limits->frame_ms, limits->idle_ms) : limits->frame_ms;
    uint64_t every = worker->draining ? SWEEP_MS_LEAST : CLAMP(least / 4, SWEEP_MS_LEAST, SWEEP_MS_MOST);
    uv_timer_start(&worker->sweep, on_sweep, every, every);
}

bool
kw_net_alive(const kw_net *net, uint64_t max_age_ms)
{
    uint64_t now_ns = kw_clock_mono_ns();
    for (unsigned i = 0; i < net->workers_count; i++) {
        uint64_t swept_ns = atomic_load_explicit(&net->workers[i].swept_ns, memory_order_relaxed);
        if (now_ns > swept_ns && now_ns - swept_ns > max_age_ms * 1000000)
            return false;
    }
    return true;
}

typedef struct limits_task {
    kw_task task;
    kw_net_worker *worker;
    kw_net_limits limits;
} limits_task;

static void
apply_limits(kw_task *task)
{
    limits_task *given = (limits_task *)task;
    given->worker->limits = given->limits;
    if (!given->worker->draining)
        start_sweep(given->worker);
    g_free(given);
}

void
kw_net_set_limits(kw_net *net, kw_net_limits limits)
{
    for (unsigned i = 0; i < net->workers_count; i++) {
        limits_task *given = g_new0(limits_task, 1);
        *given = (limits_task){.task.run = apply_limits, .worker = &net->workers[i], .limits = limits};
        kw_loop_post(net->workers[i].loop, &given->task);
    }
}

/* --- creation and start -------------------------------------------------------------------------- */

static void
worker_init(kw_net_worker *worker, kw_net *net, unsigned index, kw_net_limits limits)
{
    worker->net = net;
    worker->limits = limits;
    worker->loop = kw_loop_new();
    worker->scratch = g_malloc(KW_NET_WORKER_SCRATCH);
    kw_relief_configure(worker);
    uv_loop_t *uv = kw_loop_uv(worker->loop);
    uv_idle_init(uv, &worker->flush);
    uv_timer_init(uv, &worker->sweep);
    uv_timer_init(uv, &worker->relief);
    uv_timer_init(uv, &worker->drain_timer);
    worker->flush.data = worker->sweep.data = worker->relief.data = worker->drain_timer.data = worker;
    worker->state = net->handler.loop_open(net->handler.user, worker->loop, index);
}

kw_net *
kw_net_new(unsigned loops, kw_net_limits limits, const kw_net_handler *handler)
{
    g_assert(loops >= 1);
    kw_net *net = g_new0(kw_net, 1);
    net->handler = *handler;
    net->peers = kw_peers_new();
    net->unix_sockets = g_array_new(FALSE, FALSE, sizeof(kw_unix_socket));
    net->workers = g_new0(kw_net_worker, loops);
    net->workers_count = loops;
    for (unsigned i = 0; i < loops; i++)
        worker_init(&net->workers[i], net, i, limits);
    return net;
}

static void
run_worker(void *user)
{
    kw_net_worker *worker = user;
    start_sweep(worker);
    kw_loop_run(worker->loop);
}

void
kw_net_start(kw_net *net)
{
    g_assert(!net->started);
    net->started = true;
    for (unsigned i = 0; i < net->workers_count; i++) {
        char name[16];
        g_snprintf(name, sizeof name, "loop-%u", i);
        net->workers[i].has_thread = true;
        atomic_store(&net->workers[i].swept_ns, kw_clock_mono_ns());
        kw_thread_start(&net->workers[i].thread, name, run_worker, &net->workers[i]);
    }
}

/* --- draining ------------------------------------------------------------------------------------ */

static void
call_drained(kw_task *task)
{
    kw_net *net = KW_CONTAINER(task, kw_net, drained_task);
    net->drained(net->drained_user);
}

static void
worker_done(kw_net_worker *worker)
{
    kw_net *net = worker->net;
    uv_close((uv_handle_t *)&worker->flush, NULL);
    uv_close((uv_handle_t *)&worker->sweep, NULL);
    uv_close((uv_handle_t *)&worker->relief, NULL);
    uv_close((uv_handle_t *)&worker->drain_timer, NULL);
    worker->done = true;
    if (atomic_fetch_sub(&net->workers_left, 1) == 1)
        kw_loop_post(net->drained_loop, &net->drained_task);
}

static void
on_state_closed(void *user)
{
    kw_net_worker *worker = user;
    worker->closed_state = true;
    kw_net_worker_settle(worker);
}

void
kw_net_worker_settle(kw_net_worker *worker)
{
    if (!worker->draining || worker->done || worker->open_sockets > 0 || worker->open_sessions > 0)
        return;
    if (!worker->closing_state && (worker->requests == 0 || worker->closing_now)) {
        worker->closing_state = true;
        worker->net->handler.loop_close(worker->state, on_state_closed, worker);
        return;
    }
    if (worker->closed_state && !worker->sessions)
        worker_done(worker);
}

static void
close_sessions(kw_net_worker *worker)
{
    if (!worker->draining)
        return;
    worker->closing_now = true;
    for (kw_session *session = worker->sessions; session; session = session->next)
        kw_session_close(session);
    kw_net_worker_settle(worker);
}

static void
on_last_replies_timer(uv_timer_t *timer)
{
    close_sessions(timer->data);
}

/* The sessions close when their last replies are sent. */
static void
on_drain_timer(uv_timer_t *timer)
{
    kw_net_worker *worker = timer->data;
    const kw_net_handler *handler = &worker->net->handler;
    if (worker->open_sessions > 0 || worker->requests > 0)
        kw_log(KW_LOG_WARN, "net", "drain timeout passed", KW_LOG_FACT("connections", worker->open_sessions),
               KW_LOG_FACT("calls", worker->requests));
    for (kw_session *session = worker->sessions; session; session = session->next)
        kw_session_finish(session);
    if (handler->answer_all && !worker->closing_state)
        handler->answer_all(worker->state);
    worker->closing_now = true;
    uv_timer_start(timer, on_last_replies_timer, KW_NET_LAST_REPLIES_MS, 0);
    kw_net_worker_settle(worker);
}

static void
worker_close_sessions(kw_task *task)
{
    close_sessions(KW_CONTAINER(task, kw_net_worker, close_task));
}

static void
worker_drain(kw_task *task)
{
    kw_net_worker *worker = KW_CONTAINER(task, kw_net_worker, drain_task);
    worker->draining = true;
    kw_listener_close_all(worker);
    for (kw_session *session = worker->sessions; session; session = session->next)
        kw_session_drain(session);
    start_sweep(worker);
    uv_timer_start(&worker->drain_timer, on_drain_timer, worker->net->drain_ms, 0);
    kw_net_worker_settle(worker);
}

void
kw_net_drain(kw_net *net, uint64_t drain_ms, kw_loop *drained_loop, void (*drained)(void *user), void *user)
{
    g_assert(net->started && drained && drained_loop);
    net->drain_ms = drain_ms;
    net->drained_loop = drained_loop;
    net->drained_task.run = call_drained;
    net->drained = drained;
    net->drained_user = user;
    atomic_store(&net->workers_left, net->workers_count);
    for (unsigned i = 0; i < net->workers_count; i++) {
        net->workers[i].drain_task.run = worker_drain;
        kw_loop_post(net->workers[i].loop, &net->workers[i].drain_task);
    }
}

void
kw_net_close_now(kw_net *net)
{
    if (net->hurried) /* the tasks are posted already, and a task cannot be posted twice */
        return;
    net->hurried = true;
    for (unsigned i = 0; i < net->workers_count; i++) {
        net->workers[i].close_task.run = worker_close_sessions;
        kw_loop_post(net->workers[i].loop, &net->workers[i].close_task);
    }
}

static void
worker_clear(kw_net_worker *worker)
{
    g_assert(worker->open_sessions == 0 && worker->requests == 0 && !worker->sessions);
    kw_loop_free(worker->loop);
    kw_frame_pool_clear(&worker->frames);
    while (worker->spare_requests) {
        kw_request *next = worker->spare_requests->next;
        g_free(worker->spare_requests);
        worker->spare_requests = next;
    }
    for (size_t i = 0; i < worker->spare_outputs_count; i++)
        kw_buffer_clear(&worker->spare_outputs[i]);
    kw_buffer_clear(&worker->plain);
    g_free(worker->scratch);
}

void
kw_net_free(kw_net *net)
{
    if (!net)
        return;
    for (unsigned i = 0; i < net->workers_count; i++)
        if (net->workers[i].has_thread) {
            kw_loop_stop(net->workers[i].loop);
            kw_thread_join(&net->workers[i].thread);
        }
    for (unsigned i = 0; i < net->workers_count; i++)
        worker_clear(&net->workers[i]);
    kw_peers_free(net->peers);
    for (guint i = 0; i < net->unix_sockets->len; i++)
        kw_unix_socket_remove(&g_array_index(net->unix_sockets, kw_unix_socket, i));
    g_array_free(net->unix_sockets, TRUE);
    g_free(net->workers);
    g_free(net);
}
