/* The methods of Thrift2 on the simulated rows. */
#include "histories/sim/rows_internal.h"

#include "wire/table.h"

#include <string.h>

/* In nearly every result, `io` is the member with id 1. */
static const void *
refuse(kw_hb_method method, const char *message, kw_arena *arena)
{
    const kw_wire_struct *form = kw_hb_methods[method].result;
    uint8_t *result = kw_arena_alloc0(arena, form->size);
    kw_hb_TIOError *error = KW_ARENA_NEW(arena, kw_hb_TIOError);
    *error =
        (kw_hb_TIOError){.has_message = true, .message = kw_bytes_of_text(message), .has_canRetry = true};
    for (uint32_t i = 0; i < form->field_count; i++) {
        if (form->fields[i].id != 1)
            continue;
        result[form->fields[i].flag] = true;
        memcpy(result + form->fields[i].offset, &error, sizeof error);
    }
    return result;
}

/* --- writes ----------------------------------------------------------------------------------- */

static const char *
put_many(sim_rows *rows, sim_table *table, const kw_hb_THBaseService_putMultiple_args *args)
{
    const char *wrong = NULL;
    for (uint32_t i = 0; i < args->tputs.count; i++) {
        const char *one = sim_apply_put(rows, table, &args->tputs.items[i], sim_now_ms(rows, table));
        wrong = one ? one : wrong;
    }
    return wrong;
}

static const char *
delete_many(sim_rows *rows, sim_table *table, const kw_hb_THBaseService_deleteMultiple_args *args)
{
    const char *wrong = NULL;
    for (uint32_t i = 0; i < args->tdeletes.count; i++) {
        const char *one = sim_apply_delete(rows, table, &args->tdeletes.items[i]);
        wrong = one ? one : wrong;
    }
    return wrong;
}

/* HBase returns cells in the order of their columns. */
static int
by_column(const void *left, const void *right)
{
    const kw_hb_TColumnValue *a = left, *b = right;
    int order = kw_bytes_compare(a->family, b->family);
    return order ? order : kw_bytes_compare(a->qualifier, b->qualifier);
}

static const char *
add_all(sim_rows *rows, sim_table *table, const kw_hb_TIncrement *increment, kw_arena *arena,
        kw_hb_THBaseService_increment_result *ret_result)
{
    int64_t now_ms = sim_now_ms(rows, table);
    sim_row *row = sim_make_row(table, increment->row);
    kw_hb_TResult *sums = KW_ARENA_NEW(arena, kw_hb_TResult);
    kw_hb_TColumnValue *values = KW_ARENA_ARRAY(arena, kw_hb_TColumnValue, increment->columns.count);
    for (uint32_t i = 0; i < increment->columns.count; i++) {
        const kw_hb_TColumnIncrement *column = &increment->columns.items[i];
        kw_cell old = {.timestamp = 0};
        bool there = sim_newest(row, column->family, column->qualifier, now_ms, arena, &old);
        if (there && old.value.size != 8)
            return "Field is not a long, it's something else";
        uint8_t *sum = kw_arena_alloc(arena, 8);
        kw_be64_store(sum, (there ? kw_be64_load(old.value.data) : 0) + (uint64_t)column->amount);
        values[i] = (kw_hb_TColumnValue){.family = column->family,
                                         .qualifier = column->qualifier,
                                         .value = kw_bytes_of(sum, 8),
                                         .has_timestamp = true,
                                         .timestamp = there ? MAX(old.timestamp + 1, now_ms) : now_ms};
        kw_hb_TPut put = {.row = increment->row};
        put.columnValues.items = &values[i];
        put.columnValues.count = 1;
        sim_apply_put(rows, table, &put, now_ms);
    }
    qsort(values, increment->columns.count, sizeof *values, by_column);
    *sums = (kw_hb_TResult){.has_row = true, .row = increment->row};
    sums->columnValues.items = values;
    sums->columnValues.count = increment->columns.count;
    ret_result->has_success = true;
    ret_result->success = sums;
    return NULL;
}

/* --- conditions ------------------------------------------------------------------------------- */

typedef struct condition {
    kw_bytes row, family, qualifier, value;
    bool has_value;
    int32_t op; /* given OP stored */
} condition;

