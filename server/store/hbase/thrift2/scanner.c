/* An open scanner on a Thrift2 server.
 *
 *   NEW --> OPENING --> OPEN <--> FETCHING        abandoned while OPEN: --> CLOSING --> freed
 *
 *   OPENING:   failed --> DEAD (nothing to close); no reply before the deadline --> LATE --> OPEN or DEAD
 *   FETCHING:  the server no longer has the scanner --> DEAD; any other failure --> OPEN
 *
 * After each of these failures, the range scan abandons the scanner.
 *
 * Scanner ids are small numbers that a restarted server uses again, and through a load balancer another
 * server can answer. So a scanner is used and closed only on the connection that opened it (a pin). If that
 * connection is lost, the scanner expires on the server after a minute. If the reply to openScanner arrives
 * after the deadline, that scanner is closed too (LATE).
 */
#include "store/hbase/thrift2/range_scan_private.h"

typedef enum scanner_state { NEW, OPENING, OPEN, FETCHING, LATE, CLOSING, DEAD } scanner_state;

struct kw_hbase_scanner {
    kw_hbase_range_scan *scan; /* a reference */
    kw_hbase_pool *pool;
    scanner_state state;
    bool abandoned;
    kw_hbase_pin pin;
    int32_t id;
    kw_hbase_call call;
    kw_hb_THBaseService_openScanner_args open;
    kw_hb_THBaseService_getScannerRows_args rows;
    kw_hb_THBaseService_closeScanner_args close;
};

static void start_close(kw_hbase_scanner *scanner);
static void start_rows(kw_hbase_scanner *scanner);

static void
scanner_free(kw_hbase_scanner *scanner)
{
    kw_hbase_range_scan *scan = scanner->scan;
    kw_hbase_pool_unpin(&scanner->pin);
    g_free(scanner);
    kw_hbase_range_scan_unref(scan);
}

static void
prepare(kw_hbase_scanner *scanner, kw_hb_method method, const void *args, kw_deadline deadline,
        kw_hbase_done done)
{
    scanner->call = (kw_hbase_call){.method = method,
                                    .args = args,
                                    .table = scanner->scan->spec.table,
                                    .deadline = deadline,
                                    .pin = method == KW_HB_THBaseService_openScanner ? NULL : &scanner->pin,
                                    .done = done,
                                    .user = scanner};
}

/* --- close ------------------------------------------------------------------------------------ */

static void
on_closed(kw_hbase_call *call, const void *result, const kw_hbase_failure *failure)
{
    (void)result;
    (void)failure; /* the scanner expires by itself */
    scanner_free(call->user);
}

static void
start_close(kw_hbase_scanner *scanner)
{
    if (!scanner->pin.channel) {
        scanner_free(scanner);
        return;
    }
    scanner->state = CLOSING;
    scanner->close.scannerId = scanner->id;
    prepare(scanner, KW_HB_THBaseService_closeScanner, &scanner->close, kw_deadline_in_ms(KW_HBASE_LINGER_MS),
            on_closed);
    kw_hbase_pool_start(scanner->pool, &scanner->call);
}

void
kw_hbase_scanner_abandon(kw_hbase_scanner *scanner)
{
    g_assert(!scanner->abandoned || scanner->state != NEW);
    scanner->abandoned = true;
    switch (scanner->state) {
    case NEW:
    case DEAD:
        scanner_free(scanner);
        return;
    case OPEN:
        start_close(scanner);
        return;
    case OPENING:
    case FETCHING:
    case LATE:
    case CLOSING:
        return;
    }
}

/* --- open ------------------------------------------------------------------------------------- */

static void
on_opened_late(kw_hbase_call *call, const void *result)
{
    kw_hbase_scanner *scanner = call->user;
    const kw_hb_THBaseService_openScanner_result *answer = result;
    if (answer) {
        scanner->id = answer->success;
        kw_hbase_pool_pin(&scanner->pin, call->channel);
        scanner->state = OPEN;
    } else {
        scanner->state = DEAD;
    }
    if (scanner->abandoned)
        kw_hbase_scanner_abandon(scanner);
}

static void
on_opened(kw_hbase_call *call, const void *result, const kw_hbase_failure *failure)
{
    kw_hbase_scanner *scanner = call->user;
    if (failure) {
        scanner->state = call->state == KW_HBASE_CALL_ABANDONED ? LATE : DEAD;
        if (!scanner->abandoned)
            kw_hbase_range_scan_fetched(scanner->scan, NULL, 0, failure);
        else if (scanner->state == DEAD)
            scanner_free(scanner);
        return;
    }
    scanner->id = ((const kw_hb_THBaseService_openScanner_result *)result)->success;
    scanner->state = OPEN;
    kw_hbase_pool_pin(&scanner->pin, call->channel);
    if (scanner->abandoned)
        start_close(scanner);
    else
        start_rows(scanner);
}

/* --- rows ------------------------------------------------------------------------------------- */

static void
on_rows(kw_hbase_call *call, const void *result, const kw_hbase_failure *failure)
{
    kw_hbase_scanner *scanner = call->user;
    const kw_hb_THBaseService_getScannerRows_result *answer = result;
    scanner->state = OPEN;
    if (failure && failure->kind == KW_HBASE_SCANNER_GONE) {
        kw_hbase_pool_unpin(&scanner->pin);
        scanner->state = DEAD;
    }
    if (scanner->abandoned)
        kw_hbase_scanner_abandon(scanner);
    else
        kw_hbase_range_scan_fetched(scanner->scan, answer ? answer->success.items : NULL,
                                    answer ? answer->success.count : 0, failure);
}

static void
start_rows(kw_hbase_scanner *scanner)
{
    kw_hbase_range_scan *scan = scanner->scan;
    scanner->state = FETCHING;
    scanner->rows = (kw_hb_THBaseService_getScannerRows_args){
        .scannerId = scanner->id, .has_numRows = true, .numRows = (int32_t)scan->wanted};
    prepare(scanner, KW_HB_THBaseService_getScannerRows, &scanner->rows, scan->deadline, on_rows);
    scanner->call.keep = scan->rows->arena;
    scanner->call.account = scan->spec.account;
    scanner->call.number = scan->spec.call;
    kw_hbase_pool_start(scanner->pool, &scanner->call);
}

void
kw_hbase_scanner_fetch(kw_hbase_scanner *scanner, uint64_t delay_ms)
{
    kw_hbase_range_scan *scan = scanner->scan;
    if (scanner->state == OPEN) {
        start_rows(scanner);
        return;
    }
    g_assert(scanner->state == NEW);
    scanner->state = OPENING;
    scanner->open.table = scan->spec.table;
    scanner->open.tscan = &scan->tscan;
    prepare(scanner, KW_HB_THBaseService_openScanner, &scanner->open, scan->deadline, on_opened);
    scanner->call.late = on_opened_late;
    kw_hbase_pool_start_after(scanner->pool, &scanner->call, delay_ms);
}

kw_hbase_scanner *
kw_hbase_scanner_new(kw_hbase_range_scan *scan)
{
    kw_hbase_scanner *scanner = g_new0(kw_hbase_scanner, 1);
    scanner->scan = scan;
    scanner->pool = &scan->handle->pool;
    scan->refs++;
    return scanner;
}
