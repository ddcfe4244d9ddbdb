/* policyTables, and what else is done with a policy text that is not served. */
#include "service/candidate.h"

#include "config/reader.h"
#include "service/describe.h"
#include "service/methods.h"
#include "service/show.h"

#define NAME_BYTES_MAX 80

static kw_policy *
compile(kw_bytes name, kw_bytes text, bool old, kw_error *ret_error)
{
    g_autofree char *file = g_strndup((const char *)name.data, MIN(name.size, (size_t)NAME_BYTES_MAX));
    g_autoptr(kw_diagnostics) found = kw_diagnostics_new(file);
    size_t count;
    const kw_component_schema *const *schemas = kw_rule_schemas(&count);
    g_autoptr(kw_model) model =
        kw_model_read_text(file, (const char *)text.data, text.size, schemas, count, found);
    g_autoptr(kw_policy) policy = model ? kw_policy_new(model, found) : NULL;
    if (policy && (old || kw_policy_refuse_hazards(policy, found)))
        return g_steal_pointer(&policy);
    const kw_problem *problem = kw_diagnostics_get(found, 0);
    kw_error_set(ret_error, KW_INVALID, "%s:%u:%u: %s%s%s", file, problem->mark.line, problem->mark.column,
                 problem->message, problem->hint ? " / hint: " : "", problem->hint ? problem->hint : "");
    return NULL;
}

kw_policy *
kw_candidate_compile(kw_bytes name, kw_bytes text, kw_error *ret_error)
{
    return compile(name, text, false, ret_error);
}

kw_policy *
kw_candidate_compile_old(kw_bytes name, kw_bytes text, kw_error *ret_error)
{
    return compile(name, text, true, ret_error);
}

const kw_table *
kw_candidate_table(const kw_policy *policy, kw_bytes candidate, kw_bytes name, kw_error *ret_error)
{
    char shown[KW_SHOWN_MAX], shown_candidate[KW_SHOWN_MAX];
    const kw_table *table = name.size ? kw_policy_find_table(policy, name) : kw_policy_table(policy, 0);
    kw_show_name(candidate, shown_candidate);
    if (!table)
        kw_error_set(ret_error, KW_NOT_FOUND, "candidate %s has no table %s", shown_candidate,
                     kw_show_name(name, shown));
    else if (name.size == 0 && kw_policy_table_count(policy) > 1)
        kw_error_set(ret_error, KW_INVALID, "candidate %s has %zu tables; say which", shown_candidate,
                     kw_policy_table_count(policy));
    else
        return table;
    return NULL;
}

/* --- policyTables: reading and compiling take their time, so a worker does it ------------------------- */

typedef struct reading {
    uv_work_t work;
    kw_exchange *exchange;
    kw_policy *policy;
    kw_error error;
} reading;

static void
compile_on_worker(uv_work_t *work)
{
    reading *what = work->data;
    const kw_api_Admin_policyTables_args *args = what->exchange->args;
    what->policy = kw_candidate_compile(KW_BYTES_LITERAL("policy"), args->text, &what->error);
}

static void
reply_tables(uv_work_t *work, int status)
{
    reading *what = work->data;
    kw_exchange *exchange = what->exchange;
    kw_policy *policy = what->policy;
    kw_arena *arena = exchange->call.arena;
    g_assert(status == 0);
    if (!policy) {
        kw_exchange_fail(exchange, &what->error);
        return;
    }
    size_t count = kw_policy_table_count(policy);
    kw_api_Admin_policyTables_result result = {.has_success = true};
    result.success.items = KW_ARENA_ARRAY(arena, kw_api_TableInfo, count);
    result.success.count = (uint32_t)count;
    for (size_t index = 0; index < count; index++)
        kw_describe_table(kw_policy_table(policy, index), arena, &result.success.items[index]);
    kw_exchange_reply(exchange, &result);
    kw_policy_unref(policy);
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
    reading *what = KW_EXCHANGE_ALLOC(exchange, reading);
    what->exchange = exchange;
    what->work.data = what;
    int failed = uv_queue_work(kw_loop_uv(exchange->call.loop), &what->work, compile_on_worker, reply_tables);
    g_assert(!failed);
}
