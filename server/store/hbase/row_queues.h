/* Rows with a write under way: a later write to the same row waits for its turn, so that what one caller
 * pipelines arrives in order, whatever it leaves together with.
 *
 *   arrive --> nothing of the row is under way, or only waits in the same batch queue: WAIT there, in order
 *         \--> else FOLLOW; when the row's last write is done, the followers enter their batch queue
 *
 * A turn lives while its row has writes. One loop.
 */
#pragma once

#include "store/hbase/batch_queue.h"

typedef struct kw_hbase_row_queue kw_hbase_row_queue;

GHashTable *kw_hbase_row_queues_new(void);

/* The pending operation's turn is set. True: it may wait in its batch queue, or leave when it has none.
 * False: it follows. */
bool kw_hbase_row_queue_arrive(GHashTable *turns, kw_bytes table, kw_bytes row, kw_hbase_pending_op *pending);

/* A pending operation that was taken out of its batch queue: may it leave in the batch of this number? False:
 * it is held back, because an earlier write of its row is under way in another. */
bool kw_hbase_row_queue_leave(kw_hbase_pending_op *pending, uint64_t batch);

/* A write that had left is done. */
void kw_hbase_row_queue_done(GHashTable *turns, kw_hbase_row_queue *turn);

/* A pending operation that waits in its batch queue (already unlinked there) or follows gives up. */
void kw_hbase_row_queue_give_up(GHashTable *turns, kw_hbase_pending_op *pending);
