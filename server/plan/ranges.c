/* Converts branches to ranges, and ranges to groups. The stop of the path (kw_stop) determines the groups:
 *
 *   COMPLETE             one group of single row keys, in key order
 *   RANGE, ORDERED       one group, whose ranges are merged; several groups if the branches contain
 *                        disjoint intervals of the field that orders the rows. Adjacent groups with a
 *                        single range each are then joined
 *   TRIVIAL, UNORDERED   one group per range, in key order; adjacent ranges are joined first
 *   RUNS                 one group per interval of time, in the order of time; but as for TRIVIAL if the
 *                        rows have no order in time (analysis->concat)
 */
#include "plan/ranges.h"

#include "plan/branch.h"
#include "plan/ends.h"

#include <stdlib.h>

/* A range under construction. */
typedef struct kw_draft {
    kw_range range;
    bool narrowed;
    int64_t least;
    int64_t most;
} kw_draft;

typedef struct kw_drafts {
    kw_draft *items;
    size_t count, capacity;
} kw_drafts;

static int
compare_stops(kw_bytes a, kw_bytes b)
{
    if (a.size == 0 || b.size == 0) /* an empty stop is the table's end */
        return (a.size == 0) - (b.size == 0);
    return kw_bytes_compare(a, b);
}

static int
compare_ranges(const void *a, const void *b)
{
    const kw_range *left = &((const kw_draft *)a)->range, *right = &((const kw_draft *)b)->range;
    int order = kw_bytes_compare(left->start, right->start);
    return order ? order : compare_stops(left->stop, right->stop);
}

/* Compares ranges by key, and equal ranges by the time that their rows must have. */
static int
compare_drafts(const void *a, const void *b)
{
    const kw_range *left = &((const kw_draft *)a)->range, *right = &((const kw_draft *)b)->range;
    int order = compare_ranges(a, b);
    return order ? order : (left->least > right->least) - (left->least < right->least);
}

/* Sorts the drafts unless they are in order already, as the buckets of a salt are. */
static void
sort_drafts(kw_drafts *drafts, int (*compare)(const void *, const void *))
{
    for (size_t index = 1; index < drafts->count; index++) {
        if (compare(&drafts->items[index - 1], &drafts->items[index]) > 0) {
            qsort(drafts->items, drafts->count, sizeof *drafts->items, compare);
            return;
        }
    }
}

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
 * keys of other values (analysis->foreign). */
static uint32_t
tail_width(const kw_path_analysis *analysis)
{
    uint32_t width = 0;
    for (size_t index = analysis->used; index < kw_layout_component_count(analysis->layout); index++)
        width += kw_layout_component(analysis->layout, index)->width;
    return width;
}

/* The query's range, cut to the values that a branch can contain. */
static kw_span
span_within(const kw_span *span, const kw_branch *branch)
{
    kw_span cut = *span;
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

/* Drafts one range per branch, each with a single key. This loop and those below end early when the plan's
 * effort is used up; kw_ranges_make then returns the error. */
static kw_drafts
draft_points(const kw_normalized_query *normalized, const kw_branches *branches, kw_arena *arena)
{
    kw_drafts made = {.items = KW_ARENA_ARRAY(arena, kw_draft, branches->count), .count = branches->count};
    for (size_t index = 0; index < branches->count && kw_normalized_query_can_continue(normalized, arena);
         index++)
        made.items[index].range = point_of(branches->items[index].prefix, arena);
    return made;
}

static void
set_timed(kw_draft *draft, bool timed)
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
    kw_drafts made = {.items = KW_ARENA_ARRAY(arena, kw_draft, branches->count)};
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
            kw_span cut = span_within(&normalized->span, branch);
            here = kw_ends_of(stop, &cut, arena);
        }
        if (here.empty)
            continue;
        kw_draft *draft = &made.items[made.count++];
        draft->range = range_of(branch->prefix, &here, arena);
        draft->range.at = (uint32_t)branch->prefix.size;
        draft->narrowed = (ranged || analysis->listed) && branch->narrowed;
        draft->least = branch->least;
        draft->most = branch->most;
        set_timed(draft, branch->timed && !ranged);
        if (analysis->foreign)
            draft->range.row_size = (uint32_t)branch->prefix.size + tail;
    }
    return made;
}

