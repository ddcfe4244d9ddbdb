/* See row_queues.h. Followers that were held back stand before those that came later. */
#include "store/hbase/row_queues.h"

#include "store/hbase/convert.h"

struct kw_hbase_row_queue {
    kw_bytes table;
    kw_bytes row;
    kw_hbase_batch_queue *queue; /* where its pending operations wait; NULL: they go alone */
    uint32_t waiting;
    uint32_t away;  /* writes that have left */
    uint64_t batch; /* ... in which */
    GQueue followers;
    uint32_t held; /* the first so many of them were taken out of the batch queue */
};

static guint
turn_hash(gconstpointer key)
{
    const kw_hbase_row_queue *turn = key;
    return kw_hbase_row_hash(turn->table, turn->row);
}

static gboolean
turn_equal(gconstpointer a, gconstpointer b)
{
    const kw_hbase_row_queue *one = a, *other = b;
    return kw_bytes_equal(one->row, other->row) && kw_bytes_equal(one->table, other->table);
}

GHashTable *
kw_hbase_row_queues_new(void)
{
    return g_hash_table_new_full(turn_hash, turn_equal, g_free, NULL);
}

static kw_hbase_row_queue *
turn_new(kw_bytes table, kw_bytes row, kw_hbase_batch_queue *queue)
{
    kw_hbase_row_queue *turn = g_malloc(sizeof *turn + table.size + row.size);
    uint8_t *names = (uint8_t *)(turn + 1);
    memcpy(names, table.data, table.size);
    memcpy(names + table.size, row.data, row.size);
    *turn = (kw_hbase_row_queue){.table = kw_bytes_of(names, table.size),
                                 .row = kw_bytes_of(names + table.size, row.size),
                                 .queue = queue};
    g_queue_init(&turn->followers);
    return turn;
}

bool
kw_hbase_row_queue_arrive(GHashTable *turns, kw_bytes table, kw_bytes row, kw_hbase_pending_op *pending)
{
    kw_hbase_row_queue key = {.table = table, .row = row};
    kw_hbase_row_queue *turn = g_hash_table_lookup(turns, &key);
    bool first = turn == NULL;
    if (first) {
        turn = turn_new(table, row, pending->queue);
        g_hash_table_add(turns, turn);
    }
    pending->turn = turn;
    bool joins = !turn->away && !turn->followers.length && pending->queue && turn->queue == pending->queue;
    if (first || joins) {
        turn->waiting++;
        return true;
    }
    pending->state = KW_HBASE_PENDING_FOLLOWS;
    g_queue_push_tail_link(&turn->followers, &pending->link);
    return false;
}

bool
kw_hbase_row_queue_leave(kw_hbase_pending_op *pending, uint64_t batch)
{
    kw_hbase_row_queue *turn = pending->turn;
    turn->waiting--;
    if (turn->away && turn->batch != batch) {
        pending->state = KW_HBASE_PENDING_FOLLOWS;
        pending->held = true;
        g_queue_insert_after_link(&turn->followers, g_queue_peek_nth_link(&turn->followers, turn->held - 1),
                                  &pending->link);
        turn->held++;
        return false;
    }
    turn->away++;
    turn->batch = batch;
    return true;
}

/* Those that were taken out go back to the head, before others of their row that still wait there. */
static void
return_held(kw_hbase_row_queue *turn)
{
    while (turn->held) {
        GList *link = g_queue_peek_nth_link(&turn->followers, --turn->held);
        kw_hbase_pending_op *pending = link->data;
        g_queue_unlink(&turn->followers, link);
        pending->held = false;
        turn->waiting++;
        kw_hbase_batch_queue_return(pending);
    }
}

/* The next followers of one batch queue, as many as there are in a row; one that goes alone, alone. */
static void
call_followers(kw_hbase_row_queue *turn)
{
    kw_hbase_pending_op *next = g_queue_peek_head(&turn->followers);
    turn->queue = next->queue;
    do {
        g_queue_unlink(&turn->followers, &next->link);
        turn->waiting++;
        kw_hbase_batch_queue_join(next);
        next = g_queue_peek_head(&turn->followers);
    } while (next && next->queue && next->queue == turn->queue);
}

static void
settle(GHashTable *turns, kw_hbase_row_queue *turn)
{
    if (turn->away)
        return;
    return_held(turn);
    if (turn->waiting)
        return;
    if (turn->followers.length)
        call_followers(turn);
    else
        g_hash_table_remove(turns, turn);
}

void
kw_hbase_row_queue_done(GHashTable *turns, kw_hbase_row_queue *turn)
{
    turn->away--;
    settle(turns, turn);
}

void
kw_hbase_row_queue_give_up(GHashTable *turns, kw_hbase_pending_op *pending)
{
    kw_hbase_row_queue *turn = pending->turn;
    if (pending->state == KW_HBASE_PENDING_FOLLOWS) {
        g_queue_unlink(&turn->followers, &pending->link);
        turn->held -= pending->held;
    } else {
        turn->waiting--;
    }
    settle(turns, turn);
}
