/* Patterns of keys: at each position a pattern requires a certain byte or allows any.
 *
 *   at = 2      ? ?  7 ? 9 ...      bytes  7 x 9      (x: ignored)
 *                                   mask   0 1 0
 *
 * A key matches a set of patterns if it matches one of them. All patterns of a set start at byte `at` of the
 * key. A key that ends within a pattern matches if its bytes up to there match. Masks are those of HBase's
 * FuzzyRowFilter, and so is the method that finds the next key that can match. Pure functions; any thread.
 */
#pragma once

#include "base/arena.h"

typedef struct kw_pattern {
    kw_bytes bytes;
    const uint8_t *mask; /* one per byte; 0: must be equal, 1: any byte */
} kw_pattern;

typedef struct kw_patterns {
    const kw_pattern *items;
    size_t count; /* 0: every key matches */
    size_t at;    /* number of arbitrary bytes before the patterns */
} kw_patterns;

kw_patterns kw_patterns_copy(const kw_patterns *patterns, kw_arena *arena);

bool kw_patterns_match(const kw_patterns *patterns, kw_bytes key);

/* For a key that does not match: finds the nearest prefix after the key (before it if reversed) with which a
 * matching key can begin, and writes it to `to`. No key between the two matches, unless it is too short to
 * contain a whole pattern. False if there is no such prefix. */
bool kw_patterns_next(const kw_patterns *patterns, kw_bytes key, bool reversed, kw_buffer *to);
