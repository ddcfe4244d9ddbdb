/* The estimate of how long a change takes, in a simulation with the pace of changes: the clock, the callers
 * and the slices are made up. */
#include "change/pace.h"
#include "coordinator/estimate.h"

#include <glib.h>

#define MS UINT64_C(1000000)
#define SLICE_ROWS 500

typedef struct scene {
    kw_change_pace pace;
    kw_histogram latency;
    kw_change_estimate estimate;
    GRand *chance;
    uint64_t now_ns, next_ns;
    unsigned calls_per_s; /* of callers */
    double calls_due;
    uint64_t share_percent;
    unsigned slices;
} scene;

static void
scene_init(scene *self, unsigned cores, unsigned calls_per_s)
{
    *self = (scene){.now_ns = 1000 * MS, .calls_per_s = calls_per_s, .chance = g_rand_new_with_seed(1)};
    kw_change_pace_init(&self->pace, cores);
    for (unsigned i = 0; i < 20; i++) { /* callers use the gateway before the change begins */
        for (unsigned call = 0; call < calls_per_s / 10; call++)
            kw_histogram_add_us(&self->latency, 2000);
        self->now_ns += 100 * MS;
        kw_change_pace_next(&self->pace, &self->latency, 0, self->now_ns);
    }
}

static void
pass_time(scene *self, uint64_t ns)
{
    for (self->calls_due += self->calls_per_s * (double)ns / 1e9; self->calls_due >= 1; self->calls_due--)
        kw_histogram_add_us(&self->latency, 2000);
    self->now_ns += ns;
}

/* One slice of 5 to 15 ms, times its weight, after the pause that the last one requires. */
static void
slice(scene *self, double progress, unsigned weight)
{
    uint64_t took_ns = (uint64_t)g_rand_int_range(self->chance, 5, 15) * weight * MS;
    if (self->next_ns > self->now_ns)
        pass_time(self, self->next_ns - self->now_ns);
    pass_time(self, took_ns);
    if (self->share_percent > 0) {
        kw_change_pace_note(&self->pace, &self->latency, self->now_ns);
        self->next_ns =
            self->now_ns + kw_change_pace_pause_of_share(&self->pace, self->share_percent, took_ns);
    } else {
        self->next_ns = kw_change_pace_next(&self->pace, &self->latency, took_ns, self->now_ns);
    }
    kw_change_estimate_note(&self->estimate, progress, weight, self->now_ns);
    self->slices++;
}

/* Runs tasks with these weights, of a change of so many rows. Returns the largest factor between an estimate
 * and what it really took from then on; estimates before the third slice and in the last tenth are not
 * counted. */
static double
worst_factor(scene *self, unsigned rows, const char *weights, uint64_t *ret_took_ns)
{
    g_autoptr(GArray) ends = g_array_new(FALSE, FALSE, sizeof(uint64_t));
    g_autoptr(GArray) lefts = g_array_new(FALSE, FALSE, sizeof(int64_t));
    uint64_t began_ns = self->now_ns;
    for (const char *at = weights; *at; at++) {
        unsigned after = 0, weight = (unsigned)(*at - '0');
        for (const char *later = at + 1; *later; later++)
            after += (unsigned)(*later - '0');
        for (unsigned done = 0; done < rows; done += SLICE_ROWS) {
            slice(self, MIN(1.0, (double)(done + SLICE_ROWS) / rows), weight);
            int64_t left_ms = kw_change_estimate_left_ms(&self->estimate, weight, after);
            g_array_append_val(ends, self->now_ns);
            g_array_append_val(lefts, left_ms);
        }
        kw_change_estimate_end_task(&self->estimate);
    }
    *ret_took_ns = self->now_ns - began_ns;
    double worst = 1;
    for (guint i = 2; i < lefts->len; i++) {
        double real_ms = (double)(self->now_ns - g_array_index(ends, uint64_t, i)) / MS;
        double left_ms = (double)g_array_index(lefts, int64_t, i);
        if (real_ms * 10 > (double)*ret_took_ns / MS)
            worst = MAX(worst, MAX(left_ms / real_ms, real_ms / MAX(left_ms, 1)));
    }
    g_rand_free(self->chance);
    return worst;
}

/* 7,145 rows beside 200 calls per second, in three tasks: about 43 s, most of which are pauses. */
KW_TEST(test_beside_callers, "/estimate/beside_callers")
{
    scene self;
    uint64_t took_ns;
    scene_init(&self, 2, 200);
    g_assert_cmpfloat(worst_factor(&self, 7145, "323", &took_ns), <, 2);
    g_assert_cmpuint(took_ns, >, 30000 * MS);
    g_assert_cmpuint(took_ns, <, 60000 * MS);
}

KW_TEST(test_other_rates, "/estimate/other_rates")
{
    static const unsigned cores[] = {2, 16}, calls[] = {0, 20, 200, 2000};
    static const uint64_t shares[] = {0, 1, 25, 100};
    for (size_t i = 0; i < 2 * 4 * 4; i++) {
        scene self;
        uint64_t took_ns;
        scene_init(&self, cores[i % 2], calls[i / 2 % 4]);
        self.share_percent = shares[i / 8];
        double worst = worst_factor(&self, 20000, "13", &took_ns);
        if (worst >= 2)
            g_error("%u cores, %u calls, share %d: factor %f", cores[i % 2], calls[i / 2 % 4],
                    (int)shares[i / 8], worst);
    }
}

/* When callers go away, the old pauses are soon forgotten. */
KW_TEST(test_callers_leave, "/estimate/callers_leave")
{
    scene self;
    scene_init(&self, 2, 200);
    for (unsigned done = 1; done <= 40; done++)
        slice(&self, done / 200.0, 3);
    self.calls_per_s = 0;
    for (unsigned done = 41; done <= 100; done++)
        slice(&self, done / 200.0, 3);
    int64_t left_ms = kw_change_estimate_left_ms(&self.estimate, 3, 0);
    g_assert_cmpint(left_ms, <, 100 * 60); /* 100 slices of 30 ms */
    g_assert_cmpint(left_ms, >, 100 * 15);
    g_rand_free(self.chance);
}

KW_TEST(test_unknown, "/estimate/unknown")
{
    kw_change_estimate estimate = {0};
    g_assert_cmpint(kw_change_estimate_left_ms(&estimate, 1, 2), ==, -1);
    kw_change_estimate_note(&estimate, 0.1, 1, 1000 * MS);
    g_assert_cmpint(kw_change_estimate_left_ms(&estimate, 1, 2), ==, -1); /* nobody knows when it began */
    kw_change_estimate_note(&estimate, 0.2, 1, 2000 * MS);
    g_assert_cmpint(kw_change_estimate_left_ms(&estimate, 1, 2), ==, 28000);
    kw_change_estimate_note(&estimate, 0, 1, 3000 * MS); /* it begins again */
    g_assert_cmpint(kw_change_estimate_left_ms(&estimate, 1, 0), ==, 10000);
    kw_change_estimate_end_task(&estimate);
    g_assert_cmpint(kw_change_estimate_left_ms(&estimate, 3, 1), ==, 40000);
    g_assert_cmpint(kw_change_estimate_left_ms(&estimate, 1, 0), ==, 10000); /* as long as the last task */
}
