/* A target with a bug that a replay must find: it crashes on an input that contains "bug". */
#include <glib.h>

#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_assert_null(memmem(data, size, "bug", 3));
    return 0;
}
