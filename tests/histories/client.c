/* See client.h. */
#include "histories/client_private.h"

#include <stdio.h>
#include <string.h>

typedef __typeof__(*((kw_api_Data_increment_args *)0)->amounts.items) amount;

/* --- outcomes --------------------------------------------------------------------------------- */

static void
note_why(client *with, kw_bytes message)
{
    snprintf(with->why, sizeof with->why, "%.*s", (int)message.size, (const char *)message.data);
}

bool
client_refused(client *with, operation *of, const kw_api_KeywayError *error)
{
    bool maybe = error->has_maybe_applied && error->maybe_applied;
    note_why(with, error->message);
    of->outcome = maybe ? OPERATION_UNKNOWN : OPERATION_FAILED;
    return of->kind != OPERATION_GET && of->kind != OPERATION_FIND && of->kind != OPERATION_SCAN &&
           of->kind != OPERATION_VERSIONS;
}

static bool
written(client *with, operation *of, const kw_api_KeywayError *error, const kw_api_Written *result)
{
    if (error)
        return client_refused(with, of, error);
    of->outcome = (operation_outcome)result->outcome;
    if (result->outcome != KW_API_Outcome_OK)
        note_why(with, result->failure->message);
    return true;
}

static bool
unanswered(operation *of, client_reply how)
{
    of->outcome = OPERATION_UNKNOWN;
    of->end_ns = OPERATION_NEVER;
    return how == NO_ANSWER && of->kind != OPERATION_GET && of->kind != OPERATION_FIND;
}

/* --- one operation ---------------------------------------------------------------------------- */

static bool
do_put(client *with, const client_table *table, operation *of)
{
    kw_api_Data_put_args args = {.has_table = true,
                                 .table = kw_bytes_of_text(table->name),
                                 .has_record = true,
                                 .record = client_record(with, table, of),
                                 .has_options = true,
                                 .options = client_options(with)};
    const kw_api_Data_put_result *result;
    client_reply how =
        client_exchange(with, &kw_api_methods[KW_API_Data_put], &args, of, (const void **)&result);
    return how == ANSWERED ? written(with, of, result->failure, result->success) : unanswered(of, how);
}

bool
client_put_many(client *with, const client_table *table, operation *puts, unsigned count)
{
    kw_arena_reset(with->arena);
    kw_api_Record *records = KW_ARENA_ARRAY(with->arena, kw_api_Record, count);
    for (unsigned i = 0; i < count; i++)
        records[i] = client_record(with, table, &puts[i]);
    kw_api_Data_putMany_args args = {.has_table = true,
                                     .table = kw_bytes_of_text(table->name),
                                     .has_records = true,
                                     .records = {.items = records, .count = count},
                                     .has_options = true,
                                     .options = client_options(with)};
    const kw_api_Data_putMany_result *result;
    client_reply how =
        client_exchange(with, &kw_api_methods[KW_API_Data_putMany], &args, &puts[0], (const void **)&result);
    for (unsigned i = 0; i < count; i++) {
        puts[i].begin_ns = puts[0].begin_ns;
        puts[i].end_ns = puts[0].end_ns;
    }
    for (unsigned i = count; how != ANSWERED && i > 0; i--)
        unanswered(&puts[i - 1], how);
    for (unsigned i = 0; how == ANSWERED && i < count; i++)
        written(with, &puts[i], result->failure, result->failure ? NULL : &result->success.items[i]);
    return how != NOT_SENT;
}

static bool
do_remove(client *with, const client_table *table, operation *of)
{
    kw_api_Data_remove_args args = {.has_table = true,
                                    .table = kw_bytes_of_text(table->name),
                                    .has_key = true,
                                    .key = client_key(with, table, of->record),
                                    .has_options = true,
                                    .options = client_options(with)};
    if (!of->last && of->fields != (1u << OPERATION_FIELDS) - 1) {
        args.has_columns = true;
        args.columns.items = client_columns(with, table, of->fields, &args.columns.count);
    }
    const kw_api_Data_remove_result *result;
    client_reply how =
        client_exchange(with, &kw_api_methods[KW_API_Data_remove], &args, of, (const void **)&result);
    return how == ANSWERED ? written(with, of, result->failure, result->success) : unanswered(of, how);
}

static bool
do_get(client *with, const client_table *table, operation *of)
{
    kw_api_Data_get_args args = {.has_table = true,
                                 .table = kw_bytes_of_text(table->name),
                                 .has_key = true,
                                 .key = client_key(with, table, of->record),
                                 .has_options = true,
                                 .options = client_options(with)};
    bool all = of->fields == (1u << OPERATION_FIELDS) - 1;
    if (!all) {
        args.has_columns = true;
        args.columns.items = client_columns(with, table, of->fields, &args.columns.count);
    }
    const kw_api_Data_get_result *result;
    client_reply how =
        client_exchange(with, &kw_api_methods[KW_API_Data_get], &args, of, (const void **)&result);
    if (how != ANSWERED)
        return unanswered(of, how);
    if (result->failure)
        return client_refused(with, of, result->failure);
    if (result->success->failure) {
        note_why(with, result->success->failure->message);
        return false;
    }
    of->outcome = OPERATION_OK;
    of->applied = all && result->success->has_record;
    client_read_record(table, &result->success->record, of->values);
    return true;
}

