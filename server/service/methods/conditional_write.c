/* increment, putIf, compareAndPut and allocate: writes whose result depends on stored data. */
#include "service/methods.h"
#include "service/methods/convert.h"
#include "service/reply_budget.h"
#include "service/show.h"
#include "verb/verb.h"

typedef struct changing {
    kw_exchange *exchange;
    const kw_table *table;
} changing;

static changing *
changing_new(kw_exchange *exchange, const kw_table *table)
{
    changing *what = KW_EXCHANGE_ALLOC(exchange, changing);
    *what = (changing){exchange, table};
    return what;
}

/* Maximum number of fields in one increment. Limited because each is compared with those before it. */
#define AMOUNTS_MAX 1000

/* --- increment ----------------------------------------------------------------------------------- */

static void
reply_increment(void *user, const kw_record *values, const kw_error *error)
{
    changing *what = user;
    if (error) {
        kw_exchange_fail(what->exchange, error);
        return;
    }
    kw_api_Record out = kw_convert_record_out(what->table, values, what->exchange->call.arena);
    kw_exchange_reply(what->exchange, &(kw_api_Data_increment_result){.has_success = true, .success = out});
}

static bool
read_amounts(kw_exchange *exchange, const kw_table *table, const kw_pick **ret_picks, int64_t **ret_amounts,
             size_t *ret_count, kw_error *ret_error)
{
    const kw_api_Data_increment_args *args = exchange->args;
    size_t count = args->amounts.count;
    if (count == 0)
        return kw_error_set(ret_error, KW_INVALID,
                            "table %s: increment has no amounts; name at least one field", table->name);
    if (count > AMOUNTS_MAX)
        return kw_error_set(ret_error, KW_LIMIT,
                            "table %s: increment names %zu fields, at most %d are allowed", table->name,
                            count, AMOUNTS_MAX);
    kw_pick *picks = KW_ARENA_ARRAY(exchange->call.arena, kw_pick, count);
    int64_t *amounts = KW_ARENA_ARRAY(exchange->call.arena, int64_t, count);
    for (size_t i = 0; i < count; i++) {
        if (!kw_convert_pick(table, args->amounts.items[i].key, &picks[i], ret_error))
            return false;
        for (size_t before = 0; before < i; before++)
            if (picks[before].field == picks[i].field && kw_bytes_equal(picks[before].entry, picks[i].entry))
                return kw_error_set(ret_error, KW_INVALID, "table %s, field %s: is given twice", table->name,
                                    kw_pick_text(table, picks[i], exchange->call.arena));
        amounts[i] = args->amounts.items[i].value;
    }
    *ret_picks = picks;
    *ret_amounts = amounts;
    *ret_count = count;
    return true;
}

void
kw_serve_increment(kw_exchange *exchange)
{
    const kw_api_Data_increment_args *args = exchange->args;
    const kw_table *table = NULL;
    kw_write_options how = {0};
    const kw_pick *picks = NULL;
    size_t count = 0;
    int64_t *amounts = NULL;
    kw_record *key = KW_EXCHANGE_ALLOC(exchange, kw_record);
    kw_error error = KW_ERROR_NONE;
    if (!kw_exchange_find_table(exchange, args->has_table, args->table, &table, &error) ||
        !kw_exchange_read_options(exchange, args->options, &how, &error) ||
        !kw_convert_record(table, &args->key, exchange->call.arena, key, &error) ||
        !read_amounts(exchange, table, &picks, &amounts, &count, &error) ||
        !kw_reply_budget_holds(exchange, table, picks, count, &error))
        kw_exchange_fail(exchange, &error);
    else
        kw_verb_increment(&exchange->call, table, key, picks, amounts, count, how, reply_increment,
                          changing_new(exchange, table));
}

/* --- putIf and compareAndPut --------------------------------------------------------------------- */

static void
reply_put_if(void *user, bool applied, kw_record generated, const kw_error *error)
{
    (void)generated; /* the reply of putIf has no field for it; that of compareAndPut has */
    changing *what = user;
    if (error)
        kw_exchange_fail(what->exchange, error);
    else
        kw_exchange_reply(what->exchange,
                          &(kw_api_Data_putIf_result){.has_success = true, .success = applied});
}

static void
reply_compare_and_put(void *user, bool applied, kw_record generated, const kw_error *error)
{
    changing *what = user;
    if (error) {
        kw_exchange_fail(what->exchange, error);
        return;
    }
    kw_api_Decided *out = KW_EXCHANGE_ALLOC(what->exchange, kw_api_Decided);
    *out = (kw_api_Decided){.applied = applied, .has_made = generated.values != NULL};
    if (generated.values)
        out->made = kw_convert_record_out(what->table, &generated, what->exchange->call.arena);
    kw_exchange_reply(what->exchange,
                      &(kw_api_Data_compareAndPut_result){.has_success = true, .success = out});
}

