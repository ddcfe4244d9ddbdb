#include "advise/seen.h"

#include "plan/plan.h"

#include <glib.h>
#include <string.h>

/* Maximum number of lines about queries. */
#define LINES_MAX 20

typedef struct compared {
    const char *text;   /* of the query */
    const char *before; /* how the old table answers it */
    const char *after;
    uint64_t count;
    size_t ranges_before, ranges; /* 0: rejected */
} compared;

typedef struct comparing {
    const kw_table *old, *fresh;
    const kw_model_limits *limits;
    kw_effort *effort;
    kw_arena *arena;
} comparing;

/* "kind and user bound, range of ts, in descending order" */
static const char *
text_of(const kw_record_query *query, kw_arena *arena)
{
    const kw_table *table = query->table;
    const char *text = "";
    for (size_t field = 0; field < table->fields_count; field++)
        if (query->bounds[field].count > 0)
            text = kw_arena_printf(arena, "%s%s%s%s", text, *text ? " and " : "", table->fields[field].name,
                                   query->bounds[field].count > 1 ? " (list)" : "");
    if (*text)
        text = kw_arena_printf(arena, "%s bound", text);
    if (query->range_field >= 0)
        text = kw_arena_printf(arena, "%s%srange of %s", text, *text ? ", " : "",
                               table->fields[query->range_field].name);
    if (!*text)
        text = "no field bound";
    if (query->path >= 0)
        text = kw_arena_printf(arena, "%s, path %s", text, table->paths[query->path].name);
    if (query->order != KW_ORDER_PATH)
        text = kw_arena_printf(arena, "%s, in %s order", text,
                               query->order == KW_ORDER_ASCENDING ? "ascending" : "descending");
    return text;
}

/* Plans the query under a table. *ret_ranges is 0 if the table rejects it. */
static const char *
answer_of(const comparing *self, const kw_table *table, kw_bytes encoded, size_t *ret_ranges)
{
    kw_record_query query;
    const kw_plan *plan;
    kw_error error = KW_ERROR_NONE;
    size_t used;
    *ret_ranges = 0;
    if (!kw_record_query_decode(table, encoded, self->arena, &query, &used, &error))
        return kw_arena_printf(self->arena, "rejected: %s", error.text);
    query.planned = false;
    query.range_limit = (size_t)self->limits->ranges;
    if (!kw_plan_make_within(&query, self->effort, self->arena, &plan, &error))
        return kw_arena_printf(self->arena, "rejected: %s", error.text);
    *ret_ranges = MAX(plan->ranges_count, 1);
    return kw_arena_printf(self->arena, "%zu %s of path %s", plan->ranges_count,
                           plan->ranges_count == 1 ? "range" : "ranges", plan->path->name);
}

static bool
compare(const comparing *self, const kw_seen_query *query, compared *ret_compared)
{
    kw_record_query before;
    kw_error ignored;
    size_t used;
    if (!kw_record_query_decode(self->old, query->encoded, self->arena, &before, &used, &ignored))
        return false; /* of an earlier policy */
    *ret_compared = (compared){.text = text_of(&before, self->arena), .count = query->count};
    ret_compared->before = answer_of(self, self->old, query->encoded, &ret_compared->ranges_before);
    ret_compared->after = answer_of(self, self->fresh, query->encoded, &ret_compared->ranges);
    return ret_compared->ranges_before > 0;
}

/* Rejected queries first, then those with the most ranges. */
static int
by_ranges(const void *a, const void *b)
{
    size_t left = ((const compared *)a)->ranges, right = ((const compared *)b)->ranges;
    if (left == 0 || right == 0)
        return (left != 0) - (right != 0);
    return (left < right) - (left > right);
}

static size_t
count_rejected(const GArray *found)
{
    size_t count = 0;
    for (guint i = 0; i < found->len; i++)
        count += g_array_index(found, compared, i).ranges == 0;
    return count;
}

static size_t
count_wider(const GArray *found)
{
    size_t count = 0;
    for (guint i = 0; i < found->len; i++)
        count += g_array_index(found, compared, i).ranges > g_array_index(found, compared, i).ranges_before;
    return count;
}

static void
print(const GArray *found, kw_buffer *out)
{
    guint lines = 0, differing = 0;
    for (guint i = 0; i < found->len; i++) {
        const compared *one = &g_array_index(found, compared, i);
        if (one->ranges == one->ranges_before)
            continue;
        if (++differing > LINES_MAX)
            continue;
        lines++;
        kw_buffer_printf(out, "    %s (%" G_GUINT64_FORMAT " times): %s -> %s\n", one->text, one->count,
                         one->before, one->after);
    }
    if (differing > lines)
        kw_buffer_printf(out, "    and %u more\n", differing - lines);
}

size_t
kw_seen_queries_compare(const kw_table *old, const kw_table *fresh, const kw_seen_query *queries,
                        size_t count, const kw_model_limits *limits, kw_effort *effort, kw_buffer *out)
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    g_autoptr(GArray) found = g_array_new(FALSE, FALSE, sizeof(compared));
    const comparing self = {old, fresh, limits, effort, arena};
    size_t at = 0;
    for (; at < count && kw_effort_spend(effort, KW_EFFORT_LOOK); at++) {
        compared one;
        if (compare(&self, &queries[at], &one))
            g_array_append_val(found, one);
    }
    if (at < count || (effort && effort->over)) {
        kw_buffer_append_text(out,
                              "  Comparing the queries seen lately took too long and was not finished.\n");
        return 0;
    }
    if (found->len == 0)
        return 0;
    g_array_sort(found, by_ranges);
    kw_buffer_printf(
        out,
        "  Queries that this gateway answered in the last hour: %u %s. Rejected by the new policy: %zu. "
        "Answered from more row ranges: %zu.\n",
        found->len, found->len == 1 ? "kind" : "kinds", count_rejected(found), count_wider(found));
    print(found, out);
    return found->len;
}
