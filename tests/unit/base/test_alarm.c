/* Alarms call back in the order of their times, never early, and not at all if they were cleared. */
#include "base/alarm.h"

#include "base/clock.h"
#include "base/units.h"
#include "support/seed.h"

#include <glib.h>

#define COUNT 2000

static kw_loop *loop;
static kw_alarms *alarms;
static kw_alarm all[COUNT];
static kw_deadline wanted[COUNT]; /* 0: must not call back */
static size_t left;
static kw_deadline last;

static void
on_alarm(kw_alarm *alarm)
{
    size_t index = (size_t)(alarm - all);
    g_assert_cmpuint(alarm->place, ==, 0);
    g_assert_cmpuint(wanted[index], ==, alarm->at);
    g_assert_cmpuint(kw_clock_mono_ns(), >=, alarm->at);
    g_assert_cmpuint(alarm->at, >=, last);
    last = alarm->at;
    wanted[index] = 0;
    if (--left == 0)
        kw_loop_stop(loop);
}

static void
begin(void (*ring)(kw_alarm *alarm))
{
    loop = kw_loop_new();
    alarms = kw_alarms_new(loop, ring);
    last = 0;
    left = 0;
}

static void
end(void)
{
    kw_alarms_free(alarms);
    kw_loop_free(loop);
}

KW_TEST(in_order, "/alarm/order")
{
    kw_random_inject(test_seed());
    begin(on_alarm);
    uint64_t now = kw_clock_mono_ns();
    for (size_t i = 0; i < COUNT; i++) {
        wanted[i] = now + kw_random_u64() % (200 * KW_NS_PER_MS);
        kw_alarms_set(alarms, &all[i], wanted[i]);
    }
    for (size_t i = 0; i < COUNT; i += 3) { /* some are moved, some are cleared */
        wanted[i] = i % 2 ? now + kw_random_u64() % (200 * KW_NS_PER_MS) : 0;
        kw_alarms_set(alarms, &all[i], wanted[i] ? wanted[i] : KW_DEADLINE_NONE);
    }
    for (size_t i = 0; i < COUNT; i++)
        left += wanted[i] != 0;
    kw_loop_run(loop);
    g_assert_cmpuint(left, ==, 0);
    end();
}

static size_t rung;

/* Sets itself again ten times, each time a millisecond later. */
static void
ring_again(kw_alarm *alarm)
{
    if (++rung < 10)
        kw_alarms_set(alarms, alarm, kw_clock_mono_ns() + KW_NS_PER_MS);
    else
        kw_loop_stop(loop);
}

KW_TEST(a_callback_can_set_its_alarm_again, "/alarm/again")
{
    begin(ring_again);
    kw_alarms_set(alarms, &all[0], kw_clock_mono_ns());
    kw_loop_run(loop);
    g_assert_cmpuint(rung, ==, 10);
    end();
}

KW_TEST(an_earlier_alarm_is_called_first, "/alarm/earlier")
{
    begin(on_alarm);
    uint64_t now = kw_clock_mono_ns();
    wanted[0] = now + 3600 * 1000 * KW_NS_PER_MS;
    wanted[1] = now + 5 * KW_NS_PER_MS;
    kw_alarms_set(alarms, &all[0], wanted[0]);
    kw_alarms_set(alarms, &all[1], wanted[1]);
    left = 1;
    kw_loop_run(loop);
    kw_alarms_clear(alarms, &all[0]);
    kw_alarms_clear(alarms, &all[0]);
    end();
}
