/* Where the rows of records are, on tables of which some path's bucket is chosen at each put (kw_choice).
 *
 *   no association   a put chooses; everything else looks in every bucket
 *   association      its row, under the record's identity, holds one cell per such path: the row key. A put
 * that finds none chooses a key and writes it there on the condition that the cell is absent, so that the
 * store decides between gateways which key it is. The row stays when the record is removed: a put that had
 * read it before writes the same key as one that comes after.
 */
#pragma once

#include "verb/call.h"

/* A bucket for a record that has none yet; 0 where there is nothing to choose. Any loop's thread. */
uint32_t kw_place_choose(const kw_path *path);

/* What the association says about one record. */
typedef struct kw_place {
    const kw_bytes
        *keys; /* one per path, empty where the key follows from the record; NULL: not known there */
    kw_error error;
} kw_place;

/* One place per record, in the call's arena. */
typedef void (*kw_places_done)(void *user, const kw_place *places);

/* Asks the table's association. records are complete in their identity. `create`: chooses for those that are
 * not known; each key is computed once. done may be called from inside. */
void kw_places_find(kw_call *call, const kw_table *table, const kw_record *const *records, size_t count,
                    bool create, kw_places_done done, void *user);
