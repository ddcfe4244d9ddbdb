/* Removes gone cells and traces of puts: see kw_row_sweep. One mutation per row removes its gone cells and
 * what they hide: a compaction can have dropped the delete marker of a removal before a cell arrived that the
 * removal hides. The kw:w of a removed record is removed, too, if no atomic operation in progress can have
 * read the row before the removal. While the table enters or leaves `order: stamp`, there are no atomic
 * operations.
 */
#include "store/order/copy.h"

#define GONE_FILTER "QualifierFilter (=, 'binaryprefix:\0kw:')"
/* Upper bound of the bytes of two delete markers on the wire, without the row key and the names. */
#define PAIR_OVERHEAD 256

typedef struct sweeping {
    kw_order_handle *handle;
    kw_arena *arena; /* contains this struct */
    const kw_row_sweep *sweeps;
    size_t count;
    kw_deadline deadline;
    kw_written *results;
    size_t from, to; /* the sweeps in progress */
    kw_get *gets;
    const kw_get **list;
    kw_copy_writes writes;
    void (*done)(void *user);
    void *user;
} sweeping;

static void sweep_next(sweeping *op);

static void
finish(sweeping *op)
{
    void (*done)(void *) = op->done;
    void *user = op->user;
    kw_arena_free(op->arena);
    done(user);
}

static void
on_written(void *user)
{
    sweeping *op = user;
    kw_copy_writes_note(&op->writes, op->results);
    kw_copy_writes_clear(&op->writes);
    op->from = op->to;
    sweep_next(op);
}

/* A column whose bytes live as long as the writes. */
static kw_column
keep(const sweeping *op, kw_bytes family, kw_bytes qualifier)
{
    return (kw_column){.family = kw_arena_copy(op->writes.arena, family),
                       .qualifier = kw_arena_copy(op->writes.arena, qualifier)};
}

/* Adds two markers: of the gone cell, and of what it hides. */
static size_t
add_pair(const sweeping *op, const kw_cell *cell, const kw_marker *hidden, kw_marker *ret_markers)
{
    ret_markers[0] = *hidden;
    ret_markers[0].column = keep(op, hidden->column.family, hidden->column.qualifier);
    ret_markers[0].column.whole_family = hidden->column.whole_family;
    ret_markers[1] =
        (kw_marker){.column = keep(op, cell->family, cell->qualifier), .until_ms = cell->timestamp};
    return 2;
}

/* True if the newest kw:w is that of the removal, and is not needed any more. */
static bool
ends_writer(const sweeping *op, const kw_row_sweep *sweep, const kw_row *row, const kw_cell *gone)
{
    kw_span time;
    const kw_cell *writer = kw_control_find(sweep->ordering, row, KW_CONTROL_WRITER);
    if (!writer || writer->timestamp != gone->timestamp || !kw_bytes_equal(gone->qualifier, KW_CONTROL_GONE))
        return false;
    if (sweep->ordering->regime.order == KW_WRITE_ORDER_RAISED)
        return true;
    int64_t ttl_ns = kw_order_writer_ttl_ms(op->handle->settings) * KW_NS_PER_MS;
    return kw_store_time_estimate(kw_order_store_of(op->handle)->inner, &time) &&
           time.earliest_ns > kw_order_ns(writer->timestamp) + ttl_ns;
}

static size_t
add_cell(const sweeping *op, kw_bytes family, kw_bytes qualifier, int64_t until_ms, kw_marker *ret_marker)
{
    *ret_marker = (kw_marker){.column = keep(op, family, qualifier), .until_ms = until_ms};
    return 1;
}

/* Adds the markers that remove the control cell, and kw:w with it; returns their number. */
static size_t
add_markers(const sweeping *op, const kw_row_sweep *sweep, const kw_row *row, const kw_cell *cell,
            kw_marker *ret_markers)
{
    kw_marker hidden;
    if (cell->timestamp > sweep->until_ms || !kw_control_is_swept(sweep->ordering, cell))
        return 0;
    if (!kw_control_marker(sweep->ordering, cell, &hidden))
        return add_cell(op, cell->family, cell->qualifier, cell->timestamp, ret_markers);
    size_t count = add_pair(op, cell, &hidden, ret_markers);
    if (ends_writer(op, sweep, row, cell))
        count += add_cell(op, cell->family, KW_CONTROL_WRITER, cell->timestamp, ret_markers + count);
    return count;
}

