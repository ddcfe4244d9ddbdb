/* The blocks that iterators of range scans hold.
 *
 * RocksDB reads a file in blocks. A block ends with the entry that makes it larger than KW_BLOCK_BYTES, so it
 * can be as large as the largest entry of the store. An iterator holds one block, uncompressed, of each file
 * of level 0 and of each further level. These can be blocks of another table, the next one in the order of
 * keys. If it does not use the cache, it also holds a part of the index of each file.
 *
 * So the memory of an iterator has an upper bound: the number of those files times the largest entry. The
 * store keeps the size of its largest entry under the key 00000000 'l', in 8 bytes, and writes it together
 * with the first entry of that size. It never decreases.
 *
 * While a thread uses an iterator, the budget is charged with this bound, but with at most an eighth of what
 * limits.memory leaves to callers: a store with large entries must be readable with little memory. A scan
 * that waits for its next fetch keeps its iterator only in one of two cases:
 *   - The bounds of all kept iterators together are at most a quarter of what limits.memory leaves to callers.
 *     Then the budget is charged with the whole bound.
 *   - The iterator uses the cache, which is charged at its full size, and all iterators together hold at most
 *     half of that.
 * Otherwise the next fetch creates another iterator. So only the iterators of the few threads that read, and
 * of the committer, can hold more than was charged.
 *
 * The charges are not part of the caller's account: a small call stays small, whatever the store contains.
 *
 * Any thread, except where stated.
 */
#pragma once

#include "store/embedded/engine.h"

#include <stdatomic.h>

typedef struct kw_entries kw_entries;

typedef struct kw_blocks {
    const kw_engine *engine;
    _Atomic int64_t largest_bytes; /* of an entry: key and value */
    int64_t stored_bytes; /* the largest entry as stored; used by the committer, as is the next member */
    int64_t batch_bytes;  /* the same in the batch; 0: the batch does not have it */
    _Atomic int64_t kept_bytes;  /* upper bounds of the kept iterators */
    _Atomic uint64_t counted_ns; /* when `files` was counted */
    _Atomic int64_t files;       /* of level 0, and further levels */
} kw_blocks;

/* Reads the size of the largest entry. */
bool kw_blocks_load(kw_blocks *blocks, const kw_engine *engine, kw_error *ret_error);

/* On the committer's thread: call the first one before a batch is written, the second one after it. */
void kw_blocks_add_mark_if_needed(kw_blocks *blocks, kw_entries *batch);
void kw_blocks_written(kw_blocks *blocks, bool written);
/* True for the key of the size of the largest entry. */
bool kw_blocks_is_mark(kw_bytes key);

/* The blocks of one iterator. One thread at a time. */
typedef struct kw_iterator_blocks {
    int64_t most_bytes; /* upper bound */
    int64_t charged_bytes;
    bool uses_cache;
    bool reserved; /* most_bytes is part of kept_bytes */
} kw_iterator_blocks;

/* Call it before the iterator is created. uses_cache: what it reads is added to the cache. */
kw_iterator_blocks kw_blocks_begin(kw_blocks *blocks, bool uses_cache);
/* Call it when a scan begins to wait. False: the scan must not keep the iterator. */
bool kw_blocks_keep(kw_blocks *blocks, kw_iterator_blocks *iterator);
/* Call it after the iterator was destroyed. */
void kw_blocks_end(kw_blocks *blocks, kw_iterator_blocks *iterator);
