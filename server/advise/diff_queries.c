/* Plans queries under both policies. The queries follow from the key rules of the paths: each one binds the
 * first fields of a rule, and can have a range of the next field. */
#include "advise/diff_internal.h"
#include "plan/plan.h"

#include <glib.h>

typedef struct query_differ {
    const kw_diff_records *records;
    kw_record old, fresh; /* values to query */
    kw_arena *arena;
    GHashTable *seen;
    kw_buffer *out;
} query_differ;

static int
field_in(const kw_table *table, const char *name)
{
    return kw_table_find_field(table, kw_bytes_of_text(name));
}

/* The planner's result: "16 ranges by path by_time", or why there is no plan. */
static const char *
describe_plan(query_differ *self, const kw_table *table, const kw_record *values, const char *const *bound,
              size_t count, const char *ranged)
{
    kw_bound *bounds = KW_ARENA_ARRAY(self->arena, kw_bound, table->fields_count);
    for (size_t index = 0; index < count; index++) {
        int field = field_in(table, bound[index]);
        if (field < 0)
            return "has no such field";
        bounds[field] = (kw_bound){.values = &values->values[field], .count = 1};
    }
    kw_record_query query = {.table = table, .path = -1, .bounds = bounds, .range_field = -1};
    if (ranged) {
        query.range_field = field_in(table, ranged);
        if (query.range_field < 0)
            return "has no such field";
        query.from = values->values[query.range_field];
        query.from_inclusive = true;
    }
    const kw_plan *plan;
    kw_error error;
    if (!kw_plan_make_within(&query, self->records->effort, self->arena, &plan, &error))
        return error.code == KW_INVALID ? "would read the whole table"
                                        : kw_arena_printf(self->arena, "has no plan: %s", error.text);
    return kw_arena_printf(self->arena, "%zu %s by path %s%s", plan->ranges_count,
                           plan->point               ? "point reads"
                           : plan->ranges_count == 1 ? "range"
                                                     : "ranges",
                           plan->path->name, plan->residual ? ", with rows filtered by the gateway" : "");
}

static void
compare_plans(query_differ *self, const char *const *bound, size_t count, const char *ranged)
{
    const char *text = "";
    for (size_t index = 0; index < count; index++)
        text = kw_arena_printf(self->arena, "%s%s%s", text, index ? ", " : "", bound[index]);
    text = kw_arena_printf(self->arena, "%s%s%s%s%s", text, count ? " bound" : "",
                           count && ranged ? ", " : "", ranged ? "range of " : "", ranged ? ranged : "");
    if (!*text || !g_hash_table_add(self->seen, (gpointer)text))
        return;
    const char *before = describe_plan(self, self->records->old, &self->old, bound, count, ranged);
    const char *after = describe_plan(self, self->records->fresh, &self->fresh, bound, count, ranged);
    if (strcmp(before, after) != 0)
        kw_buffer_printf(self->out, "    %s: %s -> %s\n", text, before, after);
}

/* Compares the plans of the queries that a rule is designed for. */
static void
compare_along(query_differ *self, const kw_table *table, const kw_layout *layout)
{
    const char *bound[KW_RULE_COMPONENTS_MAX];
    size_t count = 0;
    for (size_t index = 0; index < kw_layout_component_count(layout); index++) {
        const kw_component *component = kw_layout_component(layout, index);
        if (component->field < 0)
            continue;
        const char *name = table->fields[component->field].name;
        bool known = false;
        for (size_t at = 0; at < count; at++)
            known = known || strcmp(bound[at], name) == 0;
        if (known)
            continue;
        compare_plans(self, bound, count, name);
        bound[count++] = name;
        compare_plans(self, bound, count, NULL);
        if (!kw_effort_hold(self->records->effort, kw_arena_used(self->arena)) ||
            !kw_effort_spend(self->records->effort, KW_EFFORT_LOOK))
            return;
    }
}

void
kw_diff_queries(const kw_diff_records *records, kw_buffer *out)
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);
    query_differ self = {.records = records, .arena = arena, .seen = seen, .out = out};
    if (records->count == 0)
        return;
    kw_diff_record(records, 0, arena, &self.old, &self.fresh);
    for (size_t path = 0; path < records->old->queried_paths_count; path++)
        compare_along(&self, records->old, records->old->paths[path].layout);
    for (size_t path = 0; path < records->fresh->queried_paths_count; path++)
        compare_along(&self, records->fresh, records->fresh->paths[path].layout);
}
