/* Puts with timestamps of their callers, while the key rule of their table changes (conditional writes:
 * cas.c). Each row of the record gets one cell more, the trace, with the present time as its timestamp. A put
 * that reached only one of the record's rows has an unknown outcome, and a pass gives the other row its
 * cells. Most passes read only recent cells; they find the row by the trace.
 *
 *   the store's clock is known --> add the trace --> write --> answer
 *        '-- still unknown after some seconds: UNAVAILABLE; after the deadline: TIMEOUT
 */
#include "store/order/order_internal.h"

typedef struct tracing {
    kw_order_handle *handle;
    kw_arena *arena; /* contains this struct */
    const kw_write *const *writes;
    size_t count;
    kw_written *results;
    const kw_write **traced;
    kw_wait wait;
    void (*done)(void *user);
    void *user;
} tracing;

static void
answer(void *user)
{
    tracing op = *(tracing *)user;
    kw_arena_free(op.arena);
    op.done(op.user);
}

static const kw_write *
add_trace(const tracing *op, const kw_write *put, int64_t now_ms)
{
    kw_write *copy = KW_ARENA_NEW(op->arena, kw_write);
    kw_cell *cells = KW_ARENA_ARRAY(op->arena, kw_cell, put->cells_count + 1);
    for (size_t i = 0; i < put->cells_count; i++) {
        cells[i] = put->cells[i];
        cells[i].timestamp = put->timestamp;
    }
    cells[put->cells_count] =
        kw_control_cell(put->ordering, KW_CONTROL_TRACE, (uint64_t)put->timestamp, now_ms, op->arena);
    *copy = *put;
    copy->cells = cells;
    copy->cells_count = put->cells_count + 1;
    copy->own_timestamps = true;
    return copy;
}

static void
send_all(tracing *op)
{
    int64_t now_ms = op->wait.span.latest_ns / KW_NS_PER_MS;
    for (size_t i = 0; i < op->count; i++)
        op->traced[i] = add_trace(op, op->writes[i], now_ms);
    kw_order_send(op->handle, op->arena, op->traced, op->count, op->results, answer, op);
}

static void
on_time(void *user, kw_wait_result result)
{
    tracing *op = user;
    kw_error error;
    if (result == KW_WAIT_DONE) {
        send_all(op);
        return;
    }
    kw_wait_error(op->handle, result, "the store's clock was known", false, &error);
    for (size_t i = 0; i < op->count; i++)
        op->results[i] = (kw_written){.outcome = KW_OUTCOME_FAILED, .error = error};
    answer(op);
}

void
kw_order_trace(kw_order_handle *handle, const kw_write *const *writes, size_t count, kw_written *results,
               void (*done)(void *user), void *user)
{
    g_assert(count > 0);
    kw_arena *arena = kw_arena_new_for(NULL, KW_MEMORY_STORE);
    tracing *op = KW_ARENA_NEW(arena, tracing);
    *op = (tracing){.handle = handle,
                    .arena = arena,
                    .writes = writes,
                    .count = count,
                    .results = results,
                    .traced = KW_ARENA_ARRAY(arena, const kw_write *, count),
                    .done = done,
                    .user = user};
    if (kw_wait_for_clock(handle, &op->wait, writes[0]->deadline, on_time, op))
        send_all(op);
}
