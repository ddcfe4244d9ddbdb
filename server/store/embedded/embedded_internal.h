/* The parts of the embedded store, and the threads that they run on. Private to this module.
 *
 *   loop threads:     store handles, which submit the operations of one loop iteration together (handle.c);
 *                     small gets that need only data in memory (get.c)
 *   committer thread: writes, conditional writes, tables (committer.c, conditional.c)
 *   reader threads:   other gets, fetches of range scans, facts and regions (pool.c, get.c, range_scan.c)
 *   filter threads:   gets and fetches whose filter can take long (regular expressions): they delay only
 *                     each other
 *   backup thread:    a backup, while one is being made (backup.c)
 *   RocksDB's own:    flush and compaction (compaction.c)
 *
 * An operation starts on its loop. The store handle submits it to the committer or to a reader thread, which
 * posts it back to the loop. One thread owns it at any time, so its members need no lock. Locks: one in the
 * committer, one in each pool, one in the list of tables. No thread holds two of them.
 */
#pragma once

#include "base/fair.h"
#include "base/thread.h"
#include "store/class.h"
#include "store/embedded/acknowledged.h"
#include "store/embedded/blocks.h"
#include "store/embedded/engine.h"
#include "store/embedded/stamps.h"
#include "store/embedded/tables.h"
#include "store/refuse.h"

#include <stdatomic.h>

typedef struct kw_embedded kw_embedded;
typedef struct kw_embedded_handle kw_embedded_handle;
typedef struct kw_commit kw_commit;
typedef struct kw_pool_job kw_pool_job;
typedef struct kw_committer kw_committer;
typedef struct kw_pool kw_pool;

#define KW_NO_ROUND 0
#define KW_ROUND_BEGINS (-1) /* the committer reads the clock now */

struct kw_embedded {
    kw_store base;
    char *path;
    char *about;
    int lock_fd;
    kw_embedded_tables *tables;
    kw_engine engine;
    /* The least timestamp that the committer's present round can allocate; KW_NO_ROUND, or KW_ROUND_BEGINS.
     */
    _Atomic int64_t round_ms;
    kw_stamps stamps; /* used by the committer only; so is the next member */
    kw_acknowledged acknowledged;
    kw_blocks blocks;
    kw_committer *committer;
    kw_pool *pool;
    kw_pool *filter_pool;                    /* for reads whose filter can take long */
    rocksdb_readoptions_t *get_options;      /* for reads of one row, with its bloom filter */
    rocksdb_readoptions_t *memory_options;   /* as get_options, but fails if the read needs the disk */
    rocksdb_readoptions_t *uncached_options; /* as get_options, but does not add blocks to the cache */
    rocksdb_readoptions_t *copy_options;     /* for copies of many rows; does not add blocks to the cache */
    char *backup_folder;                     /* NULL: none */
    _Atomic bool backing_up;                 /* a backup is being made (backup.c) */
    _Atomic kw_disk_state disk;
    _Atomic size_t open_scans;
    _Atomic uint64_t written_bytes; /* by all commits */
};

/* --- the store handle (handle.c) ---------------------------------------------------------------- */

struct kw_embedded_handle {
    kw_store_handle base;
    kw_embedded *store;
    _Atomic bool closing;     /* cancels long reads */
    uv_prepare_t before_poll; /* both submit the operations started since the last submission */
    uv_check_t after_poll;
    kw_commit *commits_first, *commits_last;
    kw_pool_job *jobs_first, *jobs_last;
    kw_pool_job *slow_first, *slow_last; /* jobs for the filter threads */
    size_t in_flight;
    GQueue waiting_scans; /* range scans that keep their iterators until their next fetch (range_scan.c) */
    uint64_t looked_at_bytes; /* written_bytes when these were last looked at */
    kw_commit *spare_commits;
    void (*closed)(void *user); /* set by close; NULL before */
    void *closed_user;
    int uv_handles_open;
    kw_commit *finished_first, *finished_last; /* used by the committer: the finished commits of a batch */
    kw_embedded_handle *next_finished;
};

