#include "policy/hazards.h"

#include "policy/file.h"

static void
leave_out(kw_admission *admission, const kw_policy *policy, const kw_hazard *hazard)
{
    kw_error why;
    kw_error_set(&why, KW_REFUSED, "table %s: %s:%u:%u: %s; hint: %s", hazard->table->name,
                 kw_policy_model(policy)->tables_file, hazard->mark.line, hazard->mark.column, hazard->text,
                 hazard->hint);
    kw_admission_leave_out(admission, hazard->table->number, &why);
}

bool
kw_hazards_check(const kw_policy *policy, kw_admission *admission, const bool *optional, kw_error *ret_error)
{
    g_autoptr(kw_diagnostics) problems = kw_diagnostics_new(kw_policy_model(policy)->tables_file);
    for (size_t i = 0; i < kw_policy_hazards_count(policy); i++) {
        const kw_hazard *hazard = kw_policy_hazard(policy, i);
        size_t table = hazard->table->number;
        if (kw_admission_refusal(admission, table))
            continue; /* the table is not served */
        if (optional[table])
            leave_out(admission, policy, hazard);
        else
            kw_diagnostics_add(problems, hazard->mark, hazard->hint, "%s", hazard->text);
    }
    return kw_diagnostics_count(problems) == 0 || kw_policy_file_report(problems, ret_error);
}
