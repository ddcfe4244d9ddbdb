/* Drafts the ranges of a path from its branches. The stop of the path (kw_stop) determines the keys of a
 * range:
 *
 *   COMPLETE                        the single row key of a branch
 *   RANGE                           the keys of a branch between the ends of the query's range
 *   ORDERED, TRIVIAL, UNORDERED     all keys of a branch
 *   RUNS                            the keys of a branch in one interval of its clock */
#include "plan/drafts.h"

#include "plan/ends.h"
#include "plan/refusal.h"

static kw_bytes
joined(kw_bytes prefix, kw_bytes tail, kw_arena *arena)
{
    if (tail.size == 0)
        return prefix;
    uint8_t *bytes = kw_arena_alloc(arena, prefix.size + tail.size);
    if (prefix.size > 0)
        memcpy(bytes, prefix.data, prefix.size);
    memcpy(bytes + prefix.size, tail.data, tail.size);
    return kw_bytes_of(bytes, prefix.size + tail.size);
}

static kw_range
range_of(kw_bytes prefix, const kw_ends *ends, kw_arena *arena)
{
    kw_range range = {.start = joined(prefix, ends->low, arena), .skip = (uint32_t)prefix.size};
    if (!ends->high_open)
        range.stop = joined(prefix, ends->high, arena);
    else if (!kw_bytes_successor(prefix, arena, &range.stop))
        range.stop = KW_BYTES_NONE;
    return range;
}

/* A range with exactly this key: it stops at the smallest key after it. */
static kw_range
point_of(kw_bytes key, kw_arena *arena)
{
    return (kw_range){.start = key, .stop = joined(key, KW_BYTES_LITERAL("\0"), arena)};
}

/* Total width of the components from the stop on. All of them have a fixed width if the ranges can contain
 * keys of other values (analysis->has_other_keys). */
static uint32_t
tail_width(const kw_path_analysis *analysis)
{
    uint32_t width = 0;
    for (size_t index = analysis->used; index < kw_layout_component_count(analysis->layout); index++)
        width += kw_layout_component(analysis->layout, index)->width;
    return width;
}

/* The query's range, cut to the values that a branch can contain. */
static kw_value_span
span_within(const kw_value_span *span, const kw_branch *branch)
{
    kw_value_span cut = *span;
    if (!branch->narrowed)
        return cut;
    if (cut.from.kind == KW_VALUE_NONE || cut.from.number < branch->least)
        cut.from = (kw_value){.kind = KW_VALUE_NUMBER, .number = branch->least};
    if (cut.to.kind == KW_VALUE_NONE || cut.to.number > branch->most)
        cut.to = (kw_value){.kind = KW_VALUE_NUMBER, .number = branch->most};
    cut.from_inclusive = true; /* ends of number ranges are inclusive (kw_normalized_query) */
    cut.to_inclusive = true;
    return cut;
}

/* Drafts one range per branch, each with a single key. This loop and those below stop early when the effort
 * of the query is used up; the caller then returns the error. */
static kw_drafts
draft_points(const kw_normalized_query *normalized, const kw_branches *branches, kw_arena *arena)
{
    kw_drafts made = {.items = KW_ARENA_ARRAY(arena, kw_plan_draft, branches->count),
                      .count = branches->count};
    for (size_t index = 0; index < branches->count && kw_normalized_query_can_continue(normalized, arena);
         index++)
        made.items[index].range = point_of(branches->items[index].prefix, arena);
    return made;
}

static void
set_timed(kw_plan_draft *draft, bool timed)
{
    draft->range.timed = timed;
    draft->range.least = timed ? draft->least : 0;
    draft->range.most = timed ? draft->most : 0;
}

/* Drafts at most one range per branch: all keys with the branch's prefix or, if the stop's field has a
 * range, those between the ends of that range. */
static kw_drafts
draft_ranges(const kw_path_analysis *analysis, const kw_normalized_query *normalized,
             const kw_branches *branches, kw_arena *arena, bool *ret_loose)
{
    kw_drafts made = {.items = KW_ARENA_ARRAY(arena, kw_plan_draft, branches->count)};
    bool ranged = analysis->stop == KW_STOP_RANGE;
    const kw_component *stop = ranged ? kw_layout_component(analysis->layout, analysis->used) : NULL;
    kw_ends ends = ranged ? kw_ends_of(stop, &normalized->span, arena) : (kw_ends){.high_open = true};
    *ret_loose = ends.loose;
    uint32_t tail = tail_width(analysis);
    for (size_t index = 0; index < branches->count && kw_normalized_query_can_continue(normalized, arena);
         index++) {
        const kw_branch *branch = &branches->items[index];
        kw_ends here = ends;
        if (ranged && branch->narrowed) {
            kw_value_span cut = span_within(&normalized->span, branch);
            here = kw_ends_of(stop, &cut, arena);
        }
        if (here.empty)
            continue;
        kw_plan_draft *draft = &made.items[made.count++];
        draft->range = range_of(branch->prefix, &here, arena);
        draft->range.at = (uint32_t)branch->prefix.size;
        draft->narrowed = (ranged || analysis->listed) && branch->narrowed;
        draft->least = branch->least;
        draft->most = branch->most;
        set_timed(draft, branch->timed && !ranged);
        if (analysis->has_other_keys)
            draft->range.row_size = (uint32_t)branch->prefix.size + tail;
    }
    return made;
}

