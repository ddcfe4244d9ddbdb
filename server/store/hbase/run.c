/* The sorted rows of one range, a fetch at a time. The run keeps its place by the last row key it
 * handed out, so whatever happens to a scanner or a server, it goes on behind that row.
 *
 *   fetch --> few rows, or nothing known to follow --> getScannerResults (nothing stays open)
 *        \--> many rows, or again, with more to follow --> opened scanner (scanner.c)
 *   failed, scanner gone, connection lost --> again behind the last row, within deadline and budget
 *   answer too large                      --> again with fewer rows
 *
 * A stateless call pays for a scan's opening each time, on the Thrift2 server and on the region server;
 * an opened scanner pays two calls more, once, and a small fetch from it is worth reading ahead.
 * Measured (100,000 rows of three 100-byte cells, 16 direct scanners at once, rows/s, stateless against
 * opened, three runs): 100 rows a fetch 73k / 91k, 500 rows 68k / 104k, 1,000 rows 64k to 69k /
 * 86k to 91k. Fetches of more than ROWS_MOST only fill the Thrift2 server's heap.
 * Where a scan starts and stops is in range.c.
 */
#include "store/hbase/convert.h"
#include "store/hbase/filter_bytes.h"
#include "store/hbase/range.h"
#include "store/hbase/run_private.h"

#include "filter/filter.h"
#include "store/check.h"

#include <string.h>

/* Rows of a table whose size nobody has seen yet. */
#define FIRST_ROWS 256
#define FIRST_ROW_BYTES 512
#define ROWS_MOST 1000
/* While memory is short, so many bytes are enough for a fetch. */
#define SHORT_FETCH_BYTES ((size_t)64 * 1024)
/* A first fetch of as many rows, with more to follow, is worth an opened scanner; so many rows a scanner
 * reads ahead ... */
#define SCANNER_ROWS 256
/* ... or as many bytes. */
#define SCANNER_BYTES ((size_t)1024 * 1024)

static void start_fetch(kw_hbase_scan_run *run, uint64_t delay_ms);

void
kw_hbase_scan_run_unref(kw_hbase_scan_run *run)
{
    if (--run->refs)
        return;
    kw_hbase_handle *handle = run->handle;
    kw_prepared_unref(run->spec.prepared);
    kw_rows_free(run->rows);
    kw_buffer_clear(&run->last);
    kw_arena_free(run->scan_arena);
    kw_account *account = run->spec.account;
    kw_arena_free(run->arena);
    kw_account_unref(account);
    kw_hbase_handle_release(handle);
}

/* --- how many rows ---------------------------------------------------------------------------- */

static uint32_t
rows_to_ask_for(const kw_hbase_scan_run *run)
{
    size_t seen = kw_hbase_row_bytes(run->handle, run->spec.table);
    size_t bytes = run->max_bytes;
    if (kw_budget_pressure(run->spec.account) != KW_PRESSURE_NONE)
        bytes = MIN(bytes, SHORT_FETCH_BYTES);
    size_t fit = bytes / (seen ? seen : FIRST_ROW_BYTES);
    size_t most = MIN(seen ? ROWS_MOST : FIRST_ROWS, run->max_rows);
    if (run->rows_cap)
        most = MIN(most, run->rows_cap);
    return (uint32_t)CLAMP(fit, 1, most);
}

/* --- end of a fetch --------------------------------------------------------------------------- */

static void
drop_scanner(kw_hbase_scan_run *run)
{
    kw_hbase_scanner *scanner = g_steal_pointer(&run->scanner);
    if (scanner)
        kw_hbase_scanner_abandon(scanner);
}

static void
tell_rows(kw_hbase_scan_run *run)
{
    kw_rows *rows = g_steal_pointer(&run->rows);
    rows->end = run->ended;
    run->done(run->user, rows, NULL);
}

static void
tell_error(kw_hbase_scan_run *run, const kw_error *error)
{
    kw_rows_free(g_steal_pointer(&run->rows));
    run->done(run->user, NULL, error);
}

