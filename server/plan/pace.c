#include "plan/pace.h"

/* How much larger a window after a cheap one is. */
#define GROWTH 4

static uint64_t
product(uint64_t a, uint64_t b)
{
    uint64_t all;
    return __builtin_mul_overflow(a, b, &all) ? UINT64_MAX : all;
}

static kw_pace
after_wide(uint64_t replaces, const kw_pace_cost *cost)
{
    if (cost->partial)
        return (kw_pace){.wide_ranges = 0};
    if (cost->rows > product(replaces, KW_PACE_ROWS_PER_RANGE) ||
        cost->us > product(replaces, KW_PACE_US_PER_RANGE))
        return (kw_pace){.exact_left = KW_PACE_EXACT_WINDOWS};
    uint64_t next = product(replaces, cost->us > KW_PACE_LONG_US ? 1 : GROWTH);
    return (kw_pace){.wide_ranges = (size_t)MIN(next, SIZE_MAX)};
}

void
kw_pace_next(kw_pace *pace, const kw_plan *plan, const kw_pace_cost *cost, kw_record_query *query)
{
    query->window = plan->rest;
    if (plan->rest.form != KW_WINDOW_OPEN)
        return;
    if (plan->replaces > 0)
        *pace = after_wide(plan->replaces, cost);
    else if (pace->exact_left > 0)
        pace->exact_left--;
    query->window.form = pace->exact_left > 0 ? KW_WINDOW_EXACT : KW_WINDOW_OPEN;
    query->wide_ranges = pace->wide_ranges;
}

kw_window
kw_pace_again(const kw_plan *plan)
{
    kw_window again = plan->query->window;
    if (plan->replaces == 0)
        return again;
    again.form = KW_WINDOW_OPEN;
    if (plan->rest.limit > 0) {
        again.least = MIN(again.least, plan->rest.least);
        again.most = MAX(again.most, plan->rest.most);
    }
    return again;
}