/* --- runs of a clock -------------------------------------------------------------------------------- */

static kw_plan_draft
draft_run(const kw_path_analysis *analysis, const kw_branch *branch, const kw_piece_run *run, kw_arena *arena)
{
    kw_bytes stop = joined(branch->prefix, run->high, arena);
    kw_plan_draft draft = {.range = {.start = joined(branch->prefix, run->low, arena),
                                     .skip = (uint32_t)branch->prefix.size + run->skip},
                           .narrowed = run->narrowed,
                           .least = run->least,
                           .most = run->most};
    if (!kw_bytes_successor(stop, arena, &draft.range.stop))
        draft.range.stop = KW_BYTES_NONE;
    const kw_component *clock = kw_layout_component(analysis->layout, analysis->used);
    uint32_t prefix = (uint32_t)branch->prefix.size, known = prefix + (uint32_t)run->low.size;
    if (clock->width)
        draft.range.at = prefix + clock->width;
    else
        draft.range.at = run->sized ? known : KW_RANGE_NOWHERE;
    if (run->sized || analysis->has_other_keys)
        draft.range.row_size = known + tail_width(analysis) - clock->width;
    set_timed(&draft, run->timed);
    return draft;
}

/* Allocates space for the runs of one branch. The first call allocates it for all branches, because most
 * have as many runs as the first one. False if the effort does not allow it. */
static bool
reserve_drafts(kw_drafts *made, size_t runs, size_t branches, size_t limit,
               const kw_normalized_query *normalized, kw_arena *arena)
{
    size_t wanted, count = made->count + runs;
    if (count <= made->capacity)
        return true;
    if (made->capacity > 0 || __builtin_mul_overflow(runs, branches, &wanted) || wanted > limit)
        wanted = MIN(2 * count, limit);
    if (!kw_normalized_query_can_hold(normalized, arena, wanted * sizeof(kw_plan_draft)))
        return false;
    kw_plan_draft *items = KW_ARENA_ARRAY(arena, kw_plan_draft, wanted);
    if (made->count > 0)
        memcpy(items, made->items, made->count * sizeof *items);
    made->items = items;
    made->capacity = wanted;
    return true;
}

static bool
draft_runs(const kw_path_analysis *analysis, const kw_normalized_query *normalized,
           const kw_branches *branches, size_t limit, kw_arena *arena, kw_drafts *ret_drafts, bool *ret_loose,
           kw_error *ret_error)
{
    const kw_component *clock = kw_layout_component(analysis->layout, analysis->used);
    kw_drafts made = {.items = NULL};
    for (size_t index = 0; index < branches->count && kw_normalized_query_can_continue(normalized, arena);
         index++) {
        const kw_branch *branch = &branches->items[index];
        kw_value_span span = normalized->span.field == clock->clock ? span_within(&normalized->span, branch)
                                                                    : normalized->span;
        kw_piece_runs runs;
        if (!clock->kind->runs(clock, branch->values, &span, arena, &runs, ret_error))
            return false;
        *ret_loose = *ret_loose || runs.loose;
        if (made.count + runs.count > limit)
            return kw_refuse_ranges(analysis, normalized, limit, ret_error);
        if (!reserve_drafts(&made, runs.count, branches->count, limit, normalized, arena))
            return false; /* the caller returns the error */
        for (size_t run = 0; run < runs.count && kw_normalized_query_can_continue(normalized, arena); run++)
            made.items[made.count++] = draft_run(analysis, branch, &runs.items[run], arena);
    }
    *ret_drafts = made;
    return true;
}

/* ---------------------------------------------------------------------------------------------------- */

bool
kw_drafts_make(const kw_path_analysis *analysis, const kw_normalized_query *normalized,
               const kw_branches *branches, size_t limit, kw_arena *arena, kw_drafts *ret_drafts,
               bool *ret_loose, kw_error *ret_error)
{
    if (analysis->stop == KW_STOP_RUNS)
        return draft_runs(analysis, normalized, branches, limit, arena, ret_drafts, ret_loose, ret_error);
    if (!kw_normalized_query_can_hold(normalized, arena, branches->count * sizeof(kw_plan_draft)))
        return false; /* the caller returns the error */
    *ret_drafts = analysis->stop == KW_STOP_COMPLETE
                      ? draft_points(normalized, branches, arena)
                      : draft_ranges(analysis, normalized, branches, arena, ret_loose);
    return true;
}
