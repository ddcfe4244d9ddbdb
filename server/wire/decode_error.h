/* Errors in encoded bytes. The function that finds an error does not know the name of the field. Its caller
 * knows the name and creates the text. A plain value; any thread. */
#pragma once

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

typedef enum kw_decode_error_kind {
    KW_DECODE_NONE,
    KW_DECODE_TRUNCATED, /* the bytes end too early */
    KW_DECODE_NEGATIVE,  /* value: a length or count below zero */
    KW_DECODE_LENGTH,    /* value: a length that exceeds the `left` bytes available */
    KW_DECODE_COUNT,     /* value: more elements than `left` bytes can hold */
    KW_DECODE_TYPE,      /* value: a type number that does not exist */
    KW_DECODE_MISMATCH,  /* value: a type number that is not that of the field */
    KW_DECODE_NUMBER,    /* a variable-length number with too many bits */
    KW_DECODE_BOOL,      /* value: neither true nor false */
    KW_DECODE_FIELD_ID,  /* value: a field id that has more than 16 bits */
    KW_DECODE_DEPTH,     /* value: the maximum nesting */
    KW_DECODE_MEMORY     /* value: the maximum memory for decoding */
} kw_decode_error_kind;

typedef struct kw_decode_error {
    kw_decode_error_kind kind;
    int64_t value;
    size_t left;
} kw_decode_error;

/* LIMIT for DEPTH and MEMORY, else INVALID. */
kw_code kw_decode_error_code(kw_decode_error fault);

/* Writes the error text, always NUL-terminated. */
void kw_decode_error_text(kw_decode_error fault, char *ret_text, size_t size);
