/* Timers call back in the order of their times, never early, and not when they were cancelled. */
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
} play;

static void
ring(void *user)
{
    bell *of = user;
    g_assert_false(of->rang || of->cancelled);
    g_assert_cmpuint(kw_clock_mono_ns(), >=, of->at_ns);
    g_assert_cmpuint(of->at_ns, >=, play.last_ns);
    play.last_ns = of->at_ns;
    of->rang = true;
    if (--play.left == 0)
        kw_loop_stop(play.loop);
}

static void
close_all(void)
{
    kw_fine_timers_free(play.timers);
    kw_loop_free(play.loop);
}

static void
timers_call_back_in_order(void)
{
    play.loop = kw_loop_new();
    play.timers = kw_fine_timers_new(play.loop);
    uint64_t begin_ns = kw_clock_mono_ns() + 5000000;
    for (size_t i = 0; i < TIMERS; i++) {
        bell *of = &play.bells[i];
        of->at_ns = begin_ns + (uint64_t)g_test_rand_int_range(0, 20000000);
        kw_fine_timer_set(play.timers, &of->timer, of->at_ns, ring, of);
    }
    play.left = TIMERS;
    for (size_t i = 0; i < TIMERS; i += 3) {
        kw_fine_timer_cancel(play.timers, &play.bells[i].timer);
        play.bells[i].cancelled = true;
        play.left--;
    }
    kw_loop_run(play.loop);
    for (size_t i = 0; i < TIMERS; i++)
        g_assert_true(play.bells[i].rang != play.bells[i].cancelled);
    close_all();
}

static kw_fine_timer chained;
static int rings;

/* A timer can be set from inside the callback of another, or its own. */
static void
ring_again(void *user)
{
    (void)user;
    if (++rings == 5)
        kw_loop_stop(play.loop);
    else
        kw_fine_timer_set(play.timers, &chained, kw_clock_mono_ns() + 200000, ring_again, NULL);
}

static void
a_timer_can_be_set_again(void)
{
    play.loop = kw_loop_new();
    play.timers = kw_fine_timers_new(play.loop);
    kw_fine_timer_set(play.timers, &chained, 1, ring_again, NULL); /* long past: rings at once, but later */
    g_assert_cmpint(rings, ==, 0);
    kw_loop_run(play.loop);
    g_assert_cmpint(rings, ==, 5);
    close_all();
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/timer/order", timers_call_back_in_order);
    g_test_add_func("/timer/again", a_timer_can_be_set_again);
    return g_test_run();
}
