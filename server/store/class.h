/* The functions that a store implements. Callers use store.h. The wrappers of store.h check all arguments
 * (sizes of row keys and values, empty puts, simultaneous fetches, ...): they reject bad input and assert
 * against bugs in the caller, so an implementation receives only valid arguments. Stores can be chained: a
 * link of the chain (store/order, the fault store of the tests) implements the same functions on top of
 * another store handle. */
#pragma once

#include "store/store.h"

#include <glib.h>
#include <stdatomic.h>

typedef struct kw_store_handle_class {
    void (*write)(kw_store_handle *, const kw_write *, kw_write_done, void *user);
    void (*write_many)(kw_store_handle *, const kw_write *const *, size_t count, kw_written *results,
                       void (*done)(void *), void *user);
    void (*write_if)(kw_store_handle *, const kw_write *, const kw_check *, kw_write_if_done, void *user);
    /* NULL: the store refuses derived writes. */
    void (*write_derived)(kw_store_handle *, const kw_write *, const kw_derivation *, kw_write_if_done,
                          void *user);
    void (*increment)(kw_store_handle *, const kw_increment *, kw_increment_done, void *user);
    /* NULL: the store refuses copies. */
    void (*copy_rows)(kw_store_handle *, const kw_row_copy *, size_t count, kw_deadline, kw_written *results,
                      void (*done)(void *user), void *user);
    /* NULL: the store refuses sweeps. */
    void (*sweep_rows)(kw_store_handle *, const kw_row_sweep *, size_t count, kw_deadline,
                       kw_written *results, void (*done)(void *user), void *user);
    void (*get)(kw_store_handle *, const kw_get *, kw_get_done, void *user);
    void (*get_many)(kw_store_handle *, const kw_get *const *, size_t count, kw_get_done, void *user);
    kw_range_scan *(*open_range_scan)(kw_store_handle *, const kw_range_scan_spec *);
    void (*range_scan_fetch)(kw_range_scan *, uint32_t max_rows, size_t max_bytes, bool more_hint,
                             kw_deadline, kw_get_done, void *user);
    void (*range_scan_close)(kw_range_scan *);
    void (*create_table)(kw_store_handle *, const kw_table_spec *, kw_create_done, void *user);
    void (*describe_table)(kw_store_handle *, kw_bytes table, kw_deadline, kw_table_facts_done, void *user);
    void (*drop_table)(kw_store_handle *, kw_bytes table, kw_deadline, kw_simple_done, void *user);
    void (*regions)(kw_store_handle *, kw_bytes table, kw_deadline, kw_regions_done, void *user);
    /* NULL: the store makes no backups. */
    void (*backup)(kw_store_handle *, kw_bytes name, kw_backup_done, void *user);
    /* Ends the operations in flight, then calls closed. The handle stays: its range scans are closed later.
     */
    void (*close)(kw_store_handle *, void (*closed)(void *user), void *user);
    /* Frees a closed handle. Any thread. NULL: g_free. */
    void (*free)(kw_store_handle *);
} kw_store_handle_class;

/* First member of every implementation's store handle. The implementation sets class, store and loop, and
 * zeroes the rest, which the wrappers maintain. */
struct kw_store_handle {
    const kw_store_handle_class *class;
    kw_store *store;
    kw_loop *loop;
    bool linked;    /* opened by a link of the chain, whose operations are counted already */
    bool closing;   /* kw_store_handle_close was called */
    bool is_closed; /* the implementation has called closed */
    GQueue pauses;
    void (*closed)(void *user); /* NULL: not closing, or called already */
    void *closed_user;
    kw_store_handle *next; /* of the store's handles */
};

/* First member of every implementation's range scan. The implementation sets `handle` and zeroes the rest,
 * which the wrappers maintain. */
struct kw_range_scan {
    kw_store_handle *handle;
    bool fetching;
    kw_error *rejection;    /* set if the spec was rejected; then the implementation has no such scan */
    bool rejected_by_close; /* the current fetch started after the store handle was closed */
    kw_get_done done;
    void *user;
};

typedef struct kw_store_class {
    const char *name;
    bool shared; /* see kw_store_is_shared */
    const char *(*about)(const kw_store *);
    bool (*ready)(kw_store *, kw_error *ret_error);
    bool (*clock_offset_ms)(kw_store *, int64_t *ret_offset_ms);
    bool (*time)(kw_store *, bool estimate, kw_span *ret_span); /* NULL: the time is never known */
    bool (*earliest_ms)(kw_store *, int64_t *ret_ms);           /* NULL: from `time` */
    void (*keep_time_known)(kw_store *);                        /* NULL: does nothing */
    void (*expect_stamps)(kw_store *, bool expected);           /* NULL: does nothing */
    void (*set_fence)(kw_store *, const kw_fence *);            /* NULL: does nothing */
    uint64_t (*last_doubt_ns)(const kw_store *);                /* NULL: see kw_store_note_doubt */
    kw_store_handle *(*open_handle)(kw_store *, kw_loop *);
    void (*reload)(kw_store *);
    void (*free)(kw_store *);
} kw_store_class;

/* First member of every implementation's store. */
struct kw_store {
    const kw_store_class *class;
    _Atomic uint64_t last_doubt_ns;     /* kw_store_note_doubt; 0: never */
    _Atomic(kw_store_handle *) handles; /* a list; maintained by the wrappers */
};

/* A store calls this each time an attempt of a write of this process ends without an answer, whether it sends
 * the write again or not: the attempt can still be applied later (kw_store_last_doubt_ns). Any thread. */
static inline void
kw_store_note_doubt(kw_store *store)
{
    atomic_store(&store->last_doubt_ns, kw_clock_boot_ns());
}
