/* Range scans: the sorted rows of a range, fetch by fetch. The position is the key of the last row returned,
 * so after any failure of a scanner or a server the range scan continues after that row.
 *
 *   first fetch, or no more fetches expected      --> getScannerResults (nothing stays open)
 *   later fetch, and more are expected            --> open scanner (scanner.c)
 *   call failed, scanner expired, connection lost --> again after the last row, within deadline and budget
 *   reply too large                               --> again with fewer rows
 *
 * getScannerResults opens a scan for each call, on the Thrift2 server and on the region server. An open
 * scanner costs two additional calls once, and can read ahead for small fetches. Most range scans need one
 * fetch, so a scanner is opened only after a first fetch that was full. It then serves all later fetches
 * until one fails.
 *
 * Both calls return fewer rows than requested only at the end of the range: the server's client continues
 * over its own size and time limits, over rows that the filter dropped, and over region boundaries, and it
 * returns whole rows only. So a fetch is full if it has as many rows as requested, and the range has ended
 * otherwise. A fetch after a full one starts after the last key in the direction of the scan (range.c), and
 * has the same other bound, columns, times and filter. A filter that counts rows would start to count again,
 * so its scan has one scanner from the beginning.
 *
 * A range scan is not a snapshot: each row is returned as it was at some moment after the scan was opened. A
 * row that is written meanwhile is returned if its key is after the position and the next call opens a scan;
 * an open scanner may or may not return it. A scan can change from one of the two calls to the other.
 * For callers, this has the same effect as a failure of a scanner, which they do not notice either.
 *
 * Measured with 100,000 rows of three 100-byte cells and 16 direct scanners at once, in rows/s of
 * getScannerResults / of an open scanner, three runs: 73k / 91k with 100 rows per fetch, 68k / 104k with 500,
 * and 64k to 69k / 86k to 91k with 1,000. Fetches of more than ROWS_MAX rows only fill the Thrift2 server's
 * heap. range.c computes the bounds of the scan.
 */
#include "store/hbase/thrift2/convert.h"
#include "store/hbase/thrift2/filter_bytes.h"
#include "store/hbase/thrift2/range.h"
#include "store/hbase/thrift2/range_scan_private.h"

#include "base/metrics.h"
#include "filter/filter.h"
#include "store/check.h"
#include "store/columns.h"

#include <string.h>

/* Used while the size of the table's rows is unknown. */
#define FIRST_ROWS_MAX 256
#define FIRST_ROW_BYTES 512
#define ROWS_MAX 1000
/* The limit of a fetch while memory is short. */
#define SHORT_FETCH_BYTES ((size_t)64 * 1024)
/* An open scanner reads this many rows or bytes ahead. */
#define SCANNER_ROWS 256
#define SCANNER_BYTES ((size_t)1024 * 1024)

static void start_fetch(kw_hbase_range_scan *scan, uint64_t delay_ms);

void
kw_hbase_range_scan_unref(kw_hbase_range_scan *scan)
{
    g_assert(scan->refs > 0);
    if (--scan->refs)
        return;
    kw_prepared_unref(scan->spec.prepared);
    kw_rows_free(scan->rows);
    kw_buffer_clear(&scan->last);
    kw_arena_free(scan->bounds_arena);
    kw_account *account = scan->spec.account;
    kw_arena_free(scan->arena);
    kw_account_unref(account);
}

/* --- how many rows ---------------------------------------------------------------------------- */

static uint32_t
rows_to_request(const kw_hbase_range_scan *scan)
{
    size_t seen = kw_hbase_row_bytes(scan->handle, scan->spec.table);
    size_t bytes = scan->max_bytes;
    if (kw_budget_pressure(scan->spec.account) != KW_PRESSURE_NONE)
        bytes = MIN(bytes, SHORT_FETCH_BYTES);
    size_t fit = bytes / (seen ? seen : FIRST_ROW_BYTES);
    size_t max = MIN(seen ? ROWS_MAX : FIRST_ROWS_MAX, scan->max_rows);
    if (scan->rows_cap)
        max = MIN(max, scan->rows_cap);
    return (uint32_t)CLAMP(fit, 1, max);
}

/* --- end of a fetch --------------------------------------------------------------------------- */

static void
drop_scanner(kw_hbase_range_scan *scan)
{
    kw_hbase_scanner *scanner = g_steal_pointer(&scan->scanner);
    if (scanner)
        kw_hbase_scanner_abandon(scanner);
}

static void
return_rows(kw_hbase_range_scan *scan)
{
    kw_rows *rows = g_steal_pointer(&scan->rows);
    rows->end = scan->ended;
    scan->done(scan->user, rows, NULL);
}

static void
return_error(kw_hbase_range_scan *scan, const kw_error *error)
{
    kw_rows_free(g_steal_pointer(&scan->rows));
    kw_metrics_add(KW_METRIC_store_errors, 1);
    scan->done(scan->user, NULL, error);
}

