#include "plan/widening.h"

#include "plan/clocks.h"

static bool
has_too_many(const kw_path_analysis *analysis, const kw_normalized_query *normalized)
{
    return normalized->range_limit > 0 && analysis->ranges > normalized->range_limit;
}

/* The only clock of the analysis that fanned out, if it was listed; otherwise the number of components. */
static size_t
listed_clock(const kw_path_analysis *analysis)
{
    size_t count = kw_layout_component_count(analysis->layout), found = count;
    for (size_t index = 0; index < analysis->used; index++) {
        if (kw_layout_component(analysis->layout, index)->clock < 0 || !analysis->fan_out[index])
            continue;
        if (found < count || analysis->all_pieces[index])
            return count;
        found = index;
    }
    return found;
}

bool
kw_widen_by_time(const kw_path_analysis *exact, const kw_normalized_query *normalized, kw_order order,
                 kw_arena *arena, kw_path_analysis *ret_wide)
{
    size_t at = listed_clock(exact);
    kw_path_analysis wide;
    if (!has_too_many(exact, normalized) || !exact->windowed || at >= exact->used ||
        !kw_clock_runs_keep_order(exact, normalized, at, order) ||
        !kw_path_analysis_shorten(exact, normalized, at, KW_STOP_RUNS, order, arena, &wide))
        return false;
    if (!wide.eligible || wide.concat || wide.reversed != exact->reversed ||
        wide.descending != exact->descending || has_too_many(&wide, normalized))
        return false;
    *ret_wide = wide;
    return true;
}

/* True if the ranges are read one after the other, in the order of row keys. */
static bool
is_in_key_order(const kw_path_analysis *analysis)
{
    switch (analysis->stop) {
    case KW_STOP_COMPLETE:
        return true;
    case KW_STOP_TRIVIAL:
    case KW_STOP_UNORDERED:
        return !analysis->listed;
    case KW_STOP_RUNS:
        return analysis->concat;
    case KW_STOP_RANGE:
    case KW_STOP_ORDERED:
        return false;
    }
    g_assert_not_reached();
}

bool
kw_widen_by_key(const kw_path_analysis *exact, const kw_normalized_query *normalized, kw_order order,
                bool full_scan, kw_arena *arena, kw_path_analysis *ret_wide)
{
    if (!has_too_many(exact, normalized) || exact->windowed || !is_in_key_order(exact))
        return false;
    for (size_t used = exact->used; used-- > 0;) {
        kw_path_analysis wide;
        if (!kw_path_analysis_shorten(exact, normalized, used, KW_STOP_UNORDERED, order, arena, &wide) ||
            has_too_many(&wide, normalized))
            continue;
        if (!wide.narrow && !full_scan)
            return false; /* shorter prefixes are not narrower */
        wide.eligible = true;
        wide.reversed = exact->reversed;
        *ret_wide = wide;
        return true;
    }
    return false;
}

bool
kw_widening_check(const kw_path_analysis *exact, const kw_path_analysis *wide,
                  const kw_normalized_query *normalized, kw_error *ret_error)
{
    for (size_t index = wide->used; index < exact->used; index++) {
        const kw_component *component = kw_layout_component(exact->layout, index);
        for (size_t input = 0; component->kind->accepts && input < component->inputs_count; input++) {
            const kw_bound *bound = &normalized->bounds[component->inputs[input]];
            for (size_t value = 0; value < bound->count; value++)
                if (!component->kind->accepts(component, component->inputs[input], bound->values[value],
                                              ret_error))
                    return false;
        }
    }
    return true;
}
