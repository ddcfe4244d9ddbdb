/* A libuv loop with a thread of its own, and the way into it from other threads.
 *
 * A task posted from any thread runs on the loop's thread, in the order posted by one thread. The
 * task struct is embedded in its owner's struct: posting allocates nothing. A timer belongs to its
 * loop and is used on the loop's thread only.
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

/* A piece of work that takes the loop for a while: many of them are spread over many iterations, between
 * which events are handled. Embedded in its owner's struct. */
typedef struct kw_work {
    kw_fair_item turn; /* account and call are set by the owner */
    void (*run)(struct kw_work *work);
} kw_work;

typedef struct kw_timer kw_timer;

kw_loop *kw_loop_new(void);

/* Runs until kw_loop_stop; on the thread that the loop belongs to from then on. */
void kw_loop_run(kw_loop *loop);

/* Ends kw_loop_run after the present callbacks; any thread. */
void kw_loop_stop(kw_loop *loop);

/* The loop must not be running; its handles must have been closed (remaining closes are run). */
void kw_loop_free(kw_loop *loop);

/* The libuv loop, for rooms that own handles on it. */
uv_loop_t *kw_loop_uv(kw_loop *loop);

/* Any thread: run(task) will be called once on the loop's thread, never before this returns when
 * called on that thread itself. */
void kw_loop_post(kw_loop *loop, kw_task *task);

/* On the loop's thread: run(work) will be called in a later iteration, in the order of fair.h. A piece should
 * take about a millisecond. It can be taken back until it runs. */
void kw_loop_work(kw_loop *loop, kw_work *work);
void kw_loop_take_back(kw_loop *loop, kw_work *work);
static inline bool
kw_work_waits(const kw_work *work)
{
    return work->turn.fifo != NULL;
}

/* One-shot timer on the loop's thread. Made once, started as often as needed. */
kw_timer *kw_timer_new(kw_loop *loop, void (*fired)(void *user), void *user);
void kw_timer_start_ms(kw_timer *timer, uint64_t delay_ms);
void kw_timer_stop(kw_timer *timer);
/* Stops it; the memory goes after the loop's next turn. NULL is fine. */
void kw_timer_free(kw_timer *timer);
