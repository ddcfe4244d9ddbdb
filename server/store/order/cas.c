/* One round of atomic operations: see cas.h. */
#include "store/order/cas.h"

#include "store/check.h"

/* A compare is sent at most this many times while it gets no answer. */
#define COMPARES_MAX 5

static void send_compare(kw_cas_round *round);

/* --- the end ------------------------------------------------------------------------------------ */

void
kw_cas_fail(kw_cas_round *round, const kw_error *error)
{
    kw_error failure = *error;
    failure.maybe_applied = failure.maybe_applied || round->doubtful;
    kw_cas_finish(round, failure.maybe_applied ? KW_OUTCOME_UNKNOWN : KW_OUTCOME_FAILED, &failure);
}

void
kw_cas_fail_wait(kw_cas_round *round, kw_wait_result result)
{
    kw_error error;
    kw_wait_error(round->handle, result, "the record was written", false, &error);
    kw_cas_fail(round, &error);
}

static void
fail_unknown(kw_cas_round *round)
{
    kw_error error;
    kw_error_set(&error, KW_UNAVAILABLE,
                 "table %s: the store did not confirm in time that the record was written",
                 kw_show(round->put.table).text);
    error.maybe_applied = true;
    kw_cas_fail(round, &error);
}

static bool
is_stamped(const kw_cas_round *round)
{
    return kw_stamps_writer(round->put.ordering);
}

static void
on_applied(kw_cas_round *round)
{
    kw_cas_release(round);
    if (is_stamped(round))
        kw_cas_write_others(round);
    else
        kw_cas_finish(round, KW_OUTCOME_OK, NULL);
}

static void
refuse_often(kw_cas_round *round, const char *how_often)
{
    kw_error error;
    kw_error_set(&error, KW_BUSY, "table %s: a record is written too often, %s; try again later",
                 kw_show(round->put.table).text, how_often);
    error.retry_after_ms = KW_ORDER_AHEAD_MS;
    kw_cas_fail(round, &error);
}

/* --- again -------------------------------------------------------------------------------------- */

static void
on_retry(void *user, kw_wait_result result)
{
    kw_cas_round *round = user;
    if (result == KW_WAIT_DONE) {
        kw_cas_absorb(round);
        kw_cas_begin(round);
    } else {
        kw_cas_fail_wait(round, result);
    }
}

/* The preceding puts are written again with each attempt. */
static bool
is_tried_too_often(kw_cas_round *round)
{
    const kw_cas_op *first = round->ops.head->data;
    return first->derivation && ++round->tries == KW_ORDER_TRIES_MAX;
}

/* Another write came after the read, and the compare was not applied; or it was too late for the compare. */
void
kw_cas_begin_again(kw_cas_round *round)
{
    if (is_tried_too_often(round)) {
        refuse_often(round, "each time between the read and the write of this call");
        return;
    }
    kw_rows_free(g_steal_pointer(&round->rows));
    round->derived_is_known = round->preceding_is_written = false;
    round->doubtful = false;
    round->sent = 0;
    kw_wait_and_retry(round->handle, &round->wait, round->deadline, on_retry, round);
}

static void
on_send_again(void *user, kw_wait_result result)
{
    if (result == KW_WAIT_DONE)
        send_compare(user);
    else
        kw_cas_fail_wait(user, result);
}

/* --- in doubt ----------------------------------------------------------------------------------- */

/* True if KW_ORDER_WINDOW_MS have passed since the read. The kw:w of a removal that came after the read
 * expires some time later (kw_order_writer_ttl_ms). After that, the row can look unchanged although it was
 * removed. */
bool
kw_cas_is_too_late(const kw_cas_round *round)
{
    return kw_clock_mono_ns() > round->read_ns + KW_ORDER_WINDOW_MS * (uint64_t)KW_NS_PER_MS;
}

static bool
is_unchanged(const kw_cas_round *round, const kw_cell *writer)
{
    if (!writer || !round->unchanged.has_value)
        return !writer && !round->unchanged.has_value;
    return kw_bytes_equal(writer->value, round->unchanged.value);
}

