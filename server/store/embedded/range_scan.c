/* Range scans. A fetch is a job for a reader thread.
 *
 * An iterator shows the store as it was when the iterator was created, and keeps old data from being freed. A
 * scan keeps its iterator between fetches while the caller announces more fetches, if the blocks that it
 * holds are charged (blocks.h). If the scan has none, or one that is older than ITERATOR_LIFE_MS, a fetch
 * creates an iterator and seeks to the first row that was not read. In all cases each row is consistent in
 * itself.
 */
#include "base/container.h"
#include "base/metrics.h"
#include "base/shortage.h"
#include "store/check.h"
#include "store/embedded/embedded_internal.h"
#include "store/embedded/reader.h"
#include "store/embedded/row_filter.h"
#include "store/embedded/row_skipper.h"

#define ITERATOR_LIFE_MS 10000
/* RocksDB cannot free a write buffer that was written to a file while there is an older iterator. So a scan
 * that waits also drops its iterator when this much was written since, which is one write buffer. */
#define ITERATOR_LIFE_BYTES ((uint64_t)16 * 1024 * 1024)
/* After this many rows or bytes a fetch checks the time, and whether others wait. */
#define ROWS_PER_CHECK 64
#define BYTES_PER_CHECK ((size_t)64 * 1024)
/* After this many rows, or this time, a fetch with a filter or patterns ends, because reader threads are
 * shared. */
#define FILTERED_ROWS_MAX 20000
#define FILTERED_TIME_MAX_NS ((uint64_t)20 * 1000 * 1000)
/* After this many bytes a fetch ends if memory is short or others wait. */
#define YIELD_BYTES ((size_t)64 * 1024)
/* A fetch also ends when its rows hold twice its maximum of bytes, but not before they hold this much: the
 * values of small cells are only a part of their memory. */
#define LEAST_MEMORY ((size_t)256 * 1024)
/* Estimates of the memory of a scan, apart from its arena, and of an iterator, apart from its blocks. */
#define SCAN_BYTES ((int64_t)2 * 1024)
#define ITERATOR_BYTES ((int64_t)32 * 1024)

typedef struct embedded_scan {
    kw_range_scan base;
    kw_pool_job job;
    kw_arena *arena; /* of the copy of the spec */
    kw_range_scan_spec spec;
    _Atomic bool closed;

    kw_selection selection; /* set by the first fetch */
    rocksdb_readoptions_t *options;
    rocksdb_iterator_t *iterator; /* NULL: the next fetch creates it */
    kw_deadline iterator_deadline;
    uint64_t iterator_bytes; /* that the store had written when the iterator was created */
    GList waiting_link; /* data: this scan while it is one of the waiting scans of its handle, else NULL */
    kw_iterator_blocks iterator_blocks;
    kw_reader reader;
    kw_row_filter row_filter;
    kw_buffer lowest, highest; /* the bounds of the range as keys: inclusive, exclusive */
    kw_row_skipper row_skipper;
    kw_buffer resume; /* row prefix of the next row to read; empty: the first row of the range */
    GArray *found;    /* kw_row: the rows of the current fetch */
    kw_effort effort; /* of the current fetch */
    uint64_t started_ns;
    bool at_end;
    bool gave_up;           /* in this fetch: at the deadline, cancelled, or without memory */
    size_t unchecked_bytes; /* read since the last check of the time */

    uint32_t max_rows; /* the current fetch */
    size_t max_bytes;
    bool more_hint;
    kw_deadline deadline;
    kw_get_done done;
    void *user;
    kw_rows *rows;
    kw_error error;
} embedded_scan;

static bool
is_cancelled(void *user)
{
    const embedded_scan *scan = user;
    const kw_embedded_handle *handle = (const kw_embedded_handle *)scan->base.handle;
    return atomic_load_explicit(&scan->closed, memory_order_relaxed) ||
           atomic_load_explicit(&handle->closing, memory_order_relaxed) ||
           kw_account_client_is_gone(scan->spec.account);
}

static embedded_scan *
scan_of_job(kw_pool_job *job)
{
    return KW_CONTAINER(job, embedded_scan, job);
}

