/* See row_queues.h. Among the blocked writes, those held back come before the ones that arrived later. */
#include "store/hbase/batch/row_queues.h"

#include "store/hbase/thrift2/convert.h"

struct kw_hbase_row_queue {
    kw_hbase_row_key key;              /* the bytes are stored after the struct */
    kw_hbase_batch_queue *batch_queue; /* of the waiting writes; NULL: they are sent alone */
    uint32_t waiting;                  /* in batch_queue, or about to be sent alone */
    uint32_t in_flight;
    uint64_t batch; /* the number of the batch in flight */
    GQueue blocked;
    uint32_t held; /* the first ones of blocked */
};

GHashTable *
kw_hbase_row_queues_new(void)
{
    return g_hash_table_new_full(kw_hbase_row_key_hash, kw_hbase_row_key_equal, g_free, NULL);
}

static kw_hbase_row_queue *
queue_new(kw_bytes table, kw_bytes row, kw_hbase_batch_queue *batch_queue)
{
    kw_hbase_row_queue *queue = g_malloc(sizeof *queue + table.size + row.size);
    uint8_t *names = (uint8_t *)(queue + 1);
    memcpy(names, table.data, table.size);
    memcpy(names + table.size, row.data, row.size);
    *queue = (kw_hbase_row_queue){
        .key = {.table = kw_bytes_of(names, table.size), .row = kw_bytes_of(names + table.size, row.size)},
        .batch_queue = batch_queue};
    g_queue_init(&queue->blocked);
    return queue;
}

bool
kw_hbase_row_queue_add(GHashTable *row_queues, kw_bytes table, kw_bytes row, kw_hbase_pending_op *pending)
{
    kw_hbase_row_key key = {.table = table, .row = row};
    kw_hbase_row_queue *queue = g_hash_table_lookup(row_queues, &key);
    bool first = queue == NULL;
    if (first) {
        queue = queue_new(table, row, pending->queue);
        g_hash_table_add(row_queues, queue);
    }
    pending->row_queue = queue;
    bool joins = queue->in_flight == 0 && queue->blocked.length == 0 && pending->queue &&
                 queue->batch_queue == pending->queue;
    if (first || joins) {
        queue->waiting++;
        return true;
    }
    pending->state = KW_HBASE_PENDING_BLOCKED;
    g_queue_push_tail_link(&queue->blocked, &pending->link);
    return false;
}

bool
kw_hbase_row_queue_try_send(kw_hbase_pending_op *pending, uint64_t batch)
{
    kw_hbase_row_queue *queue = pending->row_queue;
    g_assert(queue->waiting > 0 && queue->held <= queue->blocked.length);
    queue->waiting--;
    if (queue->in_flight && queue->batch != batch) {
        pending->state = KW_HBASE_PENDING_BLOCKED;
        pending->held = true;
        g_queue_insert_after_link(&queue->blocked, g_queue_peek_nth_link(&queue->blocked, queue->held - 1),
                                  &pending->link);
        queue->held++;
        return false;
    }
    queue->in_flight++;
    queue->batch = batch;
    return true;
}

/* Writes held back return to the head of their batch queue, before others of their row that wait there. */
static void
return_held(kw_hbase_row_queue *queue)
{
    g_assert(queue->held <= queue->blocked.length);
    while (queue->held) {
        GList *link = g_queue_peek_nth_link(&queue->blocked, --queue->held);
        kw_hbase_pending_op *pending = link->data;
        g_assert(pending->held);
        g_queue_unlink(&queue->blocked, link);
        pending->held = false;
        queue->waiting++;
        kw_hbase_batch_queue_put_back(pending);
    }
}

/* Releases the first blocked writes that have the same batch queue; of those without one, only the first. */
static void
release_blocked(kw_hbase_row_queue *queue)
{
    kw_hbase_pending_op *next = g_queue_peek_head(&queue->blocked);
    queue->batch_queue = next->queue;
    do {
        g_queue_unlink(&queue->blocked, &next->link);
        queue->waiting++;
        kw_hbase_batch_queue_join(next);
        next = g_queue_peek_head(&queue->blocked);
    } while (next && next->queue && next->queue == queue->batch_queue);
}

/* Called when the row has one write less: starts the next ones, or frees the queue after the last one. */
static void
advance(GHashTable *row_queues, kw_hbase_row_queue *queue)
{
    if (queue->in_flight)
        return;
    return_held(queue);
    if (queue->waiting)
        return;
    if (queue->blocked.length)
        release_blocked(queue);
    else
        g_hash_table_remove(row_queues, queue);
}

void
kw_hbase_row_queue_finish(GHashTable *row_queues, kw_hbase_row_queue *queue)
{
    g_assert(queue->in_flight > 0);
    queue->in_flight--;
    advance(row_queues, queue);
}

void
kw_hbase_row_queue_remove(GHashTable *row_queues, kw_hbase_pending_op *pending)
{
    kw_hbase_row_queue *queue = pending->row_queue;
    g_assert(pending->state != KW_HBASE_PENDING_SENT);
    if (pending->state == KW_HBASE_PENDING_BLOCKED) {
        g_assert(queue->blocked.length > 0 && queue->held >= pending->held);
        g_queue_unlink(&queue->blocked, &pending->link);
        queue->held -= pending->held;
    } else {
        g_assert(queue->waiting > 0);
        queue->waiting--;
    }
    advance(row_queues, queue);
}
