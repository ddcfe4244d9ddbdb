/* Opens RocksDB with the options of this store, and translates its errors.
 *
 * The database has one column family in bytewise order (key.h), Bloom filters over row prefixes, LZ4
 * compression with ZSTD at the bottom level, and one block cache, which also contains the index and filter
 * blocks. Only the committer's writes sync the write-ahead log.
 */
#pragma once

#include "store/embedded/tables.h"

/* A block of a file ends with the entry that makes it larger than this, uncompressed. */
#define KW_BLOCK_BYTES ((size_t)16 * 1024)
/* With long keys, the index of a file can be larger than the cache. A file of values that compress well has
 * so many rows that its filter is larger than a shard of the cache, a 64th of it by default. So both are read
 * in parts of at most this size. */
#define KW_INDEX_PART_BYTES ((size_t)256 * 1024)

typedef struct kw_engine {
    rocksdb_t *db;
    rocksdb_options_t *options;
    rocksdb_cache_t *cache;
    int64_t cache_bytes; /* charged to the memory budget */
    rocksdb_writeoptions_t *write_synced;
    rocksdb_writeoptions_t *write_unsynced; /* writes the log but does not sync it */
    /* RocksDB's message if the last write failed, else NULL. Used by the writing thread. */
    char *write_failure;
} kw_engine;

/* Opens the database in the folder. Compactions read the list of tables. */
bool kw_engine_open(kw_engine *engine, const char *folder, int64_t cache_bytes, kw_embedded_tables *tables,
                    kw_error *ret_error);
void kw_engine_close(kw_engine *engine);

/* Reports a failure with RocksDB's message, and frees the message. The log gets the text for the operator,
 * ret_error the one for the caller (CORRUPT for a corruption, else UNAVAILABLE). Returns false. A full disk
 * is logged once, and again only after a write has succeeded. Other failures are logged at most once a
 * second, with the number of failures not logged since. */
bool kw_engine_failed(char *message, const char *doing, kw_error *ret_error);

/* Checks the result of a write: RocksDB's message, which it frees, or NULL if the write succeeded. Call it
 * on the writing thread. Returns false after a failure; then ret_error->maybe_applied is true if the log can
 * contain the write anyway. */
bool kw_engine_check_write(kw_engine *engine, char *message, kw_error *ret_error);

/* The result of the last write. RocksDB recovers from a failed write. It does not recover from a failed sync,
 * because the kernel can have dropped the data. Only a restart reads the log again and so finds out what is
 * on disk. */
typedef enum kw_disk_state {
    KW_DISK_WORKS,
    KW_DISK_FULL,
    KW_DISK_WRITE_FAILED, /* for another reason */
    KW_DISK_SYNC_FAILED
} kw_disk_state;

/* Call it on the writing thread. */
kw_disk_state kw_engine_disk(const kw_engine *engine);

/* How much free space a full disk needs before writes continue. */
#define KW_DISK_FREE_SPACE "64 MiB"

/* Notes that a write succeeded. Logs the end of a disk-full period. */
void kw_engine_write_succeeded(void);

/* Reads the value of a key, which can be empty; NULL: there is none. Free it with rocksdb_free. `doing` is
 * for the error. */
bool kw_engine_get(rocksdb_t *db, kw_bytes key, const char *doing, char **ret_value, size_t *ret_size,
                   kw_error *ret_error);

/* False if the iterator stopped because of an error. */
bool kw_engine_check_iterator(const rocksdb_iterator_t *iterator, kw_error *ret_error);

/* The iterator's current entry. The slices are valid until the iterator moves. */
kw_bytes kw_engine_key(const rocksdb_iterator_t *at);
kw_bytes kw_engine_value(const rocksdb_iterator_t *at);

/* Drops the entries of a dropped table: whole files immediately, the rest at compaction. */
void kw_engine_forget_table(kw_engine *engine, uint32_t id);
