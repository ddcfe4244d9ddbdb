/* Writes with order: store in tables with kw:w (kw_regime.marks): adds it to puts, and to removals with
 * timestamps of their callers. The store sets the timestamp of kw:w. */
#include "store/order/order_internal.h"

/* Adds kw:w with a timestamp of the store to a write that has one of its caller. If such a write were sent
 * twice, the second one would put the same kw:w above a later one. */
static void
mark_stamped(const kw_order_handle *handle, kw_write *write, kw_cell *writer)
{
    g_assert(write->extra_cells_count == 0);
    writer->timestamp = KW_TIMESTAMP_NONE;
    write->extra_cells = writer;
    write->extra_cells_count = 1;
    write->extra_cells_ttl_ms = write->kind == KW_WRITE_DELETE ? kw_order_writer_ttl_ms(handle->settings) : 0;
    write->once = true;
}

kw_write
kw_order_mark(const kw_order_handle *handle, const kw_write *write, kw_arena *arena)
{
    kw_write marked = *write;
    kw_cell *cells = KW_ARENA_ARRAY(arena, kw_cell, write->cells_count + 1);
    cells[write->cells_count] = kw_control_writer(write->ordering, 0, kw_random_u64(), 0, arena);
    if (write->timestamp != KW_TIMESTAMP_NONE) {
        mark_stamped(handle, &marked, &cells[write->cells_count]);
        return marked;
    }
    g_assert(write->kind == KW_WRITE_PUT);
    memcpy(cells, write->cells, write->cells_count * sizeof *cells);
    marked.cells = cells;
    marked.cells_count++;
    return marked;
}

typedef struct marking {
    kw_arena *arena;
    void (*done)(void *user);
    void *user;
} marking;

static void
written(void *user)
{
    marking op = *(marking *)user;
    kw_arena_free(op.arena);
    op.done(op.user);
}

void
kw_order_write_marked(kw_order_handle *handle, const kw_write *const *writes, size_t count,
                      kw_written *results, void (*done)(void *user), void *user)
{
    kw_arena *arena = kw_arena_new_for(NULL, KW_MEMORY_STORE);
    marking *op = KW_ARENA_NEW(arena, marking);
    kw_write *marked = KW_ARENA_ARRAY(arena, kw_write, count);
    const kw_write **list = KW_ARENA_ARRAY(arena, const kw_write *, count);
    *op = (marking){.arena = arena, .done = done, .user = user};
    for (size_t i = 0; i < count; i++) {
        marked[i] = kw_order_mark(handle, writes[i], arena);
        list[i] = &marked[i];
    }
    handle->inner->class->write_many(handle->inner, list, count, results, written, op);
}
