/* Where the regions of tables begin: a hint for speed, never for correctness.
 *
 * A batch whose rows are of one region costs HBase a fraction of one that is spread over many. The
 * boundaries are asked for when a table's rows first wait, and again while they are in use, as regions
 * split, merge and move. Until they are known, and when they cannot be had, a table is one region. One loop.
 */
#pragma once

#include "store/store.h"

typedef struct kw_hbase_boundaries kw_hbase_boundaries; /* of one table */

/* changed is called on the loop when there are others; nothing is asked before the first _use. */
kw_hbase_boundaries *kw_hbase_boundaries_new(kw_store_handle *handle, kw_bytes table,
                                             void (*changed)(void *user), void *user);
/* An answer under way is dropped. */
void kw_hbase_boundaries_free(kw_hbase_boundaries *boundaries);

/* Asks for them when they are not known or old. */
void kw_hbase_boundaries_use(kw_hbase_boundaries *boundaries, uint64_t now_ns);

/* At least 1. */
size_t kw_hbase_boundaries_count(const kw_hbase_boundaries *boundaries);

/* The region of a row: 0 .. count - 1. */
size_t kw_hbase_boundaries_find(const kw_hbase_boundaries *boundaries, kw_bytes row);
