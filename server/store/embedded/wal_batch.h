/* One commit in the write-ahead log: RocksDB's WriteBatch.
 *
 *   sequence number u64 of its first entry | entries u32 | entries: tag u8, key, value; each text behind its
 * length
 *
 * Little-endian; lengths are varints. Pure.
 */
#pragma once

#include "base/bytes.h"

typedef struct kw_wal_batch {
    uint64_t sequence;
    uint32_t entries;
    uint64_t rows;   /* that the entries, as far as they can be read, belong to */
    uint64_t tables; /* changes of tables among the entries */
    bool complete;   /* all entries could be read */
} kw_wal_batch;

/* False when not even the head is there. What follows the last entry is not looked at. */
bool kw_wal_batch_read(kw_bytes record, kw_wal_batch *ret_batch);
