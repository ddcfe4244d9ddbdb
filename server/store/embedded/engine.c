#include "store/embedded/engine.h"

#include "base/budget.h"
#include "base/clock.h"
#include "base/log.h"
#include "store/embedded/compaction.h"
#include "store/embedded/key.h"

#include <stdatomic.h>

/* Apart from the sync, most of the cost of a put is the search in the memtable. The search takes half as long
 * in 16 MiB as in 64 MiB. */
#define WRITE_BUFFER_BYTES ((size_t)16 * 1024 * 1024)
#define WRITE_BUFFERS 4
#define LEVEL0_FILES 6
#define LEVEL1_BYTES ((uint64_t)128 * 1024 * 1024)
#define FILE_BYTES ((uint64_t)32 * 1024 * 1024)
/* The keys of an index are stored without the prefix that they share with the previous key. */
#define INDEX_RESTART 16
#define BLOOM_BITS 10.0

/* KW_DISK_FREE_SPACE: after a write has failed because the disk was full, RocksDB waits until more than one
 * write buffer is free, and then writes all buffers to files. It looks for free space every five seconds. */
G_STATIC_ASSERT(WRITE_BUFFERS *WRITE_BUFFER_BYTES == (size_t)64 * 1024 * 1024);

/* --- failures --------------------------------------------------------------------------------------- */

/* One set per process, because a process has one engine. */
static _Atomic bool disk_full;
static _Atomic uint64_t logged_second;
static _Atomic uint64_t unlogged;

/* True if a failure may be logged now. */
static bool
should_log(bool full)
{
    uint64_t second = kw_clock_mono_ns() / 1000000000 + 1;
    bool should =
        full ? !atomic_exchange(&disk_full, true) : atomic_exchange(&logged_second, second) != second;
    if (!should)
        atomic_fetch_add(&unlogged, 1);
    return should;
}

void
kw_engine_write_succeeded(void)
{
    if (!atomic_load_explicit(&disk_full, memory_order_relaxed) || !atomic_exchange(&disk_full, false))
        return;
    kw_log(KW_LOG_INFO, "embedded", "the disk has free space again",
           KW_LOG_FACT("failures_not_logged", atomic_exchange(&unlogged, 0)));
}

static bool
is_full(const char *message)
{
    return strstr(message, "No space left") != NULL;
}

bool
kw_engine_failed(char *message, const char *doing, kw_error *ret_error)
{
    g_assert(message && doing);
    bool corrupt = g_str_has_prefix(message, "Corruption");
    bool full = is_full(message);
    if (should_log(full))
        kw_log(KW_LOG_ERROR, "embedded",
               full ? "the disk is full; writes fail until it has up to " KW_DISK_FREE_SPACE " of free space"
                    : "RocksDB failed",
               KW_LOG_FACT("doing", doing), KW_LOG_FACT("reason", message),
               KW_LOG_FACT("failures_not_logged", atomic_exchange(&unlogged, 0)));
    rocksdb_free(message);
    return kw_error_set(ret_error, corrupt ? KW_CORRUPT : KW_UNAVAILABLE,
                        "the embedded store failed while %s%s", doing,
                        corrupt ? ": stored data is damaged"
                        : full  ? ": the disk is full; free " KW_DISK_FREE_SPACE " on it"
                                : "");
}

/* True if the log certainly does not contain the write. That holds for two kinds of failures. If the record
 * could not be appended as a whole, the next start removes it (wal.h). If the message is the same as that of
 * the last write, RocksDB did not try: after a failure it rejects all writes with the message of that
 * failure, until it continues in a new log, whose name is then part of the message. If the sync failed, the
 * write can be on disk. */
static bool
was_not_written(const kw_engine *engine, const char *message)
{
    return strstr(message, "While appending to file") || strstr(message, "While open a file for appending") ||
           g_strcmp0(engine->write_failure, message) == 0;
}

bool
kw_engine_check_write(kw_engine *engine, char *message, kw_error *ret_error)
{
    bool certain = message && was_not_written(engine, message);
    g_free(engine->write_failure);
    engine->write_failure = g_strdup(message);
    if (!message) {
        kw_engine_write_succeeded();
        return true;
    }
    kw_engine_failed(message, "writing", ret_error);
    ret_error->maybe_applied = !certain;
    return false;
}

kw_disk_state
kw_engine_disk(const kw_engine *engine)
{
    const char *failure = engine->write_failure;
    if (!failure)
        return KW_DISK_WORKS;
    if (strstr(failure, "While fdatasync") || strstr(failure, "While fsync"))
        return KW_DISK_SYNC_FAILED;
    return is_full(failure) ? KW_DISK_FULL : KW_DISK_WRITE_FAILED;
}

