/* Row i of range r has the suffix i * STEP + scatter(i, r), so any place can be found without a search. */
#include "synthetic_store.h"

#include "store/class.h"

#include <glib.h>

#define STEP UINT64_C(1000)
#define KEY_SIZE 10

struct synthetic_store {
    kw_store base;
    kw_store_handle handle;
    uint64_t rows_per_range;
    uint32_t cells_per_row;
    bool copies;
    kw_cell cells[8];
};

typedef struct synthetic_range_scan {
    kw_range_scan base;
    kw_task task;
    uint32_t range;
    bool reversed;
    bool on_way;
    bool closed;
    uint64_t at; /* the remaining rows are at .. end-1 */
    uint64_t end;
    kw_rows *rows;
    kw_get_done done;
    void *user;
} synthetic_range_scan;

static synthetic_store *
store_of(const kw_store_handle *handle)
{
    return (synthetic_store *)handle->store;
}

static uint64_t
suffix_of(uint32_t range, uint64_t row)
{
    uint64_t bits = (row + 1) * UINT64_C(0x9e3779b97f4a7c15) ^ (range + 1) * UINT64_C(0xbf58476d1ce4e5b9);
    bits ^= bits >> 29;
    bits *= UINT64_C(0x94d049bb133111eb);
    return row * STEP + (bits >> 32) % STEP;
}

/* The first row whose key is at or after the bound; `none` for a bound without a suffix. */
static uint64_t
row_at(const synthetic_store *store, uint32_t range, kw_bytes bound, uint64_t none)
{
    if (bound.size < KEY_SIZE)
        return none;
    uint64_t suffix = kw_be64_load(bound.data + 2);
    uint64_t row = suffix / STEP;
    bool beyond =
        suffix_of(range, row) < suffix || (suffix_of(range, row) == suffix && bound.size > KEY_SIZE);
    return MIN(row + beyond, store->rows_per_range);
}

static kw_range_scan *
synthetic_open_range_scan(kw_store_handle *handle, const kw_range_scan_spec *spec)
{
    const synthetic_store *store = store_of(handle);
    synthetic_range_scan *run = g_new0(synthetic_range_scan, 1);
    run->base.handle = handle;
    run->range = kw_be16_load(spec->start.data);
    run->reversed = spec->reversed;
    run->at = row_at(store, run->range, spec->start, 0);
    run->end = row_at(store, run->range, spec->stop, store->rows_per_range);
    return &run->base;
}

static void
report_rows(kw_task *task)
{
    synthetic_range_scan *run =
        (synthetic_range_scan *)(void *)((char *)task - offsetof(synthetic_range_scan, task));
    kw_rows *rows = run->rows;
    run->on_way = false;
    run->rows = NULL;
    if (run->closed) {
        kw_rows_free(rows);
        g_free(run);
        return;
    }
    run->done(run->user, rows, NULL);
}

static kw_cell *
copy_cells(const synthetic_store *store, kw_arena *arena)
{
    kw_cell *cells = kw_arena_alloc(arena, store->cells_per_row * sizeof(kw_cell));
    for (uint32_t i = 0; i < store->cells_per_row; i++) {
        cells[i] = store->cells[i];
        cells[i].value = kw_arena_copy(arena, store->cells[i].value);
    }
    return cells;
}

