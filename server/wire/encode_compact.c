/* The compact encoder. */
#include "wire/encode.h"

#include "wire/varint.h"

#define TYPE_TRUE 1
#define TYPE_FALSE 2
#define DELTA_MAX 15
#define SHORT_COUNT_MAX 14

static inline uint8_t *
write_number(uint8_t *at, uint64_t value)
{
    if (G_LIKELY(value < 0x80)) {
        *at = (uint8_t)value;
        return at + 1;
    }
    return kw_varint_store64(at, value);
}

static inline uint8_t *
write_typed_head(uint8_t *at, int32_t field_id, uint8_t type, int32_t *id)
{
    int32_t delta = field_id - *id;
    *id = field_id;
    if (G_LIKELY(delta > 0 && delta <= DELTA_MAX)) {
        *at = (uint8_t)(delta << 4 | type);
        return at + 1;
    }
    *at = type;
    return write_number(at + 1, kw_zigzag_of(field_id));
}

static inline uint8_t *
write_field_head(uint8_t *at, const kw_wire_field *field, int32_t *id)
{
    return write_typed_head(at, field->id, field->type.compact, id);
}

static inline uint8_t *
write_bool_member(uint8_t *at, const kw_wire_field *field, int32_t *id, bool value)
{
    return write_typed_head(at, field->id, value ? TYPE_TRUE : TYPE_FALSE, id);
}

static inline uint8_t *
write_bool(uint8_t *at, bool value)
{
    *at = value ? TYPE_TRUE : TYPE_FALSE;
    return at + 1;
}

static inline uint8_t *
write_i8(uint8_t *at, int8_t value)
{
    *at = (uint8_t)value;
    return at + 1;
}

static inline uint8_t *
write_i64(uint8_t *at, int64_t value)
{
    return write_number(at, kw_zigzag_of(value));
}

static inline uint8_t *
write_i16(uint8_t *at, int16_t value)
{
    return write_i64(at, value);
}

static inline uint8_t *
write_i32(uint8_t *at, int32_t value)
{
    return write_i64(at, value);
}

static inline uint8_t *
write_double(uint8_t *at, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    kw_be64_store(at, __builtin_bswap64(bits)); /* little endian */
    return at + 8;
}

static inline uint8_t *
write_length(uint8_t *at, uint32_t size)
{
    return write_number(at, size);
}

static inline uint8_t *
write_list_head(uint8_t *at, const kw_wire_container *container, uint32_t count)
{
    if (count <= SHORT_COUNT_MAX) {
        *at = (uint8_t)(count << 4 | container->value.compact);
        return at + 1;
    }
    *at = (uint8_t)(0xf0 | container->value.compact);
    return write_number(at + 1, count);
}

static inline uint8_t *
write_map_head(uint8_t *at, const kw_wire_container *container, uint32_t count)
{
    at = write_number(at, count);
    if (count > 0)
        *at++ = (uint8_t)(container->key.compact << 4 | container->value.compact);
    return at;
}

#include "wire/encode.inc"

uint8_t *
kw_encode_items_compact(kw_encoder *encoder, uint8_t *at, const kw_wire_container *list, const uint8_t *items,
                        uint32_t count)
{
    return encode_items(encoder, at, list, items, count);
}

uint8_t *
kw_encode_compact(kw_encoder *encoder, uint8_t *at, const kw_wire_struct *table, const uint8_t *from)
{
    return encode_struct(encoder, at, table, from);
}
