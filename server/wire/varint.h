/* Variable-length integers of the compact protocol: seven bits per byte, low bits first; the top bit is set
 * if more bytes follow. Signed integers are zigzag coded. Inline, without allocation; any thread. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define KW_VARINT_SHORT 0      /* the bytes end inside the number */
#define KW_VARINT_BROKEN (-1)  /* more bits than the type has */
#define KW_VARINT_MAX_BYTES 10 /* of an unsigned 64-bit number */

/* Returns the number of bytes read (1..10), KW_VARINT_SHORT or KW_VARINT_BROKEN. */
static inline int
kw_varint_load64(const uint8_t *from, size_t left, uint64_t *ret_value)
{
    uint64_t value = 0;
    for (unsigned index = 0; index < left; index++) {
        uint8_t byte = from[index];
        if (index == KW_VARINT_MAX_BYTES - 1 && byte > 1)
            return KW_VARINT_BROKEN;
        value |= (uint64_t)(byte & 0x7f) << (7 * index);
        if (byte < 0x80) {
            *ret_value = value;
            return (int)index + 1;
        }
    }
    return KW_VARINT_SHORT;
}

/* The same for a 32-bit number, which has at most five bytes. */
static inline int
kw_varint_load32(const uint8_t *from, size_t left, uint32_t *ret_value)
{
    uint32_t value = 0;
    for (unsigned index = 0; index < left; index++) {
        uint8_t byte = from[index];
        if (index == 4 && byte > 0x0f)
            return KW_VARINT_BROKEN;
        value |= (uint32_t)(byte & 0x7f) << (7 * index);
        if (byte < 0x80) {
            *ret_value = value;
            return (int)index + 1;
        }
    }
    return KW_VARINT_SHORT;
}

/* Writes at most ten bytes and returns where the next one goes. */
static inline uint8_t *
kw_varint_store64(uint8_t *to, uint64_t value)
{
    while (value >= 0x80) {
        *to++ = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    *to++ = (uint8_t)value;
    return to;
}

static inline uint64_t
kw_zigzag_of(int64_t value)
{
    return ((uint64_t)value << 1) ^ (uint64_t)(value >> 63);
}

static inline int64_t
kw_zigzag_undo(uint64_t coded)
{
    return (int64_t)((coded >> 1) ^ (~(coded & 1) + 1));
}
