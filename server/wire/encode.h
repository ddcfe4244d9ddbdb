/* Internal: what the two encoders share, which is space in the buffer, and copying. encode.inc traverses the
 * tables; it is included once for each protocol.
 *
 * Every function writes at `at` and returns where the next byte goes. The buffer can move, so space is
 * reserved before each token is written: its size, or KW_ENCODER_TOKEN_MAX, which is enough for any token
 * that is not a text.
 *
 * A value that would exceed `most` bytes is abandoned: `over` is set, further tokens overwrite the first
 * bytes, long tokens are not copied, and containers stop early. */
#pragma once

#include "base/utf8.h"
#include "wire/table.h"

#include <glib.h>

#define KW_ENCODER_TOKEN_MAX 32

typedef struct kw_encoder {
    kw_buffer *out;
    uint8_t *end; /* of the buffer's memory */
    size_t start; /* where the value begins in the buffer */
    size_t most;  /* bytes of the value */
    bool over;
    const void *open; /* a container whose items are encoded later, or NULL */
    uint32_t open_count;
    size_t opened; /* where these items belong in the buffer */
} kw_encoder;

uint8_t *kw_encode_binary(kw_encoder *encoder, uint8_t *at, const kw_wire_struct *table, const uint8_t *from);
uint8_t *kw_encode_compact(kw_encoder *encoder, uint8_t *at, const kw_wire_struct *table,
                           const uint8_t *from);

uint8_t *kw_encode_items_binary(kw_encoder *encoder, uint8_t *at, const kw_wire_container *list,
                                const uint8_t *items, uint32_t count);
uint8_t *kw_encode_items_compact(kw_encoder *encoder, uint8_t *at, const kw_wire_container *list,
                                 const uint8_t *items, uint32_t count);

uint8_t *kw_encoder_grow(kw_encoder *encoder, uint8_t *at, size_t more);

static inline uint8_t *
kw_encoder_reserve(kw_encoder *encoder, uint8_t *at, size_t more)
{
    if (G_LIKELY((size_t)(encoder->end - at) >= more))
        return at;
    return kw_encoder_grow(encoder, at, more);
}

/* memcpy for the sizes that cells have, without a function call: two overlapping moves for short ones, moves
 * of 16 bytes for medium ones. */
static inline uint8_t *
kw_encoder_copy(uint8_t *to, const uint8_t *from, size_t size)
{
    if (size > 256) {
        memcpy(to, from, size);
    } else if (size >= 16) {
        for (size_t at = 0; at + 16 < size; at += 16)
            __builtin_memcpy(to + at, from + at, 16);
        __builtin_memcpy(to + size - 16, from + size - 16, 16);
    } else if (size >= 8) {
        __builtin_memcpy(to, from, 8);
        __builtin_memcpy(to + size - 8, from + size - 8, 8);
    } else if (size >= 4) {
        __builtin_memcpy(to, from, 4);
        __builtin_memcpy(to + size - 4, from + size - 4, 4);
    } else if (size > 0) {
        to[0] = from[0];
        to[size / 2] = from[size / 2];
        to[size - 1] = from[size - 1];
    }
    return to + size;
}
