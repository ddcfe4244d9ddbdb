#include "fuzz/fuzz_cursor.h"

#include "config/reader.h"

kw_policy *
fuzz_cursor_policy(void)
{
    static kw_policy *policy;
    if (policy)
        return policy;
    size_t count;
    const kw_component_schema *const *schemas = kw_rule_schemas(&count);
    g_autoptr(kw_diagnostics) problems = kw_diagnostics_new("built in");
    g_autoptr(kw_model) model = kw_model_built_in(schemas, count);
    policy = kw_policy_new(model, problems);
    g_assert(policy);
    return policy;
}
