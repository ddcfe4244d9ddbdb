/* getVersions: returns the stored versions of a record. */
#include "service/list_reply.h"
#include "service/methods.h"
#include "service/methods/convert.h"
#include "service/read_queue.h"
#include "service/reply_budget.h"
#include "verb/verb.h"

/* Number of versions from which a result counts as large. */
#define MANY_VERSIONS 16

typedef struct reading {
    kw_exchange *exchange;
    const kw_table *table;
    kw_record key;
    const kw_pick *picks;
    size_t picks_count;
    size_t most;
    const kw_record_version *versions;
} reading;

/* Rejects versions that do not fit into one reply. */
static bool
check_size(const reading *what, const kw_record_version *versions, size_t count, kw_error *ret_error)
{
    kw_reply_budget budget;
    if (!kw_reply_budget_begin(what->exchange, count, 0, &budget, ret_error))
        return false;
    for (size_t i = 0; i < count; i++)
        if (!kw_reply_budget_add_record(&budget, what->table, &versions[i].record)) {
            kw_reply_budget_refuse(&budget, ret_error);
            return false;
        }
    return true;
}

static const void *
version_out(void *user, size_t index, kw_arena *scratch)
{
    const reading *what = user;
    const kw_record_version *version = &what->versions[index];
    kw_api_RecordVersion *out = KW_ARENA_NEW(scratch, kw_api_RecordVersion);
    *out = (kw_api_RecordVersion){.timestamp = version->timestamp,
                                  .record = kw_convert_record_out(what->table, &version->record, scratch)};
    return out;
}

static void
reply(void *user, const kw_record_version *versions, size_t count, const kw_error *error)
{
    reading *what = user;
    kw_api_Data_getVersions_result result = {.has_success = true};
    kw_error failed;
    if (!error && !check_size(what, versions, count, &failed))
        error = &failed;
    if (error) {
        kw_exchange_fail(what->exchange, error);
        return;
    }
    what->versions = versions;
    kw_list_reply_send(
        what->exchange,
        &(kw_list_reply){.result = &result,
                         .list = &result.success,
                         .items = kw_list_reply_items(&kw_api_Data_getVersions_result_wire,
                                                      offsetof(kw_api_Data_getVersions_result, success)),
                         .count = count,
                         .make = version_out,
                         .user = what});
}

static void
start(kw_exchange *exchange)
{
    reading *what = exchange->prepared;
    kw_verb_get_versions(&exchange->call, what->table, &what->key, what->picks, what->picks_count, what->most,
                         reply, what);
}

static bool
read_most(const kw_api_Data_getVersions_args *args, size_t *ret_most, kw_error *ret_error)
{
    if (!args->has_max_versions || args->max_versions < 1 || args->max_versions > KW_VERSIONS_MAX)
        return kw_error_set(ret_error, KW_INVALID, "max_versions must be 1 to %d", KW_VERSIONS_MAX);
    *ret_most = (size_t)args->max_versions;
    return true;
}

void
kw_serve_get_versions(kw_exchange *exchange)
{
    const kw_api_Data_getVersions_args *args = exchange->args;
    kw_arena *arena = exchange->call.arena;
    reading *what = KW_EXCHANGE_ALLOC(exchange, reading);
    kw_error error = KW_ERROR_NONE;
    *what = (reading){.exchange = exchange};
    exchange->prepared = what;
    if (!kw_exchange_find_table(exchange, args->has_table, args->table, &what->table, &error) ||
        !kw_exchange_read_options(exchange, args->options, NULL, &error) ||
        !read_most(args, &what->most, &error) ||
        !kw_convert_record(what->table, &args->key, arena, &what->key, &error) ||
        !kw_convert_columns(what->table, args->columns.items, args->columns.count, arena, &what->picks,
                            &what->picks_count, &error))
        kw_exchange_fail(exchange, &error);
    else
        kw_read_queue_enter(exchange, what->most >= MANY_VERSIONS, start);
}
