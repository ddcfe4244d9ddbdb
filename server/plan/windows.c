/* See windows.h.
 *
 *   interval   |--------------------------------------------------|
 *   windows    |-- covered by this plan --|---------- rest -------|
 *
 * An exact window has about KW_PLAN_WINDOW_RANGES ranges. A wide window replaces as many exact ranges as the
 * query requests (pace.h). Windows end where a unit of the clock ends. */
#include "plan/windows.h"

/* The part of an interval after `covered`, in the order of the rows; limit 0: nothing. */
static kw_window
rest_after(const kw_path_analysis *analysis, const kw_normalized_query *normalized, const kw_window *covered)
{
    int64_t least, most;
    kw_window rest = *covered;
    bool any = kw_value_span_numbers(&normalized->span, &least, &most);
    rest.least = analysis->descending ? least : covered->most;
    rest.most = analysis->descending ? covered->least : most;
    if (!any || rest.least >= rest.most)
        return (kw_window){.limit = 0};
    rest.least += !analysis->descending;
    rest.most -= analysis->descending;
    return rest;
}

/* The first part of a window, which has at most `most` pieces or runs of the clock, but at least one. */
static kw_window
first_of(const kw_path_analysis *analysis, const kw_normalized_query *normalized, const kw_window *window,
         uint64_t most, kw_arena *arena)
{
    const kw_component *clock = kw_layout_component(analysis->layout, analysis->window_at);
    const kw_normalized_query *within = kw_normalized_query_within(normalized, window, arena);
    kw_window covered = *window;
    int64_t value;
    if (!clock->kind->reach(clock, &within->span, analysis->window_pieces, most, analysis->descending,
                            &value))
        return covered;
    if (analysis->descending)
        covered.least = value;
    else
        covered.most = value;
    return covered;
}

/* Up to this number, windows are counted exactly; a greater number is estimated. */
#define WINDOWS_COUNTED 200

/* The number of windows in which an interval is read. */
static uint64_t
count_windows(const kw_path_analysis *analysis, const kw_normalized_query *normalized, const kw_window *first,
              kw_arena *arena, bool *ret_exact)
{
    int64_t least, most;
    uint64_t count = 1;
    kw_window covered = *first, rest = rest_after(analysis, normalized, first);
    for (; rest.limit > 0 && count < WINDOWS_COUNTED && kw_normalized_query_can_continue(normalized, arena);
         count++) {
        covered = first_of(analysis, normalized, &rest, analysis->window_most, arena);
        rest = rest_after(analysis, normalized, &covered);
    }
    *ret_exact = rest.limit == 0;
    if (*ret_exact || !kw_value_span_numbers(&normalized->span, &least, &most))
        return count;
    double done =
        analysis->descending ? (double)most - (double)covered.least : (double)covered.most - (double)least;
    return (uint64_t)((double)count * ((double)most - (double)least) / done);
}

/* The query with a window of its own. */
static const kw_record_query *
with_window(const kw_record_query *asked, kw_window window, kw_arena *arena)
{
    kw_record_query *query = KW_ARENA_NEW(arena, kw_record_query);
    *query = *asked;
    query->window = window;
    return query;
}

/* Whether an interval needs windows depends on range_limit, so a plan made again for a cursor must use the
 * same limit. */
static void
keep_limit(const kw_path_analysis *analysis, const kw_normalized_query *normalized, kw_arena *arena,
           kw_plan *plan)
{
    kw_window everything = {.limit = normalized->range_limit, .least = INT64_MIN, .most = INT64_MAX};
    bool clocked = false;
    for (size_t index = 0; index < kw_layout_component_count(analysis->layout); index++) {
        int clock = kw_layout_component(analysis->layout, index)->clock;
        clocked = clocked || (clock >= 0 && clock == normalized->span.field);
    }
    if (clocked && normalized->range_limit > 0 && plan->query->window.limit == 0)
        plan->query = with_window(plan->query, everything, arena);
}

/* The exact ranges that a window would have. */
static uint64_t
count_exact(const kw_path_analysis *exact, const kw_normalized_query *within)
{
    const kw_component *clock = kw_layout_component(exact->layout, exact->window_at);
    uint64_t pieces = clock->kind->count(clock, exact->known, &within->span, true), all;
    return __builtin_mul_overflow(pieces, exact->others, &all) ? UINT64_MAX : all;
}

/* A wide window that a cursor names is not cut again. */
static kw_window
cut_wide(const kw_path_analysis *exact, const kw_normalized_query *normalized, const kw_window *window,
         size_t wide_ranges, kw_arena *arena)
{
    size_t replaced = wide_ranges ? wide_ranges : KW_PLAN_WIDE_RANGES;
    kw_window covered = *window;
    if (window->form != KW_WINDOW_WIDE)
        covered = first_of(exact, normalized, window, MAX(replaced / exact->others, 1), arena);
    covered.form = KW_WINDOW_WIDE;
    return covered;
}

const kw_normalized_query *
kw_windows_take(const kw_path_analysis *exact, const kw_path_analysis *wide,
                const kw_normalized_query *normalized, kw_arena *arena, kw_notes *notes, kw_plan *plan,
                bool *ret_wide)
{
    const kw_record_query *asked = plan->query;
    *ret_wide = false;
    if (!exact->windowed || normalized->span.field < 0) {
        keep_limit(exact, normalized, arena, plan);
        return normalized;
    }
    kw_window window = {
        .limit = normalized->range_limit, .least = INT64_MIN, .most = INT64_MAX, .form = KW_WINDOW_OPEN};
    bool first = asked->window.limit == 0, counted;
    if (!first)
        window = asked->window;
    *ret_wide = wide && (window.form != KW_WINDOW_EXACT || exact->window_most == 0);
    if (*ret_wide) {
        window = cut_wide(exact, normalized, &window, asked->wide_ranges, arena);
    } else {
        window = first_of(exact, normalized, &window, exact->window_most, arena);
        window.form = KW_WINDOW_EXACT;
    }
    plan->rest = rest_after(exact, normalized, &window);
    plan->rest.form = wide ? KW_WINDOW_OPEN : KW_WINDOW_EXACT;
    const kw_normalized_query *within = kw_normalized_query_within(normalized, &window, arena);
    if (*ret_wide) {
        plan->replaces = count_exact(exact, within);
        kw_notes_wide(notes, exact, normalized, plan->rest.limit > 0 ? &window : NULL);
    } else if (first && plan->rest.limit > 0) {
        uint64_t windows = count_windows(exact, normalized, &window, arena, &counted);
        kw_notes_windows(notes, normalized, &window, windows, counted);
    }
    plan->query = with_window(asked, window, arena);
    return within;
}
