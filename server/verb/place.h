/* Locates the rows of records on tables where at least one path chooses a bucket at each put (kw_choice).
 *
 *   no association   a put chooses a bucket; other operations search every bucket
 *   association      one row per record, at the record's identity; per such path one cell with the row key
 *
 * A put that finds no cell for a path uses the record's default key. It writes the key to the association on
 * the condition that the cell is absent, so that the store decides between concurrent gateways.
 *
 * The default key uses a bucket computed from a hash of the record's key, so every gateway finds it without
 * the association. A cell with the default key can therefore be removed together with its record at any time,
 * even during concurrent puts, and it can expire. Any other key, written by an older gateway or another
 * program, is stored only in the association: its cell is kept when the record is removed, and puts of the
 * record renew it before it expires.
 */
#pragma once

#include "verb/call.h"

/* Chooses a bucket for a new record of a table without association; returns 0 if the path has no choice.
 * Callable from any loop's thread. */
uint32_t kw_place_choose(const kw_path *path);

/* Encodes the record's default key under this path into `key` (a reusable buffer) and returns its bucket. */
bool kw_place_own_key(const kw_path *path, const kw_record *record, kw_buffer *key, uint32_t *ret_bucket,
                      kw_error *ret_error);

/* Association rows live this much longer than their records. Once half of the margin has passed, the next put
 * of a record renews cells with a key other than the default. */
#define KW_PLACE_MARGIN_S 86400

typedef struct kw_row_lookup kw_row_lookup;

/* The location of one record. */
typedef struct kw_place {
    const kw_bytes *keys; /* one per path; empty: path without choice. NULL after an error */
    kw_error error;
    kw_row_lookup *seeker; /* private */
} kw_place;

/* One place per record, in the call's arena. */
typedef void (*kw_places_done)(void *user, const kw_place *places);

/* Reads the table's association. The identity fields of records must be complete. `create`: the records will
 * be put, so adds missing cells to the association and renews cells that would expire before the records.
 * stamp: the caller's timestamp, otherwise KW_TIMESTAMP_NONE. done can be called before this returns. */
void kw_places_find(kw_call *call, const kw_table *table, const kw_record *const *records, size_t count,
                    bool create, int64_t stamp, kw_places_done done, void *user);

/* Removes the association rows of the records of found[i] with gone[i] set, which were removed. Removes only
 * cells with default keys. errors[i]: why a row may remain (KW_OK: it does not). done can be called before
 * this returns. */
typedef void (*kw_places_forgotten)(void *user, const kw_error *errors);
void kw_places_forget(kw_call *call, const kw_table *table, const kw_place *found, const bool *gone,
                      size_t count, kw_places_forgotten done, void *user);
