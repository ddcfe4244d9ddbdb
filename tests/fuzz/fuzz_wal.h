/* Correct checksums for files in RocksDB's log format, so that what follows the checksum is reached. */
#pragma once

#include "store/embedded/crc32c.h"

#include <stddef.h>

/* Follows the records of the file as long as their lengths fit. */
static inline void
fuzz_set_checksums(uint8_t *file, size_t size)
{
    for (size_t at = 0; at + 7 <= size;) {
        size_t length = file[at + 4] | (size_t)file[at + 5] << 8;
        if (at + 7 + length > size)
            return;
        uint32_t crc = kw_crc32c(0, kw_bytes_of(file + at + 6, 1 + length));
        crc = ((crc >> 15) | (crc << 17)) + 0xa282ead8;
        for (size_t i = 0; i < 4; i++)
            file[at + i] = (uint8_t)(crc >> 8 * i);
        at += 7 + length;
    }
}
