/* put, putMany, remove, removeMany. A single write that fails is answered with an exception; of many,
 * each has its own outcome, and a record that cannot be read does not fail its neighbours. */
#include "service/convert.h"
#include "service/errors.h"
#include "service/items.h"
#include "service/methods.h"
#include "verb/verb.h"

typedef struct writing {
    kw_exchange *exchange;
    const kw_table *table;
} writing;

static kw_error
error_of(const kw_written_record *result)
{
    kw_error error = result->error;
    error.maybe_applied |= result->outcome == KW_OUTCOME_UNKNOWN;
    return error;
}

static void
written_out(const writing *what, const kw_written_record *result, kw_api_Written *out)
{
    kw_arena *arena = what->exchange->call.arena;
    out->outcome = (int32_t)result->outcome;
    if (result->outcome != KW_OUTCOME_OK) {
        kw_error error = error_of(result);
        out->has_failure = true;
        out->failure = kw_errors_failure(&error, arena);
    }
    if (result->made.values && result->outcome != KW_OUTCOME_FAILED) {
        out->has_made = true;
        out->made = kw_convert_record_out(what->table, &result->made, arena);
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
    for (size_t i = 0; i < count; i++)
        written_out(what, &results[i], &written[i]);
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
    *what = (writing){exchange, table};
    return what;
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
        !kw_exchange_take_options(exchange, args->options, &how, &error) ||
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
    kw_error error = KW_ERROR_NONE;
    if (!kw_exchange_find_table(exchange, args->has_table, args->table, &table, &error) ||
        !kw_exchange_take_options(exchange, args->options, &how, &error) ||
        !kw_items_of_records(exchange, table, args->records.items, args->records.count, &items, &error))
        kw_exchange_fail(exchange, &error);
    else if (args->records.count == 0)
        kw_exchange_reply(exchange, &(kw_api_Data_putMany_result){.has_success = true});
    else
        kw_verb_put(&exchange->call, table, items, args->records.count, how, reply_many,
                    writing_new(exchange, table));
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
        !kw_exchange_take_options(exchange, args->options, &how, &error) ||
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
    kw_error error = KW_ERROR_NONE;
    if (!kw_exchange_find_table(exchange, args->has_table, args->table, &table, &error) ||
        !kw_exchange_take_options(exchange, args->options, &how, &error) ||
        !kw_items_of_records(exchange, table, args->keys.items, args->keys.count, &items, &error) ||
        !kw_convert_columns(table, args->columns.items, args->columns.count, exchange->call.arena, &picks,
                            &picks_count, &error))
        kw_exchange_fail(exchange, &error);
    else if (args->keys.count == 0)
        kw_exchange_reply(exchange, &(kw_api_Data_removeMany_result){.has_success = true});
    else
        kw_verb_remove(&exchange->call, table, items, args->keys.count, picks, picks_count, how, reply_many,
                       writing_new(exchange, table));
}
