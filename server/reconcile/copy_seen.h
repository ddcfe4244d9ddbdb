/* Internal to reconcile and coordinator: what a pass (KW_COPY_PASS) has scanned in the first of two
 * placements. The scan of the second placement compares its rows with that, so that only rows that differ are
 * read one by one.
 *
 *   ADD      first   remembers the rows
 *   COMPARE  second  visits the rows that differ from what was remembered
 *   LEFT     first   visits the rows that COMPARE has not found
 *
 * For each record, 24 bytes are kept: a hash of its row key in the second placement, and a hash of the cells
 * that passes copy. Not thread-safe, except for the reference counts. */
#pragma once

#include "reconcile/copy_parts.h"

typedef struct kw_copy_seen kw_copy_seen;

typedef enum kw_copy_seen_use { KW_COPY_SEEN_ADD, KW_COPY_SEEN_COMPARE, KW_COPY_SEEN_LEFT } kw_copy_seen_use;

/* The most memory that it takes, in bytes. */
#define KW_COPY_SEEN_BYTES_MAX ((size_t)24 << 20)

kw_copy_seen *kw_copy_seen_new(void);
kw_copy_seen *kw_copy_seen_ref(kw_copy_seen *self);
void kw_copy_seen_unref(kw_copy_seen *self);

/* The parts of the scan that does `use`, and how far it has come. If it begins now: one part, the rows after
 * `after`. */
kw_copy_parts *kw_copy_seen_parts(kw_copy_seen *self, kw_copy_seen_use use, kw_bytes after);
/* The regions could not be read: all scans of this pass have one part from now on. */
void kw_copy_seen_keep_whole(kw_copy_seen *self);

/* True if a slice that does `use` must visit the row. key: of the record's row in the second placement. row:
 * NULL: its cells are not known. */
bool kw_copy_seen_must_visit(kw_copy_seen *self, kw_copy_seen_use use, const kw_ordering *ordering,
                             kw_bytes key, const kw_row *row);

/* Call it when a row that COMPARE had to visit was visited, so that LEFT does not visit its record again.
 * key: as above. */
void kw_copy_seen_note_visited(kw_copy_seen *self, kw_bytes key);

/* How many rows of ADD were not found by COMPARE, or not visited yet. */
size_t kw_copy_seen_left(const kw_copy_seen *self);
