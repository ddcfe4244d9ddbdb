#include "verb/pushdown.h"

#include "filter/filter.h"
#include "rule/splits.h"
#include "verb/conditions.h"

static kw_bytes
print(const kw_filter *filter, kw_arena *arena)
{
    g_auto(kw_buffer) text = KW_BUFFER_EMPTY;
    kw_filter_print(filter, &text);
    return kw_arena_copy(arena, kw_buffer_bytes(&text));
}

/* --- columns -------------------------------------------------------------------------------------- */

/* True if the columns read include one that every matching row must have. */
static bool
shows_existence(const kw_plan *plan)
{
    for (size_t i = 0; i < plan->query->table->fields_count; i++)
        if (kw_condition_needs_column(plan, i))
            return true;
    return false;
}

/* Passes the row's first cell and the columns: a row without any of them still appears through its first
 * cell. */
static const kw_filter *
first_or(const kw_column *columns, size_t count, kw_arena *arena)
{
    const kw_filter **parts = KW_ARENA_ARRAY(arena, const kw_filter *, count + 1);
    kw_filter *first = KW_ARENA_NEW(arena, kw_filter);
    first->kind = KW_FILTER_FIRST_KEY_ONLY;
    parts[0] = first;
    for (size_t i = 0; i < count; i++) {
        kw_filter *column = KW_ARENA_NEW(arena, kw_filter);
        column->kind = KW_FILTER_QUALIFIER;
        column->op = KW_FILTER_EQUAL;
        column->comparator = KW_FILTER_COMPARE_BINARY;
        column->operand = columns[i].qualifier;
        parts[i + 1] = column;
    }
    return kw_filter_join(KW_FILTER_OR, parts, count + 1, arena);
}

/* Most columns of first_or: the store compares each cell with each of them. */
#define FIRST_OR_MOST 8

/* Each range or point read names the columns. If they are more in all, whole rows are read. */
#define RANGE_COLUMNS_MOST 200000

static const kw_filter *
narrow(const kw_reader *reader, const kw_plan *plan, kw_arena *arena, kw_pushdown *push)
{
    size_t count;
    const kw_column *columns = kw_reader_columns(reader, &count);
    bool key_only = count == 0;
    if (kw_reader_reads_all(reader))
        return NULL;
    if ((uint64_t)count * plan->ranges_count > RANGE_COLUMNS_MOST)
        return NULL;
    if (!key_only && shows_existence(plan)) {
        push->columns = columns;
        push->columns_count = count;
        return NULL;
    }
    if (key_only || count - 1 <= FIRST_OR_MOST) /* without the marker, which is last; see first_or */
        return first_or(columns, key_only ? 0 : count - 1, arena);
    return NULL;
}

kw_bytes
kw_pushdown_first_or(const kw_column *columns, size_t count, kw_arena *arena)
{
    bool worth = count && count - 1 <= FIRST_OR_MOST;
    return worth ? print(first_or(columns, count - 1, arena), arena) : KW_BYTES_NONE;
}

/* --- all ------------------------------------------------------------------------------------------ */

kw_reader *
kw_pushdown_reader(kw_call *call, const kw_scan_request *request, const kw_plan *plan, kw_arena *scratch)
{
    const kw_record_query *query = plan->query;
    bool hints = plan->path->content == KW_CONTENT_HINTS;
    const kw_path *path = hints ? &query->table->paths[0] : plan->path;
    kw_reader *reader =
        kw_reader_new(call, query->table, path, request->picks, request->picks_count, scratch);
    for (size_t i = 0; i < plan->placements[0]->tuple_count; i++)
        kw_reader_need(reader, plan->placements[0]->tuple[i]);
    for (size_t i = 0; i < query->table->fields_count; i++)
        if (query->bounds[i].count || query->range_field == (int)i || plan->clock == (int)i)
            kw_reader_need(reader, i);
    return reader;
}

/* HBase rejects backward scans with filters that load families on demand; this filter needs all families. */
static const kw_filter *
needs_all_families(kw_arena *arena)
{
    kw_filter *filter = KW_ARENA_NEW(arena, kw_filter);
    filter->kind = KW_FILTER_PREFIX;
    filter->bytes = KW_ARENA_ARRAY(arena, kw_bytes, 1);
    filter->bytes_count = 1;
    return filter;
}

static void
note(kw_pushdown *push, const char *text)
{
    push->notes[push->notes_count++] = text;
}

/* --- patterns ------------------------------------------------------------------------------------- */

/* Most patterns listed in a note. */
#define PATTERNS_SHOWN 4

/* For example "(8 any) \x00\x07 (2 any) x". */
static void
print_pattern(const kw_pattern *pattern, kw_arena *arena, kw_buffer *to)
{
    size_t size = pattern->bytes.size;
    for (size_t from = 0, end; from < size; from = end) {
        for (end = from + 1; end < size && pattern->mask[end] == pattern->mask[from];)
            end++;
        kw_bytes bytes = kw_bytes_of(pattern->bytes.data + from, end - from);
        if (pattern->mask[from])
            kw_buffer_printf(to, "%s(%zu any)", from ? " " : "", bytes.size);
        else
            kw_buffer_printf(to, "%s%s", from ? " " : "", kw_bytes_to_binary_text(bytes, arena));
    }
}

