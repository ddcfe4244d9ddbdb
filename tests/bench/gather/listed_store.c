/* See listed_store.h. */
#include "listed_store.h"

#include "store/class.h"

#include <glib.h>

#define CELLS 3

typedef struct listed_store {
    kw_store base;
    const kw_bytes *keys;
    size_t count;
    kw_cell cells[CELLS];
} listed_store;

typedef struct listed_range_scan {
    kw_range_scan base;
    kw_task task;
    bool reversed;
    bool on_way;
    bool closed;
    size_t at; /* the remaining rows are at .. end-1 */
    size_t end;
    kw_rows *rows;
    kw_get_done done;
    void *user;
} listed_range_scan;

static size_t
lower_bound(const listed_store *store, kw_bytes key)
{
    size_t low = 0, high = store->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (kw_bytes_compare(store->keys[middle], key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static kw_range_scan *
listed_open_range_scan(kw_store_handle *handle, const kw_range_scan_spec *spec)
{
    const listed_store *store = (const listed_store *)handle->store;
    listed_range_scan *run = g_new0(listed_range_scan, 1);
    run->base.handle = handle;
    run->reversed = spec->reversed;
    run->at = lower_bound(store, spec->start);
    run->end = spec->stop.size ? lower_bound(store, spec->stop) : store->count;
    return &run->base;
}

static void
report_rows(kw_task *task)
{
    listed_range_scan *run = (listed_range_scan *)(void *)((char *)task - offsetof(listed_range_scan, task));
    kw_rows *rows = run->rows;
    run->on_way = false;
    if (run->closed) {
        kw_rows_free(rows);
        g_free(run);
        return;
    }
    run->done(run->user, rows, NULL);
}

static void
copy_row(const listed_store *store, kw_bytes key, kw_rows *rows, kw_row *row)
{
    row->key = kw_arena_copy(rows->arena, key);
    row->cells = kw_arena_alloc(rows->arena, sizeof store->cells);
    row->cells_count = CELLS;
    rows->bytes += key.size;
    for (size_t i = 0; i < CELLS; i++) {
        row->cells[i] = store->cells[i];
        row->cells[i].value = kw_arena_copy(rows->arena, store->cells[i].value);
        rows->bytes += store->cells[i].value.size + store->cells[i].qualifier.size;
    }
}

static void
listed_range_scan_fetch(kw_range_scan *base, uint32_t max_rows, size_t max_bytes, bool more_hint,
                        kw_deadline deadline, kw_get_done done, void *user)
{
    listed_range_scan *run = (listed_range_scan *)base;
    const listed_store *store = (const listed_store *)base->handle->store;
    (void)more_hint;
    (void)deadline;
    size_t most = MIN((size_t)max_rows, run->end - run->at);
    kw_rows *rows = kw_rows_new();
    rows->rows = KW_ARENA_ARRAY(rows->arena, kw_row, most);
    for (; rows->count < most && rows->bytes < max_bytes; rows->count++)
        copy_row(store, store->keys[run->reversed ? --run->end : run->at++], rows, &rows->rows[rows->count]);
    rows->scanned = rows->count;
    rows->end = run->at == run->end;
    run->rows = rows;
    run->done = done;
    run->user = user;
    run->on_way = true;
    run->task.run = report_rows;
    kw_loop_post(base->handle->loop, &run->task);
}

static void
listed_range_scan_close(kw_range_scan *base)
{
    listed_range_scan *run = (listed_range_scan *)base;
    run->closed = true;
    if (!run->on_way)
        g_free(run);
}

typedef struct closing {
    kw_task task;
    void (*closed)(void *user);
    void *user;
} closing;

static void
report_closed(kw_task *task)
{
    closing *what = (closing *)(void *)task;
    what->closed(what->user);
    g_free(what);
}

static void
listed_close(kw_store_handle *handle, void (*closed)(void *user), void *user)
{
    closing *what = g_new0(closing, 1);
    *what = (closing){.task.run = report_closed, .closed = closed, .user = user};
    kw_loop_post(handle->loop, &what->task);
}

static const kw_store_handle_class handle_class = {.open_range_scan = listed_open_range_scan,
                                                   .range_scan_fetch = listed_range_scan_fetch,
                                                   .range_scan_close = listed_range_scan_close,
                                                   .close = listed_close};

static kw_store_handle *
listed_open_handle(kw_store *store, kw_loop *loop)
{
    kw_store_handle *handle = g_new0(kw_store_handle, 1);
    *handle = (kw_store_handle){.class = &handle_class, .store = store, .loop = loop};
    return handle;
}

static void
listed_free(kw_store *store)
{
    g_free(store);
}

static const kw_store_class store_class = {
    .name = "listed", .open_handle = listed_open_handle, .free = listed_free};

kw_store *
listed_store_new(const kw_bytes *keys, size_t count, const char *const *qualifiers)
{
    static const char value[101] =
        "a value of one hundred bytes ......................................................"
        ".................";
    listed_store *store = g_new0(listed_store, 1);
    store->base.class = &store_class;
    store->keys = keys;
    store->count = count;
    for (size_t i = 0; i < CELLS; i++)
        store->cells[i] =
            (kw_cell){KW_BYTES_LITERAL("d"), kw_bytes_of_text(qualifiers[i]), kw_bytes_of(value, 100), 1};
    return &store->base;
}
