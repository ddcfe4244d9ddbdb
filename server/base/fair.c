#include "base/fair.h"

/* The items of one account, or those without an account. */
struct kw_fair_fifo {
    kw_account *account;
    GQueue items;
    bool large;
    GList link; /* in the rotation `small` or `large` */
};

struct kw_fair {
    GHashTable *fifos; /* account -> kw_fair_fifo, if it has items */
    kw_fair_fifo unowned;
    GQueue small, large;
    size_t count;
    unsigned pops;
};

kw_fair *
kw_fair_new(void)
{
    kw_fair *queue = g_new0(kw_fair, 1);
    queue->fifos = g_hash_table_new_full(NULL, NULL, NULL, g_free);
    g_queue_init(&queue->unowned.items);
    g_queue_init(&queue->small);
    g_queue_init(&queue->large);
    return queue;
}

void
kw_fair_free(kw_fair *queue)
{
    if (!queue)
        return;
    g_assert(queue->count == 0);
    g_hash_table_destroy(queue->fifos);
    g_free(queue);
}

static bool
is_large(const kw_fair_fifo *fifo)
{
    const kw_account *account = fifo->account;
    return kw_account_is_large(account) && !kw_account_client_is_gone(account);
}

/* Appends the account to the rotation of small or large accounts. */
static void
join_rotation(kw_fair *queue, kw_fair_fifo *fifo)
{
    fifo->large = is_large(fifo);
    g_queue_push_tail_link(fifo->large ? &queue->large : &queue->small, &fifo->link);
}

static void
leave_rotation(kw_fair *queue, kw_fair_fifo *fifo)
{
    g_queue_unlink(fifo->large ? &queue->large : &queue->small, &fifo->link);
}

static kw_fair_fifo *
fifo_of(kw_fair *queue, kw_account *account)
{
    kw_fair_fifo *fifo = account ? g_hash_table_lookup(queue->fifos, account) : &queue->unowned;
    if (fifo)
        return fifo;
    fifo = g_new0(kw_fair_fifo, 1);
    fifo->account = account;
    fifo->link.data = fifo;
    g_queue_init(&fifo->items);
    g_hash_table_insert(queue->fifos, account, fifo);
    join_rotation(queue, fifo);
    return fifo;
}

/* Inserts the item after all items of the same call and of older calls. Most items belong to the newest call,
 * nearly all others to one of the oldest: both ends are fast. */
static void
insert(GQueue *items, kw_fair_item *item)
{
    GList *last = items->tail, *at = items->head;
    if (!last || ((kw_fair_item *)last->data)->call <= item->call) {
        g_queue_push_tail_link(items, &item->link);
        return;
    }
    while (((kw_fair_item *)at->data)->call <= item->call)
        at = at->next;
    item->link.next = at;
    item->link.prev = at->prev;
    if (at->prev)
        at->prev->next = &item->link;
    else
        items->head = &item->link;
    at->prev = &item->link;
    items->length++;
}

void
kw_fair_push(kw_fair *queue, kw_fair_item *item)
{
    item->fifo = fifo_of(queue, item->account);
    item->link = (GList){.data = item};
    insert(&item->fifo->items, item);
    queue->count++;
}

void
kw_fair_remove(kw_fair *queue, kw_fair_item *item)
{
    kw_fair_fifo *fifo = item->fifo;
    g_queue_unlink(&fifo->items, &item->link);
    item->fifo = NULL;
    queue->count--;
    if (fifo->items.length > 0 || fifo == &queue->unowned)
        return;
    leave_rotation(queue, fifo);
    g_hash_table_remove(queue->fifos, fifo->account);
}

/* While the next small account has grown large since it joined the rotation, moves it to the large ones. */
static void
move_grown(kw_fair *queue)
{
    while (queue->small.length > 0 && is_large(queue->small.head->data)) {
        kw_fair_fifo *fifo = queue->small.head->data;
        leave_rotation(queue, fifo);
        join_rotation(queue, fifo);
    }
}

/* Removes the next item without an account and returns it. NULL if there is none, or if this pop serves an
 * account. */
static kw_fair_item *
pop_unowned(kw_fair *queue)
{
    bool alone = queue->small.length == 0 && queue->large.length == 0;
    if (queue->unowned.items.length == 0 || !(alone || queue->pops % 2))
        return NULL;
    kw_fair_item *item = queue->unowned.items.head->data;
    kw_fair_remove(queue, item);
    return item;
}

kw_fair_item *
kw_fair_pop(kw_fair *queue)
{
    move_grown(queue);
    queue->pops++;
    kw_fair_item *item = pop_unowned(queue);
    if (item)
        return item;
    bool large_is_due = queue->pops % KW_FAIR_LARGE_EVERY == 0;
    GQueue *from =
        queue->large.length > 0 && (large_is_due || queue->small.length == 0) ? &queue->large : &queue->small;
    if (from->length == 0)
        return NULL;
    kw_fair_fifo *fifo = from->head->data;
    bool more = fifo->items.length > 1;
    item = fifo->items.head->data;
    kw_fair_remove(queue, item);
    if (more) {
        leave_rotation(queue, fifo);
        join_rotation(queue, fifo);
    }
    return item;
}

size_t
kw_fair_count(const kw_fair *queue)
{
    return queue->count;
}

size_t
kw_fair_ahead(const kw_fair *queue, const kw_account *account)
{
    const kw_fair_fifo *fifo = account ? g_hash_table_lookup(queue->fifos, account) : &queue->unowned;
    size_t own = fifo ? fifo->items.length : 0;
    size_t others = account ? g_hash_table_size(queue->fifos) + (queue->unowned.items.length > 0) : 2;
    return MIN(own * MAX(others, 1) + others, queue->count);
}

bool
kw_fair_has_small(const kw_fair *queue)
{
    return queue->small.length > 0 || queue->unowned.items.length > 0;
}
