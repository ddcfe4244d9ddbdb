#include "plan/path_analysis.h"

#include "plan/clocks.h"
#include "plan/refusal.h"

static bool
is_bound(const kw_normalized_query *normalized, int field)
{
    return field >= 0 && normalized->bounds[field].count > 0;
}

static bool
reads_bound(const kw_normalized_query *normalized, const kw_component *component)
{
    for (size_t index = 0; index < component->inputs_count; index++) {
        if (normalized->bounds[component->inputs[index]].count > 0)
            return true;
    }
    return false;
}

static bool
is_computable(const bool *known, const kw_component *component)
{
    if (component->of_rest || component->choice)
        return false;
    for (size_t index = 0; index < component->inputs_count; index++) {
        if (!known[component->inputs[index]])
            return false;
    }
    return true;
}

bool
kw_path_analysis_computes(const kw_path_analysis *analysis, const kw_component *component)
{
    return is_computable(analysis->known, component);
}

/* True if it helps to fan out the enumerable component `at`: its own field has the range, or a later
 * component then narrows or orders the rows. Sets known[field] for each field that is known after that. */
static bool
fanning_helps(const kw_path_analysis *analysis, const kw_normalized_query *normalized, size_t at, bool *known)
{
    const kw_component *here = kw_layout_component(analysis->layout, at);
    if (kw_component_determines_field(here) && here->field == normalized->span.field)
        return true;
    for (size_t index = here->clock < 0 ? at : at + 1; index < kw_layout_component_count(analysis->layout);
         index++) {
        const kw_component *next = kw_layout_component(analysis->layout, index);
        if (kw_component_determines_field(next)) {
            if (index > at && (is_bound(normalized, next->field) || next->field == normalized->span.field))
                return true;
            known[next->field] = true;
        } else if (next->clock >= 0 && next->clock == normalized->span.field) {
            return true;
        } else if (next->field >= 0) {
            return is_bound(normalized, next->field) || next->direction != 0;
        } else if (!next->buckets && !is_computable(known, next)) {
            return false;
        }
    }
    return false;
}

static bool
is_worth_fanning(const kw_path_analysis *analysis, const kw_normalized_query *normalized, size_t at,
                 kw_arena *arena)
{
    size_t fields = normalized->table->fields_count;
    bool *known = KW_ARENA_ARRAY(arena, bool, fields);
    memcpy(known, analysis->known, fields * sizeof *known);
    return fanning_helps(analysis, normalized, at, known);
}

/* For a component of the prefix: counts its bound fields. Marks a field as covered if all rows of the ranges
 * meet the query's condition on it. */
static void
note_bound_fields(kw_path_analysis *analysis, const kw_normalized_query *normalized,
                  const kw_component *component)
{
    for (size_t index = 0; index < component->also_count; index++) {
        analysis->covered[component->also[index]] = normalized->bounds[component->also[index]].count > 0;
        analysis->equalities += analysis->covered[component->also[index]];
    }
    if (!is_bound(normalized, component->field))
        return;
    if (component->unit == 1)
        analysis->covered[component->field] = true;
    analysis->equalities++;
}

/* If the whole key is known, analyses it and returns true. For this, every field in the key must be bound or
 * enumerable. An enumerable field that is not bound must have the range, or precede a field that is bound or
 * has the range. */
static bool
walk_complete(kw_path_analysis *analysis, const kw_normalized_query *normalized)
{
    size_t count = kw_layout_component_count(analysis->layout);
    bool bound_after = false;
    for (size_t index = count; index > 0; index--) {
        const kw_component *component = kw_layout_component(analysis->layout, index - 1);
        if (component->field < 0)
            continue;
        bool bound = kw_normalized_query_binds(normalized, component),
             determines = kw_component_determines_field(component);
        bool ranged = determines && component->field == normalized->span.field;
        bool listed = ranged || (determines && bound_after);
        if (!bound && !listed)
            return false;
        bound_after = bound_after || bound || ranged;
    }
    for (size_t index = 0; index < count; index++) {
        const kw_component *component = kw_layout_component(analysis->layout, index);
        note_bound_fields(analysis, normalized, component);
        bool unknown = component->field >= 0 && !analysis->known[component->field];
        analysis->fan_out[index] = unknown || component->choice;
        analysis->pieces[index] = component->buckets;
        if (unknown)
            analysis->known[component->field] = true;
        analysis->span_fans_out =
            analysis->span_fans_out || (unknown && component->field == normalized->span.field);
    }
    analysis->stop = KW_STOP_COMPLETE;
    analysis->used = count;
    return true;
}

