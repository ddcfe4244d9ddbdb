/* The store's time as gateways know it (store/known_time.h): explored exhaustively, right with all safeguards
 * and wrong without any one of them; and examples. */
#include "base/units.h"
#include "clock_model.h"
#include "store/aim.h"
#include "store/known_time.h"
#include "support/slow_build.h"

#include <glib.h>
#include <stdlib.h>

#define STATES_MAX 400000000

static explored
search(const clock_model *model)
{
    explored found = clock_model_explore(model, STATES_MAX);
    g_test_message("%" G_GUINT64_FORMAT " states: %s", found.states, found.wrong ? found.wrong : "right");
    return found;
}

static void
is_right(clock_model model)
{
    model.ticks = (int)explore_bound((uint64_t)model.ticks - KW_SLOW_BUILD, (uint64_t)model.ticks + 2);
    explored found = search(&model);
    g_assert_true(found.complete);
    g_assert_null(found.wrong);
}

static void
is_wrong(clock_model model)
{
    explored found = search(&model);
    g_assert_nonnull(found.wrong);
    g_free(found.wrong);
}

static const clock_model jumps = {.ticks = 4, .heartbeats = 3, .jumps = 1, .max_jump = 3};
static const clock_model starts = {.ticks = 3, .heartbeats = 2, .jumps = 1, .max_jump = 3, .starters = 1};
static const clock_model far_back = {.fresh = 8, .ticks = 18, .heartbeats = 2, .jumps = 1, .max_jump = 6};

KW_TEST(test_jumps, "/order/clock/jumps")
{
    is_right(jumps);
    clock_model slow = jumps, farther = far_back;
    slow.slow = true;
    slow.heartbeats = 1;
    slow.ticks = 3;
    is_right(slow);
    farther.ticks = 11;
    is_right(farther);
}

KW_TEST(test_starts, "/order/clock/starts")
{
    is_right(starts);
}

KW_TEST(test_without_safeguards, "/order/clock/without-safeguards-is-wrong")
{
    clock_model never_expiring = jumps, trusting = jumps, back = far_back;
    never_expiring.never_expires = true;
    never_expiring.ticks = 6;
    is_wrong(never_expiring);
    trusting.trusts_contradiction = true;
    is_wrong(trusting);
    back.latest_goes_back = true;
    is_wrong(back);
}

KW_TEST(test_starts_without_safeguards, "/order/clock/starts-without-safeguards-are-wrong")
{
    clock_model trusting = starts, isolated = starts;
    trusting.serves_at_once = true;
    is_wrong(trusting);
    isolated.ignores_peers = true;
    isolated.max_jump = 6;
    isolated.ticks = 4;
    is_wrong(isolated);
}

/* --- by example ------------------------------------------------------------------------------- */

#define AHEAD_US INT64_C(5000300) /* the store's clock minus ours */

/* Records a heartbeat that the store served in the middle of its duration. */
static void
add_heartbeat(kw_known_time *known, int64_t sent_us, int64_t took_us)
{
    kw_heartbeat heartbeat = {.sent_ns = sent_us * 1000,
                              .answered_ns = (sent_us + took_us) * 1000,
                              .stamp_ms = (sent_us + took_us / 2 + AHEAD_US) / 1000};
    kw_known_time_add_heartbeat(known, &heartbeat, heartbeat.answered_ns);
}

/* A gateway that sends bursts of three aimed heartbeats. All times are in microseconds. */
typedef struct sender {
    GRand *random;
    kw_known_time known;
    kw_aim aim;
    int64_t now_us;
    int64_t usual_us;  /* duration of a heartbeat */
    double spread;     /* durations and moments of arrival vary by this share */
    int64_t drift_ppm; /* of the store's clock */
    int64_t ahead_us;  /* the store's clock minus ours at now_us 0 */
    unsigned aimed, hit;
    kw_heartbeat burst[3];
    kw_aimed aims[3];
} sender;

static sender
sender_new(int64_t usual_us, double spread, int64_t drift_ppm)
{
    sender self = {.random = g_rand_new_with_seed((guint32)usual_us),
                   .now_us = 1000000,
                   .usual_us = usual_us,
                   .spread = spread,
                   .drift_ppm = drift_ppm,
                   .ahead_us = AHEAD_US};
    kw_known_time_init(&self.known, KW_TIME_FRESH_NS);
    kw_aim_init(&self.aim);
    return self;
}

static double
varied(sender *self)
{
    return g_rand_double_range(self->random, 1 - self->spread - 1e-9, 1 + self->spread + 1e-9);
}

static int64_t
store_us(const sender *self, int64_t at_us)
{
    return at_us + self->ahead_us + at_us * self->drift_ppm / 1000000;
}

/* Sends a heartbeat when it is aimed, and waits for its answer. */
static kw_heartbeat
send_aimed(sender *self, kw_aim_side side, kw_aimed *ret_aimed)
{
    int64_t sent_us = (kw_aim_send_at(&self->aim, side, self->now_us * 1000, ret_aimed) + 999) / 1000;
    int64_t took_us = (int64_t)((double)self->usual_us * varied(self));
    int64_t arrived_us = sent_us + (int64_t)((double)took_us * varied(self) / 2);
    self->now_us = sent_us + took_us;
    return (kw_heartbeat){.sent_ns = sent_us * 1000,
                          .answered_ns = self->now_us * 1000,
                          .stamp_ms = store_us(self, arrived_us) / 1000};
}

