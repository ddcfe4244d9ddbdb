/* MD5 after RFC 1321: four rounds of sixteen steps over blocks of 64 bytes. */
#include "rule/md5.h"

#include <glib.h>

#define BLOCK 64

/* The integer part of 2^32 * |sin(n)|, n from 1 in radians. */
static const uint32_t sines[64] = {
    0xd76aa478, 0xe8c7b756, 0x242070db, 0xc1bdceee, 0xf57c0faf, 0x4787c62a, 0xa8304613, 0xfd469501,
    0x698098d8, 0x8b44f7af, 0xffff5bb1, 0x895cd7be, 0x6b901122, 0xfd987193, 0xa679438e, 0x49b40821,
    0xf61e2562, 0xc040b340, 0x265e5a51, 0xe9b6c7aa, 0xd62f105d, 0x02441453, 0xd8a1e681, 0xe7d3fbc8,
    0x21e1cde6, 0xc33707d6, 0xf4d50d87, 0x455a14ed, 0xa9e3e905, 0xfcefa3f8, 0x676f02d9, 0x8d2a4c8a,
    0xfffa3942, 0x8771f681, 0x6d9d6122, 0xfde5380c, 0xa4beea44, 0x4bdecfa9, 0xf6bb4b60, 0xbebfbc70,
    0x289b7ec6, 0xeaa127fa, 0xd4ef3085, 0x04881d05, 0xd9d4d039, 0xe6db99e5, 0x1fa27cf8, 0xc4ac5665,
    0xf4292244, 0x432aff97, 0xab9423a7, 0xfc93a039, 0x655b59c3, 0x8f0ccc92, 0xffeff47d, 0x85845dd1,
    0x6fa87e4f, 0xfe2ce6e0, 0xa3014314, 0x4e0811a1, 0xf7537e82, 0xbd3af235, 0x2ad7d2bb, 0xeb86d391,
};

static const uint8_t rotations[4][4] = {{7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}};

typedef struct state {
    uint32_t a, b, c, d;
} state;

static inline uint32_t
rotate_left(uint32_t value, unsigned bits)
{
    return value << bits | value >> (32 - bits);
}

/* The word of the block that a step uses. */
static inline unsigned
word_of(unsigned round, unsigned step)
{
    static const uint8_t factor[] = {1, 5, 3, 7}, offset[] = {0, 1, 5, 0};
    return (factor[round] * step + offset[round]) % 16;
}

static inline uint32_t
mix(unsigned round, uint32_t b, uint32_t c, uint32_t d)
{
    switch (round) {
    case 0:
        return (b & c) | (~b & d);
    case 1:
        return (b & d) | (c & ~d);
    case 2:
        return b ^ c ^ d;
    default:
        return c ^ (b | ~d);
    }
}

/* Sixteen steps; with a constant round, the compiler leaves only the arithmetic. */
static inline __attribute__((always_inline)) void
process_round(unsigned round, const uint32_t *words, state *now)
{
    uint32_t a = now->a, b = now->b, c = now->c, d = now->d;
#pragma GCC unroll 16
    for (unsigned step = 0; step < 16; step++) {
        uint32_t sum = a + mix(round, b, c, d) + words[word_of(round, step)] + sines[16 * round + step];
        a = d;
        d = c;
        c = b;
        b += rotate_left(sum, rotations[round][step % 4]);
    }
    *now = (state){a, b, c, d};
}

static void
add_block(state *sum, const uint8_t *block)
{
    uint32_t words[16];
    memcpy(words, block, sizeof words);
    for (unsigned index = 0; index < 16; index++)
        words[index] = GUINT32_FROM_LE(words[index]);
    state now = *sum;
    process_round(0, words, &now);
    process_round(1, words, &now);
    process_round(2, words, &now);
    process_round(3, words, &now);
    *sum = (state){sum->a + now.a, sum->b + now.b, sum->c + now.c, sum->d + now.d};
}

static void
store_le32(uint8_t *to, uint32_t value)
{
    value = GUINT32_TO_LE(value);
    memcpy(to, &value, sizeof value);
}

/* The rest of the input, a one bit, zeros, and the input's length in bits: one or two blocks. */
static void
add_tail(state *sum, kw_bytes left, uint64_t size)
{
    uint8_t tail[2 * BLOCK] = {0};
    if (left.size > 0)
        memcpy(tail, left.data, left.size);
    tail[left.size] = 0x80;
    size_t length = left.size < BLOCK - 8 ? BLOCK : 2 * BLOCK;
    store_le32(tail + length - 8, (uint32_t)(size << 3));
    store_le32(tail + length - 4, (uint32_t)(size >> 29));
    for (size_t at = 0; at < length; at += BLOCK)
        add_block(sum, tail + at);
}

void
kw_md5(kw_bytes input, uint8_t to[KW_MD5_SIZE])
{
    state sum = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476};
    kw_bytes left = input;
    for (; left.size >= BLOCK; left = kw_bytes_skip(left, BLOCK))
        add_block(&sum, left.data);
    add_tail(&sum, left, input.size);
    store_le32(to, sum.a);
    store_le32(to + 4, sum.b);
    store_le32(to + 8, sum.c);
    store_le32(to + 12, sum.d);
}
