/* Inside of the diff. */
#pragma once

#include "advise/diff.h"
#include "rule/component.h"

/* Random records of an old table, and the same records in its new form. */
typedef struct kw_diff_records {
    const kw_table *old;
    const kw_table *fresh;
    const kw_record *sample; /* NULL: random ones */
    kw_effort *effort;
    size_t count;
    int *forms;     /* per field of the old table: how its random values look; -1: none fits its encodings */
    int *new_forms; /* per field of the new table that the old one does not have */
    size_t *old_of; /* per field of the new table: its number in the old one; SIZE_MAX */
} kw_diff_records;

void kw_diff_records_make(const kw_table *old, const kw_table *fresh, const kw_diff_sample *sample,
                          kw_arena *arena, kw_diff_records *ret_records);

/* The number-th record in both forms, in the arena. */
void kw_diff_record(const kw_diff_records *records, size_t number, kw_arena *arena, kw_record *ret_old,
                    kw_record *ret_fresh);

/* Lines about keys that move from the old layout to the new one. */
void kw_diff_moves(const kw_diff_records *records, const kw_layout *old, const kw_layout *fresh,
                   kw_buffer *out);

/* Lines about questions that get another number of ranges. */
void kw_diff_questions(const kw_diff_records *records, kw_buffer *out);
