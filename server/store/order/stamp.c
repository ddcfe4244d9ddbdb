/* Writes of any number of records with order: stamp. The gateway gives all rows of a record the same
 * timestamp.
 *
 *   the store's clock is known --> stamp each record --> write --> check puts with unknown outcome
 *        |                                                              |
 *        '-- unknown: UNAVAILABLE                                       v
 *                                  wait until the clock has surely passed the stamps --> answer
 *
 * A put is sent once. If it were sent again, the first attempt could arrive after another put of the same
 * millisecond and undo it. So if its reply is lost, the gateway reads whether the put or a newer value is
 * there; otherwise the outcome is UNKNOWN. A removal can be sent again, because it always hides the same
 * cells. It leaves a readable cell one millisecond after its delete markers, which would hide the cell
 * otherwise. If the store has certainly not applied the write of one row, for example because it was
 * overloaded, while another row of the record may have been written, the first row is sent again.
 */
#include "store/order/order_internal.h"

#include "store/check.h"
#include "store/refuse.h"

typedef struct stamping {
    kw_order_handle *handle;
    kw_arena *arena;
    const kw_write *const *writes; /* the caller's */
    size_t count;
    kw_written *results; /* the caller's */
    kw_write *copies;    /* with stamps */
    const kw_write **stamped;
    size_t *indexes; /* of the copies in the writes */
    size_t sent;
    kw_written *written;
    kw_wait wait;
    size_t checks;
    const kw_get **gets;
    size_t *doubtful_copies; /* copies that are being checked, or sent again */
    size_t doubtful_count;
    void (*done)(void *user);
    void *user;
} stamping;

static void
answer(stamping *op)
{
    void (*done)(void *) = op->done;
    void *user = op->user;
    kw_arena_free(op->arena);
    done(user);
}

static void
fail(stamping *op, size_t index, kw_outcome outcome, const kw_error *error)
{
    op->results[index] = (kw_written){.outcome = outcome, .error = *error};
}

static bool
is_removal(const kw_write *write)
{
    return write->kind == KW_WRITE_DELETE;
}

/* --- the wait for the stamps ------------------------------------------------------------------ */

static void
on_clock_passed(void *user, kw_wait_result result)
{
    stamping *op = user;
    kw_error error;
    for (size_t i = 0; result != KW_WAIT_DONE && i < op->sent; i++) {
        kw_written *written = &op->results[op->indexes[i]];
        if (written->outcome != KW_OUTCOME_OK)
            continue;
        kw_wait_error(op->handle, result, "the store's clock passed the write", true, &error);
        *written = (kw_written){.outcome = KW_OUTCOME_UNKNOWN, .error = error};
    }
    answer(op);
}

/* True if later writes must get a higher stamp: HBase's delete marker also hides a later put of the same
 * millisecond. */
static bool
waits_for_next_ms(const kw_write *write)
{
    return is_removal(write) || write->ordering->regime.waits_for_next_ms;
}

static void
wait_for_stamps(stamping *op)
{
    int64_t most_ms = -1;
    for (size_t i = 0; i < op->sent; i++)
        if (op->results[op->indexes[i]].outcome == KW_OUTCOME_OK)
            most_ms = MAX(most_ms, op->copies[i].timestamp + waits_for_next_ms(&op->copies[i]));
    if (most_ms < 0) {
        answer(op);
        return;
    }
    op->wait = (kw_wait){.until_time_ns = most_ms * KW_NS_PER_MS,
                         .known = true,
                         .deadline = op->copies[0].deadline,
                         .done = on_clock_passed,
                         .user = op};
    kw_wait_and_call(op->handle, &op->wait);
}

/* --- writes in doubt -------------------------------------------------------------------------- */

static void check_later(stamping *op);

static kw_written *
result_of(const stamping *op, size_t copy)
{
    return &op->results[op->indexes[copy]];
}

