/* The pace of a change follows the latencies of callers. The clock and the latencies are made up. */
#include "change/pace.h"

#include <glib.h>

#define MS UINT64_C(1000000)

typedef struct scene {
    kw_change_pace pace;
    kw_histogram latency;
    uint64_t now_ns;
    unsigned rests; /* how many began */
} scene;

/* One window of the length `ms` in which `calls` calls took `us` each, in 10 steps; the last answer is
 * returned. */
static uint64_t
pass(scene *self, uint64_t ms, unsigned calls, uint64_t us)
{
    uint64_t next_ns = 0;
    for (unsigned step = 0; step < 10; step++) {
        for (unsigned i = 0; i < calls / 10; i++)
            kw_histogram_add_us(&self->latency, us);
        self->now_ns += ms * MS / 10;
        bool rested = self->pace.resting;
        next_ns = kw_change_pace_next(&self->pace, &self->latency, 0, self->now_ns);
        self->rests += self->pace.resting && !rested;
    }
    return next_ns;
}

static scene
scene_new(void)
{
    scene self = {.now_ns = 1000 * MS};
    kw_change_pace_init(&self.pace, 16);
    g_assert_cmpuint(kw_change_pace_next(&self.pace, &self.latency, 0, self.now_ns), ==, 0);
    return self;
}

/* After the first window with calls there is a rest, which measures what callers see without the work. */
static scene
scene_with_rest(uint64_t us)
{
    scene self = scene_new();
    uint64_t next_ns = pass(&self, 500, 100, us);
    g_assert_true(self.pace.resting);
    g_assert_cmpuint(next_ns, ==, self.now_ns + 250 * MS);
    pass(&self, 250, 100, us);
    g_assert_false(self.pace.resting);
    g_assert_cmpuint(self.pace.quiet_us, >=, us);
    return self;
}

KW_TEST(test_without_callers, "/change/pace/without callers")
{
    scene self = scene_new();
    for (unsigned window = 0; window < 50; window++) {
        g_assert_cmpuint(pass(&self, 500, 10, 900000), ==, 0);
        g_assert_false(self.pace.resting);
    }
}

KW_TEST(test_slow_callers, "/change/pace/slow callers")
{
    scene self = scene_with_rest(1000);
    uint64_t before_ns = 0;
    for (unsigned window = 0; window < 10; window++) {
        uint64_t next_ns = pass(&self, 500, 100, 50000);
        g_assert_cmpuint(next_ns, >, self.now_ns);
        g_assert_cmpuint(next_ns - self.now_ns, >, before_ns);
        before_ns = next_ns - self.now_ns;
    }
    for (unsigned window = 0; window < 4; window++)
        pass(&self, 500, 100, 50000);
    g_assert_cmpuint(self.pace.pause_ns, ==, 1000 * MS);
    for (unsigned window = 0; window < 12; window++)
        pass(&self, 500, 100, 1000);
    g_assert_cmpuint(self.pace.pause_ns, ==, 0);
}

/* Latencies that are not much higher than without the work change nothing. */
KW_TEST(test_fast_callers, "/change/pace/fast callers")
{
    scene self = scene_with_rest(1000);
    for (unsigned window = 0; window < 14; window++)
        g_assert_cmpuint(pass(&self, 500, 100, 6000), ==, 0);
}

/* Slices take a sixth of the time while callers use the gateway, and all of it otherwise. */
KW_TEST(test_pauses_for_callers, "/change/pace/pauses for callers")
{
    scene self = scene_with_rest(1000);
    g_assert_cmpuint(kw_change_pace_next(&self.pace, &self.latency, 10 * MS, self.now_ns), ==,
                     self.now_ns + 50 * MS);
    g_assert_cmpuint(kw_change_pace_next(&self.pace, &self.latency, 5000 * MS, self.now_ns), ==,
                     self.now_ns + 1000 * MS);
    pass(&self, 500, 0, 0);
    g_assert_cmpuint(kw_change_pace_next(&self.pace, &self.latency, 10 * MS, self.now_ns), ==, 0);
    pass(&self, 500, 10, 1000);
    g_assert_cmpuint(kw_change_pace_next(&self.pace, &self.latency, 10 * MS, self.now_ns), ==,
                     self.now_ns + 50 * MS);
}

/* A change with its own share pauses for callers by this share only, and does not measure their latencies in
 * rests. */
