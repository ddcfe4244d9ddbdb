/* The memory budget of policies on machines of different sizes. */
#include "gateway/memory.h"

#include "config/reader.h"
#include "schema/policy.h"

#include <string.h>

#define MIB ((int64_t)1024 * 1024)

/* Returns -1 if the policy is rejected. */
static int64_t
budget(const char *settings, int64_t machine_bytes)
{
    g_autofree char *text = g_strconcat(settings, "tables: {t: {fields: {a: int}, key: [field: a]}}\n", NULL);
    g_autoptr(kw_diagnostics) found = kw_diagnostics_new("test");
    size_t schemas_count;
    const kw_component_schema *const *schemas = kw_rule_schemas(&schemas_count);
    g_autoptr(kw_model) model = kw_model_read_text("test", text, strlen(text), schemas, schemas_count, found);
    g_autofree char *problems = kw_diagnostics_text(found);
    if (!model)
        g_error("%s", problems);
    int64_t bytes = -1;
    if (kw_memory_budget(model, machine_bytes, found, &bytes))
        return bytes;
    g_assert_cmpuint(kw_diagnostics_count(found), ==, 1);
    return -1;
}

static void
half_of_the_machine(void)
{
    g_assert_cmpint(budget("", 8192 * MIB), ==, 4096 * MIB);
    g_assert_cmpint(budget("", 336 * MIB), ==, 168 * MIB);
}

static void
a_configured_budget_is_used(void)
{
    g_assert_cmpint(budget("limits: {memory: 200MiB}\n", 8192 * MIB), ==, 200 * MIB);
    g_assert_cmpint(budget("limits: {memory: 9GiB}\n", 8192 * MIB), ==, 9216 * MIB);
}

static void
limits_that_exceed_the_default(void)
{
    g_assert_cmpint(budget("store: {cache: 3GiB}\n", 8192 * MIB), ==, 4096 * MIB);
    g_assert_cmpint(budget("store: {cache: 4GiB}\n", 8192 * MIB), ==, -1);
    g_assert_cmpint(budget("limits: {frame: 512MiB}\n", 2048 * MIB), ==, -1);
}

static void
a_small_machine(void)
{
    g_assert_cmpint(budget("", 256 * MIB), ==, 168 * MIB);
    g_assert_cmpint(budget("", 128 * MIB), ==, -1);
    g_assert_cmpint(budget("limits: {frame: 4MiB}\nstore: {cache: 8MiB}\n", 128 * MIB), ==, 64 * MIB);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/gateway/memory/half", half_of_the_machine);
    g_test_add_func("/gateway/memory/given", a_configured_budget_is_used);
    g_test_add_func("/gateway/memory/exceeded", limits_that_exceed_the_default);
    g_test_add_func("/gateway/memory/small", a_small_machine);
    return g_test_run();
}
