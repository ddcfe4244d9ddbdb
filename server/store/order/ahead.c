/* Puts with timestamps of their callers, with order: stamp. A removal has the timestamp of its own beginning,
 * and does not read what it removes. So a put is sent only when the store's clock has passed its timestamp:
 * then every removal that begins after its answer has a later one.
 *
 *   the clock has surely passed the timestamp --> send
 *   it will do so before the deadline         --> wait --> send
 *   it will not                               --> REFUSED
 */
#include "store/order/order_internal.h"

#include "store/check.h"
#include "store/refuse.h"

typedef struct waiting {
    kw_order_handle *handle;
    kw_arena *arena; /* contains this struct */
    const kw_write *const *writes;
    size_t count;
    kw_written *results;
    const kw_write **sent; /* the writes that are not refused */
    size_t *indexes;       /* of these in `writes` */
    size_t sent_count;
    kw_written *written;
    kw_wait wait;
    void (*done)(void *user);
    void *user;
} waiting;

bool
kw_order_is_ahead(kw_order_handle *handle, const kw_write *write)
{
    kw_span span;
    return write->ordering && write->ordering->regime.order == KW_WRITE_ORDER_STAMP &&
           write->kind == KW_WRITE_PUT && write->timestamp != KW_TIMESTAMP_NONE &&
           !(kw_order_time(kw_order_store_of(handle), &span) &&
             span.earliest_ns >= kw_order_ns(write->timestamp));
}

bool
kw_order_check_ahead(const kw_write *write, int64_t stamp_ms, kw_deadline deadline, int64_t earliest_ns,
                     kw_error *ret_error)
{
    int64_t left_ns = kw_order_ns(stamp_ms) - earliest_ns;
    uint64_t now_ns = kw_clock_mono_ns();
    if (left_ns <= 0 || deadline == KW_DEADLINE_NONE || now_ns + (uint64_t)left_ns < deadline)
        return true;
    int64_t left_ms = left_ns / KW_NS_PER_MS + 1;
    kw_error_set(
        ret_error, KW_REFUSED,
        "table %s, row %s: its timestamp, %lld, is %lld ms ahead of the store's clock. With order: "
        "stamp, a put is written when the clock has passed its timestamp, which is after the deadline",
        kw_show(write->table).text, kw_show(write->row).text, (long long)stamp_ms, (long long)left_ms);
    ret_error->retry_after_ms = (uint32_t)MIN(left_ms, 60000);
    return false;
}

static void
answer(void *user)
{
    waiting op = *(waiting *)user;
    for (size_t i = 0; i < op.sent_count; i++)
        op.results[op.indexes[i]] = op.written[i];
    kw_arena_free(op.arena);
    op.done(op.user);
}

static void
send_rest(waiting *op)
{
    if (op->sent_count == 0)
        answer(op);
    else
        op->handle->base.class->write_many(&op->handle->base, op->sent, op->sent_count, op->written, answer,
                                           op);
}

static void
on_passed(void *user, kw_wait_result result)
{
    waiting *op = user;
    kw_error error;
    if (result == KW_WAIT_DONE) {
        send_rest(op);
        return;
    }
    kw_wait_error(op->handle, result, "the store's clock passed the timestamp of the put", false, &error);
    for (size_t i = 0; i < op->sent_count; i++)
        op->written[i] = (kw_written){.outcome = KW_OUTCOME_FAILED, .error = error};
    answer(op);
}

/* Refuses puts that would have to wait beyond their deadlines. Then waits for the others. */
static void
on_time(void *user, kw_wait_result result)
{
    waiting *op = user;
    kw_error error;
    int64_t until_ns = INT64_MIN;
    for (size_t i = 0; i < op->count; i++) {
        const kw_write *write = op->writes[i];
        bool ahead = result == KW_WAIT_DONE && kw_order_is_ahead(op->handle, write);
        if (ahead && !kw_order_check_ahead(write, write->timestamp, write->deadline,
                                           op->wait.span.earliest_ns, &error)) {
            op->results[i] = (kw_written){.outcome = KW_OUTCOME_FAILED, .error = error};
            continue;
        }
        if (ahead)
            until_ns = MAX(until_ns, kw_order_ns(write->timestamp));
        op->sent[op->sent_count] = write;
        op->indexes[op->sent_count++] = i;
    }
    if (result != KW_WAIT_DONE || op->sent_count == 0) {
        on_passed(op, result);
        return;
    }
    op->wait = (kw_wait){.until_time_ns = until_ns,
                         .known = true,
                         .deadline = op->sent[0]->deadline,
                         .done = on_passed,
                         .user = op};
    kw_wait_and_call(op->handle, &op->wait);
}

static void
begin(void *user)
{
    waiting *op = user;
    on_time(op, KW_WAIT_DONE);
}

void
kw_order_write_ahead(kw_order_handle *handle, const kw_write *const *writes, size_t count,
                     kw_written *results, void (*done)(void *user), void *user)
{
    g_assert(count > 0);
    kw_arena *arena = kw_arena_new_for(NULL, KW_MEMORY_STORE);
    waiting *op = KW_ARENA_NEW(arena, waiting);
    *op = (waiting){.handle = handle,
                    .arena = arena,
                    .writes = writes,
                    .count = count,
                    .results = results,
                    .sent = KW_ARENA_ARRAY(arena, const kw_write *, count),
                    .indexes = KW_ARENA_ARRAY(arena, size_t, count),
                    .written = KW_ARENA_ARRAY(arena, kw_written, count),
                    .done = done,
                    .user = user};
    if (kw_wait_for_clock(handle, &op->wait, writes[0]->deadline, on_time, op))
        kw_complete_later(&handle->base, begin, op); /* it can refuse all writes */
}
