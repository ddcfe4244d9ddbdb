/* Internal to reconcile: the parts of a placement that a pass scans at the same time, and which rows of each
 * part it has visited. A part is a region of the store table, or several adjacent ones. Until the regions are
 * known, all rows are one part. Not thread-safe. */
#pragma once

#include "store/store.h"

/* If there are more regions, a part has several of them. */
#define KW_COPY_PARTS_MAX 64

typedef struct kw_copy_part {
    kw_bytes start; /* the first row key; empty: that of the table */
    kw_bytes stop;  /* the first row key of the next part; empty: there is none */
    kw_buffer last; /* the last row key that was visited, or `after` of kw_copy_parts_new; empty: none */
    bool ended;     /* all rows are visited */
    bool taken;     /* a scan of the present slice visits it */
    /* The mean size of the rows that were fetched last; 0: unknown. Rows of other parts can have another
     * size. */
    size_t row_bytes;
} kw_copy_part;

typedef struct kw_copy_parts kw_copy_parts;

/* One part: the rows after `after`; empty: all rows. */
kw_copy_parts *kw_copy_parts_new(kw_bytes after);
/* NULL is ignored. */
void kw_copy_parts_free(kw_copy_parts *self);

/* Divides the only part at the bounds of the regions. It must not be taken. */
void kw_copy_parts_divide(kw_copy_parts *self, const kw_regions *regions);
/* The regions are unknown: the only part is never divided. */
void kw_copy_parts_keep_whole(kw_copy_parts *self);
/* True after either of them. */
bool kw_copy_parts_are_divided(const kw_copy_parts *self);

/* Takes the first part that has not ended and is not taken. NULL: there is none. */
kw_copy_part *kw_copy_parts_take(kw_copy_parts *self);
/* At the end of a slice: no part is taken. */
void kw_copy_parts_release(kw_copy_parts *self);

/* The first row key that must be visited, in the arena; empty: that of the table. scanned: the rows up to
 * this key were scanned already; empty: those that were visited. */
kw_bytes kw_copy_part_start(const kw_copy_part *part, kw_bytes scanned, kw_arena *arena);
/* All rows of the part up to `last` are visited. end: these were the last ones. */
void kw_copy_part_note(kw_copy_part *part, kw_bytes last, bool end);

bool kw_copy_parts_have_ended(const kw_copy_parts *self);
/* How many parts have not ended. */
size_t kw_copy_parts_left(const kw_copy_parts *self);
/* A row key up to which all rows are visited, in all parts; empty: unknown. Valid until another row is
 * noted. */
kw_bytes kw_copy_parts_after(const kw_copy_parts *self);
