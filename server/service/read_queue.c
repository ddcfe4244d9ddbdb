#include "service/read_queue.h"

#include "base/guard.h"

/* How often queues are checked while reads wait for the client to read its replies. */
#define CHECK_MS 10

struct kw_read_queue {
    kw_read_queues *queues;
    kw_account *account; /* account of its exchanges */
    uint32_t members;    /* number of exchanges that have entered and not left */
    uint32_t large;      /* number of large reads that are executing */
    GQueue waiting;
    bool starting;
};

struct kw_read_queues {
    GHashTable *all; /* account -> kw_read_queue, queues with members */
    kw_timer *timer;
    bool timer_active;
};

/* --- starting ------------------------------------------------------------------------------------ */

/* Maximum number of large reads at a time. It is one at first, and increases by one each time that the client
 * has read all replies. */
static uint32_t
large_most(const kw_exchange *exchange)
{
    uint64_t emptied = kw_request_emptied(exchange->request);
    return (uint32_t)MIN(1 + emptied, KW_READ_QUEUE_LARGE_MAX);
}

static bool
can_start(const kw_read_queue *queue, const kw_exchange *exchange)
{
    if (kw_account_client_is_gone(exchange->account))
        return true; /* it fails at once */
    return kw_request_unsent(exchange->request) <= KW_READ_QUEUE_UNSENT_MAX &&
           !(exchange->large && queue->large >= large_most(exchange));
}

static void
start_timer(kw_read_queues *queues)
{
    if (queues->timer_active)
        return;
    queues->timer_active = true;
    kw_timer_start_ms(queues->timer, CHECK_MS);
}

/* Starts waiting reads while the limits allow. An exchange that starts can end at once and call this again.
 * Frees the queue if it has no members left. */
static void
start_waiting(kw_read_queue *queue)
{
    kw_read_queues *queues = queue->queues;
    if (queue->starting)
        return;
    queue->starting = true;
    for (kw_exchange *next; (next = g_queue_peek_head(&queue->waiting)) && can_start(queue, next);) {
        kw_exchange_move(next, KW_EXCHANGE_RUNNING, NULL);
        queue->large += next->large;
        kw_exchange_guard(next, next->start_read);
    }
    queue->starting = false;
    if (queue->waiting.length > 0)
        start_timer(queues);
    if (queue->members == 0)
        g_hash_table_remove(queues->all, queue->account);
}

static void
on_timer(void *user)
{
    kw_read_queues *queues = user;
    g_autoptr(GList) all = g_hash_table_get_values(queues->all);
    queues->timer_active = false;
    for (GList *at = all; at; at = at->next)
        start_waiting(at->data);
}

/* --- entering and leaving ------------------------------------------------------------------------ */

static kw_read_queue *
find_queue(kw_read_queues *queues, kw_account *account)
{
    kw_read_queue *queue = g_hash_table_lookup(queues->all, account);
    if (queue)
        return queue;
    queue = g_new0(kw_read_queue, 1);
    queue->queues = queues;
    queue->account = account;
    g_queue_init(&queue->waiting);
    g_hash_table_insert(queues->all, account, queue);
    return queue;
}

void
kw_read_queue_enter(kw_exchange *exchange, bool large, void (*start)(kw_exchange *exchange))
{
    kw_read_queues *queues = exchange->worker->read_queues;
    kw_read_queue *queue = g_hash_table_lookup(queues->all, exchange->account);
    if (!queue && !large && kw_request_unsent(exchange->request) <= KW_READ_QUEUE_UNSENT_MAX) {
        start(exchange);
        return;
    }
    kw_guard_end();
    queue = find_queue(queues, exchange->account);
    g_assert(!exchange->read_queue);
    queue->members++;
    exchange->read_queue = queue;
    exchange->large = large;
    exchange->start_read = start;
    kw_exchange_move(exchange, KW_EXCHANGE_QUEUED, &queue->waiting);
    start_waiting(queue);
}

void
kw_read_queue_leave(kw_exchange *exchange, bool waited)
{
    kw_read_queue *queue = exchange->read_queue;
    if (!queue)
        return;
    exchange->read_queue = NULL;
    g_assert(queue->members > 0 && (waited || queue->large >= exchange->large));
    queue->members--;
    if (!waited)
        queue->large -= exchange->large;
    start_waiting(queue);
}

/* --- creation ------------------------------------------------------------------------------------ */

kw_read_queues *
kw_read_queues_new(kw_loop *loop)
{
    kw_read_queues *queues = g_new0(kw_read_queues, 1);
    queues->all = g_hash_table_new_full(NULL, NULL, NULL, g_free);
    queues->timer = kw_timer_new(loop, on_timer, queues);
    return queues;
}

void
kw_read_queues_free(kw_read_queues *queues)
{
    if (!queues)
        return;
    g_assert(g_hash_table_size(queues->all) == 0);
    g_hash_table_destroy(queues->all);
    kw_timer_free(queues->timer);
    g_free(queues);
}