/* True when the fetch is under way again. */
static bool
try_again(kw_hbase_scan_run *run, const kw_hbase_failure *failure)
{
    uint64_t delay_ms = 0;
    switch (failure->kind) {
    case KW_HBASE_REPLY_TOO_LARGE:
        if (run->wanted == 1)
            return false;
        run->rows_cap = MAX(run->wanted / 8, 1);
        break;
    case KW_HBASE_LOST:
    case KW_HBASE_SCANNER_GONE:
    case KW_HBASE_TROUBLE:
        run->attempts += failure->kind == KW_HBASE_TROUBLE ? 2 : 1;
        if (!kw_hbase_pool_may_repeat(&run->handle->pool, run->deadline, run->attempts, &delay_ms))
            return false;
        break;
    case KW_HBASE_OTHER:
    case KW_HBASE_TIMED_OUT:
    case KW_HBASE_UNREACHABLE:
    case KW_HBASE_INTERNAL_ERROR:
    case KW_HBASE_TABLE_MISSING:
    case KW_HBASE_TABLE_EXISTS:
    case KW_HBASE_TABLE_DISABLED:
    case KW_HBASE_NAMESPACE_EXISTS:
        return false;
    }
    start_fetch(run, delay_ms);
    return true;
}

static void
fetch_failed(kw_hbase_scan_run *run, const kw_hbase_failure *failure)
{
    drop_scanner(run);
    if (try_again(run, failure))
        return;
    kw_error error;
    kw_hbase_blame_filter(run->spec.filter, failure, &error);
    if (failure->kind == KW_HBASE_REPLY_TOO_LARGE)
        kw_error_set(&error, KW_LIMIT, "table %s: a row is larger than %zu bytes",
                     kw_show(run->spec.table).text, KW_HBASE_REPLY_MAX);
    tell_error(run, &error);
}

/* A row that is too large for its reader. */
static bool
check_rows(const kw_hbase_scan_run *run, kw_error *ret_error)
{
    size_t most = run->spec.max_row_bytes;
    for (size_t i = 0; most > 0 && run->rows->bytes > most && i < run->rows->count; i++) {
        const kw_row *row = &run->rows->rows[i];
        size_t bytes = row->key.size;
        for (uint32_t cell = 0; cell < row->cells_count; cell++)
            bytes += row->cells[cell].qualifier.size + row->cells[cell].value.size;
        if (bytes > most)
            return kw_error_set(ret_error, KW_LIMIT,
                                "table %s: a row has more than %zu bytes, the most that is read of one "
                                "(limits.frame); choose columns",
                                kw_show(run->spec.table).text, most);
    }
    return true;
}

static void
keep_place(kw_hbase_scan_run *run)
{
    const kw_rows *rows = run->rows;
    if (rows->count == 0)
        return;
    run->started = true;
    run->top_is_row = true;
    run->last.size = 0;
    kw_buffer_append(&run->last, rows->rows[rows->count - 1].key);
    kw_hbase_saw_rows(run->handle, run->spec.table, rows->bytes / rows->count);
}

/* Takes what belongs to the range; a reversed scan may come with a row too many at either end. */
static void
take_results(kw_hbase_scan_run *run, const kw_hb_TResult *results, uint32_t count)
{
    kw_rows *rows = run->rows;
    rows->rows = kw_arena_alloc(rows->arena, count * sizeof(kw_row));
    rows->scanned += count;
    run->ended = count < run->wanted;
    for (uint32_t i = 0; i < count; i++) {
        kw_hbase_place place =
            kw_hbase_range_place(&run->spec, run->started ? &run->last : NULL, results[i].row);
        if (place == KW_HBASE_BEHIND_RANGE) {
            run->ended = true;
            return;
        }
        if (place == KW_HBASE_BEFORE_RANGE) {
            run->top_is_row = true;
        } else if (rows->count < run->max_rows) {
            kw_hbase_from_result(rows, &results[i], &rows->rows[rows->count++]);
        } else { /* the row at the top has gone: one too many, it comes again */
            run->ended = false;
            drop_scanner(run);
        }
    }
}

