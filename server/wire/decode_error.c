/* Texts of decoding errors. */
#include "wire/decode_error.h"

#include <inttypes.h>
#include <stdio.h>

kw_code
kw_decode_error_code(kw_decode_error fault)
{
    return fault.kind == KW_DECODE_DEPTH || fault.kind == KW_DECODE_MEMORY ? KW_LIMIT : KW_INVALID;
}

void
kw_decode_error_text(kw_decode_error fault, char *ret_text, size_t size)
{
    switch (fault.kind) {
    case KW_DECODE_NONE:
        snprintf(ret_text, size, "nothing is wrong");
        break;
    case KW_DECODE_TRUNCATED:
        snprintf(ret_text, size, "the bytes end too early");
        break;
    case KW_DECODE_NEGATIVE:
        snprintf(ret_text, size, "a length of %" PRId64 " is negative", fault.value);
        break;
    case KW_DECODE_LENGTH:
        snprintf(ret_text, size, "a length of %" PRId64 " exceeds the %zu bytes left", fault.value,
                 fault.left);
        break;
    case KW_DECODE_COUNT:
        snprintf(ret_text, size, "%" PRId64 " elements do not fit the %zu bytes left", fault.value,
                 fault.left);
        break;
    case KW_DECODE_TYPE:
        snprintf(ret_text, size, "wire type %" PRId64 " does not exist", fault.value);
        break;
    case KW_DECODE_MISMATCH:
        snprintf(ret_text, size, "wire type %" PRId64 " differs from the type in the interface", fault.value);
        break;
    case KW_DECODE_NUMBER:
        snprintf(ret_text, size, "a number has more bits than its type");
        break;
    case KW_DECODE_BOOL:
        snprintf(ret_text, size, "%" PRId64 " is neither true nor false", fault.value);
        break;
    case KW_DECODE_FIELD_ID:
        snprintf(ret_text, size, "field id %" PRId64 " does not fit 16 bits", fault.value);
        break;
    case KW_DECODE_DEPTH:
        snprintf(ret_text, size, "nesting is deeper than %" PRId64, fault.value);
        break;
    case KW_DECODE_MEMORY:
        snprintf(ret_text, size, "decoding takes more than %" PRId64 " bytes of memory", fault.value);
        break;
    }
}
