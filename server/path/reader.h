/* Rows as records: decodes the fields that a call needs from the rows of one path's placements.
 *
 * A record always has its identity fields; other fields only if requested. Records that are kept are copied,
 * so their rows can be freed; borrowed records need their rows. Columns that belong to no field are skipped,
 * and so is the marker. A map contains the entries that were read; a map without entries is absent.
 */
#pragma once

#include "path/call.h"

typedef struct kw_reader kw_reader;

/* picks: fields to return in addition to the identity; none: all. scratch: cleared with each row; NULL: uses
 * the call's arena (only for few rows). */
kw_reader *kw_reader_new(kw_call *call, const kw_table *table, const kw_path *path, const kw_pick *picks,
                         size_t picks_count, kw_arena *scratch);

/* A reader that returns the identity fields only, without a scratch arena. */
kw_reader *kw_reader_new_identity(kw_call *call, const kw_table *table, const kw_path *path);

/* Reads the field without returning it, for a condition of the query. */
void kw_reader_need(kw_reader *reader, size_t field);

/* From now on, a cell with an empty value counts as absent: a filter has removed its value. */
void kw_reader_omit_empty(kw_reader *reader);

/* Decodes key and cells; bytes are slices of the row. ret_record belongs to the reader and changes with the
 * next row. CORRUPT, naming the row, if the placement's rule cannot have made the key, a value cannot be
 * decoded, or key and column hold different values of one field. */
bool kw_reader_decode(kw_reader *reader, const kw_placement *placement, const kw_row *row,
                      const kw_record **ret_record, kw_error *ret_error);

/* Decodes only the cells, for a row whose key does not follow the placement's rule. */
bool kw_reader_decode_cells(kw_reader *reader, const kw_row *row, const kw_record **ret_record,
                            kw_error *ret_error);

/* Adds table, path and row to the error's text. Returns false. */
bool kw_reader_name_row(const kw_reader *reader, kw_bytes row_key, kw_error *error);

/* Adds table, path and the identity of the row's record to the error's text; table, path and row if the
 * placement's rule cannot have made the key. Returns false. */
bool kw_reader_name_record(kw_reader *reader, const kw_placement *placement, kw_bytes row_key,
                           kw_error *error);

/* Copies the record decoded last, with the fields to return, to the arena. */
kw_record kw_reader_keep(kw_reader *reader, kw_arena *arena);

/* The most bytes that this record can need in a reply (reply_size.h). */
size_t kw_reader_reply_bytes(const kw_reader *reader);

/* The record decoded last, with bytes that are slices of the row. Only without a scratch arena. */
kw_record kw_reader_borrow(kw_reader *reader);

/* The columns to request from the store: those of all needed fields, and the marker. None (0): the whole row
 * is needed (kw_reader_reads_all), or only its key. A row without any of these columns can still exist. */
const kw_column *kw_reader_columns(const kw_reader *reader, size_t *ret_count);

/* True if the whole row is needed, because every stored field is read, or a map as a whole. */
bool kw_reader_reads_all(const kw_reader *reader);