void
kw_hbase_scan_run_fetched(kw_hbase_scan_run *run, const kw_hb_TResult *results, uint32_t count,
                          const kw_hbase_failure *failure)
{
    if (failure) {
        fetch_failed(run, failure);
        return;
    }
    kw_error error;
    take_results(run, results, count);
    if (!check_rows(run, &error)) {
        drop_scanner(run);
        tell_error(run, &error);
        return;
    }
    keep_place(run);
    if (run->ended)
        drop_scanner(run);
    else if (run->rows->count == 0 && run->spec.filter.size == 0 && run->filter_bytes.size == 0) {
        start_fetch(run, 0);
        return;
    }
    tell_rows(run);
}

/* --- fetch ------------------------------------------------------------------------------------ */

static void
fetch_done(kw_hbase_call *call, const void *result, const kw_hbase_failure *failure)
{
    kw_hbase_scan_run *run = call->user;
    const kw_hb_THBaseService_getScannerResults_result *answer = result;
    if (!run->closed)
        kw_hbase_scan_run_fetched(run, answer ? answer->success.items : NULL,
                                  answer ? answer->success.count : 0, failure);
    kw_hbase_scan_run_unref(run);
}

static void
start_stateless(kw_hbase_scan_run *run, uint64_t delay_ms)
{
    run->args = (kw_hb_THBaseService_getScannerResults_args){
        .table = run->spec.table, .tscan = &run->scan, .has_numRows = true, .numRows = (int32_t)run->wanted};
    run->call = (kw_hbase_call){.method = KW_HB_THBaseService_getScannerResults,
                                .args = &run->args,
                                .table = run->spec.table,
                                .deadline = run->deadline,
                                .repeatable = true,
                                .keep = run->rows->arena,
                                .account = run->spec.account,
                                .number = run->spec.call,
                                .done = fetch_done,
                                .user = run};
    run->refs++;
    kw_hbase_pool_start_after(&run->handle->pool, &run->call, delay_ms);
}

static bool
wants_scanner(const kw_hbase_scan_run *run)
{
    if (run->stateful_filter)
        return true;
    return run->more_hint && (run->started || run->wanted >= SCANNER_ROWS);
}

static uint32_t
read_ahead(const kw_hbase_scan_run *run)
{
    size_t seen = kw_hbase_row_bytes(run->handle, run->spec.table);
    return MAX(run->wanted, (uint32_t)MIN(SCANNER_ROWS, SCANNER_BYTES / (seen ? seen : FIRST_ROW_BYTES)));
}

static void
answer_end(kw_hbase_call *call, const void *result, const kw_hbase_failure *failure)
{
    (void)result;
    (void)failure;
    kw_hbase_scan_run *run = call->user;
    if (!run->closed)
        tell_rows(run);
    kw_hbase_scan_run_unref(run);
}

/* Nothing is left: the answer comes without asking anybody. */
static void
start_end(kw_hbase_scan_run *run)
{
    run->ended = true;
    run->call = (kw_hbase_call){.done = answer_end, .user = run};
    run->refs++;
    kw_hbase_pool_reject(&run->handle->pool, &run->call, &KW_ERROR_NONE);
}

static void
start_fetch(kw_hbase_scan_run *run, uint64_t delay_ms)
{
    run->wanted = rows_to_ask_for(run);
    if (run->scanner) {
        kw_hbase_scanner_fetch(run->scanner, 0);
        return;
    }
    const kw_buffer *last = run->started ? &run->last : NULL;
    run->wanted += run->top_is_row && kw_hbase_range_starts_outside(&run->spec, last);
    kw_arena_reset(run->scan_arena);
    if (run->ended ||
        !kw_hbase_range_scan(run->scan_arena, &run->spec, run->started ? &run->last : NULL, &run->scan)) {
        start_end(run);
        return;
    }
    run->scan.has_filterBytes = run->filter_bytes.size > 0;
    run->scan.filterBytes = run->filter_bytes;
    bool opened = wants_scanner(run);
    run->scan.has_caching = true;
    run->scan.caching = (int32_t)(opened ? read_ahead(run) : run->wanted);
    run->scan.has_limit = !opened;
    run->scan.limit = (int32_t)run->wanted;
    if (!opened) {
        start_stateless(run, delay_ms);
        return;
    }
    run->scanner = kw_hbase_scanner_new(run);
    kw_hbase_scanner_fetch(run->scanner, delay_ms);
}

