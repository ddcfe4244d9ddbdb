/* The compact decoder: variable-length zigzag numbers, field ids as differences, and the value of a bool
 * field in its type. Doubles are little endian. */
#include "wire/decode.h"

#include "wire/varint.h"

#include <glib.h>

#define WIRE_STOP 0
#define TYPE_TRUE 1
#define TYPE_FALSE 2

/* Numbers of more than one byte. */
static const uint8_t *
read_long_number(kw_decoder *decoder, const uint8_t *at, bool wide, uint64_t *ret_value)
{
    uint32_t narrow = 0;
    size_t left = (size_t)(decoder->end - at);
    int read = wide ? kw_varint_load64(at, left, ret_value) : kw_varint_load32(at, left, &narrow);
    if (read == KW_VARINT_SHORT)
        return kw_decoder_fail(decoder, KW_DECODE_TRUNCATED, 0, at);
    if (read == KW_VARINT_BROKEN)
        return kw_decoder_fail(decoder, KW_DECODE_NUMBER, 0, at);
    if (!wide)
        *ret_value = narrow;
    return at + read;
}

static inline const uint8_t *
read_number(kw_decoder *decoder, const uint8_t *at, bool wide, uint64_t *ret_value)
{
    if (G_LIKELY(at < decoder->end && at[0] < 0x80)) {
        *ret_value = at[0];
        return at + 1;
    }
    return read_long_number(decoder, at, wide, ret_value);
}

static const uint8_t *
read_long_id(kw_decoder *decoder, const uint8_t *at, int32_t *ret_id)
{
    uint64_t coded;
    at = read_number(decoder, at, false, &coded);
    if (!at)
        return NULL;
    int64_t id = kw_zigzag_undo(coded);
    if (id < INT16_MIN || id > INT16_MAX)
        return kw_decoder_fail(decoder, KW_DECODE_FIELD_ID, id, at);
    *ret_id = (int32_t)id;
    return at;
}

static inline const uint8_t *
read_field_head(kw_decoder *decoder, const uint8_t *at, uint8_t *ret_type, int32_t *id)
{
    if (G_UNLIKELY(at == decoder->end))
        return kw_decoder_fail(decoder, KW_DECODE_TRUNCATED, 0, at);
    uint8_t head = *at++;
    *ret_type = head & 0x0f;
    if (G_LIKELY(head > 0x0f)) {
        *id += head >> 4;
        if (G_UNLIKELY(*id > INT16_MAX))
            return kw_decoder_fail(decoder, KW_DECODE_FIELD_ID, *id, at);
        /* A STOP has no difference of ids. */
        return *ret_type != WIRE_STOP ? at : kw_decoder_fail(decoder, KW_DECODE_TYPE, 0, at);
    }
    return head == WIRE_STOP ? at : read_long_id(decoder, at, id);
}

static inline bool
type_fits(const kw_wire_type *type, uint8_t wire_type)
{
    return type->compact == wire_type || (type->kind == KW_WIRE_KIND_BOOL && wire_type == TYPE_FALSE);
}

static inline const uint8_t *
read_bool_member(kw_decoder *decoder, const uint8_t *at, uint8_t wire_type, bool *ret_value)
{
    (void)decoder;
    *ret_value = wire_type == TYPE_TRUE;
    return at;
}

/* Reads a bool that is an element: 1 or 2 like the types; some writers use 0 for false. */
static inline const uint8_t *
read_bool(kw_decoder *decoder, const uint8_t *at, bool *ret_value)
{
    if (at == decoder->end)
        return kw_decoder_fail(decoder, KW_DECODE_TRUNCATED, 0, at);
    if (at[0] > TYPE_FALSE)
        return kw_decoder_fail(decoder, KW_DECODE_BOOL, at[0], at);
    *ret_value = at[0] == TYPE_TRUE;
    return at + 1;
}

static inline const uint8_t *
read_i8(kw_decoder *decoder, const uint8_t *at, int8_t *ret_value)
{
    if (at == decoder->end)
        return kw_decoder_fail(decoder, KW_DECODE_TRUNCATED, 0, at);
    *ret_value = (int8_t)at[0];
    return at + 1;
}