bool
kw_engine_get(rocksdb_t *db, kw_bytes key, const char *doing, char **ret_value, size_t *ret_size,
              kw_error *ret_error)
{
    char *failed = NULL;
    rocksdb_readoptions_t *options = rocksdb_readoptions_create();
    *ret_size = 0;
    *ret_value = rocksdb_get(db, options, (const char *)key.data, key.size, ret_size, &failed);
    rocksdb_readoptions_destroy(options);
    return !failed || kw_engine_failed(failed, doing, ret_error);
}

bool
kw_engine_check_iterator(const rocksdb_iterator_t *iterator, kw_error *ret_error)
{
    char *failed = NULL;
    rocksdb_iter_get_error(iterator, &failed);
    return !failed || kw_engine_failed(failed, "reading", ret_error);
}

kw_bytes
kw_engine_key(const rocksdb_iterator_t *at)
{
    size_t size;
    const char *key = rocksdb_iter_key(at, &size);
    return kw_bytes_of(key, size);
}

kw_bytes
kw_engine_value(const rocksdb_iterator_t *at)
{
    size_t size;
    const char *value = rocksdb_iter_value(at, &size);
    return kw_bytes_of(value, size);
}

/* --- row prefixes, for bloom filters --------------------------------------------------------------- */

static char *
row_prefix(void *unused, const char *key, size_t size, size_t *ret_size)
{
    (void)unused;
    *ret_size = kw_key_row_size(kw_bytes_of(key, size));
    return (char *)(uintptr_t)key;
}

static unsigned char
has_row_prefix(void *unused, const char *key, size_t size)
{
    (void)unused;
    return kw_key_row_size(kw_bytes_of(key, size)) > 0;
}

static const char *
row_prefix_name(void *unused)
{
    (void)unused;
    return "keyway.row.1";
}

static void
nothing_to_free(void *unused)
{
    (void)unused;
}

/* --- options --------------------------------------------------------------------------------------- */

static void
set_table_format(kw_engine *engine)
{
    rocksdb_block_based_table_options_t *format = rocksdb_block_based_options_create();
    rocksdb_block_based_options_set_block_cache(format, engine->cache);
    rocksdb_block_based_options_set_block_size(format, KW_BLOCK_BYTES);
    rocksdb_block_based_options_set_format_version(format, 5);
    rocksdb_block_based_options_set_filter_policy(format, rocksdb_filterpolicy_create_bloom_full(BLOOM_BITS));
    rocksdb_block_based_options_set_whole_key_filtering(format, 0);
    rocksdb_block_based_options_set_cache_index_and_filter_blocks(format, 1);
    rocksdb_block_based_options_set_cache_index_and_filter_blocks_with_high_priority(format, 1);
    /* Ends a block that is a quarter full before a cell that does not fit, not after it: usually between two
     * rows. The index then does not need the whole key of the second row. RocksDB makes the parts of a filter
     * smaller by the same percentage, so with 100, each part would have only a few keys. */
    rocksdb_block_based_options_set_block_size_deviation(format, 75);
    rocksdb_block_based_options_set_index_type(format,
                                               rocksdb_block_based_table_index_type_two_level_index_search);
    rocksdb_block_based_options_set_partition_filters(format, 1);
    rocksdb_block_based_options_set_metadata_block_size(format, KW_INDEX_PART_BYTES);
    rocksdb_block_based_options_set_index_block_restart_interval(format, INDEX_RESTART);
    rocksdb_block_based_options_set_pin_top_level_index_and_filter(format, 0);
    rocksdb_options_set_block_based_table_factory(engine->options, format);
    rocksdb_block_based_options_destroy(format);
}

static void
set_files(rocksdb_options_t *options)
{
    rocksdb_options_set_create_if_missing(options, 1);
    rocksdb_options_set_write_buffer_size(options, WRITE_BUFFER_BYTES);
    rocksdb_options_set_max_write_buffer_number(options, WRITE_BUFFERS);
    rocksdb_options_set_level0_file_num_compaction_trigger(options, LEVEL0_FILES);
    rocksdb_options_set_max_bytes_for_level_base(options, LEVEL1_BYTES);
    rocksdb_options_set_target_file_size_base(options, FILE_BYTES);
    rocksdb_options_set_level_compaction_dynamic_level_bytes(options, 1);
    rocksdb_options_set_max_background_jobs(options, 2);
    rocksdb_options_set_max_open_files(options, 1000);
    /* Only fatal messages: with assertions, RocksDB ends the process if it cannot write its own log on a full
     * disk. */
    rocksdb_options_set_info_log_level(options, 4);
    rocksdb_options_set_max_log_file_size(options, 1024 * 1024);
    rocksdb_options_set_keep_log_file_num(options, 2);
    rocksdb_options_set_stats_dump_period_sec(options, 0);
    rocksdb_options_set_stats_persist_period_sec(options, 0);
    /* wal.c has removed a record that was not written completely, so every record must be whole. The mode
     * "point in time" would silently drop a damaged record and all later ones. "Tolerate corrupted tail"
     * would do so in the last block of a log, where it mistakes a damaged length or type for the end of the
     * log. */
    rocksdb_options_set_wal_recovery_mode(options, rocksdb_absolute_consistency_recovery);
}