kw_store_handle *kw_embedded_open_handle(kw_store *store, kw_loop *loop);

/* On the loop: count an operation as in flight, and stop counting it. Call the second one after the
 * operation's completion was called. */
void kw_embedded_begin_operation(kw_embedded_handle *handle);
void kw_embedded_end_operation(kw_embedded_handle *handle);

/* --- operations of the committer ---------------------------------------------------------------- */

/* The order matters: kinds from KW_COMMIT_CREATE on change tables, and all others change rows. */
typedef enum kw_commit_kind {
    KW_COMMIT_WRITE,
    KW_COMMIT_MANY,
    KW_COMMIT_IF,
    KW_COMMIT_INCREMENT,
    KW_COMMIT_DERIVED,
    KW_COMMIT_COPY,
    KW_COMMIT_CREATE,
    KW_COMMIT_DROP
} kw_commit_kind;

struct kw_commit {
    kw_task task; /* posted to the loop for the first commit of a chain of finished ones */
    kw_commit *next;
    kw_embedded_handle *handle;
    kw_commit_kind kind;
    kw_deadline deadline;
    bool unsynced; /* acknowledged without a sync */
    union {
        const kw_write *write; /* WRITE, IF, DERIVED */
        struct {
            const kw_write *const *writes;
            size_t count;
            kw_written *results;
            size_t slice_from; /* the first write of the last slice */
            size_t next;       /* the first write that is in no slice yet */
        } many;
        const kw_increment *increment;
        struct {
            const kw_row_copy *copies;
            size_t count;
            kw_written *results;
            size_t next; /* the first copy that is not done */
        } copy;
        const kw_table_spec *spec;
        kw_bytes table; /* DROP */
    };
    union {
        const kw_check *check;           /* IF */
        const kw_derivation *derivation; /* DERIVED */
    };
    union {
        kw_write_done write;
        void (*many)(void *user);  /* MANY, COPY */
        kw_write_if_done write_if; /* IF, DERIVED */
        kw_increment_done increment;
        kw_create_done create;
        kw_simple_done drop;
    } done;
    void *user;
    kw_outcome outcome;
    bool applied;   /* IF, DERIVED: the condition is met; CREATE: the table is new */
    kw_rows *rows;  /* INCREMENT: the new values */
    kw_error error; /* set unless OK */
};

/* --- the entries of a batch (entries.c) ----------------------------------------------------------- */

/* Entries that are written together. They are collected in `indexed` if a conditional operation must read the
 * entries collected before it, and otherwise in `plain`, which is faster. */
struct kw_entries {
    rocksdb_writebatch_t *plain;
    rocksdb_writebatch_wi_t *indexed;
    bool is_indexed;
    size_t count; /* added since kw_entries_begin */
    size_t bytes;
    size_t savepoint_bytes; /* value of `bytes` at the savepoint */
    size_t largest_bytes;   /* of an entry added since kw_entries_begin */
    kw_buffer key;
};

void kw_entries_init(kw_entries *batch);
void kw_entries_clear(kw_entries *batch);
void kw_entries_begin(kw_entries *batch, bool indexed);
void kw_entries_put(kw_entries *batch, kw_bytes key, kw_bytes value);
/* Sets a savepoint in a batch that is not indexed. kw_entries_end_savepoint removes the savepoint, and keeps
 * or removes the entries added after it. */
void kw_entries_set_savepoint(kw_entries *batch);
void kw_entries_end_savepoint(kw_entries *batch, bool keep);
/* Writes the batch unless it is empty. If the engine fails, the error is UNAVAILABLE or CORRUPT, with
 * maybe_applied unless it is certain that nothing was written. */
bool kw_entries_write(kw_entries *batch, kw_engine *engine, bool synced, kw_error *ret_error);
/* Iterates over the entries of the engine as they will be after the batch, which must be indexed or empty.
 * Destroy the iterator with rocksdb_iter_destroy. */
rocksdb_iterator_t *kw_entries_iterator(kw_entries *batch, kw_embedded *store);