static bool
is_doubtful(const stamping *op, size_t copy)
{
    return result_of(op, copy)->outcome == KW_OUTCOME_UNKNOWN && !is_removal(&op->copies[copy]);
}

/* The index after the last row of the record that has this row. */
static size_t
end_of_record(const stamping *op, size_t copy)
{
    size_t end = copy + 1;
    while (end < op->sent && op->copies[copy].record && op->copies[end].record == op->copies[copy].record)
        end++;
    return end;
}

static bool
is_certainly_unsent(const kw_written *result)
{
    bool later = result->error.code == KW_BUSY || result->error.code == KW_UNAVAILABLE;
    return result->outcome == KW_OUTCOME_FAILED && later;
}

/* Lists those rows of a record that the store refused although another row of it may have been written. They
 * are sent again, because otherwise the outcome would be UNKNOWN. Rows of earlier steps must have been
 * written. */
static void
list_left_out(stamping *op, size_t first, size_t end)
{
    bool elsewhere = false;
    unsigned not_before = UINT_MAX; /* the first step with a row that is not certainly written */
    for (size_t i = first; i < end; i++) {
        kw_outcome outcome = result_of(op, i)->outcome;
        elsewhere = elsewhere || outcome != KW_OUTCOME_FAILED;
        if (outcome != KW_OUTCOME_OK)
            not_before = MIN(not_before, op->copies[i].step);
    }
    for (size_t i = first; elsewhere && i < end; i++)
        if (op->copies[i].step == not_before && is_certainly_unsent(result_of(op, i)))
            op->doubtful_copies[op->doubtful_count++] = i;
}

static bool
any_left_out(stamping *op)
{
    op->doubtful_count = 0;
    for (size_t first = 0, end; first < op->sent; first = end) {
        end = end_of_record(op, first);
        list_left_out(op, first, end);
    }
    return op->doubtful_count > 0;
}

static void
on_checked(void *user, kw_rows *rows, const kw_error *error)
{
    stamping *op = user;
    for (size_t i = 0; !error && i < op->doubtful_count; i++) {
        size_t at = op->doubtful_copies[i];
        if (kw_order_put_is_applied(&op->copies[at], &rows->rows[i], op->arena))
            op->results[op->indexes[at]].outcome = KW_OUTCOME_OK;
    }
    kw_rows_free(rows);
    check_later(op);
}

/* Checks the rows of one table; those of other tables are checked the next time. */
static void
check_doubtful(stamping *op)
{
    op->doubtful_count = 0;
    for (size_t i = 0; i < op->sent; i++) {
        const kw_write *put = &op->copies[i];
        if (!is_doubtful(op, i) ||
            (op->doubtful_count && !kw_bytes_equal(put->table, op->copies[op->doubtful_copies[0]].table)))
            continue;
        kw_get *get = KW_ARENA_NEW(op->arena, kw_get);
        *get = (kw_get){.table = put->table, .row = put->row, .max_versions = 1, .deadline = put->deadline};
        op->gets[op->doubtful_count] = get;
        op->doubtful_copies[op->doubtful_count++] = i;
    }
    if (op->doubtful_count)
        kw_store_handle_get_many(op->handle->inner, op->gets, op->doubtful_count, on_checked, op);
    else
        check_later(op);
}

static void
on_sent_again(void *user)
{
    stamping *op = user;
    for (size_t i = 0; i < op->doubtful_count; i++)
        *result_of(op, op->doubtful_copies[i]) = op->written[i];
    check_doubtful(op);
}

/* Sends the rows again that were left out, with their stamps. */
static void
send_left_out(stamping *op)
{
    if (!any_left_out(op)) {
        check_doubtful(op);
        return;
    }
    for (size_t i = 0; i < op->doubtful_count; i++)
        op->stamped[i] = &op->copies[op->doubtful_copies[i]];
    kw_order_send(op->handle, op->arena, op->stamped, op->doubtful_count, op->written, on_sent_again, op);
}

