/* Runs: a fetch is a job for a reader thread.
 *
 * An iterator sees the store as it was when it was made. It is kept between fetches while the caller says
 * that more will come, and made anew after ITERATOR_LIFE_MS, so that a slow reader does not pin old data; a
 * run without one goes on with a seek behind the last row. Either way each row is consistent in itself.
 */
#include "base/metrics.h"
#include "base/shortage.h"
#include "store/check.h"
#include "store/embedded/embedded_internal.h"
#include "store/embedded/reader.h"
#include "store/embedded/row_filter.h"

#define ITERATOR_LIFE_MS 10000
/* After so many rows, or bytes, a fetch looks at the clock and at who else waits. */
#define ROWS_PER_LOOK 64
#define BYTES_PER_LOOK ((size_t)64 * 1024)
/* Rows that one fetch looks at for a filter before it tells what it has: readers are shared. */
#define ROWS_SIFTED_MOST 20000
/* So many bytes are enough for a fetch while memory is short, or others wait. */
#define SHORT_FETCH_BYTES ((size_t)64 * 1024)
/* What a run holds besides its arena, and an iterator that is kept, about. */
#define RUN_BYTES ((int64_t)2 * 1024)
#define ITERATOR_BYTES ((int64_t)32 * 1024)
#define SIFTED_MOST_NS ((uint64_t)20 * 1000 * 1000)

typedef struct embedded_run {
    kw_range_scan base;
    kw_job job;
    kw_arena *arena; /* of the spec's copy */
    kw_range_scan_spec spec;
    _Atomic bool closed;

    kw_selection selection; /* since the first fetch */
    rocksdb_readoptions_t *options;
    rocksdb_iterator_t *at; /* NULL: to be made */
    kw_deadline at_until;
    kw_reader reader;
    kw_row_filter row_filter;
    kw_buffer lowest, highest; /* the range as keys: inclusive, exclusive */
    kw_buffer key, step;       /* for filtering by patterns */
    kw_buffer resume;          /* row prefix of the row to go on with; empty: from the range's start */
    GArray *found;             /* kw_row, of the present fetch */
    kw_effort effort;          /* of the present fetch */
    uint64_t began_ns;
    bool at_end;
    bool late;             /* the present fetch ended with its deadline */
    size_t unlooked_bytes; /* read since the fetch looked at the clock */

    uint32_t max_rows; /* the present fetch */
    size_t max_bytes;
    bool more_hint;
    kw_deadline deadline;
    kw_get_done done;
    void *user;
    kw_rows *rows;
    kw_error error;
} embedded_run;

static bool
is_given_up(void *user)
{
    const embedded_run *run = user;
    const kw_embedded_handle *handle = (const kw_embedded_handle *)run->base.handle;
    return atomic_load_explicit(&run->closed, memory_order_relaxed) ||
           atomic_load_explicit(&handle->closing, memory_order_relaxed);
}

static embedded_run *
run_of_job(kw_job *job)
{
    return (embedded_run *)(void *)((char *)job - offsetof(embedded_run, job));
}

/* --- on a reader ---------------------------------------------------------------------------------- */

static void
drop_iterator(embedded_run *run)
{
    if (!run->at)
        return;
    rocksdb_iter_destroy(run->at);
    kw_account_charge(run->spec.account, KW_MEMORY_STORE, -ITERATOR_BYTES);
    run->at = NULL;
}

static void
set_range(embedded_run *run)
{
    uint32_t table = run->selection.table->id;
    kw_key_row(&run->lowest, table, run->spec.start);
    if (run->spec.stop.size) {
        kw_key_row(&run->highest, table, run->spec.stop);
    } else {
        kw_be32_store(kw_buffer_reserve(&run->highest, 4), table + 1);
        run->highest.size = 4;
    }
    run->at_end = kw_bytes_compare(kw_buffer_bytes(&run->lowest), kw_buffer_bytes(&run->highest)) >= 0;
    run->options = rocksdb_readoptions_create();
    rocksdb_readoptions_set_verify_checksums(run->options, 1);
    rocksdb_readoptions_set_total_order_seek(run->options, 1);
    rocksdb_readoptions_set_background_purge_on_iterator_cleanup(run->options, 1);
    rocksdb_readoptions_set_fill_cache(run->options, !run->spec.keep_blocks_out_of_cache);
    rocksdb_readoptions_set_iterate_lower_bound(run->options, (const char *)run->lowest.data,
                                                run->lowest.size);
    rocksdb_readoptions_set_iterate_upper_bound(run->options, (const char *)run->highest.data,
                                                run->highest.size);
}