static void
make_options(kw_engine *engine, int64_t cache_bytes, kw_embedded_tables *tables)
{
    engine->options = rocksdb_options_create();
    engine->cache = rocksdb_cache_create_lru((size_t)cache_bytes);
    engine->cache_bytes = cache_bytes;
    kw_budget_charge(KW_MEMORY_CACHES, cache_bytes);
    set_files(engine->options);
    set_table_format(engine);
    rocksdb_options_set_prefix_extractor(
        engine->options, rocksdb_slicetransform_create(NULL, nothing_to_free, row_prefix, has_row_prefix,
                                                       NULL, row_prefix_name));
    rocksdb_options_set_compaction_filter_factory(engine->options, kw_compaction_factory_new(tables));
}

/* Debian's RocksDB supports both compressions. Opening a RocksDB without one of them fails with "not
 * linked". */
static rocksdb_t *
open_compressed(kw_engine *engine, const char *folder, char **ret_failed)
{
    rocksdb_options_set_compression(engine->options, rocksdb_lz4_compression);
    rocksdb_options_set_bottommost_compression(engine->options, rocksdb_zstd_compression);
    rocksdb_t *db = rocksdb_open(engine->options, folder, ret_failed);
    if (db || !strstr(*ret_failed, "not linked"))
        return db;
    kw_log(KW_LOG_WARN, "embedded", "stored data is not compressed", KW_LOG_FACT("reason", *ret_failed));
    rocksdb_free(*ret_failed);
    *ret_failed = NULL;
    rocksdb_options_set_compression(engine->options, rocksdb_no_compression);
    rocksdb_options_set_bottommost_compression(engine->options, rocksdb_no_compression);
    return rocksdb_open(engine->options, folder, ret_failed);
}

bool
kw_engine_open(kw_engine *engine, const char *folder, int64_t cache_bytes, kw_embedded_tables *tables,
               kw_error *ret_error)
{
    g_assert(folder && tables && cache_bytes >= 0);
    *engine = (kw_engine){0};
    make_options(engine, cache_bytes, tables);
    char *failed = NULL;
    engine->db = open_compressed(engine, folder, &failed);
    if (!engine->db) {
        kw_engine_close(engine);
        kw_engine_failed(failed, "opening", ret_error);
        return kw_error_prefix(ret_error, "folder %s", folder);
    }
    engine->write_synced = rocksdb_writeoptions_create();
    rocksdb_writeoptions_set_sync(engine->write_synced, 1);
    engine->write_unsynced = rocksdb_writeoptions_create();
    return true;
}

void
kw_engine_close(kw_engine *engine)
{
    if (engine->write_synced)
        rocksdb_writeoptions_destroy(engine->write_synced);
    if (engine->write_unsynced)
        rocksdb_writeoptions_destroy(engine->write_unsynced);
    if (engine->db)
        rocksdb_close(engine->db);
    if (engine->options)
        rocksdb_options_destroy(engine->options);
    if (engine->cache)
        rocksdb_cache_destroy(engine->cache);
    g_free(engine->write_failure);
    kw_budget_charge(KW_MEMORY_CACHES, -engine->cache_bytes);
    *engine = (kw_engine){0};
}

void
kw_engine_forget_table(kw_engine *engine, uint32_t id)
{
    uint8_t start[4], stop[4];
    g_assert(id != 0); /* the list of tables */
    kw_be32_store(start, id);
    kw_be32_store(stop, id + 1);
    char *failed = NULL;
    rocksdb_delete_file_in_range(engine->db, (const char *)start, 4, (const char *)stop, 4, &failed);
    if (!failed)
        rocksdb_suggest_compact_range(engine->db, (const char *)start, 4, (const char *)stop, 4, &failed);
    if (failed) {
        kw_log(KW_LOG_WARN, "embedded", "the rows of a dropped table stay on disk until compaction",
               KW_LOG_FACT("table_id", id), KW_LOG_FACT("reason", failed));
        rocksdb_free(failed);
    }
}
