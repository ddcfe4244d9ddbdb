#include "base/alarm.h"

#include <glib.h>

#define NS_PER_MS UINT64_C(1000000)

struct kw_alarms {
    kw_timer *timer;
    kw_deadline wakes_at; /* when the timer fires; KW_DEADLINE_NONE: it does not run */
    void (*rang)(kw_alarm *alarm);
    kw_alarm **heap; /* the earliest first; heap[i] is not later than heap[2 * i + 1] and heap[2 * i + 2] */
    size_t count, room;
};

static void
put(kw_alarms *alarms, size_t index, kw_alarm *alarm)
{
    alarms->heap[index] = alarm;
    alarm->place = index + 1;
}

static void
move_up(kw_alarms *alarms, size_t index, kw_alarm *alarm)
{
    while (index > 0 && alarms->heap[(index - 1) / 2]->at > alarm->at) {
        put(alarms, index, alarms->heap[(index - 1) / 2]);
        index = (index - 1) / 2;
    }
    put(alarms, index, alarm);
}

static void
move_down(kw_alarms *alarms, size_t index, kw_alarm *alarm)
{
    for (size_t child; (child = 2 * index + 1) < alarms->count; index = child) {
        if (child + 1 < alarms->count && alarms->heap[child + 1]->at < alarms->heap[child]->at)
            child++;
        if (alarms->heap[child]->at >= alarm->at)
            break;
        put(alarms, index, alarms->heap[child]);
    }
    put(alarms, index, alarm);
}

/* Sees to it that the timer fires for the earliest. */
static void
watch(kw_alarms *alarms)
{
    if (alarms->count == 0 || alarms->heap[0]->at >= alarms->wakes_at)
        return;
    uint64_t now_ns = kw_clock_mono_ns(), at = alarms->heap[0]->at;
    alarms->wakes_at = at;
    kw_timer_start_ms(alarms->timer, at > now_ns ? (at - now_ns + NS_PER_MS - 1) / NS_PER_MS : 0);
}

static void
ring_until(kw_alarms *alarms, uint64_t time_ns)
{
    while (alarms->count > 0 && alarms->heap[0]->at <= time_ns) {
        kw_alarm *alarm = alarms->heap[0];
        kw_alarms_clear(alarms, alarm);
        alarms->rang(alarm);
    }
}

static void
fired(void *user)
{
    kw_alarms *alarms = user;
    alarms->wakes_at = KW_DEADLINE_NONE;
    ring_until(alarms, kw_clock_mono_ns());
    watch(alarms);
}

void
kw_alarms_ring_all(kw_alarms *alarms)
{
    ring_until(alarms, UINT64_MAX);
}

kw_alarms *
kw_alarms_new(kw_loop *loop, void (*rang)(kw_alarm *alarm))
{
    kw_alarms *alarms = g_new0(kw_alarms, 1);
    alarms->timer = kw_timer_new(loop, fired, alarms);
    alarms->wakes_at = KW_DEADLINE_NONE;
    alarms->rang = rang;
    return alarms;
}

void
kw_alarms_free(kw_alarms *alarms)
{
    if (!alarms)
        return;
    g_assert(alarms->count == 0);
    kw_timer_free(alarms->timer);
    g_free(alarms->heap);
    g_free(alarms);
}

void
kw_alarms_clear(kw_alarms *alarms, kw_alarm *alarm)
{
    if (alarm->place == 0)
        return;
    size_t index = alarm->place - 1;
    kw_alarm *last = alarms->heap[--alarms->count];
    alarm->place = 0;
    if (last == alarm)
        return;
    if (index > 0 && alarms->heap[(index - 1) / 2]->at > last->at)
        move_up(alarms, index, last);
    else
        move_down(alarms, index, last);
}

void
kw_alarms_set(kw_alarms *alarms, kw_alarm *alarm, kw_deadline at)
{
    kw_alarms_clear(alarms, alarm);
    if (at == KW_DEADLINE_NONE)
        return;
    if (alarms->count == alarms->room) {
        alarms->room = alarms->room ? 2 * alarms->room : 64;
        alarms->heap = g_renew(kw_alarm *, alarms->heap, alarms->room);
    }
    alarm->at = at;
    move_up(alarms, alarms->count++, alarm);
    watch(alarms);
}