static bool
knows_its_fields(const kw_path_analysis *analysis, const kw_component *component)
{
    bool known = analysis->known[component->field];
    for (size_t index = 0; index < component->also_count; index++)
        known = known && analysis->known[component->also[index]];
    return known;
}

static kw_stop
stop_at(const kw_path_analysis *analysis, size_t at)
{
    for (size_t index = at; index < kw_layout_component_count(analysis->layout); index++) {
        const kw_component *component = kw_layout_component(analysis->layout, index);
        if (component->field >= 0 && !kw_component_determines_field(component) &&
            !knows_its_fields(analysis, component))
            return index == at && component->direction != 0 ? KW_STOP_ORDERED : KW_STOP_UNORDERED;
    }
    return KW_STOP_TRIVIAL;
}

/* --- the walk --------------------------------------------------------------------------------------- */

/* Returns true if the walk continues after component `at`. Otherwise sets the stop. */
static bool
pass_component(kw_path_analysis *analysis, const kw_normalized_query *normalized, size_t at, kw_order order,
               kw_arena *arena)
{
    const kw_component *component = kw_layout_component(analysis->layout, at);
    if (kw_path_analysis_computes(analysis, component)) {
        note_bound_fields(analysis, normalized, component);
        analysis->narrow = analysis->narrow || reads_bound(normalized, component);
        return true;
    }
    bool ranged = component->field >= 0 && component->field == normalized->span.field;
    if (component->clock >= 0 && component->clock == normalized->span.field &&
        kw_clock_try_list(analysis, normalized, at, order)) {
        analysis->span_on_clock = true;
        analysis->narrow = analysis->narrow || analysis->listed;
        return true;
    }
    if (component->clock >= 0 && kw_clock_try_stop(analysis, normalized, at, order))
        return false;
    if (ranged && !component->buckets && component->direction != 0) {
        analysis->stop = KW_STOP_RANGE;
        return false;
    }
    if (!component->buckets || !is_worth_fanning(analysis, normalized, at, arena)) {
        analysis->stop = stop_at(analysis, at);
        return false;
    }
    analysis->fan_out[at] = true;
    analysis->all_pieces[at] = component->clock >= 0;
    analysis->pieces[at] = component->buckets;
    if (kw_component_determines_field(component))
        analysis->known[component->field] = true;
    analysis->blurred = analysis->blurred || component->clock >= 0;
    analysis->span_fans_out = analysis->span_fans_out || (ranged && component->clock < 0);
    return true;
}

static void
walk(kw_path_analysis *analysis, const kw_normalized_query *normalized, kw_order order, kw_arena *arena)
{
    size_t count = kw_layout_component_count(analysis->layout), at = 0;
    while (at < count && pass_component(analysis, normalized, at, order, arena))
        at++;
    analysis->used = at;
    analysis->direction = 1;
    if (at == count)
        analysis->stop = KW_STOP_TRIVIAL; /* each component was computed or fanned out */
    else if (analysis->stop != KW_STOP_RUNS)
        analysis->direction = kw_layout_component(analysis->layout, at)->direction;
}

static void
multiply(uint64_t *product, uint64_t factor)
{
    if (__builtin_mul_overflow(*product, factor, product))
        *product = UINT64_MAX;
}

/* Multiplies the numbers of listed values and of pieces in the components before the stop, and the number of
 * runs at the stop. `without_clocks`: does not count the pieces and runs of clocks. */
