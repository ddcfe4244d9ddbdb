/* Calls through keywayd with logical records; keywayd builds the row keys (policy.yaml.in); see way.h. A
 * whole scan is one query over all buckets, page by page on one connection. */
#include "way.h"

#include "thrift/keyway_wire.h"

#include <glib.h>

#define PAGE_ROWS 10000

static const kw_bytes tables[] = {[BENCH_SALTED] = {(const uint8_t *)"bench", 5},
                                  [BENCH_ORDERED] = {(const uint8_t *)"ordered", 7},
                                  [BENCH_COUNTED] = {(const uint8_t *)"counted", 7},
                                  [BENCH_NATIVE] = {(const uint8_t *)"native", 6},
                                  [BENCH_STAMPED] = {(const uint8_t *)"stamped", 7},
                                  [BENCH_ATOMIC] = {(const uint8_t *)"atomic", 6},
                                  [BENCH_ATOMIC_PATHS] = {(const uint8_t *)"atomic_paths", 12}};

static void
check(const char *what, const kw_api_KeywayError *failure)
{
    if (failure)
        caller_group_fail(what, failure->message);
}

static kw_api_Record
record_of(kw_arena *arena, uint64_t number, uint32_t generation, uint32_t fields)
{
    static const char *const names[4] = {"id", "a", "b", "c"};
    kw_api_Record made;
    made.items = kw_arena_alloc0(arena, fields * sizeof *made.items);
    made.count = fields;
    for (uint32_t i = 0; i < fields; i++) {
        made.items[i].key = kw_bytes_of_text(names[i]);
        made.items[i].value = (kw_api_Value){.has_text = true};
        made.items[i].value.text =
            i ? bench_value(arena, number, generation, i - 1) : bench_id(arena, number);
    }
    return made;
}

static bench_call
put(kw_arena *arena, bench_table table, uint64_t number, uint32_t generation)
{
    kw_api_Data_put_args *args = KW_ARENA_NEW(arena, kw_api_Data_put_args);
    *args = (kw_api_Data_put_args){.has_table = true, .table = tables[table], .has_record = true};
    args->record = record_of(arena, number, generation, 4);
    return (bench_call){&kw_api_methods[KW_API_Data_put], args};
}

static void
check_written(const kw_api_Written *written)
{
    if (written->outcome != KW_API_Outcome_OK)
        caller_group_fail("put", written->failure ? written->failure->message : KW_BYTES_LITERAL("not OK"));
}

static void
check_put(const void *result)
{
    const kw_api_Data_put_result *got = result;
    check("put", got->failure);
    check_written(got->success);
}

static bench_call
put_many(kw_arena *arena, bench_table table, uint64_t first, size_t count, uint32_t generation)
{
    kw_api_Data_putMany_args *args = KW_ARENA_NEW(arena, kw_api_Data_putMany_args);
    *args = (kw_api_Data_putMany_args){.has_table = true, .table = tables[table], .has_records = true};
    args->records.items = KW_ARENA_ARRAY(arena, kw_api_Record, count);
    args->records.count = (uint32_t)count;
    for (size_t i = 0; i < count; i++)
        args->records.items[i] = record_of(arena, first + i, generation, 4);
    return (bench_call){&kw_api_methods[KW_API_Data_putMany], args};
}

static void
check_put_many(const void *result)
{
    const kw_api_Data_putMany_result *got = result;
    check("putMany", got->failure);
    for (uint32_t i = 0; i < got->success.count; i++)
        check_written(&got->success.items[i]);
}

static bench_call
get(kw_arena *arena, bench_table table, uint64_t number)
{
    kw_api_Data_get_args *args = KW_ARENA_NEW(arena, kw_api_Data_get_args);
    *args = (kw_api_Data_get_args){.has_table = true, .table = tables[table], .has_key = true};
    args->key = record_of(arena, number, 0, 1);
    return (bench_call){&kw_api_methods[KW_API_Data_get], args};
}

