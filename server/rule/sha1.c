/* SHA-1: processes blocks of 64 bytes, each expanded to 80 words, which are mixed into a state of five words.
 * The last one or two blocks contain the rest of the input, the bit 1, zeros and the number of bits. */
#include "rule/sha1.h"

#define BLOCK 64

static uint32_t
rotate_left(uint32_t value, unsigned bits)
{
    return value << bits | value >> (32 - bits);
}

/* The function and constant of a step. */
static uint32_t
blend(unsigned step, uint32_t b, uint32_t c, uint32_t d)
{
    switch (step / 20) {
    case 0:
        return ((b & c) | (~b & d)) + 0x5a827999u;
    case 1:
        return (b ^ c ^ d) + 0x6ed9eba1u;
    case 2:
        return ((b & c) | (b & d) | (c & d)) + 0x8f1bbcdcu;
    default:
        return (b ^ c ^ d) + 0xca62c1d6u;
    }
}

static void
add_block(uint32_t state[5], const uint8_t *block)
{
    uint32_t words[80];
    for (unsigned index = 0; index < 16; index++)
        words[index] = kw_be32_load(block + 4 * index);
    for (unsigned index = 16; index < 80; index++)
        words[index] =
            rotate_left(words[index - 3] ^ words[index - 8] ^ words[index - 14] ^ words[index - 16], 1);
    uint32_t a = state[0], b = state[1], c = state[2], d = state[3], e = state[4];
    for (unsigned step = 0; step < 80; step++) {
        uint32_t next = rotate_left(a, 5) + blend(step, b, c, d) + e + words[step];
        e = d;
        d = c;
        c = rotate_left(b, 30);
        b = a;
        a = next;
    }
    state[0] += a;
    state[1] += b;
    state[2] += c;
    state[3] += d;
    state[4] += e;
}

void
kw_sha1(kw_bytes input, uint8_t to[KW_SHA1_SIZE])
{
    uint32_t state[5] = {0x67452301u, 0xefcdab89u, 0x98badcfeu, 0x10325476u, 0xc3d2e1f0u};
    uint64_t bits = (uint64_t)input.size * 8;
    for (; input.size >= BLOCK; input = kw_bytes_skip(input, BLOCK))
        add_block(state, input.data);
    uint8_t last[2 * BLOCK] = {0};
    if (input.size > 0)
        memcpy(last, input.data, input.size);
    last[input.size] = 0x80;
    size_t size = input.size + 9 > BLOCK ? 2 * BLOCK : BLOCK;
    kw_be64_store(last + size - 8, bits);
    for (size_t at = 0; at < size; at += BLOCK)
        add_block(state, last + at);
    for (unsigned index = 0; index < 5; index++)
        kw_be32_store(to + 4 * index, state[index]);
}
