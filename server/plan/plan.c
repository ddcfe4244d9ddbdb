/* Plans: chooses the path, makes its ranges, and determines the conditions left to check. */
#include "plan/plan.h"

#include "plan/key_patterns.h"
#include "plan/notes.h"
#include "plan/refusal.h"
#include "plan/widening.h"
#include "plan/windows.h"
#include "rule/splits.h"
#include "schema/progress.h"

/* A hint path lacks the records in which a field of its tuple is absent. If the query does not name the path,
 * it must have a condition on each of these fields. */
static bool
may_choose(const kw_record_query *query, const kw_path *path)
{
    const kw_placement *scanned = kw_path_scanned(path);
    bool may = path->content == KW_CONTENT_RECORDS || !query->records_only;
    for (size_t i = 0; may && i < scanned->tuple_count; i++)
        may = kw_record_query_has_condition(query, scanned->tuple[i]);
    return may;
}

/* True if the query has exactly one value of each field in the key of a unique path. Its rows change when a
 * record gives a value to another one, so only a single row can be read at a moment. */
static bool
names_one_claim(const kw_normalized_query *normalized, const kw_path *path)
{
    bool one = true;
    for (size_t i = 0; one && i < path->placements->tuple_count; i++)
        one = normalized->bounds[path->placements->tuple[i]].count == 1;
    return one;
}

static bool
can_read(const kw_record_query *query, const kw_normalized_query *normalized, const kw_path *path)
{
    return !kw_path_is_filling(path) && (query->path >= 0 || may_choose(query, path)) &&
           (!path->unique || names_one_claim(normalized, path));
}

/* The best path for the query. Paths that are being filled cannot be read. */
static kw_path_analysis
choose(const kw_record_query *query, const kw_normalized_query *normalized, kw_arena *arena,
       kw_path_analysis *analyses, size_t *ret_count)
{
    size_t first = query->path < 0 ? 0 : (size_t)query->path;
    size_t end = query->path < 0 ? normalized->table->queried_paths_count : first + 1;
    kw_path_analysis best = {.path = NULL};
    *ret_count = 0;
    for (size_t index = first;
         index < end && (index == first || kw_normalized_query_can_continue(normalized, arena)); index++) {
        const kw_path *path = &normalized->table->paths[index];
        if (!can_read(query, normalized, path))
            continue;
        kw_path_analysis *analysis = &analyses[(*ret_count)++];
        const kw_placement *placement = query->placement ? query->placement : kw_path_scanned(path);
        kw_path_analysis_make(normalized, placement, query->order, arena, analysis);
        if (!best.path || kw_path_analysis_better(analysis, &best))
            best = *analysis;
    }
    return best;
}

static bool
refuse_filling(const kw_path *path, const char *need, kw_arena *arena, kw_error *ret_error)
{
    return kw_error_set(ret_error, KW_REFUSED,
                        "table %s: %s path %s, which is being filled and does not have all records yet: %s "
                        "(see keyway change status %s)",
                        path->table->name, need, path->name, kw_path_filled_text(path, arena),
                        path->table->name);
}

/* True, with REFUSED, if a path that is being filled could answer the query, and the other paths cannot, or
 * only by reading all rows. */
static bool
refuse_if_only_filling(const kw_record_query *query, const kw_normalized_query *normalized,
                       const kw_path_analysis *best, kw_arena *arena, kw_error *ret_error)
{
    bool whole = query->full_scan || query->limit > 0;
    if (best->eligible && (best->narrow || query->full_scan))
        return false;
    const kw_table *table = normalized->table;
    for (size_t index = 0; query->path < 0 && index < table->queried_paths_count; index++) {
        const kw_path *path = &table->paths[index];
        kw_path_analysis analysis;
        if (!kw_path_is_filling(path))
            continue;
        kw_path_analysis_make(normalized, path->placements, query->order, arena, &analysis);
        if (!analysis.eligible || !(analysis.narrow || (whole && !best->eligible)))
            continue;
        refuse_filling(path, "this query needs", arena, ret_error);
        return true;
    }
    return false;
}

