#include "gateway/hazards.h"

#include "base/log.h"
#include "base/metrics.h"
#include "gateway/policy_file.h"

static char *
warning_text(const kw_policy *policy, const kw_hazard *hazard)
{
    return g_strdup_printf("%s:%u:%u: table %s: %s; its rows are served as before. Hint: %s",
                           kw_policy_model(policy)->tables_file, hazard->mark.line, hazard->mark.column,
                           hazard->table->name, hazard->text, hazard->hint);
}

static bool
is_known(const kw_admission *admission, const kw_hazard *hazard)
{
    size_t path = hazard->path ? (size_t)(hazard->path - hazard->table->paths) : 0;
    return admission && kw_admission_has_path(admission, hazard->table->number, path);
}

bool
kw_hazards_check(const kw_policy *policy, const kw_admission *admission, GPtrArray **ret_warnings,
                 kw_error *ret_error)
{
    g_autoptr(GPtrArray) warnings = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(kw_diagnostics) problems = kw_diagnostics_new(kw_policy_model(policy)->tables_file);
    for (size_t i = 0; i < kw_policy_hazards_count(policy); i++) {
        const kw_hazard *hazard = kw_policy_hazard(policy, i);
        if (admission && kw_admission_refusal(admission, hazard->table->number))
            continue; /* the table is not served */
        if (is_known(admission, hazard))
            g_ptr_array_add(warnings, warning_text(policy, hazard));
        else
            kw_diagnostics_add(problems, hazard->mark, hazard->hint, "%s", hazard->text);
    }
    if (kw_diagnostics_count(problems))
        return kw_policy_file_report(problems, ret_error);
    *ret_warnings = g_steal_pointer(&warnings);
    return true;
}

void
kw_hazards_serve(kw_gateway *gateway, GPtrArray *warnings)
{
    for (guint i = 0; i < warnings->len; i++)
        kw_log(KW_LOG_WARN, "gateway", "a key rule can lose records",
               KW_LOG_FACT("problem", (const char *)warnings->pdata[i]));
    kw_mutex_lock(&gateway->lock);
    GPtrArray *old = gateway->warnings;
    gateway->warnings = g_ptr_array_ref(warnings);
    kw_mutex_unlock(&gateway->lock);
    kw_metrics_add(KW_METRIC_policy_hazards, (int64_t)warnings->len - (old ? (int64_t)old->len : 0));
    if (old)
        g_ptr_array_unref(old);
}
