/* A link in the store handle chain that fails on purpose: the n-th operation of a plan, in a chosen way.
 *
 * A test walks n up from 1 until nothing fails any more, and after each step asks what callers were told
 * and what the store underneath holds. Any number of store handles; the plan may be changed between
 * operations.
 */
#pragma once

#include "store/store.h"

#include <stdatomic.h>

typedef enum kw_decode_error {
    KW_FAULT_FAILED,          /* not done; writes FAILED, reads UNAVAILABLE */
    KW_FAULT_UNKNOWN_APPLIED, /* a write is done, and told UNKNOWN; reads UNAVAILABLE */
    KW_FAULT_UNKNOWN_LOST,    /* a write is not done, and told UNKNOWN; reads UNAVAILABLE */
    KW_FAULT_TIMEOUT,         /* a write is done, told UNKNOWN with TIMEOUT; reads TIMEOUT */
    KW_DECODE_TRUNCATED       /* a fetch gives its first half, and the run's next fails; else as FAILED */
} kw_decode_error;

typedef struct kw_fault_plan {
    _Atomic uint64_t fail_at;    /* the n-th operation from now on fails, counted down; 0: none */
    _Atomic int fault;           /* kw_decode_error */
    _Atomic uint64_t operations; /* seen: writes, multi-calls, reads, fetches, tables */
    _Atomic uint64_t failed;
} kw_fault_plan;

/* Takes the inner store over; the plan must live as long as the store. */
kw_store *kw_fault_store_new(kw_store *inner, kw_fault_plan *plan);
