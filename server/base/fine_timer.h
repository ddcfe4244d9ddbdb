/* Timers of a loop with a resolution of a microsecond (the loop's own timers have only milliseconds). One
 * timerfd serves all of them. A timer is a member of its owner's struct; setting it allocates nothing but
 * space in the heap. Only on the loop's thread.
 */
#pragma once

#include "base/heap.h"
#include "base/loop.h"

typedef struct kw_fine_timers kw_fine_timers;

typedef struct kw_fine_timer {
    kw_heap_item item; /* at: monotonic nanoseconds. The owner zeroes it once */
    void (*ring)(void *user);
    void *user;
} kw_fine_timer;

kw_fine_timers *kw_fine_timers_new(kw_loop *loop);
/* Cancels all timers. The memory is freed after the loop's next iteration. */
void kw_fine_timers_free(kw_fine_timers *timers);

/* Calls ring once, at at_ns or later, never from inside this function. A timer that is set is moved. */
void kw_fine_timer_set(kw_fine_timers *timers, kw_fine_timer *timer, uint64_t at_ns, void (*ring)(void *user),
                       void *user);
/* Clears the timer. Does nothing if it is not set. */
void kw_fine_timer_cancel(kw_fine_timers *timers, kw_fine_timer *timer);
