/* A target with a fault, to see that a replay finds faults: an input with "bug" in it. */
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
