/* Correct checksums for files in RocksDB's log format, so that what follows the checksum is reached. */
#pragma once

#include "store/embedded/crc32c.h"

#include <glib.h>
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

/* Reads the input unchanged, and a second time with correct checksums. */
static inline void
fuzz_read_twice(void (*read_file)(kw_bytes file), const uint8_t *data, size_t size)
{
    read_file(kw_bytes_of(data, size));
    uint8_t *right = g_memdup2(data, size);
    fuzz_set_checksums(right, size);
    read_file(kw_bytes_of(right, size));
    g_free(right);
}
