/* The writes of copies and sweeps: see copy.h. They have the timestamps of the cells, so that they can be
 * sent twice, and can arrive late. */
#include "store/order/copy.h"

#include "store/check.h"
#include "store/refuse.h"

/* More than a cell needs on the wire in addition to its names and value. */
#define CELL_OVERHEAD 64

void
kw_copy_writes_init(kw_copy_writes *self, kw_order_handle *handle, kw_deadline deadline)
{
    *self = (kw_copy_writes){.handle = handle,
                             .arena = kw_arena_new_for(NULL, KW_MEMORY_STORE),
                             .deadline = deadline,
                             .writes = g_ptr_array_new(),
                             .owners = g_array_new(FALSE, FALSE, sizeof(size_t))};
}

void
kw_copy_writes_clear(kw_copy_writes *self)
{
    g_ptr_array_unref(self->writes);
    g_array_unref(self->owners);
    kw_arena_free(self->arena);
    *self = (kw_copy_writes){0};
}

static size_t
bytes_of(const kw_cell *cell)
{
    return cell->family.size + cell->qualifier.size + cell->value.size + CELL_OVERHEAD;
}

/* Adds the part of a write that begins with the cell `first`, and returns where it ends. The first cells are
 * those that belong to the markers. */
static size_t
add_part(kw_copy_writes *self, const kw_write *write, size_t first, size_t owner)
{
    kw_write *part = KW_ARENA_NEW(self->arena, kw_write);
    size_t end = first, bytes = 0, markers = MIN(first, write->markers_count);
    while (end < write->cells_count && (end == first || bytes < KW_COPY_PART_BYTES)) {
        size_t times = end < write->markers_count ? 2 : 1; /* the gone cell and its marker */
        bytes += times * (write->row.size + bytes_of(&write->cells[end++])); /* each cell has the row key */
    }
    *part = *write;
    part->deadline = self->deadline;
    part->cells = write->cells + first;
    part->cells_count = end - first;
    part->markers = write->markers + markers;
    part->markers_count = MIN(end, write->markers_count) - markers;
    g_ptr_array_add(self->writes, part);
    g_array_append_val(self->owners, owner);
    return end;
}

/* Adds the write in parts that are small enough: data cells can be in any part, and the first parts have
 * markers with their gone cells. Every part has the extra cells. */
static void
add_parts(kw_copy_writes *self, const kw_write *write, size_t owner)
{
    for (size_t at = 0; at < write->cells_count;)
        at = add_part(self, write, at, owner);
}

void
kw_copy_writes_add_markers(kw_copy_writes *self, const kw_row_sweep *sweep, const kw_marker *markers,
                           size_t count, size_t owner)
{
    kw_write *write = KW_ARENA_NEW(self->arena, kw_write);
    *write = (kw_write){.kind = KW_WRITE_PUT,
                        .table = sweep->table,
                        .row = sweep->row,
                        .deadline = self->deadline,
                        .fenced = true,
                        .era = sweep->era,
                        .own_timestamps = true,
                        .markers = markers,
                        .markers_count = count};
    g_ptr_array_add(self->writes, write);
    g_array_append_val(self->owners, owner);
}

/* Adds the kw:w of the other row, if it is newer; see copy.c. That of a removal expires. */
static void
add_writer(const kw_copy_writes *self, const kw_ordering *ordering, const kw_row *from, const kw_row *to,
           kw_write *write)
{
    const kw_cell *writer = kw_control_find(ordering, from, KW_CONTROL_WRITER);
    const kw_cell *present = kw_control_find(ordering, to, KW_CONTROL_WRITER);
    bool newer = writer && (!present || present->timestamp < writer->timestamp);
    if (!kw_writes_writer(ordering) || !newer)
        return;
    write->extra_cells = writer;
    write->extra_cells_count = 1;
    if (kw_control_is_of_removal(writer))
        write->extra_cells_ttl_ms = kw_order_writer_ttl_ms(self->handle->settings);
}

/* Adds what `to` lacks of the merged row. from: the other row. */
static void
add_missing(kw_copy_writes *self, const kw_row_copy *copy, const kw_row *merged, const kw_row *from,
            const kw_row *to, bool back, size_t owner)
{
    kw_write write = {0};
    if (!kw_order_missing(copy->ordering, merged, to, true, self->arena, &write))
        return;
    write.table = back ? copy->table : copy->to_table;
    write.row = back ? copy->row : copy->to_row;
    write.fenced = true;
    write.era = copy->era;
    if (back)
        add_writer(self, copy->ordering, from, to, &write);
    add_parts(self, &write, owner);
}

void
kw_copy_writes_add_missing(kw_copy_writes *self, const kw_row_copy *copy, const kw_row *row,
                           const kw_row *to_row, size_t owner)
{
    const kw_row none = {.cells_count = 0};
    if (!to_row) {
        add_missing(self, copy, row, row, &none, false, owner);
        return;
    }
    kw_row merged = kw_order_merge(copy->ordering, row, to_row, self->arena);
    add_missing(self, copy, &merged, row, to_row, false, owner);
    add_missing(self, copy, &merged, to_row, row, true, owner);
}

void
kw_copy_writes_send(kw_copy_writes *self, void (*done)(void *user), void *user)
{
    size_t count = self->writes->len;
    self->results = KW_ARENA_ARRAY(self->arena, kw_written, count);
    kw_store_handle_write_many(self->handle->inner, (const kw_write *const *)self->writes->pdata, count,
                               self->results, done, user);
}

void
kw_copy_writes_note(const kw_copy_writes *self, kw_written *results)
{
    for (guint i = 0; i < self->writes->len; i++) {
        kw_written *result = &results[g_array_index(self->owners, size_t, i)];
        if (result->outcome == KW_OUTCOME_OK)
            *result = self->results[i];
    }
}