static bool
fail_no_order(const kw_normalized_query *normalized, kw_order order, const kw_path_analysis *analyses,
              size_t count, kw_arena *arena, kw_error *ret_error)
{
    const char *reasons = "";
    for (size_t index = 0; index < count; index++)
        reasons = kw_arena_printf(arena, "%s%s%s", reasons, index ? "; " : "", analyses[index].why_not);
    return kw_error_set(ret_error, KW_INVALID, "table %s: this query cannot be answered in %s order: %s",
                        normalized->table->name, order == KW_ORDER_ASCENDING ? "ascending" : "descending",
                        reasons);
}

/* The whole table may be read if the caller allows it, or if a limit ends the scan after that many rows. */
static bool
may_read_all(const kw_record_query *query, const kw_path_analysis *analysis, bool residual)
{
    return analysis->narrow || query->full_scan || (query->limit > 0 && !residual);
}

/* --------------------------------------------------------------------------------------------------- */

/* The ranges of a plan, and the analysis that they were made from. */
typedef struct kw_made {
    const kw_path_analysis *analysis;
    const kw_normalized_query *normalized;
    kw_ranges ranges;
} kw_made;

/* Records in the query, for cursors, that its ranges were widened. A window has the limit itself. */
static const kw_record_query *
note_widening(const kw_record_query *asked, size_t limit, kw_arena *arena)
{
    kw_record_query *query = KW_ARENA_NEW(arena, kw_record_query);
    *query = *asked;
    query->widened_for = limit;
    return query;
}

/* Makes the ranges of a plan that cannot be widened by time. If they are too many, widens them by key. */
static bool
make_or_widen(const kw_record_query *query, const kw_path_analysis *exact, kw_notes *notes, kw_plan *plan,
              kw_made *made, kw_error *ret_error)
{
    kw_arena *arena = notes->arena;
    kw_path_analysis *wide = KW_ARENA_NEW(arena, kw_path_analysis);
    size_t limit = made->normalized->range_limit;
    bool widens = kw_widen_by_key(exact, made->normalized, query->order, query->full_scan, arena, wide);
    if (!widens)
        return kw_ranges_make(exact, made->normalized, limit, arena, &made->ranges, ret_error);
    kw_error error;
    kw_arena_mark mark = kw_arena_mark_now(arena);
    if (kw_ranges_make(exact, made->normalized, limit, arena, &made->ranges, &error))
        return true;
    bool over = made->normalized->effort && made->normalized->effort->over;
    if (error.code != KW_LIMIT || over) {
        *ret_error = error;
        return false;
    }
    kw_arena_rewind(arena, mark);
    made->analysis = wide;
    plan->query = plan->query->window.limit ? plan->query : note_widening(plan->query, limit, arena);
    kw_notes_widened(notes, exact, made->normalized);
    return kw_widening_check(exact, wide, made->normalized, ret_error) &&
           kw_ranges_make(wide, made->normalized, limit, arena, &made->ranges, ret_error);
}

static bool
make_ranges(const kw_normalized_query *whole, const kw_path_analysis *exact, kw_notes *notes, kw_plan *plan,
            kw_made *ret_made, kw_error *ret_error)
{
    const kw_record_query *query = plan->query;
    kw_path_analysis *wide = KW_ARENA_NEW(notes->arena, kw_path_analysis);
    if (!kw_widen_by_time(exact, whole, query->order, notes->arena, wide))
        wide = NULL;
    if (exact->windowed && exact->window_most == 0 && !wide)
        return kw_refuse_ranges_of_moment(exact, whole, ret_error);
    bool reads_wide;
    kw_made made = {.analysis = exact};
    made.normalized = kw_windows_take(exact, wide, whole, notes->arena, notes, plan, &reads_wide);
    if (reads_wide)
        made.analysis = wide;
    if (reads_wide && !kw_widening_check(exact, wide, whole, ret_error))
        return false;
    bool good = wide ? kw_ranges_make(made.analysis, made.normalized, made.normalized->range_limit,
                                      notes->arena, &made.ranges, ret_error)
                     : make_or_widen(query, exact, notes, plan, &made, ret_error);
    *ret_made = made;
    return good;
}

