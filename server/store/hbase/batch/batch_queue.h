/* Batch queues: single operations of one kind on one table wait here and are sent together as multi-calls.
 *
 *   kw_hbase_write, _get --> pending operation --> queue of its region --> multi-call --> answered
 *
 * At the end of a loop iteration in which operations arrived or a call was answered, the longest region queue
 * is sent as one call (batch_queue.c describes the exceptions). This repeats until as many calls are in
 * flight as the concurrency allows.
 *
 * Each batch queue has its own concurrency (concurrency.h), so tables, kinds and durabilities do not delay
 * each other. The rows of a record with several rows are an exception: a put usually writes them at the same
 * time and waits for all of them, so their batch queues, one for each table, have the same concurrency. With
 * different ones, the rate of the puts is lower. Each batch queue counts its own calls in flight.
 *
 * An operation never waits for a timer, only for a call in flight. Each operation keeps its own deadline:
 * when it passes, the operation fails and the rest of its batch continues.
 *
 * The structs of operations in write.c and get.c begin with a kw_hbase_pending_op. Everything runs on one
 * loop.
 */
#pragma once

#include "store/hbase/batch/boundaries.h"
#include "store/hbase/batch/concurrency.h"
#include "store/hbase/link/call.h"

#include "store/store.h"

/* Maximum rows of one multi-call. */
#define KW_HBASE_BATCH_ROWS 128

typedef struct kw_hbase_batch_queue kw_hbase_batch_queue;
typedef struct kw_hbase_pending_op kw_hbase_pending_op;
typedef struct kw_hbase_coalescer kw_hbase_coalescer; /* the batch queues and row queues of a store handle */
struct kw_hbase_row_queue;

typedef enum kw_hbase_batch_queue_kind {
    KW_HBASE_BATCH_PUT,
    KW_HBASE_BATCH_PUT_ONCE, /* puts that must not be sent twice, of records with one row */
    KW_HBASE_BATCH_PUT_ROWS, /* the same, of records with several rows */
    KW_HBASE_BATCH_DELETE,
    KW_HBASE_BATCH_GET
} kw_hbase_batch_queue_kind;

typedef enum kw_hbase_pending_op_state {
    KW_HBASE_PENDING_BLOCKED, /* a write waits for an earlier write of its row, or a get for an equal get */
    KW_HBASE_PENDING_QUEUED,  /* in its batch queue */
    KW_HBASE_PENDING_SENT     /* passed to class->send */
} kw_hbase_pending_op_state;

/* The functions of a kind of pending operation. */
typedef struct kw_hbase_pending_op_class {
    /* Sends the operations (at least one) now as one call. Unless `queue` is NULL, the class must call
     * kw_hbase_batch_queue_answered when that call is done. */
    void (*send)(kw_hbase_batch_queue *queue, kw_hbase_pending_op *const *pending_ops, size_t count);
    /* Returns the time from which it is certain whether the operation's batch was sent. If this time is later
     * than the operation's deadline, the operation fails at this time instead of at its deadline. 0: at its
     * deadline. NULL: always 0. */
    kw_deadline (*settled_at)(const kw_hbase_pending_op *pending);
    /* True if it is possible that the store has received the operation or still receives it. */
    bool (*can_have_been_sent)(const kw_hbase_pending_op *pending);
    /* Reports the error to the caller and frees the operation, because its deadline has passed or the store
     * handle closes. If the operation is part of a batch, the batch must not report to this caller again. */
    void (*fail)(kw_hbase_pending_op *pending, const kw_error *error);
} kw_hbase_pending_op_class;

struct kw_hbase_pending_op {
    /* set by kw_hbase_pending_op_init */
    const kw_hbase_pending_op_class *class;
    kw_hbase_coalescer *coalescer;
    kw_bytes row;
    kw_deadline deadline;

    /* set by write.c and get.c */
    kw_hbase_batch_queue *queue; /* NULL: sent in a call of its own, not as part of a batch */
    size_t bytes;                /* approximate size on the wire */

    /* used by batch_queue.c, region_queues.c and row_queues.c */
    kw_hbase_pending_op_state state;
    uint64_t since_ns; /* when it was queued */
    size_t region;
    GList link;
    GList watch_link;
    struct kw_hbase_row_queue *row_queue; /* writes only */
    bool held;    /* removed from its batch queue, but waits for a write of its row in flight */
    bool watched; /* in the list of operations whose deadline is watched */
};

/* Initializes the head of a zeroed operation. */
void kw_hbase_pending_op_init(kw_hbase_pending_op *pending, const kw_hbase_pending_op_class *class,
                              kw_hbase_coalescer *coalescer, kw_bytes row, kw_deadline deadline);

kw_hbase_coalescer *kw_hbase_coalescer_new(kw_store_handle *handle, kw_loop *loop, uint32_t channels,
                                           size_t batch_bytes);
/* Fails every waiting operation with `error`. No operation must be started after this. */
void kw_hbase_coalescer_close(kw_hbase_coalescer *coalescer, const kw_error *error);
/* Call it after the pool was closed. */
void kw_hbase_coalescer_free(kw_hbase_coalescer *coalescer);

/* Creates the batch queue if it does not exist. */
kw_hbase_batch_queue *kw_hbase_coalescer_queue(kw_hbase_coalescer *coalescer, kw_hbase_batch_queue_kind kind,
                                               kw_bytes table, kw_durability durability);

/* Starts a write. It joins its batch queue, or is sent if it has none, as soon as the earlier writes of its
 * row allow that (row_queues.h). */
void kw_hbase_pending_op_start_write(kw_hbase_pending_op *pending, kw_bytes table);
/* Adds the operation to its batch queue; without a batch queue it is sent at once. */
void kw_hbase_batch_queue_join(kw_hbase_pending_op *pending);
/* Puts the operation back at the head of its batch queue. */
void kw_hbase_batch_queue_put_back(kw_hbase_pending_op *pending);

/* Call it when a call with this many operations of the batch queue was answered, failed, or could not be
 * sent. */
void kw_hbase_batch_queue_answered(kw_hbase_batch_queue *queue, size_t pending_ops);
/* A sent write is done: the next writes of its row can start. */
void kw_hbase_pending_op_finish_write(kw_hbase_coalescer *coalescer, struct kw_hbase_row_queue *row_queue);

/* Watches the deadline of an operation that waits or is part of a batch. */
void kw_hbase_pending_op_watch(kw_hbase_pending_op *pending);
/* Stops watching: the operation was answered, or its own call watches the deadline. */
void kw_hbase_pending_op_unwatch(kw_hbase_pending_op *pending);
