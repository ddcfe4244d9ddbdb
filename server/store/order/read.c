/* Reads. Callers do not get control cells, and a row with only control cells counts as missing. With order:
 * stamp, and while a table enters or leaves it, a read is returned only when the store's clock has surely
 * passed all timestamps that the read saw, including those of removals. Timestamps that are too far ahead to
 * be from a gateway are the exception. So every write that starts after the read gets a later timestamp. A
 * gone cell hides the removed cells, even if the delete marker is lost.
 *
 * A filter does not see control cells. A filtered read can omit rows because of writes in progress.
 */
#include "store/order/order_internal.h"

#include "store/refuse.h"

#define HIDE "QualifierFilter (!=, 'binaryprefix:\0kw:') AND ("
#define OR_CONTROL ") OR QualifierFilter (=, 'binaryprefix:\0kw:')"

typedef struct read_op {
    kw_order_handle *handle;
    const kw_ordering *ordering;
    bool of_range_scan;  /* part of a range scan, which owns this memory */
    kw_arena *arena;     /* owns this struct; NULL: part of a range scan */
    kw_prepared *filter; /* the filter that is sent; a reference, or NULL */
    const kw_get *widened,
        *original; /* the last get that got control columns, and the caller's; NULL: none */
    kw_rows *rows;
    kw_wait wait;
    kw_deadline deadline;
    kw_get_done done;
    void *user;
} read_op;

/* --- answers ---------------------------------------------------------------------------------- */

static void
remove_all_hidden(const read_op *op)
{
    for (size_t i = 0; i < op->rows->count; i++)
        kw_order_hide(op->ordering, op->rows->arena, &op->rows->rows[i]);
}

static void
answer(read_op *op, const kw_error *error)
{
    kw_get_done done = op->done;
    void *user = op->user;
    kw_rows *rows = g_steal_pointer(&op->rows);
    if (error)
        kw_rows_free(rows);
    if (!op->of_range_scan) {
        kw_prepared_unref(op->filter);
        kw_arena_free(op->arena);
    }
    done(user, error ? NULL : rows, error);
}

static void
on_clock_passed(void *user, kw_wait_result result)
{
    read_op *op = user;
    kw_error error;
    if (result == KW_WAIT_DONE) {
        remove_all_hidden(op);
        answer(op, NULL);
        return;
    }
    kw_wait_error(op->handle, result, "the store's clock passed what was read", false, &error);
    answer(op, &error);
}

static void
time_is_known(read_op *op)
{
    kw_span now = op->wait.span;
    int64_t newest_ms = kw_order_newest(op->handle, op->rows->rows, op->rows->count, now.latest_ns);
    op->wait = (kw_wait){.until_time_ns = kw_order_ns(newest_ms),
                         .known = true,
                         .deadline = op->deadline,
                         .done = on_clock_passed,
                         .user = op};
    kw_wait_and_call(op->handle, &op->wait);
}

static void
on_time_known(void *user, kw_wait_result result)
{
    if (result == KW_WAIT_DONE)
        time_is_known(user);
    else
        on_clock_passed(user, result);
}

/* The store's clock must be known: otherwise another write could get a timestamp lower than those read. */
static void
wait_for_time(read_op *op)
{
    op->wait = (kw_wait){.until_time_ns = INT64_MIN,
                         .known = true,
                         .deadline = op->deadline,
                         .done = on_time_known,
                         .user = op};
    kw_wait_and_call(op->handle, &op->wait);
}

static void
on_rows(void *user, kw_rows *rows, const kw_error *error)
{
    read_op *op = user;
    op->rows = rows;
    if (error) {
        answer(op, error);
    } else if (kw_uses_gone_cells(op->ordering)) {
        wait_for_time(op);
    } else {
        remove_all_hidden(op);
        answer(op, NULL);
    }
}

/* --- gets ------------------------------------------------------------------------------------- */

/* True if the result can, or must, contain control cells. */
static bool
meets_control(const kw_ordering *ordering, const kw_column *columns, size_t count)
{
    if (!ordering || (!kw_uses_gone_cells(ordering) && !kw_writes_generation(ordering)))
        return false;
    bool all = count == 0 || kw_uses_gone_cells(ordering);
    for (size_t i = 0; i < count && !all; i++)
        all = columns[i].whole_family && kw_bytes_equal(columns[i].family, ordering->family);
    return all;
}

/* The filter that is sent. It hides control cells from the caller's filter. keeps: true if the result must
 * contain control cells. */
static kw_buffer
filter_text(kw_bytes filter, bool keeps)
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
keeps_control(const kw_ordering *ordering, bool filters_cells_only)
{
    return filters_cells_only && kw_uses_gone_cells(ordering);
}

void
kw_order_forget_filter(kw_order_handle *handle)
{
    kw_prepared_unref(g_steal_pointer(&handle->filter));
    kw_prepared_unref(g_steal_pointer(&handle->filter_sent));
}

