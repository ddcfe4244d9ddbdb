/* A wrapper of a store that fails on purpose: the n-th operation of a plan fails in a chosen way.
 *
 * A test increases n from 1 until nothing fails, and after each step compares the replies that callers got
 * with the contents of the inner store. Any number of store handles. The plan can change between operations.
 */
#pragma once

#include "store/store.h"

#include <stdatomic.h>

typedef enum kw_fault {
    KW_FAULT_FAILED,          /* not applied; writes FAILED, reads UNAVAILABLE */
    KW_FAULT_UNKNOWN_APPLIED, /* a write is applied, its outcome is UNKNOWN; reads UNAVAILABLE */
    KW_FAULT_UNKNOWN_LOST,    /* a write is not applied, its outcome is UNKNOWN; reads UNAVAILABLE */
    KW_FAULT_TIMEOUT,         /* a write is applied, its outcome is UNKNOWN with TIMEOUT; reads TIMEOUT */
    KW_FAULT_TRUNCATED /* a fetch returns half of its rows, the next one fails; other operations: FAILED */
} kw_fault;

typedef struct kw_fault_plan {
    _Atomic uint64_t fail_at;    /* counted down; the operation that sets it to 0 fails; 0: none fails */
    _Atomic int fault;           /* kw_fault */
    _Atomic uint64_t operations; /* counted: writes, multi-calls, reads, fetches, tables */
    _Atomic uint64_t failed;
} kw_fault_plan;

/* Takes ownership of the inner store. The plan must live as long as the store. */
kw_store *kw_fault_store_new(kw_store *inner, kw_fault_plan *plan);
