/* Internal: what the two decoders share, which is the state of one decode, memory that is counted before it
 * is allocated, and the slow paths. decode.inc traverses the tables; it is included once for each protocol.
 *
 * Every function that consumes bytes gets its position and returns the new one, or NULL after a fault. The
 * function that finds a fault fills decoder->fault; decode_struct, which knows the name of the field, makes
 * the error text.
 */
#pragma once

#include "wire/decode_error.h"
#include "wire/table.h"

typedef struct kw_decoder {
    const uint8_t *start;
    const uint8_t *end;
    kw_arena *arena;
    size_t memory_left;
    size_t memory_limit;
    uint32_t depth_left;
    uint32_t depth_limit;
    kw_wire_protocol protocol;
    kw_error *error;
    kw_decode_error fault;
    bool reported; /* error contains the text */
} kw_decoder;

/* Decode the struct at `at` into zeroed memory. */
const uint8_t *kw_decode_binary(kw_decoder *decoder, const uint8_t *at, const kw_wire_struct *table,
                                uint8_t *to);
const uint8_t *kw_decode_compact(kw_decoder *decoder, const uint8_t *at, const kw_wire_struct *table,
                                 uint8_t *to);

void kw_decoder_note(kw_decoder *decoder, kw_decode_error_kind kind, int64_t value, const uint8_t *at);

/* Returns NULL. Inline, so that the compiler knows it. */
static inline const uint8_t *
kw_decoder_fail(kw_decoder *decoder, kw_decode_error_kind kind, int64_t value, const uint8_t *at)
{
    kw_decoder_note(decoder, kind, value, at);
    return NULL;
}

/* Makes the error text of the present fault, unless there is one. field can be NULL. Returns NULL. */
const uint8_t *kw_decoder_report(kw_decoder *decoder, const kw_wire_struct *table,
                                 const kw_wire_field *field);

/* Reports the first required field without a bit in seen. Returns NULL. */
const uint8_t *kw_decoder_missing(kw_decoder *decoder, const kw_wire_struct *table, uint64_t seen);

/* Zeroed memory for count items; NULL with a fault if the memory limit is exceeded. */
void *kw_decoder_alloc(kw_decoder *decoder, size_t count, size_t size, const uint8_t *at);

/* Skips the value of a field that is not in the table. */
const uint8_t *kw_decoder_skip(kw_decoder *decoder, const uint8_t *at, uint8_t type);

/* The field with this id, or NULL. */
const kw_wire_field *kw_decoder_find(const kw_wire_struct *table, int32_t id);
