/* The store's time as gateways know it (store/known_time.h): explored exhaustively, right with all safeguards
 * and wrong without any one of them; and examples. */
#include "clock_model.h"
#include "store/known_time.h"
#include "support/slow_build.h"

#include <glib.h>

#define STATES_MAX 400000000
#define NS_PER_MS INT64_C(1000000)

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

static void
test_jumps(void)
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

static void
test_starts(void)
{
    is_right(starts);
}

static void
test_without_safeguards(void)
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

static void
test_starts_without_safeguards(void)
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

/* The time to send a heartbeat of this duration so that it arrives when the middle of the known interval
 * reaches the next millisecond. */
static int64_t
aim_us(const kw_known_time *known, int64_t at_us, int64_t took_us)
{
    kw_span span;
    if (!kw_known_time_recent(known, at_us * 1000, &span))
        return at_us;
    int64_t arrival_us = (span.earliest_ns + (span.latest_ns - span.earliest_ns) / 2) / 1000 + took_us / 2;
    return at_us + 1000 - arrival_us % 1000;
}

/* Bursts of five: the interval is little wider than the duration of a heartbeat plus the drift of the two
 * clocks. */
static void
test_width(void)
{
    const int64_t drift_ns = 2 * 100000;
    for (int64_t took_us = 200; took_us <= 1000; took_us += 100) {
        kw_known_time known;
        kw_span span;
        int64_t now_us = 1000000;
        kw_known_time_init(&known, KW_TIME_FRESH_NS);
        for (int64_t burst_us = now_us; burst_us <= 2000000; burst_us += 100000) {
            now_us = burst_us;
            for (int i = 0; i < 5; i++) {
                now_us = aim_us(&known, now_us, took_us);
                add_heartbeat(&known, now_us, took_us);
                now_us += took_us;
            }
        }
        int64_t true_ns = (now_us + AHEAD_US) * 1000;
        g_assert_true(kw_known_time_read(&known, now_us * 1000, &span));
        g_test_message("%d us wide when a heartbeat takes %d us",
                       (int)((span.latest_ns - span.earliest_ns) / 1000), (int)took_us);
        g_assert_cmpint(span.earliest_ns, <=, true_ns);
        g_assert_cmpint(span.latest_ns, >=, true_ns);
        g_assert_cmpint(span.latest_ns - span.earliest_ns, <, took_us * 1250 + drift_ns);
    }
}

static void
test_unknown(void)
{
    kw_known_time known;
    kw_span span;
    kw_known_time_init(&known, KW_TIME_FRESH_NS);
    g_assert_false(kw_known_time_read(&known, 1000 * NS_PER_MS, &span));
    for (int64_t at_ms = 1000; at_ms < 1250; at_ms += 50) {
        add_heartbeat(&known, at_ms * 1000, 300);
        g_assert_false(
            kw_known_time_read(&known, (at_ms + 1) * NS_PER_MS, &span)); /* not known for long enough */
    }
    g_assert_true(kw_known_time_read(&known, 1260 * NS_PER_MS, &span));
    g_assert_false(kw_known_time_read(&known, 1451 * NS_PER_MS, &span)); /* the last heartbeat is too old */
    add_heartbeat(&known, 3000000, 300); /* after a long silence the time is unknown as at the start */
    g_assert_false(kw_known_time_read(&known, 3001 * NS_PER_MS, &span));
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/order/clock/jumps", test_jumps);
    g_test_add_func("/order/clock/starts", test_starts);
    g_test_add_func("/order/clock/without-safeguards-is-wrong", test_without_safeguards);
    g_test_add_func("/order/clock/starts-without-safeguards-are-wrong", test_starts_without_safeguards);
    g_test_add_func("/order/clock/width", test_width);
    g_test_add_func("/order/clock/unknown", test_unknown);
    return g_test_run();
}
