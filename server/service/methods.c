#include "service/methods.h"

#include <glib.h>

/* --- what a call is about -------------------------------------------------------------------------- */

static int64_t
deadline_of_options(const kw_api_Options *options)
{
    return options && options->has_deadline_ms ? options->deadline_ms : 0;
}

#define SUBJECT_OF(method)                                                                                   \
    static kw_subject subject_of_##method(const kw_exchange *exchange)                                       \
    {                                                                                                        \
        const kw_api_Data_##method##_args *args = exchange->args;                                            \
        return (kw_subject){args->has_table ? args->table : KW_BYTES_NONE,                                   \
                            deadline_of_options(args->options)};                                             \
    }
SUBJECT_OF(put)
SUBJECT_OF(putMany)
SUBJECT_OF(get)
SUBJECT_OF(getMany)
SUBJECT_OF(remove)
SUBJECT_OF(removeMany)
SUBJECT_OF(increment)
SUBJECT_OF(putIf)
SUBJECT_OF(compareAndPut)
SUBJECT_OF(allocate)

static kw_subject
subject_of_query(bool given, const kw_api_Query *query)
{
    if (!given)
        return (kw_subject){KW_BYTES_NONE, 0};
    return (kw_subject){query->table, query->has_deadline_ms ? query->deadline_ms : 0};
}

static kw_subject
subject_of_scan(const kw_exchange *exchange)
{
    const kw_api_Data_scan_args *args = exchange->args;
    return subject_of_query(args->has_query, args->query);
}

static kw_subject
subject_of_latest(const kw_exchange *exchange)
{
    const kw_api_Data_latest_args *args = exchange->args;
    return subject_of_query(args->has_query, args->query);
}

/* A cursor that cannot be opened is refused by the method itself. */
static kw_subject
subject_of_nextPage(const kw_exchange *exchange)
{
    const kw_api_Data_nextPage_args *args = exchange->args;
    kw_cursor cursor;
    kw_error ignored;
    bool opened =
        args->has_cursor && kw_cursor_open(exchange->call.keyring, args->cursor, kw_clock_wall_ms(),
                                           kw_exchange_model(exchange)->cursor.expiry_ms, &cursor, &ignored);
    return (kw_subject){opened ? cursor.table : KW_BYTES_NONE, deadline_of_options(args->options)};
}

/* --- the methods ----------------------------------------------------------------------------------- */

static const kw_method methods[KW_API_METHOD_COUNT] = {
    [KW_API_Data_put] = {kw_serve_put, true, true, subject_of_put},
    [KW_API_Data_putMany] = {kw_serve_put_many, true, true, subject_of_putMany},
    [KW_API_Data_get] = {kw_serve_get, true, false, subject_of_get},
    [KW_API_Data_getMany] = {kw_serve_get_many, true, false, subject_of_getMany},
    [KW_API_Data_remove] = {kw_serve_remove, true, true, subject_of_remove},
    [KW_API_Data_removeMany] = {kw_serve_remove_many, true, true, subject_of_removeMany},
    [KW_API_Data_increment] = {kw_serve_increment, true, true, subject_of_increment},
    [KW_API_Data_putIf] = {kw_serve_put_if, true, true, subject_of_putIf},
    [KW_API_Data_compareAndPut] = {kw_serve_compare_and_put, true, true, subject_of_compareAndPut},
    [KW_API_Data_scan] = {kw_serve_scan, true, false, subject_of_scan},
    [KW_API_Data_nextPage] = {kw_serve_next_page, true, false, subject_of_nextPage},
    [KW_API_Data_latest] = {kw_serve_latest, true, false, subject_of_latest},
    [KW_API_Data_allocate] = {kw_serve_allocate, true, false, subject_of_allocate},
    [KW_API_Data_describe] = {kw_serve_describe, false, false},
    [KW_API_Data_tables] = {kw_serve_tables, false, false},
    [KW_API_Admin_explain] = {kw_serve_explain, false, false},
    [KW_API_Admin_explainPut] = {kw_serve_explain_put, false, false},
    [KW_API_Admin_policy] = {kw_serve_policy, false, false},
    [KW_API_Admin_check] = {kw_serve_check, false, false},
    [KW_API_Admin_policyTables] = {kw_serve_policy_tables, false, false},
    [KW_API_Admin_policyDiff] = {kw_serve_policy_diff, false, false},
    [KW_API_Admin_advise] = {kw_serve_advise, false, false},
    [KW_API_Admin_createTable] = {kw_serve_create_table, true, true},
    [KW_API_Admin_forget] = {kw_serve_forget, true, true},
    [KW_API_Admin_reload] = {kw_serve_reload, false, false},
    [KW_API_Admin_stats] = {kw_serve_stats, false, false},
};

const kw_method *
kw_method_of(size_t number)
{
    g_assert(number < KW_API_METHOD_COUNT && methods[number].run);
    return &methods[number];
}