static bool
begin(embedded_run *run)
{
    kw_embedded *store = ((kw_embedded_handle *)run->base.handle)->store;
    const kw_range_scan_spec *spec = &run->spec;
    kw_asked asked = {.table = spec->table,
                      .columns = spec->columns,
                      .columns_count = spec->columns_count,
                      .max_versions = spec->max_versions,
                      .time_from = spec->time_from,
                      .time_to = spec->time_to,
                      .filter = spec->filter,
                      .prepared = spec->prepared};
    if (!kw_row_filter_init(&run->row_filter, &asked, spec->reversed, &run->effort, &run->error))
        return false;
    if (!kw_selection_init(&run->selection, store->catalog, &asked, &run->error)) {
        kw_row_filter_clear(&run->row_filter);
        return false;
    }
    kw_reader_init(&run->reader, NULL, &run->selection);
    run->reader.view.most =
        kw_embedded_row_bytes(spec->account, spec->max_row_bytes, kw_row_filter_filters(&run->row_filter));
    run->reader.effort = &run->effort;
    run->found = g_array_new(FALSE, FALSE, sizeof(kw_row));
    set_range(run);
    return true;
}

/* The table may have been dropped, and made again, since the last fetch. */
static bool
check_table(embedded_run *run)
{
    kw_embedded *store = ((kw_embedded_handle *)run->base.handle)->store;
    g_autoptr(kw_stored_table) table = kw_embedded_tables_find(store->catalog, run->spec.table);
    if (table != run->selection.table)
        return kw_unknown_table(run->spec.table, &run->error);
    return true;
}

/* Forward to the first entry of the row to go on with, backward to its last. */
static void
place_iterator(embedded_run *run)
{
    rocksdb_t *db = ((kw_embedded_handle *)run->base.handle)->store->engine.db;
    run->at = run->reader.at = rocksdb_create_iterator(db, run->options);
    kw_account_charge(run->spec.account, KW_MEMORY_STORE, ITERATOR_BYTES);
    run->at_until = kw_deadline_in_ms(ITERATOR_LIFE_MS);
    const kw_buffer *from = run->resume.size     ? &run->resume
                            : run->spec.reversed ? &run->highest
                                                 : &run->lowest;
    if (!run->spec.reversed) {
        rocksdb_iter_seek(run->at, (const char *)from->data, from->size);
        return;
    }
    if (run->resume.size)
        kw_key_row_after(run->resume.data, run->resume.size);
    rocksdb_iter_seek_for_prev(run->at, (const char *)from->data, from->size);
}

static void
remember_place(embedded_run *run)
{
    kw_bytes key = kw_engine_key(run->at);
    run->resume.size = 0;
    kw_buffer_append(&run->resume, kw_bytes_of(key.data, kw_key_row_size(key)));
}

/* Memory is short, or somebody who holds little waits for a reader: the rest is fetched later. */
static bool
makes_way(const embedded_run *run)
{
    const kw_embedded *store = ((const kw_embedded_handle *)run->base.handle)->store;
    return kw_budget_pressure(run->spec.account) != KW_PRESSURE_NONE ||
           kw_pool_is_wanted(store->pool, run->spec.account);
}

static bool
is_slow(const embedded_run *run)
{
    return run->spec.prepared && kw_prepared_is_slow(run->spec.prepared);
}

static bool
should_stop(embedded_run *run)
{
    if (is_given_up(run))
        return true;
    run->unlooked_bytes += run->reader.view.bytes;
    if (run->rows->scanned % ROWS_PER_LOOK != 0 && run->unlooked_bytes < BYTES_PER_LOOK && !is_slow(run))
        return false;
    run->unlooked_bytes = 0;
    run->late = kw_deadline_passed(run->deadline);
    if (run->rows->bytes >= SHORT_FETCH_BYTES && makes_way(run))
        return true;
    bool sifts = kw_row_filter_filters(&run->row_filter) || run->spec.patterns.count;
    return run->late || (sifts && (run->rows->scanned >= ROWS_SIFTED_MOST ||
                                   kw_clock_mono_ns() - run->began_ns >= SIFTED_MOST_NS));
}

