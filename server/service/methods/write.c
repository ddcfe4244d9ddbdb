/* put, putMany, remove and removeMany. A single write that fails throws an exception. In a call with many
 * records each record has its own outcome, and an unreadable record does not affect the others. */
#include "service/methods.h"
#include "service/methods/convert.h"
#include "service/methods/items.h"
#include "service/outcome.h"
#include "service/reply_budget.h"
#include "verb/verb.h"

typedef struct writing {
    kw_exchange *exchange;
    const kw_table *table;
    kw_reply_budget reply_budget; /* for putMany and removeMany */
} writing;

static kw_error
error_of(const kw_written_record *result)
{
    kw_error error = result->error;
    error.maybe_applied |= result->outcome == KW_OUTCOME_UNKNOWN;
    return error;
}

static void
written_out(writing *what, const kw_written_record *result, kw_api_Written *out)
{
    kw_arena *arena = what->exchange->call.arena;
    out->outcome = (int32_t)result->outcome;
    if (result->outcome != KW_OUTCOME_OK) {
        kw_error error = error_of(result);
        out->has_failure = true;
        out->failure = kw_reply_budget_add_failure(&what->reply_budget, &error, arena);
    }
    if (result->generated.values && result->outcome != KW_OUTCOME_FAILED) {
        out->has_made = true;
        out->made = kw_convert_record_out(what->table, &result->generated, arena);
    }
}

/* put and remove have results of the same shape. */
G_STATIC_ASSERT(sizeof(kw_api_Data_put_result) == sizeof(kw_api_Data_remove_result));

static void
reply_one(void *user, const kw_written_record *results, size_t count)
{
    writing *what = user;
    g_assert(count == 1);
    if (results->outcome != KW_OUTCOME_OK) {
        kw_error error = error_of(results);
        kw_exchange_fail(what->exchange, &error);
        return;
    }
    kw_api_Written *written = KW_EXCHANGE_ALLOC(what->exchange, kw_api_Written);
    written_out(what, results, written);
    if (what->exchange->method == &kw_api_methods[KW_API_Data_put])
        kw_exchange_reply(what->exchange, &(kw_api_Data_put_result){.has_success = true, .success = written});
    else
        kw_exchange_reply(what->exchange,
                          &(kw_api_Data_remove_result){.has_success = true, .success = written});
}

static void
reply_many(void *user, const kw_written_record *results, size_t count)
{
    writing *what = user;
    kw_api_Written *written = KW_ARENA_ARRAY(what->exchange->call.arena, kw_api_Written, count);
    for (size_t i = 0; i < count; i++) {
        kw_outcome_note_record(what->exchange,
                               results[i].outcome == KW_OUTCOME_OK ? NULL : &results[i].error);
        written_out(what, &results[i], &written[i]);
    }
    if (what->exchange->method == &kw_api_methods[KW_API_Data_putMany])
        kw_exchange_reply(what->exchange, &(kw_api_Data_putMany_result){.has_success = true,
                                                                        .success.items = written,
                                                                        .success.count = (uint32_t)count});
    else
        kw_exchange_reply(what->exchange, &(kw_api_Data_removeMany_result){.has_success = true,
                                                                           .success.items = written,
                                                                           .success.count = (uint32_t)count});
}

static writing *
writing_new(kw_exchange *exchange, const kw_table *table)
{
    writing *what = KW_EXCHANGE_ALLOC(exchange, writing);
    *what = (writing){.exchange = exchange, .table = table};
    return what;
}

static writing *
writing_many(kw_exchange *exchange, const kw_table *table, kw_reply_budget reply_budget)
{
    writing *what = writing_new(exchange, table);
    what->reply_budget = reply_budget;
    return what;
}

/* The outcomes when the deadline has passed: UNKNOWN for every record. */
static kw_api_Written *
unknown_outcomes(kw_exchange *exchange, size_t count, const kw_error *error)
{
    kw_reply_budget reply_budget;
    kw_error ignored;
    kw_arena *arena = exchange->call.arena;
    if (!kw_reply_budget_begin(exchange, count, 0, &reply_budget, &ignored))
        return NULL;
    kw_api_Written *written = KW_ARENA_ARRAY(arena, kw_api_Written, count);
    for (size_t i = 0; i < count; i++) {
        kw_outcome_note_record(exchange, error);
        written[i] = (kw_api_Written){.outcome = KW_API_Outcome_UNKNOWN,
                                      .has_failure = true,
                                      .failure = kw_reply_budget_add_failure(&reply_budget, error, arena)};
    }
    return written;
}

const void *
kw_late_put_many(kw_exchange *exchange, const kw_error *error)
{
    const kw_api_Data_putMany_args *args = exchange->args;
    kw_api_Data_putMany_result *result = KW_EXCHANGE_ALLOC(exchange, kw_api_Data_putMany_result);
    result->success.items = unknown_outcomes(exchange, args->records.count, error);
    result->success.count = args->records.count;
    result->has_success = true;
    return result->success.items ? result : kw_exchange_failure(exchange, error);
}