/* --- on a reader thread --------------------------------------------------------------------------- */

static kw_blocks *
blocks_of(const embedded_scan *scan)
{
    return &((const kw_embedded_handle *)scan->base.handle)->store->blocks;
}

static void
drop_iterator(embedded_scan *scan)
{
    if (!scan->iterator)
        return;
    rocksdb_iter_destroy(scan->iterator);
    kw_blocks_end(blocks_of(scan), &scan->iterator_blocks);
    kw_account_charge(scan->spec.account, KW_MEMORY_STORE, -ITERATOR_BYTES);
    scan->iterator = NULL;
}

/* True if the iterator keeps write buffers from being freed. */
static bool
is_old(const embedded_scan *scan)
{
    const kw_embedded *store = ((const kw_embedded_handle *)scan->base.handle)->store;
    uint64_t written = atomic_load_explicit(&store->written_bytes, memory_order_relaxed);
    return written - scan->iterator_bytes >= ITERATOR_LIFE_BYTES;
}

static void
set_range(embedded_scan *scan)
{
    uint32_t table = scan->selection.table->id;
    kw_key_row(&scan->lowest, table, scan->spec.start);
    if (scan->spec.stop.size) {
        kw_key_row(&scan->highest, table, scan->spec.stop);
    } else {
        kw_be32_store(kw_buffer_reserve(&scan->highest, 4), table + 1);
        scan->highest.size = 4;
    }
    scan->at_end = kw_bytes_compare(kw_buffer_bytes(&scan->lowest), kw_buffer_bytes(&scan->highest)) >= 0;
    scan->options = rocksdb_readoptions_create();
    rocksdb_readoptions_set_verify_checksums(scan->options, 1);
    rocksdb_readoptions_set_total_order_seek(scan->options, 1);
    rocksdb_readoptions_set_background_purge_on_iterator_cleanup(scan->options, 1);
    rocksdb_readoptions_set_fill_cache(scan->options, !scan->spec.keep_blocks_out_of_cache);
    rocksdb_readoptions_set_iterate_lower_bound(scan->options, (const char *)scan->lowest.data,
                                                scan->lowest.size);
    rocksdb_readoptions_set_iterate_upper_bound(scan->options, (const char *)scan->highest.data,
                                                scan->highest.size);
}

static bool
begin_scan(embedded_scan *scan)
{
    kw_embedded *store = ((kw_embedded_handle *)scan->base.handle)->store;
    const kw_range_scan_spec *spec = &scan->spec;
    kw_read_request request = {.table = spec->table,
                               .columns = spec->columns,
                               .columns_count = spec->columns_count,
                               .max_versions = spec->max_versions,
                               .time_from = spec->time_from,
                               .time_to = spec->time_to,
                               .filter = spec->filter,
                               .prepared = spec->prepared};
    if (!kw_row_filter_init(&scan->row_filter, &request, spec->reversed, spec->account, &scan->effort,
                            &scan->error))
        return false;
    if (!kw_selection_init(&scan->selection, store->tables, &request, &scan->error)) {
        kw_row_filter_clear(&scan->row_filter);
        return false;
    }
    kw_reader_init(&scan->reader, NULL, &scan->selection);
    kw_version_filter_limit_rows(&scan->reader.version_filter, spec->account, spec->max_row_bytes,
                                 kw_row_filter_is_active(&scan->row_filter));
    scan->reader.effort = &scan->effort;
    scan->reader.version_filter.keeps_removed = spec->with_removed;
    kw_row_skipper_init(&scan->row_skipper, &spec->patterns, scan->selection.table->id, spec->reversed);
    scan->found = g_array_new(FALSE, FALSE, sizeof(kw_row));
    set_range(scan);
    return true;
}

/* False if the table was dropped since the last fetch, even if it was created again. */
static bool
check_table(embedded_scan *scan)
{
    kw_embedded *store = ((kw_embedded_handle *)scan->base.handle)->store;
    g_autoptr(kw_stored_table) table = kw_embedded_tables_find(store->tables, scan->spec.table);
    if (table != scan->selection.table)
        return kw_unknown_table(scan->spec.table, &scan->error);
    return true;
}