static const char *
patterns_text(const kw_plan *plan, kw_arena *arena)
{
    g_auto(kw_buffer) text = KW_BUFFER_EMPTY;
    kw_buffer_append_text(&text, "the store filters keys: after the part that the ranges cover, ");
    for (size_t i = 0; i < plan->patterns_count && i < PATTERNS_SHOWN; i++) {
        kw_buffer_append_text(&text, i ? " or " : "");
        print_pattern(&plan->patterns[i], arena, &text);
    }
    if (plan->patterns_count > PATTERNS_SHOWN)
        kw_buffer_printf(&text, " or %zu more", plan->patterns_count - PATTERNS_SHOWN);
    return kw_arena_text(arena, kw_buffer_bytes(&text));
}

static void
use_patterns(const kw_plan *plan, kw_arena *arena, kw_pushdown *push)
{
    for (size_t i = 0; i < plan->ranges_count && !push->by_patterns; i++)
        push->by_patterns = kw_plan_patterns(plan, i).count > 0;
    if (push->by_patterns)
        note(push, patterns_text(plan, arena));
}

/* A field whose value the filter removes is absent from the records. INVALID if such a field could not be
 * recognized, or if a condition of the query needs it. */
static bool
allow_removed_values(const kw_plan *plan, const kw_filter *filter, kw_reader *reader, kw_error *ret_error)
{
    const kw_table *table = plan->query->table;
    bool lengths = false;
    if (!kw_filter_removes_values(filter, &lengths))
        return true;
    if (lengths)
        return kw_error_set(ret_error, KW_INVALID,
                            "table %s: KeyOnlyFilter (true) replaces values by their lengths, which are not "
                            "values of the fields; use KeyOnlyFilter ()",
                            table->name);
    for (size_t i = 0; i < table->fields_count; i++)
        if (kw_condition_needs_column(plan, i))
            return kw_error_set(
                ret_error, KW_INVALID,
                "table %s: the filter removes values (KeyOnlyFilter), but the query has a condition "
                "on the field %s, which path %s stores as a value",
                table->name, table->fields[i].name, plan->path->name);
    kw_reader_omit_empty(reader);
    return true;
}

static bool
join_filters(kw_call *call, const kw_scan_request *request, const kw_plan *plan, kw_reader *reader,
             kw_pushdown *push, kw_error *ret_error)
{
    const kw_filter *parts[4], *own = NULL;
    size_t count = 0;
    if (request->filter.size && !(own = kw_filter_parse_query(request->filter, call->arena, ret_error)))
        return kw_error_prefix(ret_error, "table %s", plan->query->table->name);
    if (own && !allow_removed_values(plan, own, reader, ret_error))
        return false;
    if (own && kw_filter_spans_rows(own)) {
        push->filter = print(own, call->arena);
        return true;
    }
    if (own)
        parts[count++] = own; /* first, so that it gets the unfiltered row */
    const kw_filter *conditions = plan->residual ? kw_conditions_filter(plan, call->arena) : NULL;
    if (conditions && plan->reversed)
        parts[count++] = needs_all_families(call->arena);
    if (conditions)
        parts[count++] = conditions;
    const kw_filter *columns = own ? NULL : narrow(reader, plan, call->arena, push);
    if (columns)
        parts[count++] = columns;
    push->filters_cells_only = columns && count == 1;
    if (count == 0)
        return true;
    const kw_filter *all = kw_filter_join(KW_FILTER_AND, parts, count, call->arena);
    push->filter = print(all, call->arena);
    if (count > (own ? 1 : 0)) {
        g_auto(kw_buffer) text = KW_BUFFER_EMPTY;
        kw_filter_print_for_query(all, &text);
        note(push, kw_arena_printf(call->arena, "the store filters: %.*s", (int)text.size,
                                   (const char *)text.data));
    }
    return true;
}

/* The store reads whole hints, and drops those whose keys match no pattern. Conditions on other fields are
 * checked on the records. */
static bool
make_for_hints(kw_call *call, const kw_scan_request *request, const kw_plan *plan, kw_pushdown *push,
               kw_error *ret_error)
{
    if (request->filter.size)
        return kw_error_set(
            ret_error, KW_INVALID,
            "table %s: path %s has fields that can change in its key, so its rows have no cells for a "
            "filter; use conditions, or another path",
            plan->query->table->name, plan->path->name);
    use_patterns(plan, call->arena, push);
    if (plan->ranges_count)
        note(push, kw_arena_printf(call->arena,
                                   "a page takes at least 2 round trips: %s, then one multi-get of records",
                                   plan->point ? "point reads" : "range scans in parallel"));
    return true;
}

void
kw_pushdown_clear(kw_pushdown *push)
{
    kw_prepared_unref(push->prepared);
    push->prepared = NULL;
}

bool
kw_pushdown_make(kw_call *call, const kw_scan_request *request, const kw_plan *plan, kw_reader *reader,
                 kw_pushdown *ret_push, kw_error *ret_error)
{
    *ret_push = (kw_pushdown){0};
    if (plan->path->content == KW_CONTENT_HINTS)
        return make_for_hints(call, request, plan, ret_push, ret_error);
    if (!join_filters(call, request, plan, reader, ret_push, ret_error))
        return false;
    if (ret_push->filter.size && !(ret_push->prepared = kw_prepared_new(ret_push->filter, ret_error)))
        return kw_error_prefix(ret_error, "table %s", plan->query->table->name);
    if (!ret_push->prepared || !kw_filter_spans_rows(kw_prepared_tree(ret_push->prepared)))
        use_patterns(plan, call->arena, ret_push);
    return true;
}