static void
send_burst(sender *self)
{
    kw_aim_side side = kw_aim_choose(&self->aim, &self->known, self->now_us * 1000);
    for (int i = 0; i < 3; i++) {
        self->burst[i] = send_aimed(self, side, &self->aims[i]);
        side = side == KW_AIM_AFTER ? KW_AIM_BEFORE : KW_AIM_AFTER;
    }
    for (int i = 0; i < 3; i++) {
        const kw_aimed *aimed = &self->aims[i];
        kw_known_time_add_heartbeat(&self->known, &self->burst[i], self->now_us * 1000);
        kw_aim_learn(&self->aim, aimed, &self->burst[i]);
        self->aimed += aimed->aimed;
        self->hit +=
            aimed->aimed && (self->burst[i].stamp_ms >= aimed->turn_ms) == (aimed->side == KW_AIM_AFTER);
    }
    self->now_us += 80000 + g_rand_int_range(self->random, 0, 20000);
}

/* The width of the interval. It contains the true time. */
static int64_t
width_us(sender *self)
{
    kw_span span;
    int64_t true_ns = store_us(self, self->now_us) * 1000;
    g_assert_true(kw_known_time_read(&self->known, self->now_us * 1000, &span));
    g_assert_cmpint(span.earliest_ns, <=, true_ns);
    g_assert_cmpint(span.latest_ns, >=, true_ns);
    return (span.latest_ns - span.earliest_ns) / 1000;
}

/* The mean width of the interval after each of many bursts. */
static int64_t
mean_width_us(sender *self)
{
    int64_t sum_us = 0;
    for (int i = 0; i < 20; i++)
        send_burst(self);
    self->aimed = self->hit = 0;
    for (int i = 0; i < 1000; i++) {
        send_burst(self);
        sum_us += width_us(self);
    }
    g_test_message("%d us wide when a heartbeat takes %d us; %u of %u heartbeats hit", (int)(sum_us / 1000),
                   (int)self->usual_us, self->hit, self->aimed);
    return sum_us / 1000;
}

/* The interval is little wider than the duration of a heartbeat plus the drift of the two clocks. */
KW_TEST(test_width, "/order/clock/width")
{
    for (int64_t took_us = 200; took_us <= 1000; took_us += 100) {
        sender exact = sender_new(took_us, 0, 0), inexact = sender_new(took_us, 0.2, 20);
        g_assert_cmpint(mean_width_us(&exact), <, took_us + 200);
        g_assert_cmpint(mean_width_us(&inexact), <, took_us * 115 / 100 + 250);
        g_assert_cmpuint(inexact.hit * 100, >, inexact.aimed * 60);
        g_rand_free(exact.random);
        g_rand_free(inexact.random);
    }
}

/* The store's clock is set: the interval becomes as narrow as before. */
KW_TEST(test_set, "/order/clock/set")
{
    sender self = sender_new(400, 0.2, 20);
    int64_t before_us = mean_width_us(&self);
    for (int64_t set_us = 1700; set_us < 100000000; set_us *= -7) {
        self.ahead_us += set_us;
        for (int i = 0; i < 20; i++)
            send_burst(&self);
        g_assert_cmpint(llabs(self.aim.offset_ns / 1000 - (store_us(&self, self.now_us) - self.now_us)), <,
                        150);
        if (set_us > 0) /* `latest` does not go back */
            g_assert_cmpint(width_us(&self), <, 2 * before_us);
        else
            self.ahead_us -= set_us;
    }
    g_rand_free(self.random);
}

KW_TEST(test_unknown, "/order/clock/unknown")
{
    kw_known_time known;
    kw_span span;
    kw_known_time_init(&known, KW_TIME_FRESH_NS);
    g_assert_false(kw_known_time_read(&known, 1000 * KW_NS_PER_MS, &span));
    for (int64_t at_ms = 1000; at_ms < 1250; at_ms += 50) {
        add_heartbeat(&known, at_ms * 1000, 300);
        g_assert_false(
            kw_known_time_read(&known, (at_ms + 1) * KW_NS_PER_MS, &span)); /* not known for long enough */
    }
    g_assert_true(kw_known_time_read(&known, 1260 * KW_NS_PER_MS, &span));
    g_assert_false(
        kw_known_time_read(&known, 1451 * KW_NS_PER_MS, &span)); /* the last heartbeat is too old */
    add_heartbeat(&known, 3000000, 300); /* after a long silence the time is unknown as at the start */
    g_assert_false(kw_known_time_read(&known, 3001 * KW_NS_PER_MS, &span));
}

/* The first heartbeat after a load of the store shows that the load has ended; a slower one changes the
 * average a little. */
KW_TEST(test_duration, "/order/clock/duration")
{
    static const int64_t us[] = {400, 15000, 15000, 15000, 600, 500};
    kw_aim aim;
    kw_aim_init(&aim);
    int64_t expected_ns[] = {400000, 1312500, 2167968, 2969970, 600000, 587500};
    for (size_t i = 0; i < G_N_ELEMENTS(us); i++) {
        const kw_aimed aimed = {.aimed = false};
        const kw_heartbeat heartbeat = {.sent_ns = (int64_t)i * 100000000,
                                        .answered_ns = (int64_t)i * 100000000 + us[i] * 1000,
                                        .stamp_ms = 7};
        kw_aim_learn(&aim, &aimed, &heartbeat);
        g_assert_cmpint(aim.duration_ns, ==, expected_ns[i]);
    }
}
