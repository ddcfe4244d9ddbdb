#include "gateway/policy_file.h"

#include "base/clock.h"
#include "config/reader.h"

kw_policy *
kw_policy_file_load(const char *file, kw_diagnostics *diagnostics)
{
    size_t count;
    const kw_component_schema *const *schemas = kw_rule_schemas(&count);
    g_autoptr(kw_model) model =
        file ? kw_model_read_file(file, schemas, count, diagnostics) : kw_model_built_in(schemas, count);
    if (!model)
        return NULL;
    kw_policy *policy = kw_policy_new(model, diagnostics);
    if (policy)
        kw_policy_set_loaded_at_ms(policy, kw_clock_wall_ms());
    return policy;
}
