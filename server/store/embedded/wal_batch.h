/* Reads a commit in the write-ahead log: RocksDB's WriteBatch.
 *
 *   sequence number of the first entry u64 | number of entries u32 | entries
 *   entry: tag u8 | length of the key, key | length of the value, value (puts only)
 *
 * Integers are little-endian, lengths are varints. Pure.
 */
#pragma once

#include "base/bytes.h"

typedef struct kw_wal_batch {
    uint64_t sequence;
    uint32_t entries;
    uint64_t rows;   /* rows of the readable entries */
    uint64_t tables; /* changes of tables among the readable entries */
    bool complete;   /* all entries are readable */
} kw_wal_batch;

/* False if the record is too short for the first two numbers. Ignores bytes after the last entry. */
bool kw_wal_batch_read(kw_bytes record, kw_wal_batch *ret_batch);
