/* Forgetting: clears the catalog's facts of a table, or of a path, that no policy has. For a path in
 * service, it clears only the placements that the path had under earlier key rules.
 *
 *   register that this gateway forgets it -> read -> check that no gateway serves or forgets it
 *     -> check whether its store tables hold rows -> mark it as being forgotten
 *     -> empty the store tables (only with drop_rows, only those that Keyway created) -> clear the facts
 */
#pragma once

#include "catalog/catalog.h"

typedef struct kw_forget_request {
    const char *table;
    const char *path; /* NULL: the whole table */
    bool drop_rows;
    const kw_policy *policy; /* in service here; a reference is held until done */
} kw_forget_request;

/* emptied: the store tables whose rows were dropped. REFUSED names the obstacle and what to do; nothing was
 * changed. */
typedef void (*kw_forgotten)(void *user, const char *const *emptied, size_t count, const kw_error *error);
void kw_catalog_forget(kw_catalog *catalog, const kw_forget_request *request, kw_deadline deadline,
                       kw_forgotten done, void *user);

/* Records that all rows of a live placement were read and follow its key rule. */
typedef struct kw_verified_note {
    const char *table, *path;
    const char *fingerprint;
    const char *store_table;
    int64_t rows;
    int64_t at_ms;
} kw_verified_note;
/* Copies the note. REFUSED if the catalog has no such live placement any more. */
void kw_catalog_note_verified(kw_catalog *catalog, const kw_verified_note *note, kw_deadline deadline,
                              void (*done)(void *user, const kw_error *error), void *user);

/* Records that Keyway created these store tables (keyway create). */
void kw_catalog_note_created(kw_catalog *catalog, const char *const *store_tables, size_t count,
                             kw_deadline deadline, void (*done)(void *user, const kw_error *error),
                             void *user);