/* Returns a reference; NULL: the filter is too long with the added part. A query opens a range scan for each
 * of its ranges with the same filter, so the last one is cached. */
static kw_prepared *
prepare_filter(kw_order_handle *handle, kw_bytes filter, kw_prepared *prepared, const kw_ordering *ordering,
               bool filters_cells_only, kw_error *ret_error)
{
    bool keeps = keeps_control(ordering, filters_cells_only);
    if (prepared && prepared == handle->filter && keeps == handle->filter_keeps)
        return kw_prepared_ref(handle->filter_sent);
    kw_buffer text = filter_text(filter, keeps);
    kw_prepared *prepared_filter = kw_prepared_new(kw_buffer_bytes(&text), ret_error);
    kw_buffer_clear(&text);
    if (!prepared_filter || !prepared)
        return prepared_filter;
    kw_order_forget_filter(handle);
    handle->filter = kw_prepared_ref(prepared);
    handle->filter_sent = kw_prepared_ref(prepared_filter);
    handle->filter_keeps = keeps;
    return prepared_filter;
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
        kw_buffer text = filter_text(get->filter, keeps_control(op->ordering, get->filters_cells_only));
        copy->filter = kw_arena_copy(op->arena, kw_buffer_bytes(&text));
        kw_buffer_clear(&text);
        return true;
    }
    kw_prepared *sent = prepare_filter(op->handle, get->filter, get->prepared, op->ordering,
                                       get->filters_cells_only, ret_error);
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

/* Adds the control columns. The gets of a call usually have the same columns, and then share the result. */
static void
add_control_columns(read_op *op, const kw_get *get, kw_get *copy)
{
    if (op->original && op->original->columns == get->columns &&
        op->original->columns_count == get->columns_count) {
        copy->columns = op->widened->columns;
        copy->columns_count = op->widened->columns_count;
    } else {
        copy->columns = kw_control_columns(op->ordering, get->columns, get->columns_count, op->arena,
                                           &copy->columns_count);
    }
    op->original = get;
    op->widened = copy;
}

/* The get to send; NULL: its filter is too long. */
static const kw_get *
get_to_send(read_op *op, const kw_get *get, kw_error *ret_error)
{
    bool stamped = kw_uses_gone_cells(op->ordering);
    if (get->filter.size == 0 && !(get->columns_count && stamped))
        return get;
    kw_get *copy = KW_ARENA_NEW(op->arena, kw_get);
    *copy = *get;
    if (get->filter.size)
        return change_filter(op, get, copy, ret_error) ? copy : NULL;
    add_control_columns(op, get, copy);
    return copy;
}

static void
refuse(read_op *op, const kw_error *error)
{
    kw_complete_get_later(&op->handle->base, NULL, error, op->done, op->user);
    kw_prepared_unref(op->filter);
    kw_arena_free(op->arena);
}

void
kw_order_get(kw_store_handle *base, const kw_get *get, kw_get_done done, void *user)
{
    kw_order_handle *handle = kw_order_handle_of(base);
    if (get->other) {
        kw_order_get_both(handle, &get, 1, true, done, user);
        return;
    }
    if (!meets_control(get->ordering, get->columns, get->columns_count)) {
        handle->inner->class->get(handle->inner, get, done, user);
        return;
    }
    kw_error error;
    read_op *op = op_new(handle, get, done, user);
    const kw_get *sent = get_to_send(op, get, &error);
    if (sent)
        handle->inner->class->get(handle->inner, sent, on_rows, op);
    else
        refuse(op, &error);
}

void
kw_order_get_many(kw_store_handle *base, const kw_get *const *gets, size_t count, kw_get_done done,
                  void *user)
{
    g_assert(count > 0);
    kw_order_handle *handle = kw_order_handle_of(base);
    bool meets = false, both = false;
    for (size_t i = 0; i < count; i++) {
        meets = meets || meets_control(gets[i]->ordering, gets[i]->columns, gets[i]->columns_count);
        both = both || gets[i]->other;
    }
    if (both) {
        kw_order_get_both(handle, gets, count, false, done, user);
        return;
    }
    if (!meets) {
        handle->inner->class->get_many(handle->inner, gets, count, done, user);
        return;
    }
    kw_error error;
    read_op *op = op_new(handle, gets[0], done, user);
    const kw_get **changes = KW_ARENA_ARRAY(op->arena, const kw_get *, count);
    for (size_t i = 0; i < count; i++) {
        changes[i] = get_to_send(op, gets[i], &error);
        if (!changes[i]) {
            refuse(op, &error);
            return;
        }
    }
    handle->inner->class->get_many(handle->inner, changes, count, on_rows, op);
}

/* --- range scans ------------------------------------------------------------------------------ */

typedef struct order_range_scan {
    kw_range_scan base;
    kw_range_scan *inner;
    kw_account *account;
    const kw_ordering *ordering; /* NULL: the rows are returned unchanged */
    bool with_removed;           /* returns rows that have only control cells, too */
    kw_error *refusal;           /* the filter is too long; there is no inner range scan */
    read_op read;                /* the present fetch */
    kw_get_done done;
    void *user;
} order_range_scan;

