/* get and getMany: records by the fields of their primary key. A record that is not there is a Found
 * without members. */
#include "service/convert.h"
#include "service/errors.h"
#include "service/items.h"
#include "service/methods.h"
#include "verb/verb.h"

typedef struct reading {
    kw_exchange *exchange;
    const kw_table *table;
} reading;

static void
found_out(const reading *what, const kw_found_record *found, kw_api_Found *out)
{
    kw_arena *arena = what->exchange->call.arena;
    if (found->error.code != KW_OK) {
        out->has_failure = true;
        out->failure = kw_errors_failure(&found->error, arena);
    } else if (found->record.values) {
        out->has_record = true;
        out->record = kw_convert_record_out(what->table, &found->record, arena);
    }
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
    found_out(what, found, &out);
    kw_exchange_reply(what->exchange, &(kw_api_Data_get_result){.has_success = true, .success = &out});
}

static void
reply_many(void *user, const kw_found_record *found, size_t count)
{
    reading *what = user;
    kw_api_Found *out = KW_ARENA_ARRAY(what->exchange->call.arena, kw_api_Found, count);
    for (size_t i = 0; i < count; i++)
        found_out(what, &found[i], &out[i]);
    kw_exchange_reply(what->exchange, &(kw_api_Data_getMany_result){.has_success = true,
                                                                    .success.items = out,
                                                                    .success.count = (uint32_t)count});
}

static reading *
reading_new(kw_exchange *exchange, const kw_table *table)
{
    reading *what = KW_EXCHANGE_ALLOC(exchange, reading);
    *what = (reading){exchange, table};
    return what;
}

void
kw_serve_get(kw_exchange *exchange)
{
    const kw_api_Data_get_args *args = exchange->args;
    const kw_table *table = NULL;
    const kw_pick *picks = NULL;
    size_t picks_count = 0;
    kw_item *item = kw_items_new(exchange, 1);
    kw_error error = KW_ERROR_NONE;
    if (!kw_exchange_find_table(exchange, args->has_table, args->table, &table, &error) ||
        !kw_exchange_take_options(exchange, args->options, NULL, &error) ||
        !kw_convert_record(table, &args->key, exchange->call.arena, &item->record, &error) ||
        !kw_convert_columns(table, args->columns.items, args->columns.count, exchange->call.arena, &picks,
                            &picks_count, &error))
        kw_exchange_fail(exchange, &error);
    else
        kw_verb_get(&exchange->call, table, item, 1, picks, picks_count, reply_one,
                    reading_new(exchange, table));
}

void
kw_serve_get_many(kw_exchange *exchange)
{
    const kw_api_Data_getMany_args *args = exchange->args;
    const kw_table *table = NULL;
    const kw_pick *picks = NULL;
    size_t picks_count = 0;
    kw_item *items = NULL;
    kw_error error = KW_ERROR_NONE;
    if (!kw_exchange_find_table(exchange, args->has_table, args->table, &table, &error) ||
        !kw_exchange_take_options(exchange, args->options, NULL, &error) ||
        !kw_items_of_records(exchange, table, args->keys.items, args->keys.count, &items, &error) ||
        !kw_convert_columns(table, args->columns.items, args->columns.count, exchange->call.arena, &picks,
                            &picks_count, &error))
        kw_exchange_fail(exchange, &error);
    else if (args->keys.count == 0)
        kw_exchange_reply(exchange, &(kw_api_Data_getMany_result){.has_success = true});
    else
        kw_verb_get(&exchange->call, table, items, args->keys.count, picks, picks_count, reply_many,
                    reading_new(exchange, table));
}
