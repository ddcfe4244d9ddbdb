/* The association of a table stores the row keys of records in placements whose rule has a random or
 * round_robin salt (kw_choice).
 *
 * It has one row per record. The key of that row encodes the record's identity; the row has one cell for
 * each such placement, with the record's row key in that placement. A put that finds no cell for a
 * placement uses the record's default key, and writes it to the association on the condition that the cell
 * is absent. If several gateways put the record at once, the store therefore accepts one key, and all use
 * it.
 *
 * The bucket of the default key is computed from a hash of the key that the record would have in bucket 0, so
 * every gateway finds it without the association. A cell with the default key can therefore be removed
 * together with its record at any time, even during concurrent puts, and it can expire. Any other key,
 * written by an older gateway or another program, is stored only in the association: its cell is kept when
 * the record is removed, and puts of the record renew it before it expires.
 */
#pragma once

#include "path/call.h"

/* Chooses a bucket for a new record of a table without an association. Returns 0 if the rule chooses no
 * bucket. Can be called on the thread of any loop. */
uint32_t kw_placement_choose_bucket(const kw_placement *placement);

/* Encodes the record's default key into `key`, whose previous content is dropped, and returns the key's
 * bucket. */
bool kw_placement_default_key(const kw_placement *placement, const kw_record *record, kw_buffer *key,
                              uint32_t *ret_bucket, kw_error *ret_error);

/* Association rows expire this much later than their records. Cells with a key other than the default key
 * are renewed by the first put of the record after half of this margin. */
#define KW_ASSOCIATION_MARGIN_S 86400

typedef struct kw_association_lookup kw_association_lookup;

/* The row keys of one record. */
typedef struct kw_association_entry {
    const kw_bytes *keys; /* by placement number; a key is empty if its placement chooses no bucket. The array
                             is NULL after an error */
    kw_error error;
    kw_association_lookup *lookup; /* private */
} kw_association_entry;

/* Looks up records in the table's association. Their identity fields must be complete. Set `create` if the
 * records will be put: this then adds missing cells to the association, and renews cells that could expire
 * before the records (see KW_ASSOCIATION_MARGIN_S). stamp is the caller's timestamp or KW_TIMESTAMP_NONE.
 * done receives one entry per record, in the call's arena, and can be called before this returns. */
typedef void (*kw_association_found)(void *user, const kw_association_entry *entries);
void kw_association_find(kw_call *call, const kw_table *table, const kw_record *const *records, size_t count,
                         bool create, int64_t stamp, kw_association_found done, void *user);

/* Removes the association's cells with default keys, for the records that were removed. entries[i] is NULL
 * if record i was not removed. errors[i] is KW_OK if no such cell of record i remains; otherwise the error
 * after which some can remain. done can be called before this returns. */
typedef void (*kw_association_forgotten)(void *user, const kw_error *errors);
void kw_association_forget(kw_call *call, const kw_table *table, const kw_association_entry *const *entries,
                           size_t count, kw_association_forgotten done, void *user);
