/* What a store implements. Callers use store.h; its wrappers check the arguments once (row key sizes,
 * empty puts, value sizes, several fetches at once, ...) and refuse or assert, so that an
 * implementation sees only what is allowed. A link in a chain (fault store, counting) implements the
 * same vtable over another store handle. */
#pragma once

#include "store/store.h"

typedef struct kw_store_handle_class {
    void (*write)(kw_store_handle *, const kw_write *, kw_write_done, void *user);
    void (*write_many)(kw_store_handle *, const kw_write *const *, size_t count, kw_written *results,
                       void (*done)(void *), void *user);
    void (*write_if)(kw_store_handle *, const kw_write *, const kw_check *, kw_write_if_done, void *user);
    void (*increment)(kw_store_handle *, const kw_increment *, kw_increment_done, void *user);
    void (*get)(kw_store_handle *, const kw_get *, kw_get_done, void *user);
    void (*get_many)(kw_store_handle *, const kw_get *const *, size_t count, kw_get_done, void *user);
    kw_range_scan *(*open_range_scan)(kw_store_handle *, const kw_range_scan_spec *);
    void (*run_fetch)(kw_range_scan *, uint32_t max_rows, size_t max_bytes, bool more_hint, kw_deadline,
                      kw_get_done, void *user);
    void (*run_close)(kw_range_scan *);
    void (*create_table)(kw_store_handle *, const kw_table_spec *, kw_create_done, void *user);
    void (*describe_table)(kw_store_handle *, kw_bytes table, kw_deadline, kw_table_facts_done, void *user);
    void (*drop_table)(kw_store_handle *, kw_bytes table, kw_deadline, kw_simple_done, void *user);
    void (*regions)(kw_store_handle *, kw_bytes table, kw_deadline, kw_regions_done, void *user);
    void (*close)(kw_store_handle *, void (*closed)(void *user), void *user);
} kw_store_handle_class;

/* First member of every implementation's store handle. */
struct kw_store_handle {
    const kw_store_handle_class *class;
    kw_store *store;
    kw_loop *loop;
    bool linked;  /* a link of the chain opened it, whose own operations were counted */
    bool closing; /* kept by the wrappers */
};

/* First member of every implementation's run; zeroed but for the store handle. The rest is kept by the
 * wrappers. */
struct kw_range_scan {
    kw_store_handle *handle;
    bool fetching;
    kw_error *refusal; /* the spec was refused: there is no run of the implementation */
    bool shut;         /* the fetch came after the store handle was closed: it is refused */
    kw_get_done done;
    void *user;
};

typedef struct kw_store_class {
    const char *name;
    bool shared; /* see kw_store_is_shared */
    const char *(*about)(const kw_store *);
    bool (*ready)(kw_store *, kw_error *ret_error);
    bool (*clock_offset_ms)(kw_store *, int64_t *ret_offset_ms);
    bool (*time)(kw_store *, bool about, kw_span *ret_span); /* NULL: it is never known */
    void (*use_time)(kw_store *);                            /* NULL: nothing */
    void (*expect_stamps)(kw_store *, bool expected);        /* NULL: nothing */
    kw_store_handle *(*open_handle)(kw_store *, kw_loop *);
    void (*reload)(kw_store *);
    void (*free)(kw_store *);
} kw_store_class;

/* First member of every implementation's store. */
struct kw_store {
    const kw_store_class *class;
};
