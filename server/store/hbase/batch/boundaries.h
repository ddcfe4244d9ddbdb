/* The region boundaries of one table. They only affect speed, never results.
 *
 * A batch whose rows are all in one region costs HBase much less than one whose rows are in many regions. The
 * boundaries are requested when rows of the table first wait, and again while they are in use, because
 * regions split and merge. While they are unknown, the table counts as one region. One loop.
 */
#pragma once

#include "store/store.h"

typedef struct kw_hbase_boundaries kw_hbase_boundaries;

/* Calls `changed` on the loop when the boundaries have changed. Nothing is requested before the first call of
 * _use. */
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
