/* Puts while a table enters or leaves order: stamp for a change of its key rule. Some gateways still write
 * with timestamps of the region servers, or already do so again. So a put gets a timestamp above all in its
 * row. It is sent only when the clock of every region server has passed this timestamp, so that a later
 * unstamped put gets a higher one.
 *
 *   get the newest timestamp of the row --> the clock is known --> the earlier puts of the row are stamped
 *      --> stamp --> earliest >= stamp + max_clock_skew --> the earlier puts are sent --> put --> answer
 *
 * The puts of one row that were started on one store handle get ascending timestamps and are sent in their
 * order. A put is sent once, as with order: stamp (stamp.c).
 */
#include "store/order/order_internal.h"

#include "store/check.h"

/* Of the cells, only the timestamps are needed. */
#define KEYS_FILTER "KeyOnlyFilter ()"
/* No clock has assigned a higher timestamp (kw_order_ns). */
#define STAMP_MAX_MS INT64_C(8000000000000)

typedef enum raised_state {
    RAISED_READING,
    RAISED_READ,
    RAISED_STAMPED,
    RAISED_DUE,
    RAISED_SENT
} raised_state;

typedef struct raised {
    kw_order_handle *handle;
    kw_order_row *row;
    uint64_t number;
    GList link; /* in row->raised, until the put is sent or fails */
    raised_state state;
    kw_get get;
    kw_write put; /* the caller's, with a timestamp */
    int64_t newest_ms;
    kw_span time; /* READ */
    kw_wait wait;
    kw_write_done done;
    void *user;
} raised;

static void advance(kw_order_handle *handle, kw_order_row *row);

/* --- the end ------------------------------------------------------------------------------------ */

static void
release(kw_order_handle *handle, kw_order_row *row, uint64_t hold)
{
    GQueue ready = G_QUEUE_INIT;
    kw_order_put_ends(handle, row, hold, &ready);
    kw_order_begin_removals(&ready);
}

static void
finish(raised *put, kw_outcome outcome, const kw_error *error)
{
    raised end = *put;
    GQueue ready = G_QUEUE_INIT;
    uint64_t hold = kw_order_row_hold(end.handle, end.row);
    if (end.state != RAISED_SENT)
        g_queue_unlink(&end.row->raised, &put->link);
    g_free(put);
    kw_budget_charge(KW_MEMORY_STORE, -(int64_t)sizeof *put);
    kw_order_put_ends(end.handle, end.row, end.number, &ready);
    end.done(end.user, outcome, error);
    kw_order_begin_removals(&ready);
    advance(end.handle, end.row);
    release(end.handle, end.row, hold);
}

static void
fail(raised *put, const kw_error *error)
{
    finish(put, KW_OUTCOME_FAILED, error);
}

static void
fail_wait(raised *put, kw_wait_result result)
{
    kw_error error;
    kw_wait_error(put->handle, result, "the clocks of all region servers passed the put's timestamp", false,
                  &error);
    fail(put, &error);
}

static void
refuse_ahead(raised *put, int64_t left_ms)
{
    kw_error error;
    kw_error_set(&error, KW_REFUSED,
                 "table %s, row %s: its newest timestamp, %lld, is ahead of the store's clock; while the "
                 "key rule changes, puts must wait until the clock has passed it; try again in %lld ms",
                 kw_show(put->put.table).text, kw_show(put->put.row).text, (long long)put->newest_ms,
                 (long long)left_ms);
    error.retry_after_ms = (uint32_t)MIN(left_ms, 60000);
    fail(put, &error);
}

/* --- the put ------------------------------------------------------------------------------------ */

static void
on_put(void *user, kw_outcome outcome, const kw_error *error)
{
    finish(user, outcome, error);
}

static void
send_put(raised *put)
{
    g_queue_unlink(&put->row->raised, &put->link);
    put->state = RAISED_SENT;
    kw_store_handle_write(put->handle->inner, &put->put, on_put, put);
}

static void
on_passed(void *user, kw_wait_result result)
{
    raised *put = user;
    if (result != KW_WAIT_DONE) {
        fail_wait(put, result);
        return;
    }
    put->state = RAISED_DUE;
    advance(put->handle, put->row);
}

