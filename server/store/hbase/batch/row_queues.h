/* Order of the writes to one row: a later write waits until the earlier ones are done, so that pipelined
 * writes of one caller arrive in order, whichever batches they are sent in.
 *
 *   add --> the row has no other write, or its writes all wait in the same batch queue: wait there, in order
 *      \--> otherwise: blocked; when the row's last sent write is done, blocked writes join their batch queue
 *
 * A row queue exists while its row has writes. One loop.
 *
 * Invariants: waiting + in_flight + the number of blocked writes is the number of the row's writes; the first
 * `held` of the blocked ones were taken from their batch queue.
 */
#pragma once

#include "store/hbase/batch/batch_queue.h"

typedef struct kw_hbase_row_queue kw_hbase_row_queue;

GHashTable *kw_hbase_row_queues_new(void);

/* Sets the operation's row queue. True if it can join its batch queue, or be sent if it has none; false if it
 * is blocked. */
bool kw_hbase_row_queue_add(GHashTable *row_queues, kw_bytes table, kw_bytes row,
                            kw_hbase_pending_op *pending);

/* True if an operation that was just removed from its batch queue can be sent in the batch with this number.
 * False: an earlier write of its row is in flight in another batch; the operation is held back. */
bool kw_hbase_row_queue_try_send(kw_hbase_pending_op *pending, uint64_t batch);

/* A sent write is done. */
void kw_hbase_row_queue_finish(GHashTable *row_queues, kw_hbase_row_queue *queue);

/* Removes a write that was not sent: a blocked one, or one already removed from its batch queue. */
void kw_hbase_row_queue_remove(GHashTable *row_queues, kw_hbase_pending_op *pending);
