/* Values as initializers in tables of cases. A literal can contain zero bytes. */
#pragma once

#include "rule/record.h"

#define NUMBER(n)                                                                                            \
    {                                                                                                        \
        .kind = KW_VALUE_NUMBER, .number = (n)                                                               \
    }
#define REAL(r)                                                                                              \
    {                                                                                                        \
        .kind = KW_VALUE_REAL, .real = (r)                                                                   \
    }
#define TEXT(literal)                                                                                        \
    {                                                                                                        \
        .kind = KW_VALUE_TEXT, .bytes = {(const uint8_t *)(literal), sizeof(literal) - 1 }                   \
    }
#define BYTES(literal)                                                                                       \
    {                                                                                                        \
        .kind = KW_VALUE_BYTES, .bytes = {(const uint8_t *)(literal), sizeof(literal) - 1 }                  \
    }