/* False if the table lacks a family of the write. */
bool kw_entries_check(const kw_stored_table *table, const kw_write *write, kw_error *ret_error);
/* Adds all entries of the write with this timestamp. If the table lacks one of the families, it adds none
 * and returns false. */
bool kw_entries_add(kw_entries *batch, const kw_stored_table *table, const kw_write *write, int64_t stamp,
                    kw_error *ret_error);

/* --- collecting commits (collector.c) ------------------------------------------------------------- */

typedef struct kw_collector {
    kw_embedded *store;
    kw_entries batch;
    kw_stored_table *table; /* the last one looked up in this round (committer.c) */
} kw_collector;

/* Adds a commit that changes rows, other than a copy, to the batch. False: commit->error is set and nothing
 * was added. Of a MANY commit, it adds the next slice: so many records that one call delays the commits of
 * others by some milliseconds at most. Each write of it has its own result. */
bool kw_collector_add(kw_collector *self, kw_commit *commit);
/* True if the commit can need an indexed batch. */
bool kw_collector_can_read(const kw_collector *self, const kw_commit *commit);
void kw_collector_forget_table(kw_collector *self);

/* --- conditional operations (conditional.c): on the committer's thread, with an indexed batch ---- */

typedef struct kw_stored_row {
    kw_stored_table *table;
    kw_bytes key;
} kw_stored_row;

/* False if a cell that the removal covers is later than its timestamp, which the store gave: the cell would
 * stay. */
bool kw_conditional_removal(kw_embedded *store, kw_entries *batch, const kw_stored_row *target,
                            const kw_write *removal, int64_t stamp, kw_deadline deadline,
                            kw_error *ret_error);

/* targets: the rows of the record. Read targets[0] and write all of them with the timestamp `stamp`. If
 * targets[0] has a newer cell, whose timestamp came from a caller, all rows get that timestamp instead.
 * False: commit->error is set and nothing was added. */
bool kw_conditional_write(kw_embedded *store, kw_entries *batch, const kw_stored_row *targets,
                          size_t targets_count, int64_t stamp, kw_commit *commit);
bool kw_conditional_increment(kw_embedded *store, kw_entries *batch, const kw_stored_row *targets,
                              size_t targets_count, int64_t stamp, kw_commit *commit);

/* A derived write that was evaluated. */
typedef struct kw_evaluated {
    kw_rows *memory;
    kw_row row;
    kw_row *others; /* of the lookups */
    kw_seen seen;
    kw_write write; /* with all its cells */
    kw_derived derived;
} kw_evaluated;

/* Reads the row `target`. False: commit->error is set. Call kw_evaluated_clear in any case. */
bool kw_conditional_read(kw_embedded *store, kw_entries *batch, const kw_stored_row *target,
                         kw_commit *commit, kw_evaluated *ret_evaluated);
/* Derives what to write. If kw_derived_needs says so, look up more rows, and call it again. Sets
 * commit->applied. False: commit->error is set. */
bool kw_conditional_derive(kw_commit *commit, kw_evaluated *evaluated);
/* Reads the next lookup, which is the row `target`. False: commit->error is set. */
bool kw_conditional_look_up(kw_embedded *store, kw_entries *batch, const kw_stored_row *target,
                            kw_commit *commit, kw_evaluated *evaluated);
/* targets: the rows of the record, then those of the preceding puts. Writes all of them with one timestamp:
 * `stamp`, or that of a newer cell that the write replaces. */
bool kw_conditional_add_derived(kw_entries *batch, const kw_evaluated *evaluated,
                                const kw_stored_row *targets, size_t record_rows, int64_t stamp,
                                kw_error *ret_error);
void kw_evaluated_clear(kw_evaluated *evaluated);

/* --- copies of rows (copy.c): on the committer's thread ------------------------------------------- */

/* Commits that copy rows, in order. They are done in slices, so that they delay other commits by a few
 * milliseconds at most. */
