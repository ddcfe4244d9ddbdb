/* Direct calls to Thrift2; see way.h. A whole scan uses one scanner per bucket, with 1,000 rows per call,
 * either opened (openScanner, getScannerRows) or stateless (getScannerResults, starting after the last row).
 */
#include "way.h"

#include "thrift/hbase2_wire.h"

#include <glib.h>

#define SCAN_ROWS 1000

static const kw_bytes tables[] = {[BENCH_SALTED] = {(const uint8_t *)"kw_bench_direct", 15},
                                  [BENCH_ORDERED] = {(const uint8_t *)"kw_bench_direct_ordered", 23},
                                  [BENCH_NATIVE] = {(const uint8_t *)"kw_bench_direct_native", 22}};

static void
check(const char *what, const kw_hb_TIOError *io)
{
    if (io)
        caller_group_fail(what, io->message);
}

static kw_bytes
key_of(kw_arena *arena, bench_table table, uint64_t number)
{
    kw_bytes id = bench_id(arena, number);
    if (table == BENCH_ORDERED)
        return id;
    uint8_t *key = kw_arena_alloc(arena, id.size + 1);
    key[0] = (uint8_t)(number % BENCH_BUCKETS);
    memcpy(key + 1, id.data, id.size);
    return kw_bytes_of(key, id.size + 1);
}

static kw_hb_TPut
put_of(kw_arena *arena, bench_table table, uint64_t number, uint32_t generation)
{
    static const char *const names[3] = {"a", "b", "c"};
    kw_hb_TColumnValue *cells = KW_ARENA_ARRAY(arena, kw_hb_TColumnValue, 3);
    for (unsigned i = 0; i < 3; i++)
        cells[i] = (kw_hb_TColumnValue){.family = KW_BYTES_LITERAL(BENCH_FAMILY),
                                        .qualifier = kw_bytes_of_text(names[i]),
                                        .value = bench_value(arena, number, generation, i)};
    kw_hb_TPut made = {.row = key_of(arena, table, number)};
    made.columnValues.items = cells;
    made.columnValues.count = 3;
    return made;
}

static bench_call
put(kw_arena *arena, bench_table table, uint64_t number, uint32_t generation)
{
    kw_hb_TPut *tput = KW_ARENA_NEW(arena, kw_hb_TPut);
    kw_hb_THBaseService_put_args *args = KW_ARENA_NEW(arena, kw_hb_THBaseService_put_args);
    *tput = put_of(arena, table, number, generation);
    *args = (kw_hb_THBaseService_put_args){.table = tables[table], .tput = tput};
    return (bench_call){&kw_hb_methods[KW_HB_THBaseService_put], args};
}

static void
check_put(const void *result)
{
    check("put", ((const kw_hb_THBaseService_put_result *)result)->io);
}

static bench_call
put_many(kw_arena *arena, bench_table table, uint64_t first, size_t count, uint32_t generation)
{
    kw_hb_THBaseService_putMultiple_args *args = KW_ARENA_NEW(arena, kw_hb_THBaseService_putMultiple_args);
    args->table = tables[table];
    args->tputs.items = KW_ARENA_ARRAY(arena, kw_hb_TPut, count);
    args->tputs.count = (uint32_t)count;
    for (size_t i = 0; i < count; i++)
        args->tputs.items[i] = put_of(arena, table, first + i, generation);
    return (bench_call){&kw_hb_methods[KW_HB_THBaseService_putMultiple], args};
}

static void
check_put_many(const void *result)
{
    check("putMultiple", ((const kw_hb_THBaseService_putMultiple_result *)result)->io);
}

static bench_call
get(kw_arena *arena, bench_table table, uint64_t number)
{
    kw_hb_TGet *tget = KW_ARENA_NEW(arena, kw_hb_TGet);
    kw_hb_THBaseService_get_args *args = KW_ARENA_NEW(arena, kw_hb_THBaseService_get_args);
    tget->row = key_of(arena, table, number);
    *args = (kw_hb_THBaseService_get_args){.table = tables[table], .tget = tget};
    return (bench_call){&kw_hb_methods[KW_HB_THBaseService_get], args};
}

static bench_call
remove_row(kw_arena *arena, bench_table table, uint64_t number)
{
    kw_hb_TDelete *tdelete = KW_ARENA_NEW(arena, kw_hb_TDelete);
    kw_hb_THBaseService_deleteSingle_args *args = KW_ARENA_NEW(arena, kw_hb_THBaseService_deleteSingle_args);
    *tdelete = (kw_hb_TDelete){.row = key_of(arena, table, number)};
    *args = (kw_hb_THBaseService_deleteSingle_args){.table = tables[table], .tdelete = tdelete};
    return (bench_call){&kw_hb_methods[KW_HB_THBaseService_deleteSingle], args};
}