static bool
fill(const kw_normalized_query *whole, const kw_path_analysis *exact, kw_arena *arena, kw_plan *plan,
     kw_error *ret_error)
{
    kw_made made;
    kw_notes notes = {.arena = arena};
    if (!make_ranges(whole, exact, &notes, plan, &made, ret_error))
        return false;
    const kw_path_analysis *analysis = made.analysis;
    kw_notes_ranges(&notes, analysis, made.normalized, &made.ranges);
    plan->normalized = made.normalized;
    plan->whole = whole;
    plan->residual = kw_notes_residual(&notes, analysis, made.normalized, made.ranges.loose,
                                       &plan->expected_reads_per_row);
    plan->ranges = made.ranges.ranges;
    plan->ranges_count = made.ranges.count;
    plan->groups = made.ranges.groups;
    plan->groups_count = made.ranges.groups_count;
    plan->reversed = analysis->reversed;
    plan->point = analysis->stop == KW_STOP_COMPLETE;
    plan->clock = made.ranges.clock;
    if (plan->residual) {
        kw_key_patterns patterns = kw_key_patterns_make(analysis, made.normalized, arena);
        plan->patterns = patterns.patterns;
        plan->patterns_count = patterns.count;
    }
    plan->notes = notes.texts;
    plan->notes_count = notes.count;
    return true;
}

/* All ranges of a plan are in one placement, because no operation scans two of a path. */
static void
set_placement(const kw_placement *placement, kw_arena *arena, kw_plan *plan)
{
    const kw_placement **placements = KW_ARENA_ARRAY(arena, const kw_placement *, 1);
    placements[0] = placement;
    plan->placements = placements;
    plan->placements_count = 1;
}

/* A plan without ranges on any path, for a query that no record can match. */
static kw_plan *
empty_plan(const kw_record_query *query, const kw_normalized_query *normalized, kw_arena *arena)
{
    const char **notes = KW_ARENA_ARRAY(arena, const char *, 1);
    notes[0] = "no record can meet these conditions together: nothing is read";
    const kw_path *path = &normalized->table->paths[MAX(query->path, 0)];
    kw_plan *plan = KW_ARENA_NEW(arena, kw_plan);
    *plan = (kw_plan){
        .query = query,
        .path = path,
        .expected_reads_per_row = 1,
        .notes = notes,
        .notes_count = 1,
        .clock = -1,
        .normalized = normalized,
        .whole = normalized,
    };
    set_placement(query->placement ? query->placement : kw_path_scanned(path), arena, plan);
    return plan;
}

/* True, with INVALID, if a hint path could answer the query, if the query named it. */
static bool
refuse_if_unnamed(const kw_record_query *query, const kw_normalized_query *normalized, kw_arena *arena,
                  kw_error *ret_error)
{
    const kw_table *table = normalized->table;
    for (size_t index = 0; query->path < 0 && index < table->queried_paths_count; index++) {
        const kw_path *path = &table->paths[index];
        kw_path_analysis analysis;
        if (query->records_only || kw_path_is_filling(path) || path->unique || may_choose(query, path))
            continue;
        kw_path_analysis_make(normalized, kw_path_scanned(path), query->order, arena, &analysis);
        if (!analysis.eligible || !analysis.narrow)
            continue;
        const char *unbound = kw_refusal_unbound(query, path, arena);
        kw_error_set(ret_error, KW_INVALID,
                     "table %s: this query would read the whole table; name path %s, which has the records "
                     "with a value of %s, or add conditions on %s",
                     table->name, path->name, unbound, unbound);
        return true;
    }
    return false;
}

static bool
refuse_part_of_claim(const kw_path *path, kw_arena *arena, kw_error *ret_error)
{
    return kw_error_set(
        ret_error, KW_INVALID,
        "table %s: the path %s is unique and finds one record: give exactly one value of each "
        "field in its key (%s), or use another path",
        path->table->name, path->name, kw_placement_tuple_names(path->placements, arena));
}