static bool
send_query(client *with, const client_table *table, kw_api_Query *query, operation *of)
{
    kw_api_Data_scan_args args = {.has_query = true, .query = query};
    const kw_api_Data_scan_result *result;
    client_reply how =
        client_exchange(with, &kw_api_methods[KW_API_Data_scan], &args, of, (const void **)&result);
    if (how != ANSWERED)
        return unanswered(of, how);
    if (result->failure)
        return client_refused(with, of, result->failure);
    of->outcome = OPERATION_OK;
    kw_api_Record none = {.count = 0};
    of->applied = result->success->rows.count > 0;
    client_read_record(table, of->applied ? &result->success->rows.items[0] : &none, of->values);
    return true;
}

/* Reads the record by its second path, with a query that binds the whole identity. */
static bool
do_query(client *with, const client_table *table, operation *of)
{
    kw_api_Query query = {.table = kw_bytes_of_text(table->name),
                          .has_bound = true,
                          .bound = client_key(with, table, of->record),
                          .has_path = true,
                          .path = kw_bytes_of_text(table->second_path),
                          .has_deadline_ms = true,
                          .deadline_ms = with->deadline_ms};
    return send_query(with, table, &query, of);
}

/* Reads the record by a hint path, with a query that binds the whole key. */
static bool
do_find(client *with, const client_table *table, operation *of)
{
    kw_api_Query query = {.table = kw_bytes_of_text(table->name),
                          .has_bound = true,
                          .bound = client_place(with, table, of),
                          .has_path = true,
                          .path = kw_bytes_of_text(client_path_name(of->view)),
                          .has_deadline_ms = true,
                          .deadline_ms = with->deadline_ms};
    return send_query(with, table, &query, of);
}

static bool
do_put_if(client *with, const client_table *table, operation *of)
{
    kw_api_Value expected = {0};
    kw_api_Condition condition = {.field = kw_bytes_of_text(client_field_name(table, of->on)),
                                  .op = KW_API_CompareOp_EQUAL};
    if (of->expected != OPERATION_ABSENT) {
        expected = client_value(with, of->on, of->expected);
        condition.has_value = true;
        condition.value = &expected;
    }
    kw_api_Data_putIf_args args = {.has_table = true,
                                   .table = kw_bytes_of_text(table->name),
                                   .has_record = true,
                                   .record = client_record(with, table, of),
                                   .has_condition = true,
                                   .condition = &condition,
                                   .has_options = true,
                                   .options = client_options(with)};
    const kw_api_Data_putIf_result *result;
    client_reply how =
        client_exchange(with, &kw_api_methods[KW_API_Data_putIf], &args, of, (const void **)&result);
    if (how != ANSWERED)
        return unanswered(of, how);
    if (result->failure)
        return client_refused(with, of, result->failure);
    of->outcome = OPERATION_OK;
    of->applied = result->success;
    return true;
}

static bool
do_increment(client *with, const client_table *table, operation *of)
{
    amount amounts[OPERATION_FIELDS];
    kw_api_Data_increment_args args = {.has_table = true,
                                       .table = kw_bytes_of_text(table->name),
                                       .has_key = true,
                                       .key = client_key(with, table, of->record),
                                       .has_amounts = true,
                                       .has_options = true,
                                       .options = client_options(with)};
    args.amounts.items = (void *)amounts;
    for (int i = 0; i < OPERATION_FIELDS; i++)
        if (of->fields >> i & 1)
            amounts[args.amounts.count++] =
                (amount){.key = kw_bytes_of_text(client_field_name(table, i)), .value = of->values[i]};
    const kw_api_Data_increment_result *result;
    client_reply how =
        client_exchange(with, &kw_api_methods[KW_API_Data_increment], &args, of, (const void **)&result);
    if (how != ANSWERED)
        return unanswered(of, how);
    if (result->failure)
        return client_refused(with, of, result->failure);
    of->outcome = OPERATION_OK;
    client_read_record(table, &result->success, of->results);
    return true;
}

static bool
do_number(client *with, const client_table *table, operation *of)
{
    kw_api_Data_put_args args = {.has_table = true,
                                 .table = kw_bytes_of_text(table->name),
                                 .has_record = true,
                                 .has_options = true,
                                 .options = client_options(with)};
    args.record = client_key(with, table, of->record);
    const kw_api_Data_put_result *result;
    client_reply how =
        client_exchange(with, &kw_api_methods[KW_API_Data_put], &args, of, (const void **)&result);
    if (how != ANSWERED)
        return unanswered(of, how);
    if (!written(with, of, result->failure, result->success) || of->outcome == OPERATION_FAILED ||
        !result->success)
        return false;
    const kw_api_Record *made = &result->success->made;
    for (uint32_t i = 0; result->success->has_made && i < made->count; i++)
        of->values[0] = ((const item *)(const void *)made->items + i)->value.number;
    return result->success->has_made;
}

bool
client_do(client *with, const client_table *table, operation *of)
{
    kw_arena_reset(with->arena);
    switch (of->kind) {
    case OPERATION_PUT:
        return do_put(with, table, of);
    case OPERATION_REMOVE:
        return do_remove(with, table, of);
    case OPERATION_GET:
        return of->view ? do_query(with, table, of) : do_get(with, table, of);
    case OPERATION_FIND:
        return do_find(with, table, of);
    case OPERATION_PUT_IF:
        return do_put_if(with, table, of);
    case OPERATION_INCREMENT:
        return do_increment(with, table, of);
    case OPERATION_NUMBER:
        return do_number(with, table, of);
    case OPERATION_ROW:
    case OPERATION_SCAN:
    case OPERATION_VERSION:
    case OPERATION_VERSIONS:
    case OPERATION_KINDS:
        break;
    }
    g_assert_not_reached();
}
