/* Patterns of keys: bytes of which some must be equal and the others may be any.
 *
 *   at = 2      ? ?  7 ? 9 ...      bytes  7 x 9      (x: whatever)
 *                                   mask   0 1 0
 *
 * Keys are of the form when they match one of several patterns, each of which starts at byte `at`. A key that
 * ends within a pattern matches when what there is of it does. The masks are those of HBase's FuzzyRowFilter,
 * from which the steps to the next key that can match are known as well. Pure; any thread.
 */
#pragma once

#include "base/arena.h"

typedef struct kw_pattern {
    kw_bytes bytes;
    const uint8_t *mask; /* as many; 0: must be equal, 1: may be any */
} kw_pattern;

typedef struct kw_patterns {
    const kw_pattern *items;
    size_t count; /* 0: every key matches */
    size_t at;    /* bytes before them, which may be any */
} kw_patterns;

kw_patterns kw_patterns_copy(const kw_patterns *patterns, kw_arena *arena);

bool kw_patterns_match(const kw_patterns *patterns, kw_bytes key);

/* Of a key that does not match: the nearest bytes behind it (before it, when reversed) with which a key that
 * matches can begin; replaces what `to` holds. All keys between, as long as a pattern, match nothing. False:
 * there are no such bytes. */
bool kw_patterns_next(const kw_patterns *patterns, kw_bytes key, bool reversed, kw_buffer *to);
