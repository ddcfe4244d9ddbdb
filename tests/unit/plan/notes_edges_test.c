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
KW_TEST(test_many_notes, "/plan/notes-edges/many")
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

/* The note of a component names each of its fields that the query does not bind. */
KW_TEST(test_unbound_fields, "/plan/notes-edges/unbound-fields")
{
    static const struct {
        const char *bound; /* one letter a field */
        const char *note;
    } cases[] = {
        {"", "a and b and c are not bound"}, {"a", "b and c are not bound"}, {"b", "a and c are not bound"},
        {"c", "a and b are not bound"},      {"ab", "c is not bound"},       {"bc", "a is not bound"}};
    g_autoptr(kw_policy) policy =
        test_policy("    fields: {a: int, b: int, c: int}\n"
                    "    key: [{salt: {buckets: 4, of: [a, b, c]}}, field: a, field: b, field: c]\n");
    const kw_table *table = kw_policy_table(policy, 0);
    kw_value one = test_number(1);
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(kw_arena) arena = kw_arena_new();
        kw_bound *bounds = KW_ARENA_ARRAY(arena, kw_bound, table->fields_count);
        for (const char *name = cases[i].bound; *name; name++)
            bounds[*name - 'a'] = (kw_bound){.values = &one, .count = 1};
        const kw_plan *plan = plan_of(table, bounds, arena);
        unsigned found = 0;
        for (size_t note = 0; note < plan->notes_count; note++) {
            const char *at = strstr(plan->notes[note], cases[i].note);
            found += at && (at == plan->notes[note] || at[-1] == ' ' || at[-1] == '(');
        }
        g_assert_cmpuint(found, ==, 1);
        g_assert_cmpint(plan->clock, ==, -1);
    }
}
