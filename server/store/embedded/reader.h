/* Reads rows with an iterator of RocksDB, forward or backward, and passes their entries to a version filter.
 *
 * It skips a few unneeded entries one by one, and more of them with a seek. The version filter needs the
 * entries of a row in key order. Reading backward, the reader first saves the entries of a row; if the row
 * is large, it seeks to the start of the row and reads it forward. One thread at a time.
 */
#pragma once

#include "base/effort.h"
#include "store/embedded/version_filter.h"

#include <rocksdb/c.h>

typedef struct kw_reader {
    rocksdb_iterator_t *iterator; /* borrowed */
    kw_effort *effort; /* NULL: no limit; once it is used up, rows are incomplete and must not be used */
    kw_version_filter version_filter;
    kw_buffer prefix; /* row prefix of the current row */
    kw_buffer target; /* key to seek to */
    bool left_row;    /* the iterator is at the first entry after the row passed last */
    kw_buffer saved;  /* backward: the entries of the current row, last first */
    GArray *saved_entries;
} kw_reader;

void kw_reader_init(kw_reader *reader, rocksdb_iterator_t *at, const kw_selection *selection);
void kw_reader_clear(kw_reader *reader);

/* The row prefix of the last row. */
static inline kw_bytes
kw_reader_row(const kw_reader *reader)
{
    return kw_buffer_bytes(&reader->prefix);
}

/* The row key of the last row, in the arena. */
kw_bytes kw_reader_row_key(const kw_reader *reader, kw_arena *arena);

/* Reads one row by its key. False if no cell of it is visible. The position of the iterator is undefined. */
bool kw_reader_get(kw_reader *reader, kw_bytes row, kw_row *ret_row);

/* Passes the visible cells of a row to the version filter's sink. `from`: the key of a column (after the row
 * prefix, without timestamp and kind) to begin with; empty: the first one. If the iterator can leave the row
 * (total order), a pass of the next row needs no seek. Nothing else may move the iterator between passes. */
void kw_reader_pass(kw_reader *reader, kw_bytes row, kw_bytes from);

/* Reads a row. The iterator must be at its first entry, and moves to the first entry of the next row. False
 * if no cell of the row is visible. */
bool kw_reader_forward(kw_reader *reader, kw_row *ret_row);

/* Reads a row. The iterator must be at its last entry, and moves to the last entry of the previous row. False
 * if no cell of the row is visible. */
bool kw_reader_backward(kw_reader *reader, kw_row *ret_row);
