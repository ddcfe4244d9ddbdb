/* A record inside the gateway: one slot per field of its table.
 *
 * Field numbers index the table's fields (kw_table.fields). Byte strings are borrowed from the frame or the
 * call's arena. Plain values: they can be copied as long as their bytes live.
 */
#pragma once

#include "base/arena.h"
#include "base/bytes.h"
#include "base/error.h"
#include "config/model.h"

typedef enum kw_value_kind {
    KW_VALUE_NONE = 0, /* absent */
    KW_VALUE_FLAG,
    KW_VALUE_NUMBER,
    KW_VALUE_REAL,
    KW_VALUE_TEXT, /* UTF-8 */
    KW_VALUE_BYTES,
    KW_VALUE_MAP
} kw_value_kind;

typedef struct kw_entry kw_entry;

typedef struct kw_value {
    kw_value_kind kind;
    union {
        bool flag;
        int64_t number;
        double real;
        kw_bytes bytes; /* TEXT and BYTES */
        struct {
            const kw_entry *entries; /* MAP: sorted by name, without duplicates */
            size_t entries_count;
        };
    };
} kw_value;

/* Of a map: the name is UTF-8 and not empty, the value is not a map. */
struct kw_entry {
    kw_bytes name;
    kw_value value;
};

#define KW_VALUE_ABSENT ((kw_value){.kind = KW_VALUE_NONE})

/* values has one element per field of the table. */
typedef struct kw_record {
    kw_value *values;
} kw_record;

/* The kind of a field type's values. */
kw_value_kind kw_field_value_kind(kw_field_type type);

/* True if kind and value are the same (doubles by bits). */
bool kw_value_equal(kw_value a, kw_value b);

/* < 0, 0 or > 0: maps entry by entry, numbers by value, text and bytes unsigned lexicographically, false
 * before true, doubles in total order (negative NaN, -infinity, ..., -0, 0, ..., infinity, NaN); a number and
 * a double are compared as doubles. Other mixes: by kind. */
int kw_value_compare(kw_value a, kw_value b);
/* Converts an integer to a double. False if the double is not exactly this integer. Other integers can then
 * give the same double. */
bool kw_number_as_real(int64_t number, double *ret_real);

/* Copies a value: bytes and entries into the arena. */
kw_value kw_value_copy(kw_value value, kw_arena *arena);

/* For messages: text in double quotes, numbers and bytes without; unprintable bytes as \xNN; of a map only
 * the number of entries. Truncated to fit; size must be at least 16. */
void kw_value_print(kw_value value, char *to, size_t size);
