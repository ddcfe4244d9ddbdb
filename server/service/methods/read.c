/* get and getMany: return records by the fields of their primary key. A record that does not exist is
 * returned as a Found without members. */
#include "service/list_reply.h"
#include "service/methods.h"
#include "service/methods/convert.h"
#include "service/methods/items.h"
#include "service/outcome.h"
#include "service/read_queue.h"
#include "service/reply_budget.h"
#include "verb/verb.h"

#include <inttypes.h>

/* Number of records from which a result counts as large. */
#define MANY_RECORDS 16
/* Maximum number of columns that one call names, over all its keys. */
#define COLUMNS_MAX 1000000

typedef struct reading {
    kw_exchange *exchange;
    const kw_table *table;
    kw_reply_budget reply_budget;
    const kw_item *items;
    size_t count;
    const kw_pick *picks;
    size_t picks_count;
    const kw_found_record *found;
} reading;

static void
record_out(const reading *what, const kw_record *record, kw_arena *arena, kw_api_Found *out)
{
    out->has_record = record->values != NULL;
    if (out->has_record)
        out->record = kw_convert_record_out(what->table, record, arena);
}

static void
failure_out(reading *what, const kw_error *error, kw_arena *arena, kw_api_Found *out)
{
    kw_outcome_note_record(what->exchange, error);
    out->has_failure = true;
    out->failure = kw_reply_budget_add_failure(&what->reply_budget, error, arena);
}

static const void *
found_out(void *user, size_t index, kw_arena *scratch)
{
    reading *what = user;
    const kw_found_record *found = &what->found[index];
    kw_api_Found *out = KW_ARENA_NEW(scratch, kw_api_Found);
    kw_error error;
    if (found->error.code != KW_OK) {
        failure_out(what, &found->error, scratch, out);
    } else if (!found->record.values ||
               kw_reply_budget_add_record(&what->reply_budget, what->table, &found->record)) {
        kw_outcome_note_record(what->exchange, NULL);
        record_out(what, &found->record, scratch, out);
    } else {
        kw_reply_budget_refuse(&what->reply_budget, &error);
        failure_out(what, &error, scratch, out);
    }
    return out;
}

static void
reply_one(void *user, const kw_found_record *found, size_t count)
{
    reading *what = user;
    g_assert(count == 1);
    if (found->error.code != KW_OK) {
        kw_exchange_fail(what->exchange, &found->error);
        return;
    }
    kw_api_Found out = {0};
    record_out(what, &found->record, what->exchange->call.arena, &out);
    kw_exchange_reply(what->exchange, &(kw_api_Data_get_result){.has_success = true, .success = &out});
}

static void
reply_many(void *user, const kw_found_record *found, size_t count)
{
    reading *what = user;
    kw_api_Data_getMany_result result = {.has_success = true};
    what->found = found;
    kw_list_reply_send(what->exchange, &(kw_list_reply){.result = &result,
                                                        .list = &result.success,
                                                        .items = kw_list_reply_items(
                                                            &kw_api_Data_getMany_result_wire,
                                                            offsetof(kw_api_Data_getMany_result, success)),
                                                        .count = count,
                                                        .make = found_out,
                                                        .user = what});
}

static void
start_one(kw_exchange *exchange)
{
    reading *what = exchange->prepared;
    kw_verb_get(&exchange->call, what->table, what->items, 1, what->picks, what->picks_count, reply_one,
                what);
}

static void
start_many(kw_exchange *exchange)
{
    reading *what = exchange->prepared;
    kw_verb_get(&exchange->call, what->table, what->items, what->count, what->picks, what->picks_count,
                reply_many, what);
}

const void *
kw_late_get_many(kw_exchange *exchange, const kw_error *error)
{
    const kw_api_Data_getMany_args *args = exchange->args;
    kw_api_Data_getMany_result *result = KW_EXCHANGE_ALLOC(exchange, kw_api_Data_getMany_result);
    reading what = {.exchange = exchange};
    kw_error ignored;
    if (!kw_reply_budget_begin(exchange, args->keys.count, 0, &what.reply_budget, &ignored))
        return kw_exchange_failure(exchange, error);
    *result = (kw_api_Data_getMany_result){
        .has_success = true,
        .success.items = KW_ARENA_ARRAY(exchange->call.arena, kw_api_Found, args->keys.count),
        .success.count = args->keys.count};
    for (uint32_t i = 0; i < args->keys.count; i++)
        failure_out(&what, error, exchange->call.arena, &result->success.items[i]);
    return result;
}

void
kw_serve_get(kw_exchange *exchange)
{
    const kw_api_Data_get_args *args = exchange->args;
    reading *what = KW_EXCHANGE_ALLOC(exchange, reading);
    kw_item *item = kw_items_new(exchange, 1);
    kw_error error = KW_ERROR_NONE;
    *what = (reading){.exchange = exchange, .items = item, .count = 1};
    exchange->prepared = what;
    if (!kw_exchange_find_table(exchange, args->has_table, args->table, &what->table, &error) ||
        !kw_exchange_read_options(exchange, args->options, NULL, &error) ||
        !kw_convert_record(what->table, &args->key, exchange->call.arena, &item->record, &error) ||
        !kw_convert_columns(what->table, args->columns.items, args->columns.count, exchange->call.arena,
                            &what->picks, &what->picks_count, &error))
        kw_exchange_fail(exchange, &error);
    else
        kw_read_queue_enter(exchange, false, start_one);
}

static bool
check_columns(const reading *what, kw_error *ret_error)
{
    uint64_t columns = (uint64_t)what->count * what->picks_count;
    return columns <= COLUMNS_MAX ||
           kw_error_set(ret_error, KW_LIMIT,
                        "table %s: %zu keys with %zu columns each are %" PRIu64
                        " columns; at most %d are allowed in one call",
                        what->table->name, what->count, what->picks_count, columns, COLUMNS_MAX);
}

void
kw_serve_get_many(kw_exchange *exchange)
{
    const kw_api_Data_getMany_args *args = exchange->args;
    reading *what = KW_EXCHANGE_ALLOC(exchange, reading);
    kw_item *items = NULL;
    kw_error error = KW_ERROR_NONE;
    *what = (reading){.exchange = exchange, .count = args->keys.count};
    exchange->prepared = what;
    if (!kw_exchange_find_table(exchange, args->has_table, args->table, &what->table, &error) ||
        !kw_exchange_read_options(exchange, args->options, NULL, &error) ||
        !kw_reply_budget_begin(exchange, args->keys.count, 0, &what->reply_budget, &error) ||
        !kw_items_of_records(exchange, what->table, args->keys.items, args->keys.count, &items, &error) ||
        !kw_convert_columns(what->table, args->columns.items, args->columns.count, exchange->call.arena,
                            &what->picks, &what->picks_count, &error) ||
        !check_columns(what, &error)) {
        kw_exchange_fail(exchange, &error);
        return;
    }
    what->items = items;
    if (args->keys.count == 0)
        kw_exchange_reply(exchange, &(kw_api_Data_getMany_result){.has_success = true});
    else
        kw_read_queue_enter(exchange, args->keys.count >= MANY_RECORDS, start_many);
}