static uint64_t
count_ranges(const kw_path_analysis *analysis, const kw_normalized_query *normalized, bool without_clocks,
             kw_arena *arena)
{
    bool *seen = KW_ARENA_ARRAY(arena, bool, normalized->table->fields_count);
    uint64_t ranges = 1;
    for (size_t index = 0; index < analysis->used; index++) {
        const kw_component *component = kw_layout_component(analysis->layout, index);
        if (analysis->fan_out[index]) {
            if (!without_clocks || component->clock < 0)
                multiply(&ranges, analysis->pieces[index]);
            continue;
        }
        for (size_t input = 0; input < component->inputs_count; input++) {
            size_t field = component->inputs[input];
            if (!seen[field] && normalized->bounds[field].count > 0)
                multiply(&ranges, normalized->bounds[field].count);
            seen[field] = true;
        }
    }
    if (analysis->stop == KW_STOP_RUNS && !without_clocks)
        multiply(&ranges, analysis->runs);
    return ranges;
}

/* Decides whether the time range is read in windows, and how large a window is. */
static void
settle_window(kw_path_analysis *analysis, const kw_normalized_query *normalized)
{
    uint64_t count = analysis->window_most, most = MIN(kw_clock_limit(normalized), KW_PLAN_WINDOW_RANGES);
    analysis->windowed = normalized->range_limit > 0 && count > 1 && analysis->ranges > most;
    analysis->others = MAX(analysis->ranges / MAX(count, 1), 1);
    analysis->window_most =
        analysis->others > kw_clock_limit(normalized) ? 0 : MAX(most / analysis->others, 1);
}

/* True if the end of a piece cannot be recognized in the key and a later component is unknown. */
static bool
has_other_keys(const kw_path_analysis *analysis)
{
    for (size_t index = 0; index < analysis->used; index++) {
        const kw_component *component = kw_layout_component(analysis->layout, index);
        if (component->width == 0 && !component->delimited)
            return analysis->stop != KW_STOP_COMPLETE;
    }
    return false;
}

/* True if the stop's field is the time of every clock that fanned out. */
static bool
follows_its_clocks(const kw_path_analysis *analysis)
{
    const kw_component *stop = kw_layout_component(analysis->layout, analysis->used);
    for (size_t index = 0; index < analysis->used; index++) {
        int clock = kw_layout_component(analysis->layout, index)->clock;
        if (analysis->fan_out[index] && clock >= 0 && clock != stop->field)
            return false;
    }
    return true;
}

/* True if the plan can return the rows in order. It cannot after a clock that fanned out into all its pieces,
 * unless the clock's time is the stop. */
static bool
has_order(const kw_path_analysis *analysis)
{
    if (analysis->disordered)
        return false;
    if (analysis->stop == KW_STOP_RUNS)
        return !analysis->concat;
    if (analysis->blurred && (analysis->stop == KW_STOP_RANGE || analysis->stop == KW_STOP_ORDERED))
        return follows_its_clocks(analysis);
    return !analysis->blurred && (analysis->listed || analysis->stop != KW_STOP_UNORDERED);
}

/* True if all fields are bound or enumerable, so that rows are in the order of row keys, and the first field
 * that is bound to several values is descending. */
static bool
descends_by_lists(const kw_path_analysis *analysis, const kw_normalized_query *normalized)
{
    bool closed =
        (analysis->stop == KW_STOP_COMPLETE || analysis->stop == KW_STOP_TRIVIAL) && !analysis->listed;
    for (size_t index = 0; closed && index < kw_layout_component_count(analysis->layout); index++) {
        const kw_component *component = kw_layout_component(analysis->layout, index);
        if (component->field >= 0 && normalized->bounds[component->field].count > 1)
            return component->direction < 0;
    }
    return false;
}

static void
settle_order(kw_path_analysis *analysis, const kw_normalized_query *normalized, kw_order order,
             kw_arena *arena)
{
    analysis->eligible = order == KW_ORDER_PATH || has_order(analysis);
    bool ordered = analysis->stop == KW_STOP_RANGE || analysis->stop == KW_STOP_ORDERED;
    kw_order reversed_order =
        descends_by_lists(analysis, normalized) ? KW_ORDER_ASCENDING : KW_ORDER_DESCENDING;
    bool reversed = !ordered ? order == reversed_order
                             : (order == KW_ORDER_DESCENDING && analysis->direction > 0) ||
                                   (order == KW_ORDER_ASCENDING && analysis->direction < 0);
    analysis->reversed = analysis->eligible && reversed;
    /* If the clock's pieces are ordered, they determine the path's own order, and later components do not. */
    bool by_clock = analysis->listed && order == KW_ORDER_PATH && analysis->clock_direction > 0;
    analysis->descending =
        by_clock ? false
        : (analysis->listed && analysis->stop != KW_STOP_RANGE) || analysis->stop == KW_STOP_RUNS
            ? order == KW_ORDER_DESCENDING
            : (analysis->direction > 0) == analysis->reversed;
    if (!analysis->eligible)
        analysis->why_not = kw_refusal_explain_disorder(analysis, normalized, arena);
}

