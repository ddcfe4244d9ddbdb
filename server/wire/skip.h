/* Finds the end of a value of any type without knowing it: for unknown fields, and for messages
 * that come without a length. Keeps its own stack of fixed size, so nesting costs no C stack, and
 * can go on where it stopped when more bytes are there. Pure; any thread.
 *
 * A step is a field head with the value's first token (or all of it, when it has a fixed size). A
 * step is taken whole or not at all, so the only states are those between steps.
 */
#pragma once

#include "wire/decode_error.h"
#include "wire/wire.h"

#define KW_SKIP_DEPTH_MAX KW_WIRE_DEPTH_DEFAULT

typedef struct kw_skip_level {
    uint32_t left;    /* elements to come, keys and values counted apart; unused for a struct */
    uint8_t types[2]; /* wire type of the element by left & 1: a map's keys come at even counts */
    bool is_struct;
} kw_skip_level;

typedef struct kw_skip {
    size_t at;    /* bytes passed; may be ahead of the input while a long string is awaited */
    size_t limit; /* `at` may not pass this */
    uint32_t depth;
    uint32_t depth_max;
    kw_wire_protocol protocol;
    kw_decode_error fault; /* set with KW_WIRE_BROKEN; LENGTH and COUNT are measured against limit */
    kw_skip_level levels[KW_SKIP_DEPTH_MAX + 1];
} kw_skip;

/* A struct starts at `at` / a value of this wire type does. depth_max <= KW_SKIP_DEPTH_MAX. */
void kw_skip_begin_struct(kw_skip *skip, kw_wire_protocol protocol, size_t at, size_t limit,
                          uint32_t depth_max);
void kw_skip_begin_value(kw_skip *skip, kw_wire_protocol protocol, uint8_t type, size_t limit,
                         uint32_t depth_max);

/* MESSAGE: the end is at skip->at, which is within input. MORE: give the same bytes and more; at
 * least *ret_wanted in all. BROKEN: see skip->fault. */
kw_wire_progress kw_skip_run(kw_skip *skip, kw_bytes input, size_t *ret_wanted);
