/* The waiting operations of one batch queue, in one queue per region, so that a batch has rows of few
 * regions. There is only one region queue for gets, and for a table whose regions are not known. One loop.
 *
 * Invariants: `waiting` is the number of queued operations; nonempty[0 .. nonempty_count) are the regions
 * that have operations, each once. */
#pragma once

#include "store/hbase/batch/batch_queue.h"

typedef struct kw_hbase_region_queue {
    GQueue pending_ops;
    size_t position; /* in nonempty; undefined while the queue is empty */
} kw_hbase_region_queue;

typedef struct kw_hbase_region_queues {
    kw_hbase_region_queue *queues;
    size_t count;
    size_t *nonempty;
    size_t nonempty_count;
    size_t waiting;
} kw_hbase_region_queues;

void kw_hbase_region_queues_init(kw_hbase_region_queues *queues);
/* They must be empty. */
void kw_hbase_region_queues_clear(kw_hbase_region_queues *queues);

/* Queues the operation at the head or the tail of its region's queue. boundaries NULL: one region. */
void kw_hbase_region_queues_push(kw_hbase_region_queues *queues, const kw_hbase_boundaries *boundaries,
                                 kw_hbase_pending_op *pending, bool at_head);
/* Removes a queued operation. */
void kw_hbase_region_queues_remove(kw_hbase_region_queues *queues, kw_hbase_pending_op *pending);
/* Moves all operations to the queues of the new regions. Operations of one row keep their order. */
void kw_hbase_region_queues_rebuild(kw_hbase_region_queues *queues, const kw_hbase_boundaries *boundaries);

/* The region with the most waiting operations. There must be a waiting operation. */
size_t kw_hbase_region_queues_longest(const kw_hbase_region_queues *queues);
/* The region whose first operation has waited longest. */
size_t kw_hbase_region_queues_oldest(const kw_hbase_region_queues *queues);
/* The first operation of a region; NULL if there is none. */
kw_hbase_pending_op *kw_hbase_region_queues_first(const kw_hbase_region_queues *queues, size_t region);