typedef struct kw_copies {
    kw_commit *first, *last;
    size_t slice_from; /* the first copy of the current slice */
    bool resumed;      /* earlier slices wrote a part of the row of that copy */
    kw_buffer resume;  /* the column at which the next slice resumes that row; empty: the first column */
} kw_copies;

void kw_copies_clear(kw_copies *copies);
/* Moves the commits of copies from the chain to the end of the list. */
void kw_copies_take(kw_copies *copies, kw_commit **chain);
/* Collects the entries of a slice of the first commit. The batch must be empty and not indexed. */
void kw_copies_collect(kw_copies *copies, kw_embedded *store, kw_entries *batch);
/* Ends the slice; error: its entries were not written; NULL: they were. Returns the first commit if all its
 * copies are done, and removes it from the list. */
kw_commit *kw_copies_end_slice(kw_copies *copies, const kw_error *error);

/* --- the committer (committer.c) ---------------------------------------------------------------- */

kw_committer *kw_committer_start(kw_embedded *store);
/* Finishes the commits submitted before, then ends the thread. NULL is allowed. */
void kw_committer_stop(kw_committer *committer);
/* Submits a chain of commits, linked by `next`. Any thread. */
void kw_committer_submit(kw_committer *committer, kw_commit *first, kw_commit *last);

/* --- reader threads (pool.c) -------------------------------------------------------------------- */

struct kw_pool_job {
    kw_task task;
    kw_pool_job *next;              /* in the submitted chain */
    kw_fair_item fair_item;         /* the submitter sets account and call */
    void (*work)(kw_pool_job *job); /* runs on a reader thread; must end by posting the task to its loop */
};

kw_pool *kw_pool_start(size_t readers, const char *name);
void kw_pool_stop(kw_pool *pool);
/* Submits a chain of jobs, linked by `next`. They run in the order of fair.h. Any thread. */
void kw_pool_submit(kw_pool *pool, kw_pool_job *first, kw_pool_job *last);
/* True if a long job of this account should end early, because a job of a small account waits. The caller
 * then submits the rest of the work as a new job. Any thread. */
bool kw_pool_should_yield(const kw_pool *pool, const kw_account *account);

/* Queues a job of this store handle until the end of the loop iteration. Slow jobs run on the
 * filter threads. */
void kw_embedded_queue_job(kw_embedded_handle *handle, kw_pool_job *job, bool slow);

/* --- operations by file -------------------------------------------------------------------------- */

void kw_embedded_get(kw_store_handle *handle, const kw_get *get, kw_get_done done, void *user);
void kw_embedded_get_many(kw_store_handle *handle, const kw_get *const *gets, size_t count, kw_get_done done,
                          void *user);

kw_range_scan *kw_embedded_open_range_scan(kw_store_handle *handle, const kw_range_scan_spec *spec);
void kw_embedded_range_scan_fetch(kw_range_scan *scan, uint32_t max_rows, size_t max_bytes, bool more_hint,
                                  kw_deadline deadline, kw_get_done done, void *user);
void kw_embedded_range_scan_close(kw_range_scan *scan);
/* On the loop: drops the iterators of waiting scans that keep old write buffers from being freed. */
void kw_embedded_drop_old_iterators(kw_embedded_handle *handle);

void kw_embedded_describe_table(kw_store_handle *handle, kw_bytes table, kw_deadline deadline,
                                kw_table_facts_done done, void *user);
void kw_embedded_regions(kw_store_handle *handle, kw_bytes table, kw_deadline deadline, kw_regions_done done,
                         void *user);

void kw_embedded_backup(kw_store_handle *handle, kw_bytes name, kw_backup_done done, void *user);

/* Checks all files of the store in the folder `path`, whose rows are in `rows`, before RocksDB opens them. If
 * they are damaged, none is changed. Otherwise an incomplete record at the end of a log is removed. */
bool kw_embedded_check_files(const char *path, const char *rows, kw_error *ret_error);

bool kw_embedded_check_deadline(kw_deadline deadline, const char *doing, kw_error *ret_error);