static void
check_remove(const void *result)
{
    check("deleteSingle", ((const kw_hb_THBaseService_deleteSingle_result *)result)->io);
}

static bench_call
put_if(kw_arena *arena, bench_table table, uint64_t number, uint32_t generation)
{
    kw_hb_TPut *tput = KW_ARENA_NEW(arena, kw_hb_TPut);
    kw_hb_THBaseService_checkAndPut_args *args = KW_ARENA_NEW(arena, kw_hb_THBaseService_checkAndPut_args);
    *tput = put_of(arena, table, number, generation + 1);
    *args = (kw_hb_THBaseService_checkAndPut_args){.table = tables[table],
                                                   .row = tput->row,
                                                   .family = KW_BYTES_LITERAL(BENCH_FAMILY),
                                                   .qualifier = KW_BYTES_LITERAL("a"),
                                                   .has_value = true,
                                                   .value = bench_value(arena, number, generation, 0),
                                                   .tput = tput};
    return (bench_call){&kw_hb_methods[KW_HB_THBaseService_checkAndPut], args};
}

static void
check_put_if(const void *result)
{
    const kw_hb_THBaseService_checkAndPut_result *got = result;
    check("checkAndPut", got->io);
    if (!got->success)
        caller_group_fail("checkAndPut", KW_BYTES_LITERAL("the row does not have the value written last"));
}

static bench_call
increment(kw_arena *arena, bench_table table, uint64_t counter)
{
    kw_hb_TIncrement *tincrement = KW_ARENA_NEW(arena, kw_hb_TIncrement);
    kw_hb_TColumnIncrement *column = KW_ARENA_NEW(arena, kw_hb_TColumnIncrement);
    kw_hb_THBaseService_increment_args *args = KW_ARENA_NEW(arena, kw_hb_THBaseService_increment_args);
    *column = (kw_hb_TColumnIncrement){.family = KW_BYTES_LITERAL(BENCH_FAMILY),
                                       .qualifier = KW_BYTES_LITERAL("n"),
                                       .has_amount = true,
                                       .amount = 1};
    *tincrement = (kw_hb_TIncrement){.row = key_of(arena, table, bench_counter_row(counter))};
    tincrement->columns.items = column;
    tincrement->columns.count = 1;
    *args = (kw_hb_THBaseService_increment_args){.table = tables[table], .tincrement = tincrement};
    return (bench_call){&kw_hb_methods[KW_HB_THBaseService_increment], args};
}

static int64_t
check_increment(const void *result)
{
    const kw_hb_THBaseService_increment_result *got = result;
    check("increment", got->io);
    const kw_hb_TResult *row = got->success;
    if (row->columnValues.count != 1 || row->columnValues.items[0].value.size != 8)
        caller_group_fail("increment", KW_BYTES_LITERAL("the reply has no counter"));
    return (int64_t)kw_be64_load(row->columnValues.items[0].value.data);
}

static uint32_t
check_row(const kw_hb_TResult *row, uint64_t number)
{
    kw_bytes values[3] = {KW_BYTES_NONE, KW_BYTES_NONE, KW_BYTES_NONE};
    for (uint32_t i = 0; i < MIN(row->columnValues.count, 3); i++)
        values[i] = row->columnValues.items[i].value;
    return bench_check_values("Thrift2", number, values);
}

static uint32_t
check_get(const void *result, uint64_t number)
{
    const kw_hb_THBaseService_get_result *got = result;
    check("get", got->io);
    return check_row(got->success, number);
}

/* --- scans ------------------------------------------------------------------------------------ */

static bench_call
page(kw_arena *arena, uint64_t from, uint32_t rows)
{
    kw_hb_TScan *scan = KW_ARENA_NEW(arena, kw_hb_TScan);
    kw_hb_THBaseService_getScannerResults_args *args =
        KW_ARENA_NEW(arena, kw_hb_THBaseService_getScannerResults_args);
    *scan = (kw_hb_TScan){.has_startRow = true, .startRow = key_of(arena, BENCH_ORDERED, from)};
    scan->has_caching = true;
    scan->caching = (int32_t)rows;
    *args = (kw_hb_THBaseService_getScannerResults_args){
        .table = tables[BENCH_ORDERED], .tscan = scan, .has_numRows = true, .numRows = (int32_t)rows};
    return (bench_call){&kw_hb_methods[KW_HB_THBaseService_getScannerResults], args};
}

static uint32_t
check_page(const void *result)
{
    const kw_hb_THBaseService_getScannerResults_result *got = result;
    check("getScannerResults", got->io);
    for (uint32_t i = 0; i < got->success.count; i++)
        check_row(&got->success.items[i], bench_number_of_id(got->success.items[i].row));
    return got->success.count;
}

