/* Opens, closes and repairs the embedded store, and reports its state. The parts and the threads are
 * described in embedded_internal.h. */
#include "store/embedded/embedded.h"

#include "base/log.h"
#include "store/embedded/embedded_internal.h"
#include "store/embedded/folder.h"
#include "store/embedded/wal.h"

#include <unistd.h>

/* Reads that the block cache cannot answer. A second thread reads while the first waits for the disk; more
 * than two compete with the event loops for the cores. */
#define READERS 2
/* Reads with slow filters use one thread at most, so that they cannot occupy all readers. */
#define FILTERS 1

static const char *
embedded_about(const kw_store *store)
{
    return ((const kw_embedded *)store)->about;
}

static bool
embedded_ready(kw_store *base, kw_error *ret_error)
{
    kw_embedded *store = (kw_embedded *)base;
    switch (atomic_load(&store->disk)) {
    case KW_DISK_WORKS:
        return true;
    case KW_DISK_FULL:
        return kw_error_set(ret_error, KW_UNAVAILABLE,
                            "the disk of %s is full; writes continue when it has " KW_DISK_FREE_SPACE
                            " of free space",
                            store->path);
    case KW_DISK_WRITE_FAILED:
        return kw_error_set(ret_error, KW_UNAVAILABLE,
                            "the last write to %s failed; the gateway retries each second", store->path);
    case KW_DISK_SYNC_FAILED:
        return kw_error_set(ret_error, KW_UNAVAILABLE,
                            "a sync of %s failed; restart keywayd when the disk works again", store->path);
    }
    g_assert_not_reached();
}

static bool
embedded_clock_offset_ms(kw_store *store, int64_t *ret_offset_ms)
{
    (void)store;
    *ret_offset_ms = 0;
    return true;
}

/* A round that begins later reads the clock after this call. */
static bool
embedded_earliest_ms(kw_store *base, int64_t *ret_ms)
{
    int64_t clock_ms = kw_clock_wall_ms();
    int64_t round_ms = atomic_load(&((kw_embedded *)base)->round_ms);
    if (round_ms == KW_ROUND_BEGINS)
        return false;
    *ret_ms = round_ms == KW_NO_ROUND ? clock_ms : MIN(clock_ms, round_ms);
    return true;
}

static void
embedded_reload(kw_store *store)
{
    (void)store;
}

/* Frees partly opened stores, too. */
static void
embedded_free(kw_store *base)
{
    kw_embedded *store = (kw_embedded *)base;
    g_assert(atomic_load(&store->open_scans) == 0);
    kw_committer_stop(store->committer);
    kw_pool_stop(store->pool);
    kw_pool_stop(store->filter_pool);
    if (store->get_options)
        rocksdb_readoptions_destroy(store->get_options);
    if (store->memory_options)
        rocksdb_readoptions_destroy(store->memory_options);
    if (store->uncached_options)
        rocksdb_readoptions_destroy(store->uncached_options);
    if (store->copy_options)
        rocksdb_readoptions_destroy(store->copy_options);
    kw_engine_close(&store->engine);
    kw_acknowledged_close(&store->acknowledged);
    kw_embedded_tables_unref(store->tables);
    if (store->lock_fd >= 0)
        close(store->lock_fd);
    g_free(store->path);
    g_free(store->backup_folder);
    g_free(store->about);
    g_free(store);
}

bool
kw_embedded_check_files(const char *path, const char *rows, kw_error *ret_error)
{
    kw_acknowledged_state marks;
    kw_files files;
    if (!kw_folder_check_rows(path, ret_error))
        return false;
    kw_acknowledged_read(path, &marks);
    bool good = kw_files_check(rows, &marks, &files, ret_error) && kw_wal_check(&files, ret_error);
    kw_files_clear(&files);
    return good;
}

