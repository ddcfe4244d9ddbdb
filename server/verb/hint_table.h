/* How long the store table of a path over fields that can change keeps its rows, the hints. A hint must not
 * expire before the fields in its key, or queries by the path miss the record. Pure. */
#pragma once

#include "schema/policy.h"
#include "store/store.h"

/* The TTL of the hints of a path if the families of the primary path have the settings of the policy, in
 * seconds; 0: none. */
int64_t kw_hint_table_ttl_s(const kw_placement *placement, kw_arena *arena);

/* False, with REFUSED, if hints could expire too early. family: of the placement's store table, which holds
 * hints, or the records of the primary path. */
bool kw_hint_table_check(const kw_placement *placement, const kw_family_spec *family, kw_arena *arena,
                         kw_error *ret_error);