/* False: there is nothing to see of the row, or it is too large. */
static bool
read_row(embedded_run *run, kw_row *ret_row)
{
    *ret_row = (kw_row){0};
    return run->spec.reversed ? kw_reader_backward(&run->reader, ret_row)
                              : kw_reader_forward(&run->reader, ret_row);
}

static bool
fail_large(embedded_run *run, size_t most)
{
    return kw_error_set(&run->error, KW_LIMIT,
                        "table %s: a row has more than %zu bytes, the most that is read of one "
                        "(limits.frame); choose columns",
                        kw_show(run->spec.table).text, most);
}

/* False: the filter failed. */
static bool
take_filtered(embedded_run *run)
{
    kw_row row, kept = {0};
    size_t before = run->rows->bytes, most = run->spec.max_row_bytes;
    kw_row_filter_begin(&run->row_filter, &run->reader.view);
    if (!read_row(run, &row))
        return !run->reader.view.too_large || fail_large(run, run->reader.view.most);
    if (run->effort.over)
        return true;
    switch (kw_row_filter_row(&run->row_filter, &row, run->rows, &kept, &run->error)) {
    case KW_FILTER_ROW_KEPT:
        if (most > 0 && run->rows->bytes - before > most)
            return fail_large(run, most);
        g_array_append_val(run->found, kept);
        return true;
    case KW_FILTER_ROW_DROPPED:
        return true;
    case KW_FILTER_ROW_FAILED:
        break;
    }
    return false;
}

static bool
take_row(embedded_run *run)
{
    kw_row row;
    if (kw_row_filter_filters(&run->row_filter))
        return take_filtered(run);
    if (read_row(run, &row) && !run->effort.over) {
        g_array_append_val(run->found, row);
        run->rows->bytes += run->reader.view.bytes;
    }
    return !run->reader.view.too_large || fail_large(run, run->reader.view.most);
}

/* --- patterns: rows that are left out unread ------------------------------------------------------ */

/* Entries that are stepped over before a seek. */
#define STEPS_BEFORE_SEEK 16

/* Does the row at hand match the patterns? run->key is its key then. */
static bool
is_of_form(embedded_run *run)
{
    if (run->spec.patterns.count == 0)
        return true;
    kw_bytes key = kw_engine_key(run->at);
    kw_bytes escaped = kw_key_row_escaped(kw_bytes_of(key.data, kw_key_row_size(key)));
    run->key.size = 0;
    kw_key_unescape(kw_buffer_reserve(&run->key, escaped.size), escaped);
    run->key.size = kw_key_unescaped_size(escaped);
    return kw_patterns_match(&run->spec.patterns, kw_buffer_bytes(&run->key));
}

/* The least key behind all that begin with `bytes`; false: there is none. */
static bool
step_behind(kw_buffer *bytes)
{
    while (bytes->size && bytes->data[bytes->size - 1] == 0xff)
        bytes->size--;
    if (bytes->size)
        bytes->data[bytes->size - 1]++;
    return bytes->size > 0;
}

/* run->step: a key of the database behind which the next row that can match lies (or with which it begins);
 * reversed: before which. False: there is no such row. */
static bool
find_step(embedded_run *run)
{
    bool reversed = run->spec.reversed;
    if (!kw_patterns_next(&run->spec.patterns, kw_buffer_bytes(&run->key), reversed, &run->step))
        return false;
    run->key.size = 0;
    if (!reversed || step_behind(&run->step)) {
        kw_key_row(&run->key, run->selection.table->id, kw_buffer_bytes(&run->step));
    } else { /* nothing lies between: the row's neighbour */
        kw_bytes present = kw_engine_key(run->at);
        kw_buffer_append(&run->key, kw_bytes_of(present.data, kw_key_row_size(present)));
    }
    return true;
}

static bool
has_arrived(const embedded_run *run)
{
    int order = kw_bytes_compare(kw_engine_key(run->at), kw_buffer_bytes(&run->key));
    return run->spec.reversed ? order < 0 : order >= 0;
}