/* --- the timestamp ------------------------------------------------------------------------------ */

static void
stamp(raised *put)
{
    int64_t skew_ms = put->handle->settings->max_clock_skew_ms;
    int64_t above_ms = MIN(put->newest_ms, STAMP_MAX_MS) + 1;
    int64_t stamp_ms = MAX(put->time.latest_ns / KW_NS_PER_MS, above_ms);
    stamp_ms = MAX(stamp_ms, put->row->raised_ms);
    int64_t left_ms = stamp_ms + skew_ms - put->time.earliest_ns / KW_NS_PER_MS;
    put->state = RAISED_STAMPED;
    if (left_ms > kw_deadline_left_ms(put->put.deadline)) {
        refuse_ahead(put, left_ms);
        return;
    }
    put->row->raised_ms = stamp_ms;
    put->put.timestamp = stamp_ms;
    put->wait = (kw_wait){.until_time_ns = kw_order_ns(stamp_ms + skew_ms),
                          .known = true,
                          .deadline = put->put.deadline,
                          .done = on_passed,
                          .user = put};
    kw_wait_and_call(put->handle, &put->wait);
}

/* The first put that can be stamped or sent now; NULL: none. */
static raised *
next_to_advance(const kw_order_row *row)
{
    raised *head = row->raised.head ? row->raised.head->data : NULL;
    if (head && head->state == RAISED_DUE)
        return head;
    for (GList *at = row->raised.head; at; at = at->next) {
        raised *put = at->data;
        if (put->state == RAISED_READ)
            return put;
        if (put->state == RAISED_READING)
            return NULL;
    }
    return NULL;
}

/* A put that ends in the meantime calls this again, which then changes nothing: the loop sees its effect. */
static void
advance(kw_order_handle *handle, kw_order_row *row)
{
    if (row->advancing)
        return;
    uint64_t hold = kw_order_row_hold(handle, row);
    row->advancing = true;
    for (raised *put; (put = next_to_advance(row));) {
        if (put->state == RAISED_DUE)
            send_put(put);
        else
            stamp(put);
    }
    row->advancing = false;
    release(handle, row, hold);
}

/* --- the newest timestamp ----------------------------------------------------------------------- */

static void
on_time_known(void *user, kw_wait_result result)
{
    raised *put = user;
    if (result != KW_WAIT_DONE) {
        fail_wait(put, result);
        return;
    }
    put->time = put->wait.span;
    put->state = RAISED_READ;
    advance(put->handle, put->row);
}

static void
on_newest(void *user, kw_rows *rows, const kw_error *error)
{
    raised *put = user;
    if (error) {
        fail(put, error);
        return;
    }
    const kw_row *row = &rows->rows[0];
    for (uint32_t i = 0; i < row->cells_count; i++)
        put->newest_ms = MAX(put->newest_ms, row->cells[i].timestamp);
    kw_rows_free(rows);
    put->wait = (kw_wait){.until_time_ns = INT64_MIN,
                          .known = true,
                          .deadline = put->put.deadline,
                          .done = on_time_known,
                          .user = put};
    kw_wait_and_call(put->handle, &put->wait);
}

void
kw_order_raise(kw_order_handle *handle, const kw_write *write, kw_write_done done, void *user)
{
    g_assert(write->kind == KW_WRITE_PUT && write->timestamp == KW_TIMESTAMP_NONE);
    raised *put = g_new0(raised, 1);
    kw_budget_charge(KW_MEMORY_STORE, sizeof *put);
    *put = (raised){.handle = handle, .put = *write, .newest_ms = -1, .done = done, .user = user};
    put->put.once = true;
    put->get = (kw_get){.table = write->table,
                        .row = write->row,
                        .max_versions = 1,
                        .filter = KW_BYTES_LITERAL(KEYS_FILTER),
                        .filter_is_safe = true,
                        .deadline = write->deadline};
    put->row = kw_order_put_begins(handle, write, &put->number);
    put->link.data = put;
    g_queue_push_tail_link(&put->row->raised, &put->link);
    kw_store_handle_get(handle->inner, &put->get, on_newest, put);
}
