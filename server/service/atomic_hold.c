#include "service/atomic_hold.h"

#include "path/atomic.h"
#include "service/hold.h"
#include "service/methods.h"

#include <glib.h>

#define BUSY_RETRY_MS 1000

/* The table of the call, if this policy holds its atomic operations; else NULL. */
static const kw_table *
holding_table(const kw_exchange *exchange, const kw_policy *policy)
{
    if (!kw_exchange_method(exchange)->atomic)
        return NULL;
    const kw_table *table = kw_policy_find_table(policy, kw_subject_of(exchange).table);
    return table && table->ordering.regime.atomics == KW_ATOMICS_HELD ? table : NULL;
}

static char *
table_of(const kw_exchange *exchange)
{
    kw_bytes table = kw_subject_of(exchange).table;
    return g_strndup((const char *)table.data, table.size);
}

static void
fail_held(kw_exchange *exchange)
{
    kw_error error;
    g_autofree char *table = table_of(exchange);
    kw_atomic_set_held_error(table, exchange->method->name, &error);
    kw_exchange_fail(exchange, &error);
}

static void
fail_busy(kw_exchange *exchange)
{
    kw_error error;
    g_autofree char *table = table_of(exchange);
    kw_error_set(
        &error, KW_BUSY,
        "table %s: its key rule, its paths or its setting atomics are being changed, and %d increments "
        "and conditional writes of this caller's address or client certificate wait already; try again later "
        "(keyway change status %s)",
        table, KW_ATOMIC_HOLD_PEER_MAX, table);
    error.retry_after_ms = BUSY_RETRY_MS;
    kw_exchange_fail(exchange, &error);
}

/* --- the queue ----------------------------------------------------------------------------------- */

/* How many calls of the peer are queued. */
static size_t
count_peer(const kw_service_worker *worker, uint32_t peer)
{
    return GPOINTER_TO_SIZE(g_hash_table_lookup(worker->held_peers, GUINT_TO_POINTER(peer)));
}

static void
set_count(kw_service_worker *worker, uint32_t peer, size_t count)
{
    if (count)
        g_hash_table_insert(worker->held_peers, GUINT_TO_POINTER(peer), GSIZE_TO_POINTER(count));
    else
        g_hash_table_remove(worker->held_peers, GUINT_TO_POINTER(peer));
}

void
kw_atomic_hold_count(kw_exchange *exchange, bool enters)
{
    kw_service_worker *worker = exchange->worker;
    if (enters)
        exchange->held_peer = kw_request_peer_number(exchange->request);
    size_t count = count_peer(worker, exchange->held_peer);
    set_count(worker, exchange->held_peer, enters ? count + 1 : count - 1);
}

void
kw_atomic_hold_open(kw_service_worker *worker)
{
    g_queue_init(&worker->held_atomics);
    worker->held_peers = g_hash_table_new(NULL, NULL);
}

bool
kw_atomic_hold_try_queue(kw_exchange *exchange)
{
    kw_service_worker *worker = exchange->worker;
    if (!holding_table(exchange, exchange->call.policy))
        return false;
    if (count_peer(worker, kw_request_peer_number(exchange->request)) == KW_ATOMIC_HOLD_PEER_MAX) {
        fail_busy(exchange);
        return true;
    }
    if (worker->held_atomics.length == KW_ATOMIC_HOLD_MAX) {
        fail_held(exchange);
        return true;
    }
    int64_t deadline_ms = kw_subject_of(exchange).deadline_ms;
    if (deadline_ms > 0)
        kw_exchange_set_deadline(exchange, deadline_ms);
    kw_exchange_move(exchange, KW_EXCHANGE_HELD_ATOMIC, &worker->held_atomics);
    kw_exchange_drop_policy(exchange);
    return true;
}

void
kw_atomic_hold_expire(kw_exchange *exchange)
{
    fail_held(exchange);
}

/* A released call can be queued again while this runs, at the end of the queue: only the calls that were in
 * the queue at first are considered. */
void
kw_atomic_hold_release(kw_service_worker *worker)
{
    GQueue *queue = &worker->held_atomics;
    GList *at;
    for (guint left = queue->length; left > 0 && (at = queue->head); left--) {
        kw_exchange *exchange = at->data;
        if (holding_table(exchange, worker->snapshot->policy)) {
            g_queue_unlink(queue, at);
            g_queue_push_tail_link(queue, at);
            continue;
        }
        if (!kw_hold_catch(exchange))
            kw_exchange_resume(exchange);
    }
}

void
kw_atomic_hold_close(kw_service_worker *worker)
{
    for (kw_exchange *next; (next = g_queue_peek_head(&worker->held_atomics));)
        kw_exchange_fail(next, &kw_error_shutting_down);
    g_clear_pointer(&worker->held_peers, g_hash_table_unref);
}