static inline const uint8_t *
read_i16(kw_decoder *decoder, const uint8_t *at, int16_t *ret_value)
{
    uint64_t coded;
    at = read_number(decoder, at, false, &coded);
    if (!at)
        return NULL;
    if (coded > UINT16_MAX)
        return kw_decoder_fail(decoder, KW_DECODE_NUMBER, 0, at);
    *ret_value = (int16_t)kw_zigzag_undo(coded);
    return at;
}

static inline const uint8_t *
read_i32(kw_decoder *decoder, const uint8_t *at, int32_t *ret_value)
{
    uint64_t coded;
    at = read_number(decoder, at, false, &coded);
    if (at)
        *ret_value = (int32_t)kw_zigzag_undo(coded);
    return at;
}

static inline const uint8_t *
read_i64(kw_decoder *decoder, const uint8_t *at, int64_t *ret_value)
{
    uint64_t coded;
    at = read_number(decoder, at, true, &coded);
    if (at)
        *ret_value = kw_zigzag_undo(coded);
    return at;
}

static inline const uint8_t *
read_double(kw_decoder *decoder, const uint8_t *at, double *ret_value)
{
    if (decoder->end - at < 8)
        return kw_decoder_fail(decoder, KW_DECODE_TRUNCATED, 0, at);
    uint64_t bits = __builtin_bswap64(kw_be64_load(at));
    memcpy(ret_value, &bits, sizeof bits);
    return at + 8;
}

static inline const uint8_t *
read_length(kw_decoder *decoder, const uint8_t *at, uint32_t *ret_size)
{
    uint64_t size;
    at = read_number(decoder, at, false, &size);
    if (G_UNLIKELY(!at))
        return NULL;
    if (G_UNLIKELY(size > (size_t)(decoder->end - at)))
        return kw_decoder_fail(decoder, size > INT32_MAX ? KW_DECODE_NEGATIVE : KW_DECODE_LENGTH,
                               (int32_t)size, at);
    *ret_size = (uint32_t)size;
    return at;
}

static inline const uint8_t *
read_count(kw_decoder *decoder, const uint8_t *at, uint32_t *ret_count)
{
    uint64_t count;
    at = read_number(decoder, at, false, &count);
    if (!at)
        return NULL;
    if (count > INT32_MAX)
        return kw_decoder_fail(decoder, KW_DECODE_NEGATIVE, (int32_t)count, at);
    *ret_count = (uint32_t)count;
    return at;
}

static inline const uint8_t *
read_list_head(kw_decoder *decoder, const uint8_t *at, uint8_t *ret_type, uint32_t *ret_count)
{
    if (at == decoder->end)
        return kw_decoder_fail(decoder, KW_DECODE_TRUNCATED, 0, at);
    uint8_t head = *at++;
    *ret_type = head & 0x0f;
    *ret_count = head >> 4;
    if (*ret_count == 15)
        at = read_count(decoder, at, ret_count);
    if (at && *ret_count > (size_t)(decoder->end - at))
        return kw_decoder_fail(decoder, KW_DECODE_COUNT, *ret_count, at);
    return at;
}

static inline const uint8_t *
read_map_head(kw_decoder *decoder, const uint8_t *at, uint8_t *ret_key, uint8_t *ret_value,
              uint32_t *ret_count)
{
    at = read_count(decoder, at, ret_count);
    *ret_key = *ret_value = WIRE_STOP;
    if (!at || *ret_count == 0)
        return at;
    if (at == decoder->end)
        return kw_decoder_fail(decoder, KW_DECODE_TRUNCATED, 0, at);
    *ret_key = at[0] >> 4;
    *ret_value = at[0] & 0x0f;
    at++;
    if (2 * (size_t)*ret_count > (size_t)(decoder->end - at))
        return kw_decoder_fail(decoder, KW_DECODE_COUNT, *ret_count, at);
    return at;
}

static const uint8_t *
skip_member(kw_decoder *decoder, const uint8_t *at, uint8_t wire_type)
{
    /* A bool has no bytes of its own. */
    if (wire_type == TYPE_TRUE || wire_type == TYPE_FALSE)
        return at;
    return kw_decoder_skip(decoder, at, wire_type);
}

#include "wire/decode.inc"

const uint8_t *
kw_decode_compact(kw_decoder *decoder, const uint8_t *at, const kw_wire_struct *table, uint8_t *to)
{
    return decode_struct(decoder, at, table, to);
}
