#include "plan/clocks.h"

/* A query without a condition on the time uses runs only to order its rows, and only up to this number of
 * runs. */
#define OPEN_RUNS_MAX 4096

uint64_t
kw_clock_limit(const kw_normalized_query *normalized)
{
    return normalized->range_limit ? normalized->range_limit : KW_PLAN_RANGES_MAX;
}

static bool
has_ends(const kw_normalized_query *normalized)
{
    return normalized->span.from.kind == KW_VALUE_NUMBER && normalized->span.to.kind == KW_VALUE_NUMBER;
}

/* True if the time can be read in windows. The windows of an open interval would never end. */
static bool
can_window(const kw_normalized_query *normalized)
{
    return normalized->range_limit > 0 && has_ends(normalized);
}

/* Windows are cut from the clock with the most pieces or runs. */
static void
note_window(kw_path_analysis *analysis, size_t at, bool pieces, uint64_t count)
{
    if (count <= analysis->window_most)
        return;
    analysis->window_at = at;
    analysis->window_pieces = pieces;
    analysis->window_most = count;
}

/* Notes a clock whose number of ranges grows with the length of the time range. */
static void
note_cell(kw_path_analysis *analysis, const kw_component *clock, kw_order order)
{
    if (order != KW_ORDER_PATH && (analysis->cell_s == 0 || clock->cell_s < analysis->cell_s))
        analysis->cell_s = clock->cell_s;
}

/* --- what follows a clock ------------------------------------------------------------------------ */

typedef struct kw_after {
    const kw_component *itself; /* the clock's own field, in order; NULL: it does not come next */
    bool constant_before;       /* the bytes before it are the same in all rows */
    bool bound;                 /* a bound field comes next, or before the clock's own field */
} kw_after;

/* True if the piece is the same in all rows of the query. */
static bool
is_constant(const kw_normalized_query *normalized, const kw_component *component)
{
    for (size_t input = 0; input < component->inputs_count; input++)
        if (normalized->bounds[component->inputs[input]].count != 1)
            return false;
    return !component->of_rest && !component->choice;
}

static kw_after
look_after(const kw_path_analysis *analysis, const kw_normalized_query *normalized, size_t at)
{
    const kw_component *clock = kw_layout_component(analysis->layout, at);
    kw_after after = {.constant_before = clock->also_count == 0};
    for (size_t index = at + 1; index < kw_layout_component_count(analysis->layout); index++) {
        const kw_component *next = kw_layout_component(analysis->layout, index);
        if (next->field == clock->clock && next->clock < 0 && next->direction != 0) {
            after.itself = next;
            return after;
        }
        after.constant_before = after.constant_before && is_constant(normalized, next);
        bool bound = kw_normalized_query_binds(normalized, next);
        after.bound = after.bound || bound;
        if (!bound && !kw_component_determines_field(next) &&
            (next->field >= 0 || (!next->buckets && !kw_path_analysis_computes(analysis, next))))
            return after;
    }
    return after;
}

/* True if the rows of one run have the same order as its pieces read one by one. */
static bool
is_run_enough(const kw_component *clock, const kw_after *after, kw_order order)
{
    return after->constant_before &&
           (after->itself->direction > 0 || (order == KW_ORDER_PATH && clock->direction > 0));
}

bool
kw_clock_runs_keep_order(const kw_path_analysis *listed, const kw_normalized_query *normalized, size_t at,
                         kw_order order)
{
    const kw_component *clock = kw_layout_component(listed->layout, at);
    for (size_t index = at + 1; index < listed->used; index++)
        if (!is_constant(normalized, kw_layout_component(listed->layout, index)))
            return false;
    bool ordered = listed->stop == KW_STOP_RANGE || listed->stop == KW_STOP_ORDERED;
    int direction = ordered ? kw_layout_component(listed->layout, listed->used)->direction : 0;
    return clock->also_count == 0 && (direction >= 0 || (order == KW_ORDER_PATH && clock->direction > 0));
}

/* True if the pieces can be listed: only those of a calendar without a sequence. */
static bool
is_listable(const kw_component *clock)
{
    return clock->kind->enumerate && clock->also_count == 0;
}

/* ----------------------------------------------------------------------------------------------------------
 */

