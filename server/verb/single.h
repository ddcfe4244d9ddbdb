/* Writes that only make sense where a record is one row: increment and put_if. */
#pragma once

#include "verb/call.h"

/* INVALID on a table with more than one path, or where the row cannot be told because its bucket was chosen.
 */
bool kw_single_path(const kw_table *table, const char *verb, kw_error *ret_error);

/* INVALID where nothing can be compared or added to: with order: stamp, or atomics: false. */
bool kw_single_atomic(const kw_table *table, const char *verb, kw_error *ret_error);

/* Row key under the one path, in the call's arena; an association that does not know the record gives it one.
 * stamp: the caller's own, else KW_TIMESTAMP_NONE. done may be called from inside; an error means that
 * nothing was applied. */
typedef void (*kw_single_found)(void *user, kw_bytes row, const kw_error *error);
void kw_single_find(kw_call *call, const kw_table *table, const kw_record *record, int64_t stamp,
                    kw_single_found done, void *user);
