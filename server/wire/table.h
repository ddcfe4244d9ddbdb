/* The tables that thrift/generate_tables.py writes and the decoders and encoders traverse: one per struct,
 * union, exception, argument list and result.
 *
 * A table contains the offset of each member of the C struct, its field id and type, and which members are
 * required. Tables are constant data. Decoders do not check that a union has exactly one member: the code
 * that reads the union does, because its error can name the field. Change this file and the generator
 * together.
 */
#pragma once

#include "wire/wire.h"

typedef enum kw_wire_kind {
    KW_WIRE_KIND_BOOL,
    KW_WIRE_KIND_I8,
    KW_WIRE_KIND_I16,
    KW_WIRE_KIND_I32, /* enums too */
    KW_WIRE_KIND_I64,
    KW_WIRE_KIND_DOUBLE,
    KW_WIRE_KIND_TEXT, /* IDL string: decoded as bytes, and not checked; encoded as valid UTF-8 */
    KW_WIRE_KIND_BYTES,
    KW_WIRE_KIND_STRUCT,
    KW_WIRE_KIND_LIST,
    KW_WIRE_KIND_SET,
    KW_WIRE_KIND_MAP
} kw_wire_kind;

/* The type of a member, an element, a key or a map's value. */
typedef struct kw_wire_type {
    uint8_t kind;    /* kw_wire_kind */
    uint8_t binary;  /* type number in the binary protocol */
    uint8_t compact; /* type number in the compact protocol; for bool, that of true */
    uint32_t size;   /* of the C value; of a struct, the whole struct */
    union {
        const kw_wire_struct *structure;    /* STRUCT */
        const kw_wire_container *container; /* LIST, SET, MAP */
    } of;
} kw_wire_type;

/* An element of `items`: a list has only a value, at offset 0. */
struct kw_wire_container {
    kw_wire_type key;
    kw_wire_type value;
    uint32_t item_size;
    uint32_t value_offset;
};

#define KW_WIRE_NO_FLAG UINT16_MAX

typedef struct kw_wire_field {
    kw_wire_type type;
    int16_t id;
    uint16_t offset; /* of the member; a struct member is a pointer there */
    uint16_t flag;   /* offset of has_<member>, KW_WIRE_NO_FLAG when it is required */
    const char *name;
} kw_wire_field;

#define KW_WIRE_FIELDS_MAX 64

/* The `fields` of a struct without fields. */
extern const kw_wire_field kw_wire_no_fields[1];

struct kw_wire_struct {
    const char *name;
    const kw_wire_field *fields; /* ascending ids, at most KW_WIRE_FIELDS_MAX */
    uint32_t field_count;
    uint32_t size;          /* of the C struct */
    uint64_t required_mask; /* bit i: fields[i] is required */
    const void *defaults;   /* a C struct that holds the default values; NULL: all zero */
};
