#include "service/methods.h"

#include "service/show.h"

#include <glib.h>
#include <inttypes.h>

/* --- subjects of calls --------------------------------------------------------------------------- */

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
SUBJECT_OF(getVersions)
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

#define SLICE_OF(method)                                                                                     \
    static kw_subject subject_of_##method(const kw_exchange *exchange)                                       \
    {                                                                                                        \
        const kw_api_Admin_##method##_args *args = exchange->args;                                           \
        bool given = args->has_options && args->options->has_deadline_ms;                                    \
        return (kw_subject){args->has_table ? args->table : KW_BYTES_NONE,                                   \
                            given ? args->options->deadline_ms : 0};                                         \
    }
SLICE_OF(scrub)
SLICE_OF(changeDiff)
SLICE_OF(verify)

static bool
open_cursor(const kw_exchange *exchange, kw_cursor *ret_cursor, kw_error *ret_error)
{
    const kw_api_Data_nextPage_args *args = exchange->args;
    if (!args->has_cursor || args->cursor.size == 0)
        return kw_error_set(ret_error, KW_INVALID, "the argument cursor is missing");
    return kw_cursor_open(exchange->call.keyring, args->cursor, kw_clock_wall_ms(),
                          kw_exchange_model(exchange)->cursor.expiry_ms, ret_cursor, ret_error);
}

/* If the cursor cannot be opened, the method itself reports the error. */
static kw_subject
subject_of_nextPage(const kw_exchange *exchange)
{
    const kw_api_Data_nextPage_args *args = exchange->args;
    kw_cursor cursor;
    kw_error ignored;
    bool opened = open_cursor(exchange, &cursor, &ignored);
    return (kw_subject){opened ? cursor.table : KW_BYTES_NONE, deadline_of_options(args->options)};
}

#define TABLE_OF(service, method)                                                                            \
    static kw_subject subject_of_##method(const kw_exchange *exchange)                                       \
    {                                                                                                        \
        const kw_api_##service##_##method##_args *args = exchange->args;                                     \
        return (kw_subject){.table = args->has_table ? args->table : KW_BYTES_NONE};                         \
    }
TABLE_OF(Data, describe)
TABLE_OF(Admin, explainPut)
TABLE_OF(Admin, decodeKey)
TABLE_OF(Admin, createTable)
TABLE_OF(Admin, forget)
TABLE_OF(Admin, changes)
TABLE_OF(Admin, orderChange)

static kw_subject
subject_of_explain(const kw_exchange *exchange)
{
    const kw_api_Admin_explain_args *args = exchange->args;
    return (kw_subject){.table = args->has_query ? args->query->table : KW_BYTES_NONE};
}

kw_subject
kw_subject_of(const kw_exchange *exchange)
{
    const kw_method *method = kw_method_of((size_t)(exchange->method - kw_api_methods));
    return method->subject ? method->subject(exchange) : (kw_subject){.deadline_ms = 0};
}

bool
kw_method_read_subject(const kw_exchange *exchange, kw_subject *ret_subject, kw_error *ret_error)
{
    kw_cursor cursor;
    *ret_subject = kw_subject_of(exchange);
    if (exchange->method != &kw_api_methods[KW_API_Data_nextPage] || ret_subject->table.size > 0)
        return true;
    bool opened = open_cursor(exchange, &cursor, ret_error);
    if (opened)
        ret_subject->table = cursor.table;
    return opened;
}

/* --- cells of calls ------------------------------------------------------------------------------ */

static uint64_t
cells_of_record(const kw_api_Record *record)
{
    uint64_t count = 0;
    for (uint32_t i = 0; i < record->count; i++) {
        const kw_api_Value *value = &record->items[i].value;
        count += value->has_entries ? value->entries.count : 1;
    }
    return count;
}

