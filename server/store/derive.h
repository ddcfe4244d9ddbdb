/* Derives what a write writes: what all stores do with a kw_derivation. Pure; any thread. */
#pragma once

#include "store/store.h"

/* Calls the derivation. ret_write: the write with all its cells, in the arena. False if the derivation fails,
 * or one of the preceding puts is invalid; or with LIMIT if `seen` was omitted, because its cells exceed
 * KW_STORE_DERIVED_BYTES_MAX. */
bool kw_derive_write(const kw_write *write, const kw_derivation *derivation, const kw_row *seen,
                     kw_arena *arena, kw_write *ret_write, kw_derived *ret_derived, kw_error *ret_error);
