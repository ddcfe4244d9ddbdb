/* Derives what a write writes: what all stores do with a kw_derivation. Pure; any thread. */
#pragma once

#include "store/store.h"

/* Calls the derivation. ret_write: the write with all its cells, in the arena; not set if the derivation
 * needs more rows (kw_derived_needs). False if the derivation fails, or one of the preceding puts is invalid;
 * or with LIMIT if a row was omitted, because its cells exceed KW_STORE_DERIVED_BYTES_MAX. */
bool kw_derive_write(const kw_write *write, const kw_derivation *derivation, const kw_seen *seen,
                     kw_arena *arena, kw_write *ret_write, kw_derived *ret_derived, kw_error *ret_error);

/* The number of rows that the store must read before it derives again; 0: the write is derived. */
static inline size_t
kw_derived_needs(const kw_derived *derived, const kw_seen *seen)
{
    return derived->lookups_count > seen->others_count ? derived->lookups_count - seen->others_count : 0;
}
