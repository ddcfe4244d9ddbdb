/* Conditional writes of one row with order: store.
 *
 *   comparison of a plain field   by the store itself; the write also changes kw:g
 *   put of counters               get kw:g and the counters --> write if kw:g is unchanged
 *   comparison of a counter       the same; Keyway compares, with the value that it has read
 *
 * A counter only changes together with kw:g, and its timestamp can be ahead of the store's clock. The store
 * stamps a conditional write no lower than the compared cell, so a put of counters is later than every
 * increment. If it also writes other fields, it waits until the clock has surely passed the timestamps of
 * kw:g and of the counters, because later puts of these fields are stamped by the clock.
 *
 * Each such write sets kw:g to an id of its own. The outcome is in doubt if a reply is lost, or if a
 * rejection arrives after client_pause_ms: the store's own client can have repeated the write, so that only
 * the repetition was rejected. In doubt, kw:g is read. The id of this write shows that it was applied.
 * Another id proves nothing.
 */
#include "store/order/order_internal.h"

#include "store/check.h"

typedef struct compared {
    kw_order_handle *handle;
    kw_arena *arena;
    const kw_ordering *ordering;
    bool by_generation; /* kw:g is compared; otherwise the store itself compares the caller's condition */
    bool has_condition;
    kw_check condition; /* the caller's */
    unsigned attempts;
    kw_get get;
    kw_write write; /* the caller's, with kw:w if the table has it, and kw:g as the last cell */
    kw_cell *cells;
    kw_check check;
    kw_wait wait;
    uint64_t sent_ns;
    kw_write_if_done done;
    void *user;
} compared;

static void begin(compared *op);

static void
answer(compared *op, kw_outcome outcome, bool applied, const kw_error *error)
{
    kw_write_if_done done = op->done;
    void *user = op->user;
    kw_arena_free(op->arena);
    done(user, outcome, applied, error);
}

static void
answer_marked(void *user, kw_outcome outcome, bool applied, const kw_error *error)
{
    answer(user, outcome, applied, error);
}

static void
fail(compared *op, const kw_error *error)
{
    answer(op, error->maybe_applied ? KW_OUTCOME_UNKNOWN : KW_OUTCOME_FAILED, false, error);
}

static void
fail_wait(compared *op, kw_wait_result result)
{
    kw_error error;
    kw_wait_error(op->handle, result, "the record was written", false, &error);
    fail(op, &error);
}

/* --- outcome unknown -------------------------------------------------------------------------- */

static void
on_generation_read(void *user, kw_rows *rows, const kw_error *error)
{
    compared *op = user;
    kw_error doubt;
    kw_error_set(&doubt, KW_UNAVAILABLE,
                 "table %s: the store did not confirm in time that the record was written",
                 kw_show(op->write.table).text);
    doubt.maybe_applied = true;
    const kw_cell *on_read =
        error ? NULL : kw_control_find(op->ordering, &rows->rows[0], KW_CONTROL_GENERATION);
    bool own = on_read && kw_bytes_equal(on_read->value, op->cells[op->write.cells_count - 1].value);
    kw_rows_free(rows);
    if (own)
        answer(op, KW_OUTCOME_OK, true, NULL);
    else
        fail(op, &doubt);
}

static void
read_generation(compared *op)
{
    op->get.columns = KW_ARENA_NEW(op->arena, kw_column);
    *(kw_column *)op->get.columns = (kw_column){op->ordering->family, KW_CONTROL_GENERATION, false};
    op->get.columns_count = 1;
    kw_store_handle_get(op->handle->inner, &op->get, on_generation_read, op);
}

/* --- the write -------------------------------------------------------------------------------- */

static void
on_retry(void *user, kw_wait_result result)
{
    compared *op = user;
    if (result == KW_WAIT_DONE)
        begin(op);
    else
        fail_wait(op, result);
}

/* Another writer has changed kw:g since it was read: nothing was written. */
static void
try_again(compared *op)
{
    kw_error error;
    if (++op->attempts == KW_ORDER_TRIES_MAX) {
        kw_error_set(&error, KW_BUSY,
                     "table %s: too many concurrent writes to the counters of this record; try again later",
                     kw_show(op->write.table).text);
        fail(op, &error);
        return;
    }
    kw_wait_and_retry(op->handle, &op->wait, op->write.deadline, on_retry, op);
}

