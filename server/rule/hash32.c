/* 32-bit hashes for row keys written by other programs. All read their input as unsigned bytes and
 * little-endian words, except for murmur2's last bytes (see below). */
#include "rule/digest.h"

static uint32_t
rotate_left(uint32_t value, unsigned bits)
{
    return value << bits | value >> (32 - bits);
}

static uint32_t
murmur3_block(uint32_t block)
{
    return rotate_left(block * 0xcc9e2d51u, 15) * 0x1b873593u;
}

uint32_t
kw_murmur3_32(kw_bytes input, uint32_t seed)
{
    uint32_t hash = seed;
    size_t at = 0;
    for (; at + 4 <= input.size; at += 4) {
        uint32_t block;
        memcpy(&block, input.data + at, 4);
        hash = rotate_left(hash ^ murmur3_block(GUINT32_FROM_LE(block)), 13) * 5 + 0xe6546b64u;
    }
    uint32_t tail = 0;
    for (size_t index = input.size; index > at; index--)
        tail = tail << 8 | input.data[index - 1];
    if (input.size > at)
        hash ^= murmur3_block(tail);
    hash ^= (uint32_t)input.size;
    hash = (hash ^ hash >> 16) * 0x85ebca6bu;
    hash = (hash ^ hash >> 13) * 0xc2b2ae35u;
    return hash ^ hash >> 16;
}

/* The last one to three bytes are signed, as in HBase's MurmurHash: for ASCII the result is that of Austin
 * Appleby's MurmurHash2, for bytes from 0x80 on it is not. */
static uint32_t
murmur2_tail(kw_bytes tail)
{
    uint32_t bits = 0;
    for (size_t index = 0; index < tail.size; index++) {
        int32_t signed_byte = (int8_t)tail.data[index];
        bits ^= (uint32_t)signed_byte << 8 * index;
    }
    return bits;
}

uint32_t
kw_murmur2_32(kw_bytes input, uint32_t seed)
{
    static const uint32_t factor = 0x5bd1e995u;
    uint32_t hash = seed ^ (uint32_t)input.size;
    for (; input.size >= 4; input = kw_bytes_skip(input, 4)) {
        uint32_t block;
        memcpy(&block, input.data, 4);
        block = GUINT32_FROM_LE(block) * factor;
        hash = hash * factor ^ (block ^ block >> 24) * factor;
    }
    if (input.size > 0)
        hash = (hash ^ murmur2_tail(input)) * factor;
    hash = (hash ^ hash >> 13) * factor;
    return hash ^ hash >> 15;
}

/* Half a byte at a time: ids are short, and the table fits into one cache line. */
uint32_t
kw_crc32(kw_bytes input)
{
    static const uint32_t of_half[16] = {
        0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4, 0x4db26158, 0x5005713c,
        0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c, 0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c,
    };
    uint32_t crc = UINT32_MAX;
    for (size_t index = 0; index < input.size; index++) {
        crc ^= input.data[index];
        crc = crc >> 4 ^ of_half[crc & 15];
        crc = crc >> 4 ^ of_half[crc & 15];
    }
    return ~crc;
}

/* Adds up to 12 bytes to the state as three little-endian words. */
static void
jenkins_add(uint32_t state[3], kw_bytes block)
{
    for (size_t index = 0; index < block.size; index++)
        state[index / 4] += (uint32_t)block.data[index] << 8 * (index % 4);
}

static void
jenkins_mix(uint32_t state[3])
{
    static const unsigned rotations[] = {4, 6, 8, 16, 19, 4};
    for (size_t index = 0; index < G_N_ELEMENTS(rotations); index++) {
        uint32_t *a = &state[index % 3], *b = &state[(index + 1) % 3], *c = &state[(index + 2) % 3];
        *a = (*a - *c) ^ rotate_left(*c, rotations[index]);
        *c += *b;
    }
}

static void
jenkins_finish(uint32_t state[3])
{
    static const unsigned rotations[] = {14, 11, 25, 16, 4, 14, 24};
    for (size_t index = 0; index < G_N_ELEMENTS(rotations); index++) {
        uint32_t *to = &state[(index + 2) % 3], from = state[(index + 1) % 3];
        *to = (*to ^ from) - rotate_left(from, rotations[index]);
    }
}

uint32_t
kw_jenkins_32(kw_bytes input, uint32_t seed)
{
    uint32_t start = 0xdeadbeefu + (uint32_t)input.size + seed;
    uint32_t state[3] = {start, start, start};
    for (; input.size > 12; input = kw_bytes_skip(input, 12)) {
        jenkins_add(state, kw_bytes_of(input.data, 12));
        jenkins_mix(state);
    }
    jenkins_add(state, input);
    if (input.size > 0)
        jenkins_finish(state);
    return state[2];
}
