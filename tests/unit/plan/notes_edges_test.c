/* The notes of a plan that has many notes, and of a plan that reads nothing. */
#include "plan/plan.h"
#include "rule/policies.h"

#define FIELDS 10

static const kw_plan *
plan_of(const kw_table *table, const kw_bound *bounds, kw_arena *arena)
{
    kw_record_query *query = KW_ARENA_NEW(arena, kw_record_query);
    *query = (kw_record_query){.table = table,
                               .path = -1,
                               .bounds = bounds,
                               .range_field = -1,
                               .full_scan = true,
                               .range_limit = 10000};
    const kw_plan *plan;
    kw_error error;
    if (!kw_plan_make(query, arena, &plan, &error))
        g_error("%s", error.text);
    return plan;
}

static kw_policy *
policy_new(void)
{
    g_autoptr(GString) yaml = g_string_new("    fields: {");
    for (int i = 0; i < FIELDS; i++)
        g_string_append_printf(yaml, "f%d: int, ", i);
    g_string_append(yaml, "v: {type: string, values: [a, b]}}\n    key:\n");
    for (int i = 0; i < FIELDS; i++)
        g_string_append_printf(yaml, "      - mod: {of: f%d, buckets: 2}\n", i);
    for (int i = 0; i < FIELDS; i++)
        g_string_append_printf(yaml, "      - field: f%d\n", i);
    g_string_append(yaml, "      - field: v\n");
    return test_policy(yaml->str);
}

/* Every component that fans out has its own note. */
static void
test_many_notes(void)
{
    g_autoptr(kw_policy) policy = policy_new();
    g_autoptr(kw_arena) arena = kw_arena_new();
    const kw_table *table = kw_policy_table(policy, 0);
    const kw_plan *plan = plan_of(table, KW_ARENA_ARRAY(arena, kw_bound, table->fields_count), arena);
    g_assert_cmpuint(plan->ranges_count, ==, 1 << FIELDS);
    g_assert_cmpuint(plan->notes_count, >=, FIELDS);
    for (int i = 0; i < FIELDS; i++) {
        g_autofree char *name = g_strdup_printf("mod(f%d", i);
        unsigned found = 0;
        for (size_t note = 0; note < plan->notes_count; note++)
            found += strstr(plan->notes[note], name) != NULL;
        g_assert_cmpuint(found, ==, 1);
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/plan/notes-edges/many", test_many_notes);
    return g_test_run();
}
