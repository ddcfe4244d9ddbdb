#include "orders_time.h"

#include "base/clock.h"

#include <glib.h>

int64_t now_ms;

static int64_t
wall_ms(void)
{
    return INT64_C(1795000000000) + now_ms;
}

static uint64_t
mono_ns(void)
{
    return ((uint64_t)5 << 50) + (uint64_t)now_ms * 1000000;
}

static GPtrArray *timers;

kw_timer *__wrap_kw_timer_new(kw_loop *loop, void (*fired)(void *user), void *user);
void __wrap_kw_timer_start_ms(kw_timer *timer, uint64_t delay_ms);
void __wrap_kw_timer_stop(kw_timer *timer);
void __wrap_kw_timer_free(kw_timer *timer);

kw_timer *
__wrap_kw_timer_new(kw_loop *loop, void (*fired)(void *user), void *user)
{
    (void)loop;
    fake_timer *timer = g_new0(fake_timer, 1);
    *timer = (fake_timer){.fired = fired, .user = user};
    g_ptr_array_add(timers, timer);
    return (kw_timer *)timer;
}

void
__wrap_kw_timer_start_ms(kw_timer *timer, uint64_t delay_ms)
{
    (void)delay_ms;
    ((fake_timer *)timer)->armed = true;
}

void
__wrap_kw_timer_stop(kw_timer *timer)
{
    ((fake_timer *)timer)->armed = false;
}

void
__wrap_kw_timer_free(kw_timer *timer)
{
    if (timer)
        g_ptr_array_remove(timers, timer);
}

void
time_begin(void)
{
    timers = g_ptr_array_new_with_free_func(g_free);
    kw_clock_inject(wall_ms, mono_ns);
}

fake_timer *
time_find(const void *user)
{
    for (guint i = 0; user && i < timers->len; i++) {
        fake_timer *each = timers->pdata[i];
        if (each->armed && each->user == user)
            return each;
    }
    return NULL;
}

void
time_fire(fake_timer *timer)
{
    timer->armed = false;
    timer->fired(timer->user);
}
