/* Sorts, joins and groups the ranges that drafts.c makes from the branches. The stop of the path (kw_stop)
 * determines the groups:
 *
 *   COMPLETE             one group of single row keys, in key order
 *   RANGE, ORDERED       one group, whose ranges are merged; several groups if the branches contain
 *                        disjoint intervals of the field that orders the rows. Adjacent groups with a
 *                        single range each are then joined
 *   TRIVIAL, UNORDERED   one group per range, in key order; adjacent ranges are joined first. But as for
 *                        RANGE if a clock fanned out into the pieces of a range (analysis->listed)
 *   RUNS                 one group per interval of time, in the order of time; but as for TRIVIAL if the
 *                        rows have no order in time (analysis->concat)
 */
#include "plan/ranges.h"

#include "plan/drafts.h"

#include <stdlib.h>

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
    const kw_range *left = &((const kw_plan_draft *)a)->range, *right = &((const kw_plan_draft *)b)->range;
    int order = kw_bytes_compare(left->start, right->start);
    return order ? order : compare_stops(left->stop, right->stop);
}

/* Compares ranges by key, and equal ranges by the time that their rows must have. */
static int
compare_drafts(const void *a, const void *b)
{
    const kw_range *left = &((const kw_plan_draft *)a)->range, *right = &((const kw_plan_draft *)b)->range;
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
    const kw_plan_draft *left = a, *right = b;
    int order = (left->least > right->least) - (left->least < right->least);
    return order ? order : compare_ranges(a, b);
}

/* Orders by group. Within a group, ranges are in key order, even when rows are read in reverse: rows with
 * equal suffixes are returned in the order of their ranges. */
static int
compare_groups(const void *a, const void *b)
{
    const kw_plan_draft *left = a, *right = b;
    if (left->range.group != right->range.group)
        return left->range.group < right->range.group ? -1 : 1;
    return compare_drafts(a, b);
}

static void
turn_around(kw_drafts *drafts)
{
    for (size_t low = 0, high = drafts->count; low + 1 < high; low++, high--) {
        kw_plan_draft swap = drafts->items[low];
        drafts->items[low] = drafts->items[high - 1];
        drafts->items[high - 1] = swap;
    }
}

static bool
all_narrowed(const kw_drafts *drafts)
{
    bool all = true;
    for (size_t index = 0; index < drafts->count; index++)
        all = all && drafts->items[index].narrowed;
    return all;
}

/* Groups ranges whose spans overlap; the groups are in the order of the field. */
static void
group_by_span(kw_drafts *drafts, bool falling)
{
    if (!all_narrowed(drafts))
        return; /* a range without known limits overlaps all others: one group */
    sort_drafts(drafts, compare_spans);
    uint32_t group = 0;
    int64_t reach = 0;
    for (size_t index = 0; index < drafts->count; index++) {
        kw_plan_draft *draft = &drafts->items[index];
        if (index > 0 && draft->least > reach)
            group++;
        reach = index > 0 ? MAX(reach, draft->most) : draft->most;
        draft->range.group = group;
    }
    for (size_t index = 0; falling && index < drafts->count; index++)
        drafts->items[index].range.group = group - drafts->items[index].range.group;
    sort_drafts(drafts, compare_groups);
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

/* Joins adjacent groups that consist of one range each. Returns the number of groups. */
static uint32_t
join_groups(kw_drafts *drafts, bool reversed)
{
    size_t kept = 0;
    uint32_t groups = 0, group_before = 0;
    bool single_before = false;
    for (size_t index = 0; index < drafts->count; index++) {
        kw_plan_draft draft = drafts->items[index];
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

static void
group_each(kw_drafts *drafts)
{
    for (size_t index = 0; index < drafts->count; index++) {
        drafts->items[index].range.group = (uint32_t)index;
        drafts->items[index].range.skip = 0; /* joined ranges can have different prefixes */
    }
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
        kw_drafts_make(analysis, normalized, &branches, limit, arena, &drafts, &ret_ranges->loose, ret_error);
    if (!kw_normalized_query_can_hold(normalized, arena, drafts.count * sizeof(kw_range)))
        return kw_normalized_query_fail(normalized, ret_error);
    if (!drafted)
        return false;
    bool whole = analysis->stop == KW_STOP_COMPLETE;
    bool concat =
        analysis->stop == KW_STOP_RUNS
            ? analysis->concat
            : (analysis->stop == KW_STOP_TRIVIAL || analysis->stop == KW_STOP_UNORDERED) && !analysis->listed;
    sort_drafts(&drafts, compare_drafts);
    unify(&drafts, concat);
    if (concat) {
        if (analysis->reversed)
            turn_around(&drafts);
        group_each(&drafts);
    } else if (!whole) {
        group_by_span(&drafts, analysis->descending);
    }
    uint32_t groups = join_groups(&drafts, analysis->reversed);
    settle(&drafts, groups, analysis->placement, arena, ret_ranges);
    memcpy(ret_ranges->fanned, branches.fanned, sizeof branches.fanned);
    return true;
}
