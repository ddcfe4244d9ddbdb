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

kw_policy *
kw_policy_file_load_strict(const char *file, kw_diagnostics *diagnostics)
{
    g_autoptr(kw_policy) policy = kw_policy_file_load(file, diagnostics);
    bool good = policy && kw_policy_refuse_hazards(policy, diagnostics);
    return good ? g_steal_pointer(&policy) : NULL;
}

/* Which hazards are served: none, since it is not known which layouts have rows. */
kw_policy *
kw_policy_file_load_to_serve(const char *file, kw_diagnostics *diagnostics)
{
    return kw_policy_file_load_strict(file, diagnostics);
}