static bool
compares(int32_t op, int order)
{
    switch (op) {
    case KW_HB_TCompareOp_LESS:
        return order < 0;
    case KW_HB_TCompareOp_LESS_OR_EQUAL:
        return order <= 0;
    case KW_HB_TCompareOp_EQUAL:
        return order == 0;
    case KW_HB_TCompareOp_NOT_EQUAL:
        return order != 0;
    case KW_HB_TCompareOp_GREATER_OR_EQUAL:
        return order >= 0;
    case KW_HB_TCompareOp_GREATER:
        return order > 0;
    default:
        return true;
    }
}

/* True if the condition holds. HBase treats an empty value like an absent cell. *ret_stamp: the timestamp for
 * puts. */
static bool
is_met(sim_rows *rows, sim_table *table, const condition *of, kw_arena *arena, int64_t *ret_stamp)
{
    int64_t now_ms = sim_now_ms(rows, table);
    kw_cell stored = {.timestamp = 0};
    bool there = sim_newest(sim_find_row(table, of->row), of->family, of->qualifier, now_ms, arena, &stored);
    *ret_stamp = MAX(now_ms, stored.timestamp);
    if (!of->has_value || of->value.size == 0)
        return (stored.value.size == 0) == (of->op != KW_HB_TCompareOp_NOT_EQUAL);
    return there && compares(of->op, kw_bytes_compare(of->value, stored.value));
}

static const char *
check_and_put(sim_rows *rows, sim_table *table, const kw_hb_THBaseService_checkAndPut_args *args,
              kw_arena *arena, kw_hb_THBaseService_checkAndPut_result *ret_result)
{
    condition of = {args->row,   args->family,    args->qualifier,
                    args->value, args->has_value, KW_HB_TCompareOp_EQUAL};
    int64_t stamp;
    ret_result->has_success = true;
    ret_result->success = is_met(rows, table, &of, arena, &stamp);
    return ret_result->success ? sim_apply_put(rows, table, args->tput, stamp) : NULL;
}

static const char *
check_and_delete(sim_rows *rows, sim_table *table, const kw_hb_THBaseService_checkAndDelete_args *args,
                 kw_arena *arena, kw_hb_THBaseService_checkAndDelete_result *ret_result)
{
    condition of = {args->row,   args->family,    args->qualifier,
                    args->value, args->has_value, KW_HB_TCompareOp_EQUAL};
    int64_t stamp;
    ret_result->has_success = true;
    ret_result->success = is_met(rows, table, &of, arena, &stamp);
    return ret_result->success ? sim_apply_delete(rows, table, args->tdelete) : NULL;
}

static const char *
check_and_mutate(sim_rows *rows, sim_table *table, const kw_hb_THBaseService_checkAndMutate_args *args,
                 kw_arena *arena, kw_hb_THBaseService_checkAndMutate_result *ret_result)
{
    condition of = {args->row, args->family, args->qualifier, args->value, args->has_value, args->compareOp};
    int64_t stamp;
    ret_result->has_success = true;
    ret_result->success = is_met(rows, table, &of, arena, &stamp);
    return ret_result->success ? sim_apply_mutations(rows, table, args->rowMutations, stamp) : NULL;
}

/* --- reads ------------------------------------------------------------------------------------ */

static void
get_many(sim_rows *rows, sim_table *table, const kw_hb_THBaseService_getMultiple_args *args, kw_arena *arena,
         kw_hb_THBaseService_getMultiple_result *ret_result)
{
    ret_result->has_success = true;
    ret_result->success.count = args->tgets.count;
    ret_result->success.items = KW_ARENA_ARRAY(arena, kw_hb_TResult, args->tgets.count);
    for (uint32_t i = 0; i < args->tgets.count; i++)
        sim_get(rows, table, &args->tgets.items[i], arena, &ret_result->success.items[i]);
}

static void
scan_once(sim_rows *rows, sim_table *table, const kw_hb_THBaseService_getScannerResults_args *args,
          kw_arena *arena, kw_hb_THBaseService_getScannerResults_result *ret_result)
{
    sim_scanner *scanner = sim_scanner_new(table, args->tscan);
    ret_result->has_success = true;
    ret_result->success.count = sim_scan(rows, scanner, args->numRows, arena, &ret_result->success.items);
    sim_scanner_free(scanner);
}