bool
kw_clock_try_list(kw_path_analysis *analysis, const kw_normalized_query *normalized, size_t at,
                  kw_order order)
{
    const kw_component *clock = kw_layout_component(analysis->layout, at);
    const kw_value_span open = {.field = -1};
    kw_after after = look_after(analysis, normalized, at);
    if (!is_listable(clock) || (!after.itself && !after.bound))
        return false;
    uint64_t pieces = clock->kind->count(clock, analysis->known, &normalized->span, true);
    uint64_t runs = clock->kind->count(clock, analysis->known, &normalized->span, false);
    uint64_t most = has_ends(normalized) ? pieces : clock->kind->count(clock, analysis->known, &open, true);
    bool windows = can_window(normalized), whole = after.itself && clock->buckets && pieces > clock->buckets;
    bool enough = after.itself && !after.bound && is_run_enough(clock, &after, order);
    if (!whole && most > kw_clock_limit(normalized) && (!windows || (enough && pieces > runs)))
        return false;
    if (!enough || clock->direction == 0)
        note_cell(analysis, clock, order);
    analysis->listed = analysis->listed || !whole;
    analysis->blurred = analysis->blurred || whole;
    analysis->fan_out[at] = true;
    analysis->all_pieces[at] = whole;
    analysis->pieces[at] = whole ? clock->buckets : pieces;
    analysis->clock_direction = clock->direction;
    if (!whole)
        note_window(analysis, at, true, pieces);
    return true;
}

/* Cyclic pieces and an open interval: each row would be read once for every possible cycle. */
static bool
is_cyclic_and_open(const kw_normalized_query *normalized, const kw_component *component)
{
    return component->period_s > 0 && (component->clock != normalized->span.field || !has_ends(normalized));
}

bool
kw_clock_try_stop(kw_path_analysis *analysis, const kw_normalized_query *normalized, size_t at,
                  kw_order order)
{
    const kw_component *component = kw_layout_component(analysis->layout, at);
    bool asked = component->clock == normalized->span.field, held = analysis->known[component->clock];
    bool ordered = order != KW_ORDER_PATH && component->direction == 0;
    if ((!asked && !held && !ordered) || (!held && is_cyclic_and_open(normalized, component)))
        return false;
    uint64_t runs = component->kind->count(component, analysis->known, &normalized->span, false);
    bool windows = asked && runs != UINT64_MAX && can_window(normalized);
    if (runs > (asked || held ? kw_clock_limit(normalized) : OPEN_RUNS_MAX) && !windows)
        return false;
    if (asked)
        note_window(analysis, at, false, runs);
    if (component->direction == 0)
        note_cell(analysis, component, order);
    analysis->stop = KW_STOP_RUNS;
    analysis->runs = runs;
    analysis->span_on_clock = asked;
    analysis->concat = held && normalized->bounds[component->clock].count > 1;
    for (size_t index = 0; index < (held ? component->also_count : component->also_before); index++)
        analysis->concat = analysis->concat || normalized->bounds[component->also[index]].count > 1;
    analysis->narrow = analysis->narrow || asked || held;
    return true;
}

/* The clock at which the walk stopped, if the query does not bind its time; otherwise NULL. */
static const kw_component *
stopped_at(const kw_path_analysis *analysis)
{
    if (analysis->used == kw_layout_component_count(analysis->layout))
        return NULL;
    const kw_component *stop = kw_layout_component(analysis->layout, analysis->used);
    bool clock = stop->clock >= 0 && (analysis->stop == KW_STOP_RUNS || analysis->stop == KW_STOP_ORDERED ||
                                      analysis->stop == KW_STOP_RANGE);
    return clock && !analysis->known[stop->clock] ? stop : NULL;
}

void
kw_clock_note_order(kw_path_analysis *analysis, const kw_normalized_query *normalized, kw_order order)
{
    const kw_component *stop = stopped_at(analysis);
    if (order == KW_ORDER_PATH)
        return;
    if (stop) {
        kw_after after = look_after(analysis, normalized, analysis->used);
        bool exact = after.itself && is_run_enough(stop, &after, order);
        analysis->blur_s = exact ? 0 : stop->cell_s;
        analysis->disordered = after.itself && !exact && is_listable(stop);
        return;
    }
    for (size_t index = 0; index < analysis->used && analysis->listed; index++) {
        const kw_component *clock = kw_layout_component(analysis->layout, index);
        bool listed = clock->clock >= 0 && analysis->fan_out[index] && !analysis->all_pieces[index];
        bool itself = analysis->used < kw_layout_component_count(analysis->layout) &&
                      kw_layout_component(analysis->layout, analysis->used)->field == clock->clock;
        if (listed && !itself)
            analysis->blur_s = clock->cell_s;
    }
}
