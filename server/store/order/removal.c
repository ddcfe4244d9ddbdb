/* One row's removal where the store gives the timestamps.
 *
 *   puts of the row that were started before have ended (puts.c)
 *      |
 *      v
 *   get the newest timestamp s of what is removed --nothing--> OK
 *      |  ^
 *      |  '---------------------------------- refused, and surely by the first try
 *      v                                                     |
 *   wait until later puts surely get more than s --> delete up to s (if kw:g is as it was read) --> OK
 *                                                            |  ^
 *                                                            '--' in doubt: again with the same s
 *
 * What was put meanwhile has a later timestamp and stays: it counts as put after the removal. An increment or
 * a conditional write that was decided on what is removed would stay as well, so it changes kw:g, and the
 * removal begins again. A refusal that came so late that the store's own client may have sent the delete
 * before says nothing: UNKNOWN.
 */
#include "store/order/order_internal.h"

#include "store/check.h"

/* The server's clock has gone on by more than a millisecond then. */
#define PAUSE_NS (UINT64_C(2) * 1000000)
/* What is older needs no pause. The margin is generous: the clock of the server that holds the record can
 * differ from the store's clock by more than it should, and a pause needs neither. */
#define SURELY_OLD_MS 1000
/* Values are not needed but kw:g's. */
#define NEWEST_FILTER                                                                                        \
    "(QualifierFilter (!=, 'binary:\0kw:g') AND KeyOnlyFilter ()) OR QualifierFilter (=, 'binary:\0kw:g')"

typedef struct removal {
    kw_order_handle *handle;
    kw_arena *arena;
    const kw_write *write;
    unsigned tries;
    bool doubtful; /* the delete may have been applied */
    kw_get get;
    kw_write delete;
    kw_check check;
    kw_wait wait;
    kw_order_turn turn;
    uint64_t sent_ns;
    kw_write_done done;
    void *user;
} removal;

static void ask(removal *op);
static void send_delete(removal *op);

static void
answer(removal *op, kw_outcome outcome, const kw_error *error)
{
    kw_write_done done = op->done;
    void *user = op->user;
    kw_arena_free(op->arena);
    done(user, outcome, error);
}

static void
fail(removal *op, const kw_error *error)
{
    kw_error failure = *error;
    failure.maybe_applied = failure.maybe_applied || op->doubtful;
    answer(op, failure.maybe_applied ? KW_OUTCOME_UNKNOWN : KW_OUTCOME_FAILED, &failure);
}

static void
fail_wait(removal *op, kw_wait_end end)
{
    kw_error error;
    kw_wait_error(op->handle, end, "the record was removed", false, &error);
    fail(op, &error);
}

/* --- delete -------------------------------------------------------------------------------------- */

static void
again(void *user, kw_wait_end end)
{
    removal *op = user;
    if (end != KW_WAIT_OVER)
        fail_wait(op, end);
    else if (op->doubtful)
        send_delete(op);
    else
        ask(op);
}

static void
again_soon(removal *op)
{
    kw_wait_for_others(op->handle, &op->wait, op->write->deadline, again, op);
}

static void
refused(removal *op)
{
    kw_error error;
    uint64_t first_try_ns = (uint64_t)op->handle->settings->client_pause_ms * 1000000;
    bool first = !op->doubtful && kw_clock_mono_ns() - op->sent_ns < first_try_ns;
    if (first && ++op->tries < KW_ORDER_TRIES_MAX) {
        again_soon(op);
        return;
    }
    kw_error_set(&error, KW_UNAVAILABLE, "table %s: the record was changed while it was removed%s",
                 kw_show(op->write->table).text, first ? "" : "; whether it was removed is not certain");
    op->doubtful = op->doubtful || !first;
    fail(op, &error);
}

static void
deleted_if(void *user, kw_outcome outcome, bool applied, const kw_error *error)
{
    removal *op = user;
    if (outcome == KW_OUTCOME_OK && applied) {
        answer(op, KW_OUTCOME_OK, NULL);
    } else if (outcome == KW_OUTCOME_OK) {
        refused(op);
    } else if (outcome == KW_OUTCOME_UNKNOWN && !op->doubtful) {
        op->doubtful = true;
        again_soon(op);
    } else {
        fail(op, error);
    }
}

static void
deleted(void *user, kw_outcome outcome, const kw_error *error)
{
    answer(user, outcome, error);
}

static void
send_delete(removal *op)
{
    op->sent_ns = kw_clock_mono_ns();
    if (op->write->ordering->atomics)
        kw_store_handle_write_if(op->handle->inner, &op->delete, &op->check, deleted_if, op);
    else
        kw_store_handle_write(op->handle->inner, &op->delete, deleted, op);
}

/* --- the wait ------------------------------------------------------------------------------------ */

