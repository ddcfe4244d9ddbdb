/* Straight to Thrift2, as a client would that computes its row keys itself. The scan is 16 opened
 * scanners, 1,000 rows a call. */
#include "way.h"

#include "thrift/hbase2_wire.h"

#include <glib.h>
#include <stdio.h>

#define TABLE KW_BYTES_LITERAL("kw_bench_direct")
#define SCAN_ROWS 1000

const char bench_value[100] = {[0 ... 99] = 'v'};

void
bench_id(uint64_t number, char to[16])
{
    snprintf(to, 16, "n%09llu", (unsigned long long)(number % 1000000000));
}

typedef struct row_parts {
    char key[16];
    size_t key_size;
    kw_hb_TColumnValue cells[3];
    kw_hb_TPut put;
} row_parts;

static void
make_key(row_parts *row, uint64_t number)
{
    row->key[0] = (char)(number % BENCH_BUCKETS);
    char id[16];
    bench_id(number, id);
    memcpy(row->key + 1, id, 10);
    row->key_size = 11;
}

static void
make_row(row_parts *row, uint64_t number)
{
    static const char *const names[3] = {"a", "b", "c"};
    make_key(row, number);
    for (size_t i = 0; i < 3; i++)
        row->cells[i] = (kw_hb_TColumnValue){.family = KW_BYTES_LITERAL(BENCH_FAMILY),
                                             .qualifier = kw_bytes_of_text(names[i]),
                                             .value = kw_bytes_of(bench_value, sizeof bench_value)};
    row->put = (kw_hb_TPut){.row = kw_bytes_of(row->key, row->key_size), .has_timestamp = true};
    row->put.timestamp = 1700000000000 + (int64_t)(number % 1000000000);
    row->put.columnValues.items = row->cells;
    row->put.columnValues.count = 3;
}

static void
check(const char *what, const kw_hb_TIOError *io)
{
    if (io)
        bench_die(what, io->message);
}

static void
put(link_to *link, uint64_t number)
{
    row_parts row;
    make_row(&row, number);
    kw_hb_THBaseService_put_args args = {.table = TABLE, .tput = &row.put};
    const kw_hb_THBaseService_put_result *result =
        link_call(link, &kw_hb_methods[KW_HB_THBaseService_put], &args);
    check("put", result->io);
}

static void
put_many(link_to *link, uint64_t first, size_t count)
{
    g_autofree row_parts *rows = g_new(row_parts, count);
    g_autofree kw_hb_TPut *puts = g_new(kw_hb_TPut, count);
    for (size_t i = 0; i < count; i++) {
        make_row(&rows[i], first + i);
        puts[i] = rows[i].put;
    }
    kw_hb_THBaseService_putMultiple_args args = {.table = TABLE};
    args.tputs.items = puts;
    args.tputs.count = (uint32_t)count;
    const kw_hb_THBaseService_putMultiple_result *result =
        link_call(link, &kw_hb_methods[KW_HB_THBaseService_putMultiple], &args);
    check("putMultiple", result->io);
}

static void
get(link_to *link, uint64_t number)
{
    row_parts row;
    make_key(&row, number);
    kw_hb_TGet tget = {.row = kw_bytes_of(row.key, row.key_size)};
    kw_hb_THBaseService_get_args args = {.table = TABLE, .tget = &tget};
    const kw_hb_THBaseService_get_result *result =
        link_call(link, &kw_hb_methods[KW_HB_THBaseService_get], &args);
    check("get", result->io);
    if (!result->success || result->success->columnValues.count != 3)
        bench_die("get", KW_BYTES_LITERAL("the row is not there"));
}

static int32_t
open_scanner(link_to *link, unsigned bucket)
{
    uint8_t start[1] = {(uint8_t)bucket}, stop[1] = {(uint8_t)(bucket + 1)};
    kw_hb_TScan scan = {.has_startRow = true,
                        .startRow = kw_bytes_of(start, 1),
                        .has_stopRow = true,
                        .stopRow = kw_bytes_of(stop, 1),
                        .has_caching = true,
                        .caching = SCAN_ROWS};
    kw_hb_THBaseService_openScanner_args args = {.table = TABLE, .tscan = &scan};
    const kw_hb_THBaseService_openScanner_result *result =
        link_call(link, &kw_hb_methods[KW_HB_THBaseService_openScanner], &args);
    check("openScanner", result->io);
    return result->success;
}

static uint64_t
scan(link_to *link, unsigned scanner)
{
    kw_hb_THBaseService_getScannerRows_args args = {
        .scannerId = open_scanner(link, scanner), .has_numRows = true, .numRows = SCAN_ROWS};
    uint64_t rows = 0;
    uint32_t count;
    do {
        const kw_hb_THBaseService_getScannerRows_result *result =
            link_call(link, &kw_hb_methods[KW_HB_THBaseService_getScannerRows], &args);
        check("getScannerRows", result->io);
        count = result->success.count;
        rows += count;
    } while (count == SCAN_ROWS);
    kw_hb_THBaseService_closeScanner_args close = {.scannerId = args.scannerId};
    link_call(link, &kw_hb_methods[KW_HB_THBaseService_closeScanner], &close);
    return rows;
}

static bool
is_there(link_to *link, const kw_hb_TTableName *name)
{
    kw_hb_THBaseService_tableExists_args args = {.has_tableName = true, .tableName = name};
    const kw_hb_THBaseService_tableExists_result *result =
        link_call(link, &kw_hb_methods[KW_HB_THBaseService_tableExists], &args);
    check("tableExists", result->io);
    return result->success;
}

/* keywayd has made it, with the same regions as its own (policy.yaml): a framed server would take the split
 * keys only in a special form (store/hbase/frames.h). */
static void
prepare(const place *where)
{
    link_to *link = link_open(where);
    kw_hb_TTableName name = {.qualifier = TABLE};
    if (!is_there(link, &name))
        bench_die("prepare", KW_BYTES_LITERAL("table kw_bench_direct is missing"));
    link_close(link);
}

const way way_direct = {.name = "direct",
                        .prepare = prepare,
                        .put = put,
                        .get = get,
                        .put_many = put_many,
                        .scanners = BENCH_BUCKETS,
                        .scan = scan};
