/* Atomic operations on a record, which must be one row: increment and put_if. */
#pragma once

#include "path/rows.h"

/* INVALID if the table has more than one path, or if the row is unknown because its bucket was chosen at a
 * put and there is no association. */
bool kw_atomic_check_path(const kw_table *table, const char *verb, kw_error *ret_error);

/* INVALID if values cannot be compared or added to in place: with order: stamp, or atomics: false.
 * UNAVAILABLE with retry_after_ms if atomic operations are held (kw_table.atomics_held). */
bool kw_atomic_check_order(const kw_table *table, const char *verb, kw_error *ret_error);

/* Finds the record's only row, in the call's arena. An association that does not contain the record gets an
 * entry. stamp: the caller's timestamp, otherwise KW_TIMESTAMP_NONE. done can be called before this returns;
 * an error means that nothing was applied. */
typedef void (*kw_atomic_row_found)(void *user, const kw_placed_row *row, const kw_error *error);
void kw_atomic_find_row(kw_call *call, const kw_table *table, const kw_record *record, int64_t stamp,
                        kw_atomic_row_found done, void *user);
