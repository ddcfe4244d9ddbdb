#include "gateway/policy_file.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/machine.h"
#include "config/file.h"
#include "config/reader.h"
#include "gateway/memory.h"

kw_policy *
kw_policy_file_load(const char *file, kw_diagnostics *diagnostics)
{
    char why[KW_FILE_WHY_MAX];
    if (!file || kw_file_is_readable(file, SIZE_MAX, why))
        return kw_policy_file_check(file, diagnostics);
    kw_diagnostics_add(diagnostics, (kw_mark){0, 0}, NULL, "cannot be read: %s", why);
    return NULL;
}

kw_policy *
kw_policy_file_check(const char *file, kw_diagnostics *diagnostics)
{
    size_t count;
    const kw_component_schema *const *schemas = kw_rule_schemas(&count);
    g_autoptr(kw_model) model =
        file ? kw_model_read_file(file, schemas, count, diagnostics) : kw_model_built_in(schemas, count);
    int64_t memory_bytes;
    if (!model || !kw_memory_budget(model, kw_machine_memory(), diagnostics, &memory_bytes))
        return NULL;
    kw_policy *policy = kw_policy_new(model, diagnostics);
    if (policy)
        kw_policy_set_loaded_at_ms(policy, kw_clock_wall_ms());
    return policy;
}

kw_policy *
kw_policy_file_check_strict(const char *file, kw_diagnostics *diagnostics)
{
    g_autoptr(kw_policy) policy = kw_policy_file_check(file, diagnostics);
    bool good = policy && kw_policy_refuse_hazards(policy, diagnostics);
    return good ? g_steal_pointer(&policy) : NULL;
}

bool
kw_policy_file_report(const kw_diagnostics *problems, kw_error *ret_error)
{
    g_autofree char *text = kw_diagnostics_text(problems);
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    size_t count = kw_diagnostics_count(problems);
    for (char **line = lines; *line; line++)
        if ((*line)[0])
            kw_log(KW_LOG_ERROR, "gateway", "policy problem", "at=\"%s\"", *line);
    return kw_error_set(ret_error, KW_INVALID, "the policy has %zu problem%s: %s", count,
                        count == 1 ? "" : "s", lines[0] ? lines[0] : "");
}