static void
on_check_time(void *user, kw_wait_result result)
{
    stamping *op = user;
    if (result == KW_WAIT_DONE)
        send_left_out(op);
    else
        wait_for_stamps(op);
}

static void
check_later(stamping *op)
{
    bool later = any_left_out(op);
    for (size_t i = 0; i < op->sent && !later; i++)
        later = is_doubtful(op, i);
    if (!later || op->checks == KW_ORDER_CHECKS) {
        wait_for_stamps(op);
        return;
    }
    size_t check = op->checks++;
    kw_wait_and_check(op->handle, &op->wait, check, op->copies[0].deadline, on_check_time, op);
}

/* --- the writes ------------------------------------------------------------------------------- */

static void
written(void *user)
{
    stamping *op = user;
    for (size_t i = 0; i < op->sent; i++)
        op->results[op->indexes[i]] = op->written[i];
    check_later(op);
}

/* Adds kw:w. */
static void
prepare_put(const stamping *op, uint64_t id, kw_write *put)
{
    if (!kw_writes_writer(put->ordering))
        return;
    kw_cell *cells = KW_ARENA_ARRAY(op->arena, kw_cell, put->cells_count + 1);
    memcpy(cells, put->cells, put->cells_count * sizeof *cells);
    cells[put->cells_count] = kw_control_writer(put->ordering, put->timestamp, id, put->timestamp, op->arena);
    put->cells = cells;
    put->cells_count++;
}

/* Adds kw:w to a removal: an atomic operation that has read the row before the removal must find it. This
 * kw:w expires even if the gone cells do not, because a sweep does not always remove it with them. */
static void
prepare_writer(const stamping *op, uint64_t id, kw_write *removal, kw_cell *ret_cell)
{
    *ret_cell =
        kw_control_writer(removal->ordering, removal->timestamp, id, removal->timestamp + 1, op->arena);
    removal->lasting_cells_count = removal->extra_cells_ttl_ms ? 0 : removal->extra_cells_count;
    removal->extra_cells_count++;
    removal->deadline = MIN(removal->deadline, kw_deadline_in_ms(KW_ORDER_WINDOW_MS));
    removal->extra_cells_ttl_ms = kw_order_writer_ttl_ms(op->handle->settings);
}

/* Adds the gone cells and kw:w to a removal. The removal itself becomes the delete markers, which remove
 * cells up to the stamp. */
static void
prepare_removal(const stamping *op, uint64_t id, kw_write *removal)
{
    const kw_ordering *ordering = removal->ordering;
    size_t count = MAX(removal->columns_count, 1);
    kw_cell *cells = KW_ARENA_ARRAY(op->arena, kw_cell, count + 1);
    uint64_t until = (uint64_t)removal->timestamp;
    for (size_t i = 0; i < count; i++) {
        kw_bytes name = removal->columns_count ? kw_control_gone_column(&removal->columns[i], op->arena)
                                               : KW_CONTROL_GONE;
        cells[i] = kw_control_cell(ordering, name, until, removal->timestamp + 1, op->arena);
    }
    removal->extra_cells = cells;
    removal->extra_cells_count = count;
    removal->extra_cells_ttl_ms = ordering->regime.keeps_gone ? 0 : op->handle->settings->late_ms;
    if (kw_writes_writer(ordering))
        prepare_writer(op, id, removal, &cells[count]);
}

/* Reserves one stamp for all rows of a record. It is reserved for each of the rows: while the key rule
 * changes, other writes of the record can begin with another row. */
static int64_t
reserve_stamp(const stamping *op, size_t first, size_t count, int64_t stamp_ms, bool exclusive)
{
    kw_bytes *rows = KW_ARENA_ARRAY(op->arena, kw_bytes, count);
    for (size_t i = 0; i < count; i++)
        rows[i] = op->writes[first + i]->row;
    return kw_order_reserve(op->handle, rows, count, stamp_ms, exclusive, op->arena);
}

