/* See fine_timer.h. The timerfd is armed for the earliest timer of a heap, or for an earlier one that was
 * cancelled: an alarm for nothing costs less than to arm the timerfd at each cancellation. */
#include "base/fine_timer.h"

#include <glib.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define LEAST_NS 1000 /* 0 would disarm it */

struct kw_fine_timers {
    uv_poll_t poll;
    int fd;
    uint64_t armed_ns; /* UINT64_MAX: not armed */
    kw_heap heap;
};

static void
arm(kw_fine_timers *timers)
{
    const kw_heap_item *first = kw_heap_first(&timers->heap);
    if (!first || first->at >= timers->armed_ns)
        return;
    uint64_t now_ns = kw_clock_mono_ns();
    uint64_t delay_ns = MAX(first->at > now_ns ? first->at - now_ns : 0, LEAST_NS);
    struct itimerspec when = {
        .it_value = {.tv_sec = (time_t)(delay_ns / 1000000000), .tv_nsec = (long)(delay_ns % 1000000000)}};
    timers->armed_ns = first->at;
    timerfd_settime(timers->fd, 0, &when, NULL);
}

static void
on_time(uv_poll_t *handle, int status, int events)
{
    kw_fine_timers *timers = handle->data;
    uint64_t times, now_ns = kw_clock_mono_ns();
    (void)status;
    (void)events;
    if (read(timers->fd, &times, sizeof times) < 0)
        times = 0; /* the timer was armed again since it fired */
    timers->armed_ns = UINT64_MAX;
    for (kw_heap_item *first; (first = kw_heap_first(&timers->heap)) && first->at <= now_ns;) {
        kw_fine_timer *due = (kw_fine_timer *)first;
        kw_heap_remove(&timers->heap, first);
        due->ring(due->user);
    }
    arm(timers);
}

kw_fine_timers *
kw_fine_timers_new(kw_loop *loop)
{
    kw_fine_timers *timers = g_new0(kw_fine_timers, 1);
    timers->fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    g_assert(timers->fd >= 0);
    timers->armed_ns = UINT64_MAX;
    uv_poll_init(kw_loop_uv(loop), &timers->poll, timers->fd);
    timers->poll.data = timers;
    uv_poll_start(&timers->poll, UV_READABLE, on_time);
    uv_unref((uv_handle_t *)&timers->poll);
    return timers;
}

static void
closed(uv_handle_t *handle)
{
    kw_fine_timers *timers = handle->data;
    close(timers->fd);
    g_free(timers);
}

void
kw_fine_timers_free(kw_fine_timers *timers)
{
    kw_heap_clear(&timers->heap);
    uv_close((uv_handle_t *)&timers->poll, closed);
}

void
kw_fine_timer_set(kw_fine_timers *timers, kw_fine_timer *timer, uint64_t at_ns, void (*ring)(void *user),
                  void *user)
{
    kw_heap_remove(&timers->heap, &timer->item);
    timer->ring = ring;
    timer->user = user;
    kw_heap_add(&timers->heap, &timer->item, at_ns);
    arm(timers);
}

void
kw_fine_timer_cancel(kw_fine_timers *timers, kw_fine_timer *timer)
{
    kw_heap_remove(&timers->heap, &timer->item);
}
