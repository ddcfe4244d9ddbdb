/* scan, nextPage and latest. */
#include "service/list_reply.h"
#include "service/methods.h"
#include "service/methods/convert.h"
#include "service/methods/query.h"
#include "service/read_queue.h"
#include "service/seen_queries.h"
#include "verb/page.h"

/* Number of rows from which a page counts as large. */
#define MANY_ROWS 1000

static const void *
row_out(void *user, size_t index, kw_arena *scratch)
{
    const kw_scan_page *page = user;
    kw_api_Record *row = KW_ARENA_NEW(scratch, kw_api_Record);
    *row = kw_convert_record_out(page->table, &page->rows[index], scratch);
    return row;
}

/* The results of the three methods have the same layout. */
G_STATIC_ASSERT(sizeof(kw_api_Data_scan_result) == sizeof(kw_api_Data_nextPage_result));
G_STATIC_ASSERT(sizeof(kw_api_Data_scan_result) == sizeof(kw_api_Data_latest_result));

/* The rows and the cursor of the page are in the call's arena. */
static void
send_page(kw_exchange *exchange, const kw_scan_page *page)
{
    kw_scan_page *kept = KW_EXCHANGE_ALLOC(exchange, kw_scan_page);
    *kept = *page;
    kw_api_Page out = {.has_cursor = page->cursor.size > 0,
                       .cursor = page->cursor,
                       .rows_scanned = (int64_t)page->scanned,
                       .rows_returned = (int64_t)page->count,
                       .has_undecodable = page->undecodable > 0,
                       .undecodable = (int64_t)page->undecodable};
    kw_list_reply_send(exchange,
                       &(kw_list_reply){
                           .result = &(kw_api_Data_scan_result){.has_success = true, .success = &out},
                           .list = &out.rows,
                           .items = kw_list_reply_items(&kw_api_Page_wire, offsetof(kw_api_Page, rows)),
                           .count = page->count,
                           .make = row_out,
                           .user = kept,
                       });
}

static void
reply_page(void *user, const kw_scan_page *page, const kw_error *error)
{
    kw_exchange *exchange = user;
    if (error)
        kw_exchange_fail(exchange, error);
    else
        send_page(exchange, page);
}

/* The first page of a query. */
static void
reply_first_page(void *user, const kw_scan_page *page, const kw_error *error)
{
    kw_exchange *exchange = user;
    const kw_scan_request *request = exchange->prepared;
    if (!error)
        kw_seen_queries_note(exchange->worker->seen, &request->query, kw_clock_mono_ns());
    reply_page(user, page, error);
}

static void
start_scan(kw_exchange *exchange)
{
    kw_page_prefetcher_scan(exchange->worker->prefetcher, &exchange->call, exchange->prepared,
                            reply_first_page, exchange);
}

static bool
is_large(const kw_exchange *exchange, const kw_scan_request *request)
{
    uint64_t rows = kw_page_limits_of(&exchange->call, request).rows;
    return rows >= MANY_ROWS && (request->limit == 0 || request->limit >= MANY_ROWS);
}

void
kw_serve_scan(kw_exchange *exchange)
{
    const kw_api_Data_scan_args *args = exchange->args;
    kw_scan_request *request = KW_EXCHANGE_ALLOC(exchange, kw_scan_request);
    kw_error error = KW_ERROR_NONE;
    exchange->prepared = request;
    if (kw_scan_request_of_query(exchange, args->has_query, args->query, request, &error))
        kw_read_queue_enter(exchange, is_large(exchange, request), start_scan);
    else
        kw_exchange_fail(exchange, &error);
}

static void
start_next_page(kw_exchange *exchange)
{
    const kw_api_Data_nextPage_args *args = exchange->args;
    kw_page_prefetcher_next(exchange->worker->prefetcher, &exchange->call, args->cursor, reply_page,
                            exchange);
}

void
kw_serve_next_page(kw_exchange *exchange)
{
    const kw_api_Data_nextPage_args *args = exchange->args;
    kw_error error = KW_ERROR_NONE;
    if (!args->has_cursor || args->cursor.size == 0)
        kw_error_set(&error, KW_INVALID, "the argument cursor is missing");
    if (error.code == KW_OK && kw_exchange_read_options(exchange, args->options, NULL, &error))
        kw_read_queue_enter(exchange, true, start_next_page);
    else
        kw_exchange_fail(exchange, &error);
}

static void
start_latest(kw_exchange *exchange)
{
    kw_verb_scan(&exchange->call, exchange->prepared, reply_first_page, exchange);
}

void
kw_serve_latest(kw_exchange *exchange)
{
    const kw_api_Data_latest_args *args = exchange->args;
    kw_scan_request *request = KW_EXCHANGE_ALLOC(exchange, kw_scan_request);
    kw_error error = KW_ERROR_NONE;
    if (!kw_scan_request_of_query(exchange, args->has_query, args->query, request, &error)) {
        kw_exchange_fail(exchange, &error);
        return;
    }
    if (request->limit > 1) {
        kw_error_set(
            &error, KW_INVALID,
            "latest returns one row: leave limit out or set it to 1, or use scan with order DESCENDING");
        kw_exchange_fail(exchange, &error);
        return;
    }
    request->limit = request->query.limit = 1;
    request->waits_for_row = true;
    if (request->query.order == KW_ORDER_PATH)
        request->query.order = KW_ORDER_DESCENDING;
    exchange->prepared = request;
    kw_read_queue_enter(exchange, false, start_latest);
}
