/* Compiles policy texts that are not served, and answers policyTables. */
#include "service/methods/candidate.h"

#include "config/reader.h"
#include "config/shared.h"
#include "service/methods.h"
#include "service/methods/describe.h"
#include "service/offload.h"
#include "service/show.h"

#define NAME_BYTES_MAX 80

/* Checks the effort. Reads the clock in every call, because the steps between two calls can be long. */
static bool
can_continue(void *user, size_t bytes)
{
    return kw_effort_hold(user, bytes) && kw_effort_charge(user) && kw_effort_look(user);
}

void
kw_candidate_bound(kw_diagnostics *diagnostics, kw_effort *effort)
{
    kw_diagnostics_watch(diagnostics, can_continue, effort);
}

/* Sets the error: the effort is used up, or else the first problem. */
static void
fail(const kw_diagnostics *found, const char *file, kw_effort *effort, kw_error *ret_error)
{
    if (effort->over) {
        kw_effort_fail(effort, "a policy was compiled", ret_error);
        return;
    }
    const kw_problem *problem = kw_diagnostics_get(found, 0);
    kw_error_set(ret_error, KW_INVALID, "%s:%u:%u: %s%s%s", file, problem->mark.line, problem->mark.column,
                 problem->message, problem->hint ? " / hint: " : "", problem->hint ? problem->hint : "");
}

static kw_policy *
compile(kw_bytes name, kw_bytes text, bool old, kw_effort *effort, kw_error *ret_error)
{
    g_autofree char *file = g_strndup((const char *)name.data, MIN(name.size, (size_t)NAME_BYTES_MAX));
    g_autoptr(kw_diagnostics) found = kw_diagnostics_new(file);
    kw_candidate_bound(found, effort);
    size_t count;
    const kw_component_schema *const *schemas = kw_rule_schemas(&count);
    g_autoptr(kw_model) model =
        kw_model_read_text(file, (const char *)text.data, text.size, schemas, count, found);
    g_autoptr(kw_policy) policy = model ? kw_policy_new(model, found) : NULL;
    if (policy && (old || kw_policy_refuse_hazards(policy, found))) {
        kw_effort_keep(effort);
        return g_steal_pointer(&policy);
    }
    fail(found, file, effort, ret_error);
    return NULL;
}

kw_policy *
kw_candidate_compile_shared(kw_model *own, const char *name, kw_bytes text, kw_effort *effort,
                            kw_error *ret_error)
{
    size_t count;
    const kw_component_schema *const *schemas = kw_rule_schemas(&count);
    g_autoptr(kw_diagnostics) found = kw_diagnostics_new("policy");
    kw_candidate_bound(found, effort);
    g_autoptr(kw_model) shared =
        kw_model_read_shared(name, (const char *)text.data, text.size, schemas, count, found);
    g_autoptr(kw_model) model = shared ? kw_model_share(own, shared, found) : NULL;
    g_autoptr(kw_policy) policy = model ? kw_policy_new(model, found) : NULL;
    if (policy)
        kw_effort_keep(effort);
    else
        fail(found, "policy", effort, ret_error);
    return g_steal_pointer(&policy);
}

char *
kw_candidate_cut_shared(kw_bytes text, kw_effort *effort, kw_error *ret_error)
{
    g_autoptr(kw_diagnostics) found = kw_diagnostics_new("policy");
    kw_candidate_bound(found, effort);
    char *cut = kw_model_cut_shared((const char *)text.data, text.size, found);
    if (!cut)
        fail(found, "policy", effort, ret_error);
    return cut;
}

kw_policy *
kw_candidate_compile(kw_bytes name, kw_bytes text, kw_effort *effort, kw_error *ret_error)
{
    return compile(name, text, false, effort, ret_error);
}

kw_policy *
kw_candidate_compile_old(kw_bytes name, kw_bytes text, kw_effort *effort, kw_error *ret_error)
{
    return compile(name, text, true, effort, ret_error);
}

const kw_table *
kw_candidate_table(const kw_policy *policy, kw_bytes candidate, kw_bytes name, kw_error *ret_error)
{
    char shown[KW_SHOWN_MAX], shown_candidate[KW_SHOWN_MAX];
    size_t count = kw_policy_table_count(policy);
    const kw_table *table = name.size   ? kw_policy_find_table(policy, name)
                            : count > 0 ? kw_policy_table(policy, 0)
                                        : NULL;
    kw_show_name(candidate, shown_candidate);
    if (!table)
        kw_error_set(ret_error, KW_NOT_FOUND, "candidate %s has no table %s", shown_candidate,
                     kw_show_name(name, shown));
    else if (name.size == 0 && count > 1)
        kw_error_set(ret_error, KW_INVALID, "candidate %s has %zu tables; name one of them", shown_candidate,
                     count);
    else
        return table;
    return NULL;
}

/* --- policyTables -------------------------------------------------------------------------------- */

typedef struct reading {
    kw_offload offload;
    kw_policy *policy;
    kw_api_Admin_policyTables_result result;
} reading;

static bool
read_tables(kw_offload *offload)
{
    reading *self = (reading *)offload;
    const kw_api_Admin_policyTables_args *args = offload->exchange->args;
    kw_policy *policy = self->policy =
        kw_candidate_compile(KW_BYTES_LITERAL("policy"), args->text, &offload->effort, &offload->error);
    if (!policy)
        return false;
    size_t count = kw_policy_table_count(policy);
    self->result.has_success = true;
    self->result.success.items = KW_ARENA_ARRAY(offload->arena, kw_api_TableInfo, count);
    self->result.success.count = (uint32_t)count;
    for (size_t index = 0; index < count && kw_effort_hold(&offload->effort, kw_arena_used(offload->arena));
         index++)
        kw_describe_table(kw_policy_table(policy, index), offload->arena, &self->result.success.items[index]);
    return true;
}

static void
reply_tables(kw_offload *offload, const kw_error *error)
{
    reading *self = (reading *)offload;
    if (error)
        kw_exchange_fail(offload->exchange, error);
    else
        kw_exchange_reply(offload->exchange, &self->result);
    kw_policy_unref(self->policy);
    g_free(self);
}

void
kw_serve_policy_tables(kw_exchange *exchange)
{
    const kw_api_Admin_policyTables_args *args = exchange->args;
    if (!args->has_text) {
        kw_error error;
        kw_error_set(&error, KW_INVALID, "the argument text is missing");
        kw_exchange_fail(exchange, &error);
        return;
    }
    reading *self = g_new0(reading, 1);
    kw_offload_start(&self->offload, exchange, read_tables, reply_tables);
}
