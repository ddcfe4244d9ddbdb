/* Writes that only make sense where a record is one row: increment and put_if. */
#pragma once

#include "verb/call.h"

/* INVALID on a table with more than one path. */
bool kw_single_path(const kw_table *table, const char *verb, kw_error *ret_error);

/* Row key under the one path, in the call's arena. */
bool kw_single_key(kw_call *call, const kw_table *table, const kw_record *record, kw_bytes *ret_row,
                   kw_error *ret_error);
