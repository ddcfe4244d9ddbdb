/* From a range of values to the bytes between which the pieces of one component lie. Inside of the room. */
#pragma once

#include "rule/component.h"

typedef struct kw_ends {
    kw_bytes low;   /* inclusive */
    kw_bytes high;  /* exclusive, unless high_open */
    bool high_open; /* to the last piece there is */
    bool loose;     /* pieces of values outside of the range may lie between them, too */
    bool empty;     /* no piece does */
} kw_ends;

/* For a component with a direction. Bytes in the arena. */
kw_ends kw_ends_of(const kw_component *component, const kw_span *span, kw_arena *arena);

/* The least bytes greater than all that begin with `prefix`; false when there are none (0xff... or empty). */
bool kw_bytes_successor(kw_bytes prefix, kw_arena *arena, kw_bytes *ret_bytes);
