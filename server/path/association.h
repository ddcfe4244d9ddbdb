/* The association of a table: rows that hold the row keys of records, where at least one placement chooses a
 * bucket at each put (kw_choice).
 *
 * It has one row per record, at the record's identity; per placement that chooses, one cell with the row key.
 * A put that finds no cell for a placement uses the record's default key. It writes the key to the
 * association on the condition that the cell is absent, so that the store decides between concurrent
 * gateways.
 *
 * The default key uses a bucket computed from a hash of the record's key, so every gateway finds it without
 * the association. A cell with the default key can therefore be removed together with its record at any time,
 * even during concurrent puts, and it can expire. Any other key, written by an older gateway or another
 * program, is stored only in the association: its cell is kept when the record is removed, and puts of the
 * record renew it before it expires.
 */
#pragma once

#include "path/call.h"

/* Chooses a bucket for a new record of a table without association; returns 0 if the rule has no choice.
 * Callable from any loop's thread. */
uint32_t kw_placement_choose_bucket(const kw_placement *placement);

/* Encodes the record's default key into `key` (a reusable buffer) and returns its bucket. */
bool kw_placement_default_key(const kw_placement *placement, const kw_record *record, kw_buffer *key,
                              uint32_t *ret_bucket, kw_error *ret_error);

/* Association rows live this much longer than their records. Once half of the margin has passed, the next put
 * of a record renews cells with a key other than the default. */
#define KW_ASSOCIATION_MARGIN_S 86400

typedef struct kw_association_lookup kw_association_lookup;

/* The row keys of one record. */
typedef struct kw_association_entry {
    const kw_bytes *keys; /* by number of the placement; empty: it chooses no bucket. NULL after an error */
    kw_error error;
    kw_association_lookup *lookup; /* private */
} kw_association_entry;

/* Reads the table's association. The identity fields of records must be complete. `create`: the records will
 * be put, so adds missing cells to the association and renews cells that would expire before the records.
 * stamp: the caller's timestamp, otherwise KW_TIMESTAMP_NONE. Passes one entry per record, in the call's
 * arena. done can be called before this returns. */
typedef void (*kw_association_found)(void *user, const kw_association_entry *entries);
void kw_association_find(kw_call *call, const kw_table *table, const kw_record *const *records, size_t count,
                         bool create, int64_t stamp, kw_association_found done, void *user);

/* Removes the association rows of records that were removed: those of the entries that are not NULL. Removes
 * only cells with default keys. errors[i]: why a row may remain (KW_OK: it does not). done can be called
 * before this returns. */
typedef void (*kw_association_forgotten)(void *user, const kw_error *errors);
void kw_association_forget(kw_call *call, const kw_table *table, const kw_association_entry *const *entries,
                           size_t count, kw_association_forgotten done, void *user);
