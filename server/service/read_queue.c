#include "service/read_queue.h"

#include "base/container.h"
#include "base/guard.h"
#include "base/shortage.h"
#include "service/exchange_internal.h"

/* How often queues are checked while reads wait for the client to read its replies. */
#define CHECK_MS 10

struct kw_read_queue {
    kw_read_queues *queues;
    kw_account *account; /* account of its exchanges */
    uint32_t members;    /* number of exchanges that have entered and not left */
    uint32_t large;      /* number of large reads that are executing */
    GQueue waiting;
    kw_work work; /* starts the first one that waits */
};

struct kw_read_queues {
    kw_loop *loop;
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

/* Starts the first read that waits in a later iteration of the loop, or as soon as the limits allow. */
static void
start_later(kw_read_queue *queue)
{
    const kw_exchange *first = g_queue_peek_head(&queue->waiting);
    if (!first || kw_work_waits(&queue->work))
        return;
    queue->work.item.call = first->call.number;
    if (can_start(queue, first))
        kw_loop_work(queue->queues->loop, &queue->work);
    else
        start_timer(queue->queues);
}

static void
start_or_fail(kw_exchange *exchange, void (*start_read)(kw_exchange *exchange))
{
    kw_error error;
    if (kw_shortage_check(exchange->account, &error) && kw_exchange_may_still(exchange, &error))
        start_read(exchange);
    else
        kw_exchange_fail(exchange, &error);
}

static void
guarded_start(kw_exchange *exchange)
{
    kw_exchange_guard(exchange, exchange->start_read);
}

/* The read can end, and the queue with it, before this returns. */
static void
start(kw_read_queue *queue, kw_exchange *exchange)
{
    kw_exchange_move(exchange, KW_EXCHANGE_RUNNING, NULL);
    queue->large += exchange->large;
    start_later(queue);
    start_or_fail(exchange, guarded_start);
}

static void
run_work(kw_work *work)
{
    kw_read_queue *queue = KW_CONTAINER(work, kw_read_queue, work);
    kw_exchange *first = g_queue_peek_head(&queue->waiting);
    if (first && can_start(queue, first))
        start(queue, first);
    else
        start_later(queue);
}

static void
on_timer(void *user)
{
    kw_read_queues *queues = user;
    GHashTableIter at;
    gpointer queue;
    queues->timer_active = false;
    g_hash_table_iter_init(&at, queues->all);
    while (g_hash_table_iter_next(&at, NULL, &queue))
        start_later(queue);
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
    queue->work = (kw_work){.item.account = account, .run = run_work};
    g_queue_init(&queue->waiting);
    g_hash_table_insert(queues->all, account, queue);
    return queue;
}

static void
queue_free(kw_read_queue *queue)
{
    if (kw_work_waits(&queue->work))
        kw_loop_cancel_work(queue->queues->loop, &queue->work);
    g_hash_table_remove(queue->queues->all, queue->account);
    g_free(queue);
}

void
kw_read_queue_enter(kw_exchange *exchange, bool large, void (*start_read)(kw_exchange *exchange))
{
    kw_read_queues *queues = exchange->worker->read_queues;
    kw_read_queue *queue = g_hash_table_lookup(queues->all, exchange->account);
    if (!queue && !large && kw_request_unsent(exchange->request) <= KW_READ_QUEUE_UNSENT_MAX) {
        start_or_fail(exchange, start_read);
        return;
    }
    kw_guard_end();
    queue = find_queue(queues, exchange->account);
    g_assert(!exchange->read_queue);
    queue->members++;
    exchange->read_queue = queue;
    exchange->large = large;
    exchange->start_read = start_read;
    kw_exchange_move(exchange, KW_EXCHANGE_QUEUED, &queue->waiting);
    if (queue->waiting.length == 1 && can_start(queue, exchange))
        start(queue, exchange);
    else
        start_later(queue);
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
    if (queue->members == 0)
        queue_free(queue);
    else
        start_later(queue);
}

/* --- creation ------------------------------------------------------------------------------------ */

kw_read_queues *
kw_read_queues_new(kw_loop *loop)
{
    kw_read_queues *queues = g_new0(kw_read_queues, 1);
    queues->loop = loop;
    queues->all = g_hash_table_new(NULL, NULL);
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
