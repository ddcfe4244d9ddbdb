/* See path_analysis.h. */
#include "plan/path_analysis.h"

#include "plan/clocks.h"
#include "plan/refusal.h"

static bool
is_bound(const kw_normalized_query *terms, int field)
{
    return field >= 0 && terms->bounds[field].count > 0;
}

static bool
reads_bound(const kw_normalized_query *terms, const kw_component *component)
{
    for (size_t index = 0; index < component->inputs_count; index++) {
        if (terms->bounds[component->inputs[index]].count > 0)
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
kw_path_analysis_computes(const kw_path_analysis *sketch, const kw_component *component)
{
    return is_computable(sketch->known, component);
}

/* True if fanning out over the enumerable component `at` is worthwhile, because a later component then
 * narrows or orders the rows. Sets `known` to the fields that would be known. */
static bool
pays(const kw_path_analysis *sketch, const kw_normalized_query *terms, size_t at, bool *known)
{
    const kw_component *here = kw_layout_component(sketch->layout, at);
    if (kw_component_tells(here) && here->field == terms->span.field)
        return true;
    for (size_t index = here->clock < 0 ? at : at + 1; index < kw_layout_component_count(sketch->layout);
         index++) {
        const kw_component *next = kw_layout_component(sketch->layout, index);
        if (kw_component_tells(next)) {
            if (index > at && (is_bound(terms, next->field) || next->field == terms->span.field))
                return true;
            known[next->field] = true;
        } else if (next->clock >= 0 && next->clock == terms->span.field) {
            return true;
        } else if (next->field >= 0) {
            return is_bound(terms, next->field) || next->direction != 0;
        } else if (!next->buckets && !is_computable(known, next)) {
            return false;
        }
    }
    return false;
}

static bool
is_worth_fanning(const kw_path_analysis *sketch, const kw_normalized_query *terms, size_t at, kw_arena *arena)
{
    size_t fields = terms->table->fields_count;
    bool *known = KW_ARENA_ARRAY(arena, bool, fields);
    memcpy(known, sketch->known, fields * sizeof *known);
    return pays(sketch, terms, at, known);
}

/* For a field of the prefix: determines whether the ranges alone meet its condition. */
static void
note_field(kw_path_analysis *sketch, const kw_normalized_query *terms, const kw_component *component)
{
    for (size_t index = 0; index < component->also_count; index++) {
        sketch->covered[component->also[index]] = terms->bounds[component->also[index]].count > 0;
        sketch->equalities += sketch->covered[component->also[index]];
    }
    if (!is_bound(terms, component->field))
        return;
    if (component->unit == 1)
        sketch->covered[component->field] = true;
    sketch->equalities++;
}

/* True if the whole key is known: every field in it is bound, or enumerable and either in the range or
 * followed by a bound or ranged one. */
static bool
walk_complete(kw_path_analysis *sketch, const kw_normalized_query *terms)
{
    size_t count = kw_layout_component_count(sketch->layout);
    bool bound_behind = false;
    for (size_t index = count; index > 0; index--) {
        const kw_component *component = kw_layout_component(sketch->layout, index - 1);
        if (component->field < 0)
            continue;
        bool bound = kw_normalized_query_binds(terms, component), tells = kw_component_tells(component);
        bool ranged = tells && component->field == terms->span.field;
        bool listed = ranged || (tells && bound_behind);
        if (!bound && !listed)
            return false;
        bound_behind = bound_behind || bound || ranged;
    }
    for (size_t index = 0; index < count; index++) {
        const kw_component *component = kw_layout_component(sketch->layout, index);
        note_field(sketch, terms, component);
        bool unknown = component->field >= 0 && !sketch->known[component->field];
        sketch->fan_out[index] = unknown || component->choice;
        sketch->pieces[index] = component->buckets;
        if (unknown)
            sketch->known[component->field] = true;
        sketch->span_fans = sketch->span_fans || (unknown && component->field == terms->span.field);
    }
    sketch->stop = KW_STOP_COMPLETE;
    sketch->used = count;
    return true;
}

static bool
knows_all(const kw_path_analysis *sketch, const kw_component *component)
{
    bool known = sketch->known[component->field];
    for (size_t index = 0; index < component->also_count; index++)
        known = known && sketch->known[component->also[index]];
    return known;
}

static kw_stop
stop_at(const kw_path_analysis *sketch, size_t at)
{
    for (size_t index = at; index < kw_layout_component_count(sketch->layout); index++) {
        const kw_component *component = kw_layout_component(sketch->layout, index);
        if (component->field >= 0 && !kw_component_tells(component) && !knows_all(sketch, component))
            return index == at && component->direction != 0 ? KW_STOP_ORDERED : KW_STOP_UNORDERED;
    }
    return KW_STOP_TRIVIAL;
}

/* --- the walk --------------------------------------------------------------------------------------- */

/* True if the walk can continue after component `at`; otherwise sets the stop. */
static bool
goes_past(kw_path_analysis *sketch, const kw_normalized_query *terms, size_t at, kw_order order,
          kw_arena *arena)
{
    const kw_component *component = kw_layout_component(sketch->layout, at);
    if (kw_path_analysis_computes(sketch, component)) {
        note_field(sketch, terms, component);
        sketch->narrow = sketch->narrow || reads_bound(terms, component);
        return true;
    }
    bool ranged = component->field >= 0 && component->field == terms->span.field;
    if (component->clock >= 0 && component->clock == terms->span.field &&
        kw_clock_lists(sketch, terms, at, order)) {
        sketch->clocked = true;
        sketch->narrow = sketch->narrow || sketch->listed;
        return true;
    }
    if (component->clock >= 0 && kw_clock_stops(sketch, terms, at, order))
        return false;
    if (ranged && !component->buckets && component->direction != 0) {
        sketch->stop = KW_STOP_RANGE;
        return false;
    }
    if (!component->buckets || !is_worth_fanning(sketch, terms, at, arena)) {
        sketch->stop = stop_at(sketch, at);
        return false;
    }
    sketch->fan_out[at] = true;
    sketch->whole_round[at] = component->clock >= 0;
    sketch->pieces[at] = component->buckets;
    if (kw_component_tells(component))
        sketch->known[component->field] = true;
    sketch->blurred = sketch->blurred || component->clock >= 0;
    sketch->span_fans = sketch->span_fans || (ranged && component->clock < 0);
    return true;
}

static void
walk(kw_path_analysis *sketch, const kw_normalized_query *terms, kw_order order, kw_arena *arena)
{
    size_t count = kw_layout_component_count(sketch->layout), at = 0;
    while (at < count && goes_past(sketch, terms, at, order, arena))
        at++;
    sketch->used = at;
    sketch->direction = 1;
    if (at == count)
        sketch->stop = KW_STOP_TRIVIAL; /* only after the pieces of a clock */
    else if (sketch->stop != KW_STOP_RUNS)
        sketch->direction = kw_layout_component(sketch->layout, at)->direction;
}

static void
multiply(uint64_t *product, uint64_t factor)
{
    if (__builtin_mul_overflow(*product, factor, product))
        *product = UINT64_MAX;
}

/* Counts the values of lists in the prefix and the buckets that it fans out over; `others`: without the
 * pieces and runs of clocks. */
static uint64_t
count_ranges(const kw_path_analysis *sketch, const kw_normalized_query *terms, bool others, kw_arena *arena)
{
    bool *seen = KW_ARENA_ARRAY(arena, bool, terms->table->fields_count);
    uint64_t ranges = 1;
    for (size_t index = 0; index < sketch->used; index++) {
        const kw_component *component = kw_layout_component(sketch->layout, index);
        if (sketch->fan_out[index]) {
            if (!others || component->clock < 0)
                multiply(&ranges, sketch->pieces[index]);
            continue;
        }
        for (size_t input = 0; input < component->inputs_count; input++) {
            size_t field = component->inputs[input];
            if (!seen[field] && terms->bounds[field].count > 0)
                multiply(&ranges, terms->bounds[field].count);
            seen[field] = true;
        }
    }
    if (sketch->stop == KW_STOP_RUNS && !others)
        multiply(&ranges, sketch->runs);
    return ranges;
}

/* If an interval has many ranges, the plan begins with one window of them. */
static void
settle_window(kw_path_analysis *sketch, const kw_normalized_query *terms)
{
    uint64_t count = sketch->window_most, most = MIN(kw_clock_limit(terms), KW_PLAN_WINDOW_RANGES);
    sketch->windowed = terms->range_limit > 0 && count > 1 && sketch->ranges > most;
    uint64_t others = MAX(sketch->ranges / MAX(count, 1), 1);
    sketch->window_most = others > kw_clock_limit(terms) ? 0 : MAX(most / others, 1);
}

/* True if the end of some piece cannot be recognized and a later component is unknown. */
static bool
has_foreign(const kw_path_analysis *sketch)
{
    for (size_t index = 0; index < sketch->used; index++) {
        const kw_component *component = kw_layout_component(sketch->layout, index);
        if (component->width == 0 && !component->delimited)
            return sketch->stop != KW_STOP_COMPLETE;
    }
    return false;
}

/* True if rows are in some order. A clock that fanned out into all its pieces destroys the order, unless its
 * own field follows. */
static bool
has_order(const kw_path_analysis *sketch)
{
    if (sketch->disordered)
        return false;
    if (sketch->stop == KW_STOP_RUNS)
        return !sketch->concat;
    if (sketch->blurred && (sketch->stop == KW_STOP_RANGE || sketch->stop == KW_STOP_ORDERED)) {
        const kw_component *stop = kw_layout_component(sketch->layout, sketch->used);
        for (size_t index = 0; index < sketch->used; index++) {
            int clock = kw_layout_component(sketch->layout, index)->clock;
            if (sketch->fan_out[index] && clock >= 0 && clock != stop->field)
                return false;
        }
        return true;
    }
    return !sketch->blurred && (sketch->listed || sketch->stop != KW_STOP_UNORDERED);
}

/* If all fields are bound, rows are sorted by row key; the first field with several values determines the
 * direction. */
static bool
falls_by_lists(const kw_path_analysis *sketch, const kw_normalized_query *terms)
{
    bool closed = (sketch->stop == KW_STOP_COMPLETE || sketch->stop == KW_STOP_TRIVIAL) && !sketch->listed;
    for (size_t index = 0; closed && index < kw_layout_component_count(sketch->layout); index++) {
        const kw_component *component = kw_layout_component(sketch->layout, index);
        if (component->field >= 0 && terms->bounds[component->field].count > 1)
            return component->direction < 0;
    }
    return false;
}

static void
settle_order(kw_path_analysis *sketch, const kw_normalized_query *terms, kw_order order, kw_arena *arena)
{
    sketch->eligible = order == KW_ORDER_PATH || has_order(sketch);
    bool ordered = sketch->stop == KW_STOP_RANGE || sketch->stop == KW_STOP_ORDERED;
    kw_order backwards = falls_by_lists(sketch, terms) ? KW_ORDER_ASCENDING : KW_ORDER_DESCENDING;
    bool against = !ordered ? order == backwards
                            : (order == KW_ORDER_DESCENDING && sketch->direction > 0) ||
                                  (order == KW_ORDER_ASCENDING && sketch->direction < 0);
    sketch->reversed = sketch->eligible && against;
    /* The path's own order is that of the clock's pieces, if they are ordered, not that of later components.
     */
    bool by_clock = sketch->listed && order == KW_ORDER_PATH && sketch->clock_direction > 0;
    sketch->falling = by_clock ? false
                      : (sketch->listed && sketch->stop != KW_STOP_RANGE) || sketch->stop == KW_STOP_RUNS
                          ? order == KW_ORDER_DESCENDING
                          : (sketch->direction > 0) == sketch->reversed;
    if (!sketch->eligible)
        sketch->why_not = kw_refusal_tell_disorder(sketch, terms, arena);
}

/* True if the piece is computed from its field's bound value in all ranges. */
static bool
is_made(const kw_path_analysis *sketch, size_t index)
{
    const kw_component *component = kw_layout_component(sketch->layout, index);
    if (index < sketch->used)
        return !sketch->fan_out[index];
    bool made = index == sketch->used && sketch->stop == KW_STOP_RUNS && sketch->known[component->field];
    for (size_t also = 0; also < component->also_before; also++)
        made = made && sketch->known[component->also[also]];
    return made;
}

/* The rows of a time that keys store coarsely are those with all its pieces. */
static void
cover_coarse(kw_path_analysis *sketch, const kw_normalized_query *terms)
{
    for (size_t field = 0; field < terms->table->fields_count; field++) {
        if (terms->bounds[field].count == 0 || !kw_layout_holds_coarsely(sketch->layout, field))
            continue;
        sketch->covered[field] = true;
        for (size_t index = 0; index < kw_layout_component_count(sketch->layout); index++)
            if (kw_layout_component(sketch->layout, index)->field == (int)field && !is_made(sketch, index))
                sketch->covered[field] = false;
    }
}

void
kw_path_analysis_make(const kw_normalized_query *terms, const kw_placement *placement, kw_order order,
                      kw_arena *arena, kw_path_analysis *ret_sketch)
{
    size_t fields = terms->table->fields_count;
    kw_path_analysis sketch = {
        .placement = placement,
        .path = placement->path,
        .layout = placement->layout,
        .known = KW_ARENA_ARRAY(arena, bool, fields),
        .covered = KW_ARENA_ARRAY(arena, bool, fields),
    };
    for (size_t field = 0; field < fields; field++)
        sketch.known[field] = terms->bounds[field].count > 0;
    if (walk_complete(&sketch, terms))
        sketch.narrow = true;
    else
        walk(&sketch, terms, order, arena);
    kw_clock_judge(&sketch, terms, order);
    cover_coarse(&sketch, terms);
    sketch.narrow = sketch.narrow || sketch.stop == KW_STOP_RANGE || sketch.span_fans;
    sketch.foreign = has_foreign(&sketch);
    sketch.ranges = count_ranges(&sketch, terms, false, arena);
    sketch.weight = order == KW_ORDER_PATH ? sketch.ranges : count_ranges(&sketch, terms, true, arena);
    settle_window(&sketch, terms);
    settle_order(&sketch, terms, order, arena);
    *ret_sketch = sketch;
}

/* Paths can order rows of the same time differently. So if an order is requested, the choice does not depend
 * on the length of the range: a path whose number of ranges grows with it comes last. */
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
    if (a->equalities != b->equalities)
        return a->equalities > b->equalities;
    bool a_range = a->stop == KW_STOP_RANGE || a->span_fans || a->clocked,
         b_range = b->stop == KW_STOP_RANGE || b->span_fans || b->clocked;
    if (a_range != b_range)
        return a_range;
    if (a->blur_s != b->blur_s)
        return a->blur_s < b->blur_s;
    return has_fewer_ranges(a, b);
}

const char *
kw_path_analysis_wish(const kw_path_analysis *sketch, kw_arena *arena)
{
    for (size_t index = 0; index < kw_layout_component_count(sketch->layout); index++) {
        const kw_component *component = kw_layout_component(sketch->layout, index);
        if (component->inputs_count == 0 || (component->buckets && component->field < 0))
            continue;
        const kw_field *fields = component->table->fields;
        if (component->clock >= 0 && component->field >= 0 && component->field != component->clock)
            return kw_arena_printf(arena, "bind %s, or give it or %s a range (path %s)",
                                   fields[component->field].name, fields[component->clock].name,
                                   sketch->path->name);
        if (component->clock >= 0)
            return kw_arena_printf(arena, "bind %s or give it a range (path %s)",
                                   fields[component->clock].name, sketch->path->name);
        const char *names = "";
        for (size_t input = 0; input < component->inputs_count; input++)
            names = kw_arena_printf(arena, "%s%s%s", names, input ? " and " : "",
                                    component->table->fields[component->inputs[input]].name);
        bool ordered = component->field >= 0 && component->direction != 0;
        return kw_arena_printf(arena, "bind %s%s (path %s)", names, ordered ? " or give it a range" : "",
                               sketch->path->name);
    }
    return kw_arena_printf(arena, "choose another path than %s", sketch->path->name);
}
