/* A scanner that is open on a Thrift2 server.
 *
 *   NEW --> OPENING --> OPEN <--> FETCHING        abandoned: --> CLOSING --> freed
 *              |                     |
 *              '------ failed -------'--> DEAD (nothing to close, or not known yet: LATE)
 *
 * Ids are small numbers that a restarted server hands out again, and behind a balancer another server
 * may answer: so a scanner is used and closed only on the connection that opened it (a pin). When
 * that is lost the server forgets the scanner by itself after a minute. An openScanner whose answer
 * comes after its deadline is closed as well (LATE).
 */
#include "store/hbase/run_private.h"

typedef enum scanner_state { NEW, OPENING, OPEN, FETCHING, LATE, CLOSING, DEAD } scanner_state;

struct kw_hbase_scanner {
    kw_hbase_scan_run *run; /* a reference */
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
    kw_hbase_scan_run *run = scanner->run;
    kw_hbase_pool_unpin(&scanner->pin);
    g_free(scanner);
    kw_hbase_scan_run_unref(run);
}

static void
prepare(kw_hbase_scanner *scanner, kw_hb_method method, const void *args, kw_deadline deadline,
        kw_hbase_done done)
{
    scanner->call = (kw_hbase_call){.method = method,
                                    .args = args,
                                    .table = scanner->run->spec.table,
                                    .deadline = deadline,
                                    .pin = method == KW_HB_THBaseService_openScanner ? NULL : &scanner->pin,
                                    .done = done,
                                    .user = scanner};
}

/* --- close ------------------------------------------------------------------------------------ */

static void
close_done(kw_hbase_call *call, const void *result, const kw_hbase_failure *failure)
{
    (void)result;
    (void)failure; /* nothing is left to do about it */
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
            close_done);
    kw_hbase_pool_start(scanner->pool, &scanner->call);
}

void
kw_hbase_scanner_abandon(kw_hbase_scanner *scanner)
{
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
opened_late(kw_hbase_call *call, const void *result)
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
open_done(kw_hbase_call *call, const void *result, const kw_hbase_failure *failure)
{
    kw_hbase_scanner *scanner = call->user;
    if (failure) {
        scanner->state = call->state == KW_HBASE_CALL_ABANDONED ? LATE : DEAD;
        if (!scanner->abandoned)
            kw_hbase_scan_run_fetched(scanner->run, NULL, 0, failure);
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
rows_done(kw_hbase_call *call, const void *result, const kw_hbase_failure *failure)
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
        kw_hbase_scan_run_fetched(scanner->run, answer ? answer->success.items : NULL,
                                  answer ? answer->success.count : 0, failure);
}

static void
start_rows(kw_hbase_scanner *scanner)
{
    kw_hbase_scan_run *run = scanner->run;
    scanner->state = FETCHING;
    scanner->rows = (kw_hb_THBaseService_getScannerRows_args){
        .scannerId = scanner->id, .has_numRows = true, .numRows = (int32_t)run->wanted};
    prepare(scanner, KW_HB_THBaseService_getScannerRows, &scanner->rows, run->deadline, rows_done);
    scanner->call.keep = run->rows->arena;
    scanner->call.account = run->spec.account;
    scanner->call.number = run->spec.call;
    kw_hbase_pool_start(scanner->pool, &scanner->call);
}

void
kw_hbase_scanner_fetch(kw_hbase_scanner *scanner, uint64_t delay_ms)
{
    kw_hbase_scan_run *run = scanner->run;
    if (scanner->state == OPEN) {
        start_rows(scanner);
        return;
    }
    g_assert(scanner->state == NEW);
    scanner->state = OPENING;
    scanner->open.table = run->spec.table;
    scanner->open.tscan = &run->scan;
    prepare(scanner, KW_HB_THBaseService_openScanner, &scanner->open, run->deadline, open_done);
    scanner->call.late = opened_late;
    kw_hbase_pool_start_after(scanner->pool, &scanner->call, delay_ms);
}

kw_hbase_scanner *
kw_hbase_scanner_new(kw_hbase_scan_run *run)
{
    kw_hbase_scanner *scanner = g_new0(kw_hbase_scanner, 1);
    scanner->run = run;
    scanner->pool = &run->handle->pool;
    run->refs++;
    return scanner;
}
