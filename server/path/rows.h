/* Which rows a record has, and which of them an operation uses: the only place that reads the roles of
 * placements.
 *
 *   GET      of the primary path: the placement that gets read
 *   PUT      of every path: each placement that puts write, in the order of their roles
 *   REMOVE   of every path: each placement that removals write, in the order of their roles
 *
 * A placement holds one row of a record. If its rule chooses a bucket at each put and no association holds
 * the record's key, a put chooses a bucket now, and a get or a removal uses one row in each bucket.
 */
#pragma once

#include "path/association.h"

typedef enum kw_rows_use { KW_ROWS_GET, KW_ROWS_PUT, KW_ROWS_REMOVE } kw_rows_use;

typedef struct kw_placed_row {
    const kw_placement *placement;
    kw_bytes key;
} kw_placed_row;

/* The rows of one record. */
typedef struct kw_record_rows {
    const kw_placed_row *rows;         /* those of one placement are adjacent */
    size_t count;                      /* at least one, unless there is an error */
    const kw_error *error;             /* NULL: none. Otherwise there are no rows, and nothing was written */
    const kw_association_entry *entry; /* NULL: the table has no association, or the operation does not need
                                          it */
} kw_record_rows;

/* The most rows of one record. */
size_t kw_rows_per_record(const kw_table *table, kw_rows_use use);

/* Finds the rows of records, whose identity fields must be complete. Reads the association if the table has
 * one; for PUT, also adds missing keys to it. stamp: the caller's timestamp, otherwise KW_TIMESTAMP_NONE.
 * Everything is in the call's arena, in the order of the records. done can be called before this returns. */
typedef void (*kw_rows_found)(void *user, const kw_record_rows *rows);
void kw_rows_find(kw_call *call, const kw_table *table, const kw_record *const *records, size_t count,
                  kw_rows_use use, int64_t stamp, kw_rows_found done, void *user);
