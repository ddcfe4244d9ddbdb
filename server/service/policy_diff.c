/* policyDiff: two policy texts, compiled on a worker and compared; nothing is served. */
#include "plan/diff.h"

#include "service/candidate.h"
#include "service/convert.h"
#include "service/methods.h"

/* As many as advise takes. */
#define RECORDS_MAX 200000

typedef struct comparing {
    uv_work_t work;
    kw_exchange *exchange;
    kw_arena *arena;
    const char *text; /* NULL: error */
    kw_error error;
} comparing;

static bool
take_sample(const kw_api_Admin_policyDiff_args *args, const kw_policy *old, kw_arena *arena,
            kw_diff_sample *ret_sample, kw_error *ret_error)
{
    size_t count = args->sample.count;
    *ret_sample = (kw_diff_sample){.count = count};
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
    for (size_t i = 0; i < count; i++)
        if (!kw_convert_record(table, &args->sample.items[i], arena, &records[i], ret_error))
            return kw_error_prefix(ret_error, "sample, record %zu", i + 1);
    ret_sample->table = table;
    ret_sample->records = records;
    return true;
}

static void
compare_on_worker(uv_work_t *work)
{
    comparing *what = work->data;
    const kw_api_Admin_policyDiff_args *args = what->exchange->args;
    kw_diff_sample sample;
    g_autoptr(kw_policy) old =
        kw_candidate_compile_old(KW_BYTES_LITERAL("old"), args->old_text, &what->error);
    g_autoptr(kw_policy) fresh =
        old ? kw_candidate_compile(KW_BYTES_LITERAL("new"), args->new_text, &what->error) : NULL;
    what->arena = kw_arena_new();
    if (fresh && take_sample(args, old, what->arena, &sample, &what->error))
        what->text = kw_policy_diff(old, fresh, &sample, what->arena);
}

static void
reply(uv_work_t *work, int status)
{
    comparing *what = work->data;
    g_assert(status == 0);
    kw_arena *arena = what->arena;
    if (what->text)
        kw_exchange_reply(what->exchange, &(kw_api_Admin_policyDiff_result){
                                              .has_success = true, .success = kw_bytes_of_text(what->text)});
    else
        kw_exchange_fail(what->exchange, &what->error);
    kw_arena_free(arena);
    g_free(what);
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
    comparing *what = g_new0(comparing, 1);
    what->exchange = exchange;
    what->work.data = what;
    int failed = uv_queue_work(kw_loop_uv(exchange->call.loop), &what->work, compare_on_worker, reply);
    g_assert(!failed);
}
