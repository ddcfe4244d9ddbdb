/* One query under one candidate: its plan, and the rows of the sample that the plan would read. */
#include "advise/advise_internal.h"
#include "plan/pace.h"

/* Approximate cost of examining a range or a record, in units of an effort. */
#define COUNT_COST 200

static size_t
count_in_range(const kw_plan *plan, const kw_range *range, const kw_keyed *keyed)
{
    size_t first = kw_keyed_before(keyed, range->start), end = first;
    if (!plan->point)
        end = range->stop.size ? kw_keyed_before(keyed, range->stop) : keyed->count;
    while (plan->point && end < keyed->count && kw_bytes_compare(keyed->sorted[end], range->start) == 0)
        end++;
    return end > first ? end - first : 0;
}

/* Counts the keys of the sample within the ranges. ret_merged: number of ranges of the first group that
 * contain any. */
static size_t
count_scanned(const kw_plan *plan, const kw_keyed *keyed, size_t *ret_merged)
{
    size_t scanned = 0;
    *ret_merged = 0;
    for (size_t index = 0; index < plan->ranges_count && kw_effort_spend(keyed->effort, COUNT_COST);
         index++) {
        size_t count = count_in_range(plan, &plan->ranges[index], keyed);
        *ret_merged += count > 0 && plan->ranges[index].group == plan->ranges[0].group;
        scanned += count;
    }
    return scanned;
}

static size_t
count_matching(const kw_plan *plan, const kw_keyed *keyed)
{
    size_t matching = 0;
    for (size_t index = 0; index < keyed->count && kw_effort_spend(keyed->effort, COUNT_COST); index++)
        matching += kw_plan_matches(plan, &keyed->records[keyed->record_of[index]]);
    return matching;
}

/* A limit ends the scan early; each merged range has read up to one row more by then. */
static void
count_limit(const kw_record_query *query, size_t merged, kw_advised_query *counted)
{
    if (query->limit == 0 || query->limit >= counted->matching)
        return;
    double each = (double)counted->scanned / (double)counted->matching;
    size_t read = (size_t)(each * (double)query->limit + 0.5) + (merged > 0 ? merged - 1 : 0);
    counted->scanned = MIN(counted->scanned, read);
    counted->matching = query->limit;
}

/* True if the same path can return the rows sorted by the field after the bound ones. */
static bool
is_ordered(const kw_record_query *query, const kw_plan *plan, kw_effort *effort)
{
    if (query->order != KW_ORDER_PATH)
        return true;
    g_autoptr(kw_arena) arena = kw_arena_new();
    kw_record_query ordered = *query;
    const kw_plan *again;
    kw_error ignored;
    ordered.order = KW_ORDER_ASCENDING;
    ordered.path = (int)(plan->path - query->table->paths);
    return kw_plan_make_within(&ordered, effort, arena, &again, &ignored);
}

/* Maximum number of windows whose ranges are counted: together they have about a million ranges. */
#define WINDOWS_MAX 500

/* Adds the counts of the windows after the plan's. False if there are too many, or if one has no plan. */
static bool
count_windows(const kw_plan *first, const kw_keyed *keyed, kw_advised_query *counted)
{
    kw_record_query query = *first->query;
    kw_pace pace = {.wide_ranges = 0};
    kw_pace_cost cost = {.rows = counted->scanned};
    kw_pace_next(&pace, first, &cost, &query);
    for (size_t windows = 1; query.window.limit > 0 && kw_effort_spend(keyed->effort, KW_EFFORT_LOOK);
         windows++) {
        g_autoptr(kw_arena) arena = kw_arena_new();
        const kw_plan *plan;
        kw_error ignored;
        size_t merged;
        if (windows == WINDOWS_MAX || !kw_plan_make_within(&query, keyed->effort, arena, &plan, &ignored))
            return false;
        cost.rows = count_scanned(plan, keyed, &merged);
        counted->ranges += plan->ranges_count;
        counted->groups += plan->groups_count;
        counted->scanned += cost.rows;
        counted->matching += count_matching(plan, keyed);
        kw_pace_next(&pace, plan, &cost, &query);
    }
    return true;
}

void
kw_advise_run_query(const kw_candidate_query *from, const kw_keyed *keyed, kw_arena *arena,
                    kw_advised_query *ret_query)
{
    g_autoptr(kw_arena) own = kw_arena_new();
    const kw_record_query *query = &from->query;
    const kw_plan *plan;
    kw_error error;
    *ret_query = (kw_advised_query){.refusal = from->refusal};
    if (from->refusal)
        return;
    if (!kw_plan_make_within(query, keyed->effort, own, &plan, &error)) {
        ret_query->refusal = kw_arena_printf(arena, "%s", error.text);
        return;
    }
    const kw_keyed *under = &keyed[plan->path - query->table->paths];
    size_t merged;
    *ret_query = (kw_advised_query){
        .path = plan->path,
        .ranges = plan->ranges_count,
        .groups = plan->groups_count,
        .point = plan->point,
        .ordered = is_ordered(query, plan, keyed->effort),
        .expected_reads_per_row = plan->expected_reads_per_row,
        .scanned = count_scanned(plan, under, &merged),
        .matching = count_matching(plan, under),
    };
    if (count_windows(plan, under, ret_query))
        count_limit(query, merged, ret_query);
    else
        *ret_query = (kw_advised_query){
            .refusal = "more than a million ranges are too many for advise, but a gateway accepts the query; "
                       "query a shorter time"};
}