static void
visit_rows(const kw_hb_TResult *rows, uint32_t count, bench_visit visit, void *user)
{
    for (uint32_t i = 0; i < count; i++) {
        uint64_t number = bench_number_of_id(kw_bytes_of(rows[i].row.data + 1, rows[i].row.size - 1));
        visit(user, number, check_row(&rows[i], number));
    }
}

static void
scan_opened_of(kw_bytes table, link_to *link, unsigned scanner, bench_visit visit, void *user)
{
    uint8_t start[1] = {(uint8_t)scanner}, stop[1] = {(uint8_t)(scanner + 1)};
    kw_hb_TScan scan = {.has_startRow = true,
                        .startRow = kw_bytes_of(start, 1),
                        .has_stopRow = true,
                        .stopRow = kw_bytes_of(stop, 1),
                        .has_caching = true,
                        .caching = SCAN_ROWS};
    kw_hb_THBaseService_openScanner_args open = {.table = table, .tscan = &scan};
    const kw_hb_THBaseService_openScanner_result *opened =
        link_call(link, &kw_hb_methods[KW_HB_THBaseService_openScanner], &open);
    check("openScanner", opened->io);
    kw_hb_THBaseService_getScannerRows_args args = {
        .scannerId = opened->success, .has_numRows = true, .numRows = SCAN_ROWS};
    kw_hb_THBaseService_closeScanner_args close = {.scannerId = opened->success};
    uint32_t count;
    do {
        const kw_hb_THBaseService_getScannerRows_result *result =
            link_call(link, &kw_hb_methods[KW_HB_THBaseService_getScannerRows], &args);
        check("getScannerRows", result->io);
        count = result->success.count;
        visit_rows(result->success.items, count, visit, user);
    } while (count == SCAN_ROWS);
    link_call(link, &kw_hb_methods[KW_HB_THBaseService_closeScanner], &close);
}

static void
scan_opened(link_to *link, unsigned scanner, bench_visit visit, void *user)
{
    scan_opened_of(tables[BENCH_SALTED], link, scanner, visit, user);
}

static void
scan_opened_same(link_to *link, unsigned scanner, bench_visit visit, void *user)
{
    scan_opened_of(KW_BYTES_LITERAL("kw_bench_gateway"), link, scanner, visit, user);
}

static void
scan_stateless_of(kw_bytes table, link_to *link, unsigned scanner, bench_visit visit, void *user)
{
    uint8_t start[64] = {(uint8_t)scanner}, stop[1] = {(uint8_t)(scanner + 1)};
    kw_hb_TScan scan = {.has_startRow = true,
                        .startRow = kw_bytes_of(start, 1),
                        .has_stopRow = true,
                        .stopRow = kw_bytes_of(stop, 1),
                        .has_caching = true,
                        .caching = SCAN_ROWS};
    kw_hb_THBaseService_getScannerResults_args args = {
        .table = table, .tscan = &scan, .has_numRows = true, .numRows = SCAN_ROWS};
    uint32_t count;
    do {
        const kw_hb_THBaseService_getScannerResults_result *result =
            link_call(link, &kw_hb_methods[KW_HB_THBaseService_getScannerResults], &args);
        check("getScannerResults", result->io);
        count = result->success.count;
        visit_rows(result->success.items, count, visit, user);
        if (count > 0) { /* start after it: append one zero byte, for which there is space */
            kw_bytes last = result->success.items[count - 1].row;
            memset(start, 0, sizeof start);
            memcpy(start, last.data, MIN(last.size, sizeof start - 1));
            scan.startRow = kw_bytes_of(start, last.size + 1);
        }
    } while (count == SCAN_ROWS);
}

static void
scan_stateless_same(link_to *link, unsigned scanner, bench_visit visit, void *user)
{
    scan_stateless_of(KW_BYTES_LITERAL("kw_bench_gateway"), link, scanner, visit, user);
}

#define WAY_DIRECT(how)                                                                                      \
    {                                                                                                        \
        .name = "direct", .put = put, .put_many = put_many, .get = get, .remove = remove_row, .page = page,  \
        .put_if = put_if, .increment = increment, .check_put_if = check_put_if,                              \
        .check_increment = check_increment, .check_put = check_put, .check_put_many = check_put_many,        \
        .check_get = check_get, .check_remove = check_remove, .check_page = check_page,                      \
        .scanners = BENCH_BUCKETS, .scan = (how)                                                             \
    }

const way way_direct = WAY_DIRECT(scan_opened);
const way way_direct_same = WAY_DIRECT(scan_opened_same);
const way way_direct_same_stateless = WAY_DIRECT(scan_stateless_same);
