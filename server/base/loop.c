/* The mailbox is a lock-free stack that the loop takes whole and turns around: one compare-and-swap
 * per post, one async wake-up per batch. */
#include "base/loop.h"

#include <glib.h>
#include <stdatomic.h>

struct kw_loop {
    uv_loop_t uv;
    uv_async_t wake;
    _Atomic(kw_task *) posted;
    _Atomic bool stopping;
};

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
run_posted(uv_async_t *wake)
{
    kw_loop *loop = wake->data;
    kw_task *queue = reversed(atomic_exchange(&loop->posted, NULL));
    while (queue) {
        kw_task *task = queue;
        queue = task->next;
        task->run(task);
    }
    if (atomic_load(&loop->stopping))
        uv_stop(&loop->uv);
}

kw_loop *
kw_loop_new(void)
{
    kw_loop *loop = g_new0(kw_loop, 1);
    int failed = uv_loop_init(&loop->uv) || uv_async_init(&loop->uv, &loop->wake, run_posted);
    g_assert(!failed);
    loop->wake.data = loop;
    loop->uv.data = loop;
    return loop;
}

void
kw_loop_run(kw_loop *loop)
{
    while (!atomic_load(&loop->stopping))
        uv_run(&loop->uv, UV_RUN_DEFAULT);
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
    atomic_store(&loop->stopping, false); /* the last turn below runs closes, it must not stop */
    run_posted(&loop->wake);
    uv_close((uv_handle_t *)&loop->wake, NULL);
    uv_run(&loop->uv, UV_RUN_DEFAULT);
    int busy = uv_loop_close(&loop->uv);
    g_assert(!busy);
    g_free(loop);
}

uv_loop_t *
kw_loop_uv(kw_loop *loop)
{
    return &loop->uv;
}

void
kw_loop_post(kw_loop *loop, kw_task *task)
{
    kw_task *head = atomic_load_explicit(&loop->posted, memory_order_relaxed);
    do {
        task->next = head;
    } while (!atomic_compare_exchange_weak(&loop->posted, &head, task));
    if (!head)
        uv_async_send(&loop->wake);
}

static void
timer_fired(uv_timer_t *handle)
{
    kw_timer *timer = handle->data;
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
