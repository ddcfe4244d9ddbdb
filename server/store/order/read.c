/* Reads. Control cells do not reach the caller, and a row that has only those is no row. With order: stamp a
 * read is returned when the store's clock has surely passed everything that it saw, removals as well: so
 * whoever writes after it gets a later timestamp. Cells that a removal covers are hidden by its gone cell
 * too, whatever became of its delete marker.
 *
 * A filter does not see control cells: what a filtered read leaves out, it may leave out because of a write
 * that is under way.
 */
#include "store/order/order_internal.h"

#include "store/refuse.h"

#define HIDE "QualifierFilter (!=, 'binaryprefix:\0kw:') AND ("
#define OR_CONTROL ") OR QualifierFilter (=, 'binaryprefix:\0kw:')"

typedef struct read_op {
    kw_order_handle *handle;
    const kw_ordering *ordering;
    bool of_run;         /* part of a run, which keeps its memory */
    kw_arena *arena;     /* this operation's; NULL: of a run */
    kw_prepared *filter; /* that is sent; a reference, or NULL */
    kw_rows *rows;
    kw_wait wait;
    kw_deadline deadline;
    kw_get_done done;
    void *user;
} read_op;

/* --- what control cells mean --------------------------------------------------------------------- */

static bool
has_control(const kw_ordering *ordering, const kw_row *row)
{
    for (uint32_t i = 0; i < row->cells_count; i++)
        if (kw_is_control(ordering, &row->cells[i]))
            return true;
    return false;
}

/* Leaves the cells that the caller may see. */
static void
hide(const kw_ordering *ordering, kw_arena *arena, kw_row *row)
{
    kw_row all = *row;
    uint32_t kept = 0;
    if (!has_control(ordering, row))
        return;
    all.cells = kw_arena_alloc(arena, row->cells_count * sizeof *row->cells);
    memcpy(all.cells, row->cells, row->cells_count * sizeof *row->cells);
    bool gone = ordering->order == KW_WRITE_ORDER_STAMP;
    for (uint32_t i = 0; i < all.cells_count; i++) {
        const kw_cell *cell = &all.cells[i];
        if (!kw_is_control(ordering, cell) &&
            !(gone && cell->timestamp <= kw_control_gone_until(ordering, &all, cell, arena)))
            row->cells[kept++] = *cell;
    }
    row->cells_count = kept;
}

/* The newest timestamp that a gateway can have given. */
static int64_t
newest_of(const kw_rows *rows, int64_t most_ms)
{
    int64_t newest_ms = -1;
    for (size_t i = 0; i < rows->count; i++)
        for (uint32_t j = 0; j < rows->rows[i].cells_count; j++) {
            int64_t stamp_ms = rows->rows[i].cells[j].timestamp;
            newest_ms = stamp_ms <= most_ms ? MAX(newest_ms, stamp_ms) : newest_ms;
        }
    return newest_ms;
}

static void
hide_all(const read_op *op)
{
    for (size_t i = 0; i < op->rows->count; i++)
        hide(op->ordering, op->rows->arena, &op->rows->rows[i]);
}

/* --- answers ------------------------------------------------------------------------------------- */

static void
answer(read_op *op, const kw_error *error)
{
    kw_get_done done = op->done;
    void *user = op->user;
    kw_rows *rows = g_steal_pointer(&op->rows);
    if (error)
        kw_rows_free(rows);
    if (!op->of_run) {
        kw_prepared_unref(op->filter);
        kw_arena_free(op->arena);
    }
    done(user, error ? NULL : rows, error);
}

static void
passed(void *user, kw_wait_end end)
{
    read_op *op = user;
    kw_error error;
    if (end == KW_WAIT_OVER) {
        hide_all(op);
        answer(op, NULL);
        return;
    }
    kw_wait_error(op->handle, end, "the store's clock passed what was read", false, &error);
    answer(op, &error);
}