static bool
open_parts(kw_embedded *store, const kw_model_embedded *settings, kw_error *ret_error)
{
    if (!kw_folder_claim(store->path, &store->lock_fd, ret_error))
        return false;
    g_autofree char *rows = g_build_filename(store->path, "rows", NULL);
    if (!kw_embedded_check_files(store->path, rows, ret_error))
        return false;
    store->tables = kw_embedded_tables_new();
    if (!kw_engine_open(&store->engine, rows, settings->cache_bytes, store->tables, ret_error) ||
        !kw_embedded_tables_load(store->tables, store->engine.db, ret_error) ||
        !kw_stamps_load(&store->stamps, store->engine.db, ret_error) ||
        !kw_blocks_load(&store->blocks, &store->engine, ret_error))
        return false;
    if (!kw_folder_mark_filled(store->path, ret_error) ||
        !kw_acknowledged_open(&store->acknowledged, store->path,
                              rocksdb_get_latest_sequence_number(store->engine.db), ret_error))
        return false;
    store->get_options = rocksdb_readoptions_create();
    rocksdb_readoptions_set_verify_checksums(store->get_options, 1);
    rocksdb_readoptions_set_prefix_same_as_start(store->get_options, 1);
    store->memory_options = rocksdb_readoptions_create();
    rocksdb_readoptions_set_verify_checksums(store->memory_options, 1);
    rocksdb_readoptions_set_prefix_same_as_start(store->memory_options, 1);
    rocksdb_readoptions_set_read_tier(store->memory_options, 1); /* memtables and the block cache */
    rocksdb_readoptions_set_background_purge_on_iterator_cleanup(store->memory_options, 1);
    store->uncached_options = rocksdb_readoptions_create();
    rocksdb_readoptions_set_verify_checksums(store->uncached_options, 1);
    rocksdb_readoptions_set_prefix_same_as_start(store->uncached_options, 1);
    rocksdb_readoptions_set_fill_cache(store->uncached_options, 0);
    store->copy_options = rocksdb_readoptions_create();
    rocksdb_readoptions_set_verify_checksums(store->copy_options, 1);
    rocksdb_readoptions_set_total_order_seek(store->copy_options, 1);
    rocksdb_readoptions_set_fill_cache(store->copy_options, 0);
    store->pool = kw_pool_start(READERS, "kw-reader");
    store->filter_pool = kw_pool_start(FILTERS, "kw-filter");
    store->committer = kw_committer_start(store);
    return true;
}

kw_store *
kw_embedded_open(const kw_model_embedded *settings, kw_error *ret_error)
{
    static const kw_store_class embedded_class = {
        .name = "embedded",
        .about = embedded_about,
        .ready = embedded_ready,
        .clock_offset_ms = embedded_clock_offset_ms,
        .earliest_ms = embedded_earliest_ms,
        .open_handle = kw_embedded_open_handle,
        .reload = embedded_reload,
        .free = embedded_free,
    };
    kw_embedded *store = g_new0(kw_embedded, 1);
    store->base.class = &embedded_class;
    store->lock_fd = -1;
    store->path = g_strdup(settings->path);
    if (settings->backup_folder && settings->backup_folder[0])
        store->backup_folder = g_strdup(settings->backup_folder);
    store->about = g_strdup_printf("embedded store in %s", settings->path);
    if (open_parts(store, settings, ret_error))
        return &store->base;
    embedded_free(&store->base);
    return NULL;
}

/* --- repair --------------------------------------------------------------------------------------- */

/* Repairs the logs. The mark of acknowledged writes would prevent the start if some of them were dropped. */
static bool
repair_logs(const char *path, const char *rows, const char *copies, kw_buffer *report, kw_error *ret_error)
{
    kw_acknowledged_state marks;
    kw_files files;
    kw_acknowledged_read(path, &marks);
    bool good = kw_files_check(rows, &marks, &files, ret_error) &&
                kw_wal_repair(&files, copies, report, ret_error) && kw_acknowledged_forget(path, ret_error);
    kw_files_clear(&files);
    return good;
}

static bool
repair_claimed(const kw_model_embedded *settings, kw_buffer *report, kw_error *ret_error)
{
    g_autofree char *rows = g_build_filename(settings->path, "rows", NULL);
    g_autoptr(GDateTime) now = g_date_time_new_now_utc();
    g_autofree char *when = g_date_time_format(now, "%Y%m%dT%H%M%SZ");
    g_autofree char *copies = g_strdup_printf("%s/damaged-%s", settings->path, when);
    kw_engine engine;
    kw_embedded_tables *tables = kw_embedded_tables_new();
    bool good = kw_folder_check_rows(settings->path, ret_error) &&
                repair_logs(settings->path, rows, copies, report, ret_error) &&
                kw_embedded_check_files(settings->path, rows, ret_error) &&
                kw_engine_open(&engine, rows, settings->cache_bytes, tables, ret_error);
    if (good) {
        kw_buffer_append_text(report, "The store can be opened.\n");
        kw_engine_close(&engine);
    }
    kw_embedded_tables_unref(tables);
    return good;
}

bool
kw_embedded_repair(const kw_model_embedded *settings, kw_buffer *report, kw_error *ret_error)
{
    int lock = -1;
    if (!kw_folder_claim(settings->path, &lock, ret_error))
        return false;
    bool good = repair_claimed(settings, report, ret_error);
    close(lock);
    return good;
}
