/* Deletes of stale hints: those that a query has met, and single ones. hint/clean.h has the rules: when a
 * hint is stale, and why a delete that is late, or repeated, does no harm.
 *
 *   query --> hint, with its timestamp --> the row has another tuple --> kw_stale_hints_add
 *                                                      the page is answered --> kw_stale_hints_clean
 */
#pragma once

#include "path/hints.h"

/* The hints that the page of a query has met and whose rows have other tuples. */
typedef struct kw_stale_hints {
    struct kw_stale_hint *first; /* private */
    size_t count;
    size_t bytes; /* of keys */
} kw_stale_hints;

/* True if a hint whose row has another tuple can be deleted now. */
bool kw_stale_hint_can_be_deleted(const kw_call *call, const kw_table *table, const kw_hint_facts *facts);
/* The delete of a hint up to its timestamp. The arena gets what it points to; the key is not copied. */
kw_write kw_stale_hint_delete(const kw_call *call, const kw_placement *placement, kw_bytes key,
                              int64_t timestamp, kw_arena *arena);

/* Adds a hint if it can be deleted; otherwise, and if there are many already, does nothing. */
void kw_stale_hints_add(kw_stale_hints *hints, kw_arena *arena, const kw_call *call,
                        const kw_placement *placement, kw_bytes key, const kw_hint_facts *facts);

/* Deletes the hints. Returns at once: the deletes run later, hold a reference to the call's policy, and their
 * outcomes are only counted. Does nothing if too many deletes of this process are under way, or memory is
 * short. */
void kw_stale_hints_clean(const kw_stale_hints *hints, kw_call *call);