static size_t
rows_of(const stamping *op, size_t first)
{
    size_t next = first + 1;
    while (next < op->count && op->writes[first]->record &&
           op->writes[next]->record == op->writes[first]->record)
        next++;
    return next - first;
}

/* Gives all rows of a record the same stamp. For a record with several rows, and for a removal, the stamp is
 * exclusive: no later write of the record in this process gets it. */
static void
stamp_record(stamping *op, size_t first, size_t count, int64_t now_ms)
{
    const kw_write *write = op->writes[first];
    int64_t stamp_ms = reserve_stamp(op, first, count, now_ms, count > 1 || is_removal(write));
    kw_error error;
    if (stamp_ms > now_ms + KW_ORDER_AHEAD_MS) {
        kw_error_set(
            &error, KW_BUSY,
            "table %s: a record is written too often, more than once per millisecond; try again later",
            kw_show(write->table).text);
        error.retry_after_ms = KW_ORDER_AHEAD_MS;
        for (size_t i = 0; i < count; i++)
            fail(op, first + i, KW_OUTCOME_FAILED, &error);
        return;
    }
    uint64_t id = kw_random_u64();
    for (size_t i = 0; i < count; i++) {
        kw_write *copy = &op->copies[op->sent];
        *copy = *op->writes[first + i];
        copy->timestamp = stamp_ms;
        copy->once = !is_removal(copy);
        if (is_removal(copy))
            prepare_removal(op, id, copy);
        else
            prepare_put(op, id, copy);
        op->stamped[op->sent] = copy;
        op->indexes[op->sent++] = first + i;
    }
}

static void
on_none_sent(void *user)
{
    answer(user);
}

static void
send_all(stamping *op)
{
    int64_t now_ms = op->wait.span.latest_ns / KW_NS_PER_MS;
    for (size_t first = 0, count; first < op->count; first += count) {
        count = rows_of(op, first);
        stamp_record(op, first, count, now_ms);
    }
    if (op->sent)
        kw_order_send(op->handle, op->arena, op->stamped, op->sent, op->written, written, op);
    else
        kw_complete_later(&op->handle->base, on_none_sent, op);
}

/* --- the clock -------------------------------------------------------------------------------- */

static void
on_time_known(void *user, kw_wait_result result)
{
    stamping *op = user;
    kw_error error;
    if (result == KW_WAIT_DONE) {
        send_all(op);
        return;
    }
    kw_wait_error(op->handle, result, "the store's clock was known", false, &error);
    for (size_t i = 0; i < op->count; i++)
        fail(op, i, KW_OUTCOME_FAILED, &error);
    answer(op);
}

void
kw_order_stamp(kw_order_handle *handle, const kw_write *const *writes, size_t count, kw_written *results,
               void (*done)(void *user), void *user)
{
    g_assert(count > 0);
    kw_arena *arena = kw_arena_new_for(NULL, KW_MEMORY_STORE);
    stamping *op = KW_ARENA_NEW(arena, stamping);
    *op = (stamping){.handle = handle,
                     .arena = arena,
                     .writes = writes,
                     .count = count,
                     .results = results,
                     .copies = KW_ARENA_ARRAY(arena, kw_write, count),
                     .stamped = KW_ARENA_ARRAY(arena, const kw_write *, count),
                     .indexes = KW_ARENA_ARRAY(arena, size_t, count),
                     .written = KW_ARENA_ARRAY(arena, kw_written, count),
                     .gets = KW_ARENA_ARRAY(arena, const kw_get *, count),
                     .doubtful_copies = KW_ARENA_ARRAY(arena, size_t, count),
                     .done = done,
                     .user = user};
    for (size_t i = 0; i < count; i++)
        results[i] = (kw_written){.outcome = KW_OUTCOME_OK};
    if (kw_wait_for_clock(handle, &op->wait, writes[0]->deadline, on_time_known, op))
        send_all(op);
}