static void
time_is_known(read_op *op)
{
    kw_span now = op->wait.span;
    int64_t width_ns = (op->handle->settings->clock_width_ms + KW_ORDER_AHEAD_MS) * KW_NS_PER_MS;
    int64_t newest_ms = newest_of(op->rows, (now.latest_ns + width_ns) / KW_NS_PER_MS);
    op->wait = (kw_wait){.until_time_ns = kw_order_ns(newest_ms),
                         .known = true,
                         .deadline = op->deadline,
                         .done = passed,
                         .user = op};
    kw_wait_then(op->handle, &op->wait);
}

static void
known(void *user, kw_wait_end end)
{
    if (end == KW_WAIT_OVER)
        time_is_known(user);
    else
        passed(user, end);
}

/* The store's clock must be known: else another write may go below what was read. */
static void
wait_for_time(read_op *op)
{
    op->wait = (kw_wait){
        .until_time_ns = INT64_MIN, .known = true, .deadline = op->deadline, .done = known, .user = op};
    kw_wait_then(op->handle, &op->wait);
}

static void
arrived(void *user, kw_rows *rows, const kw_error *error)
{
    read_op *op = user;
    op->rows = rows;
    if (error) {
        answer(op, error);
    } else if (op->ordering->order == KW_WRITE_ORDER_STAMP) {
        wait_for_time(op);
    } else {
        hide_all(op);
        answer(op, NULL);
    }
}

/* --- questions ----------------------------------------------------------------------------------- */

/* Can control cells be in the answer, or must they be? */
static bool
meets_control(const kw_ordering *ordering, const kw_column *columns, size_t count)
{
    if (!ordering || (ordering->order == KW_WRITE_ORDER_STORE && !ordering->atomics))
        return false;
    bool all = count == 0 || ordering->order == KW_WRITE_ORDER_STAMP;
    for (size_t i = 0; i < count && !all; i++)
        all = columns[i].whole_family && kw_bytes_equal(columns[i].family, ordering->family);
    return all;
}

/* Control cells are not shown to the filter. One that leaves out cells only leaves them. */
static kw_buffer
text_beside(kw_bytes filter, bool keeps)
{
    kw_buffer text = KW_BUFFER_EMPTY;
    kw_buffer_append_text(&text, keeps ? "(" : "");
    kw_buffer_append(&text, KW_BYTES_LITERAL(HIDE));
    kw_buffer_append(&text, filter);
    kw_buffer_append_text(&text, ")");
    if (keeps)
        kw_buffer_append(&text, KW_BYTES_LITERAL(OR_CONTROL));
    return text;
}

static bool
keeps_control(const kw_ordering *ordering, bool narrows)
{
    return narrows && ordering->order == KW_WRITE_ORDER_STAMP;
}

void
kw_order_forget_filter(kw_order_handle *handle)
{
    kw_prepared_unref(g_steal_pointer(&handle->filter));
    kw_prepared_unref(g_steal_pointer(&handle->filter_sent));
}

/* A reference; NULL: it is too long with what is added to it. A query opens a run for each of its ranges,
 * with the same filter: the last one is kept. */
static kw_prepared *
filter_beside(kw_order_handle *handle, kw_bytes filter, kw_prepared *prepared, const kw_ordering *ordering,
              bool narrows, kw_error *ret_error)
{
    bool keeps = keeps_control(ordering, narrows);
    if (prepared && prepared == handle->filter && keeps == handle->filter_keeps)
        return kw_prepared_ref(handle->filter_sent);
    kw_buffer text = text_beside(filter, keeps);
    kw_prepared *made = kw_prepared_new(kw_buffer_bytes(&text), ret_error);
    kw_buffer_clear(&text);
    if (!made || !prepared)
        return made;
    kw_order_forget_filter(handle);
    handle->filter = kw_prepared_ref(prepared);
    handle->filter_sent = kw_prepared_ref(made);
    handle->filter_keeps = keeps;
    return made;
}

static read_op *
op_new(kw_order_handle *handle, const kw_get *first, kw_get_done done, void *user)
{
    kw_arena *arena = kw_arena_new_for(first->account, KW_MEMORY_STORE);
    read_op *op = KW_ARENA_NEW(arena, read_op);
    *op = (read_op){.handle = handle,
                    .arena = arena,
                    .ordering = first->ordering,
                    .deadline = first->deadline,
                    .done = done,
                    .user = user};
    return op;
}

