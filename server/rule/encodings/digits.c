/* Strings of exactly n decimal digits, such as phone numbers. With `reverse: true`, they are written from the
 * last digit to the first, so that sequential numbers are far apart (their order is lost then). Descending
 * order writes 9 - digit. */
#include "rule/encoding.h"

static bool
prepare(const kw_site *site, kw_form *form)
{
    (void)site;
    form->delimited = true;
    form->direction = form->reversed ? 0 : form->descending ? -1 : 1;
    return true;
}

static bool
all_digits(kw_bytes bytes)
{
    for (size_t index = 0; index < bytes.size; index++) {
        if (bytes.data[index] < '0' || bytes.data[index] > '9')
            return false;
    }
    return true;
}

/* Both reversing and complementing are their own inverse. */
static void
convert(const kw_form *form, kw_bytes digits, uint8_t *to)
{
    for (size_t index = 0; index < digits.size; index++) {
        uint8_t digit = digits.data[form->reversed ? digits.size - 1 - index : index];
        to[index] = (uint8_t)(form->descending ? '0' + '9' - digit : digit);
    }
}

static bool
encode(const kw_form *form, kw_value value, kw_buffer *out, kw_error *ret_error)
{
    if (value.bytes.size != form->width || !all_digits(value.bytes))
        return kw_error_set(ret_error, KW_INVALID, "is not a string of exactly %u decimal digits",
                            form->width);
    convert(form, value.bytes, kw_buffer_reserve(out, form->width));
    out->size += form->width;
    return true;
}

static bool
decode(const kw_form *form, kw_bytes piece, kw_arena *arena, kw_value *ret_value, kw_error *ret_error)
{
    if (!all_digits(piece))
        return kw_error_set(ret_error, KW_CORRUPT, "has characters other than decimal digits");
    if (form->reversed || form->descending) {
        uint8_t *to = kw_arena_alloc(arena, piece.size);
        convert(form, piece, to);
        piece.data = to;
    }
    *ret_value = (kw_value){.kind = KW_VALUE_TEXT, .bytes = piece};
    return true;
}

/* Ascending, the piece is the string itself, so any string has a position among the pieces: a shorter one is
 * before all its continuations. */
static bool
edge(const kw_form *form, kw_value value, bool lower, kw_arena *arena, kw_edge *ret_edge)
{
    (void)lower;
    kw_bytes head = kw_bytes_of(value.bytes.data, MIN(value.bytes.size, form->width));
    int side = head.size < value.bytes.size ? 1 : head.size < form->width ? -1 : 0;
    if (form->descending) {
        if (side < 0 || !all_digits(head))
            return false;
        uint8_t *to = kw_arena_alloc(arena, head.size);
        convert(form, head, to);
        head.data = to;
    }
    *ret_edge = (kw_edge){.bytes = head, .side = side};
    return true;
}

const kw_encoding kw_encoding_digits = {
    .name = "digits",
    .types = KW_TYPE_BIT(KW_FIELD_STRING),
    .needs_width = true,
    .reversible = true,
    .prepare = prepare,
    .encode = encode,
    .decode = decode,
    .edge = edge,
};
