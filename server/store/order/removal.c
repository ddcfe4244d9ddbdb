/* The removal of one row with order: store, and while a table enters or leaves order: stamp.
 *
 *   puts of the row that were started before are done (puts.c)
 *      |
 *      v
 *   get the newest timestamp s of the cells to remove --none--> OK
 *      |  ^
 *      |  '------------------------- rejected, and surely by the first attempt
 *      v                                              |
 *   wait until later puts surely get more than s --> delete up to s (if kw:g is unchanged) --> OK
 *                                                     |  ^
 *                                                     '--' outcome unknown: again with the same s
 *
 * A put in the meantime has a later timestamp and stays: it counts as after the removal. An increment or a
 * conditional write that was based on removed cells would stay as well, so it changes kw:g, and the removal
 * starts again. The store's own client repeats a call after client_pause_ms. So a rejection that arrives
 * later can be that of a repeated delete, after the first one was applied. Then the outcome is UNKNOWN.
 *
 * In a table with kw:w (kw_regime.marks), the delete also writes kw:w, so that a derived write in progress
 * does not write removed values again. It writes kw:g, too: if it is repeated, it is rejected, and does not
 * put its kw:w above a later one. Both get timestamps of the store, which are later than s. In doubt, kw:g is
 * read: the id of this delete shows that it was applied.
 */
#include "store/order/order_internal.h"

#include "store/check.h"

/* After this pause the server's clock has advanced by more than a millisecond. */
#define PAUSE_NS (UINT64_C(2) * 1000000)
/* Older cells need no pause. The margin is large: the clock of the server that has the record can differ from
 * the store's clock by more than it should. */
#define SURELY_OLD_MS 1000
/* Reads kw:g with its value, and of the other cells only the timestamps. */
#define NEWEST_FILTER                                                                                        \
    "(QualifierFilter (!=, 'binary:\0kw:g') AND KeyOnlyFilter ()) OR QualifierFilter (=, 'binary:\0kw:g')"

typedef struct removal {
    kw_order_handle *handle;
    kw_arena *arena;
    const kw_write *write;
    unsigned tries;
    bool doubtful; /* the delete may have been applied */
    kw_get get, get_generation;
    kw_write delete;
    kw_bytes generation; /* the kw:g that the delete writes; empty: none */
    kw_check check;
    kw_wait wait;
    kw_order_waiter waiter;
    uint64_t sent_ns;
    kw_write_done done;
    void *user;
} removal;

static void read_newest(removal *op);
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
fail_wait(removal *op, kw_wait_result result)
{
    kw_error error;
    kw_wait_error(op->handle, result, "the record was removed", false, &error);
    fail(op, &error);
}

/* --- delete ----------------------------------------------------------------------------------- */

static void
retry(void *user, kw_wait_result result)
{
    removal *op = user;
    if (result != KW_WAIT_DONE)
        fail_wait(op, result);
    else if (op->doubtful)
        send_delete(op);
    else
        read_newest(op);
}

static void
retry_soon(removal *op)
{
    kw_wait_and_retry(op->handle, &op->wait, op->write->deadline, retry, op);
}

/* True if the delete was possibly applied before it was rejected. */
static bool
can_be_own(const removal *op)
{
    uint64_t first_try_ns = (uint64_t)op->handle->settings->client_pause_ms * 1000000;
    return op->doubtful || kw_clock_mono_ns() - op->sent_ns >= first_try_ns;
}

static void
retry_or_fail(removal *op)
{
    kw_error error;
    bool first = !can_be_own(op);
    if (first && ++op->tries < KW_ORDER_TRIES_MAX) {
        retry_soon(op);
        return;
    }
    kw_error_set(&error, KW_UNAVAILABLE, "table %s: the record was changed while it was removed%s",
                 kw_show(op->write->table).text,
                 first ? "; try again" : "; it may have been removed: read it before you try again");
    op->doubtful = op->doubtful || !first;
    fail(op, &error);
}

static void
on_generation_read(void *user, kw_rows *rows, const kw_error *error)
{
    removal *op = user;
    const kw_cell *present =
        error ? NULL : kw_control_find(op->write->ordering, &rows->rows[0], KW_CONTROL_GENERATION);
    bool own = present && kw_bytes_equal(present->value, op->generation);
    kw_rows_free(rows);
    if (own)
        answer(op, KW_OUTCOME_OK, NULL);
    else
        retry_or_fail(op);
}

/* The delete was rejected: kw:g has changed, possibly by the delete itself. */
static void
check_rejected(removal *op)
{
    if (op->generation.size == 0 || !can_be_own(op)) {
        retry_or_fail(op);
        return;
    }
    kw_column *column = KW_ARENA_NEW(op->arena, kw_column);
    *column = (kw_column){op->write->ordering->family, KW_CONTROL_GENERATION, false};
    op->get_generation = op->get;
    op->get_generation.columns = column;
    op->get_generation.columns_count = 1;
    op->get_generation.filter = KW_BYTES_NONE;
    kw_store_handle_get(op->handle->inner, &op->get_generation, on_generation_read, op);
}