/* Adds the writes for the row. Those of different gone cells do not depend on each other. */
static void
add_sweep(sweeping *op, size_t index, const kw_row *row)
{
    const kw_row_sweep *sweep = &op->sweeps[index];
    kw_marker *markers = KW_ARENA_ARRAY(op->writes.arena, kw_marker, 2 * (size_t)row->cells_count + 1);
    size_t count = 0, bytes = 0;
    for (uint32_t i = 0; i < row->cells_count; i++) {
        const kw_cell *cell = &row->cells[i];
        size_t added = add_markers(op, sweep, row, cell, markers + count);
        count += added;
        if (added == 0)
            continue;
        bytes += 2 * (row->key.size + cell->qualifier.size + cell->family.size) + PAIR_OVERHEAD;
        if (bytes < KW_COPY_PART_BYTES)
            continue;
        kw_copy_writes_add_markers(&op->writes, sweep, markers, count, index);
        markers += count;
        count = bytes = 0;
    }
    if (count)
        kw_copy_writes_add_markers(&op->writes, sweep, markers, count, index);
}

static void
on_rows(void *user, kw_rows *rows, const kw_error *error)
{
    sweeping *op = user;
    for (size_t i = op->from; error && i < op->count; i++)
        op->results[i] = (kw_written){.outcome = KW_OUTCOME_FAILED, .error = *error};
    if (error) {
        finish(op);
        return;
    }
    kw_copy_writes_init(&op->writes, op->handle, op->deadline);
    for (size_t i = op->from; i < op->to; i++) {
        op->results[i] = (kw_written){.outcome = KW_OUTCOME_OK};
        add_sweep(op, i, &rows->rows[i - op->from]);
    }
    kw_rows_free(rows);
    kw_copy_writes_send(&op->writes, on_written, op);
}

static void
sweep_next(sweeping *op)
{
    if (op->from == op->count) {
        finish(op);
        return;
    }
    size_t count = 0;
    while (op->from + count < op->count && count < KW_COPY_ROWS_TOGETHER &&
           kw_bytes_equal(op->sweeps[op->from + count].table, op->sweeps[op->from].table)) {
        const kw_row_sweep *sweep = &op->sweeps[op->from + count];
        op->gets[count] = (kw_get){.table = sweep->table,
                                   .row = sweep->row,
                                   .max_versions = 1,
                                   .filter = KW_BYTES_LITERAL(GONE_FILTER),
                                   .filter_is_safe = true,
                                   .deadline = op->deadline};
        op->list[count] = &op->gets[count];
        count++;
    }
    op->to = op->from + count;
    kw_store_handle_get_many(op->handle->inner, op->list, count, on_rows, op);
}

void
kw_order_sweep_rows(kw_store_handle *base, const kw_row_sweep *sweeps, size_t count, kw_deadline deadline,
                    kw_written *results, void (*done)(void *user), void *user)
{
    g_assert(count > 0);
    kw_arena *arena = kw_arena_new_for(NULL, KW_MEMORY_STORE);
    sweeping *op = KW_ARENA_NEW(arena, sweeping);
    *op = (sweeping){.handle = kw_order_handle_of(base),
                     .arena = arena,
                     .sweeps = sweeps,
                     .count = count,
                     .deadline = deadline,
                     .results = results,
                     .gets = KW_ARENA_ARRAY(arena, kw_get, KW_COPY_ROWS_TOGETHER),
                     .list = KW_ARENA_ARRAY(arena, const kw_get *, KW_COPY_ROWS_TOGETHER),
                     .done = done,
                     .user = user};
    sweep_next(op);
}
