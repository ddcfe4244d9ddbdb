/* Moves the iterator of a range scan over rows whose keys match no pattern, without reading these rows. One
 * thread at a time. */
#pragma once

#include "base/pattern.h"

#include <rocksdb/c.h>

typedef struct kw_row_skipper {
    kw_patterns patterns; /* borrowed; none: every row matches */
    uint32_t table;
    bool reversed;
    kw_buffer key;    /* the key of the current row, or the RocksDB key to skip to */
    kw_buffer target; /* the row key from which the patterns can match again */
} kw_row_skipper;

void kw_row_skipper_init(kw_row_skipper *skipper, const kw_patterns *patterns, uint32_t table, bool reversed);
void kw_row_skipper_clear(kw_row_skipper *skipper); /* a zeroed one is allowed */

/* True if the key of the iterator's current row matches a pattern. */
bool kw_row_skipper_matches(kw_row_skipper *skipper, const rocksdb_iterator_t *at);

/* After a row that does not match: moves the iterator to the next row that can match, or beyond the range.
 * False if no further row can match; then the iterator stays. */
bool kw_row_skipper_skip(kw_row_skipper *skipper, rocksdb_iterator_t *at);