static void
scan_on(sim_rows *rows, const kw_hb_THBaseService_getScannerRows_args *args, kw_arena *arena,
        kw_hb_THBaseService_getScannerRows_result *ret_result)
{
    guint id = (guint)args->scannerId;
    sim_scanner *scanner = id < rows->scanners->len ? rows->scanners->pdata[id] : NULL;
    if (scanner) {
        ret_result->has_success = true;
        ret_result->success.count = sim_scan(rows, scanner, args->numRows, arena, &ret_result->success.items);
        return;
    }
    kw_hb_TIllegalArgument *bad = KW_ARENA_NEW(arena, kw_hb_TIllegalArgument);
    *bad = (kw_hb_TIllegalArgument){.has_message = true, .message = KW_BYTES_LITERAL("Invalid scanner Id")};
    ret_result->has_ia = true;
    ret_result->ia = bad;
}

static void
close_scanner(sim_rows *rows, guint id)
{
    if (id < rows->scanners->len && rows->scanners->pdata[id])
        sim_scanner_free(g_steal_pointer(&rows->scanners->pdata[id]));
}

static void
locate(const kw_hb_THBaseService_getAllRegionLocations_args *args, kw_arena *arena,
       kw_hb_THBaseService_getAllRegionLocations_result *ret_result)
{
    kw_hb_THRegionLocation *region = KW_ARENA_NEW(arena, kw_hb_THRegionLocation);
    kw_hb_TServerName *server = KW_ARENA_NEW(arena, kw_hb_TServerName);
    kw_hb_THRegionInfo *info = KW_ARENA_NEW(arena, kw_hb_THRegionInfo);
    *server = (kw_hb_TServerName){.hostName = KW_BYTES_LITERAL("127.0.0.1"), .has_port = true, .port = 16020};
    *info = (kw_hb_THRegionInfo){
        .regionId = 1, .tableName = args->table, .has_startKey = true, .has_endKey = true};
    *region = (kw_hb_THRegionLocation){.serverName = server, .regionInfo = info};
    ret_result->has_success = true;
    ret_result->success.items = region;
    ret_result->success.count = 1;
}

static void
describe(const sim_table *table, const kw_hb_TTableName *name, kw_arena *arena,
         kw_hb_THBaseService_getTableDescriptor_result *ret_result)
{
    kw_hb_TTableDescriptor *descriptor = KW_ARENA_NEW(arena, kw_hb_TTableDescriptor);
    *descriptor = (kw_hb_TTableDescriptor){.tableName = name};
    sim_describe(table, arena, descriptor);
    ret_result->has_success = true;
    ret_result->success = descriptor;
}

/* --- methods ----------------------------------------------------------------------------------- */

/* Executes a method that does not need a table's rows; false if it is another method. */
static bool
answer_admin(sim_rows *rows, kw_hb_method method, const void *args, kw_arena *arena, void *result,
             const char **ret_wrong)
{
    switch ((int)method) {
    case KW_HB_THBaseService_getThriftServerType:
        *(kw_hb_THBaseService_getThriftServerType_result *)result =
            (kw_hb_THBaseService_getThriftServerType_result){.has_success = true,
                                                             .success = KW_HB_TThriftServerType_TWO};
        return true;
    case KW_HB_THBaseService_tableExists: {
        kw_hb_THBaseService_tableExists_result *exists = result;
        exists->has_success = true;
        exists->success =
            sim_table_named(rows, ((const kw_hb_THBaseService_tableExists_args *)args)->tableName) != NULL;
        return true;
    }
    case KW_HB_THBaseService_createTable:
        sim_create_table(rows, ((const kw_hb_THBaseService_createTable_args *)args)->desc);
        return true;
    case KW_HB_THBaseService_deleteTable:
        sim_drop_table(rows, ((const kw_hb_THBaseService_deleteTable_args *)args)->tableName);
        return true;
    case KW_HB_THBaseService_getTableDescriptor: {
        const kw_hb_TTableName *name = ((const kw_hb_THBaseService_getTableDescriptor_args *)args)->table;
        const sim_table *table = sim_table_named(rows, name);
        if (table)
            describe(table, name, arena, result);
        else
            *ret_wrong = "org.apache.hadoop.hbase.TableNotFoundException: there is none";
        return true;
    }
    case KW_HB_THBaseService_getScannerRows:
        scan_on(rows, args, arena, result);
        return true;
    case KW_HB_THBaseService_closeScanner:
        close_scanner(rows, (guint)((const kw_hb_THBaseService_closeScanner_args *)args)->scannerId);
        return true;
    case KW_HB_THBaseService_listNamespaces:
        ((kw_hb_THBaseService_listNamespaces_result *)result)->has_success = true;
        return true;
    case KW_HB_THBaseService_createNamespace:
    case KW_HB_THBaseService_disableTable:
        return true;
    default:
        return false;
    }
}

