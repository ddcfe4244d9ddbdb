/* The parts of the embedded store and how they work together. Private to this module.
 *
 *   loop threads:    store handles, which pass on the operations of one loop iteration together (store
 * handle.c); small gets that need only data in memory run here (get.c) committer:       one thread; writes,
 * conditional writes, tables (committer.c, conditional.c) reader threads:  other gets, fetches of range
 * scans, facts and regions (pool.c, get.c, run.c) filter threads:  gets and fetches with a filter that can
 * take long (regular expressions), so that they delay only each other RocksDB's own:   flush and compaction
 * (compaction.c)
 *
 * An operation starts on its loop, is passed to the committer or to a reader, and returns to its loop with
 * the task inside it. Between these steps one thread owns it, so its members need no lock. Locks: one in the
 * committer, one in each pool, one in the catalog; no two are held at the same time.
 */
#pragma once

#include "base/fair.h"
#include "base/thread.h"
#include "store/class.h"
#include "store/embedded/engine.h"
#include "store/embedded/stamps.h"
#include "store/embedded/tables.h"

#include <stdatomic.h>

typedef struct kw_embedded kw_embedded;
typedef struct kw_embedded_handle kw_embedded_handle;
typedef struct kw_commit kw_commit;
typedef struct kw_job kw_job;
typedef struct kw_committer kw_committer;
typedef struct kw_pool kw_pool;

/* As of the last write. RocksDB recovers from a failed write, but not from a failed sync: the kernel may have
 * dropped the data. Only a restart, which reads the log again, shows what is on disk. */
typedef enum kw_disk_state { KW_DISK_WORKS, KW_DISK_WRITE_FAILED, KW_DISK_SYNC_FAILED } kw_disk_state;

struct kw_embedded {
    kw_store base;
    char *path;
    char *about;
    int lock_fd;
    kw_embedded_tables *catalog;
    kw_engine engine;
    kw_stamps stamps; /* the committer's */
    kw_committer *committer;
    kw_pool *pool;
    kw_pool *filter_pool;                /* reads whose filter may take long, apart from all others */
    rocksdb_readoptions_t *get_options;  /* within one row, by its bloom filter */
    rocksdb_readoptions_t *near_options; /* the same of what is in memory; else "incomplete" */
    _Atomic kw_disk_state disk;
    _Atomic size_t runs_open;
};

/* --- the store handle (store handle.c)
 * -------------------------------------------------------------------------- */

struct kw_embedded_handle {
    kw_store_handle base;
    kw_embedded *store;
    _Atomic bool closing;     /* long reads give up */
    uv_prepare_t before_poll; /* both hand on what was started since the last time */
    uv_check_t after_poll;
    kw_commit *commits_first, *commits_last;
    kw_job *jobs_first, *jobs_last;
    kw_job *slow_first, *slow_last; /* jobs for the filter threads */
    size_t in_flight;
    size_t runs; /* open ones keep the store handle's memory */
    kw_commit *spare_commits;
    void (*closed)(void *user); /* set by close */
    void *closed_user;
    bool closed_called;
    int handles_open;
    kw_commit *told_first, *told_last; /* the committer's: finished ones of this round */
    kw_embedded_handle *told_next;
};

kw_store_handle *kw_embedded_open_handle(kw_store *store, kw_loop *loop);

/* On the loop: an operation begins / has told its caller. */
void kw_embedded_begin(kw_embedded_handle *handle);
void kw_embedded_end(kw_embedded_handle *handle);

/* On the loop: frees the store handle when it was closed and nothing refers to it. */
void kw_embedded_handle_settle(kw_embedded_handle *handle);

/* --- what the committer does -------------------------------------------------------------------- */

typedef enum kw_commit_kind {
    KW_COMMIT_WRITE,
    KW_COMMIT_MANY,
    KW_COMMIT_IF,
    KW_COMMIT_INCREMENT,
    KW_COMMIT_CREATE,
    KW_COMMIT_DROP
} kw_commit_kind;

struct kw_commit {
    kw_task task; /* of the first of a chain that goes back to a loop together */
    kw_commit *next;
    kw_embedded_handle *handle;
    kw_commit_kind kind;
    kw_deadline deadline;
    bool lazy; /* need not be on disk when acknowledged */
    union {
        const kw_write *write; /* WRITE, IF */
        struct {
            const kw_write *const *writes;
            size_t count;
            kw_written *results;
        } many;
        const kw_increment *increment;
        const kw_table_spec *spec;
        kw_bytes table; /* DROP */
    };
    const kw_check *check; /* IF */
    union {
        kw_write_done write;
        void (*many)(void *user);
        kw_write_if_done write_if;
        kw_increment_done increment;
        kw_create_done create;
        kw_simple_done drop;
    } done;
    void *user;
    kw_outcome outcome;
    bool applied; /* IF: the check was met; CREATE: the table is new */
    kw_rows *rows;
    kw_error error; /* unless OK */
};

