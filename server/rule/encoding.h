/* How a field's value is encoded in a key: the encodings of the component `field`.
 *
 *   encodings/text.c    raw, fixed, terminated   strings and bytes
 *   encodings/digits.c  digits                   strings of a fixed number of decimal digits
 *   encodings/hex.c     hex, uuid                strings of hex digits, as the bytes they represent
 *   encodings/number.c  int, raw_int, max_minus, decimal, max_minus_decimal
 *   encodings/real.c    double, float
 *   encodings/flag.c    bool, raw_bool
 *   encodings/compatible.c  phoenix, ordered     encodings of other libraries, one for each type
 *   encodings/seven.c   (part of ordered)        bytes
 *
 * An encoding is a row of the table in encoding.c. The component puts table, field and value before the
 * reason that encode returns ("is negative ...").
 */
#pragma once

#include "rule/component.h"

typedef struct kw_encoding kw_encoding;

/* One use of an encoding. All encodings share this struct; each uses some members. */
typedef struct kw_form {
    const kw_encoding *encoding;
    kw_field_type type;
    uint32_t width; /* bytes in the key; 0: varies */
    bool delimited;
    int direction;      /* as kw_component.direction */
    bool descending;    /* order: desc is set, or the encoding is always descending */
    bool reversed;      /* the digits are reversed */
    uint8_t terminator; /* terminated */
    int64_t least;      /* numbers: range of the encoding, in the unit of the key */
    int64_t most;
    uint64_t top; /* numbers: a descending code is top - code; bools: the byte of true in ascending order */
    int64_t divisor;          /* numbers: units of the field per unit of the key */
    uint64_t bias;            /* doubles: added to every code; bools: not 0 for phoenix */
    uint8_t header;           /* phoenix, ordered: first byte of every piece; 0: none */
    const kw_encoding *inner; /* phoenix, ordered: the encoding of the other bytes */
} kw_form;

struct kw_encoding {
    const char *name;
    unsigned types;         /* set of bits 1 << kw_field_type that it accepts */
    bool always_descending; /* always descending: order: desc has no effect, order: asc is rejected */
    bool reversible;        /* accepts reverse: true */
    bool accepts_unit;
    bool needs_width;
    bool accepts_real_width; /* doubles can have several widths */
    bool accepts_terminator;

    /* Sets width, delimited, direction, limits; form holds the settings. False after a diagnostic. */
    bool (*prepare)(const kw_site *site, kw_form *form);
    /* INVALID with a reason only. */
    bool (*encode)(const kw_form *form, kw_value value, kw_buffer *out, kw_error *ret_error);
    /* CORRUPT with a reason only. */
    bool (*decode)(const kw_form *form, kw_bytes piece, kw_arena *arena, kw_value *ret_value,
                   kw_error *ret_error);
    /* NULL: the width is fixed, or nothing marks the end (raw). */
    size_t (*measure)(const kw_form *form, kw_bytes bytes);
    bool (*edge)(const kw_form *form, kw_value value, bool lower, kw_arena *arena, kw_edge *ret_edge);
};

/* NULL if there is none of that name. */
const kw_encoding *kw_encoding_find(const char *name);

/* Names for the settings table, NULL at the end. */
extern const char *const kw_encoding_names[];

extern const kw_encoding kw_encoding_raw;
extern const kw_encoding kw_encoding_fixed;
extern const kw_encoding kw_encoding_terminated;
extern const kw_encoding kw_encoding_digits;
extern const kw_encoding kw_encoding_int;
extern const kw_encoding kw_encoding_raw_int;
extern const kw_encoding kw_encoding_max_minus;
extern const kw_encoding kw_encoding_decimal;
extern const kw_encoding kw_encoding_max_minus_decimal;
extern const kw_encoding kw_encoding_hex;
extern const kw_encoding kw_encoding_uuid;
extern const kw_encoding kw_encoding_double;
extern const kw_encoding kw_encoding_float;
extern const kw_encoding kw_encoding_bool;
extern const kw_encoding kw_encoding_raw_bool;
extern const kw_encoding kw_encoding_phoenix;
extern const kw_encoding kw_encoding_ordered;
extern const kw_encoding kw_encoding_seven; /* not in the table: used by `ordered` */

#define KW_TYPE_BIT(type) (1u << (type))