void
kw_hbase_scan_run_fetch(kw_range_scan *base, uint32_t max_rows, size_t max_bytes, bool more_hint,
                        kw_deadline deadline, kw_get_done done, void *user)
{
    kw_hbase_scan_run *run = (kw_hbase_scan_run *)base;
    run->rows = kw_rows_new_for(run->spec.account);
    run->max_rows = max_rows;
    run->max_bytes = max_bytes;
    run->more_hint = more_hint;
    run->deadline = kw_hbase_deadline(deadline);
    run->rows_cap = 0;
    run->attempts = 0;
    run->done = done;
    run->user = user;
    start_fetch(run, 0);
}

/* --- open and close --------------------------------------------------------------------------- */

static void
copy_spec(kw_hbase_scan_run *run, const kw_range_scan_spec *spec)
{
    run->spec = *spec;
    kw_account_ref(spec->account);
    run->spec.columns = kw_hbase_copy_columns(run->arena, spec->columns, spec->columns_count);
    run->spec.table = kw_arena_copy(run->arena, spec->table);
    run->spec.start = kw_arena_copy(run->arena, spec->start);
    run->spec.stop = kw_arena_copy(run->arena, spec->stop);
    if (spec->prepared)
        kw_prepared_ref(spec->prepared);
    run->spec.filter =
        spec->prepared ? kw_prepared_text(spec->prepared) : kw_arena_copy(run->arena, spec->filter);
    bool seeks = !spec->reversed && kw_hbase_probe_seeks(run->handle);
    kw_error ignored;
    const kw_filter *filter = NULL;
    if (spec->filter.size && spec->patterns.count)
        filter = spec->prepared ? kw_prepared_tree(spec->prepared)
                                : kw_filter_parse(spec->filter, run->arena, &ignored);
    run->filter_bytes = kw_hbase_filter_bytes(
        filter, &spec->patterns, seeks ? KW_HBASE_FUZZY_SEEKING : KW_HBASE_FUZZY_EACH, run->arena);
}

/* The store handle has taken the filter: it can be read. */
static bool
spans_rows(kw_bytes filter, const kw_prepared *prepared)
{
    if (filter.size == 0)
        return false;
    if (prepared)
        return kw_filter_spans_rows(kw_prepared_tree(prepared));
    g_autoptr(kw_arena) arena = kw_arena_new();
    kw_error error;
    const kw_filter *tree = kw_filter_parse(filter, arena, &error);
    return tree && kw_filter_spans_rows(tree);
}

kw_range_scan *
kw_hbase_open_range_scan(kw_store_handle *handle, const kw_range_scan_spec *spec)
{
    kw_arena *arena = kw_arena_new_for(spec->account, KW_MEMORY_STORE);
    kw_hbase_scan_run *run = KW_ARENA_NEW(arena, kw_hbase_scan_run);
    run->base.handle = handle;
    run->handle = kw_hbase_handle_of(handle);
    run->handle->runs++;
    run->arena = arena;
    run->scan_arena = kw_arena_new_for(spec->account, KW_MEMORY_STORE);
    run->refs = 1;
    copy_spec(run, spec);
    run->stateful_filter = spans_rows(spec->filter, spec->prepared);
    return &run->base;
}

void
kw_hbase_scan_run_close(kw_range_scan *base)
{
    kw_hbase_scan_run *run = (kw_hbase_scan_run *)base;
    run->closed = true;
    drop_scanner(run);
    kw_hbase_scan_run_unref(run);
}