/* If kw:w has the id of this compare, the compare was applied. If kw:w has changed and has a lower timestamp,
 * the compare was not applied and never will be, because it compares with the former kw:w. Without a stamp,
 * that cannot be known: the compare can have been applied before the newer kw:w. If kw:w is unchanged and the
 * compare got no answer, it can be sent again, because at most one of the two can be applied. */
static void
decide_doubt(kw_cas_round *round, const kw_cell *writer)
{
    bool changed = !is_unchanged(round, writer);
    if (writer && kw_bytes_equal(writer->value, round->writer))
        on_applied(round);
    else if (kw_cas_is_too_late(round))
        fail_unknown(round);
    else if (changed && is_stamped(round) && writer && writer->timestamp < round->put.timestamp)
        kw_cas_begin_again(round);
    else if (!changed && round->answer_lost && round->sent < COMPARES_MAX)
        kw_wait_and_retry(round->handle, &round->wait, round->deadline, on_send_again, round);
    else
        fail_unknown(round);
}

static void
on_writer(void *user, kw_rows *rows, const kw_error *error)
{
    kw_cas_round *round = user;
    if (error)
        fail_unknown(round);
    else
        decide_doubt(round, kw_control_find(round->put.ordering, &rows->rows[0], KW_CONTROL_WRITER));
    kw_rows_free(rows);
}

static void
read_writer(kw_cas_round *round)
{
    kw_column *column = KW_ARENA_NEW(round->arena, kw_column);
    *column = (kw_column){round->put.ordering->family, KW_CONTROL_WRITER, false};
    round->get.columns = column;
    round->get.columns_count = 1;
    kw_store_handle_get(round->handle->inner, &round->get, on_writer, round);
}

/* --- compare ------------------------------------------------------------------------------------ */

/* True if this round has sent the compare once, and the store's own client cannot have repeated it yet. */
static bool
is_first_attempt(const kw_cas_round *round)
{
    uint64_t pause_ns = (uint64_t)round->handle->settings->client_pause_ms * KW_NS_PER_MS;
    return round->sent == 1 && kw_clock_mono_ns() - round->sent_ns < pause_ns;
}

static void
on_compared(void *user, kw_outcome outcome, bool applied, const kw_error *error)
{
    kw_cas_round *round = user;
    round->answer_lost = outcome == KW_OUTCOME_UNKNOWN;
    if (outcome == KW_OUTCOME_OK && applied) {
        on_applied(round);
    } else if (outcome == KW_OUTCOME_OK && is_first_attempt(round)) {
        kw_cas_begin_again(round);
    } else if (outcome == KW_OUTCOME_FAILED) {
        kw_cas_fail(round, error);
    } else {
        round->doubtful = true;
        read_writer(round);
    }
}

static void
send_compare(kw_cas_round *round)
{
    round->sent++;
    round->sent_ns = kw_clock_mono_ns();
    kw_store_handle_write_if(round->handle->inner, &round->put, &round->unchanged, on_compared, round);
}

void
kw_cas_compare(kw_cas_round *round, kw_bytes writer)
{
    kw_write *put = &round->put;
    put->deadline = MIN(round->deadline, round->read_ns + KW_ORDER_WINDOW_MS * (uint64_t)KW_NS_PER_MS);
    round->writer = writer;
    round->unchanged =
        kw_control_unchanged(put->ordering, KW_CONTROL_WRITER, &round->rows->rows[0], round->arena);
    send_compare(round);
}

/* The cells get the timestamp that the caller has chosen. While a key rule changes, the write leaves a trace,
 * as a put does (trace.c). kw:w cannot replace the trace: every write has a kw:w, so passes do not take it as
 * a sign that they must read the older cells of the row. */
static void
give_timestamps(kw_cas_round *round, kw_cell *cells)
{
    kw_write *put = &round->put;
    int64_t now_ms = round->time.latest_ns / KW_NS_PER_MS;
    put->own_timestamps = true;
    for (size_t i = 0; i < put->cells_count; i++)
        cells[i].timestamp = round->callers_stamp_ms;
    if (kw_leaves_traces(put->ordering))
        cells[put->cells_count++] = kw_control_cell(put->ordering, KW_CONTROL_TRACE,
                                                    (uint64_t)round->callers_stamp_ms, now_ms, round->arena);
}

