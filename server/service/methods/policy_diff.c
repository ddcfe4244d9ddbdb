/* policyDiff: compiles two policy texts and compares them, on a worker thread. */
#include "advise/diff.h"

#include "service/methods.h"
#include "service/methods/candidate.h"
#include "service/methods/convert.h"
#include "service/offload.h"

/* As in advise. */
#define RECORDS_MAX 200000

typedef struct comparing {
    kw_offload offload;
    const char *text;
} comparing;

static bool
read_sample(const kw_api_Admin_policyDiff_args *args, const kw_policy *old, kw_arena *arena,
            kw_effort *effort, kw_diff_sample *ret_sample, kw_error *ret_error)
{
    size_t count = args->sample.count;
    *ret_sample = (kw_diff_sample){.count = count, .effort = effort};
    if (count == 0)
        return true;
    if (count > RECORDS_MAX)
        return kw_error_set(ret_error, KW_LIMIT, "a sample of %zu records; at most %d are allowed", count,
                            RECORDS_MAX);
    kw_bytes name = args->has_table ? args->table : KW_BYTES_NONE;
    const kw_table *table = kw_candidate_table(old, KW_BYTES_LITERAL("old"), name, ret_error);
    if (!table)
        return false;
    kw_record *records = KW_ARENA_ARRAY(arena, kw_record, count);
    for (size_t i = 0; i < count && kw_offload_can_continue(effort, arena); i++)
        if (!kw_convert_record(table, &args->sample.items[i], arena, &records[i], ret_error))
            return kw_error_prefix(ret_error, "sample, record %zu", i + 1);
    ret_sample->table = table;
    ret_sample->records = records;
    return true;
}

static bool
compare(kw_offload *offload)
{
    comparing *self = (comparing *)offload;
    const kw_api_Admin_policyDiff_args *args = offload->exchange->args;
    kw_effort *effort = &offload->effort;
    kw_error *error = &offload->error;
    kw_diff_sample sample;
    g_autoptr(kw_policy) old =
        kw_candidate_compile_old(KW_BYTES_LITERAL("old"), args->old_text, effort, error);
    g_autoptr(kw_policy) fresh =
        old ? kw_candidate_compile(KW_BYTES_LITERAL("new"), args->new_text, effort, error) : NULL;
    if (!fresh || !read_sample(args, old, offload->arena, effort, &sample, error))
        return false;
    self->text = kw_policy_diff(old, fresh, &sample, offload->arena);
    return true;
}

static void
reply(kw_offload *offload, const kw_error *error)
{
    comparing *self = (comparing *)offload;
    if (error)
        kw_exchange_fail(offload->exchange, error);
    else
        kw_exchange_reply(
            offload->exchange,
            &(kw_api_Admin_policyDiff_result){.has_success = true, .success = kw_bytes_of_text(self->text)});
    g_free(self);
}

void
kw_serve_policy_diff(kw_exchange *exchange)
{
    const kw_api_Admin_policyDiff_args *args = exchange->args;
    kw_error error;
    if (!args->has_old_text || !args->has_new_text) {
        kw_error_set(&error, KW_INVALID, "the argument %s is missing",
                     args->has_old_text ? "new_text" : "old_text");
        kw_exchange_fail(exchange, &error);
        return;
    }
    comparing *self = g_new0(comparing, 1);
    kw_offload_start(&self->offload, exchange, compare, reply);
}
