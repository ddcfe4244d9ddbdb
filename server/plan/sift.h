/* What a question says of the key behind the part that the ranges cover, as patterns of bytes that a store
 * can sift rows by (base/pattern.h). Inside of the room.
 *
 *   components   c0       c1       c2        c3        c4
 *                used     stop     wanted    not known of text
 *                |-range-|? ? ? ?  | 0 0 0 7 | ? ? ? ?   (of no fixed width: nothing is said behind it)
 *
 * Patterns let every row through that meets the question; a few more where a list or a range would take too
 * many of them. */
#pragma once

#include "base/pattern.h"
#include "plan/sketch.h"

typedef struct kw_sift {
    const kw_pattern *patterns; /* from the component at `from` on */
    size_t count;               /* 0: nothing can be said */
    size_t from;
} kw_sift;

kw_sift kw_sift_make(const kw_sketch *sketch, const kw_terms *terms, kw_arena *arena);
