/* Claims: the rows in the store tables of unique paths. server/hint/README.md has the terms. The key of a
 * claim is a tuple; its cell has the owner: the row key of the record in the primary path.
 *
 *   record --> its tuple --> claim --> none, or its own -----------------------> the put writes it
 *                                '---> another owner --> its row has the tuple --> REFUSED
 *                                                    '-> it has not -------------> the put writes it
 *
 * Only for stores with one writer: there, all this is one commit (kw_store_handle_write_derived).
 */
#pragma once

#include "path/hints.h"

/* The claims of a put, each with the tuple that the record has after it. */
typedef struct kw_claims {
    const kw_table *table;
    const kw_hint *items;
    size_t count;
    kw_bytes owner; /* row key of the record in the primary path */
} kw_claims;

/* Sets the lookups of a derived write. Once all were read: REFUSED if another record has one of the tuples;
 * CORRUPT if that cannot be decided. The error does not say which record it is. */
bool kw_claims_check(const kw_claims *claims, const kw_seen *seen, kw_arena *arena, kw_derived *derived,
                     kw_error *ret_error);

/* The write of a claim, without a timestamp, in the arena. The claim and the owner must outlive it. */
kw_write kw_claim_write(const kw_call *call, const kw_table *table, const kw_hint *claim, kw_bytes owner,
                        kw_durability durability, kw_arena *arena);

/* The owner in the row of a claim. */
kw_bytes kw_claim_owner(const kw_table *table, const kw_row *row);

/* Decodes the identity of the owner to record->values. CORRUPT if the primary path's rule did not create the
 * key. */
bool kw_claim_decode_owner(const kw_table *table, const kw_row *row, kw_arena *arena, kw_record *record,
                           kw_error *ret_error);

/* True if the record has the tuple of the claim with this key, under the placement's rule. */
bool kw_claim_is_of(const kw_placement *placement, kw_bytes key, const kw_record *record);
