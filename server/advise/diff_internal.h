/* Private to the diff. */
#pragma once

#include "advise/diff.h"
#include "rule/component.h"

/* Records of the old table, random or given, and the same records in the new table. */
typedef struct kw_diff_records {
    const kw_table *old;
    const kw_table *fresh;
    const kw_record *sample; /* NULL: random records */
    kw_effort *effort;
    size_t count;
    int *
        forms; /* per field of the old table: the shape of its random values; -1: its encodings accept none */
    int *new_forms; /* per field of the new table that the old one does not have */
    size_t *old_of; /* per field of the new table: its number in the old one; SIZE_MAX: not there */
} kw_diff_records;

void kw_diff_records_make(const kw_table *old, const kw_table *fresh, const kw_diff_sample *sample,
                          kw_arena *arena, kw_diff_records *ret_records);

/* Returns record `number` as a record of each table, in the arena. */
void kw_diff_record(const kw_diff_records *records, size_t number, kw_arena *arena, kw_record *ret_old,
                    kw_record *ret_fresh);

/* Prints how many records get another key under the new layout. If a computed component (such as a hash or a
 * salt) has changed, also prints for how many records its bytes differ. */
void kw_diff_moves(const kw_diff_records *records, const kw_layout *old, const kw_layout *fresh,
                   kw_buffer *out);

/* Prints the queries whose plan changes: the number of ranges, the path, or whether there is a plan. */
void kw_diff_queries(const kw_diff_records *records, kw_buffer *out);