static bool
change_filter(read_op *op, const kw_get *get, kw_get *copy, kw_error *ret_error)
{
    if (!get->prepared) {
        kw_buffer text = text_beside(get->filter, keeps_control(op->ordering, get->narrows));
        copy->filter = kw_arena_copy(op->arena, kw_buffer_bytes(&text));
        kw_buffer_clear(&text);
        return true;
    }
    kw_prepared *sent =
        filter_beside(op->handle, get->filter, get->prepared, op->ordering, get->narrows, ret_error);
    if (!sent)
        return false;
    copy->prepared = sent;
    copy->filter = kw_prepared_text(sent);
    if (op->filter && op->filter != sent) {
        copy->prepared = NULL;
        copy->filter = kw_arena_copy(op->arena, copy->filter);
        kw_prepared_unref(sent);
        return true;
    }
    kw_prepared_unref(op->filter);
    op->filter = sent;
    return true;
}

/* NULL: its filter is too long. */
static const kw_get *
changed(read_op *op, const kw_get *get, kw_error *ret_error)
{
    bool stamped = op->ordering->order == KW_WRITE_ORDER_STAMP;
    if (get->filter.size == 0 && !(get->columns_count && stamped))
        return get;
    kw_get *copy = KW_ARENA_NEW(op->arena, kw_get);
    *copy = *get;
    if (get->filter.size)
        return change_filter(op, get, copy, ret_error) ? copy : NULL;
    copy->columns =
        kw_control_columns(op->ordering, get->columns, get->columns_count, op->arena, &copy->columns_count);
    return copy;
}

static void
refuse(read_op *op, const kw_error *error)
{
    kw_refuse_get(&op->handle->base, NULL, error, op->done, op->user);
    kw_prepared_unref(op->filter);
    kw_arena_free(op->arena);
}

void
kw_order_get(kw_store_handle *base, const kw_get *get, kw_get_done done, void *user)
{
    kw_order_handle *handle = kw_order_handle_of(base);
    if (!meets_control(get->ordering, get->columns, get->columns_count)) {
        handle->inner->class->get(handle->inner, get, done, user);
        return;
    }
    kw_error error;
    read_op *op = op_new(handle, get, done, user);
    const kw_get *sent = changed(op, get, &error);
    if (sent)
        handle->inner->class->get(handle->inner, sent, arrived, op);
    else
        refuse(op, &error);
}

void
kw_order_get_many(kw_store_handle *base, const kw_get *const *gets, size_t count, kw_get_done done,
                  void *user)
{
    kw_order_handle *handle = kw_order_handle_of(base);
    bool meets = false;
    for (size_t i = 0; i < count; i++)
        meets = meets || meets_control(gets[i]->ordering, gets[i]->columns, gets[i]->columns_count);
    if (!meets) {
        handle->inner->class->get_many(handle->inner, gets, count, done, user);
        return;
    }
    kw_error error;
    read_op *op = op_new(handle, gets[0], done, user);
    const kw_get **changes = KW_ARENA_ARRAY(op->arena, const kw_get *, count);
    for (size_t i = 0; i < count; i++) {
        changes[i] = changed(op, gets[i], &error);
        if (!changes[i]) {
            refuse(op, &error);
            return;
        }
    }
    handle->inner->class->get_many(handle->inner, changes, count, arrived, op);
}

/* --- runs ---------------------------------------------------------------------------------------- */

typedef struct order_run {
    kw_range_scan base;
    kw_range_scan *inner;
    kw_account *account;
    const kw_ordering *ordering; /* NULL: its rows are given on as they are */
    kw_error *refusal;           /* its filter is too long; there is no inner run */
    read_op read;                /* the present fetch */
    kw_get_done done;
    void *user;
} order_run;

static void
drop_empty(kw_rows *rows)
{
    size_t kept = 0;
    for (size_t i = 0; i < rows->count; i++)
        if (rows->rows[i].cells_count)
            rows->rows[kept++] = rows->rows[i];
    rows->count = kept;
}

