/* Files in place of manifests: reading one terminates, and nothing is read beyond the file. The input is used
 * unchanged, and a second time with correct checksums for its records. */
#include "fuzz_wal.h"
#include "store/embedded/manifest.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
read_file(kw_bytes file)
{
    kw_manifest manifest;
    switch (kw_manifest_read(file, &manifest)) {
    case KW_MANIFEST_WHOLE:
        g_assert(manifest.has_log_number && manifest.has_next_file && manifest.has_last_sequence);
        break;
    case KW_MANIFEST_DAMAGED:
        g_assert(manifest.why && manifest.offset <= file.size);
        break;
    case KW_MANIFEST_UNKNOWN:
        break;
    }
    g_assert(g_hash_table_size(manifest.tables) <= file.size);
    kw_manifest_clear(&manifest);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_read_twice(read_file, data, size);
    return 0;
}