/* Removes the columns that a derived write has found absent, up to one millisecond below the stamp: so a put
 * with a lower stamp that arrives later does not show in them, and one with this stamp shows whole. */
static void
remove_absent(kw_cas_round *round, kw_cell *cells, int64_t stamp_ms)
{
    kw_write *put = &round->put;
    const kw_derived *derived = &round->derived;
    kw_marker *markers = KW_ARENA_ARRAY(round->arena, kw_marker, derived->absent_count);
    kw_cell *gone = KW_ARENA_ARRAY(round->arena, kw_cell, derived->absent_count);
    for (size_t i = 0; i < derived->absent_count; i++) {
        const kw_column *column = &derived->absent[i];
        markers[i] = (kw_marker){.column = *column, .until_ms = stamp_ms - 1};
        gone[i] = kw_control_cell(put->ordering, kw_control_gone_column(column, round->arena),
                                  (uint64_t)(stamp_ms - 1), stamp_ms, round->arena);
    }
    for (size_t i = 0; i < put->cells_count; i++)
        cells[i].timestamp = stamp_ms;
    put->own_timestamps = true;
    put->markers = markers;
    put->markers_count = derived->absent_count;
    put->extra_cells = gone;
    put->extra_cells_count = derived->absent_count;
    put->extra_cells_ttl_ms = put->ordering->regime.keeps_gone ? 0 : round->handle->settings->late_ms;
}

/* Adds kw:w. If the caller has chosen a timestamp, only kw:w has the stamp. */
static void
compare_with(kw_cas_round *round, int64_t stamp_ms)
{
    kw_write *put = &round->put;
    kw_cell *cells = KW_ARENA_ARRAY(round->arena, kw_cell, put->cells_count + 2);
    memcpy(cells, put->cells, put->cells_count * sizeof *cells);
    put->own_timestamps = false;
    if (round->callers_stamp_ms != KW_TIMESTAMP_NONE)
        give_timestamps(round, cells);
    kw_cell writer = kw_control_writer(put->ordering, stamp_ms, kw_random_u64(), stamp_ms, round->arena);
    cells[put->cells_count++] = writer;
    put->cells = cells;
    if (round->derived_is_known && round->derived.absent_count)
        remove_absent(round, cells, stamp_ms);
    put->timestamp = stamp_ms;
    kw_cas_compare(round, writer.value);
}

/* --- the stamp ---------------------------------------------------------------------------------- */

static void
on_seen_passed(void *user, kw_wait_result result)
{
    if (result == KW_WAIT_DONE)
        kw_cas_finish(user, KW_OUTCOME_OK, NULL);
    else
        kw_cas_fail_wait(user, result);
}

/* Nothing is written. As after every read of stamped cells, the answer waits until the clock has passed the
 * timestamps that were read. */
static void
answer_unmet(kw_cas_round *round)
{
    if (!is_stamped(round)) {
        kw_cas_finish(round, KW_OUTCOME_OK, NULL);
        return;
    }
    round->wait = (kw_wait){.until_time_ns = kw_order_ns(kw_cas_newest_seen(round)),
                            .known = true,
                            .deadline = round->deadline,
                            .done = on_seen_passed,
                            .user = round};
    kw_wait_and_call(round->handle, &round->wait);
}

/* True if the record's rows can get its writes in different orders. */
static bool
has_several_orders(const kw_cas_round *round)
{
    return round->others_count || round->put.ordering->regime.waits_for_next_ms;
}

static void
write_with(kw_cas_round *round, int64_t least_ms, int64_t most_ms)
{
    int64_t stamp_ms = least_ms;
    if (has_several_orders(round)) {
        kw_bytes *rows = KW_ARENA_ARRAY(round->arena, kw_bytes, round->others_count + 1);
        for (size_t i = 0; i < round->others_count; i++)
            rows[i] = round->others[i].row;
        rows[round->others_count] = round->put.row;
        stamp_ms =
            kw_order_reserve(round->handle, rows, round->others_count + 1, least_ms, true, round->arena);
    }
    if (stamp_ms > most_ms) {
        refuse_often(round, "more than once per millisecond");
        return;
    }
    compare_with(round, stamp_ms);
}

