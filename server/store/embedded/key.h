/* The keys in RocksDB: one entry per cell, in HBase's order.
 *
 *   row prefix:     table u32 | row, 00 written as 00 FF | 00 00
 *   family marker:  row prefix | family*2   | ~timestamp u64
 *   other entries:  row prefix | family*2+1 | qualifier, escaped | 00 00 | ~timestamp u64 | kind u8
 *
 * All integers are big-endian. So keys sort by table, row, family (its markers before its columns),
 * qualifier, and timestamp, newest first; at one timestamp the delete marker of the column (kind 00)
 * precedes the put (01). The escape keeps the order of byte strings and makes the entries of a row one
 * contiguous range. The prefix of a row of 32,767 bytes needs at most 65,540 bytes. `family` is the index of
 * the family in the sorted list of its table. Table 0 is the list of tables (tables.h). Pure; any thread.
 */
#pragma once

#include "base/bytes.h"

#include <glib.h>

#define KW_KEY_FAMILIES_MAX 100

typedef enum kw_key_kind { KW_KEY_DELETE = 0, KW_KEY_PUT = 1 } kw_key_kind;

/* The parts of a key after the row prefix. */
typedef struct kw_key_cell {
    unsigned family;
    bool family_marker;
    kw_bytes qualifier; /* escaped, without the final 00 00; empty for a family marker */
    int64_t timestamp;
    kw_key_kind kind;
} kw_key_cell;

/* Appends the escaped bytes and the final 00 00. */
void kw_key_escape(kw_buffer *to, kw_bytes bytes);

/* Decode escaped bytes (without the final 00 00): the decoded size, and the decoded bytes. */
size_t kw_key_unescaped_size(kw_bytes escaped);
void kw_key_unescape(uint8_t *to, kw_bytes escaped);

/* Appends the row prefix. */
void kw_key_row(kw_buffer *to, uint32_t table, kw_bytes row);

/* The size of the row prefix at the start of the key; 0 if it has none, like the keys of the list of tables.
 */
size_t kw_key_row_size(kw_bytes key);
/* The escaped row inside a row prefix. */
static inline kw_bytes
kw_key_row_escaped(kw_bytes prefix)
{
    g_assert(prefix.size >= 6);
    return kw_bytes_of(prefix.data + 4, prefix.size - 6);
}

/* Changes a row prefix into the least key after all entries of its row. */
static inline void
kw_key_row_after(uint8_t *prefix, size_t size)
{
    prefix[size - 1] = 1;
}

/* Append the part of a key after the row prefix. timestamp >= 0. */
void kw_key_family_marker(kw_buffer *to, unsigned family, int64_t timestamp);
void kw_key_column(kw_buffer *to, unsigned family, kw_bytes qualifier, int64_t timestamp, kw_key_kind kind);

/* Parses the part of a key after the row prefix. False if it is malformed. */
bool kw_key_parse(kw_bytes after_row, kw_key_cell *ret_cell);
