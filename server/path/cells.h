/* Records as rows: checks a record before a write, builds its row key and cells, and names its identity
 * fields. Pure; results live in the call's arena. */
#pragma once

#include "path/call.h"

/* True if every present value fits its field and every identity field is present; otherwise INVALID, naming
 * table and field. */
bool kw_record_check(const kw_table *table, const kw_record *record, kw_error *ret_error);

/* The same check for a key, which must contain all identity fields and no others. */
bool kw_key_check(const kw_table *table, const kw_record *key, kw_error *ret_error);

/* Returns the names of the identity fields, for example "order_id, created". */
const char *kw_identity_names(const kw_table *table, kw_arena *arena);

/* Encodes the row key in a placement. `scratch` can be reused by the next call. */
bool kw_row_key(const kw_placement *placement, const kw_record *record, kw_buffer *scratch, kw_arena *arena,
                kw_bytes *ret_key, kw_error *ret_error);

/* Builds the cells of a put: counters first, then the other stored fields and map entries present. Adds the
 * marker cell if there are no others, and always if the policy names a marker. */
void kw_record_cells(const kw_table *table, const kw_record *record, kw_arena *arena, kw_write *put);

/* The pick's column. The pick must not be a whole map. */
kw_column kw_pick_column(const kw_table *table, kw_pick pick, kw_arena *arena);
kw_column kw_marker_column(const kw_table *table);