/* The row at hand does not match: to the next that can, or to the end. A few steps are cheaper than a seek.
 */
static void
step_over(embedded_run *run)
{
    if (!find_step(run)) {
        rocksdb_iter_seek(run->at, (const char *)run->highest.data, run->highest.size);
        return;
    }
    for (int i = 0; i < STEPS_BEFORE_SEEK && rocksdb_iter_valid(run->at); i++) {
        if (has_arrived(run))
            return;
        (run->spec.reversed ? rocksdb_iter_prev : rocksdb_iter_next)(run->at);
    }
    if (!rocksdb_iter_valid(run->at) || has_arrived(run))
        return;
    if (run->spec.reversed)
        rocksdb_iter_seek_for_prev(run->at, (const char *)run->key.data, run->key.size);
    else
        rocksdb_iter_seek(run->at, (const char *)run->key.data, run->key.size);
}

/* -------------------------------------------------------------------------------------------------- */

/* There was no time for the whole row: it is read from its start the next time. */
static void
leave_row_for_later(embedded_run *run)
{
    run->late = true;
    run->resume.size = 0;
    kw_buffer_append(&run->resume, kw_reader_row(&run->reader));
    drop_iterator(run);
}

static bool
collect(embedded_run *run)
{
    kw_rows *rows = run->rows;
    bool done = false;
    g_array_set_size(run->found, 0);
    while (!done && rocksdb_iter_valid(run->at) && run->found->len < run->max_rows &&
           rows->bytes < run->max_bytes) {
        rows->scanned++;
        if (!is_of_form(run))
            step_over(run);
        else if (!take_row(run))
            return false;
        done = kw_row_filter_filters(&run->row_filter) && kw_filter_machine_done(run->row_filter.machine);
        if (run->effort.over) {
            leave_row_for_later(run);
            return true;
        }
        if (should_stop(run))
            break;
    }
    run->at_end = done || !rocksdb_iter_valid(run->at);
    return kw_engine_iterator_good(run->at, &run->error);
}

static void
keep_found(embedded_run *run)
{
    kw_rows *rows = run->rows;
    size_t size = run->found->len * sizeof(kw_row);
    rows->rows = kw_arena_alloc(rows->arena, size);
    if (size)
        memcpy(rows->rows, run->found->data, size);
    rows->count = run->found->len;
}

/* Rows that were found before the deadline passed are given. */
static bool
fetch(embedded_run *run)
{
    if (!kw_embedded_check_deadline(run->deadline, "the rows were read", &run->error) ||
        !kw_shortage_check(run->spec.account, &run->error))
        return false;
    run->effort = (kw_effort){.deadline = run->deadline, .is_cancelled = is_given_up, .user = run};
    if (run->selection.table ? !check_table(run) : !begin(run))
        return false;
    run->rows = kw_rows_new_for(run->spec.account);
    run->late = false;
    run->began_ns = kw_clock_mono_ns();
    kw_version_filter_direct(&run->reader.view, run->rows);
    if (!run->at_end) {
        kw_selection_refresh(&run->selection);
        if (run->at && kw_deadline_passed(run->at_until))
            drop_iterator(run);
        if (!run->at)
            place_iterator(run);
        if (!collect(run))
            return false;
        keep_found(run);
        if (!run->at_end && run->at)
            remember_place(run);
    }
    run->rows->end = run->at_end;
    if (run->late && !run->at_end && run->rows->count == 0)
        return kw_error_set(&run->error, KW_TIMEOUT, "the deadline passed while a range was read");
    return true;
}

static void
work_fetch(kw_job *job)
{
    embedded_run *run = run_of_job(job);
    if (!fetch(run)) {
        kw_rows_free(run->rows);
        run->rows = NULL;
        drop_iterator(run);
    } else if (run->at_end || !run->more_hint || kw_budget_pressure(run->spec.account) != KW_PRESSURE_NONE) {
        drop_iterator(run);
    }
    kw_loop_post(run->base.handle->loop, &run->job.task);
}

/* --- on the loop ---------------------------------------------------------------------------------- */