/* Creates an iterator at the first entry of the next row to read, or at the last entry if the scan is
 * reversed. */
static void
open_iterator(embedded_scan *scan)
{
    kw_embedded *store = ((kw_embedded_handle *)scan->base.handle)->store;
    uint64_t written = atomic_load_explicit(&store->written_bytes, memory_order_relaxed);
    kw_account_charge(scan->spec.account, KW_MEMORY_STORE, ITERATOR_BYTES);
    scan->iterator_blocks = kw_blocks_begin(blocks_of(scan), !scan->spec.keep_blocks_out_of_cache);
    scan->iterator = scan->reader.iterator = rocksdb_create_iterator(store->engine.db, scan->options);
    scan->iterator_deadline = kw_deadline_in_ms(ITERATOR_LIFE_MS);
    scan->iterator_bytes = written;
    const kw_buffer *from = scan->resume.size     ? &scan->resume
                            : scan->spec.reversed ? &scan->highest
                                                  : &scan->lowest;
    if (!scan->spec.reversed) {
        rocksdb_iter_seek(scan->iterator, (const char *)from->data, from->size);
        return;
    }
    if (scan->resume.size)
        kw_key_row_after(scan->resume.data, scan->resume.size);
    rocksdb_iter_seek_for_prev(scan->iterator, (const char *)from->data, from->size);
}

static void
save_position(embedded_scan *scan)
{
    kw_bytes key = kw_engine_key(scan->iterator);
    scan->resume.size = 0;
    kw_buffer_append(&scan->resume, kw_bytes_of(key.data, kw_key_row_size(key)));
}

/* True if memory is short, or if a small account waits for a reader thread: the caller fetches the rest
 * later. */
static bool
should_yield(const embedded_scan *scan)
{
    const kw_embedded *store = ((const kw_embedded_handle *)scan->base.handle)->store;
    return kw_budget_pressure(scan->spec.account) != KW_PRESSURE_NONE ||
           kw_pool_should_yield(store->pool, scan->spec.account);
}

static bool
is_slow(const embedded_scan *scan)
{
    return scan->spec.prepared && kw_prepared_is_slow(scan->spec.prepared);
}

static bool
should_stop(embedded_scan *scan)
{
    if (is_cancelled(scan))
        return true;
    scan->unchecked_bytes += scan->reader.version_filter.bytes;
    if (scan->rows->scanned % ROWS_PER_CHECK != 0 && scan->unchecked_bytes < BYTES_PER_CHECK &&
        !is_slow(scan))
        return false;
    scan->unchecked_bytes = 0;
    scan->gave_up = kw_deadline_passed(scan->deadline);
    if (scan->rows->bytes >= YIELD_BYTES && should_yield(scan))
        return true;
    bool filters = kw_row_filter_is_active(&scan->row_filter) || scan->spec.patterns.count;
    return scan->gave_up || (filters && (scan->rows->scanned >= FILTERED_ROWS_MAX ||
                                         kw_clock_mono_ns() - scan->started_ns >= FILTERED_TIME_MAX_NS));
}

/* False if no cell of the row is visible, or if the row is too large. */
static bool
read_row(embedded_scan *scan, kw_row *ret_row)
{
    *ret_row = (kw_row){0};
    return scan->spec.reversed ? kw_reader_backward(&scan->reader, ret_row)
                               : kw_reader_forward(&scan->reader, ret_row);
}

/* Keeps only the key of a row that is too large. False if the scan does not allow that. */
static bool
omit_row(embedded_scan *scan, size_t most)
{
    if (!scan->spec.omit_large_rows)
        return kw_error_set(
            &scan->error, KW_LIMIT,
            "table %s: a row has more than %zu bytes (limits.frame), or so many cells that it needs "
            "more memory than one call can use (limits.memory); request fewer columns",
            kw_show(scan->spec.table).text, most);
    kw_row row = {.key = kw_reader_row_key(&scan->reader, scan->rows->arena),
                  .omitted = KW_OMITTED_TOO_LARGE};
    scan->rows->bytes += row.key.size;
    g_array_append_val(scan->found, row);
    return true;
}

