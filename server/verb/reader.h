/* Rows as records: reads the fields that a call wants out of rows of one path.
 *
 * A record always has its identity fields; the others only when they were asked for. What is kept is
 * copied, so rows may go; what is borrowed needs them. Columns that no field names are passed over, and so is
 * the marker. Of a map the entries that came are there; one without entries is absent.
 */
#pragma once

#include "verb/call.h"

typedef struct kw_reader kw_reader;

/* picks: to return besides the identity's; none: all. scratch: emptied with each row; NULL: the call's arena
 * serves (then for few rows only). */
kw_reader *kw_reader_new(kw_call *call, const kw_table *table, const kw_path *path, const kw_pick *picks,
                         size_t picks_count, kw_arena *scratch);

/* Field is read, though not returned: the question's condition needs it. */
void kw_reader_need(kw_reader *reader, size_t field);

/* Decodes key and cells; bytes are slices of the row. ret_record is the reader's own and changes with the
 * next row. CORRUPT naming the row when the key was not made by the path, a value cannot be read, or key and
 * column tell different values for one field. */
bool kw_reader_decode(kw_reader *reader, const kw_row *row, const kw_record **ret_record,
                      kw_error *ret_error);

/* Decodes only the cells: what can be known of a row whose key is foreign. */
bool kw_reader_decode_cells(kw_reader *reader, const kw_row *row, const kw_record **ret_record,
                            kw_error *ret_error);

/* The record decoded last with the fields to return, copied to the arena. */
kw_record kw_reader_keep(kw_reader *reader, kw_arena *arena);

/* How large that record is in a reply, at most (reply_size.h). */
size_t kw_reader_reply_bytes(const kw_reader *reader);

/* The same record with bytes that are slices of the row. Without a scratch arena only. */
kw_record kw_reader_borrow(kw_reader *reader);

/* Columns to ask the store for, so that all needed fields come, and the marker. none (0): the whole row must
 * be asked for. A row that has none of them may exist all the same. */
const kw_column *kw_reader_columns(const kw_reader *reader, size_t *ret_count);

/* Must the whole row come, because every stored field is read, or a map as a whole? */
bool kw_reader_reads_all(const kw_reader *reader);
