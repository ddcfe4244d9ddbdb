/* Bytes of any length that mark their own end: HBase's OrderedBytes blob_var without its header.
 *
 * Each byte stores seven bits; its first bit says whether more follow. An empty value is one byte 0x00. No
 * piece is a prefix of another. Does not keep order, nor does HBase: FF is written as FF 40, FE FF as FF BF
 * 60. Not an encoding of its own: `ordered` (compatible.c) uses it for fields of type bytes.
 */
#include "rule/encoding.h"

static bool
prepare(const kw_site *site, kw_form *form)
{
    (void)site;
    form->delimited = true;
    form->direction = 0;
    return true;
}

static size_t
packed_size(size_t size)
{
    return size == 0 ? 1 : (size * 8 + 6) / 7;
}

static void
pack(const kw_form *form, kw_bytes bytes, uint8_t *to)
{
    size_t count = packed_size(bytes.size);
    for (size_t index = 0; index < count; index++) {
        size_t bit = index * 7, byte = bit / 8;
        unsigned pair = byte < bytes.size ? (unsigned)bytes.data[byte] << 8 : 0;
        pair |= byte + 1 < bytes.size ? bytes.data[byte + 1] : 0;
        unsigned seven = pair >> (9 - bit % 8) & 0x7f;
        unsigned packed = seven | (index + 1 < count ? 0x80 : 0);
        to[index] = (uint8_t)(form->descending ? ~packed : packed);
    }
}

static bool
encode(const kw_form *form, kw_value value, kw_buffer *out, kw_error *ret_error)
{
    (void)ret_error;
    size_t size = packed_size(value.bytes.size);
    pack(form, value.bytes, kw_buffer_reserve(out, size));
    out->size += size;
    return true;
}

static size_t
measure(const kw_form *form, kw_bytes bytes)
{
    for (size_t index = 0; index < bytes.size; index++) {
        if (bytes.data[index] >> 7 == form->descending)
            return index + 1;
    }
    return SIZE_MAX;
}

static bool
decode(const kw_form *form, kw_bytes piece, kw_arena *arena, kw_value *ret_value, kw_error *ret_error)
{
    size_t size = piece.size * 7 / 8;
    uint8_t *bytes = kw_arena_alloc0(arena, size + 1); /* receives the bits after the last byte */
    for (size_t index = 0; index < piece.size; index++) {
        size_t bit = index * 7, byte = bit / 8;
        unsigned packed = form->descending ? ~(unsigned)piece.data[index] : piece.data[index];
        unsigned pair = (packed & 0x7f) << (9 - bit % 8);
        bytes[byte] |= (uint8_t)(pair >> 8);
        if (byte + 1 <= size)
            bytes[byte + 1] |= (uint8_t)pair;
    }
    if (packed_size(size) != piece.size || bytes[size] != 0)
        return kw_error_set(ret_error, KW_CORRUPT, "is not a value of encoding %s", form->encoding->name);
    *ret_value = (kw_value){.kind = KW_VALUE_BYTES, .bytes = kw_bytes_of(bytes, size)};
    return true;
}

const kw_encoding kw_encoding_seven = {
    .name = "seven",
    .types = KW_TYPE_BIT(KW_FIELD_BYTES),
    .prepare = prepare,
    .encode = encode,
    .decode = decode,
    .measure = measure,
};