/* A filter does not see a row without cells. */
static void
keep_removed_row(embedded_scan *scan, kw_bytes key)
{
    kw_row row = {.key = kw_arena_copy(scan->rows->arena, key)};
    scan->rows->bytes += key.size;
    g_array_append_val(scan->found, row);
}

/* Reads the next row and keeps what the filter leaves of it. False after an error. */
static bool
read_filtered_row(embedded_scan *scan)
{
    kw_row row, kept = {0};
    size_t before = scan->rows->bytes, most = scan->spec.max_row_bytes;
    kw_row_filter_begin_row(&scan->row_filter, &scan->reader.version_filter);
    if (!read_row(scan, &row))
        return !scan->reader.version_filter.too_large ||
               omit_row(scan, scan->reader.version_filter.max_bytes);
    if (scan->effort.over)
        return true;
    if (row.cells_count == 0) {
        keep_removed_row(scan, row.key);
        return true;
    }
    switch (kw_row_filter_apply(&scan->row_filter, &row, scan->rows, &kept, &scan->error)) {
    case KW_FILTER_ROW_KEPT:
        if (most > 0 && scan->rows->bytes - before > most) {
            scan->rows->bytes = before;
            return omit_row(scan, most);
        }
        g_array_append_val(scan->found, kept);
        return true;
    case KW_FILTER_ROW_DROPPED:
        return true;
    case KW_FILTER_ROW_FAILED:
        break;
    }
    return false;
}

static bool
read_next_row(embedded_scan *scan)
{
    kw_row row;
    if (kw_row_filter_is_active(&scan->row_filter))
        return read_filtered_row(scan);
    if (read_row(scan, &row) && !scan->effort.over) {
        g_array_append_val(scan->found, row);
        scan->rows->bytes += scan->reader.version_filter.bytes;
    }
    return !scan->reader.version_filter.too_large || omit_row(scan, scan->reader.version_filter.max_bytes);
}

/* --- fetch ---------------------------------------------------------------------------------------- */

/* Inside a row, the deadline passed, the fetch was cancelled, or memory became short. The next fetch reads
 * the row from its start. */
static void
postpone_row(embedded_scan *scan)
{
    scan->gave_up = true;
    scan->resume.size = 0;
    kw_buffer_append(&scan->resume, kw_reader_row(&scan->reader));
    drop_iterator(scan);
}

static void
skip_rows(embedded_scan *scan)
{
    if (!kw_row_skipper_skip(&scan->row_skipper, scan->iterator)) /* move to the end of the range */
        rocksdb_iter_seek(scan->iterator, (const char *)scan->highest.data, scan->highest.size);
}

static bool
is_full(const embedded_scan *scan)
{
    const kw_rows *rows = scan->rows;
    return scan->found->len >= scan->max_rows || rows->bytes >= scan->max_bytes ||
           kw_arena_held(rows->arena) / 2 >= MAX(scan->max_bytes, LEAST_MEMORY / 2);
}

static bool
collect(embedded_scan *scan)
{
    kw_rows *rows = scan->rows;
    bool done = false;
    g_array_set_size(scan->found, 0);
    while (!done && rocksdb_iter_valid(scan->iterator) && !is_full(scan)) {
        rows->scanned++;
        if (!kw_row_skipper_matches(&scan->row_skipper, scan->iterator))
            skip_rows(scan);
        else if (!read_next_row(scan))
            return false;
        done = kw_row_filter_is_active(&scan->row_filter) && kw_filter_machine_done(scan->row_filter.machine);
        if (scan->effort.over) {
            postpone_row(scan);
            return true;
        }
        if (should_stop(scan))
            break;
    }
    scan->at_end = done || !rocksdb_iter_valid(scan->iterator);
    return kw_engine_check_iterator(scan->iterator, &scan->error);
}

static void
publish_found(embedded_scan *scan)
{
    kw_rows *rows = scan->rows;
    size_t size = scan->found->len * sizeof(kw_row);
    rows->rows = kw_arena_alloc(rows->arena, size);
    if (size)
        memcpy(rows->rows, scan->found->data, size);
    rows->count = scan->found->len;
}