static void
synthetic_range_scan_fetch(kw_range_scan *base, uint32_t max_rows, size_t max_bytes, bool more_hint,
                           kw_deadline deadline, kw_get_done done, void *user)
{
    synthetic_range_scan *run = (synthetic_range_scan *)base;
    synthetic_store *store = store_of(base->handle);
    (void)more_hint;
    (void)deadline;
    size_t row_bytes = KEY_SIZE + store->cells_per_row * (store->cells[0].value.size + 1);
    uint64_t count = MIN(MIN((uint64_t)max_rows, max_bytes / row_bytes + 1), run->end - run->at);
    kw_rows *rows = kw_rows_new();
    rows->rows = kw_arena_alloc(rows->arena, count * sizeof(kw_row));
    uint8_t *keys = kw_arena_alloc(rows->arena, count * KEY_SIZE);
    for (uint64_t i = 0; i < count; i++, keys += KEY_SIZE) {
        uint64_t row = run->reversed ? --run->end : run->at++;
        kw_be16_store(keys, (uint16_t)run->range);
        kw_be64_store(keys + 2, suffix_of(run->range, row));
        rows->rows[i] = (kw_row){.key = kw_bytes_of(keys, KEY_SIZE),
                                 .cells = store->copies ? copy_cells(store, rows->arena) : store->cells,
                                 .cells_count = store->cells_per_row};
    }
    rows->count = count;
    rows->scanned = count;
    rows->bytes = count * row_bytes;
    rows->end = run->at == run->end;
    run->rows = rows;
    run->done = done;
    run->user = user;
    run->on_way = true;
    run->task.run = report_rows;
    kw_loop_post(base->handle->loop, &run->task);
}

static void
synthetic_range_scan_close(kw_range_scan *base)
{
    synthetic_range_scan *run = (synthetic_range_scan *)base;
    run->closed = true;
    if (!run->on_way)
        g_free(run);
}

static const kw_store_handle_class handle_class = {.open_range_scan = synthetic_open_range_scan,
                                                   .range_scan_fetch = synthetic_range_scan_fetch,
                                                   .range_scan_close = synthetic_range_scan_close};

synthetic_store *
synthetic_store_new(kw_loop *loop, uint64_t rows_per_range, uint32_t cells_per_row, bool copies)
{
    static const char value[100] = "a value of a hundred bytes, most of them zero";
    static const uint8_t names[] = "abcdefgh";
    synthetic_store *store = g_new0(synthetic_store, 1);
    g_assert(cells_per_row <= G_N_ELEMENTS(store->cells));
    store->handle = (kw_store_handle){.class = &handle_class, .store = &store->base, .loop = loop};
    store->rows_per_range = rows_per_range;
    store->cells_per_row = cells_per_row;
    store->copies = copies;
    for (size_t i = 0; i < cells_per_row; i++)
        store->cells[i] =
            (kw_cell){KW_BYTES_LITERAL("d"), kw_bytes_of(names + i, 1), kw_bytes_of(value, 100), 1};
    return store;
}

void
synthetic_store_free(synthetic_store *store)
{
    g_free(store);
}

kw_store_handle *
synthetic_store_handle(synthetic_store *store)
{
    return &store->handle;
}

const kw_plan *
synthetic_store_plan(uint32_t ranges, bool reversed, kw_arena *arena)
{
    kw_plan *plan = KW_ARENA_NEW(arena, kw_plan);
    kw_path *path = KW_ARENA_NEW(arena, kw_path);
    kw_placement *placement = KW_ARENA_NEW(arena, kw_placement);
    kw_merge_group *group = KW_ARENA_NEW(arena, kw_merge_group);
    kw_range *made = KW_ARENA_ARRAY(arena, kw_range, ranges);
    for (uint32_t i = 0; i < ranges; i++) {
        uint8_t *bounds = kw_arena_alloc(arena, 4);
        kw_be16_store(bounds, (uint16_t)i);
        kw_be16_store(bounds + 2, (uint16_t)(i + 1));
        made[i] = (kw_range){.placement = placement,
                             .start = kw_bytes_of(bounds, 2),
                             .stop = kw_bytes_of(bounds + 2, 2),
                             .skip = 2};
    }
    *path = (kw_path){.name = "primary", .placements = placement, .placements_count = 1};
    *placement = (kw_placement){.path = path, .store_table = KW_BYTES_LITERAL("made")};
    group->count = ranges;
    *plan = (kw_plan){.path = path,
                      .ranges = made,
                      .ranges_count = ranges,
                      .groups = group,
                      .groups_count = 1,
                      .reversed = reversed,
                      .expected_reads_per_row = 1};
    return plan;
}
