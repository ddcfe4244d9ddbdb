/* A libuv loop with its own thread, and tasks that other threads post to it.
 *
 * A task posted from any thread runs on the loop's thread; tasks of one thread run in the order in which it
 * posted them. The task struct is a member of its owner's struct: posting allocates nothing. A timer belongs
 * to its loop and is used on the loop's thread only.
 */
#pragma once

#include "base/clock.h"
#include "base/fair.h"

#include <uv.h>

typedef struct kw_loop kw_loop;

typedef struct kw_task {
    struct kw_task *next; /* owned by the loop while posted */
    void (*run)(struct kw_task *task);
} kw_task;

/* A piece of work that keeps the loop busy for a while. Many pieces are spread over many iterations of the
 * loop, which handles events in between. A member of its owner's struct. */
typedef struct kw_work {
    kw_fair_item item; /* the owner sets account and call */
    void (*run)(struct kw_work *work);
} kw_work;

typedef struct kw_timer kw_timer;

kw_loop *kw_loop_new(void);

/* Runs the loop on the calling thread until kw_loop_stop. The loop belongs to that thread from then on. */
void kw_loop_run(kw_loop *loop);

/* Makes kw_loop_run return after the present callbacks. Any thread. */
void kw_loop_stop(kw_loop *loop);

/* The loop must not be running, and all its handles must be closing. Runs the posted tasks, the queued pieces
 * of work and the pending close callbacks. */
void kw_loop_free(kw_loop *loop);

/* The libuv loop, for modules that own handles on it. */
uv_loop_t *kw_loop_uv(kw_loop *loop);

/* Calls run(task) once on the loop's thread. When called on that thread, this function returns before the
 * task runs. Any thread. */
void kw_loop_post(kw_loop *loop, kw_task *task);

/* Calls run(work) in a later iteration of the loop, in the order of fair.h. A piece should take about a
 * millisecond. kw_loop_cancel_work cancels a piece that has not run yet. On the loop's thread. */
void kw_loop_work(kw_loop *loop, kw_work *work);
void kw_loop_cancel_work(kw_loop *loop, kw_work *work);
static inline bool
kw_work_waits(const kw_work *work)
{
    return work->item.fifo != NULL;
}

/* One-shot timer on the loop's thread. It can be started again and again. */
kw_timer *kw_timer_new(kw_loop *loop, void (*fired)(void *user), void *user);
void kw_timer_start_ms(kw_timer *timer, uint64_t delay_ms);
void kw_timer_stop(kw_timer *timer);
/* Stops the timer. Its memory is freed after the loop's next iteration. NULL is allowed. */
void kw_timer_free(kw_timer *timer);