static bench_call
remove_record(kw_arena *arena, bench_table table, uint64_t number)
{
    kw_api_Data_remove_args *args = KW_ARENA_NEW(arena, kw_api_Data_remove_args);
    *args = (kw_api_Data_remove_args){.has_table = true, .table = tables[table], .has_key = true};
    args->key = record_of(arena, number, 0, 1);
    return (bench_call){&kw_api_methods[KW_API_Data_remove], args};
}

static void
check_remove(const void *result)
{
    const kw_api_Data_remove_result *got = result;
    check("remove", got->failure);
    check_written(got->success);
}

static bench_call
put_if(kw_arena *arena, bench_table table, uint64_t number, uint32_t generation)
{
    kw_api_Data_putIf_args *args = KW_ARENA_NEW(arena, kw_api_Data_putIf_args);
    kw_api_Condition *condition = KW_ARENA_NEW(arena, kw_api_Condition);
    kw_api_Value *value = KW_ARENA_NEW(arena, kw_api_Value);
    *value = (kw_api_Value){.has_text = true, .text = bench_value(arena, number, generation, 0)};
    *condition = (kw_api_Condition){
        .field = KW_BYTES_LITERAL("a"), .op = KW_API_CompareOp_EQUAL, .has_value = true, .value = value};
    *args = (kw_api_Data_putIf_args){.has_table = true, .table = tables[table], .has_record = true};
    args->record = record_of(arena, number, generation + 1, 4);
    args->has_condition = true;
    args->condition = condition;
    return (bench_call){&kw_api_methods[KW_API_Data_putIf], args};
}

static void
check_put_if(const void *result)
{
    const kw_api_Data_putIf_result *got = result;
    check("putIf", got->failure);
    if (!got->success)
        caller_group_fail("putIf", KW_BYTES_LITERAL("the record does not have the value written last"));
}

static bench_call
increment(kw_arena *arena, bench_table table, uint64_t counter)
{
    kw_api_Data_increment_args *args = KW_ARENA_NEW(arena, kw_api_Data_increment_args);
    *args = (kw_api_Data_increment_args){
        .has_table = true, .table = tables[table], .has_key = true, .has_amounts = true};
    args->key = record_of(arena, bench_counter_row(counter), 0, 1);
    args->amounts.items = kw_arena_alloc0(arena, sizeof *args->amounts.items);
    args->amounts.count = 1;
    args->amounts.items[0].key = KW_BYTES_LITERAL("n");
    args->amounts.items[0].value = 1;
    return (bench_call){&kw_api_methods[KW_API_Data_increment], args};
}

static int64_t
check_increment(const void *result)
{
    const kw_api_Data_increment_result *got = result;
    check("increment", got->failure);
    for (uint32_t i = 0; i < got->success.count; i++)
        if (kw_bytes_equal(got->success.items[i].key, KW_BYTES_LITERAL("n")))
            return got->success.items[i].value.number;
    caller_group_fail("increment", KW_BYTES_LITERAL("the reply has no counter"));
}

static uint32_t
check_record(const kw_api_Record *record, uint64_t *ret_number)
{
    kw_bytes values[3] = {KW_BYTES_NONE, KW_BYTES_NONE, KW_BYTES_NONE}, id = KW_BYTES_NONE;
    for (uint32_t i = 0; i < record->count; i++) {
        kw_bytes name = record->items[i].key, text = record->items[i].value.text;
        if (name.size == 1 && name.data[0] >= 'a' && name.data[0] <= 'c')
            values[name.data[0] - 'a'] = text;
        else
            id = text;
    }
    *ret_number = bench_number_of_id(id);
    return bench_check_values("keywayd", *ret_number, values);
}

static uint32_t
check_get(const void *result, uint64_t number)
{
    const kw_api_Data_get_result *got = result;
    uint64_t found;
    check("get", got->failure);
    if (!got->success->has_record)
        caller_group_fail("get", KW_BYTES_LITERAL("the record was not found"));
    uint32_t generation = check_record(&got->success->record, &found);
    if (found != number)
        caller_group_fail("get", KW_BYTES_LITERAL("the reply contains another record"));
    return generation;
}