/* True if the fetch was started again. */
static bool
try_again(kw_hbase_range_scan *scan, const kw_hbase_failure *failure)
{
    uint64_t delay_ms = 0;
    switch (failure->kind) {
    case KW_HBASE_REPLY_TOO_LARGE:
        if (scan->wanted == 1)
            return false;
        scan->rows_cap = MAX(scan->wanted / 8, 1);
        break;
    case KW_HBASE_LOST:
    case KW_HBASE_SCANNER_GONE:
    case KW_HBASE_TEMPORARY:
        scan->attempts += failure->kind == KW_HBASE_TEMPORARY ? 2 : 1;
        if (!kw_hbase_pool_allow_retry(&scan->handle->pool, scan->deadline, scan->attempts, &delay_ms))
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
    start_fetch(scan, delay_ms);
    return true;
}

static void
fetch_failed(kw_hbase_range_scan *scan, const kw_hbase_failure *failure)
{
    drop_scanner(scan);
    if (try_again(scan, failure))
        return;
    kw_error error;
    kw_hbase_explain_filter_failure(scan->spec.filter, failure, &error);
    if (failure->kind == KW_HBASE_REPLY_TOO_LARGE)
        kw_error_set(&error, KW_LIMIT, "table %s: %s %s is larger than %zu bytes; request fewer columns",
                     kw_show(scan->spec.table).text, scan->started ? "the row after" : "the first row of",
                     kw_show(scan->started ? kw_buffer_bytes(&scan->last) : scan->spec.start).text,
                     KW_HBASE_REPLY_MAX);
    return_error(scan, &error);
}

/* Keeps only the keys of rows that are larger than the caller's limit. LIMIT if the scan does not allow that.
 */
static bool
check_rows(const kw_hbase_range_scan *scan, kw_error *ret_error)
{
    size_t max = scan->spec.max_row_bytes;
    for (size_t i = 0; max > 0 && scan->rows->bytes > max && i < scan->rows->count; i++) {
        kw_row *row = &scan->rows->rows[i];
        size_t bytes = row->key.size;
        for (uint32_t cell = 0; cell < row->cells_count; cell++)
            bytes += row->cells[cell].qualifier.size + row->cells[cell].value.size;
        if (bytes <= max)
            continue;
        if (!scan->spec.omit_large_rows)
            return kw_error_set(
                ret_error, KW_LIMIT,
                "table %s: a row has more than %zu bytes (limits.frame); request fewer columns",
                kw_show(scan->spec.table).text, max);
        *row = (kw_row){.key = row->key, .omitted = KW_OMITTED_TOO_LARGE};
        scan->rows->bytes -= bytes - row->key.size;
    }
    return true;
}

static void
update_position(kw_hbase_range_scan *scan)
{
    const kw_rows *rows = scan->rows;
    if (rows->count == 0)
        return;
    scan->started = true;
    scan->top_is_row = true;
    scan->last.size = 0;
    kw_buffer_append(&scan->last, rows->rows[rows->count - 1].key);
    kw_hbase_note_row_bytes(scan->handle, scan->spec.table, rows->bytes / rows->count);
}

/* CORRUPT unless the rows come in the order of the scan, each once, and after the last row of the fetch
 * before. The caller merges the rows of several scans, which needs this order. */
static bool
check_order(const kw_hbase_range_scan *scan, const kw_hb_TResult *results, uint32_t count,
            kw_error *ret_error)
{
    bool reversed = scan->spec.reversed;
    for (uint32_t i = 0; i < count; i++) {
        bool has_last = i > 0 || scan->started;
        kw_bytes last = i > 0 ? results[i - 1].row : kw_buffer_bytes(&scan->last), row = results[i].row;
        int order = has_last ? kw_bytes_compare(row, last) : 0;
        /* A reversed scan that is opened after the last row can begin with this row. */
        bool again = i == 0 && reversed && order == 0 && !scan->continued;
        if (has_last && !again && (reversed ? order >= 0 : order <= 0))
            return kw_error_set(
                ret_error, KW_CORRUPT,
                "table %s: the store returned row %s after row %s, but the scan reads rows in "
                "%s order",
                kw_show(scan->spec.table).text, kw_show(row).text, kw_show(last).text,
                reversed ? "descending" : "ascending");
    }
    return true;
}

/* CORRUPT if a row is not in the range that the server was asked for. */
static bool
check_range(const kw_hbase_range_scan *scan, kw_bytes row, kw_error *ret_error)
{
    const kw_hb_TScan *asked = &scan->tscan;
    int from = asked->startRow.size ? kw_bytes_compare(row, asked->startRow) : 0;
    int to = asked->stopRow.size ? kw_bytes_compare(row, asked->stopRow) : 0;
    bool reversed = scan->spec.reversed, bounded = asked->stopRow.size > 0;
    if (reversed ? from <= 0 && (!bounded || to > 0) : from >= 0 && (!bounded || to < 0))
        return true;
    return kw_error_set(ret_error, KW_CORRUPT,
                        "table %s: the store returned row %s for a scan of the rows from %s to %s",
                        kw_show(scan->spec.table).text, kw_show(row).text, kw_show(asked->startRow).text,
                        kw_show(asked->stopRow).text);
}

/* Adds the rows inside the range. A reversed scan can return too many rows at either end. */
static bool
add_results(kw_hbase_range_scan *scan, const kw_hb_TResult *results, uint32_t count, kw_error *ret_error)
{
    kw_rows *rows = scan->rows;
    if (!check_order(scan, results, count, ret_error))
        return false;
    rows->rows = kw_arena_alloc(rows->arena, count * sizeof(kw_row));
    rows->scanned += count;
    scan->ended = count < scan->wanted;
    for (uint32_t i = 0; i < count; i++) {
        kw_hbase_range_position position =
            kw_hbase_range_locate(&scan->spec, scan->started ? &scan->last : NULL, results[i].row);
        if (!check_range(scan, results[i].row, ret_error))
            return false;
        if (position == KW_HBASE_AFTER_RANGE) {
            scan->ended = true;
            return true;
        }
        if (position == KW_HBASE_BEFORE_RANGE) {
            scan->top_is_row = true;
        } else if (rows->count < scan->max_rows) {
            if (!kw_hbase_from_result(rows, scan->spec.table, &results[i], &rows->rows[rows->count],
                                      ret_error))
                return false;
            rows->count++;
        } else {
            /* One more row was requested, for the row at the exclusive start bound, but that row has been
             * deleted. So this row is one too many; the next fetch reads it again. */
            scan->ended = false;
            drop_scanner(scan);
        }
    }
    return true;
}

void
kw_hbase_range_scan_fetched(kw_hbase_range_scan *scan, const kw_hb_TResult *results, uint32_t count,
                            const kw_hbase_failure *failure)
{
    if (failure) {
        fetch_failed(scan, failure);
        return;
    }
    kw_error error;
    if (!add_results(scan, results, count, &error) || !check_rows(scan, &error)) {
        drop_scanner(scan);
        return_error(scan, &error);
        return;
    }
    update_position(scan);
    if (scan->ended)
        drop_scanner(scan);
    else if (scan->rows->count == 0 && scan->spec.filter.size == 0 && scan->filter_bytes.size == 0) {
        start_fetch(scan, 0);
        return;
    }
    return_rows(scan);
}

/* --- fetch ------------------------------------------------------------------------------------ */

static void
on_fetched(kw_hbase_call *call, const void *result, const kw_hbase_failure *failure)
{
    kw_hbase_range_scan *scan = call->user;
    const kw_hb_THBaseService_getScannerResults_result *answer = result;
    if (!scan->closed)
        kw_hbase_range_scan_fetched(scan, answer ? answer->success.items : NULL,
                                    answer ? answer->success.count : 0, failure);
    kw_hbase_range_scan_unref(scan);
}

static void
start_stateless(kw_hbase_range_scan *scan, uint64_t delay_ms)
{
    scan->args = (kw_hb_THBaseService_getScannerResults_args){.table = scan->spec.table,
                                                              .tscan = &scan->tscan,
                                                              .has_numRows = true,
                                                              .numRows = (int32_t)scan->wanted};
    scan->call = (kw_hbase_call){.method = KW_HB_THBaseService_getScannerResults,
                                 .args = &scan->args,
                                 .table = scan->spec.table,
                                 .deadline = scan->deadline,
                                 .repeatable = true,
                                 .keep = scan->rows->arena,
                                 .account = scan->spec.account,
                                 .number = scan->spec.call,
                                 .done = on_fetched,
                                 .user = scan};
    scan->refs++;
    kw_hbase_pool_start_after(&scan->handle->pool, &scan->call, delay_ms);
}

static bool
wants_scanner(const kw_hbase_range_scan *scan)
{
    return scan->stateful_filter || (scan->more_hint && scan->started);
}

static uint32_t
read_ahead(const kw_hbase_range_scan *scan)
{
    size_t seen = kw_hbase_row_bytes(scan->handle, scan->spec.table);
    return MAX(scan->wanted, (uint32_t)MIN(SCANNER_ROWS, SCANNER_BYTES / (seen ? seen : FIRST_ROW_BYTES)));
}

static void
on_empty_fetch(kw_hbase_call *call, const void *result, const kw_hbase_failure *failure)
{
    (void)result;
    (void)failure;
    kw_hbase_range_scan *scan = call->user;
    if (!scan->closed)
        return_rows(scan);
    kw_hbase_range_scan_unref(scan);
}

/* There are no more rows: completes the fetch without a call. */
static void
start_empty_fetch(kw_hbase_range_scan *scan)
{
    scan->ended = true;
    scan->call = (kw_hbase_call){.done = on_empty_fetch, .user = scan};
    scan->refs++;
    kw_hbase_pool_reject(&scan->handle->pool, &scan->call, &KW_ERROR_NONE);
}

static void
start_fetch(kw_hbase_range_scan *scan, uint64_t delay_ms)
{
    scan->wanted = rows_to_request(scan);
    scan->continued = scan->scanner != NULL;
    if (scan->scanner) {
        kw_hbase_scanner_fetch(scan->scanner, 0);
        return;
    }
    const kw_buffer *last = scan->started ? &scan->last : NULL;
    scan->wanted += scan->top_is_row && kw_hbase_range_starts_outside(&scan->spec, last);
    kw_arena_reset(scan->bounds_arena);
    if (scan->ended || !kw_hbase_range_to_scan(scan->bounds_arena, &scan->spec,
                                               scan->started ? &scan->last : NULL, &scan->tscan)) {
        start_empty_fetch(scan);
        return;
    }
    scan->tscan.has_filterBytes = scan->filter_bytes.size > 0;
    scan->tscan.filterBytes = scan->filter_bytes;
    bool opened = wants_scanner(scan);
    scan->tscan.has_caching = true;
    scan->tscan.caching = (int32_t)(opened ? read_ahead(scan) : scan->wanted);
    scan->tscan.has_limit = !opened;
    scan->tscan.limit = (int32_t)scan->wanted;
    if (!opened) {
        start_stateless(scan, delay_ms);
        return;
    }
    scan->scanner = kw_hbase_scanner_new(scan);
    kw_hbase_scanner_fetch(scan->scanner, delay_ms);
}

void
kw_hbase_range_scan_fetch(kw_range_scan *base, uint32_t max_rows, size_t max_bytes, bool more_hint,
                          kw_deadline deadline, kw_get_done done, void *user)
{
    kw_hbase_range_scan *scan = (kw_hbase_range_scan *)base;
    g_assert(!scan->closed && !scan->rows && max_rows > 0);
    scan->rows = kw_rows_new_for(scan->spec.account);
    scan->max_rows = max_rows;
    scan->max_bytes = max_bytes;
    scan->more_hint = more_hint;
    scan->deadline = kw_hbase_deadline(deadline);
    scan->rows_cap = 0;
    scan->attempts = 0;
    scan->done = done;
    scan->user = user;
    start_fetch(scan, 0);
}

/* --- open and close --------------------------------------------------------------------------- */

static void
copy_spec(kw_hbase_range_scan *scan, const kw_range_scan_spec *spec)
{
    scan->spec = *spec;
    kw_account_ref(spec->account);
    scan->spec.columns = kw_columns_copy(spec->columns, spec->columns_count, scan->arena);
    scan->spec.table = kw_arena_copy(scan->arena, spec->table);
    scan->spec.start = kw_arena_copy(scan->arena, spec->start);
    scan->spec.stop = kw_arena_copy(scan->arena, spec->stop);
    if (spec->prepared)
        kw_prepared_ref(spec->prepared);
    scan->spec.filter =
        spec->prepared ? kw_prepared_text(spec->prepared) : kw_arena_copy(scan->arena, spec->filter);
    bool fuzzy = !spec->reversed && kw_hbase_probe_allows_fuzzy(scan->handle);
    kw_error ignored;
    const kw_filter *filter = NULL;
    if (spec->filter.size && spec->patterns.count)
        filter = spec->prepared ? kw_prepared_tree(spec->prepared)
                                : kw_filter_parse(spec->filter, scan->arena, &ignored);
    scan->filter_bytes = kw_hbase_filter_bytes(
        filter, &spec->patterns, fuzzy ? KW_HBASE_PATTERN_FUZZY : KW_HBASE_PATTERN_REGEX, scan->arena);
}

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
    kw_hbase_range_scan *scan = KW_ARENA_NEW(arena, kw_hbase_range_scan);
    scan->base.handle = handle;
    scan->handle = kw_hbase_handle_of(handle);
    scan->arena = arena;
    scan->bounds_arena = kw_arena_new_for(spec->account, KW_MEMORY_STORE);
    scan->refs = 1;
    copy_spec(scan, spec);
    scan->stateful_filter = spans_rows(spec->filter, spec->prepared);
    return &scan->base;
}

void
kw_hbase_range_scan_close(kw_range_scan *base)
{
    kw_hbase_range_scan *scan = (kw_hbase_range_scan *)base;
    g_assert(!scan->closed);
    scan->closed = true;
    drop_scanner(scan);
    kw_hbase_range_scan_unref(scan);
}
