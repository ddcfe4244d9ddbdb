#include "base/alarm.h"
#include "base/units.h"

#include <glib.h>

struct kw_alarms {
    kw_timer *timer;
    kw_deadline wakes_at; /* when the timer fires; KW_DEADLINE_NONE: it is stopped */
    void (*on_alarm)(kw_alarm *alarm);
    kw_heap heap;
};

/* Makes the timer fire no later than the earliest alarm. */
static void
start_timer(kw_alarms *alarms)
{
    const kw_heap_item *first = kw_heap_first(&alarms->heap);
    if (!first || first->at >= alarms->wakes_at)
        return;
    uint64_t now_ns = kw_clock_mono_ns(), at = first->at;
    alarms->wakes_at = at;
    kw_timer_start_ms(alarms->timer, at > now_ns ? (at - now_ns + KW_NS_PER_MS - 1) / KW_NS_PER_MS : 0);
}

static void
on_timer(void *user)
{
    kw_alarms *alarms = user;
    uint64_t now_ns = kw_clock_mono_ns();
    alarms->wakes_at = KW_DEADLINE_NONE;
    for (kw_heap_item *first; (first = kw_heap_first(&alarms->heap)) && first->at <= now_ns;) {
        kw_heap_remove(&alarms->heap, first);
        alarms->on_alarm(first);
    }
    start_timer(alarms);
}

kw_alarms *
kw_alarms_new(kw_loop *loop, void (*on_alarm)(kw_alarm *alarm))
{
    kw_alarms *alarms = g_new0(kw_alarms, 1);
    alarms->timer = kw_timer_new(loop, on_timer, alarms);
    alarms->wakes_at = KW_DEADLINE_NONE;
    alarms->on_alarm = on_alarm;
    return alarms;
}

void
kw_alarms_free(kw_alarms *alarms)
{
    if (!alarms)
        return;
    g_assert(!kw_heap_first(&alarms->heap));
    kw_timer_free(alarms->timer);
    kw_heap_clear(&alarms->heap);
    g_free(alarms);
}

void
kw_alarms_clear(kw_alarms *alarms, kw_alarm *alarm)
{
    kw_heap_remove(&alarms->heap, alarm);
}

void
kw_alarms_set(kw_alarms *alarms, kw_alarm *alarm, kw_deadline at)
{
    kw_heap_remove(&alarms->heap, alarm);
    if (at == KW_DEADLINE_NONE)
        return;
    kw_heap_add(&alarms->heap, alarm, at);
    start_timer(alarms);
}