/* --- queries -------------------------------------------------------------------------------- */

static bench_call
page(kw_arena *arena, uint64_t from, uint32_t rows)
{
    kw_api_Query *query = KW_ARENA_NEW(arena, kw_api_Query);
    kw_api_Range *range = KW_ARENA_NEW(arena, kw_api_Range);
    kw_api_Value *value = KW_ARENA_NEW(arena, kw_api_Value);
    kw_api_Data_scan_args *args = KW_ARENA_NEW(arena, kw_api_Data_scan_args);
    *value = (kw_api_Value){.has_text = true, .text = bench_id(arena, from)};
    *range = (kw_api_Range){.field = KW_BYTES_LITERAL("id"), .has_from_value = true, .from_value = value};
    *query = (kw_api_Query){.table = tables[BENCH_ORDERED], .has_range = true, .range = range};
    query->has_limit = true;
    query->limit = rows;
    *args = (kw_api_Data_scan_args){.has_query = true, .query = query};
    return (bench_call){&kw_api_methods[KW_API_Data_scan], args};
}

static uint32_t
check_page(const void *result)
{
    const kw_api_Data_scan_result *got = result;
    uint64_t number;
    check("scan", got->failure);
    for (uint32_t i = 0; i < got->success->rows.count; i++)
        check_record(&got->success->rows.items[i], &number);
    return got->success->rows.count;
}

static void
visit_page(const kw_api_Page *of, bench_visit visit, void *user)
{
    for (uint32_t i = 0; i < of->rows.count; i++) {
        uint64_t number;
        uint32_t generation = check_record(&of->rows.items[i], &number);
        visit(user, number, generation);
    }
}

static void
scan(link_to *link, unsigned scanner, bench_visit visit, void *user)
{
    (void)scanner;
    kw_api_Query query = {.table = tables[BENCH_SALTED],
                          .has_full_scan = true,
                          .full_scan = true,
                          .has_page_rows = true,
                          .page_rows = PAGE_ROWS,
                          .has_deadline_ms = true,
                          .deadline_ms = 60000};
    kw_api_Data_scan_args args = {.has_query = true, .query = &query};
    const kw_api_Data_scan_result *first = link_call(link, &kw_api_methods[KW_API_Data_scan], &args);
    check("scan", first->failure);
    const kw_api_Page *at = first->success;
    visit_page(at, visit, user);
    while (at->has_cursor) {
        kw_api_Data_nextPage_args more = {.has_cursor = true, .cursor = at->cursor};
        const kw_api_Data_nextPage_result *result =
            link_call(link, &kw_api_methods[KW_API_Data_nextPage], &more);
        check("nextPage", result->failure);
        at = result->success;
        visit_page(at, visit, user);
    }
}

/* --- metrics ---------------------------------------------------------------------------------- */

double
gateway_stat(const group_server *where, const char *name)
{
    link_to *link = link_open(where);
    kw_api_Admin_stats_args none = {0};
    double found = -1;
    const kw_api_Admin_stats_result *result = link_call(link, &kw_api_methods[KW_API_Admin_stats], &none);
    for (uint32_t i = 0; i < result->success.count; i++)
        if (kw_bytes_equal(result->success.items[i].key, kw_bytes_of_text(name)))
            found = (double)result->success.items[i].value;
    if (found < 0)
        caller_group_fail("keywayd has no metric of this name", kw_bytes_of_text(name));
    link_close(link);
    return found;
}

const way way_gateway = {.name = "gateway",
                         .put = put,
                         .put_many = put_many,
                         .get = get,
                         .remove = remove_record,
                         .put_if = put_if,
                         .increment = increment,
                         .page = page,
                         .check_put = check_put,
                         .check_put_many = check_put_many,
                         .check_get = check_get,
                         .check_remove = check_remove,
                         .check_put_if = check_put_if,
                         .check_increment = check_increment,
                         .check_page = check_page,
                         .scanners = 1,
                         .scan = scan};
