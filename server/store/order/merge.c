/* The two rows of a record while its key rule changes: what a read of both shows, and what each of them
 * lacks. row_merge and row_missing of tests/unit/change/model_row.c are the same for one version of a cell.
 * Pure. */
#include "store/order/order_internal.h"

/* --- merge ------------------------------------------------------------------------------------ */

static void
add(const kw_ordering *ordering, const kw_cell *cell, kw_row *to)
{
    kw_marker ignored;
    if (!kw_is_control(ordering, cell) || kw_control_marker(ordering, cell, &ignored))
        to->cells[to->cells_count++] = *cell;
}

kw_row
kw_order_merge(const kw_ordering *ordering, const kw_row *authority, const kw_row *other, kw_arena *arena)
{
    size_t most = (size_t)authority->cells_count + other->cells_count;
    kw_row merged = {.key = authority->key, .cells = KW_ARENA_ARRAY(arena, kw_cell, most)};
    uint32_t i = 0, j = 0;
    while (i < authority->cells_count || j < other->cells_count) {
        int order = i == authority->cells_count ? 1
                    : j == other->cells_count   ? -1
                                                : kw_cell_compare(&authority->cells[i], &other->cells[j]);
        add(ordering, order <= 0 ? &authority->cells[i] : &other->cells[j], &merged);
        i += order <= 0;
        j += order >= 0;
    }
    return merged;
}

/* --- what a row lacks ------------------------------------------------------------------------- */

/* The timestamp up to which the row's gone cells remove all of the column or family; -1: never. `wider`:
 * counts only gone cells of larger parts: of the family and the whole row for a column, and of the whole row
 * for a family. */
static int64_t
removed_until(const kw_ordering *ordering, const kw_row *row, const kw_marker *marker, bool wider,
              kw_arena *arena)
{
    const kw_column *column = &marker->column;
    kw_column family = {.family = column->family, .whole_family = true};
    if (marker->whole_row)
        return wider ? -1 : kw_control_removed_until(ordering, row, KW_CONTROL_GONE);
    kw_arena_mark before = kw_arena_mark_now(arena);
    int64_t until = kw_control_removed_until(ordering, row, KW_CONTROL_GONE);
    if (!wider || !column->whole_family) {
        int64_t of_family = kw_control_removed_until(ordering, row, kw_control_gone_column(&family, arena));
        until = MAX(until, of_family);
    }
    if (!wider && !column->whole_family) {
        int64_t own = kw_control_removed_until(ordering, row, kw_control_gone_column(column, arena));
        until = MAX(until, own);
    }
    kw_arena_rewind(arena, before);
    return until;
}

static bool
lacks_removal(const kw_ordering *ordering, const kw_row *merged, const kw_row *to, const kw_marker *marker,
              kw_arena *arena)
{
    return marker->until_ms > removed_until(ordering, to, marker, false, arena) &&
           marker->until_ms > removed_until(ordering, merged, marker, true, arena);
}
static bool
lacks_cell(const kw_row *to, const kw_cell *cell, bool ties)
{
    uint32_t from = 0, end = to->cells_count;
    while (from < end) {
        uint32_t middle = from + (end - from) / 2;
        if (kw_cell_compare(&to->cells[middle], cell) < 0)
            from = middle + 1;
        else
            end = middle;
    }
    const kw_cell *at = from < to->cells_count ? &to->cells[from] : NULL;
    if (!at || kw_cell_compare(at, cell) != 0)
        return true;
    return ties && !kw_bytes_equal(at->value, cell->value);
}

static void
add_removals(const kw_ordering *ordering, const kw_row *merged, const kw_row *to, kw_arena *arena,
             kw_cell *cells, kw_marker *markers, kw_write *write)
{
    kw_marker marker;
    for (uint32_t i = 0; i < merged->cells_count; i++) {
        const kw_cell *cell = &merged->cells[i];
        bool newest = i == 0 || !kw_cell_same_column(cell, cell - 1);
        if (!newest || !kw_control_marker(ordering, cell, &marker) ||
            !lacks_removal(ordering, merged, to, &marker, arena))
            continue;
        markers[write->markers_count++] = marker;
        cells[write->cells_count++] = *cell;
    }
}

static void
add_cells(const kw_ordering *ordering, const kw_row *merged, const kw_row *to, bool ties, kw_arena *arena,
          kw_cell *cells, kw_write *write)
{
    for (uint32_t i = 0; i < merged->cells_count; i++) {
        const kw_cell *cell = &merged->cells[i];
        if (!kw_is_control(ordering, cell) && lacks_cell(to, cell, ties) &&
            cell->timestamp > kw_control_gone_until(ordering, merged, cell, arena))
            cells[write->cells_count++] = *cell;
    }
}

bool
kw_order_missing(const kw_ordering *ordering, const kw_row *merged, const kw_row *to, bool ties,
                 kw_arena *arena, kw_write *ret_write)
{
    kw_write write = {.kind = KW_WRITE_PUT, .own_timestamps = true};
    kw_cell *cells = KW_ARENA_ARRAY(arena, kw_cell, merged->cells_count);
    kw_marker *markers = KW_ARENA_ARRAY(arena, kw_marker, merged->cells_count);
    add_removals(ordering, merged, to, arena, cells, markers, &write);
    add_cells(ordering, merged, to, ties, arena, cells, &write);
    for (size_t i = 0; i < write.cells_count; i++)
        write.timestamp = MAX(write.timestamp, cells[i].timestamp);
    write.cells = cells;
    write.markers = markers;
    *ret_write = write;
    return write.cells_count > 0;
}
