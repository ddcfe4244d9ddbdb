#include "service/methods.h"

static const kw_method methods[KW_API_METHOD_COUNT] = {
    [KW_API_Data_put] = {kw_serve_put, true, true},
    [KW_API_Data_putMany] = {kw_serve_put_many, true, true},
    [KW_API_Data_get] = {kw_serve_get, true, false},
    [KW_API_Data_getMany] = {kw_serve_get_many, true, false},
    [KW_API_Data_remove] = {kw_serve_remove, true, true},
    [KW_API_Data_removeMany] = {kw_serve_remove_many, true, true},
    [KW_API_Data_increment] = {kw_serve_increment, true, true},
    [KW_API_Data_putIf] = {kw_serve_put_if, true, true},
    [KW_API_Data_compareAndPut] = {kw_serve_compare_and_put, true, true},
    [KW_API_Data_scan] = {kw_serve_scan, true, false},
    [KW_API_Data_nextPage] = {kw_serve_next_page, true, false},
    [KW_API_Data_latest] = {kw_serve_latest, true, false},
    [KW_API_Data_allocate] = {kw_serve_allocate, true, false},
    [KW_API_Data_describe] = {kw_serve_describe, false, false},
    [KW_API_Data_tables] = {kw_serve_tables, false, false},
    [KW_API_Admin_explain] = {kw_serve_explain, false, false},
    [KW_API_Admin_explainPut] = {kw_serve_explain_put, false, false},
    [KW_API_Admin_policy] = {kw_serve_policy, false, false},
    [KW_API_Admin_check] = {kw_serve_check, false, false},
    [KW_API_Admin_policyTables] = {kw_serve_policy_tables, false, false},
    [KW_API_Admin_policyDiff] = {kw_serve_policy_diff, false, false},
    [KW_API_Admin_advise] = {kw_serve_advise, false, false},
    [KW_API_Admin_createTable] = {kw_serve_create_table, true, false},
    [KW_API_Admin_reload] = {kw_serve_reload, false, false},
    [KW_API_Admin_stats] = {kw_serve_stats, false, false},
};

const kw_method *
kw_method_of(size_t number)
{
    g_assert(number < KW_API_METHOD_COUNT && methods[number].run);
    return &methods[number];
}
