#include "policy/file.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/machine.h"
#include "config/file.h"
#include "config/reader.h"
#include "policy/memory.h"

kw_policy *
kw_policy_file_load(const char *file, kw_diagnostics *diagnostics)
{
    char why[KW_FILE_WHY_MAX];
    if (!file || kw_file_is_readable(file, SIZE_MAX, why))
        return kw_policy_file_check(file, diagnostics);
    kw_diagnostics_add(diagnostics, (kw_mark){0, 0}, NULL, "cannot be read: %s", why);
    return NULL;
}

/* Reads the file. The model can lack tables with problems; see kw_model_check_file. */
static kw_model *
read_model(const char *file, kw_diagnostics *diagnostics)
{
    size_t count;
    int64_t memory_bytes;
    const kw_component_schema *const *schemas = kw_rule_schemas(&count);
    kw_model *model =
        file ? kw_model_check_file(file, schemas, count, diagnostics) : kw_model_built_in(schemas, count);
    if (model)
        kw_memory_budget(model, kw_machine_memory(), diagnostics, &memory_bytes);
    return model;
}

kw_policy *
kw_policy_file_check(const char *file, kw_diagnostics *diagnostics)
{
    g_autoptr(kw_model) model = read_model(file, diagnostics);
    if (!model)
        return NULL;
    kw_policy *policy = kw_policy_new(model, diagnostics);
    if (policy)
        kw_policy_set_loaded_at_ms(policy, kw_clock_wall_ms());
    return policy;
}

kw_policy *
kw_policy_file_check_strict(const char *file, kw_diagnostics *diagnostics)
{
    g_autoptr(kw_model) model = read_model(file, diagnostics);
    return model ? kw_policy_check(model, diagnostics) : NULL;
}

static void
log_problem(const char *file, const kw_problem *problem)
{
    kw_log(problem->warning ? KW_LOG_WARN : KW_LOG_ERROR, "gateway",
           problem->warning ? "policy warning" : "policy problem", KW_LOG_FACT("file", file),
           KW_LOG_FACT("line", problem->mark.line), KW_LOG_FACT("column", problem->mark.column),
           KW_LOG_FACT("problem", problem->message), KW_LOG_FACT("hint", problem->hint));
}

bool
kw_policy_file_report(const kw_diagnostics *problems, kw_error *ret_error)
{
    const char *file = kw_diagnostics_file(problems);
    g_autofree char *text = kw_diagnostics_text(problems), *name = g_path_get_basename(file);
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    const char *first = lines[0] && g_str_has_prefix(lines[0], file) ? lines[0] + strlen(file) : "";
    size_t count = kw_diagnostics_count(problems);
    for (size_t i = 0; i < kw_diagnostics_kept(problems); i++)
        log_problem(file, kw_diagnostics_get(problems, i));
    return kw_error_set(ret_error, KW_INVALID, "the policy has %zu problem%s: %s%s", count,
                        count == 1 ? "" : "s", name, first);
}