/* True if all ranges have pieces of the component that were computed from bound values. */
static bool
is_computed(const kw_path_analysis *analysis, size_t index)
{
    const kw_component *component = kw_layout_component(analysis->layout, index);
    if (index < analysis->used)
        return !analysis->fan_out[index];
    bool computed =
        index == analysis->used && analysis->stop == KW_STOP_RUNS && analysis->known[component->field];
    for (size_t also = 0; also < component->also_before; also++)
        computed = computed && analysis->known[component->also[also]];
    return computed;
}

/* If the key stores a bound time only in coarse pieces, its condition is met by the rows that have all these
 * pieces. */
static void
cover_coarse(kw_path_analysis *analysis, const kw_normalized_query *normalized)
{
    for (size_t field = 0; field < normalized->table->fields_count; field++) {
        if (normalized->bounds[field].count == 0 || !kw_layout_holds_coarsely(analysis->layout, field))
            continue;
        analysis->covered[field] = true;
        for (size_t index = 0; index < kw_layout_component_count(analysis->layout); index++)
            if (kw_layout_component(analysis->layout, index)->field == (int)field &&
                !is_computed(analysis, index))
                analysis->covered[field] = false;
    }
}

static kw_path_analysis
begin(const kw_normalized_query *normalized, const kw_placement *placement, kw_arena *arena)
{
    size_t fields = normalized->table->fields_count;
    kw_path_analysis analysis = {
        .placement = placement,
        .path = placement->path,
        .layout = placement->layout,
        .known = KW_ARENA_ARRAY(arena, bool, fields),
        .covered = KW_ARENA_ARRAY(arena, bool, fields),
    };
    for (size_t field = 0; field < fields; field++)
        analysis.known[field] = normalized->bounds[field].count > 0;
    return analysis;
}

/* Call it after the components were analysed and the stop is set. */
static void
settle(kw_path_analysis *analysis, const kw_normalized_query *normalized, kw_order order, kw_arena *arena)
{
    kw_clock_note_order(analysis, normalized, order);
    cover_coarse(analysis, normalized);
    analysis->narrow = analysis->narrow || analysis->stop == KW_STOP_RANGE || analysis->span_fans_out;
    analysis->has_other_keys = has_other_keys(analysis);
    analysis->ranges = count_ranges(analysis, normalized, false, arena);
    analysis->weight =
        order == KW_ORDER_PATH ? analysis->ranges : count_ranges(analysis, normalized, true, arena);
    settle_window(analysis, normalized);
    settle_order(analysis, normalized, order, arena);
}

void
kw_path_analysis_make(const kw_normalized_query *normalized, const kw_placement *placement, kw_order order,
                      kw_arena *arena, kw_path_analysis *ret_analysis)
{
    g_assert(placement->path->table == normalized->table);
    kw_path_analysis analysis = begin(normalized, placement, arena);
    if (walk_complete(&analysis, normalized))
        analysis.narrow = true;
    else
        walk(&analysis, normalized, order, arena);
    settle(&analysis, normalized, order, arena);
    *ret_analysis = analysis;
}

/* Makes the decision about a component that another analysis of the path made. False if it is computed from
 * later parts of the key. */
static bool
repeat_decision(kw_path_analysis *analysis, const kw_path_analysis *whole,
                const kw_normalized_query *normalized, size_t at)
{
    const kw_component *component = kw_layout_component(analysis->layout, at);
    if (!whole->fan_out[at]) {
        note_bound_fields(analysis, normalized, component);
        analysis->narrow = analysis->narrow || reads_bound(normalized, component);
        return is_computable(analysis->known, component);
    }
    bool clock = component->clock >= 0;
    g_assert(!clock || whole->all_pieces[at]);
    analysis->fan_out[at] = true;
    analysis->all_pieces[at] = whole->all_pieces[at];
    analysis->pieces[at] = whole->pieces[at];
    analysis->blurred = analysis->blurred || clock;
    if (kw_component_determines_field(component)) {
        analysis->span_fans_out = analysis->span_fans_out || component->field == normalized->span.field;
        analysis->known[component->field] = true;
    }
    return true;
}

