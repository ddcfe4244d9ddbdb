/* Through keywayd: logical records, the row keys are its business (policy.yaml). The scan is one question
 * over all buckets, page by page on one connection. */
#include "way.h"

#include "thrift/keyway_wire.h"

#include <glib.h>

#define TABLE KW_BYTES_LITERAL("bench")
#define PAGE_ROWS 10000

/* An item of kw_api_Record. */
typedef __typeof__(*((kw_api_Record *)0)->items) item;

typedef struct record_parts {
    char id[16];
    item items[4];
    kw_api_Record record;
} record_parts;

static void
make_record(record_parts *made, uint64_t number, uint32_t fields)
{
    static const char *const names[4] = {"id", "a", "b", "c"};
    bench_id(number, made->id);
    for (uint32_t i = 0; i < fields; i++) {
        made->items[i].key = kw_bytes_of_text(names[i]);
        made->items[i].value = (kw_api_Value){.has_text = true};
        made->items[i].value.text =
            i ? kw_bytes_of(bench_value, sizeof bench_value) : kw_bytes_of(made->id, 10);
    }
    made->record.items = (void *)made->items;
    made->record.count = fields;
}

static void
check(const char *what, const kw_api_KeywayError *failure)
{
    if (failure)
        bench_die(what, failure->message);
}

static void
check_written(const kw_api_Written *written)
{
    if (written->outcome != KW_API_Outcome_OK)
        bench_die("put", written->failure ? written->failure->message : KW_BYTES_LITERAL("not OK"));
}

static void
put(link_to *link, uint64_t number)
{
    record_parts made;
    make_record(&made, number, 4);
    kw_api_Data_put_args args = {
        .has_table = true, .table = TABLE, .has_record = true, .record = made.record};
    const kw_api_Data_put_result *result = link_call(link, &kw_api_methods[KW_API_Data_put], &args);
    check("put", result->failure);
    check_written(result->success);
}

static void
put_many(link_to *link, uint64_t first, size_t count)
{
    g_autofree record_parts *made = g_new(record_parts, count);
    g_autofree kw_api_Record *records = g_new(kw_api_Record, count);
    for (size_t i = 0; i < count; i++) {
        make_record(&made[i], first + i, 4);
        records[i] = made[i].record;
    }
    kw_api_Data_putMany_args args = {.has_table = true, .table = TABLE, .has_records = true};
    args.records.items = records;
    args.records.count = (uint32_t)count;
    const kw_api_Data_putMany_result *result = link_call(link, &kw_api_methods[KW_API_Data_putMany], &args);
    check("putMany", result->failure);
    for (uint32_t i = 0; i < result->success.count; i++)
        check_written(&result->success.items[i]);
}

static void
get(link_to *link, uint64_t number)
{
    record_parts made;
    make_record(&made, number, 1);
    kw_api_Data_get_args args = {.has_table = true, .table = TABLE, .has_key = true, .key = made.record};
    const kw_api_Data_get_result *result = link_call(link, &kw_api_methods[KW_API_Data_get], &args);
    check("get", result->failure);
    if (!result->success->has_record || result->success->record.count != 4)
        bench_die("get", KW_BYTES_LITERAL("the record is not there"));
}

static uint64_t
scan(link_to *link, unsigned scanner)
{
    (void)scanner;
    kw_api_Query query = {.table = TABLE,
                          .has_full_scan = true,
                          .full_scan = true,
                          .has_page_rows = true,
                          .page_rows = PAGE_ROWS,
                          .has_deadline_ms = true,
                          .deadline_ms = 60000};
    kw_api_Data_scan_args args = {.has_query = true, .query = &query};
    const kw_api_Data_scan_result *first = link_call(link, &kw_api_methods[KW_API_Data_scan], &args);
    check("scan", first->failure);
    const kw_api_Page *page = first->success;
    uint64_t rows = page->rows.count;
    while (page->has_cursor) {
        kw_api_Data_nextPage_args more = {.has_cursor = true, .cursor = page->cursor};
        const kw_api_Data_nextPage_result *result =
            link_call(link, &kw_api_methods[KW_API_Data_nextPage], &more);
        check("nextPage", result->failure);
        page = result->success;
        rows += page->rows.count;
    }
    return rows;
}

static void
prepare(const place *where)
{
    link_to *link = link_open(where);
    kw_api_Data_describe_args args = {.has_table = true, .table = TABLE};
    const kw_api_Data_describe_result *result = link_call(link, &kw_api_methods[KW_API_Data_describe], &args);
    check("describe", result->failure);
    link_close(link);
}

const way way_gateway = {.name = "gateway",
                         .prepare = prepare,
                         .put = put,
                         .get = get,
                         .put_many = put_many,
                         .scanners = 1,
                         .scan = scan};
