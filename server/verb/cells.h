/* Records as rows: what is checked before a write, the row key and cells that a record becomes, and which
 * fields name a record. Pure; results live in the call's arena. */
#pragma once

#include "verb/call.h"

/* Every present value fits its field and every identity field is present: INVALID naming table and field. */
bool kw_record_check(const kw_table *table, const kw_record *record, kw_error *ret_error);

/* The same for a key: identity fields only, all of them. */
bool kw_key_check(const kw_table *table, const kw_record *key, kw_error *ret_error);

/* "order_id, created": what names a record. */
const char *kw_identity_names(const kw_table *table, kw_arena *arena);

/* Row key under a path; `scratch` is reused from call to call. */
bool kw_row_key(const kw_path *path, const kw_record *record, kw_buffer *scratch, kw_arena *arena,
                kw_bytes *ret_key, kw_error *ret_error);

/* The put's cells: counters first, then the other stored fields and entries that are present; the marker cell
 * when there is none, or always when the policy names one. */
void kw_record_cells(const kw_table *table, const kw_record *record, kw_arena *arena, kw_write *put);

/* The pick's column; not for a whole map. */
kw_column kw_pick_column(const kw_table *table, kw_pick pick, kw_arena *arena);
kw_column kw_marker_column(const kw_table *table);