bool
kw_path_analysis_shorten(const kw_path_analysis *whole, const kw_normalized_query *normalized, size_t used,
                         kw_stop stop, kw_order order, kw_arena *arena, kw_path_analysis *ret_analysis)
{
    kw_path_analysis analysis = begin(normalized, whole->placement, arena);
    for (size_t index = 0; index < used; index++)
        if (!repeat_decision(&analysis, whole, normalized, index))
            return false;
    analysis.used = used;
    analysis.stop = stop;
    analysis.direction = stop == KW_STOP_RUNS ? 1 : 0;
    if (stop == KW_STOP_RUNS && !kw_clock_try_stop(&analysis, normalized, used, order))
        return false;
    settle(&analysis, normalized, order, arena);
    *ret_analysis = analysis;
    return true;
}

/* Two paths can order rows of the same time differently. If an order is requested, the choice of the path
 * must therefore not depend on the length of the time range. A path whose number of ranges grows with this
 * length is the worse one. */
static bool
has_fewer_ranges(const kw_path_analysis *a, const kw_path_analysis *b)
{
    if (!a->cell_s != !b->cell_s)
        return !a->cell_s;
    if (a->weight != b->weight)
        return a->weight < b->weight;
    return a->cell_s > b->cell_s;
}

bool
kw_path_analysis_better(const kw_path_analysis *a, const kw_path_analysis *b)
{
    if (a->eligible != b->eligible)
        return a->eligible;
    if (a->narrow != b->narrow)
        return a->narrow;
    bool a_whole = a->stop == KW_STOP_COMPLETE, b_whole = b->stop == KW_STOP_COMPLETE;
    if (a_whole != b_whole)
        return a_whole;
    bool differ = a->path->content != b->path->content; /* each hint costs the read of a row in addition */
    if (a_whole && differ)
        return a->path->content == KW_CONTENT_RECORDS;
    if (a->equalities != b->equalities)
        return a->equalities > b->equalities;
    bool a_range = a->stop == KW_STOP_RANGE || a->span_fans_out || a->span_on_clock,
         b_range = b->stop == KW_STOP_RANGE || b->span_fans_out || b->span_on_clock;
    if (a_range != b_range)
        return a_range;
    if (a->blur_s != b->blur_s)
        return a->blur_s < b->blur_s;
    if (differ)
        return a->path->content == KW_CONTENT_RECORDS;
    return has_fewer_ranges(a, b);
}

const char *
kw_path_analysis_suggest(const kw_path_analysis *analysis, kw_arena *arena)
{
    for (size_t index = 0; index < kw_layout_component_count(analysis->layout); index++) {
        const kw_component *component = kw_layout_component(analysis->layout, index);
        if (component->inputs_count == 0 || (component->buckets && component->field < 0))
            continue;
        const kw_field *fields = component->table->fields;
        if (component->clock >= 0 && component->field >= 0 && component->field != component->clock)
            return kw_arena_printf(arena, "bind %s, or give it or %s a range (path %s)",
                                   fields[component->field].name, fields[component->clock].name,
                                   analysis->path->name);
        if (component->clock >= 0)
            return kw_arena_printf(arena, "bind %s or give it a range (path %s)",
                                   fields[component->clock].name, analysis->path->name);
        const char *names = "";
        for (size_t input = 0; input < component->inputs_count; input++)
            names = kw_arena_printf(arena, "%s%s%s", names, input ? " and " : "",
                                    component->table->fields[component->inputs[input]].name);
        bool ordered = component->field >= 0 && component->direction != 0;
        return kw_arena_printf(arena, "bind %s%s (path %s)", names, ordered ? " or give it a range" : "",
                               analysis->path->name);
    }
    return kw_arena_printf(arena, "choose another path than %s", analysis->path->name);
}
