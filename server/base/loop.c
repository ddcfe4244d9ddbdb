/* Other threads push tasks to a lock-free stack, which the loop removes as a whole and reverses: one
 * compare-and-swap per post, one async wake-up per batch. Tasks that the loop's own thread posts wait in a
 * plain queue for the next iteration, which needs no system call. Pieces of work wait in a queue that is fair
 * to accounts. Each iteration runs pieces for WORK_NS, so that an event waits little longer than one piece
 * takes. */
#include "base/loop.h"

#include "base/container.h"
#include "base/stall.h"

#include <glib.h>
#include <stdatomic.h>

#define WORK_NS UINT64_C(500000)

struct kw_loop {
    uv_loop_t uv;
    uv_async_t wake;
    _Atomic(kw_task *) posted;
    _Atomic bool stopping;
    uv_idle_t own_idle; /* active while own tasks wait */
    kw_task *own_first, *own_last;
    uv_idle_t work_idle; /* active while work waits */
    uv_prepare_t before_poll;
    kw_fair *work;
};

/* The loop that this thread runs. */
static _Thread_local kw_loop *running;

struct kw_timer {
    uv_timer_t handle;
    void (*fired)(void *user);
    void *user;
};

static kw_task *
reversed(kw_task *stack)
{
    kw_task *queue = NULL;
    while (stack) {
        kw_task *next = stack->next;
        stack->next = queue;
        queue = stack;
        stack = next;
    }
    return queue;
}

static void
run_queue(kw_task *queue)
{
    while (queue) {
        kw_task *task = queue;
        queue = task->next;
        kw_stall_step();
        task->run(task);
    }
}

static void
run_own(uv_idle_t *own_idle)
{
    kw_loop *loop = own_idle->data;
    kw_task *queue = loop->own_first;
    loop->own_first = loop->own_last = NULL;
    uv_idle_stop(own_idle);
    run_queue(queue);
}

static void
run_work(uv_idle_t *work_idle)
{
    kw_loop *loop = work_idle->data;
    uint64_t until_ns = kw_clock_mono_ns() + WORK_NS;
    for (kw_fair_item *item; (item = kw_fair_pop(loop->work));) {
        kw_work *work = KW_CONTAINER(item, kw_work, item);
        kw_stall_step();
        kw_stall_set_call(item->call);
        work->run(work);
        if (kw_clock_mono_ns() >= until_ns)
            break;
    }
    if (kw_fair_count(loop->work) == 0)
        uv_idle_stop(work_idle);
}

/* What the callbacks of one iteration do is not part of a piece of the next one. */
static void
end_piece(uv_prepare_t *before_poll)
{
    (void)before_poll;
    kw_stall_step();
}

static void
run_posted(uv_async_t *wake)
{
    kw_loop *loop = wake->data;
    run_queue(reversed(atomic_exchange(&loop->posted, NULL)));
    if (atomic_load(&loop->stopping))
        uv_stop(&loop->uv);
}

kw_loop *
kw_loop_new(void)
{
    kw_loop *loop = g_new0(kw_loop, 1);
    int failed = uv_loop_init(&loop->uv) || uv_async_init(&loop->uv, &loop->wake, run_posted) ||
                 uv_idle_init(&loop->uv, &loop->own_idle) || uv_idle_init(&loop->uv, &loop->work_idle) ||
                 uv_prepare_init(&loop->uv, &loop->before_poll) ||
                 uv_prepare_start(&loop->before_poll, end_piece);
    g_assert(!failed);
    loop->work = kw_fair_new();
    loop->wake.data = loop->own_idle.data = loop->work_idle.data = loop;
    loop->uv.data = loop;
    return loop;
}

void
kw_loop_run(kw_loop *loop)
{
    running = loop;
    while (!atomic_load(&loop->stopping))
        uv_run(&loop->uv, UV_RUN_DEFAULT);
    running = NULL;
}

void
kw_loop_stop(kw_loop *loop)
{
    atomic_store(&loop->stopping, true);
    uv_async_send(&loop->wake);
}

void
kw_loop_free(kw_loop *loop)
{
    if (!loop)
        return;
    atomic_store(&loop->stopping, false); /* the uv_run below must run all close callbacks */
    run_own(&loop->own_idle);
    run_posted(&loop->wake);
    while (kw_fair_count(loop->work) > 0)
        run_work(&loop->work_idle);
    uv_close((uv_handle_t *)&loop->wake, NULL);
    uv_close((uv_handle_t *)&loop->own_idle, NULL);
    uv_close((uv_handle_t *)&loop->work_idle, NULL);
    uv_close((uv_handle_t *)&loop->before_poll, NULL);
    uv_run(&loop->uv, UV_RUN_DEFAULT);
    int busy = uv_loop_close(&loop->uv);
    g_assert(!busy);
    kw_fair_free(loop->work);
    g_free(loop);
}

uv_loop_t *
kw_loop_uv(kw_loop *loop)
{
    return &loop->uv;
}

static void
post_own(kw_loop *loop, kw_task *task)
{
    task->next = NULL;
    if (loop->own_first)
        loop->own_last->next = task;
    else
        loop->own_first = task;
    loop->own_last = task;
    uv_idle_start(&loop->own_idle, run_own);
}

void
kw_loop_post(kw_loop *loop, kw_task *task)
{
    if (loop == running) {
        post_own(loop, task);
        return;
    }
    kw_task *head = atomic_load_explicit(&loop->posted, memory_order_relaxed);
    do {
        task->next = head;
    } while (!atomic_compare_exchange_weak(&loop->posted, &head, task));
    if (!head)
        uv_async_send(&loop->wake);
}

void
kw_loop_work(kw_loop *loop, kw_work *work)
{
    kw_fair_push(loop->work, &work->item);
    uv_idle_start(&loop->work_idle, run_work);
}

void
kw_loop_cancel_work(kw_loop *loop, kw_work *work)
{
    kw_fair_remove(loop->work, &work->item);
    if (kw_fair_count(loop->work) == 0)
        uv_idle_stop(&loop->work_idle);
}

static void
timer_fired(uv_timer_t *handle)
{
    kw_timer *timer = handle->data;
    kw_stall_step();
    timer->fired(timer->user);
}

kw_timer *
kw_timer_new(kw_loop *loop, void (*fired)(void *user), void *user)
{
    kw_timer *timer = g_new0(kw_timer, 1);
    timer->fired = fired;
    timer->user = user;
    uv_timer_init(&loop->uv, &timer->handle);
    timer->handle.data = timer;
    return timer;
}

void
kw_timer_start_ms(kw_timer *timer, uint64_t delay_ms)
{
    uv_update_time(timer->handle.loop);
    uv_timer_start(&timer->handle, timer_fired, delay_ms, 0);
}

void
kw_timer_stop(kw_timer *timer)
{
    uv_timer_stop(&timer->handle);
}

static void
timer_closed(uv_handle_t *handle)
{
    g_free(handle->data);
}

void
kw_timer_free(kw_timer *timer)
{
    if (timer)
        uv_close((uv_handle_t *)&timer->handle, timer_closed);
}