static void
written(void *user, kw_outcome outcome, bool applied, const kw_error *error)
{
    compared *op = user;
    uint64_t first_attempt_ns = (uint64_t)op->handle->settings->client_pause_ms * 1000000;
    bool first = kw_clock_mono_ns() - op->sent_ns < first_attempt_ns;
    if (outcome == KW_OUTCOME_FAILED)
        fail(op, error);
    else if (outcome == KW_OUTCOME_OK && applied)
        answer(op, KW_OUTCOME_OK, true, NULL);
    else if (outcome == KW_OUTCOME_UNKNOWN || !first)
        read_generation(op);
    else if (op->by_generation)
        try_again(op);
    else
        answer(op, KW_OUTCOME_OK, false, NULL);
}

static void
send_write(compared *op)
{
    size_t last = op->write.cells_count - 1;
    op->cells[last] = kw_control_cell(op->ordering, KW_CONTROL_GENERATION, kw_random_u64(), 0, op->arena);
    op->sent_ns = kw_clock_mono_ns();
    kw_store_handle_write_if(op->handle->inner, &op->write, &op->check, written, op);
}

/* --- the values to compare -------------------------------------------------------------------- */

static void
on_clock_passed(void *user, kw_wait_result result)
{
    compared *op = user;
    if (result == KW_WAIT_DONE)
        send_write(op);
    else
        fail_wait(op, result);
}

/* True if the write has only counters and kw:g is as new as they are: then the store stamps the write no
 * lower than kw:g. */
static bool
is_above_all(const compared *op, const kw_row *row, int64_t newest_ms)
{
    const kw_cell *generation = kw_control_find(op->ordering, row, KW_CONTROL_GENERATION);
    return op->write.counters == op->write.cells_count - 1 && generation &&
           generation->timestamp == newest_ms;
}

static void
wait_to_write(compared *op, int64_t newest_ms)
{
    kw_span span;
    int64_t skew_ns = op->handle->settings->max_clock_skew_ms * KW_NS_PER_MS;
    op->wait = (kw_wait){.until_time_ns = kw_order_ns(newest_ms + 1) + skew_ns,
                         .deadline = op->write.deadline,
                         .done = on_clock_passed,
                         .user = op};
    bool known = kw_store_time_estimate(kw_order_store_of(op->handle)->inner, &span);
    int64_t left_ms = known ? (op->wait.until_time_ns - span.earliest_ns) / KW_NS_PER_MS : 0;
    if (newest_ms < 0) {
        send_write(op);
        return;
    }
    if (left_ms > kw_deadline_left_ms(op->write.deadline)) {
        kw_error error;
        kw_error_set(&error, KW_REFUSED,
                     "table %s: a counter of this record is %lld ms ahead of the store's clock; try again "
                     "after this time",
                     kw_show(op->write.table).text, (long long)left_ms);
        error.retry_after_ms = (uint32_t)MIN(left_ms, 60000);
        fail(op, &error);
        return;
    }
    kw_wait_and_call(op->handle, &op->wait);
}

static int64_t
newest_of(const kw_row *row)
{
    int64_t newest_ms = -1;
    for (uint32_t i = 0; i < row->cells_count; i++)
        newest_ms = MAX(newest_ms, row->cells[i].timestamp);
    return newest_ms;
}

static bool
is_met(const compared *op, const kw_row *row)
{
    return !op->has_condition || kw_check_is_met(&op->condition, kw_row_find_cell(row, op->condition.family,
                                                                                  op->condition.qualifier));
}

static void
on_read(void *user, kw_rows *rows, const kw_error *error)
{
    compared *op = user;
    if (error) {
        fail(op, error);
        return;
    }
    const kw_row *row = &rows->rows[0];
    bool met = is_met(op, row);
    int64_t newest_ms = newest_of(row);
    if (is_above_all(op, row, newest_ms))
        newest_ms = -1;
    op->check = kw_control_unchanged(op->ordering, KW_CONTROL_GENERATION, row, op->arena);
    kw_rows_free(rows);
    if (met)
        wait_to_write(op, newest_ms);
    else
        answer(op, KW_OUTCOME_OK, false, NULL);
}

