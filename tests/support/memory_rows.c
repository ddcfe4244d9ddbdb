/* The rows of the store in memory: sorted by table and key, one version of each cell. */
#include "support/memory_internal.h"

kw_bytes
memory_copy(kw_bytes bytes)
{
    return kw_bytes_of(g_memdup2(bytes.size ? bytes.data : (const uint8_t *)"", bytes.size + !bytes.size),
                       bytes.size);
}

void
memory_drop(kw_bytes bytes)
{
    g_free((void *)(uintptr_t)bytes.data);
}

/* --- rows ------------------------------------------------------------------------------------------ */

int
memory_compare_place(const memory_row *at, kw_bytes table_name, kw_bytes key)
{
    int order = kw_bytes_compare(at->table, table_name);
    return order ? order : kw_bytes_compare(at->key, key);
}

/* The position of the first row at or after the key. */
guint
memory_lower_bound(const memory_store *store, kw_bytes table_name, kw_bytes key)
{
    guint low = 0, high = store->rows->len;
    while (low < high) {
        guint middle = low + (high - low) / 2;
        if (memory_compare_place(store->rows->pdata[middle], table_name, key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

memory_row *
memory_find_row(const memory_store *store, kw_bytes table_name, kw_bytes key)
{
    guint place = memory_lower_bound(store, table_name, key);
    if (place == store->rows->len)
        return NULL;
    memory_row *found = store->rows->pdata[place];
    return memory_compare_place(found, table_name, key) == 0 ? found : NULL;
}

memory_row *
memory_make_row(memory_store *store, kw_bytes table_name, kw_bytes key)
{
    memory_row *found = memory_find_row(store, table_name, key);
    if (found)
        return found;
    memory_row *made = g_new0(memory_row, 1);
    made->table = memory_copy(table_name);
    made->key = memory_copy(key);
    made->cells = g_array_new(FALSE, TRUE, sizeof(memory_cell));
    g_ptr_array_insert(store->rows, (gint)memory_lower_bound(store, table_name, key), made);
    return made;
}

static void
free_cell(const memory_cell *old)
{
    memory_drop(old->family);
    memory_drop(old->qualifier);
    memory_drop(old->value);
}

void
memory_free_row(gpointer data)
{
    memory_row *old = data;
    for (guint i = 0; i < old->cells->len; i++)
        free_cell(&g_array_index(old->cells, memory_cell, i));
    g_array_free(old->cells, TRUE);
    memory_drop(old->table);
    memory_drop(old->key);
    g_free(old);
}

memory_cell *
memory_find_cell(const memory_row *in, kw_bytes family, kw_bytes qualifier)
{
    for (guint i = 0; in && i < in->cells->len; i++) {
        memory_cell *each = &g_array_index(in->cells, memory_cell, i);
        if (kw_bytes_equal(each->family, family) && kw_bytes_equal(each->qualifier, qualifier))
            return each;
    }
    return NULL;
}

void
memory_set_cell(memory_row *in, kw_bytes family, kw_bytes qualifier, kw_bytes value, int64_t timestamp)
{
    memory_cell *there = memory_find_cell(in, family, qualifier);
    if (there) {
        if (timestamp < there->timestamp)
            return;
        memory_drop(there->value);
        there->value = memory_copy(value);
        there->timestamp = timestamp;
        return;
    }
    memory_cell made = {memory_copy(family), memory_copy(qualifier), memory_copy(value), timestamp};
    guint place = 0;
    for (; place < in->cells->len; place++) {
        const memory_cell *each = &g_array_index(in->cells, memory_cell, place);
        int order = kw_bytes_compare(each->family, family);
        if (order > 0 || (order == 0 && kw_bytes_compare(each->qualifier, qualifier) > 0))
            break;
    }
    g_array_insert_val(in->cells, place, made);
}

static bool
wants_column(const kw_column *columns, size_t count, const memory_cell *of)
{
    for (size_t i = 0; i < count; i++)
        if (kw_bytes_equal(columns[i].family, of->family) &&
            (columns[i].whole_family || kw_bytes_equal(columns[i].qualifier, of->qualifier)))
            return true;
    return count == 0;
}

static void
delete_cells(memory_store *store, const kw_write *write, const kw_column *columns, size_t columns_count,
             int64_t stamp)
{
    memory_row *in = memory_find_row(store, write->table, write->row);
    for (guint i = in ? in->cells->len : 0; i-- > 0;) {
        memory_cell *each = &g_array_index(in->cells, memory_cell, i);
        if (!wants_column(columns, columns_count, each) || each->timestamp > stamp)
            continue;
        free_cell(each);
        g_array_remove_index(in->cells, i);
    }
    if (in && in->cells->len == 0)
        g_ptr_array_remove(store->rows, in);
}

/* Cells with timestamps of their own; KW_TIMESTAMP_NONE: the present time. */
static void
set_cells(memory_store *store, const kw_write *write, const kw_cell *cells, size_t count)
{
    memory_row *in = count ? memory_make_row(store, write->table, write->row) : NULL;
    for (size_t i = 0; i < count; i++)
        memory_set_cell(in, cells[i].family, cells[i].qualifier, cells[i].value,
                        cells[i].timestamp == KW_TIMESTAMP_NONE ? kw_clock_wall_ms() : cells[i].timestamp);
}

void
memory_apply(memory_store *store, const kw_write *write)
{
    int64_t stamp = write->timestamp == KW_TIMESTAMP_NONE ? kw_clock_wall_ms() : write->timestamp;
    if (write->kind == KW_WRITE_DELETE) {
        delete_cells(store, write, write->columns, write->columns_count, stamp);
        set_cells(store, write, write->extra_cells, write->extra_cells_count);
        return;
    }
    for (size_t i = 0; i < write->markers_count; i++)
        delete_cells(store, write, &write->markers[i].column, !write->markers[i].whole_row,
                     write->markers[i].until_ms);
    set_cells(store, write, write->extra_cells, write->extra_cells_count);
    if (write->own_timestamps) {
        set_cells(store, write, write->cells, write->cells_count);
        return;
    }
    memory_row *in = memory_make_row(store, write->table, write->row);
    for (size_t i = 0; i < write->cells_count; i++)
        memory_set_cell(in, write->cells[i].family, write->cells[i].qualifier, write->cells[i].value, stamp);
}

/* Copies the selected cells of the row; false if there are none. */
bool
memory_limit_times(int64_t from, int64_t to, kw_row *row)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < row->cells_count; i++)
        if ((!from && !to) || (row->cells[i].timestamp >= from && row->cells[i].timestamp < to))
            row->cells[kept++] = row->cells[i];
    row->cells_count = kept;
    return kept > 0;
}

bool
memory_read_row(const memory_row *from, const kw_column *columns, size_t columns_count, kw_rows *into,
                kw_row *to)
{
    to->key = kw_arena_copy(into->arena, from->key);
    to->cells = KW_ARENA_ARRAY(into->arena, kw_cell, from->cells->len);
    to->cells_count = 0;
    into->bytes += from->key.size;
    for (guint i = 0; i < from->cells->len; i++) {
        const memory_cell *each = &g_array_index(from->cells, memory_cell, i);
        if (!wants_column(columns, columns_count, each))
            continue;
        to->cells[to->cells_count++] =
            (kw_cell){kw_arena_copy(into->arena, each->family), kw_arena_copy(into->arena, each->qualifier),
                      kw_arena_copy(into->arena, each->value), each->timestamp};
        into->bytes += each->qualifier.size + each->value.size;
    }
    return to->cells_count > 0;
}