static void
drop_empty(kw_rows *rows)
{
    size_t kept = 0;
    for (size_t i = 0; i < rows->count; i++)
        if (rows->rows[i].cells_count || rows->rows[i].omitted)
            rows->rows[kept++] = rows->rows[i];
    rows->count = kept;
}

/* The inner range scan takes a reference to the filter. */
static kw_range_scan *
open_filtered(order_range_scan *scan, const kw_range_scan_spec *spec)
{
    kw_order_handle *handle = kw_order_handle_of(scan->base.handle);
    kw_range_scan_spec copy = *spec;
    kw_error error;
    g_autoptr(kw_prepared) sent = prepare_filter(handle, spec->filter, spec->prepared, scan->ordering,
                                                 spec->filters_cells_only, &error);
    if (!sent) {
        scan->refusal = g_memdup2(&error, sizeof error);
        return NULL;
    }
    copy.prepared = sent;
    copy.filter = kw_prepared_text(sent);
    return handle->inner->class->open_range_scan(handle->inner, &copy);
}

static kw_range_scan *
open_inner(order_range_scan *scan, const kw_range_scan_spec *spec)
{
    kw_order_handle *handle = kw_order_handle_of(scan->base.handle);
    kw_range_scan_spec copy = *spec;
    if (scan->ordering && spec->filter.size)
        return open_filtered(scan, spec);
    g_autoptr(kw_arena) arena = kw_arena_new_for(spec->account, KW_MEMORY_STORE);
    if (scan->ordering && spec->columns_count && kw_uses_gone_cells(scan->ordering))
        copy.columns = kw_control_columns(scan->ordering, spec->columns, spec->columns_count, arena,
                                          &copy.columns_count);
    return handle->inner->class->open_range_scan(handle->inner, &copy);
}

kw_range_scan *
kw_order_open_range_scan(kw_store_handle *base, const kw_range_scan_spec *spec)
{
    order_range_scan *scan = g_new0(order_range_scan, 1);
    scan->base.handle = base;
    scan->account = kw_account_ref(spec->account);
    kw_account_charge(scan->account, KW_MEMORY_STORE, sizeof *scan);
    scan->ordering =
        meets_control(spec->ordering, spec->columns, spec->columns_count) ? spec->ordering : NULL;
    scan->with_removed = spec->with_removed;
    scan->inner = open_inner(scan, spec);
    return &scan->base;
}

static void
fetched(void *user, kw_rows *rows, const kw_error *error)
{
    order_range_scan *scan = user;
    if (rows && !scan->with_removed)
        drop_empty(rows);
    scan->done(scan->user, rows, error);
}

static void
refused(void *user, kw_wait_result result)
{
    order_range_scan *scan = user;
    (void)result;
    scan->done(scan->user, NULL, scan->refusal);
}

/* Fails the fetch in a later loop iteration, unless the range scan is closed before. */
static void
refuse_fetch(order_range_scan *scan)
{
    scan->read.wait = (kw_wait){.until_ns = kw_clock_mono_ns() + KW_NS_PER_MS,
                                .until_time_ns = INT64_MIN,
                                .deadline = KW_DEADLINE_NONE,
                                .done = refused,
                                .user = scan};
    kw_wait_and_call(kw_order_handle_of(scan->base.handle), &scan->read.wait);
}

void
kw_order_range_scan_fetch(kw_range_scan *base, uint32_t max_rows, size_t max_bytes, bool more_hint,
                          kw_deadline deadline, kw_get_done done, void *user)
{
    order_range_scan *scan = (order_range_scan *)base;
    kw_order_handle *handle = kw_order_handle_of(base->handle);
    const kw_store_handle_class *inner = handle->inner->class;
    if (!scan->ordering) {
        inner->range_scan_fetch(scan->inner, max_rows, max_bytes, more_hint, deadline, done, user);
        return;
    }
    scan->done = done;
    scan->user = user;
    if (scan->refusal) {
        refuse_fetch(scan);
        return;
    }
    scan->read = (read_op){.handle = handle,
                           .ordering = scan->ordering,
                           .of_range_scan = true,
                           .deadline = deadline,
                           .done = fetched,
                           .user = scan};
    inner->range_scan_fetch(scan->inner, max_rows, max_bytes, more_hint, deadline, on_rows, &scan->read);
}

void
kw_order_range_scan_close(kw_range_scan *base)
{
    order_range_scan *scan = (order_range_scan *)base;
    kw_order_handle *handle = kw_order_handle_of(base->handle);
    kw_wait_cancel(&scan->read.wait);
    kw_rows_free(scan->read.rows);
    if (scan->inner)
        handle->inner->class->range_scan_close(scan->inner);
    kw_account_charge(scan->account, KW_MEMORY_STORE, -(int64_t)sizeof *scan);
    kw_account_unref(scan->account);
    g_free(scan->refusal);
    g_free(scan);
}