KW_TEST(test_share, "/change/pace/share")
{
    scene self = scene_with_rest(1000);
    unsigned rests = self.rests;
    g_assert_cmpuint(kw_change_pace_pause_of_share(&self.pace, 100, 10 * MS), ==, 0);
    g_assert_cmpuint(kw_change_pace_pause_of_share(&self.pace, 50, 10 * MS), ==, 10 * MS);
    g_assert_cmpuint(kw_change_pace_pause_of_share(&self.pace, 25, 10 * MS), ==, 30 * MS);
    g_assert_cmpuint(kw_change_pace_pause_of_share(&self.pace, 1, 10 * MS), ==, 990 * MS);
    for (unsigned window = 0; window < 40; window++) {
        for (unsigned i = 0; i < 100; i++)
            kw_histogram_add_us(&self.latency, 50000);
        self.now_ns += 600 * MS;
        kw_change_pace_note(&self.pace, &self.latency, self.now_ns);
        g_assert_false(self.pace.resting);
        g_assert_cmpuint(kw_change_pace_pause_of_share(&self.pace, 100, 500 * MS), ==, 0);
    }
    g_assert_cmpuint(self.rests, ==, rests);
    self.now_ns += 600 * MS; /* a window without callers */
    kw_change_pace_note(&self.pace, &self.latency, self.now_ns);
    g_assert_cmpuint(kw_change_pace_pause_of_share(&self.pace, 1, 10 * MS), ==, 0);
    self.pace.others_have_callers = true;
    g_assert_cmpuint(kw_change_pace_pause_of_share(&self.pace, 1, 10 * MS), ==, 990 * MS);
}

/* The default on two cores: a slice of 500 rows, then a second of pause. */
KW_TEST(test_guess, "/change/pace/guess")
{
    kw_change_pace pace;
    kw_change_pace_init(&pace, 2);
    g_assert_cmpuint(kw_change_pace_guess(&pace, 500, 50 * MS), ==, 476);
    g_assert_cmpuint(kw_change_pace_guess(&pace, 500, 1 * MS), ==, 500 * 1000 / 48);
    kw_change_pace_init(&pace, 64);
    g_assert_cmpuint(kw_change_pace_guess(&pace, 500, 10 * MS), ==, 500 * 1000 / 60);
}

/* Callers are noticed before the window ends. */
KW_TEST(test_callers_begin, "/change/pace/callers begin")
{
    scene self = scene_new();
    pass(&self, 500, 0, 0);
    for (unsigned i = 0; i < 4; i++)
        kw_histogram_add_us(&self.latency, 1000);
    g_assert_false(kw_change_pace_sees_callers(&self.pace, &self.latency));
    g_assert_cmpuint(kw_change_pace_next(&self.pace, &self.latency, 10 * MS, self.now_ns), ==, 0);
    kw_histogram_add_us(&self.latency, 1000);
    g_assert_true(kw_change_pace_sees_callers(&self.pace, &self.latency));
    g_assert_cmpuint(kw_change_pace_next(&self.pace, &self.latency, 10 * MS, self.now_ns), ==,
                     self.now_ns + 50 * MS);
    pass(&self, 500, 0, 0);
    pass(&self, 500, 0, 0);
    g_assert_cmpuint(kw_change_pace_next(&self.pace, &self.latency, 10 * MS, self.now_ns), ==, 0);
}

KW_TEST(test_callers_of_other_gateways, "/change/pace/callers of other gateways")
{
    scene self = scene_new();
    g_assert_false(kw_change_pace_has_any_callers(&self.pace));
    self.pace.others_have_callers = true;
    g_assert_true(kw_change_pace_has_any_callers(&self.pace));
    for (unsigned window = 0; window < 5; window++)
        pass(&self, 500, 0, 0);
    g_assert_cmpuint(kw_change_pace_next(&self.pace, &self.latency, 10 * MS, self.now_ns), ==,
                     self.now_ns + 50 * MS);
    self.pace.others_have_callers = false;
    g_assert_cmpuint(kw_change_pace_next(&self.pace, &self.latency, 10 * MS, self.now_ns), ==, 0);
}

KW_TEST(test_cores, "/change/pace/cores")
{
    static const unsigned pauses[][2] = {{1, 95}, {2, 47}, {3, 31}, {4, 23},
                                         {8, 11}, {16, 5}, {64, 5}, {0, 95}};
    for (size_t i = 0; i < G_N_ELEMENTS(pauses); i++) {
        kw_change_pace pace = {.has_callers = true};
        kw_change_pace_init(&pace, pauses[i][0]);
        g_assert_cmpuint(pace.pauses, ==, pauses[i][1]);
        g_assert_false(pace.has_callers);
    }
}

KW_TEST(test_rests_again, "/change/pace/rests again")
{
    scene self = scene_with_rest(1000);
    for (unsigned window = 0; window < 170; window++)
        pass(&self, 500, 100, 1000);
    g_assert_cmpuint(self.rests, >=, 9);
    g_assert_cmpuint(self.rests, <=, 12);
}
