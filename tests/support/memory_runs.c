/* Range scans of the memory store. Each fetch looks up the row after the last one by its key. */
#include "support/memory_internal.h"

void
memory_free_range_scan(memory_range_scan *run)
{
    memory_drop(run->spec.table);
    memory_drop(run->spec.start);
    memory_drop(run->spec.stop);
    kw_filter_machine_free(run->machine);
    kw_arena_free(run->arena);
    memory_drop(run->at);
    for (size_t i = 0; i < run->spec.columns_count; i++) {
        memory_drop(run->columns[i].family);
        memory_drop(run->columns[i].qualifier);
    }
    g_free(run->columns);
    kw_account_unref(run->spec.account);
    g_free(run);
}

kw_range_scan *
memory_open_range_scan(kw_store_handle *handle, const kw_range_scan_spec *spec)
{
    memory_range_scan *run = g_new0(memory_range_scan, 1);
    run->base.handle = handle;
    run->spec = *spec;
    run->spec.account = kw_account_ref(spec->account);
    run->spec.table = memory_copy(spec->table);
    run->spec.start = memory_copy(spec->start);
    run->spec.stop = memory_copy(spec->stop);
    run->arena = kw_arena_new();
    run->spec.patterns = kw_patterns_copy(&spec->patterns, run->arena);
    if (spec->filter.size) {
        kw_error error;
        run->machine =
            kw_filter_machine_new(kw_filter_parse(spec->filter, run->arena, &error), spec->reversed, &error);
    }
    run->columns = g_new0(kw_column, spec->columns_count);
    run->spec.columns = run->columns;
    for (size_t i = 0; i < spec->columns_count; i++) {
        run->columns[i] = spec->columns[i];
        run->columns[i].family = memory_copy(spec->columns[i].family);
        run->columns[i].qualifier = memory_copy(spec->columns[i].qualifier);
    }
    memory_store_of(handle)->control.runs_open++;
    return &run->base;
}

/* The position of the next row, or -1 at the end. */
static gint64
next_place(const memory_store *store, const memory_range_scan *run)
{
    const kw_range_scan_spec *spec = &run->spec;
    gint64 place;
    if (!spec->reversed) {
        place = memory_lower_bound(store, spec->table, run->has_at ? run->at : spec->start);
        if (run->has_at && place < store->rows->len &&
            memory_compare_place(store->rows->pdata[place], spec->table, run->at) == 0)
            place++;
    } else {
        kw_bytes stop = run->has_at ? run->at : spec->stop;
        static const uint8_t beyond[2] = {0, 0};
        place = memory_lower_bound(store, spec->table, stop);
        if (!run->has_at && stop.size == 0) {
            kw_buffer next = KW_BUFFER_EMPTY;
            kw_buffer_append(&next, spec->table);
            kw_buffer_append(&next, kw_bytes_of(beyond, 1));
            place = memory_lower_bound(store, kw_buffer_bytes(&next), KW_BYTES_NONE);
            kw_buffer_clear(&next);
        }
        place--;
    }
    if (place < 0 || place >= store->rows->len)
        return -1;
    const memory_row *found = store->rows->pdata[place];
    if (!kw_bytes_equal(found->table, spec->table) || kw_bytes_compare(found->key, spec->start) < 0)
        return -1;
    return spec->stop.size && kw_bytes_compare(found->key, spec->stop) >= 0 ? -1 : place;
}

/* True if the filter keeps any cell of the row. */
static bool
passes(memory_range_scan *run, kw_row *row)
{
    if (!kw_patterns_match(&run->spec.patterns, row->key))
        return false;
    if (!run->machine)
        return true;
    size_t count = row->cells_count;
    kw_error error;
    kw_filter_verdict verdict = kw_filter_machine_row(run->machine, row->key, row->cells, &count, 1, &error);
    g_assert(verdict != KW_FILTER_ROW_FAILED);
    row->cells_count = (uint32_t)count;
    return verdict == KW_FILTER_ROW_KEPT;
}

static kw_row *
more_rows(const kw_rows *rows, size_t *capacity)
{
    *capacity = *capacity ? 2 * *capacity : 8;
    kw_row *grown = KW_ARENA_ARRAY(rows->arena, kw_row, *capacity);
    if (rows->count)
        memcpy(grown, rows->rows, rows->count * sizeof(kw_row));
    return grown;
}

void
memory_range_scan_fetch(kw_range_scan *base, uint32_t max_rows, size_t max_bytes, bool more_hint,
                        kw_deadline deadline, kw_get_done done, void *user)
{
    memory_range_scan *run = (memory_range_scan *)base;
    memory_store *store = memory_store_of(base->handle);
    (void)more_hint;
    memory_answer *what = memory_start(base->handle, ANSWER_GET, (void (*)(void))done, user);
    what->run = run;
    run->on_way = true;
    memory_note_reads(base->handle);
    store->control.fetches++;
    if (!what->failed && kw_deadline_passed(deadline)) {
        what->failed = true;
        kw_error_set(&what->error, KW_TIMEOUT, "the deadline passed");
    }
    if (what->failed)
        return;
    kw_rows *rows = what->rows = kw_rows_new_for(run->spec.account);
    size_t capacity = 0;
    gint64 place = 0;
    if (store->control.wide_fetches)
        max_bytes = SIZE_MAX;
    while (rows->scanned < max_rows && rows->bytes < max_bytes && (place = next_place(store, run)) >= 0) {
        const memory_row *found = store->rows->pdata[place];
        memory_drop(run->at);
        run->at = memory_copy(found->key);
        run->has_at = true;
        rows->scanned++;
        if (rows->count == capacity)
            rows->rows = more_rows(rows, &capacity);
        kw_row *row = &rows->rows[rows->count];
        *row = (kw_row){0};
        if (memory_read_row(found, run->spec.columns, run->spec.columns_count, rows, row) &&
            memory_limit_times(run->spec.time_from, run->spec.time_to, row) && passes(run, row))
            rows->count++;
    }
    store->control.rows_read += rows->scanned;
    store->control.rows_given += rows->count;
    store->control.bytes_read += rows->bytes;
    store->control.most_bytes_read = MAX(store->control.most_bytes_read, rows->bytes);
    rows->end = store->control.late_end ? rows->scanned == 0 : next_place(store, run) < 0;
}

void
memory_range_scan_close(kw_range_scan *base)
{
    memory_range_scan *run = (memory_range_scan *)base;
    memory_store_of(base->handle)->control.runs_open--;
    run->closed = true;
    if (!run->on_way)
        memory_free_range_scan(run);
}