static bool
make(const kw_record_query *query, const kw_normalized_query *normalized, kw_arena *arena,
     const kw_plan **ret_plan, kw_error *ret_error)
{
    const kw_path *named = query->path < 0 ? NULL : &query->table->paths[query->path];
    if (named && named->unique && !names_one_claim(normalized, named))
        return refuse_part_of_claim(named, arena, ret_error);
    kw_path_analysis *analyses =
        KW_ARENA_ARRAY(arena, kw_path_analysis, normalized->table->queried_paths_count);
    size_t count;
    kw_path_analysis best = choose(query, normalized, arena, analyses, &count);
    if (refuse_if_only_filling(query, normalized, &best, arena, ret_error))
        return false;
    if (!may_read_all(query, &best, !best.eligible) && refuse_if_unnamed(query, normalized, arena, ret_error))
        return false;
    if (!best.eligible)
        return fail_no_order(normalized, query->order, analyses, count, arena, ret_error);
    if (!best.narrow && !query->full_scan && query->limit == 0)
        return kw_refuse_whole_table(query, normalized, analyses, count, arena, ret_error);
    kw_plan *plan = KW_ARENA_NEW(arena, kw_plan);
    *plan = (kw_plan){.query = query, .path = best.path};
    set_placement(best.placement, arena, plan);
    if (!fill(normalized, &best, arena, plan, ret_error))
        return false;
    if (!may_read_all(query, &best, plan->residual))
        return !refuse_if_unnamed(query, normalized, arena, ret_error) &&
               kw_refuse_whole_table(query, normalized, analyses, count, arena, ret_error);
    *ret_plan = plan;
    return true;
}

bool
kw_plan_make_within(const kw_record_query *query, kw_effort *effort, kw_arena *arena,
                    const kw_plan **ret_plan, kw_error *ret_error)
{
    g_assert(query->path < (int)query->table->queried_paths_count);
    g_assert(!query->placement || query->placement->path == &query->table->paths[query->path]);
    const kw_normalized_query *normalized;
    const kw_path *named = query->path < 0 ? NULL : &query->table->paths[query->path];
    if (named && kw_path_is_filling(named))
        return refuse_filling(named, "the query names", arena, ret_error);
    size_t held = effort ? effort->held : 0;
    if (!kw_normalized_query_make(query, effort, arena, &normalized, ret_error))
        return false;
    if (normalized->empty) {
        *ret_plan = empty_plan(query, normalized, arena);
        return true;
    }
    bool good = make(query, normalized, arena, ret_plan, ret_error);
    if (!effort)
        return good;
    effort->held = held;
    return effort->over ? kw_normalized_query_fail(normalized, ret_error) : good;
}

bool
kw_plan_make(const kw_record_query *query, kw_arena *arena, const kw_plan **ret_plan, kw_error *ret_error)
{
    return kw_plan_make_within(query, NULL, arena, ret_plan, ret_error);
}

/* --- conditions checked per row -------------------------------------------------------------------- */

/* For a plan built by hand, which has no normalized query: checks the query itself. */
static bool
query_matches(const kw_record_query *query, const kw_value *values)
{
    for (size_t field = 0; field < query->table->fields_count; field++) {
        const kw_bound *bound = &query->bounds[field];
        bool found = bound->count == 0;
        for (size_t index = 0; index < bound->count && !found; index++)
            found = kw_value_compare(bound->values[index], values[field]) == 0;
        if (!found)
            return false;
    }
    kw_value end;
    if (query->range_field < 0)
        return true;
    kw_value value = values[query->range_field];
    end = query->from;
    if (end.kind != KW_VALUE_NONE && kw_value_compare(value, end) < (query->from_inclusive ? 0 : 1))
        return false;
    end = query->to;
    return value.kind != KW_VALUE_NONE &&
           (end.kind == KW_VALUE_NONE || kw_value_compare(value, end) <= (query->to_inclusive ? 0 : -1));
}

bool
kw_plan_matches(const kw_plan *plan, const kw_record *record)
{
    return plan->normalized ? kw_normalized_query_match(plan->normalized, NULL, record->values)
                            : query_matches(plan->query, record->values);
}

/* value: of the field plan->clock. */
static bool
is_in_time(const kw_range *range, kw_value value)
{
    return !range->timed ||
           (value.kind == KW_VALUE_NUMBER && value.number >= range->least && value.number <= range->most);
}

bool
kw_plan_matches_in(const kw_plan *plan, size_t range, const kw_record *record)
{
    g_assert(range < plan->ranges_count);
    const kw_range *here = &plan->ranges[range];
    return (!here->timed || is_in_time(here, record->values[plan->clock])) && kw_plan_matches(plan, record);
}

