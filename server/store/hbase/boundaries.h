/* The region boundaries of one table. They only affect speed, never results.
 *
 * A batch with rows of one region costs HBase a fraction of a batch with rows of many. The boundaries are
 * requested when rows of the table first wait, and again while they are in use, because regions split, merge
 * and move. While they are unknown, the table counts as one region. One loop.
 */
#pragma once

#include "store/store.h"

typedef struct kw_hbase_boundaries kw_hbase_boundaries;

/* `changed` is called on the loop when the boundaries differ from those before. Nothing is requested before
 * the first call of _use. */
kw_hbase_boundaries *kw_hbase_boundaries_new(kw_store_handle *handle, kw_bytes table,
                                             void (*changed)(void *user), void *user);
/* The reply to a request in flight is ignored. */
void kw_hbase_boundaries_free(kw_hbase_boundaries *boundaries);

/* Requests the boundaries if they are unknown or old. */
void kw_hbase_boundaries_use(kw_hbase_boundaries *boundaries, uint64_t now_ns);

/* The number of regions, at least 1. */
size_t kw_hbase_boundaries_count(const kw_hbase_boundaries *boundaries);

/* The region of a row: 0 .. count - 1. */
size_t kw_hbase_boundaries_find(const kw_hbase_boundaries *boundaries, kw_bytes row);
