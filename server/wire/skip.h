/* Finds the end of a value without a table: for unknown fields, and for messages without a length. It has its
 * own stack of fixed size, so nesting needs no C stack, and it resumes where it stopped when more bytes
 * arrive. No I/O; any thread.
 *
 * A step is a field head with the value's first token, or the whole value if it has a fixed size. A step is
 * completed or not begun, so the state between steps is all that must be kept.
 */
#pragma once

#include "wire/decode_error.h"
#include "wire/wire.h"

#define KW_SKIP_DEPTH_MAX KW_WIRE_DEPTH_DEFAULT

typedef struct kw_skip_level {
    uint32_t left;    /* elements left, keys and values counted separately; unused for a struct */
    uint8_t types[2]; /* wire types by left & 1; a map's key is next if left is even */
    bool is_struct;
} kw_skip_level;

typedef struct kw_skip {
    size_t at;    /* bytes skipped; exceeds the input while a long string is incomplete */
    size_t limit; /* maximum value of `at` */
    uint32_t depth;
    uint32_t depth_max;
    kw_wire_protocol protocol;
    kw_decode_error fault; /* set with KW_WIRE_BROKEN; LENGTH and COUNT are measured against limit */
    kw_skip_level levels[KW_SKIP_DEPTH_MAX + 1];
} kw_skip;

/* Begins at a struct at `at`, or at a value of this wire type at 0. depth_max <= KW_SKIP_DEPTH_MAX. */
void kw_skip_begin_struct(kw_skip *skip, kw_wire_protocol protocol, size_t at, size_t limit,
                          uint32_t depth_max);
void kw_skip_begin_value(kw_skip *skip, kw_wire_protocol protocol, uint8_t type, size_t limit,
                         uint32_t depth_max);

/* MESSAGE: the value ends at skip->at, which is within input. MORE: call again with the same and more bytes,
 * at least *ret_wanted in total. BROKEN: see skip->fault. */
kw_wire_progress kw_skip_run(kw_skip *skip, kw_bytes input, size_t *ret_wanted);
