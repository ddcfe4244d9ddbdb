/* The binary encoder. */
#include "wire/encode.h"

static inline uint8_t *
write_field_head(uint8_t *at, const kw_wire_field *field, int32_t *id)
{
    (void)id;
    at[0] = field->type.binary;
    kw_be16_store(at + 1, (uint16_t)field->id);
    return at + 3;
}

static inline uint8_t *
write_bool(uint8_t *at, bool value)
{
    *at = value;
    return at + 1;
}

static inline uint8_t *
write_bool_member(uint8_t *at, const kw_wire_field *field, int32_t *id, bool value)
{
    return write_bool(write_field_head(at, field, id), value);
}

static inline uint8_t *
write_i8(uint8_t *at, int8_t value)
{
    *at = (uint8_t)value;
    return at + 1;
}

static inline uint8_t *
write_i16(uint8_t *at, int16_t value)
{
    kw_be16_store(at, (uint16_t)value);
    return at + 2;
}

static inline uint8_t *
write_i32(uint8_t *at, int32_t value)
{
    kw_be32_store(at, (uint32_t)value);
    return at + 4;
}

static inline uint8_t *
write_i64(uint8_t *at, int64_t value)
{
    kw_be64_store(at, (uint64_t)value);
    return at + 8;
}

static inline uint8_t *
write_double(uint8_t *at, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    kw_be64_store(at, bits);
    return at + 8;
}

static inline uint8_t *
write_length(uint8_t *at, uint32_t size)
{
    kw_be32_store(at, size);
    return at + 4;
}

static inline uint8_t *
write_list_head(uint8_t *at, const kw_wire_container *container, uint32_t count)
{
    at[0] = container->value.binary;
    return write_length(at + 1, count);
}

static inline uint8_t *
write_map_head(uint8_t *at, const kw_wire_container *container, uint32_t count)
{
    at[0] = container->key.binary;
    at[1] = container->value.binary;
    return write_length(at + 2, count);
}

#include "wire/encode.inc"

uint8_t *
kw_encode_items_binary(kw_encoder *encoder, uint8_t *at, const kw_wire_container *list, const uint8_t *items,
                       uint32_t count)
{
    return encode_items(encoder, at, list, items, count);
}

uint8_t *
kw_encode_binary(kw_encoder *encoder, uint8_t *at, const kw_wire_struct *table, const uint8_t *from)
{
    return encode_struct(encoder, at, table, from);
}
