/* The binary decoder: big-endian numbers of fixed size, and a three-byte head before every field. */
#include "wire/decode.h"

#include <glib.h>

#define WIRE_STOP 0

static inline const uint8_t *
read_field_head(kw_decoder *decoder, const uint8_t *at, uint8_t *ret_type, int32_t *ret_id)
{
    size_t left = (size_t)(decoder->end - at);
    if (G_UNLIKELY(left < 1))
        return kw_decoder_fail(decoder, KW_DECODE_TRUNCATED, 0, at);
    *ret_type = at[0];
    if (at[0] == WIRE_STOP)
        return at + 1;
    if (G_UNLIKELY(left < 3))
        return kw_decoder_fail(decoder, KW_DECODE_TRUNCATED, 0, at);
    *ret_id = (int16_t)kw_be16_load(at + 1);
    return at + 3;
}

static inline bool
type_fits(const kw_wire_type *type, uint8_t wire_type)
{
    return type->binary == wire_type;
}

static inline bool
has_bytes(kw_decoder *decoder, const uint8_t *at, size_t size)
{
    if (G_LIKELY((size_t)(decoder->end - at) >= size))
        return true;
    kw_decoder_fail(decoder, KW_DECODE_TRUNCATED, 0, at);
    return false;
}

static inline const uint8_t *
read_bool(kw_decoder *decoder, const uint8_t *at, bool *ret_value)
{
    if (!has_bytes(decoder, at, 1))
        return NULL;
    if (at[0] > 1)
        return kw_decoder_fail(decoder, KW_DECODE_BOOL, at[0], at);
    *ret_value = at[0] == 1;
    return at + 1;
}

static inline const uint8_t *
read_bool_member(kw_decoder *decoder, const uint8_t *at, uint8_t wire_type, bool *ret_value)
{
    (void)wire_type;
    return read_bool(decoder, at, ret_value);
}

static inline const uint8_t *
read_i8(kw_decoder *decoder, const uint8_t *at, int8_t *ret_value)
{
    if (!has_bytes(decoder, at, 1))
        return NULL;
    *ret_value = (int8_t)at[0];
    return at + 1;
}

static inline const uint8_t *
read_i16(kw_decoder *decoder, const uint8_t *at, int16_t *ret_value)
{
    if (!has_bytes(decoder, at, 2))
        return NULL;
    *ret_value = (int16_t)kw_be16_load(at);
    return at + 2;
}

static inline const uint8_t *
read_i32(kw_decoder *decoder, const uint8_t *at, int32_t *ret_value)
{
    if (!has_bytes(decoder, at, 4))
        return NULL;
    *ret_value = (int32_t)kw_be32_load(at);
    return at + 4;
}

static inline const uint8_t *
read_i64(kw_decoder *decoder, const uint8_t *at, int64_t *ret_value)
{
    if (!has_bytes(decoder, at, 8))
        return NULL;
    *ret_value = (int64_t)kw_be64_load(at);
    return at + 8;
}

static inline const uint8_t *
read_double(kw_decoder *decoder, const uint8_t *at, double *ret_value)
{
    if (!has_bytes(decoder, at, 8))
        return NULL;
    uint64_t bits = kw_be64_load(at);
    memcpy(ret_value, &bits, sizeof bits);
    return at + 8;
}

static inline const uint8_t *
read_length(kw_decoder *decoder, const uint8_t *at, uint32_t *ret_size)
{
    if (!has_bytes(decoder, at, 4))
        return NULL;
    uint32_t size = kw_be32_load(at);
    at += 4;
    if (G_UNLIKELY(size > (size_t)(decoder->end - at)))
        return kw_decoder_fail(decoder, size > INT32_MAX ? KW_DECODE_NEGATIVE : KW_DECODE_LENGTH,
                               (int32_t)size, at);
    *ret_size = size;
    return at;
}

static inline const uint8_t *
read_count(kw_decoder *decoder, const uint8_t *at, size_t least, uint32_t *ret_count)
{
    uint32_t count = kw_be32_load(at);
    at += 4;
    if (count > INT32_MAX)
        return kw_decoder_fail(decoder, KW_DECODE_NEGATIVE, (int32_t)count, at);
    if (count * least > (size_t)(decoder->end - at))
        return kw_decoder_fail(decoder, KW_DECODE_COUNT, count, at);
    *ret_count = count;
    return at;
}

static inline const uint8_t *
read_list_head(kw_decoder *decoder, const uint8_t *at, uint8_t *ret_type, uint32_t *ret_count)
{
    if (!has_bytes(decoder, at, 5))
        return NULL;
    *ret_type = at[0];
    return read_count(decoder, at + 1, 1, ret_count);
}

static inline const uint8_t *
read_map_head(kw_decoder *decoder, const uint8_t *at, uint8_t *ret_key, uint8_t *ret_value,
              uint32_t *ret_count)
{
    if (!has_bytes(decoder, at, 6))
        return NULL;
    *ret_key = at[0];
    *ret_value = at[1];
    return read_count(decoder, at + 2, 2, ret_count);
}

static const uint8_t *
skip_member(kw_decoder *decoder, const uint8_t *at, uint8_t wire_type)
{
    return kw_decoder_skip(decoder, at, wire_type);
}

#include "wire/decode.inc"

const uint8_t *
kw_decode_binary(kw_decoder *decoder, const uint8_t *at, const kw_wire_struct *table, uint8_t *to)
{
    return decode_struct(decoder, at, table, to);
}