/* REFUSED because of a timestamp that no gateway has given: the write would be hidden, or hide others. */
void
kw_cas_refuse_ahead(kw_cas_round *round, int64_t newest_ms, int64_t left_ms)
{
    kw_error error;
    kw_error_set(&error, KW_REFUSED,
                 "table %s, row %s: its newest timestamp, %lld, is %lld ms ahead of the store's clock; try "
                 "again after this time, or remove the record with this timestamp or a later one (keyway "
                 "remove --timestamp)",
                 kw_show(round->put.table).text, kw_show(round->put.row).text, (long long)newest_ms,
                 (long long)left_ms);
    error.retry_after_ms = (uint32_t)MIN(left_ms, 60000);
    kw_cas_fail(round, &error);
}

static void evaluate(kw_cas_round *round);

/* True if the put must wait for its caller's timestamp; see ahead.c. */
static bool
is_ahead(const kw_cas_round *round)
{
    return round->put.ordering->regime.order == KW_WRITE_ORDER_STAMP &&
           round->callers_stamp_ms != KW_TIMESTAMP_NONE &&
           kw_order_ns(round->callers_stamp_ms) > round->time.earliest_ns;
}

static void
on_time(void *user, kw_wait_result result)
{
    kw_cas_round *round = user;
    if (result != KW_WAIT_DONE) {
        kw_cas_fail_wait(round, result);
        return;
    }
    round->time = round->wait.span;
    evaluate(round);
}

static void
wait_for_time(kw_cas_round *round, int64_t until_time_ns)
{
    round->wait = (kw_wait){.until_time_ns = until_time_ns,
                            .known = true,
                            .deadline = round->deadline,
                            .done = on_time,
                            .user = round};
    kw_wait_and_call(round->handle, &round->wait);
}

static void
wait_for_callers_stamp(kw_cas_round *round)
{
    kw_error error;
    if (kw_order_check_ahead(&round->put, round->callers_stamp_ms, round->deadline, round->time.earliest_ns,
                             &error))
        wait_for_time(round, kw_order_ns(round->callers_stamp_ms));
    else
        kw_cas_fail(round, &error);
}

static void
choose_stamp(kw_cas_round *round)
{
    int64_t earliest_ms = round->time.earliest_ns / KW_NS_PER_MS;
    int64_t latest_ms = round->time.latest_ns / KW_NS_PER_MS;
    int64_t most_ms = latest_ms + KW_ORDER_AHEAD_MS, newest_ms = kw_cas_newest(round);
    int64_t least_ms =
        has_several_orders(round) ? MAX(newest_ms + 1, latest_ms) : MAX(newest_ms, earliest_ms);
    if (is_ahead(round))
        wait_for_callers_stamp(round);
    else if (least_ms <= most_ms)
        write_with(round, least_ms, most_ms);
    else if (newest_ms > most_ms + round->handle->settings->clock_width_ms)
        kw_cas_refuse_ahead(round, newest_ms, newest_ms - latest_ms);
    else
        wait_for_time(round, kw_order_ns(least_ms - KW_ORDER_AHEAD_MS));
}

static void
evaluate(kw_cas_round *round)
{
    if (!kw_cas_evaluate(round))
        answer_unmet(round);
    else if (round->derived.preceding_count && !round->preceding_is_written)
        kw_cas_write_preceding(round);
    else if (is_stamped(round))
        choose_stamp(round);
    else
        kw_cas_write_unstamped(round);
}

void
kw_cas_continue(kw_cas_round *round)
{
    if (is_stamped(round))
        wait_for_time(round, INT64_MIN);
    else
        evaluate(round);
}

/* --- the read ----------------------------------------------------------------------------------- */

static void
on_read(void *user, kw_rows *rows, const kw_error *error)
{
    kw_cas_round *round = user;
    round->rows = rows;
    if (error)
        kw_cas_fail(round, error);
    else
        kw_cas_continue(round);
}

void
kw_cas_begin(kw_cas_round *round)
{
    g_assert(round->ops.length > 0 && round->row);
    kw_cas_prepare_get(round);
    round->read_ns = kw_clock_mono_ns();
    kw_store_handle_get(round->handle->inner, &round->get, on_read, round);
}
