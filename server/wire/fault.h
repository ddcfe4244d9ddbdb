/* What can be wrong with bytes from the wire: found deep inside the engines, where the name of the
 * field is not known, and turned into a sentence by whoever knows it. A plain value; any thread. */
#pragma once

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

typedef enum kw_fault_kind {
    KW_FAULT_NONE,
    KW_FAULT_TRUNCATED, /* the bytes end too early */
    KW_FAULT_NEGATIVE,  /* value: a length or count below zero */
    KW_FAULT_LENGTH,    /* value: a length beyond the `left` bytes that there are */
    KW_FAULT_COUNT,     /* value: more elements than `left` bytes can hold */
    KW_FAULT_TYPE,      /* value: a type number that does not exist */
    KW_FAULT_MISMATCH,  /* value: a type number that is not the field's */
    KW_FAULT_NUMBER,    /* a variable-length number with too many bits */
    KW_FAULT_BOOL,      /* value: neither true nor false */
    KW_FAULT_FIELD_ID,  /* value: a field id that has more than 16 bits */
    KW_FAULT_DEPTH,     /* value: the deepest nesting allowed */
    KW_FAULT_MEMORY     /* value: the memory that decoding may take */
} kw_fault_kind;

typedef struct kw_fault {
    kw_fault_kind kind;
    int64_t value;
    size_t left;
} kw_fault;

/* LIMIT for DEPTH and MEMORY, else INVALID. */
kw_code kw_fault_code(kw_fault fault);

/* Writes the sentence, always NUL-terminated. */
void kw_fault_text(kw_fault fault, char *ret_text, size_t size);
