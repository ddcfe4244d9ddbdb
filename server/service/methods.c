#include "service/methods.h"

static const kw_method methods[KW_API_METHOD_COUNT] = {
    [KW_API_Data_put] = {kw_serve_put, true},
    [KW_API_Data_putMany] = {kw_serve_put_many, true},
    [KW_API_Data_get] = {kw_serve_get, true},
    [KW_API_Data_getMany] = {kw_serve_get_many, true},
    [KW_API_Data_remove] = {kw_serve_remove, true},
    [KW_API_Data_removeMany] = {kw_serve_remove_many, true},
    [KW_API_Data_increment] = {kw_serve_increment, true},
    [KW_API_Data_putIf] = {kw_serve_put_if, true},
    [KW_API_Data_scan] = {kw_serve_scan, true},
    [KW_API_Data_nextPage] = {kw_serve_next_page, true},
    [KW_API_Data_latest] = {kw_serve_latest, true},
    [KW_API_Data_allocate] = {kw_serve_allocate, true},
    [KW_API_Data_describe] = {kw_serve_describe, false},
    [KW_API_Data_tables] = {kw_serve_tables, false},
    [KW_API_Admin_explain] = {kw_serve_explain, false},
    [KW_API_Admin_explainPut] = {kw_serve_explain_put, false},
    [KW_API_Admin_policy] = {kw_serve_policy, false},
    [KW_API_Admin_check] = {kw_serve_check, false},
    [KW_API_Admin_policyTables] = {kw_serve_policy_tables, false},
    [KW_API_Admin_policyDiff] = {kw_serve_policy_diff, false},
    [KW_API_Admin_advise] = {kw_serve_advise, false},
    [KW_API_Admin_createTable] = {kw_serve_create_table, true},
    [KW_API_Admin_reload] = {kw_serve_reload, false},
    [KW_API_Admin_stats] = {kw_serve_stats, false},
};

const kw_method *
kw_method_of(size_t number)
{
    g_assert(number < KW_API_METHOD_COUNT && methods[number].run);
    return &methods[number];
}
