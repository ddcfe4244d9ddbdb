/* Lanes: operations of one kind on one table that wait, and leave together.
 *
 *   kw_hbase_write, _get --> pending operation --> batch queue: room? --> leaves at once, alone
 *                                       \--> waits in the queue of its region
 *   a call of the batch queue is answered --> the fullest region's pending operations leave as one multi-call
 *
 * A batch queue has its own width (width.h), so tables, kinds and durabilities do not hold each other back.
 * No timer delays anybody: what waits, waits for a call that is at the server. Riders keep their own
 * deadlines: one whose deadline passes is answered, and the others ride on.
 *
 * A pending operation is the head of write.c's and get.c's operations. One loop.
 */
#pragma once

#include "store/hbase/boundaries.h"
#include "store/hbase/call.h"
#include "store/hbase/width.h"

#include "store/store.h"

/* Most rows of one call. */
#define KW_HBASE_BATCH_ROWS 128

typedef struct kw_hbase_batch_queue kw_hbase_batch_queue;
typedef struct kw_hbase_pending_op kw_hbase_pending_op;
typedef struct kw_hbase_coalescer kw_hbase_coalescer;
struct kw_hbase_row_queue;

typedef enum kw_hbase_batch_queue_kind {
    KW_HBASE_BATCH_PUT,
    KW_HBASE_BATCH_PUT_ONCE, /* puts that are never sent twice */
    KW_HBASE_BATCH_DELETE,
    KW_HBASE_BATCH_GET
} kw_hbase_batch_queue_kind;

typedef enum kw_hbase_pending_op_state {
    KW_HBASE_PENDING_FOLLOWS, /* a write of its row is before it */
    KW_HBASE_PENDING_WAITS,   /* in its batch queue */
    KW_HBASE_PENDING_SENT     /* in a call */
} kw_hbase_pending_op_state;

/* What a kind of pending operation does; each is called once, ends the pending operation, and may start
 * others. */
typedef struct kw_hbase_pending_op_class {
    /* These leave now as one call, at least one; kw_hbase_batch_queue_answered follows when there is a batch
     * queue. */
    void (*leave)(kw_hbase_batch_queue *queue, kw_hbase_pending_op *const *pending_ops, size_t count);
    /* When it will be certain whether a pending operation whose deadline passes is sent; 0: it is. */
    kw_deadline (*settled_at)(const kw_hbase_pending_op *pending);
    /* May the store have seen it, or still get to see it? */
    bool (*left)(const kw_hbase_pending_op *pending);
    /* Its deadline passed, or the store handle closes: answers the caller. One that rides must stay silent
     * later. */
    void (*fail)(kw_hbase_pending_op *pending, const kw_error *error);
} kw_hbase_pending_op_class;

struct kw_hbase_pending_op {
    const kw_hbase_pending_op_class *class;
    kw_hbase_coalescer *coalescer;
    kw_hbase_batch_queue *queue; /* NULL: goes alone, whatever else waits */
    kw_bytes row;
    size_t bytes; /* about, on the wire */
    kw_deadline deadline;

    /* the batch queue's */
    kw_hbase_pending_op_state state;
    uint64_t since_ns;
    size_t region;
    GList link;
    GList due_link;
    struct kw_hbase_row_queue *turn; /* writes */
    bool held;
    bool timed; /* in the list of deadlines */
};

kw_hbase_coalescer *kw_hbase_coalescer_new(kw_store_handle *handle, kw_loop *loop, uint32_t channels,
                                           size_t batch_bytes);
/* Everything that waits fails with `error`; nothing may be started any more. */
void kw_hbase_coalescer_close(kw_hbase_coalescer *coalescer, const kw_error *error);
/* After the pool was closed. */
void kw_hbase_coalescer_free(kw_hbase_coalescer *coalescer);

kw_hbase_batch_queue *kw_hbase_coalescer_queue(kw_hbase_coalescer *coalescer, kw_hbase_batch_queue_kind kind,
                                               kw_bytes table, kw_durability durability);
kw_bytes kw_hbase_batch_queue_table(const kw_hbase_batch_queue *queue);

/* A write of a row: waits for earlier ones, then joins its batch queue or leaves. */
void kw_hbase_pending_op_start_write(kw_hbase_pending_op *pending, kw_bytes table);
/* Into its batch queue: leaves at once when there is room. Without a batch queue it leaves. */
void kw_hbase_batch_queue_join(kw_hbase_pending_op *pending);
/* Back to the head of its batch queue's queue. */
void kw_hbase_batch_queue_return(kw_hbase_pending_op *pending);

/* The call that pending operations of the batch queue left in was answered (or failed, or never left). */
void kw_hbase_batch_queue_answered(kw_hbase_batch_queue *queue, size_t pending_ops);
/* A write that had left is done: those behind it may come. */
void kw_hbase_pending_op_done_write(kw_hbase_coalescer *coalescer, struct kw_hbase_row_queue *turn);

/* Its deadline is watched here: who waits or rides in a call of several. */
void kw_hbase_pending_op_time(kw_hbase_pending_op *pending);
/* No more deadline of its own: it was answered, or its call watches it. */
void kw_hbase_pending_op_untime(kw_hbase_pending_op *pending);
