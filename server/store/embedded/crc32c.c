/* Uses eight tables to process eight bytes per step ("slicing-by-8", Kounavis and Berry, 2005): about 1
 * GB/s. */
#include "store/embedded/crc32c.h"

#include <pthread.h>

#define POLYNOMIAL UINT32_C(0x82f63b78)

static uint32_t tables[8][256];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void
fill_tables(void)
{
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t crc = byte;
        for (int bit = 0; bit < 8; bit++)
            crc = crc & 1 ? (crc >> 1) ^ POLYNOMIAL : crc >> 1;
        tables[0][byte] = crc;
    }
    for (int table = 1; table < 8; table++)
        for (uint32_t byte = 0; byte < 256; byte++)
            tables[table][byte] = (tables[table - 1][byte] >> 8) ^ tables[0][tables[table - 1][byte] & 0xff];
}

static uint32_t
load_le32(const uint8_t *from)
{
    return from[0] | (uint32_t)from[1] << 8 | (uint32_t)from[2] << 16 | (uint32_t)from[3] << 24;
}

uint32_t
kw_crc32c(uint32_t crc, kw_bytes bytes)
{
    const uint8_t *at = bytes.data;
    size_t left = bytes.size;
    pthread_once(&once, fill_tables);
    crc = ~crc;
    for (; left >= 8; left -= 8, at += 8) {
        uint32_t low = crc ^ load_le32(at), high = load_le32(at + 4);
        crc = tables[7][low & 0xff] ^ tables[6][low >> 8 & 0xff] ^ tables[5][low >> 16 & 0xff] ^
              tables[4][low >> 24] ^ tables[3][high & 0xff] ^ tables[2][high >> 8 & 0xff] ^
              tables[1][high >> 16 & 0xff] ^ tables[0][high >> 24];
    }
    while (left--)
        crc = (crc >> 8) ^ tables[0][(crc ^ *at++) & 0xff];
    return ~crc;
}