bool
kw_plan_key_matches_in(const kw_plan *plan, size_t range, const kw_record *record)
{
    g_assert(range < plan->ranges_count);
    const kw_range *here = &plan->ranges[range];
    bool in_time = !here->timed || !kw_plan_keys_hold(plan, (size_t)plan->clock) ||
                   is_in_time(here, record->values[plan->clock]);
    return in_time &&
           kw_normalized_query_match(plan->normalized, plan->placements[0]->layout, record->values);
}

kw_plan_part
kw_plan_part_of(const kw_plan *plan, const kw_layout *known, const kw_record *record)
{
    if (!kw_normalized_query_match(plan->whole, known, record->values))
        return KW_PART_NONE;
    if (kw_normalized_query_match(plan->normalized, known, record->values))
        return KW_PART_PRESENT;
    const kw_window *rest = &plan->rest;
    int64_t number = record->values[plan->whole->span.field].number;
    bool later = rest->limit > 0 && number >= rest->least && number <= rest->most;
    return later ? KW_PART_LATER : KW_PART_EARLIER;
}

bool
kw_plan_keys_hold(const kw_plan *plan, size_t field)
{
    g_assert(field < plan->query->table->fields_count);
    bool hold = true;
    for (size_t index = 0; index < plan->placements_count; index++)
        hold = hold && kw_layout_holds_field(plan->placements[index]->layout, field);
    return hold;
}

bool
kw_plan_keys_hold_coarsely(const kw_plan *plan, size_t field)
{
    bool coarsely = false;
    for (size_t index = 0; index < plan->placements_count; index++)
        coarsely = coarsely || kw_layout_holds_coarsely(plan->placements[index]->layout, field);
    return coarsely;
}

/* --- for people ------------------------------------------------------------------------------------ */

/* Maximum number of groups in the text, and of ranges of each group. */
#define RANGES_SHOWN 8

static void
print_group(const kw_plan *plan, const kw_merge_group *group, kw_arena *arena, kw_buffer *out)
{
    if (group->count > 1)
        kw_buffer_printf(out, "  merge of %zu ranges\n", group->count);
    for (size_t index = 0; index < group->count && index < RANGES_SHOWN; index++) {
        const kw_range *range = &plan->ranges[group->first + index];
        const char *start = kw_bytes_to_binary_text(range->start, arena);
        if (plan->point)
            kw_buffer_printf(out, "    row %s\n", start);
        else
            kw_buffer_printf(out, "    from %s to %s\n", range->start.size ? start : "the beginning",
                             range->stop.size ? kw_bytes_to_binary_text(range->stop, arena) : "the end");
    }
    if (group->count > RANGES_SHOWN)
        kw_buffer_printf(out, "    ... and %zu more\n", group->count - RANGES_SHOWN);
}

const char *
kw_plan_text(const kw_plan *plan, kw_arena *arena)
{
    g_auto(kw_buffer) out = KW_BUFFER_EMPTY;
    const kw_layout *layout = plan->placements[0]->layout;
    kw_buffer_printf(&out, "table %s by path %s (layout %u, store table %s)%s\n", plan->query->table->name,
                     plan->path->name, kw_layout_number(layout), kw_layout_store_table(layout),
                     plan->reversed ? ", read backwards" : "");
    kw_buffer_printf(&out, "%zu ranges in %zu groups%s, about %.2f rows scanned per row returned\n",
                     plan->ranges_count, plan->groups_count, plan->rest.limit ? " (and more to follow)" : "",
                     plan->expected_reads_per_row);
    for (size_t index = 0; index < plan->groups_count && index < RANGES_SHOWN; index++)
        print_group(plan, &plan->groups[index], arena, &out);
    if (plan->groups_count > RANGES_SHOWN)
        kw_buffer_printf(&out, "  ... and %zu groups more\n", plan->groups_count - RANGES_SHOWN);
    for (size_t index = 0; index < plan->notes_count; index++)
        kw_buffer_printf(&out, "- %s\n", plan->notes[index]);
    return kw_arena_text(arena, kw_buffer_bytes(&out));
}