/* --- start ------------------------------------------------------------------------------------ */

static void
begin(compared *op)
{
    if (op->by_generation)
        kw_store_handle_get(op->handle->inner, &op->get, on_read, op);
    else
        send_write(op);
}

/* The get reads kw:g, the counters to write, and the counter to compare. */
static void
prepare_get(compared *op, const kw_write *write)
{
    kw_column *columns = KW_ARENA_ARRAY(op->arena, kw_column, write->counters + 2);
    size_t count = 0;
    columns[count++] = (kw_column){op->ordering->family, KW_CONTROL_GENERATION, false};
    for (size_t i = 0; i < write->counters; i++)
        columns[count++] = (kw_column){write->cells[i].family, write->cells[i].qualifier, false};
    op->get =
        (kw_get){.table = write->table, .row = write->row, .max_versions = 1, .deadline = write->deadline};
    op->get.columns = columns;
    op->get.columns_count = count;
    if (op->has_condition)
        columns[op->get.columns_count++] = (kw_column){op->condition.family, op->condition.qualifier, false};
}

static compared *
op_new(kw_order_handle *handle, const kw_write *write, kw_write_if_done done, void *user)
{
    kw_arena *arena = kw_arena_new_for(NULL, KW_MEMORY_STORE);
    compared *op = KW_ARENA_NEW(arena, compared);
    *op =
        (compared){.handle = handle, .arena = arena, .ordering = write->ordering, .done = done, .user = user};
    op->cells = KW_ARENA_ARRAY(arena, kw_cell, write->cells_count + 2);
    memcpy(op->cells, write->cells, write->cells_count * sizeof *op->cells);
    op->write = *write;
    op->write.ordering = NULL;
    op->write.cells = op->cells;
    if (write->ordering->regime.marks)
        op->cells[op->write.cells_count++] = kw_control_writer(write->ordering, 0, kw_random_u64(), 0, arena);
    op->write.cells_count++;
    return op;
}

/* A conditional write with a timestamp of its caller, in a table with kw:w: it writes kw:w, too. */
static void
write_marked_if(kw_order_handle *handle, const kw_write *write, const kw_check *check, kw_write_if_done done,
                void *user)
{
    kw_arena *arena = kw_arena_new_for(NULL, KW_MEMORY_STORE);
    compared *op = KW_ARENA_NEW(arena, compared);
    *op = (compared){.arena = arena, .done = done, .user = user};
    op->write = kw_order_mark(handle, write, arena);
    kw_store_handle_write_if(handle->inner, &op->write, check, answer_marked, op);
}

typedef struct put_counters {
    kw_write_done done;
    void *user;
} put_counters;

static void
put_done(void *user, kw_outcome outcome, bool applied, const kw_error *error)
{
    put_counters put = *(put_counters *)user;
    (void)applied;
    g_free(user);
    put.done(put.user, outcome, error);
}

void
kw_order_put_counters(kw_order_handle *handle, const kw_write *write, kw_write_done done, void *user)
{
    g_assert(write->kind == KW_WRITE_PUT && write->counters > 0);
    put_counters *put = g_new(put_counters, 1);
    *put = (put_counters){done, user};
    compared *op = op_new(handle, write, put_done, put);
    op->by_generation = true;
    prepare_get(op, write);
    begin(op);
}

void
kw_order_write_if(kw_store_handle *base, const kw_write *write, const kw_check *check, kw_write_if_done done,
                  void *user)
{
    kw_order_handle *handle = kw_order_handle_of(base);
    bool ordered = write->ordering && write->timestamp == KW_TIMESTAMP_NONE;
    if (write->ordering && kw_stamps_writer(write->ordering)) {
        kw_order_cas_write(handle, write, check, done, user);
        return;
    }
    if (write->ordering && write->ordering->regime.marks && !ordered) {
        write_marked_if(handle, write, check, done, user);
        return;
    }
    if (!ordered || write->ordering->regime.order != KW_WRITE_ORDER_STORE) {
        handle->inner->class->write_if(handle->inner, write, check, done, user);
        return;
    }
    compared *op = op_new(handle, write, done, user);
    op->condition = op->check = *check;
    op->has_condition = op->by_generation = check->counter;
    prepare_get(op, write);
    begin(op);
}