/* Reads the next rows. If the deadline passes or memory becomes short meanwhile, the rows found before are
 * the result of the fetch; if there are none, the fetch fails. */
static bool
fetch(embedded_scan *scan)
{
    if (!kw_embedded_check_deadline(scan->deadline, "the rows were read", &scan->error) ||
        !kw_shortage_check(scan->spec.account, &scan->error))
        return false;
    scan->effort = (kw_effort){.deadline = scan->deadline, .is_cancelled = is_cancelled, .user = scan};
    if (scan->selection.table ? !check_table(scan) : !begin_scan(scan))
        return false;
    g_assert(!scan->rows);
    scan->rows = kw_rows_new_for(scan->spec.account);
    scan->effort.arena = scan->rows->arena;
    scan->gave_up = false;
    scan->started_ns = kw_clock_mono_ns();
    kw_version_filter_set_output(&scan->reader.version_filter, scan->rows);
    if (!scan->at_end) {
        kw_selection_refresh(&scan->selection);
        if (scan->iterator && kw_deadline_passed(scan->iterator_deadline))
            drop_iterator(scan);
        if (!scan->iterator)
            open_iterator(scan);
        if (!collect(scan))
            return false;
        publish_found(scan);
        if (!scan->at_end && scan->iterator)
            save_position(scan);
    }
    scan->rows->end = scan->at_end;
    if (scan->gave_up && !scan->at_end && scan->rows->count == 0)
        return kw_effort_fail(&scan->effort, "a range was read", &scan->error);
    return true;
}

/* True if the scan keeps its iterator until the next fetch. */
static bool
keeps_iterator(embedded_scan *scan)
{
    return !scan->at_end && scan->more_hint && scan->iterator && !is_old(scan) &&
           kw_budget_pressure(scan->spec.account) == KW_PRESSURE_NONE &&
           kw_blocks_keep(blocks_of(scan), &scan->iterator_blocks);
}

static void
work_fetch(kw_pool_job *job)
{
    embedded_scan *scan = scan_of_job(job);
    bool good = fetch(scan);
    if (!good) {
        kw_rows_free(scan->rows);
        scan->rows = NULL;
    }
    if (!good || !keeps_iterator(scan))
        drop_iterator(scan);
    kw_row_filter_rest(&scan->row_filter);
    kw_loop_post(scan->base.handle->loop, &scan->job.task);
}

/* --- on the loop ---------------------------------------------------------------------------------- */

static void
begin_waiting(embedded_scan *scan)
{
    kw_embedded_handle *handle = (kw_embedded_handle *)scan->base.handle;
    if (!scan->iterator)
        return;
    scan->waiting_link.data = scan;
    g_queue_push_tail_link(&handle->waiting_scans, &scan->waiting_link);
}

static void
end_waiting(embedded_scan *scan)
{
    kw_embedded_handle *handle = (kw_embedded_handle *)scan->base.handle;
    if (!scan->waiting_link.data)
        return;
    g_queue_unlink(&handle->waiting_scans, &scan->waiting_link);
    scan->waiting_link.data = NULL;
}

void
kw_embedded_drop_old_iterators(kw_embedded_handle *handle)
{
    uint64_t written = atomic_load_explicit(&handle->store->written_bytes, memory_order_relaxed);
    if (written - handle->looked_at_bytes < ITERATOR_LIFE_BYTES / 4)
        return;
    handle->looked_at_bytes = written;
    for (GList *at = handle->waiting_scans.head, *next; at; at = next) {
        embedded_scan *scan = at->data;
        next = at->next;
        if (!is_old(scan))
            continue;
        end_waiting(scan);
        drop_iterator(scan);
    }
}