static void
run_free(embedded_run *run)
{
    kw_embedded_handle *handle = (kw_embedded_handle *)run->base.handle;
    drop_iterator(run);
    atomic_fetch_sub(&handle->store->runs_open, 1);
    kw_reader_clear(&run->reader);
    kw_row_filter_clear(&run->row_filter);
    kw_selection_clear(&run->selection);
    if (run->options)
        rocksdb_readoptions_destroy(run->options);
    if (run->found)
        g_array_free(run->found, TRUE);
    kw_buffer_clear(&run->lowest);
    kw_buffer_clear(&run->highest);
    kw_buffer_clear(&run->resume);
    kw_buffer_clear(&run->key);
    kw_buffer_clear(&run->step);
    kw_account *account = run->spec.account;
    kw_prepared_unref(run->spec.prepared);
    kw_arena_free(run->arena);
    g_free(run);
    kw_account_charge(account, KW_MEMORY_STORE, -RUN_BYTES);
    kw_account_unref(account);
    handle->runs--;
    kw_embedded_handle_settle(handle);
}

static void
tell_fetch(kw_task *task)
{
    embedded_run *run = run_of_job((kw_job *)task);
    kw_embedded_handle *handle = (kw_embedded_handle *)run->base.handle;
    kw_rows *rows = run->rows;
    run->rows = NULL;
    if (atomic_load(&run->closed)) {
        kw_rows_free(rows);
        run_free(run);
    } else {
        if (!rows)
            kw_metrics_add(KW_METRIC_store_errors, 1);
        kw_error error = run->error; /* the run may be closed by its owner now */
        run->done(run->user, rows, rows ? NULL : &error);
    }
    kw_embedded_end(handle);
}

kw_range_scan *
kw_embedded_open_range_scan(kw_store_handle *handle, const kw_range_scan_spec *spec)
{
    embedded_run *run = g_new0(embedded_run, 1);
    run->base.handle = handle;
    run->job = (kw_job){.task.run = tell_fetch, .work = work_fetch};
    run->arena = kw_arena_new_for(spec->account, KW_MEMORY_STORE);
    run->spec = *spec;
    run->spec.account = kw_account_ref(spec->account);
    kw_account_charge(spec->account, KW_MEMORY_STORE, RUN_BYTES);
    run->spec.table = kw_arena_copy(run->arena, spec->table);
    run->spec.start = kw_arena_copy(run->arena, spec->start);
    run->spec.stop = kw_arena_copy(run->arena, spec->stop);
    if (spec->prepared)
        kw_prepared_ref(spec->prepared);
    run->spec.filter =
        spec->prepared ? kw_prepared_text(spec->prepared) : kw_arena_copy(run->arena, spec->filter);
    run->spec.patterns = kw_patterns_copy(&spec->patterns, run->arena);
    kw_column *columns = KW_ARENA_ARRAY(run->arena, kw_column, spec->columns_count);
    for (size_t i = 0; i < spec->columns_count; i++) {
        columns[i] = spec->columns[i];
        columns[i].family = kw_arena_copy(run->arena, columns[i].family);
        if (!columns[i].whole_family)
            columns[i].qualifier = kw_arena_copy(run->arena, columns[i].qualifier);
    }
    run->spec.columns = columns;
    ((kw_embedded_handle *)handle)->runs++;
    atomic_fetch_add(&((kw_embedded_handle *)handle)->store->runs_open, 1);
    return &run->base;
}

void
kw_embedded_range_scan_fetch(kw_range_scan *base, uint32_t max_rows, size_t max_bytes, bool more_hint,
                             kw_deadline deadline, kw_get_done done, void *user)
{
    embedded_run *run = (embedded_run *)base;
    run->max_rows = max_rows;
    run->max_bytes = max_bytes;
    run->more_hint = more_hint;
    run->deadline = deadline;
    run->done = done;
    run->user = user;
    run->job.turn = (kw_fair_item){.account = run->spec.account, .call = run->spec.call};
    kw_embedded_queue_job((kw_embedded_handle *)base->handle, &run->job, is_slow(run));
}

void
kw_embedded_range_scan_close(kw_range_scan *base)
{
    embedded_run *run = (embedded_run *)base;
    atomic_store(&run->closed, true);
    if (!base->fetching)
        run_free(run);
}
