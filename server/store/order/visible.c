/* What is visible of the cells that were read: see order_internal.h. */
#include "store/order/order_internal.h"

/* True if the row has a gone cell. */
static bool
has_removals(const kw_ordering *ordering, const kw_row *row)
{
    kw_marker ignored;
    bool found = false;
    for (uint32_t i = 0; i < row->cells_count && !found; i++)
        found = kw_control_marker(ordering, &row->cells[i], &ignored);
    return found;
}

static void
drop_control(const kw_ordering *ordering, kw_row *row)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < row->cells_count; i++)
        if (!kw_is_control(ordering, &row->cells[i]))
            row->cells[kept++] = row->cells[i];
    row->cells_count = kept;
}

void
kw_order_hide(const kw_ordering *ordering, kw_arena *arena, kw_row *row)
{
    kw_row all = *row;
    uint32_t kept = 0;
    if (!kw_control_is_in(ordering, row))
        return;
    if (!kw_uses_gone_cells(ordering) || !has_removals(ordering, row)) {
        drop_control(ordering, row);
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
