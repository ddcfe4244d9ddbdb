#include "change/pace.h"

#include <glib.h>

#define NS_PER_MS (UINT64_C(1000) * 1000)
#define WORK_NS (500 * NS_PER_MS)
#define REST_NS (250 * NS_PER_MS)
/* A rest follows this many working windows. The first rest comes earlier, because there is no measurement
 * before it. */
#define WINDOWS_PER_REST 16
/* With fewer calls, the latencies of a window are not representative. */
#define CALLS_MIN 50
/* With fewer calls in a window, the gateway counts as unused. */
#define CALLERS_MIN 5
/* A slice keeps about one core busy. While callers use the gateway, slices get at most a 96th of the
 * machine's CPU time, and run for at most a sixth of the time, unless the pauses would exceed PAUSE_MOST_NS.
 * On two cores, scans beside slices returned 0.81 to 0.88 of the rows per second without slices when slices
 * ran for a sixth of the time, 0.87 to 0.97 when they ran for a twelfth, and 0.90 to 0.95 on HBase when they
 * ran for a 24th. */
#define CORES_PER_SLICES 96
#define PAUSES_LEAST 5
/* The p99 can grow to GROWTH times that of the last rest plus SLACK_US before the pauses become longer. */
#define GROWTH 2
#define SLACK_US 5000
#define PAUSE_LEAST_NS NS_PER_MS
#define PAUSE_MOST_NS (1000 * NS_PER_MS)

void
kw_change_pace_init(kw_change_pace *pace, unsigned cores)
{
    unsigned times = CORES_PER_SLICES / MAX(cores, 1);
    *pace = (kw_change_pace){.pauses = MAX(times, PAUSES_LEAST + 1) - 1};
}

static void
begin_window(kw_change_pace *pace, bool resting, const kw_histogram *latency, uint64_t now_ns)
{
    pace->seen = *latency;
    pace->window_ns = now_ns;
    pace->resting = resting;
    pace->windows = resting ? 0 : pace->windows + 1;
}

/* The histogram of the calls in the window. */
static void
subtract(const kw_histogram *all, const kw_histogram *before, kw_histogram *ret_window)
{
    for (size_t step = 0; step < KW_HISTOGRAM_STEPS; step++)
        ret_window->counts[step] = all->counts[step] - before->counts[step];
    ret_window->sum_us = all->sum_us - before->sum_us;
}

static void
set_pause(kw_change_pace *pace, uint64_t p99_us)
{
    if (pace->quiet_us == 0)
        return;
    if (p99_us > GROWTH * pace->quiet_us + SLACK_US)
        pace->pause_ns = CLAMP(2 * pace->pause_ns, PAUSE_LEAST_NS, PAUSE_MOST_NS);
    else
        pace->pause_ns = pace->pause_ns / 2 < PAUSE_LEAST_NS ? 0 : pace->pause_ns / 2;
}

static void
end_window(kw_change_pace *pace, bool may_rest, const kw_histogram *latency, uint64_t now_ns)
{
    kw_histogram window = {0};
    subtract(latency, &pace->seen, &window);
    uint64_t calls = kw_histogram_count(&window);
    bool enough = calls >= CALLS_MIN;
    uint64_t p99_us = kw_histogram_quantile_us(&window, 0.99);
    pace->has_callers = calls >= CALLERS_MIN;
    if (!enough)
        pace->pause_ns = 0;
    else if (pace->resting)
        pace->quiet_us = MAX(p99_us, 1);
    else
        set_pause(pace, p99_us);
    bool rests =
        may_rest && enough && !pace->resting && (pace->quiet_us == 0 || pace->windows >= WINDOWS_PER_REST);
    begin_window(pace, rests, latency, now_ns);
}

bool
kw_change_pace_has_any_callers(const kw_change_pace *pace)
{
    return pace->has_callers || pace->others_have_callers;
}

bool
kw_change_pace_sees_callers(const kw_change_pace *pace, const kw_histogram *latency)
{
    return kw_histogram_count(latency) - kw_histogram_count(&pace->seen) >= CALLERS_MIN;
}

static void
note(kw_change_pace *pace, bool may_rest, const kw_histogram *latency, uint64_t now_ns)
{
    uint64_t length_ns = pace->resting ? REST_NS : WORK_NS;
    if (pace->window_ns == 0)
        begin_window(pace, false, latency, now_ns);
    else if (now_ns - pace->window_ns >= length_ns)
        end_window(pace, may_rest, latency, now_ns);
    pace->has_callers = pace->has_callers || kw_change_pace_sees_callers(pace, latency);
}

uint64_t
kw_change_pace_next(kw_change_pace *pace, const kw_histogram *latency, uint64_t slice_ns, uint64_t now_ns)
{
    note(pace, true, latency, now_ns);
    if (pace->resting)
        return pace->window_ns + REST_NS;
    uint64_t least_ns =
        kw_change_pace_has_any_callers(pace) ? MIN(pace->pauses * slice_ns, PAUSE_MOST_NS) : 0;
    uint64_t pause_ns = MAX(pace->pause_ns, least_ns);
    return pause_ns > 0 ? now_ns + pause_ns : 0;
}

void
kw_change_pace_note(kw_change_pace *pace, const kw_histogram *latency, uint64_t now_ns)
{
    note(pace, false, latency, now_ns);
}

uint64_t
kw_change_pace_pause_of_share(const kw_change_pace *pace, uint64_t share_percent, uint64_t slice_ns)
{
    g_assert(share_percent >= 1 && share_percent <= 100);
    return kw_change_pace_has_any_callers(pace) ? slice_ns * (100 - share_percent) / share_percent : 0;
}

uint64_t
kw_change_pace_guess(const kw_change_pace *pace, uint64_t rows, uint64_t slice_ns)
{
    uint64_t whole_ns = slice_ns + MIN(pace->pauses * slice_ns, PAUSE_MOST_NS);
    return rows * (1000 * NS_PER_MS) / MAX(whole_ns, 1);
}
