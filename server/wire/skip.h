/* The skipper: finds the end of a value of any type, without a table that describes the type. It is used for
 * unknown fields, and for messages without a length. It has its own stack of fixed size, so nested values
 * need no C stack. When more bytes arrive, it resumes where it stopped. No I/O; any thread.
 *
 * A step reads a field head with the first token of the value, or with the whole value if it has a fixed
 * size. If the bytes of a step are incomplete, the step is repeated later, so only the state between steps is
 * kept.
 */
#pragma once

#include "wire/decode_error.h"
#include "wire/wire.h"

#define KW_SKIP_DEPTH_MAX KW_WIRE_DEPTH_DEFAULT

typedef struct kw_skip_level {
    uint32_t left;    /* elements left; a map's keys and values are counted separately; unused for a struct */
    uint8_t types[2]; /* wire types, indexed by left & 1: a map's key is next if left is even */
    bool is_struct;
} kw_skip_level;

typedef struct kw_skip {
    size_t at;    /* bytes skipped; greater than the input while the bytes of a string, number or list are
                     incomplete */
    size_t limit; /* maximum value of `at` */
    uint32_t depth;
    uint32_t depth_max;
    kw_wire_protocol protocol;
    kw_decode_error fault; /* set with KW_WIRE_BROKEN; for LENGTH and COUNT, fault.left is the number of bytes
                              before `limit` */
    kw_skip_level levels[KW_SKIP_DEPTH_MAX + 1];
} kw_skip;

/* Prepare to skip a struct that starts at `at`, or a value of this wire type that starts at 0. depth_max <=
 * KW_SKIP_DEPTH_MAX. */
void kw_skip_begin_struct(kw_skip *skip, kw_wire_protocol protocol, size_t at, size_t limit,
                          uint32_t depth_max);
void kw_skip_begin_value(kw_skip *skip, kw_wire_protocol protocol, uint8_t type, size_t limit,
                         uint32_t depth_max);

/* MESSAGE: the value ends at skip->at, which is within input. MORE: call again with the same and more bytes,
 * at least *ret_wanted in total. BROKEN: see skip->fault. */
kw_wire_progress kw_skip_run(kw_skip *skip, kw_bytes input, size_t *ret_wanted);
