/* Sentences for faults. */
#include "wire/fault.h"

#include <inttypes.h>
#include <stdio.h>

kw_code
kw_fault_code(kw_fault fault)
{
    return fault.kind == KW_FAULT_DEPTH || fault.kind == KW_FAULT_MEMORY ? KW_LIMIT : KW_INVALID;
}

void
kw_fault_text(kw_fault fault, char *ret_text, size_t size)
{
    switch (fault.kind) {
    case KW_FAULT_NONE:
        snprintf(ret_text, size, "nothing is wrong");
        break;
    case KW_FAULT_TRUNCATED:
        snprintf(ret_text, size, "the bytes end too early");
        break;
    case KW_FAULT_NEGATIVE:
        snprintf(ret_text, size, "a length of %" PRId64 " is negative", fault.value);
        break;
    case KW_FAULT_LENGTH:
        snprintf(ret_text, size, "a length of %" PRId64 " exceeds the %zu bytes left", fault.value,
                 fault.left);
        break;
    case KW_FAULT_COUNT:
        snprintf(ret_text, size, "%" PRId64 " elements do not fit the %zu bytes left", fault.value,
                 fault.left);
        break;
    case KW_FAULT_TYPE:
        snprintf(ret_text, size, "wire type %" PRId64 " does not exist", fault.value);
        break;
    case KW_FAULT_MISMATCH:
        snprintf(ret_text, size, "wire type %" PRId64 " is not the type that it has in the interface",
                 fault.value);
        break;
    case KW_FAULT_NUMBER:
        snprintf(ret_text, size, "a number has more bits than its type");
        break;
    case KW_FAULT_BOOL:
        snprintf(ret_text, size, "%" PRId64 " is neither true nor false", fault.value);
        break;
    case KW_FAULT_FIELD_ID:
        snprintf(ret_text, size, "field id %" PRId64 " does not fit 16 bits", fault.value);
        break;
    case KW_FAULT_DEPTH:
        snprintf(ret_text, size, "nesting is deeper than %" PRId64, fault.value);
        break;
    case KW_FAULT_MEMORY:
        snprintf(ret_text, size, "decoding takes more than %" PRId64 " bytes of memory", fault.value);
        break;
    }
}
