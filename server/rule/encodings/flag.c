/* Flags in keys, one byte each; false before true.
 *
 *   bool      0x00 and 0x01
 *   raw_bool  0x00 and 0xFF, as Java's Bytes.toBytes
 *
 * Descending order swaps the two; with a bias (phoenix, see compatible.c) it inverts the byte instead.
 */
#include "rule/encoding.h"

static bool
prepare(kw_form *form, uint64_t top)
{
    form->top = top;
    form->width = 1;
    form->delimited = true;
    form->direction = form->descending ? -1 : 1;
    return true;
}

static bool
prepare_bool(const kw_site *site, kw_form *form)
{
    (void)site;
    return prepare(form, 1);
}

static bool
prepare_raw_bool(const kw_site *site, kw_form *form)
{
    (void)site;
    return prepare(form, 0xff);
}

static uint8_t
byte_of(const kw_form *form, bool flag)
{
    if (form->bias) /* Phoenix inverts the byte */
        return (uint8_t)(form->descending ? 0xff - flag : flag);
    return flag != form->descending ? (uint8_t)form->top : 0;
}

static bool
encode(const kw_form *form, kw_value value, kw_buffer *out, kw_error *ret_error)
{
    (void)ret_error;
    kw_buffer_append_byte(out, byte_of(form, value.flag));
    return true;
}

static bool
decode(const kw_form *form, kw_bytes piece, kw_arena *arena, kw_value *ret_value, kw_error *ret_error)
{
    (void)arena;
    bool flag = piece.data[0] == byte_of(form, true);
    if (!flag && piece.data[0] != byte_of(form, false))
        return kw_error_set(ret_error, KW_CORRUPT, "is not a byte of encoding %s", form->encoding->name);
    *ret_value = (kw_value){.kind = KW_VALUE_FLAG, .flag = flag};
    return true;
}

static bool
edge(const kw_form *form, kw_value value, bool lower, kw_arena *arena, kw_edge *ret_edge)
{
    (void)lower;
    uint8_t byte = byte_of(form, value.flag);
    *ret_edge = (kw_edge){.bytes = kw_arena_copy(arena, kw_bytes_of(&byte, 1))};
    return true;
}

const kw_encoding kw_encoding_bool = {
    .name = "bool",
    .types = KW_TYPE_BIT(KW_FIELD_BOOL),
    .prepare = prepare_bool,
    .encode = encode,
    .decode = decode,
    .edge = edge,
};

const kw_encoding kw_encoding_raw_bool = {
    .name = "raw_bool",
    .types = KW_TYPE_BIT(KW_FIELD_BOOL),
    .prepare = prepare_raw_bool,
    .encode = encode,
    .decode = decode,
    .edge = edge,
};
