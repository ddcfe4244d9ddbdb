/* See atomic_hold.h. */
#include "service/atomic_hold.h"

#include "path/atomic.h"
#include "service/hold.h"
#include "service/methods.h"

#include <glib.h>

/* The maximum number of calls in the queue of a loop. */
#define QUEUED_MAX 4096

static const kw_method *
method_of(const kw_exchange *exchange)
{
    return kw_method_of((size_t)(exchange->method - kw_api_methods));
}

/* The table, if the policy of the call holds its atomic operations; else NULL. */
static const kw_table *
holding_table(const kw_exchange *exchange, const kw_policy *policy)
{
    if (!method_of(exchange)->atomic)
        return NULL;
    const kw_table *table = kw_policy_find_table(policy, kw_subject_of(exchange).table);
    return table && table->atomics && table->atomics_held ? table : NULL;
}

static void
fail_held(kw_exchange *exchange)
{
    kw_error error;
    g_autofree char *table =
        g_strndup((const char *)kw_subject_of(exchange).table.data, kw_subject_of(exchange).table.size);
    kw_atomic_held(table, exchange->method->name, &error);
    kw_exchange_fail(exchange, &error);
}

bool
kw_atomic_hold_catch(kw_exchange *exchange)
{
    GQueue *queue = &exchange->worker->held_atomics;
    if (!holding_table(exchange, exchange->call.policy))
        return false;
    if (queue->length == QUEUED_MAX) {
        fail_held(exchange);
        return true;
    }
    int64_t deadline_ms = kw_subject_of(exchange).deadline_ms;
    if (deadline_ms > 0)
        kw_exchange_set_deadline(exchange, deadline_ms);
    g_assert(!exchange->held_atomic && !exchange->is_active);
    exchange->held_atomic = true;
    exchange->link.data = exchange;
    g_queue_push_tail_link(queue, &exchange->link);
    kw_exchange_drop_policy(exchange);
    return true;
}

static void
dequeue(kw_exchange *exchange)
{
    exchange->held_atomic = false;
    g_queue_unlink(&exchange->worker->held_atomics, &exchange->link);
}

bool
kw_atomic_hold_end(kw_exchange *exchange)
{
    if (!exchange->held_atomic)
        return false;
    dequeue(exchange);
    fail_held(exchange);
    return true;
}

/* A released call can be queued again while this runs, at the end of the queue: only the calls that were in
 * the queue at first are considered. */
void
kw_atomic_hold_release(kw_service_worker *worker)
{
    GQueue *queue = &worker->held_atomics;
    GList *at;
    for (guint left = queue->length; left > 0 && (at = g_queue_pop_head_link(queue)); left--) {
        kw_exchange *exchange = at->data;
        if (holding_table(exchange, worker->snapshot->policy)) {
            g_queue_push_tail_link(queue, at);
            continue;
        }
        exchange->held_atomic = false;
        if (!kw_hold_catch(exchange))
            kw_exchange_resume(exchange);
    }
}

void
kw_atomic_hold_close(kw_service_worker *worker)
{
    static const kw_error ending = {.code = KW_UNAVAILABLE, .text = "the gateway is shutting down"};
    for (kw_exchange *next; (next = g_queue_peek_head(&worker->held_atomics));) {
        dequeue(next);
        kw_exchange_fail(next, &ending);
    }
}
