/* A wrapper of a store in which every operation waits until the test releases it, in any order or never.
 *
 * The test can release an operation: it is executed and answered. It can fail it: the caller gets an error
 * and the operation is never executed. It can fail it late: the caller gets an error and the operation is
 * executed later, like a call whose reply was lost or that the store applied late. One loop.
 */
#pragma once

#include "store/store.h"

typedef struct kw_stepped_info {
    const kw_store_handle *handle;
    const char *what; /* "write", "write_if", "get", "fetch", ... */
    bool changes;     /* it changes the store */
    kw_bytes table;
    kw_bytes row; /* of a write */
} kw_stepped_info;

/* A store over `inner`, which the caller owns and frees after this one. */
kw_store *kw_stepped_store_open(kw_store *inner);

/* Number of waiting operations; index 0 is the oldest. */
size_t kw_stepped_count(const kw_store *store);
kw_stepped_info kw_stepped_at(const kw_store *store, size_t index);

/* Executes the operation; its reply arrives through the loop. */
void kw_stepped_go(kw_store *store, size_t index);
/* Replies TIMEOUT, and UNKNOWN for a write. If `late`, a change can be executed later. */
void kw_stepped_fail(kw_store *store, size_t index, bool late);
/* The process that owns the store handle dies: only closing the handle answers its waiting operations. */
void kw_stepped_cut(kw_store *store, const kw_store_handle *handle, bool late);

/* Number of changes that were answered and are not executed yet. */
size_t kw_stepped_late_count(const kw_store *store);
void kw_stepped_apply_late(kw_store *store, size_t index, kw_store_handle *by);
