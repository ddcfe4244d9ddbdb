/* Finds the rows of a record that an operation uses, by the roles of the placements (kw_role).
 *
 *   GET      the row in the placement of the primary path that get operations read. While they read both
 *            placements of the path: one row in the placement that scans read, with the row in the other
 *            placement as `other`
 *   PUT      a row in each placement that put operations write, in all paths, in the order of kw_role.put
 *   REMOVE   a row in each placement that removals write, in all paths, in the order of kw_role.remove
 *
 * While a key rule changes, a record that one of the two rules cannot encode cannot be put, but it can be
 * read and removed: the other rule's row is its only one.
 *
 * A placement normally holds one row of a record. If its rule chooses a bucket at each put (kw_choice), the
 * table's association determines the row. Without an association, a put chooses a bucket, and a get or a
 * removal uses one row in every bucket.
 */
#pragma once

#include "path/association.h"

typedef enum kw_rows_use { KW_ROWS_GET, KW_ROWS_PUT, KW_ROWS_REMOVE } kw_rows_use;

typedef struct kw_placed_row {
    const kw_placement *placement;
    kw_bytes key;
    uint8_t step;               /* PUT, REMOVE: written after the record's rows with lower steps */
    const kw_row_target *other; /* GET: the record's second row (kw_get.other); NULL: there is none */
} kw_placed_row;

/* The rows of one record. */
typedef struct kw_record_rows {
    const kw_placed_row *rows;         /* rows of one placement are adjacent */
    size_t count;                      /* at least one, unless there is an error */
    const kw_error *error;             /* not NULL: `rows` is empty, and no row of the record was written */
    const kw_association_entry *entry; /* NULL: the association does not exist or is not needed */
} kw_record_rows;

/* Maximum number of rows that the operation uses for one record. */
size_t kw_rows_per_record(const kw_table *table, kw_rows_use use);

/* Finds the rows of records whose identity fields are complete. If a placement's bucket is chosen at each
 * put, reads the table's association, if any; for PUT, also adds missing row keys to it. stamp is the
 * caller's timestamp or KW_TIMESTAMP_NONE. Passes one kw_record_rows per record, in the order of the
 * records, in the call's arena. done can be called before this returns. */
typedef void (*kw_rows_found)(void *user, const kw_record_rows *rows);
void kw_rows_find(kw_call *call, const kw_table *table, const kw_record *const *records, size_t count,
                  kw_rows_use use, int64_t stamp, kw_rows_found done, void *user);