static void
deleted_if(void *user, kw_outcome outcome, bool applied, const kw_error *error)
{
    removal *op = user;
    if (outcome == KW_OUTCOME_OK && applied) {
        answer(op, KW_OUTCOME_OK, NULL);
    } else if (outcome == KW_OUTCOME_OK) {
        check_rejected(op);
    } else if (outcome == KW_OUTCOME_UNKNOWN && !op->doubtful) {
        op->doubtful = true;
        retry_soon(op);
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
    if (kw_writes_generation(op->write->ordering))
        kw_store_handle_write_if(op->handle->inner, &op->delete, &op->check, deleted_if, op);
    else
        kw_store_handle_write(op->handle->inner, &op->delete, deleted, op);
}

/* --- the wait --------------------------------------------------------------------------------- */

/* REFUSED because a cell is ahead of the store's clock: increments raise timestamps, and callers can choose
 * them. */
static void
refuse_ahead(removal *op, int64_t newest_ms, int64_t left_ms)
{
    kw_error error;
    kw_refuse_removal(op->write->table, op->write->row, newest_ms, left_ms, &error);
    fail(op, &error);
}

static void
passed(void *user, kw_wait_result result)
{
    removal *op = user;
    if (result == KW_WAIT_DONE)
        send_delete(op);
    else
        fail_wait(op, result);
}

/* True if the cells can have timestamps that gateways assigned. The clock of a region server can reach such a
 * timestamp later than the store's clock does. */
static bool
is_raised(const removal *op)
{
    return op->write->ordering->regime.order == KW_WRITE_ORDER_RAISED;
}

/* True if the timestamp is possibly ahead of the clock of the region server: gateways or increments can have
 * assigned it, or the store's clock cannot have reached it yet. While the store's clock is unknown, this
 * machine's clock is used: a delete up to a later timestamp could hide later puts. */
static bool
can_be_ahead(const removal *op, const kw_span *time, int64_t newest_ms)
{
    int64_t skew_ns = op->handle->settings->max_clock_skew_ms * KW_NS_PER_MS;
    const kw_ordering *ordering = op->write->ordering;
    int64_t now_ns = time ? time->latest_ns : kw_clock_wall_ms() * KW_NS_PER_MS;
    bool counts = ordering->counters && kw_writes_generation(ordering);
    return is_raised(op) || counts || kw_order_ns(newest_ms) > now_ns + skew_ns;
}

/* Waits until every later put gets a timestamp above newest_ms. If that is a server's own timestamp, the wait
 * is two milliseconds for the clock of this server, and until the store's clock has surely passed newest_ms.
 * If newest_ms can be ahead of the server's clock, or the store's clock is unknown, the wait is longer by
 * max_clock_skew, because the two clocks can differ. */
static void
wait_to_delete(removal *op, int64_t newest_ms)
{
    kw_span span;
    bool known = kw_store_time_estimate(kw_order_store_of(op->handle)->inner, &span);
    bool ahead = can_be_ahead(op, known ? &span : NULL, newest_ms);
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
                         .known = is_raised(op),
                         .deadline = op->write->deadline,
                         .done = passed,
                         .user = op};
    kw_wait_and_call(op->handle, &op->wait);
}

/* --- the newest timestamp --------------------------------------------------------------------- */

/* The newest timestamp of the row; -1: there is nothing to remove. kw:g is included: it hides changes of kw:g
 * that get a lower timestamp than it has. */
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

/* Both expire, so that the row of a removed record vanishes. If the row can stay, only kw:w does. */
static void
add_marks(removal *op)
{
    const kw_ordering *ordering = op->write->ordering;
    kw_cell *cells = KW_ARENA_ARRAY(op->arena, kw_cell, 2);
    cells[0] =
        kw_control_cell(ordering, KW_CONTROL_GENERATION, kw_random_u64(), KW_TIMESTAMP_NONE, op->arena);
    cells[1] = kw_control_writer(ordering, 0, kw_random_u64(), KW_TIMESTAMP_NONE, op->arena);
    op->generation = cells[0].value;
    op->delete.extra_cells = cells;
    op->delete.extra_cells_count = 2;
    op->delete.lasting_cells_count = op->write->columns_count > 0;
    op->delete.extra_cells_ttl_ms = kw_order_writer_ttl_ms(op->handle->settings);
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
    op->check = kw_control_unchanged(op->write->ordering, KW_CONTROL_GENERATION, row, op->arena);
    kw_rows_free(rows);
    op->delete = *op->write;
    op->delete.ordering = NULL;
    op->delete.timestamp = newest_ms;
    if (op->write->ordering->regime.marks)
        add_marks(op);
    if (newest_ms < 0)
        answer(op, KW_OUTCOME_OK, NULL);
    else
        wait_to_delete(op, newest_ms);
}

static void
read_newest(removal *op)
{
    kw_store_handle_get(op->handle->inner, &op->get, found, op);
}

static void
begin(void *user)
{
    read_newest(user);
}

void
kw_order_remove(kw_order_handle *handle, const kw_write *write, kw_write_done done, void *user)
{
    g_assert(write->kind == KW_WRITE_DELETE && write->ordering);
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
    op->waiter = (kw_order_waiter){.begin = begin, .user = op};
    if (!kw_order_wait_for_puts(handle, write, &op->waiter))
        read_newest(op);
}
