/* Sizes from outside must not wrap where size_t has 32 bits. Built with -m32, so only from sources that need
 * no library: see run.sh.
 *
 * A string field that claims 2^32 - 1 bytes: the sum of its 7 bytes of header and its length wraps to 6.
 */
#include "wire/skip.h"

#include <stdio.h>

static int
report(const char *what, bool good)
{
    printf("%s - %s, with a size_t of %zu bits\n", good ? "ok" : "not ok", what, 8 * sizeof(size_t));
    return good ? 0 : 1;
}

static kw_wire_progress
skip_string(uint32_t length, kw_decode_error *ret_fault)
{
    uint8_t message[16] = {11, 0, 1}; /* a field with a string, number 1 */
    size_t wanted = 0;
    kw_skip skip;
    kw_be32_store(message + 3, length);
    kw_skip_begin_struct(&skip, KW_WIRE_BINARY, 0, sizeof message, KW_WIRE_DEPTH_DEFAULT);
    kw_wire_progress found = kw_skip_run(&skip, kw_bytes_of(message, sizeof message), &wanted);
    *ret_fault = skip.fault;
    return found;
}

int
main(void)
{
    kw_decode_error fault;
    int failed = 0;
    for (uint32_t length = UINT32_MAX; length >= UINT32_MAX - 8; length--)
        failed |= report("a negative length is refused",
                         skip_string(length, &fault) == KW_WIRE_BROKEN && fault.kind == KW_DECODE_NEGATIVE);
    failed |= report("a length beyond the message is refused",
                     skip_string(INT32_MAX, &fault) == KW_WIRE_BROKEN && fault.kind == KW_DECODE_LENGTH);
    failed |= report("a string within the message is passed", skip_string(8, &fault) == KW_WIRE_MESSAGE);
    return failed;
}
