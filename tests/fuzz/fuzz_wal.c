/* Files in place of write-ahead logs: reading one terminates, every record is after the previous one, and
 * nothing is read beyond the file. The input is used unchanged, and a second time with correct checksums for
 * its records, so that the checks after the checksum are reached. */
#include "fuzz_wal.h"
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

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_read_twice(read_file, data, size);
    return 0;
}
