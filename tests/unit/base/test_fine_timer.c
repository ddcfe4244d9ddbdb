/* Timers call back in the order of their times, never early, and not at all if they were cancelled. */
#include "base/fine_timer.h"

#include <glib.h>

#define TIMERS 500

typedef struct bell {
    kw_fine_timer timer;
    uint64_t at_ns;
    bool rang, cancelled;
} bell;

static struct {
    kw_loop *loop;
    kw_fine_timers *timers;
    bell bells[TIMERS];
    size_t left;
    uint64_t last_ns;
} fixture;

static void
ring(void *user)
{
    bell *of = user;
    g_assert_false(of->rang || of->cancelled);
    g_assert_cmpuint(kw_clock_mono_ns(), >=, of->at_ns);
    g_assert_cmpuint(of->at_ns, >=, fixture.last_ns);
    fixture.last_ns = of->at_ns;
    of->rang = true;
    if (--fixture.left == 0)
        kw_loop_stop(fixture.loop);
}

static void
close_all(void)
{
    kw_fine_timers_free(fixture.timers);
    kw_loop_free(fixture.loop);
}

KW_TEST(timers_call_back_in_order, "/timer/order")
{
    fixture.loop = kw_loop_new();
    fixture.timers = kw_fine_timers_new(fixture.loop);
    uint64_t begin_ns = kw_clock_mono_ns() + 5000000;
    for (size_t i = 0; i < TIMERS; i++) {
        bell *of = &fixture.bells[i];
        of->at_ns = begin_ns + (uint64_t)g_test_rand_int_range(0, 20000000);
        kw_fine_timer_set(fixture.timers, &of->timer, of->at_ns, ring, of);
    }
    fixture.left = TIMERS;
    for (size_t i = 1; i < TIMERS; i += 3) { /* moved */
        bell *of = &fixture.bells[i];
        of->at_ns = begin_ns + (uint64_t)g_test_rand_int_range(0, 20000000);
        kw_fine_timer_set(fixture.timers, &of->timer, of->at_ns, ring, of);
    }
    for (size_t i = 0; i < TIMERS; i += 3) {
        kw_fine_timer_cancel(fixture.timers, &fixture.bells[i].timer);
        fixture.bells[i].cancelled = true;
        fixture.left--;
    }
    kw_loop_run(fixture.loop);
    for (size_t i = 0; i < TIMERS; i++)
        g_assert_true(fixture.bells[i].rang != fixture.bells[i].cancelled);
    close_all();
}

KW_TEST(an_earlier_timer_calls_back_first, "/timer/earlier")
{
    fixture.loop = kw_loop_new();
    fixture.timers = kw_fine_timers_new(fixture.loop);
    uint64_t now_ns = kw_clock_mono_ns();
    bell late = {.at_ns = now_ns + UINT64_C(3600000000000)}, early = {.at_ns = now_ns + 5000000};
    kw_fine_timer_set(fixture.timers, &late.timer, late.at_ns, ring, &late);
    kw_fine_timer_set(fixture.timers, &early.timer, early.at_ns, ring, &early);
    fixture.left = 1;
    fixture.last_ns = 0;
    kw_loop_run(fixture.loop);
    g_assert_true(early.rang && !late.rang);
    kw_fine_timer_cancel(fixture.timers, &late.timer);
    kw_fine_timer_cancel(fixture.timers, &late.timer);
    close_all();
}

static kw_fine_timer chained;
static int rings;

/* A timer can be set in the callback of another timer, or in its own. */
static void
ring_again(void *user)
{
    (void)user;
    if (++rings == 5)
        kw_loop_stop(fixture.loop);
    else
        kw_fine_timer_set(fixture.timers, &chained, kw_clock_mono_ns() + 200000, ring_again, NULL);
}

KW_TEST(a_timer_can_be_set_again, "/timer/again")
{
    fixture.loop = kw_loop_new();
    fixture.timers = kw_fine_timers_new(fixture.loop);
    kw_fine_timer_set(fixture.timers, &chained, 1, ring_again,
                      NULL); /* long past: calls back immediately, but not inside this call */
    g_assert_cmpint(rings, ==, 0);
    kw_loop_run(fixture.loop);
    g_assert_cmpint(rings, ==, 5);
    close_all();
}
