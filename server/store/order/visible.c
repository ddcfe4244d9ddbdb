/* What is visible of the cells that were read: see order_internal.h. */
#include "store/order/order_internal.h"

/* Control cells are next to each other, because the cells of a row are sorted. */
typedef struct cell_range {
    uint32_t from, to;
} cell_range;

static cell_range
find_control(const kw_ordering *ordering, const kw_row *row)
{
    cell_range range = {0};
    while (range.from < row->cells_count && !kw_is_control(ordering, &row->cells[range.from]))
        range.from++;
    for (range.to = range.from; range.to < row->cells_count; range.to++)
        if (!kw_is_control(ordering, &row->cells[range.to]))
            break;
    return range;
}

static bool
has_gone_cell(const kw_ordering *ordering, const kw_row *row, cell_range control)
{
    kw_marker ignored;
    for (uint32_t i = control.from; i < control.to; i++)
        if (kw_control_marker(ordering, &row->cells[i], &ignored))
            return true;
    return false;
}

static void
drop_cells(kw_row *row, cell_range range)
{
    memmove(&row->cells[range.from], &row->cells[range.to],
            (row->cells_count - range.to) * sizeof *row->cells);
    row->cells_count -= range.to - range.from;
}

void
kw_order_hide(const kw_ordering *ordering, kw_arena *arena, kw_row *row)
{
    kw_row all = *row;
    uint32_t kept = 0;
    cell_range control = find_control(ordering, row);
    if (control.from == control.to)
        return;
    if (!kw_uses_gone_cells(ordering) || !has_gone_cell(ordering, row, control)) {
        drop_cells(row, control);
        return;
    }
    all.cells = kw_arena_alloc(arena, row->cells_count * sizeof *row->cells);
    memcpy(all.cells, row->cells, row->cells_count * sizeof *row->cells);
    for (uint32_t i = 0; i < all.cells_count; i++) {
        const kw_cell *cell = &all.cells[i];
        if (!kw_is_control(ordering, cell) &&
            cell->timestamp > kw_control_gone_until(ordering, &all, cell, arena))
            row->cells[kept++] = *cell;
    }
    row->cells_count = kept;
}

int64_t
kw_order_newest(const kw_order_handle *handle, const kw_row *rows, size_t count, int64_t latest_ns)
{
    int64_t width_ms = handle->settings->clock_width_ms + KW_ORDER_AHEAD_MS;
    int64_t newest_ms = -1, most_ms = latest_ns / KW_NS_PER_MS + width_ms;
    for (size_t i = 0; i < count; i++)
        for (uint32_t j = 0; j < rows[i].cells_count; j++) {
            int64_t stamp_ms = rows[i].cells[j].timestamp;
            newest_ms = stamp_ms <= most_ms ? MAX(newest_ms, stamp_ms) : newest_ms;
        }
    return newest_ms;
}

bool
kw_order_put_is_applied(const kw_write *put, const kw_row *row, kw_arena *arena)
{
    for (size_t i = 0; i < put->cells_count; i++) {
        const kw_cell *cell = &put->cells[i], *found = kw_row_find_cell(row, cell->family, cell->qualifier);
        int64_t stamp_ms = put->own_timestamps ? cell->timestamp : put->timestamp;
        bool own = found && found->timestamp == stamp_ms && kw_bytes_equal(found->value, cell->value);
        bool newer = found && found->timestamp > stamp_ms;
        if (!own && !newer && !kw_is_control(put->ordering, cell) &&
            kw_control_gone_until(put->ordering, row, cell, arena) < stamp_ms)
            return false;
    }
    return true;
}