const void *
kw_late_remove_many(kw_exchange *exchange, const kw_error *error)
{
    const kw_api_Data_removeMany_args *args = exchange->args;
    kw_api_Data_removeMany_result *result = KW_EXCHANGE_ALLOC(exchange, kw_api_Data_removeMany_result);
    result->success.items = unknown_outcomes(exchange, args->keys.count, error);
    result->success.count = args->keys.count;
    result->has_success = true;
    return result->success.items ? result : kw_exchange_failure(exchange, error);
}

/* Rejects records whose generated fields would not fit into the reply, before they are written. */
static bool
reject_too_large(kw_exchange *exchange, const kw_table *table, kw_item *items, size_t count,
                 kw_reply_budget *ret_reply_budget, kw_error *ret_error)
{
    size_t each, fit = kw_reply_budget_for_generated(exchange, table, count, &each);
    if (!kw_reply_budget_begin(exchange, count, 0, ret_reply_budget, ret_error))
        return false;
    ret_reply_budget->left -= fit * each;
    for (size_t i = fit; i < count; i++)
        if (items[i].error.code == KW_OK)
            kw_reply_budget_refuse(ret_reply_budget, &items[i].error);
    return true;
}

void
kw_serve_put(kw_exchange *exchange)
{
    const kw_api_Data_put_args *args = exchange->args;
    const kw_table *table = NULL;
    kw_write_options how = {0};
    kw_item *item = kw_items_new(exchange, 1);
    kw_error error = KW_ERROR_NONE;
    if (!kw_exchange_find_table(exchange, args->has_table, args->table, &table, &error) ||
        !kw_exchange_read_options(exchange, args->options, &how, &error) ||
        !kw_convert_record(table, &args->record, exchange->call.arena, &item->record, &error))
        kw_exchange_fail(exchange, &error);
    else
        kw_verb_put(&exchange->call, table, item, 1, how, reply_one, writing_new(exchange, table));
}

void
kw_serve_put_many(kw_exchange *exchange)
{
    const kw_api_Data_putMany_args *args = exchange->args;
    const kw_table *table = NULL;
    kw_write_options how = {0};
    kw_item *items = NULL;
    kw_reply_budget reply_budget;
    kw_error error = KW_ERROR_NONE;
    if (!kw_exchange_find_table(exchange, args->has_table, args->table, &table, &error) ||
        !kw_exchange_read_options(exchange, args->options, &how, &error) ||
        !kw_items_of_records(exchange, table, args->records.items, args->records.count, &items, &error) ||
        !reject_too_large(exchange, table, items, args->records.count, &reply_budget, &error))
        kw_exchange_fail(exchange, &error);
    else if (args->records.count == 0)
        kw_exchange_reply(exchange, &(kw_api_Data_putMany_result){.has_success = true});
    else
        kw_verb_put(&exchange->call, table, items, args->records.count, how, reply_many,
                    writing_many(exchange, table, reply_budget));
}

void
kw_serve_remove(kw_exchange *exchange)
{
    const kw_api_Data_remove_args *args = exchange->args;
    const kw_table *table = NULL;
    kw_write_options how = {0};
    const kw_pick *picks = NULL;
    size_t picks_count = 0;
    kw_item *item = kw_items_new(exchange, 1);
    kw_error error = KW_ERROR_NONE;
    if (!kw_exchange_find_table(exchange, args->has_table, args->table, &table, &error) ||
        !kw_exchange_read_options(exchange, args->options, &how, &error) ||
        !kw_convert_record(table, &args->key, exchange->call.arena, &item->record, &error) ||
        !kw_convert_columns(table, args->columns.items, args->columns.count, exchange->call.arena, &picks,
                            &picks_count, &error))
        kw_exchange_fail(exchange, &error);
    else
        kw_verb_remove(&exchange->call, table, item, 1, picks, picks_count, how, reply_one,
                       writing_new(exchange, table));
}

void
kw_serve_remove_many(kw_exchange *exchange)
{
    const kw_api_Data_removeMany_args *args = exchange->args;
    const kw_table *table = NULL;
    kw_write_options how = {0};
    const kw_pick *picks = NULL;
    size_t picks_count = 0;
    kw_item *items = NULL;
    kw_reply_budget reply_budget;
    kw_error error = KW_ERROR_NONE;
    if (!kw_exchange_find_table(exchange, args->has_table, args->table, &table, &error) ||
        !kw_exchange_read_options(exchange, args->options, &how, &error) ||
        !kw_reply_budget_begin(exchange, args->keys.count, 0, &reply_budget, &error) ||
        !kw_items_of_records(exchange, table, args->keys.items, args->keys.count, &items, &error) ||
        !kw_convert_columns(table, args->columns.items, args->columns.count, exchange->call.arena, &picks,
                            &picks_count, &error))
        kw_exchange_fail(exchange, &error);
    else if (args->keys.count == 0)
        kw_exchange_reply(exchange, &(kw_api_Data_removeMany_result){.has_success = true});
    else
        kw_verb_remove(&exchange->call, table, items, args->keys.count, picks, picks_count, how, reply_many,
                       writing_many(exchange, table, reply_budget));
}
