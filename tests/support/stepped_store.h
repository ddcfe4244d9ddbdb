/* A link in the store handle chain in which every operation waits until the test lets it go: in any order, or
 * not at all.
 *
 * A waiting operation can be carried out and answered; answered with an error, and never carried out; or
 * answered with an error and carried out later (a call that was lost on its way back, or that the store
 * applies late). One loop.
 */
#pragma once

#include "store/store.h"

typedef struct kw_stepped_info {
    const kw_store_handle *handle;
    const char *what; /* "put", "put_if", "get", "fetch", ... */
    bool changes;     /* the store */
    kw_bytes table;
    kw_bytes row; /* of a write */
} kw_stepped_info;

/* Over a store that the caller keeps, and frees after this one. */
kw_store *kw_stepped_store_open(kw_store *inner);

/* The operations that wait, oldest first. */
size_t kw_stepped_count(const kw_store *store);
kw_stepped_info kw_stepped_at(const kw_store *store, size_t index);

/* Carries it out; the answer comes through the loop. */
void kw_stepped_go(kw_store *store, size_t index);
/* Answers TIMEOUT, and UNKNOWN for a write; a change is carried out later if `late`. */
void kw_stepped_fail(kw_store *store, size_t index, bool late);
/* The process behind the store handle dies: nothing that waits is answered any more, except by the store
 * handle's close. */
void kw_stepped_cut(kw_store *store, const kw_store_handle *handle, bool late);

/* Changes that were answered, and are not carried out yet. */
size_t kw_stepped_late_count(const kw_store *store);
void kw_stepped_apply_late(kw_store *store, size_t index, kw_store_handle *by);