static void
scan_free(embedded_scan *scan)
{
    kw_embedded_handle *handle = (kw_embedded_handle *)scan->base.handle;
    g_assert(!scan->rows && atomic_load(&handle->store->open_scans) > 0);
    end_waiting(scan);
    drop_iterator(scan);
    atomic_fetch_sub(&handle->store->open_scans, 1);
    kw_reader_clear(&scan->reader);
    kw_row_filter_clear(&scan->row_filter);
    kw_selection_clear(&scan->selection);
    if (scan->options)
        rocksdb_readoptions_destroy(scan->options);
    if (scan->found)
        g_array_free(scan->found, TRUE);
    kw_buffer_clear(&scan->lowest);
    kw_buffer_clear(&scan->highest);
    kw_buffer_clear(&scan->resume);
    kw_row_skipper_clear(&scan->row_skipper);
    kw_account *account = scan->spec.account;
    kw_prepared_unref(scan->spec.prepared);
    kw_arena_free(scan->arena);
    g_free(scan);
    kw_account_charge(account, KW_MEMORY_STORE, -SCAN_BYTES);
    kw_account_unref(account);
}

static void
complete_fetch(kw_task *task)
{
    embedded_scan *scan = scan_of_job((kw_pool_job *)task);
    kw_embedded_handle *handle = (kw_embedded_handle *)scan->base.handle;
    kw_rows *rows = scan->rows;
    scan->rows = NULL;
    if (atomic_load(&scan->closed)) {
        kw_rows_free(rows);
        scan_free(scan);
    } else {
        if (!rows)
            kw_metrics_add(KW_METRIC_store_errors, 1);
        begin_waiting(scan);
        kw_error error = scan->error; /* a copy, because the completion can free the scan */
        scan->done(scan->user, rows, rows ? NULL : &error);
    }
    kw_embedded_end_operation(handle);
}

kw_range_scan *
kw_embedded_open_range_scan(kw_store_handle *handle, const kw_range_scan_spec *spec)
{
    embedded_scan *scan = g_new0(embedded_scan, 1);
    scan->base.handle = handle;
    scan->job = (kw_pool_job){.task.run = complete_fetch, .work = work_fetch};
    scan->arena = kw_arena_new_for(spec->account, KW_MEMORY_STORE);
    scan->spec = *spec;
    scan->spec.account = kw_account_ref(spec->account);
    kw_account_charge(spec->account, KW_MEMORY_STORE, SCAN_BYTES);
    scan->spec.table = kw_arena_copy(scan->arena, spec->table);
    scan->spec.start = kw_arena_copy(scan->arena, spec->start);
    scan->spec.stop = kw_arena_copy(scan->arena, spec->stop);
    if (spec->prepared)
        kw_prepared_ref(spec->prepared);
    scan->spec.filter =
        spec->prepared ? kw_prepared_text(spec->prepared) : kw_arena_copy(scan->arena, spec->filter);
    scan->spec.patterns = kw_patterns_copy(&spec->patterns, scan->arena);
    kw_column *columns = KW_ARENA_ARRAY(scan->arena, kw_column, spec->columns_count);
    for (size_t i = 0; i < spec->columns_count; i++) {
        columns[i] = spec->columns[i];
        columns[i].family = kw_arena_copy(scan->arena, columns[i].family);
        if (!columns[i].whole_family)
            columns[i].qualifier = kw_arena_copy(scan->arena, columns[i].qualifier);
    }
    scan->spec.columns = columns;
    atomic_fetch_add(&((kw_embedded_handle *)handle)->store->open_scans, 1);
    return &scan->base;
}

void
kw_embedded_range_scan_fetch(kw_range_scan *base, uint32_t max_rows, size_t max_bytes, bool more_hint,
                             kw_deadline deadline, kw_get_done done, void *user)
{
    embedded_scan *scan = (embedded_scan *)base;
    g_assert(!atomic_load(&scan->closed) && !scan->rows);
    end_waiting(scan);
    scan->max_rows = max_rows;
    scan->max_bytes = max_bytes;
    scan->more_hint = more_hint;
    scan->deadline = deadline;
    scan->done = done;
    scan->user = user;
    scan->job.fair_item = (kw_fair_item){.account = scan->spec.account, .call = scan->spec.call};
    kw_embedded_queue_job((kw_embedded_handle *)base->handle, &scan->job, is_slow(scan));
}

void
kw_embedded_range_scan_close(kw_range_scan *base)
{
    embedded_scan *scan = (embedded_scan *)base;
    atomic_store(&scan->closed, true);
    if (!base->fetching)
        scan_free(scan);
}