/* --- what a round of the committer collects (entries.c) ------------------------------------------- */

/* Entries that are written at once. Indexed when a conditional operation of the round must see what the
 * round has collected so far. */
struct kw_entries {
    rocksdb_writebatch_t *plain;
    rocksdb_writebatch_wi_t *indexed;
    bool is_indexed;
    size_t bytes;
    kw_buffer key;
};

void kw_entries_init(kw_entries *batch);
void kw_entries_clear(kw_entries *batch);
void kw_entries_begin(kw_entries *batch, bool indexed);
void kw_entries_put(kw_entries *batch, kw_bytes key, kw_bytes value);
void kw_entries_delete(kw_entries *batch, kw_bytes key);
/* Writes it, if there is anything; UNAVAILABLE or CORRUPT when the engine failed, with maybe_applied unless
 * it is certain that nothing was written. */
bool kw_entries_write(kw_entries *batch, kw_engine *engine, bool synced, kw_error *ret_error);
/* The engine as it will be after the (indexed) batch; destroy it with rocksdb_iter_destroy. */
rocksdb_iterator_t *kw_entries_iterator(kw_entries *batch, kw_embedded *store);

/* Adds the write's entries at this timestamp, all or none; false when the table has not a family. */
bool kw_entries_add(kw_entries *batch, const kw_stored_table *table, const kw_write *write, int64_t stamp,
                    kw_error *ret_error);

/* --- conditional operations (conditional.c); on the committer, with an indexed batch ------------- */

/* stamp: what the store gives this write. */
bool kw_conditional_write(kw_embedded *store, kw_entries *batch, kw_stored_table *table, int64_t stamp,
                          kw_commit *commit);
bool kw_conditional_increment(kw_embedded *store, kw_entries *batch, kw_stored_table *table, int64_t stamp,
                              kw_commit *commit);

/* --- the committer (committer.c) ---------------------------------------------------------------- */

kw_committer *kw_committer_start(kw_embedded *store);
/* What was submitted before is finished first. */
void kw_committer_stop(kw_committer *committer);
/* A chain by next; any thread. */
void kw_committer_submit(kw_committer *committer, kw_commit *first, kw_commit *last);

/* --- what readers do (pool.c) ------------------------------------------------------------------- */

struct kw_job {
    kw_task task;
    kw_job *next;              /* in the chain that is submitted */
    kw_fair_item turn;         /* account and call are set before */
    void (*work)(kw_job *job); /* on a reader; ends by posting the task to its loop */
};

kw_pool *kw_pool_start(size_t readers, const char *name);
void kw_pool_stop(kw_pool *pool);
/* Jobs are done in the order of fair.h. */
void kw_pool_submit(kw_pool *pool, kw_job *first, kw_job *last);
/* Should a long job of this account make way? Any thread; a job that is not at its end is submitted again. */
bool kw_pool_is_wanted(const kw_pool *pool, const kw_account *account);

/* Queues a job or a commit of this store handle for the end of the loop's turn. Slow jobs are the filter
 * threads'. */
void kw_embedded_queue_job(kw_embedded_handle *handle, kw_job *job, bool slow);
void kw_embedded_queue_commit(kw_embedded_handle *handle, kw_commit *commit);

/* --- operations by file -------------------------------------------------------------------------- */

void kw_embedded_get(kw_store_handle *handle, const kw_get *get, kw_get_done done, void *user);
void kw_embedded_get_many(kw_store_handle *handle, const kw_get *const *gets, size_t count, kw_get_done done,
                          void *user);

kw_range_scan *kw_embedded_open_range_scan(kw_store_handle *handle, const kw_range_scan_spec *spec);
void kw_embedded_range_scan_fetch(kw_range_scan *run, uint32_t max_rows, size_t max_bytes, bool more_hint,
                                  kw_deadline deadline, kw_get_done done, void *user);
void kw_embedded_range_scan_close(kw_range_scan *run);

void kw_embedded_describe_table(kw_store_handle *handle, kw_bytes table, kw_deadline deadline,
                                kw_table_facts_done done, void *user);
void kw_embedded_regions(kw_store_handle *handle, kw_bytes table, kw_deadline deadline, kw_regions_done done,
                         void *user);

bool kw_embedded_check_deadline(kw_deadline deadline, const char *doing, kw_error *ret_error);

/* Bytes that a row may have while it is read: without a filter `most`; with one more, since the filter may
 * leave little of it. */
size_t kw_embedded_row_bytes(const kw_account *account, size_t most, bool filters);
