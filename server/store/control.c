#include "store/control.h"

kw_bytes
kw_control_gone_column(const kw_column *column, kw_arena *arena)
{
    size_t size = KW_CONTROL_PREFIX.size + 2 + column->family.size +
                  (column->whole_family ? 0 : column->qualifier.size);
    uint8_t *name = kw_arena_alloc(arena, size), *at = name;
    memcpy(at, KW_CONTROL_PREFIX.data, KW_CONTROL_PREFIX.size);
    at += KW_CONTROL_PREFIX.size;
    *at++ = column->whole_family ? 'f' : 'c';
    memcpy(at, column->family.data, column->family.size);
    at += column->family.size;
    *at++ = ':'; /* no family name contains it */
    if (!column->whole_family && column->qualifier.size)
        memcpy(at, column->qualifier.data, column->qualifier.size);
    return kw_bytes_of(name, size);
}

kw_cell
kw_control_cell(const kw_ordering *ordering, kw_bytes qualifier, uint64_t value, int64_t timestamp,
                kw_arena *arena)
{
    uint8_t *bytes = kw_arena_alloc(arena, 8);
    kw_be64_store(bytes, value);
    return (kw_cell){.family = ordering->family,
                     .qualifier = qualifier,
                     .value = kw_bytes_of(bytes, 8),
                     .timestamp = timestamp};
}

kw_cell
kw_control_writer(const kw_ordering *ordering, int64_t stamp_ms, uint64_t id, int64_t timestamp,
                  kw_arena *arena)
{
    uint8_t *bytes = kw_arena_alloc(arena, KW_CONTROL_WRITER_BYTES);
    kw_be64_store(bytes, (uint64_t)stamp_ms);
    kw_be64_store(bytes + 8, id);
    return (kw_cell){.family = ordering->family,
                     .qualifier = KW_CONTROL_WRITER,
                     .value = kw_bytes_of(bytes, KW_CONTROL_WRITER_BYTES),
                     .timestamp = timestamp};
}

const kw_cell *
kw_row_find_cell(const kw_row *row, kw_bytes family, kw_bytes qualifier)
{
    uint32_t from = 0, to = row->cells_count;
    while (from < to) {
        uint32_t middle = from + (to - from) / 2;
        const kw_cell *cell = &row->cells[middle];
        int order = kw_bytes_compare(cell->family, family);
        order = order ? order : kw_bytes_compare(cell->qualifier, qualifier);
        if (order < 0)
            from = middle + 1;
        else
            to = middle;
    }
    const kw_cell *found = from < row->cells_count ? &row->cells[from] : NULL;
    bool same = found && kw_bytes_equal(found->family, family) && kw_bytes_equal(found->qualifier, qualifier);
    return same ? found : NULL;
}

bool
kw_control_is_in(const kw_ordering *ordering, const kw_row *row)
{
    for (uint32_t i = 0; i < row->cells_count; i++)
        if (kw_is_control(ordering, &row->cells[i]))
            return true;
    return false;
}

const kw_cell *
kw_control_find(const kw_ordering *ordering, const kw_row *row, kw_bytes qualifier)
{
    return kw_row_find_cell(row, ordering->family, qualifier);
}

int64_t
kw_control_removed_until(const kw_ordering *ordering, const kw_row *row, kw_bytes qualifier)
{
    const kw_cell *gone_cell = kw_control_find(ordering, row, qualifier);
    return gone_cell && gone_cell->value.size == 8 ? (int64_t)kw_be64_load(gone_cell->value.data) : -1;
}

int64_t
kw_control_gone_until(const kw_ordering *ordering, const kw_row *row, const kw_cell *cell, kw_arena *arena)
{
    kw_column column = {.family = cell->family, .qualifier = cell->qualifier};
    kw_column family = {.family = cell->family, .whole_family = true};
    kw_arena_mark before = kw_arena_mark_now(arena);
    int64_t gone_until = kw_control_removed_until(ordering, row, KW_CONTROL_GONE);
    gone_until =
        MAX(gone_until, kw_control_removed_until(ordering, row, kw_control_gone_column(&column, arena)));
    gone_until =
        MAX(gone_until, kw_control_removed_until(ordering, row, kw_control_gone_column(&family, arena)));
    kw_arena_rewind(arena, before);
    return gone_until;
}

bool
kw_control_marker(const kw_ordering *ordering, const kw_cell *cell, kw_marker *ret_marker)
{
    kw_bytes name = cell->qualifier, prefix = KW_CONTROL_PREFIX;
    if (!kw_is_control(ordering, cell) || cell->value.size != 8)
        return false;
    kw_marker marker = {.until_ms = (int64_t)kw_be64_load(cell->value.data)};
    marker.whole_row = kw_bytes_equal(name, KW_CONTROL_GONE);
    if (!marker.whole_row) {
        const uint8_t *end = name.size > prefix.size + 1
                                 ? memchr(name.data + prefix.size + 1, ':', name.size - prefix.size - 1)
                                 : NULL;
        char kind = end ? (char)name.data[prefix.size] : '\0';
        if (kind != 'c' && kind != 'f')
            return false;
        name = kw_bytes_skip(name, prefix.size + 1);
        size_t family = (size_t)(end - name.data);
        marker.column = (kw_column){.family = kw_bytes_of(name.data, family),
                                    .qualifier = kw_bytes_skip(name, family + 1),
                                    .whole_family = kind == 'f'};
    }
    *ret_marker = marker;
    return true;
}

bool
kw_control_is_swept(const kw_ordering *ordering, const kw_cell *cell)
{
    kw_marker ignored;
    bool trace = kw_is_control(ordering, cell) && kw_bytes_equal(cell->qualifier, KW_CONTROL_TRACE);
    return trace || kw_control_marker(ordering, cell, &ignored);
}

bool
kw_control_is_of_removal(const kw_cell *writer)
{
    return writer->value.size == KW_CONTROL_WRITER_BYTES &&
           (int64_t)kw_be64_load(writer->value.data) == writer->timestamp - 1;
}

kw_check
kw_control_unchanged(const kw_ordering *ordering, kw_bytes qualifier, const kw_row *row, kw_arena *arena)
{
    const kw_cell *found = kw_control_find(ordering, row, qualifier);
    return (kw_check){.family = ordering->family,
                      .qualifier = qualifier,
                      .compare = KW_COMPARE_EQUAL,
                      .has_value = found != NULL,
                      .value = found ? kw_arena_copy(arena, found->value) : KW_BYTES_NONE};
}

const kw_column *
kw_control_columns(const kw_ordering *ordering, const kw_column *columns, size_t count, kw_arena *arena,
                   size_t *ret_count)
{
    bool uses_gone_cells = kw_uses_gone_cells(ordering);
    kw_column *all = KW_ARENA_ARRAY(arena, kw_column, 3 * count + 1);
    size_t at = 0;
    for (size_t i = 0; i < count; i++) {
        kw_column family = {.family = columns[i].family, .whole_family = true};
        all[at++] = columns[i];
        if (uses_gone_cells) {
            all[at++] = (kw_column){ordering->family, kw_control_gone_column(&family, arena), false};
            if (!columns[i].whole_family)
                all[at++] = (kw_column){ordering->family, kw_control_gone_column(&columns[i], arena), false};
        }
    }
    all[at++] =
        (kw_column){ordering->family, uses_gone_cells ? KW_CONTROL_GONE : KW_CONTROL_GENERATION, false};
    *ret_count = at;
    return all;
}