/* The inner run takes a reference to the filter. */
static kw_range_scan *
open_filtered(order_run *run, const kw_range_scan_spec *spec)
{
    kw_order_handle *handle = kw_order_handle_of(run->base.handle);
    kw_range_scan_spec copy = *spec;
    kw_error error;
    g_autoptr(kw_prepared) sent =
        filter_beside(handle, spec->filter, spec->prepared, run->ordering, spec->narrows, &error);
    if (!sent) {
        run->refusal = g_memdup2(&error, sizeof error);
        return NULL;
    }
    copy.prepared = sent;
    copy.filter = kw_prepared_text(sent);
    return handle->inner->class->open_range_scan(handle->inner, &copy);
}

static kw_range_scan *
open_inner(order_run *run, const kw_range_scan_spec *spec)
{
    kw_order_handle *handle = kw_order_handle_of(run->base.handle);
    kw_range_scan_spec copy = *spec;
    if (run->ordering && spec->filter.size)
        return open_filtered(run, spec);
    g_autoptr(kw_arena) arena = kw_arena_new_for(spec->account, KW_MEMORY_STORE);
    if (run->ordering && spec->columns_count && run->ordering->order == KW_WRITE_ORDER_STAMP)
        copy.columns =
            kw_control_columns(run->ordering, spec->columns, spec->columns_count, arena, &copy.columns_count);
    return handle->inner->class->open_range_scan(handle->inner, &copy);
}

kw_range_scan *
kw_order_open_range_scan(kw_store_handle *base, const kw_range_scan_spec *spec)
{
    order_run *run = g_new0(order_run, 1);
    run->base.handle = base;
    run->account = kw_account_ref(spec->account);
    kw_account_charge(run->account, KW_MEMORY_STORE, sizeof *run);
    run->ordering = meets_control(spec->ordering, spec->columns, spec->columns_count) ? spec->ordering : NULL;
    run->inner = open_inner(run, spec);
    kw_order_handle_of(base)->runs++;
    return &run->base;
}

static void
fetched(void *user, kw_rows *rows, const kw_error *error)
{
    order_run *run = user;
    if (rows)
        drop_empty(rows);
    run->done(run->user, rows, error);
}

static void
refused(void *user, kw_wait_end end)
{
    order_run *run = user;
    (void)end;
    run->done(run->user, NULL, run->refusal);
}

/* Later, unless the run is closed before. */
static void
refuse_fetch(order_run *run)
{
    run->read.wait = (kw_wait){.until_ns = kw_clock_mono_ns() + KW_NS_PER_MS,
                               .until_time_ns = INT64_MIN,
                               .deadline = KW_DEADLINE_NONE,
                               .done = refused,
                               .user = run};
    kw_wait_then(kw_order_handle_of(run->base.handle), &run->read.wait);
}

void
kw_order_range_scan_fetch(kw_range_scan *base, uint32_t max_rows, size_t max_bytes, bool more_hint,
                          kw_deadline deadline, kw_get_done done, void *user)
{
    order_run *run = (order_run *)base;
    kw_order_handle *handle = kw_order_handle_of(base->handle);
    const kw_store_handle_class *inner = handle->inner->class;
    if (!run->ordering) {
        inner->run_fetch(run->inner, max_rows, max_bytes, more_hint, deadline, done, user);
        return;
    }
    run->done = done;
    run->user = user;
    if (run->refusal) {
        refuse_fetch(run);
        return;
    }
    run->read = (read_op){.handle = handle,
                          .ordering = run->ordering,
                          .of_run = true,
                          .deadline = deadline,
                          .done = fetched,
                          .user = run};
    inner->run_fetch(run->inner, max_rows, max_bytes, more_hint, deadline, arrived, &run->read);
}

void
kw_order_range_scan_close(kw_range_scan *base)
{
    order_run *run = (order_run *)base;
    kw_order_handle *handle = kw_order_handle_of(base->handle);
    kw_wait_cancel(&run->read.wait);
    kw_rows_free(run->read.rows);
    if (run->inner)
        handle->inner->class->run_close(run->inner);
    kw_account_charge(run->account, KW_MEMORY_STORE, -(int64_t)sizeof *run);
    kw_account_unref(run->account);
    g_free(run->refusal);
    g_free(run);
    handle->runs--;
    kw_order_handle_settle(handle);
}
