/* Files in place of write-ahead logs: reading one terminates, every record is after the previous one, and
 * nothing is read beyond the file. The input is used unchanged, and a second time with correct checksums for
 * its records, so that the checks after the checksum are reached. */
#include "store/embedded/crc32c.h"
#include "store/embedded/wal_batch.h"
#include "store/embedded/wal_reader.h"

#include <glib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
read_file(kw_bytes file)
{
    kw_wal_reader reader;
    kw_wal_batch batch;
    size_t before = 0;
    kw_wal_reader_init(&reader, file);
    for (;;) {
        kw_wal_step step = kw_wal_reader_next(&reader);
        g_assert(reader.start >= before && reader.record.size <= file.size);
        if (step == KW_WAL_END)
            break;
        if (step != KW_WAL_RECORD) {
            g_assert(reader.why && reader.rest.size <= file.size);
            if (!kw_wal_reader_find(&reader))
                break;
            g_assert(reader.start > before || before == 0);
        }
        if (kw_wal_batch_read(reader.record, &batch))
            g_assert(batch.rows + batch.tables <= batch.entries && reader.record.size >= 12);
        before = reader.start;
    }
    kw_wal_reader_clear(&reader);
}

/* Follows the records of the file as long as their lengths fit. */
static void
set_checksums(uint8_t *file, size_t size)
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

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    read_file(kw_bytes_of(data, size));
    uint8_t *right = g_memdup2(data, size);
    set_checksums(right, size);
    read_file(kw_bytes_of(right, size));
    g_free(right);
    return 0;
}