static bool
read_condition(const kw_table *table, bool given, const kw_api_Condition *from, kw_arena *arena,
               kw_condition_on_field *ret_condition, kw_error *ret_error)
{
    kw_pick pick = {0};
    if (!given)
        return kw_error_set(ret_error, KW_INVALID, "table %s: the argument condition is missing",
                            table->name);
    if (!kw_convert_pick(table, from->field, &pick, ret_error))
        return kw_error_prefix(ret_error, "condition");
    if (from->op < KW_COMPARE_LESS || from->op > KW_COMPARE_GREATER)
        return kw_error_set(ret_error, KW_INVALID, "condition: op %d does not exist", from->op);
    *ret_condition = (kw_condition_on_field){.pick = pick, .compare = (kw_compare)from->op};
    if (from->has_value)
        return kw_convert_value(table, pick, from->value, arena, &ret_condition->value, ret_error) ||
               kw_error_prefix(ret_error, "condition");
    if (from->op == KW_API_CompareOp_EQUAL || from->op == KW_API_CompareOp_NOT_EQUAL)
        return true;
    return kw_error_set(
        ret_error, KW_INVALID,
        "condition: table %s, field %s: the value is missing; only EQUAL and NOT_EQUAL can omit it",
        table->name, kw_pick_text(table, pick, arena));
}

/* putIf and compareAndPut have the same arguments, so serve_put_if reads both as those of putIf. */
G_STATIC_ASSERT(sizeof(kw_api_Data_putIf_args) == sizeof(kw_api_Data_compareAndPut_args));

static void
serve_put_if(kw_exchange *exchange, kw_put_if_done reply)
{
    const kw_api_Data_putIf_args *args = exchange->args;
    const kw_table *table = NULL;
    kw_write_options how = {0};
    kw_record *record = KW_EXCHANGE_ALLOC(exchange, kw_record);
    kw_condition_on_field *condition = KW_EXCHANGE_ALLOC(exchange, kw_condition_on_field);
    kw_error error = KW_ERROR_NONE;
    if (!kw_exchange_find_table(exchange, args->has_table, args->table, &table, &error) ||
        !kw_exchange_read_options(exchange, args->options, &how, &error) ||
        !kw_convert_record(table, &args->record, exchange->call.arena, record, &error) ||
        !read_condition(table, args->has_condition, args->condition, exchange->call.arena, condition, &error))
        kw_exchange_fail(exchange, &error);
    else
        kw_verb_put_if(&exchange->call, table, record, condition, how, reply, changing_new(exchange, table));
}

void
kw_serve_put_if(kw_exchange *exchange)
{
    serve_put_if(exchange, reply_put_if);
}

void
kw_serve_compare_and_put(kw_exchange *exchange)
{
    serve_put_if(exchange, reply_compare_and_put);
}

/* --- allocate ------------------------------------------------------------------------------------ */

static void
reply_allocate(void *user, int64_t first, int64_t count, const kw_error *error)
{
    kw_exchange *exchange = user;
    kw_api_Allocation *out = KW_EXCHANGE_ALLOC(exchange, kw_api_Allocation);
    *out = (kw_api_Allocation){.first = first, .count = count};
    if (error)
        kw_exchange_fail(exchange, error);
    else
        kw_exchange_reply(exchange, &(kw_api_Data_allocate_result){.has_success = true, .success = out});
}

void
kw_serve_allocate(kw_exchange *exchange)
{
    const kw_api_Data_allocate_args *args = exchange->args;
    const kw_table *table = NULL;
    kw_record *scope = KW_EXCHANGE_ALLOC(exchange, kw_record);
    size_t field = 0;
    kw_error error = KW_ERROR_NONE;
    if (!kw_exchange_find_table(exchange, args->has_table, args->table, &table, &error) ||
        !kw_exchange_read_options(exchange, args->options, NULL, &error))
        kw_exchange_fail(exchange, &error);
    else if (!args->has_field &&
             !kw_error_set(&error, KW_INVALID, "table %s: the argument field is missing", table->name))
        kw_exchange_fail(exchange, &error);
    else if (!kw_convert_field(table, args->field, &field, &error) ||
             !kw_convert_record(table, &args->scope, exchange->call.arena, scope, &error))
        kw_exchange_fail(exchange, &error);
    else
        kw_verb_allocate(&exchange->call, table, field, scope, args->count, reply_allocate, exchange);
}
