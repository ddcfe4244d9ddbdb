/* What the two decoders share: the state of one decode, memory that is counted before it is taken,
 * and the slow paths. The walk itself is decode.inc, included once for each protocol. Internal.
 *
 * Every function that moves through the bytes takes where it is and returns where it got to, NULL
 * after a fault. The first to see the fault fills decoder->fault, the struct around it names it.
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
    bool reported; /* error holds the sentence */
} kw_decoder;

/* Decode the struct at `at` into zeroed memory. */
const uint8_t *kw_decode_binary(kw_decoder *decoder, const uint8_t *at, const kw_wire_struct *table,
                                uint8_t *to);
const uint8_t *kw_decode_compact(kw_decoder *decoder, const uint8_t *at, const kw_wire_struct *table,
                                 uint8_t *to);

void kw_decoder_note(kw_decoder *decoder, kw_decode_error_kind kind, int64_t value, const uint8_t *at);

/* Returns NULL, and the compiler can see that it does. */
static inline const uint8_t *
kw_decoder_fail(kw_decoder *decoder, kw_decode_error_kind kind, int64_t value, const uint8_t *at)
{
    kw_decoder_note(decoder, kind, value, at);
    return NULL;
}

/* Makes the sentence of the present fault, if none was made. field may be NULL. Returns NULL. */
const uint8_t *kw_decoder_report(kw_decoder *decoder, const kw_wire_struct *table,
                                 const kw_wire_field *field);

/* The first required field without a bit in seen. Returns NULL. */
const uint8_t *kw_decoder_missing(kw_decoder *decoder, const kw_wire_struct *table, uint64_t seen);

/* Zeroed memory for count items, NULL with a fault when the budget is used up. */
void *kw_decoder_take(kw_decoder *decoder, size_t count, size_t size, const uint8_t *at);

/* Passes a value of a field that the table does not know. */
const uint8_t *kw_decoder_skip(kw_decoder *decoder, const uint8_t *at, uint8_t type);

/* NULL when the table has no such field. */
const kw_wire_field *kw_decoder_find(const kw_wire_struct *table, int32_t id);