/* A cell that runs ahead of the store's clock: an increment counts a timestamp up, and callers give some. */
static void
refuse_ahead(removal *op, int64_t newest_ms, int64_t left_ms)
{
    kw_error error;
    kw_error_set(
        &error, KW_REFUSED,
        "table %s, row %s: its newest timestamp, %lld, is %lld ms ahead of the store's clock, and later "
        "writes would be hidden; try again then, or remove it with a later timestamp of your own "
        "(remove --timestamp)",
        kw_show(op->write->table).text, kw_show(op->write->row).text, (long long)newest_ms,
        (long long)left_ms);
    error.retry_after_ms = (uint32_t)MIN(left_ms, 60000);
    fail(op, &error);
}

static void
passed(void *user, kw_wait_end end)
{
    removal *op = user;
    if (end == KW_WAIT_OVER)
        send_delete(op);
    else
        fail_wait(op, end);
}

/* Is the timestamp one that the store's clock cannot have given yet? While it is not known, one that this
 * machine's clock has not reached counts as such: deleted up to it, later puts could be hidden. */
static bool
is_ahead(const removal *op, const kw_span *time, int64_t newest_ms)
{
    int64_t skew_ns = op->handle->settings->max_clock_skew_ms * KW_NS_PER_MS;
    int64_t now_ns = time ? time->latest_ns : kw_clock_wall_ms() * KW_NS_PER_MS;
    return op->write->ordering->counters || kw_order_ns(newest_ms) > now_ns + skew_ns;
}

/* Until every later put gets more than the newest timestamp: two milliseconds for the clock of the server
 * that gave it, and until the store's clock has surely passed it. Counters run ahead of their server's clock,
 * and it may not be the one of the store's clock. */
static void
wait_to_delete(removal *op, int64_t newest_ms)
{
    kw_span span;
    bool known = kw_store_time_about(kw_order_store_of(op->handle)->inner, &span);
    bool ahead = is_ahead(op, known ? &span : NULL, newest_ms);
    int64_t skew_ns = op->handle->settings->max_clock_skew_ms * KW_NS_PER_MS;
    int64_t past_ns = kw_order_ns(newest_ms + 1), surely_ns = past_ns + skew_ns;
    int64_t left_ms = known ? (surely_ns - span.earliest_ns) / KW_NS_PER_MS + 1 : 0;
    if (known && left_ms <= -SURELY_OLD_MS) {
        send_delete(op);
        return;
    }
    if (ahead && left_ms > kw_deadline_left_ms(op->write->deadline)) {
        refuse_ahead(op, newest_ms, left_ms);
        return;
    }
    op->wait = (kw_wait){.until_ns = kw_clock_mono_ns() + PAUSE_NS + (known ? 0 : (uint64_t)skew_ns),
                         .until_time_ns = ahead   ? surely_ns
                                          : known ? past_ns
                                                  : INT64_MIN,
                         .deadline = op->write->deadline,
                         .done = passed,
                         .user = op};
    kw_wait_then(op->handle, &op->wait);
}

/* --- the newest timestamp ------------------------------------------------------------------------ */

/* -1: nothing is there. kw:g counts along: below it a conditional write's own would not show. */
static int64_t
newest_of(const removal *op, const kw_row *row)
{
    const kw_ordering *ordering = op->write->ordering;
    int64_t newest_ms = -1, control_ms = -1;
    for (uint32_t i = 0; i < row->cells_count; i++) {
        int64_t *of = kw_is_control(ordering, &row->cells[i]) ? &control_ms : &newest_ms;
        *of = MAX(*of, row->cells[i].timestamp);
    }
    return newest_ms < 0 ? -1 : MAX(newest_ms, control_ms);
}

static void
found(void *user, kw_rows *rows, const kw_error *error)
{
    removal *op = user;
    if (error) {
        fail(op, error);
        return;
    }
    const kw_row *row = &rows->rows[0];
    int64_t newest_ms = newest_of(op, row);
    op->check = kw_control_unchanged(op->write->ordering, row, op->arena);
    kw_rows_free(rows);
    op->delete = *op->write;
    op->delete.ordering = NULL;
    op->delete.timestamp = newest_ms;
    if (newest_ms < 0)
        answer(op, KW_OUTCOME_OK, NULL);
    else
        wait_to_delete(op, newest_ms);
}

static void
ask(removal *op)
{
    kw_store_handle_get(op->handle->inner, &op->get, found, op);
}

static void
begin(void *user)
{
    ask(user);
}

void
kw_order_remove(kw_order_handle *handle, const kw_write *write, kw_write_done done, void *user)
{
    kw_arena *arena = kw_arena_new_for(NULL, KW_MEMORY_STORE);
    removal *op = KW_ARENA_NEW(arena, removal);
    *op = (removal){.handle = handle, .arena = arena, .write = write, .done = done, .user = user};
    op->get = (kw_get){.table = write->table,
                       .row = write->row,
                       .max_versions = 1,
                       .filter = KW_BYTES_LITERAL(NEWEST_FILTER),
                       .filter_is_safe = true,
                       .deadline = write->deadline};
    if (write->columns_count)
        op->get.columns = kw_control_columns(write->ordering, write->columns, write->columns_count, arena,
                                             &op->get.columns_count);
    op->turn = (kw_order_turn){.begin = begin, .user = op};
    if (!kw_order_wait_for_puts(handle, write, &op->turn))
        ask(op);
}
