/* See fine_timer.h. A heap by time; the timerfd is armed for its first. */
#include "base/fine_timer.h"

#include <glib.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define LEAST_NS 1000 /* 0 would disarm it */

struct kw_fine_timers {
    uv_poll_t poll;
    int fd;
    uint64_t armed_ns; /* UINT64_MAX: not armed */
    GPtrArray *heap;   /* of kw_fine_timer; [0] is not used */
};

static kw_fine_timer *
at(const kw_fine_timers *timers, size_t place)
{
    return timers->heap->pdata[place];
}

static void
put_at(kw_fine_timers *timers, size_t place, kw_fine_timer *timer)
{
    timers->heap->pdata[place] = timer;
    timer->place = place;
}

static void
rise(kw_fine_timers *timers, kw_fine_timer *timer, size_t place)
{
    for (; place > 1 && at(timers, place / 2)->at_ns > timer->at_ns; place /= 2)
        put_at(timers, place, at(timers, place / 2));
    put_at(timers, place, timer);
}

static void
sink(kw_fine_timers *timers, kw_fine_timer *timer, size_t place)
{
    size_t count = timers->heap->len - 1;
    for (size_t next; (next = 2 * place) <= count; place = next) {
        if (next < count && at(timers, next + 1)->at_ns < at(timers, next)->at_ns)
            next++;
        if (at(timers, next)->at_ns >= timer->at_ns)
            break;
        put_at(timers, place, at(timers, next));
    }
    put_at(timers, place, timer);
}

static void
arm(kw_fine_timers *timers)
{
    uint64_t first_ns = timers->heap->len > 1 ? at(timers, 1)->at_ns : UINT64_MAX,
             now_ns = kw_clock_mono_ns();
    struct itimerspec when = {0};
    if (first_ns == timers->armed_ns)
        return;
    timers->armed_ns = first_ns;
    if (first_ns != UINT64_MAX) {
        uint64_t delay_ns = MAX(first_ns > now_ns ? first_ns - now_ns : 0, LEAST_NS);
        when.it_value.tv_sec = (time_t)(delay_ns / 1000000000);
        when.it_value.tv_nsec = (long)(delay_ns % 1000000000);
    }
    timerfd_settime(timers->fd, 0, &when, NULL);
}

static void
take_out(kw_fine_timers *timers, kw_fine_timer *timer)
{
    size_t place = timer->place;
    kw_fine_timer *last = g_ptr_array_steal_index_fast(timers->heap, timers->heap->len - 1);
    timer->place = 0;
    if (last == timer)
        return;
    if (place > 1 && at(timers, place / 2)->at_ns > last->at_ns)
        rise(timers, last, place);
    else
        sink(timers, last, place);
}

static void
on_time(uv_poll_t *handle, int status, int events)
{
    kw_fine_timers *timers = handle->data;
    uint64_t times, now_ns = kw_clock_mono_ns();
    (void)status;
    (void)events;
    if (read(timers->fd, &times, sizeof times) < 0)
        times = 0; /* it was armed again meanwhile */
    timers->armed_ns = UINT64_MAX;
    while (timers->heap->len > 1 && at(timers, 1)->at_ns <= now_ns) {
        kw_fine_timer *due = at(timers, 1);
        take_out(timers, due);
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
    timers->heap = g_ptr_array_new();
    g_ptr_array_add(timers->heap, NULL);
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
    g_ptr_array_unref(timers->heap);
    g_free(timers);
}

void
kw_fine_timers_free(kw_fine_timers *timers)
{
    for (size_t place = 1; place < timers->heap->len; place++)
        at(timers, place)->place = 0;
    g_ptr_array_set_size(timers->heap, 1);
    uv_close((uv_handle_t *)&timers->poll, closed);
}

void
kw_fine_timer_set(kw_fine_timers *timers, kw_fine_timer *timer, uint64_t at_ns, void (*ring)(void *user),
                  void *user)
{
    g_assert(timer->place == 0);
    *timer = (kw_fine_timer){.at_ns = at_ns, .ring = ring, .user = user};
    g_ptr_array_add(timers->heap, timer);
    rise(timers, timer, timers->heap->len - 1);
    arm(timers);
}

void
kw_fine_timer_cancel(kw_fine_timers *timers, kw_fine_timer *timer)
{
    if (timer->place)
        take_out(timers, timer);
}