static const char *
answer_data(sim_rows *rows, sim_table *table, kw_hb_method method, const void *args, kw_arena *arena,
            void *result)
{
    switch ((int)method) {
    case KW_HB_THBaseService_put:
        return sim_apply_put(rows, table, ((const kw_hb_THBaseService_put_args *)args)->tput,
                             sim_now_ms(rows, table));
    case KW_HB_THBaseService_putMultiple:
        return put_many(rows, table, args);
    case KW_HB_THBaseService_deleteSingle:
        return sim_apply_delete(rows, table, ((const kw_hb_THBaseService_deleteSingle_args *)args)->tdelete);
    case KW_HB_THBaseService_deleteMultiple:
        ((kw_hb_THBaseService_deleteMultiple_result *)result)->has_success = true;
        return delete_many(rows, table, args);
    case KW_HB_THBaseService_mutateRow:
        return sim_apply_mutations(rows, table,
                                   ((const kw_hb_THBaseService_mutateRow_args *)args)->trowMutations,
                                   sim_now_ms(rows, table));
    case KW_HB_THBaseService_increment:
        return add_all(rows, table, ((const kw_hb_THBaseService_increment_args *)args)->tincrement, arena,
                       result);
    case KW_HB_THBaseService_checkAndPut:
        return check_and_put(rows, table, args, arena, result);
    case KW_HB_THBaseService_checkAndDelete:
        return check_and_delete(rows, table, args, arena, result);
    case KW_HB_THBaseService_checkAndMutate:
        return check_and_mutate(rows, table, args, arena, result);
    case KW_HB_THBaseService_get: {
        kw_hb_TResult *row = KW_ARENA_NEW(arena, kw_hb_TResult);
        sim_get(rows, table, ((const kw_hb_THBaseService_get_args *)args)->tget, arena, row);
        *(kw_hb_THBaseService_get_result *)result =
            (kw_hb_THBaseService_get_result){.has_success = true, .success = row};
        return NULL;
    }
    case KW_HB_THBaseService_getMultiple:
        get_many(rows, table, args, arena, result);
        return NULL;
    case KW_HB_THBaseService_getScannerResults:
        scan_once(rows, table, args, arena, result);
        return NULL;
    case KW_HB_THBaseService_openScanner:
        g_ptr_array_add(rows->scanners,
                        sim_scanner_new(table, ((const kw_hb_THBaseService_openScanner_args *)args)->tscan));
        *(kw_hb_THBaseService_openScanner_result *)result = (kw_hb_THBaseService_openScanner_result){
            .has_success = true, .success = (int32_t)rows->scanners->len - 1};
        return NULL;
    case KW_HB_THBaseService_getAllRegionLocations:
        locate(args, arena, result);
        return NULL;
    default:
        return "no such method here";
    }
}

const void *
sim_rows_answer(sim_rows *rows, kw_hb_method method, const void *args, kw_arena *arena)
{
    void *result = kw_arena_alloc0(arena, kw_hb_methods[method].result->size);
    const char *wrong = NULL;
    if (answer_admin(rows, method, args, arena, result, &wrong))
        return wrong ? refuse(method, wrong, arena) : result;
    kw_bytes name = *(const kw_bytes *)((const uint8_t *)args + kw_hb_methods[method].args->fields[0].offset);
    sim_table *table = sim_find_table(rows, name);
    if (!table)
        return refuse(method, kw_arena_text(arena, name), arena);
    wrong = answer_data(rows, table, method, args, arena, result);
    return wrong ? refuse(method, wrong, arena) : result;
}
