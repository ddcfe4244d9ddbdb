/* RocksDB, opened the way this store needs it, and its errors translated.
 *
 * One column family in bytewise order (key.h); bloom filters over row prefixes; LZ4, ZSTD at the bottom;
 * one block cache with index and filter blocks inside it. The write-ahead log is synced by the
 * committer's writes only.
 */
#pragma once

#include "store/embedded/tables.h"

typedef struct kw_engine {
    rocksdb_t *db;
    rocksdb_options_t *options;
    rocksdb_cache_t *cache;
    int64_t cache_bytes; /* charged to the memory budget */
    rocksdb_writeoptions_t *write_synced;
    rocksdb_writeoptions_t *write_lazy; /* in the log, not synced */
    char *write_failure;                /* the writer's: what the last write failed with; NULL: it did not */
} kw_engine;

/* The folder is RocksDB's own; compactions look into the catalog. */
bool kw_engine_open(kw_engine *engine, const char *folder, int64_t cache_bytes, kw_embedded_tables *catalog,
                    kw_error *ret_error);
void kw_engine_close(kw_engine *engine);

/* Takes RocksDB's message: the operator's text goes to the log, the caller's to ret_error (CORRUPT for a
 * corruption, else UNAVAILABLE). Returns false. A full disk is logged once, until a write succeeds again; of
 * other failures one a second is logged, with the number of those before it that were not. */
bool kw_engine_failed(char *message, const char *doing, kw_error *ret_error);

/* Takes RocksDB's message of a write, NULL for none; on the thread that writes. False after a failure:
 * maybe_applied says whether the write may be in the log all the same. */
bool kw_engine_written(kw_engine *engine, char *message, kw_error *ret_error);

/* On the thread that writes: did the last write fail because the log could not be synced? */
bool kw_engine_sync_failed(const kw_engine *engine);

/* A write succeeded: logs when the ones before it had failed for lack of room. */
void kw_engine_worked(void);

/* False when the iterator stopped because of an error. */
bool kw_engine_iterator_good(const rocksdb_iterator_t *iterator, kw_error *ret_error);

/* The entry that the iterator stands on: slices of RocksDB's, until it moves. */
kw_bytes kw_engine_key(const rocksdb_iterator_t *at);
kw_bytes kw_engine_value(const rocksdb_iterator_t *at);

/* Entries of a dropped table: whole files go now, the rest when compaction comes by. */
void kw_engine_forget_table(kw_engine *engine, uint32_t id);