/* --- runs of a clock -------------------------------------------------------------------------------- */

static kw_draft
draft_run(const kw_path_analysis *analysis, const kw_branch *branch, const kw_piece_run *run, kw_arena *arena)
{
    kw_bytes stop = joined(branch->prefix, run->high, arena);
    kw_draft draft = {.range = {.start = joined(branch->prefix, run->low, arena),
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
    if (run->sized || analysis->foreign)
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
    if (!kw_normalized_query_can_hold(normalized, arena, wanted * sizeof(kw_draft)))
        return false;
    kw_draft *items = KW_ARENA_ARRAY(arena, kw_draft, wanted);
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
        kw_span span = normalized->span.field == clock->clock ? span_within(&normalized->span, branch)
                                                              : normalized->span;
        kw_piece_runs runs;
        if (!clock->kind->runs(clock, branch->values, &span, arena, &runs, ret_error))
            return false;
        *ret_loose = *ret_loose || runs.loose;
        if (made.count + runs.count > limit)
            return kw_error_set(
                ret_error, KW_LIMIT,
                "table %s: the query needs more than %zu ranges of path %s; query less at once",
                normalized->table->name, limit, analysis->path->name);
        if (!reserve_drafts(&made, runs.count, branches->count, limit, normalized, arena))
            return false; /* kw_ranges_make returns the error */
        for (size_t run = 0; run < runs.count && kw_normalized_query_can_continue(normalized, arena); run++)
            made.items[made.count++] = draft_run(analysis, branch, &runs.items[run], arena);
    }
    *ret_drafts = made;
    return true;
}

/* ---------------------------------------------------------------------------------------------------- */

/* True if the two ranges accept rows of different times, so that they must not be joined. */
static bool
differ_in_time(const kw_range *a, const kw_range *b)
{
    return (a->timed || b->timed) && a->least != b->least;
}

static bool
is_duplicate(const kw_range *last, const kw_range *next)
{
    return compare_ranges(last, next) == 0 && last->row_size == next->row_size && !differ_in_time(last, next);
}

/* True if the next range, which does not start before the last one, begins at its end or within it. */
static bool
is_adjacent(const kw_range *last, const kw_range *next)
{
    bool reached = last->stop.size == 0 || kw_bytes_compare(next->start, last->stop) <= 0;
    return reached && !differ_in_time(last, next);
}

/* Extends the last range to the end of the next one. Drops properties that do not apply to the keys of
 * both. */
static void
cover_both(kw_range *last, const kw_range *next)
{
    if (compare_stops(last->stop, next->stop) < 0)
        last->stop = next->stop;
    last->row_size = last->row_size == next->row_size ? last->row_size : 0;
    last->at = last->at == next->at ? last->at : KW_RANGE_NOWHERE;
}

/* Removes duplicates from sorted ranges. With `join`, also joins adjacent and overlapping ones. */
static void
unify(kw_drafts *drafts, bool join)
{
    size_t kept = 0;
    for (size_t index = 0; index < drafts->count; index++) {
        const kw_range *next = &drafts->items[index].range;
        kw_range *last = kept ? &drafts->items[kept - 1].range : NULL;
        if (last && (is_duplicate(last, next) || (join && is_adjacent(last, next))))
            cover_both(last, next);
        else
            drafts->items[kept++] = drafts->items[index];
    }
    drafts->count = kept;
}

static int
compare_spans(const void *a, const void *b)
{
    const kw_draft *left = a, *right = b;
    int order = (left->least > right->least) - (left->least < right->least);
    return order ? order : compare_ranges(a, b);
}

/* Orders by group. Within a group, ranges are in key order, even when rows are read in reverse: rows with
 * equal suffixes are returned in the order of their ranges. */
static int
compare_groups(const void *a, const void *b)
{
    const kw_draft *left = a, *right = b;
    if (left->range.group != right->range.group)
        return left->range.group < right->range.group ? -1 : 1;
    return compare_drafts(a, b);
}

static void
turn_around(kw_drafts *drafts)
{
    for (size_t low = 0, high = drafts->count; low + 1 < high; low++, high--) {
        kw_draft swap = drafts->items[low];
        drafts->items[low] = drafts->items[high - 1];
        drafts->items[high - 1] = swap;
    }
}

/* Groups ranges whose spans overlap; the groups are in the order of the field. Returns their number. */
static uint32_t
group_by_span(kw_drafts *drafts, bool falling)
{
    for (size_t index = 0; index < drafts->count; index++) {
        if (!drafts->items[index].narrowed)
            return drafts->count > 0; /* a range without known limits overlaps all others: one group */
    }
    sort_drafts(drafts, compare_spans);
    uint32_t group = 0;
    int64_t reach = 0;
    for (size_t index = 0; index < drafts->count; index++) {
        kw_draft *draft = &drafts->items[index];
        if (index > 0 && draft->least > reach)
            group++;
        reach = index > 0 ? MAX(reach, draft->most) : draft->most;
        draft->range.group = group;
    }
    for (size_t index = 0; falling && index < drafts->count; index++)
        drafts->items[index].range.group = group - drafts->items[index].range.group;
    sort_drafts(drafts, compare_groups);
    return drafts->count ? group + 1 : 0;
}

/* True if one range ends where the other begins, in the order of reading, and if a joined range would
 * accept the same rows. Ranges that accept only certain times must accept successive times. */
static bool
touches(const kw_range *before, const kw_range *here, bool reversed)
{
    const kw_range *low = reversed ? here : before, *high = reversed ? before : here;
    bool same_times = low->timed == high->timed &&
                      (!low->timed || (low->most < high->least && high->least - low->most == 1));
    return low->stop.size > 0 && kw_bytes_equal(low->stop, high->start) && low->row_size == high->row_size &&
           same_times;
}

/* Extends a range by the next one. */
static void
join(kw_range *range, const kw_range *next, bool reversed)
{
    range->start = reversed ? next->start : range->start;
    range->stop = reversed ? range->stop : next->stop;
    range->least = reversed ? next->least : range->least;
    range->most = reversed ? range->most : next->most;
    range->at = range->at == next->at ? range->at : KW_RANGE_NOWHERE;
    range->skip = 0;
}

/* Joins adjacent groups that consist of one range each. Returns the new number of groups. */
static uint32_t
join_groups(kw_drafts *drafts, bool reversed)
{
    size_t kept = 0;
    uint32_t groups = 0, group_before = 0;
    bool single_before = false;
    for (size_t index = 0; index < drafts->count; index++) {
        kw_draft draft = drafts->items[index];
        uint32_t group = draft.range.group;
        bool opens = index == 0 || group != group_before;
        bool single = opens && (index + 1 == drafts->count || group != drafts->items[index + 1].range.group);
        kw_range *last = kept ? &drafts->items[kept - 1].range : NULL;
        if (single && single_before && touches(last, &draft.range, reversed)) {
            join(last, &draft.range, reversed);
        } else {
            groups += opens;
            draft.range.group = groups - 1;
            drafts->items[kept++] = draft;
        }
        group_before = group;
        single_before = single;
    }
    drafts->count = kept;
    return groups;
}

static uint32_t
group_each(kw_drafts *drafts)
{
    for (size_t index = 0; index < drafts->count; index++) {
        drafts->items[index].range.group = (uint32_t)index;
        drafts->items[index].range.skip = 0; /* joined ranges can have different prefixes */
    }
    return (uint32_t)drafts->count;
}

static void
settle(const kw_drafts *drafts, uint32_t groups_count, const kw_placement *placement, kw_arena *arena,
       kw_ranges *ret_ranges)
{
    g_assert(groups_count <= drafts->count);
    kw_range *ranges = KW_ARENA_ARRAY(arena, kw_range, drafts->count);
    kw_merge_group *groups = KW_ARENA_ARRAY(arena, kw_merge_group, groups_count);
    for (size_t index = 0; index < drafts->count; index++) {
        ranges[index] = drafts->items[index].range;
        ranges[index].placement = placement;
        kw_merge_group *group = &groups[ranges[index].group];
        if (group->count++ == 0)
            group->first = index;
        g_assert(group->first + group->count == index + 1); /* the ranges of a group are adjacent */
    }
    ret_ranges->ranges = ranges;
    ret_ranges->count = drafts->count;
    ret_ranges->groups = groups;
    ret_ranges->groups_count = groups_count;
}

static bool
draft_all(const kw_path_analysis *analysis, const kw_normalized_query *normalized,
          const kw_branches *branches, size_t limit, kw_arena *arena, kw_drafts *ret_drafts, bool *ret_loose,
          kw_error *ret_error)
{
    if (analysis->stop == KW_STOP_RUNS)
        return draft_runs(analysis, normalized, branches, limit, arena, ret_drafts, ret_loose, ret_error);
    if (!kw_normalized_query_can_hold(normalized, arena, branches->count * sizeof(kw_draft)))
        return false; /* kw_ranges_make sets the error */
    *ret_drafts = analysis->stop == KW_STOP_COMPLETE
                      ? draft_points(normalized, branches, arena)
                      : draft_ranges(analysis, normalized, branches, arena, ret_loose);
    return true;
}

/* The timestamp field by which rows of timed ranges are checked; -1 if no range can be timed. */
static int
clock_of(const kw_path_analysis *analysis)
{
    for (size_t index = 0; index <= analysis->used && index < kw_layout_component_count(analysis->layout);
         index++) {
        const kw_component *component = kw_layout_component(analysis->layout, index);
        bool stops = index == analysis->used && analysis->stop == KW_STOP_RUNS;
        if (component->clock >= 0 && (stops || (index < analysis->used && analysis->fan_out[index])))
            return component->clock;
    }
    return -1;
}

bool
kw_ranges_make(const kw_path_analysis *analysis, const kw_normalized_query *normalized, size_t range_limit,
               kw_arena *arena, kw_ranges *ret_ranges, kw_error *ret_error)
{
    size_t limit = range_limit && range_limit < KW_PLAN_RANGES_MAX ? range_limit : KW_PLAN_RANGES_MAX;
    kw_branches branches;
    kw_drafts drafts = {.count = 0};
    *ret_ranges = (kw_ranges){.clock = clock_of(analysis)};
    if (!kw_branches_make(analysis, normalized, limit, arena, &branches, ret_error))
        return false;
    bool drafted =
        draft_all(analysis, normalized, &branches, limit, arena, &drafts, &ret_ranges->loose, ret_error);
    if (!kw_normalized_query_can_hold(normalized, arena, drafts.count * sizeof(kw_range)))
        return kw_normalized_query_fail(normalized, ret_error);
    if (!drafted)
        return false;
    bool whole = analysis->stop == KW_STOP_COMPLETE;
    bool concat =
        analysis->stop == KW_STOP_RUNS
            ? analysis->concat
            : (analysis->stop == KW_STOP_TRIVIAL || analysis->stop == KW_STOP_UNORDERED) && !analysis->listed;
    uint32_t groups;
    sort_drafts(&drafts, compare_drafts);
    unify(&drafts, concat);
    if (concat) {
        if (analysis->reversed)
            turn_around(&drafts);
        groups = group_each(&drafts);
    } else {
        groups = group_by_span(&drafts, whole ? false : analysis->falling);
    }
    if (!whole)
        groups = join_groups(&drafts, analysis->reversed);
    settle(&drafts, groups, analysis->placement, arena, ret_ranges);
    memcpy(ret_ranges->fanned, branches.fanned, sizeof branches.fanned);
    return true;
}
