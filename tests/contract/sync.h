/* A store handle for sequential tests: each call starts an operation, runs the loop until it completes, and
 * returns the result. One thread; the sync has its own loop.
 */
#pragma once

#include "store/store.h"

typedef struct kw_sync {
    kw_store *store; /* borrowed */
    kw_loop *loop;
    kw_store_handle *handle;
} kw_sync;

void kw_sync_open(kw_sync *sync, kw_store *store);
void kw_sync_close(kw_sync *sync);

/* Runs the loop until *flag is true. */
void kw_sync_wait(kw_sync *sync, const bool *flag);

typedef struct kw_sync_written {
    kw_outcome outcome;
    bool applied;  /* write_if, write_derived */
    kw_rows *rows; /* increment; owned by the caller */
    kw_error error;
} kw_sync_written;

kw_sync_written kw_sync_write(kw_sync *sync, const kw_write *write);
kw_sync_written kw_sync_write_if(kw_sync *sync, const kw_write *write, const kw_check *check);
kw_sync_written kw_sync_write_derived(kw_sync *sync, const kw_write *write, const kw_derivation *derivation);
kw_sync_written kw_sync_increment(kw_sync *sync, const kw_increment *increment);
void kw_sync_write_many(kw_sync *sync, const kw_write *const *writes, size_t count, kw_written *results);

void kw_sync_copy(kw_sync *sync, const kw_row_copy *copies, size_t count, kw_written *results);

/* Returns NULL with ret_error filled (which can be NULL) after an error. */
kw_rows *kw_sync_get(kw_sync *sync, const kw_get *get, kw_error *ret_error);
kw_rows *kw_sync_get_many(kw_sync *sync, const kw_get *const *gets, size_t count, kw_error *ret_error);
kw_rows *kw_sync_fetch(kw_sync *sync, kw_range_scan *run, uint32_t max_rows, size_t max_bytes, bool more_hint,
                       kw_error *ret_error);

bool kw_sync_create(kw_sync *sync, const kw_table_spec *spec, bool *ret_created, kw_error *ret_error);
bool kw_sync_drop(kw_sync *sync, kw_bytes table, kw_error *ret_error);
kw_table_facts *kw_sync_describe(kw_sync *sync, kw_bytes table, kw_error *ret_error);
kw_regions *kw_sync_regions(kw_sync *sync, kw_bytes table, kw_error *ret_error);
