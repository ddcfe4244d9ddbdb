/* The states of an exchange; exchange.h has the picture. */
#include "service/atomic_hold.h"
#include "service/exchange.h"
#include "service/hold.h"

#include <glib.h>

#define TO(state) (1u << KW_EXCHANGE_##state)
static const unsigned moves[] = {
    [KW_EXCHANGE_BEGINNING] = TO(HELD) | TO(HELD_ATOMIC) | TO(RUNNING) | TO(ENDED),
    [KW_EXCHANGE_HELD] = TO(BEGINNING) | TO(ENDED),
    [KW_EXCHANGE_HELD_ATOMIC] = TO(BEGINNING) | TO(HELD) | TO(ENDED),
    [KW_EXCHANGE_RUNNING] = TO(QUEUED) | TO(ANSWERED) | TO(ENDED),
    [KW_EXCHANGE_QUEUED] = TO(RUNNING) | TO(ENDED),
    [KW_EXCHANGE_ANSWERED] = TO(ENDED),
    [KW_EXCHANGE_ENDED] = 0,
};

static bool
is_active(kw_exchange_state state)
{
    return (1u << state) & (TO(RUNNING) | TO(QUEUED) | TO(ANSWERED));
}

static bool
is_waiting(kw_exchange_state state)
{
    return (1u << state) & (TO(HELD) | TO(HELD_ATOMIC) | TO(QUEUED));
}

static void
join_queue(kw_exchange *exchange, GQueue *queue)
{
    if (exchange->queue)
        g_queue_unlink(exchange->queue, &exchange->waiting);
    exchange->queue = queue;
    exchange->waiting.data = exchange;
    if (queue)
        g_queue_push_tail_link(queue, &exchange->waiting);
}

void
kw_exchange_move(kw_exchange *exchange, kw_exchange_state to, GQueue *queue)
{
    kw_exchange_state from = exchange->state;
    g_assert(moves[from] & (1u << to));
    g_assert(is_waiting(to) == (queue != NULL));
    exchange->state = to;
    if (queue != exchange->queue)
        join_queue(exchange, queue);
    if (from == KW_EXCHANGE_HELD_ATOMIC || to == KW_EXCHANGE_HELD_ATOMIC)
        kw_atomic_hold_count(exchange, to == KW_EXCHANGE_HELD_ATOMIC);
    if (is_active(to) && !is_active(from)) {
        exchange->active.data = exchange;
        g_queue_push_tail_link(&exchange->worker->active, &exchange->active);
    } else if (is_active(from) && !is_active(to)) {
        g_queue_unlink(&exchange->worker->active, &exchange->active);
        kw_hold_note_end(exchange);
    }
}
