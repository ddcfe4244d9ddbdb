/* Where the rows of records are, on tables of which some path's bucket is chosen at each put (kw_choice).
 *
 *   no association   a put chooses; everything else looks in every bucket
 *   association      its row, under the record's identity, holds one cell per such path: the row key. A put
 * that finds none takes the key that the record has by itself, and writes it there on the condition that the
 * cell is absent, so that the store decides between gateways.
 *
 * The key that a record has by itself is that of the bucket which a hash of the record's key gives. So a
 * record whose association does not know it is where everybody looks for it: a row of the association may go
 * with its record, at any moment, whoever else puts that record meanwhile; it may end by a ttl as well.
 * Another key, of an older gateway or another program, is only known there: such rows stay when the record is
 * removed, and where they end by a ttl, puts of the record renew them in time.
 */
#pragma once

#include "verb/call.h"

/* A bucket for a new record of a table without association; 0 where there is nothing to choose. Any loop's
 * thread. */
uint32_t kw_place_choose(const kw_path *path);

/* The key that the record has by itself under this path, into `key` (a buffer to reuse), and its bucket. */
bool kw_place_own_key(const kw_path *path, const kw_record *record, kw_buffer *key, uint32_t *ret_bucket,
                      kw_error *ret_error);

/* So much longer than its records an association's rows live. Those that are only known there are renewed by
 * the first put of their record when half of it has passed. */
#define KW_PLACE_MARGIN_S 86400

typedef struct kw_seeker kw_seeker;

/* Where one record is. */
typedef struct kw_place {
    const kw_bytes *keys; /* one per path, empty where the bucket is not chosen; NULL after an error */
    kw_error error;
    kw_seeker *seeker; /* inside */
} kw_place;

/* One place per record, in the call's arena. */
typedef void (*kw_places_done)(void *user, const kw_place *places);

/* Asks the table's association. records are complete in their identity. `create`: they will be put, so tells
 * it of those that it does not know, and renews what would end before them; stamp: the caller's own, else
 * KW_TIMESTAMP_NONE. done may be called from inside. */
void kw_places_find(kw_call *call, const kw_table *table, const kw_record *const *records, size_t count,
                    bool create, int64_t stamp, kw_places_done done, void *user);

/* The records of found[i] with gone[i] were removed: takes their rows out of the association, where these
 * hold the keys that the records have by themselves. errors[i]: why a row may still be there (KW_OK: it is
 * not). done may be called from inside. */
typedef void (*kw_places_forgotten)(void *user, const kw_error *errors);
void kw_places_forget(kw_call *call, const kw_table *table, const kw_place *found, const bool *gone,
                      size_t count, kw_places_forgotten done, void *user);
