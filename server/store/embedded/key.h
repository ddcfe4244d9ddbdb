/* The keys of the ordered engine: one entry per cell, in HBase's order.
 *
 *   row prefix:  table u32 | row, 00 written as 00 FF | 00 00
 *   then:        family*2   | ~timestamp u64                     marker: the family up to the timestamp
 *                family*2+1 | qualifier, escaped alike | 00 00 | ~timestamp u64 | kind u8
 *
 * All integers big-endian, so that bytes order as: table, row, family, family markers before columns,
 * qualifier, newest first, and at one timestamp the column's delete marker (00) before the put (01). The
 * escape keeps the order of any bytes and makes every row's entries one range; a row of 32,767 bytes needs
 * 65,540 at most. family is the family's place in its table's sorted list. Table 0 is the catalog's.
 */
#pragma once

#include "base/bytes.h"

#define KW_KEY_FAMILIES_MAX 100

typedef enum kw_key_kind { KW_KEY_DELETE = 0, KW_KEY_PUT = 1 } kw_key_kind;

/* What follows the row prefix, taken apart. */
typedef struct kw_key_cell {
    unsigned family;
    bool family_marker;
    kw_bytes qualifier; /* escaped, without its end; empty for a family marker */
    int64_t timestamp;
    kw_key_kind kind;
} kw_key_cell;

/* Appends the bytes with the escape and the end 00 00. */
void kw_key_escape(kw_buffer *to, kw_bytes bytes);

/* The number of bytes that the escaped form (without its end) stands for, and the bytes themselves. */
size_t kw_key_unescaped_size(kw_bytes escaped);
void kw_key_unescape(uint8_t *to, kw_bytes escaped);

/* Appends the row prefix. */
void kw_key_row(kw_buffer *to, uint32_t table, kw_bytes row);

/* The size of the row prefix that the entry's key starts with; 0 when it has none (the catalog's keys). */
size_t kw_key_row_size(kw_bytes key);
/* The escaped row inside a row prefix. */
static inline kw_bytes
kw_key_row_escaped(kw_bytes prefix)
{
    return kw_bytes_of(prefix.data + 4, prefix.size - 6);
}

/* Turns a row prefix into the first key behind all entries of its row. */
static inline void
kw_key_row_after(uint8_t *prefix, size_t size)
{
    prefix[size - 1] = 1;
}

/* Appends what follows the row prefix. */
void kw_key_family_marker(kw_buffer *to, unsigned family, int64_t timestamp);
void kw_key_column(kw_buffer *to, unsigned family, kw_bytes qualifier, int64_t timestamp, kw_key_kind kind);

/* False when the bytes are not what an entry can end with. */
bool kw_key_parse(kw_bytes after_row, kw_key_cell *ret_cell);
