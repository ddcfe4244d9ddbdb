/* Converts a range of values to the range of bytes that the pieces of one component have. Private to this
 * module.
 */
#pragma once

#include "rule/component.h"

typedef struct kw_ends {
    kw_bytes low;   /* inclusive */
    kw_bytes high;  /* exclusive, unless high_open */
    bool high_open; /* up to the last possible piece */
    bool loose;     /* the bytes can also contain pieces of values outside of the range */
    bool empty;     /* no piece is in the range */
} kw_ends;

/* The component must have a direction. Allocates bytes in the arena. */
kw_ends kw_ends_of(const kw_component *component, const kw_value_span *span, kw_arena *arena);

/* The smallest byte string greater than all that begin with `prefix`; false if there is none (0xff... or
 * empty). */
bool kw_bytes_successor(kw_bytes prefix, kw_arena *arena, kw_bytes *ret_bytes);