#define CELLS_OF_RECORD(service, method)                                                                     \
    static uint64_t cells_of_##method(const kw_exchange *exchange)                                           \
    {                                                                                                        \
        return cells_of_record(&((const kw_api_##service##_##method##_args *)exchange->args)->record);       \
    }
CELLS_OF_RECORD(Data, put)
CELLS_OF_RECORD(Data, putIf)
CELLS_OF_RECORD(Data, compareAndPut)
CELLS_OF_RECORD(Admin, explainPut)

static uint64_t
cells_of_putMany(const kw_exchange *exchange)
{
    const kw_api_Data_putMany_args *args = exchange->args;
    uint64_t count = 0;
    for (uint32_t i = 0; i < args->records.count; i++)
        count += cells_of_record(&args->records.items[i]);
    return count;
}

static uint64_t
cells_of_remove(const kw_exchange *exchange)
{
    const kw_api_Data_remove_args *args = exchange->args;
    return MAX(args->columns.count, 1u);
}

static uint64_t
cells_of_removeMany(const kw_exchange *exchange)
{
    const kw_api_Data_removeMany_args *args = exchange->args;
    return (uint64_t)args->keys.count * MAX(args->columns.count, 1u);
}

static uint64_t
cells_of_increment(const kw_exchange *exchange)
{
    return ((const kw_api_Data_increment_args *)exchange->args)->amounts.count;
}

bool
kw_method_check_cells(const kw_exchange *exchange, kw_error *ret_error)
{
    const kw_method *method = kw_method_of((size_t)(exchange->method - kw_api_methods));
    uint64_t count = method->cells ? method->cells(exchange) : 0;
    uint64_t most = (uint64_t)kw_exchange_model(exchange)->limits.cells;
    char shown[KW_SHOWN_MAX];
    return count <= most || kw_error_set(ret_error, KW_LIMIT,
                                         "table %s: the call would write %" PRIu64 " cells; at most %" PRIu64
                                         " are allowed in one call (limits.cells)",
                                         kw_show_name(kw_subject_of(exchange).table, shown), count, most);
}

/* --- the methods --------------------------------------------------------------------------------- */

#define USES_ROWS(method) .needs_store = true, .uses_rows = true, .subject = subject_of_##method
#define READS(method) .operation = KW_OPERATION_READ, USES_ROWS(method)
#define CHANGES_ROWS(method) .writes = true, .changes = true, .cells = cells_of_##method, USES_ROWS(method)
#define WRITES(method) .operation = KW_OPERATION_WRITE, CHANGES_ROWS(method)
#define REMOVES(method) .operation = KW_OPERATION_REMOVE, CHANGES_ROWS(method)
#define DECIDES(method) .operation = KW_OPERATION_ATOMIC, CHANGES_ROWS(method), .atomic = true
#define EXPLAINS .operation = KW_OPERATION_EXPLAIN
#define VIEWS .operation = KW_OPERATION_VIEW
#define OPERATES .operation = KW_OPERATION_OPERATE
#define FEWER_COLUMNS .smaller = "request fewer columns"
#define SMALLER_PAGES .smaller = "request smaller pages (page_rows, page_bytes) or fewer columns"
#define LARGER_FRAMES .smaller = "increase limits.frame"

static const kw_method methods[KW_API_METHOD_COUNT] = {
    [KW_API_Data_put] = {kw_serve_put, WRITES(put), LARGER_FRAMES},
    [KW_API_Data_putMany] = {kw_serve_put_many, WRITES(putMany), LARGER_FRAMES, .late = kw_late_put_many},
    [KW_API_Data_get] = {kw_serve_get, READS(get), FEWER_COLUMNS},
    [KW_API_Data_getMany] = {kw_serve_get_many, READS(getMany),
                             .smaller = "request fewer records in one call", .late = kw_late_get_many},
    [KW_API_Data_getVersions] = {kw_serve_get_versions, READS(getVersions),
                                 .smaller = "request fewer versions or columns"},
    [KW_API_Data_remove] = {kw_serve_remove, REMOVES(remove), LARGER_FRAMES},
    [KW_API_Data_removeMany] = {kw_serve_remove_many, REMOVES(removeMany), LARGER_FRAMES,
                                .late = kw_late_remove_many},
    [KW_API_Data_increment] = {kw_serve_increment, DECIDES(increment),
                               .smaller = "increment fewer fields in one call"},
    [KW_API_Data_putIf] = {kw_serve_put_if, DECIDES(putIf), LARGER_FRAMES},
    [KW_API_Data_compareAndPut] = {kw_serve_compare_and_put, DECIDES(compareAndPut), LARGER_FRAMES},
    [KW_API_Data_scan] = {kw_serve_scan, READS(scan), SMALLER_PAGES},
    [KW_API_Data_nextPage] = {kw_serve_next_page, READS(nextPage), SMALLER_PAGES},
    [KW_API_Data_latest] = {kw_serve_latest, READS(latest), FEWER_COLUMNS},
    [KW_API_Data_allocate] = {kw_serve_allocate, .operation = KW_OPERATION_WRITE, USES_ROWS(allocate),
                              .changes = true, LARGER_FRAMES},
    [KW_API_Data_describe] = {kw_serve_describe, .operation = KW_OPERATION_DESCRIBE,
                              .subject = subject_of_describe, LARGER_FRAMES},
    [KW_API_Data_tables] = {kw_serve_tables, .operation = KW_OPERATION_LIST, LARGER_FRAMES},
    [KW_API_Admin_explain] = {kw_serve_explain, EXPLAINS, .subject = subject_of_explain,
                              .smaller = "query fewer values at once"},
    [KW_API_Admin_explainPut] = {kw_serve_explain_put, EXPLAINS, .subject = subject_of_explainPut,
                                 .cells = cells_of_explainPut, .smaller = "explain a smaller record"},
    [KW_API_Admin_decodeKey] = {kw_serve_decode_key, EXPLAINS, .subject = subject_of_decodeKey,
                                .smaller = "decode under one path"},
    [KW_API_Admin_policy] = {kw_serve_policy, VIEWS, LARGER_FRAMES},
    [KW_API_Admin_check] = {kw_serve_check, VIEWS, .smaller = "check the policy with keywayd --check"},
    [KW_API_Admin_policyTables] = {kw_serve_policy_tables, VIEWS, .smaller = "request fewer tables at once"},
    [KW_API_Admin_policyDiff] = {kw_serve_policy_diff, VIEWS, .smaller = "compare fewer tables at once"},
    [KW_API_Admin_advise] = {kw_serve_advise, VIEWS, .smaller = "send fewer candidates or queries"},
    [KW_API_Admin_createTable] = {kw_serve_create_table, .operation = KW_OPERATION_CREATE,
                                  .subject = subject_of_createTable, .needs_store = true, .writes = true,
                                  .changes = true, .smaller = "the split keys are not shown"},
    [KW_API_Admin_forget] = {kw_serve_forget, OPERATES, .subject = subject_of_forget, .needs_store = true,
                             .writes = true, .changes = true, .ignores_deadline = true, LARGER_FRAMES},
    [KW_API_Admin_scrub] = {kw_serve_scrub, OPERATES, .writes = true, .changes = true, USES_ROWS(scrub),
                            .smaller = "list fewer differences"},
    [KW_API_Admin_verify] = {kw_serve_verify, OPERATES, .changes = true, USES_ROWS(verify),
                             .smaller = "request fewer examples"},
    [KW_API_Admin_reload] = {kw_serve_reload, OPERATES, .changes = true, .ignores_deadline = true,
                             LARGER_FRAMES},
    [KW_API_Admin_policyApply] = {kw_serve_policy_apply, OPERATES, .changes = true, .ignores_deadline = true,
                                  LARGER_FRAMES},
    [KW_API_Admin_policyHistory] = {kw_serve_policy_history, VIEWS,
                                    .smaller = "request fewer versions at once"},
    [KW_API_Admin_policyVersion] = {kw_serve_policy_version, VIEWS, LARGER_FRAMES},
    [KW_API_Admin_policyInEffect] = {kw_serve_policy_in_effect, VIEWS, LARGER_FRAMES},
    [KW_API_Admin_exportCatalog] = {kw_serve_export_catalog, OPERATES, LARGER_FRAMES},
    [KW_API_Admin_importCatalog] = {kw_serve_import_catalog, OPERATES, .changes = true,
                                    .ignores_deadline = true, LARGER_FRAMES},
    [KW_API_Admin_changes] = {kw_serve_changes, VIEWS, .subject = subject_of_changes,
                              .smaller = "request one table at a time"},
    [KW_API_Admin_orderChange] = {kw_serve_order_change, OPERATES, .subject = subject_of_orderChange,
                                  .changes = true, .ignores_deadline = true, LARGER_FRAMES},
    [KW_API_Admin_changeDiff] = {kw_serve_change_diff, OPERATES, .writes = true, .changes = true,
                                 USES_ROWS(changeDiff), .smaller = "list fewer differences"},
    [KW_API_Admin_backup] = {kw_serve_backup, OPERATES, .changes = true, .ignores_deadline = true,
                             LARGER_FRAMES},
    [KW_API_Admin_stats] = {kw_serve_stats, VIEWS, LARGER_FRAMES},
};

const kw_method *
kw_method_of(size_t number)
{
    g_assert(number < KW_API_METHOD_COUNT && methods[number].run && methods[number].smaller &&
             methods[number].operation != KW_OPERATION_NONE);
    return &methods[number];
}
