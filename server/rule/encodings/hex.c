/* Texts of hex digits, stored as the bytes that they represent: half as long, in the same order.
 *
 *   hex    2 * width digits in lower case
 *   uuid   the 36 characters of a UUID in lower case; 16 bytes
 *
 * Upper case is rejected: decoding must return the text that was written.
 */
#include "rule/encoding.h"

#include <glib.h>

#define UUID_BYTES 16
#define UUID_CHARACTERS 36

static bool
prepare_hex(const kw_site *site, kw_form *form)
{
    (void)site;
    form->delimited = true;
    form->direction = form->descending ? -1 : 1;
    return true;
}

static bool
prepare_uuid(const kw_site *site, kw_form *form)
{
    form->width = UUID_BYTES;
    return prepare_hex(site, form);
}

static bool
is_uuid(const kw_form *form)
{
    return form->encoding == &kw_encoding_uuid;
}

/* True if a dash precedes this byte of a UUID. */
static bool
dash_before(const kw_form *form, uint32_t byte)
{
    return is_uuid(form) && (byte == 4 || byte == 6 || byte == 8 || byte == 10);
}

static size_t
text_size(const kw_form *form)
{
    return is_uuid(form) ? UUID_CHARACTERS : (size_t)form->width * 2;
}

/* 0 to 15; -1 if it is not a lower-case hex digit. */
static int
digit_value(uint8_t digit)
{
    if (digit >= '0' && digit <= '9')
        return digit - '0';
    return digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

static bool
pack(const kw_form *form, kw_bytes text, uint8_t *to)
{
    if (text.size != text_size(form))
        return false;
    const uint8_t *at = text.data;
    for (uint32_t byte = 0; byte < form->width; byte++, at += 2) {
        if (dash_before(form, byte) && *at++ != '-')
            return false;
        int high = digit_value(at[0]), low = digit_value(at[1]);
        if (high < 0 || low < 0)
            return false;
        unsigned packed = (unsigned)high << 4 | (unsigned)low;
        to[byte] = (uint8_t)(form->descending ? ~packed : packed);
    }
    return true;
}

static bool
encode(const kw_form *form, kw_value value, kw_buffer *out, kw_error *ret_error)
{
    if (!pack(form, value.bytes, kw_buffer_reserve(out, form->width))) {
        if (is_uuid(form))
            return kw_error_set(ret_error, KW_INVALID, "is not a UUID of %d characters in lower case",
                                UUID_CHARACTERS);
        return kw_error_set(ret_error, KW_INVALID, "is not a string of exactly %zu hex digits in lower case",
                            text_size(form));
    }
    out->size += form->width;
    return true;
}

static bool
decode(const kw_form *form, kw_bytes piece, kw_arena *arena, kw_value *ret_value, kw_error *ret_error)
{
    (void)ret_error; /* any bytes are valid digits */
    static const char digits[] = "0123456789abcdef";
    uint8_t *text = kw_arena_alloc(arena, text_size(form)), *at = text;
    for (uint32_t byte = 0; byte < form->width; byte++) {
        uint8_t packed = (uint8_t)(form->descending ? ~piece.data[byte] : piece.data[byte]);
        if (dash_before(form, byte))
            *at++ = '-';
        *at++ = (uint8_t)digits[packed >> 4];
        *at++ = (uint8_t)digits[packed & 15];
    }
    *ret_value = (kw_value){.kind = KW_VALUE_TEXT, .bytes = kw_bytes_of(text, text_size(form))};
    return true;
}

/* True if this position of the text must have a dash. */
static bool
is_dash(const kw_form *form, size_t place)
{
    return is_uuid(form) && (place == 8 || place == 13 || place == 18 || place == 23);
}

/* Pads the text from `place` on with the smallest or the greatest digits. */
static void
fill(const kw_form *form, uint8_t *text, size_t place, char digit)
{
    for (; place < text_size(form); place++)
        text[place] = (uint8_t)(is_dash(form, place) ? '-' : digit);
}

/* Handles a character that is not allowed at `place`: finds whether it is before the allowed ones, after
 * them, or between the digits 9 and a. Writes the nearest valid text; returns the side of that text on
 * which the character is. */
static int
round_at(const kw_form *form, uint8_t *text, size_t place, uint8_t character)
{
    bool dash = is_dash(form, place);
    if (character < (dash ? '-' : '0')) {
        fill(form, text, place, '0');
        return -1;
    }
    if (character > (dash ? '-' : 'f')) {
        fill(form, text, place, 'f');
        return 1;
    }
    text[place] = 'a';
    fill(form, text, place + 1, '0');
    return -1;
}

/* Any string has a position among the valid texts: it equals one of them up to some character, is a prefix of
 * some, or continues one. */
static bool
edge(const kw_form *form, kw_value value, bool lower, kw_arena *arena, kw_edge *ret_edge)
{
    (void)lower;
    size_t whole = text_size(form), place = 0;
    uint8_t *text = kw_arena_alloc(arena, whole), *to = kw_arena_alloc(arena, form->width);
    int side = value.bytes.size > whole;
    for (; place < MIN(value.bytes.size, whole); place++) {
        uint8_t character = value.bytes.data[place];
        if (is_dash(form, place) ? character != '-' : digit_value(character) < 0) {
            side = round_at(form, text, place, character);
            break;
        }
        text[place] = character;
    }
    if (place == value.bytes.size && place < whole) {
        fill(form, text, place, '0');
        side = -1;
    }
    bool packed = pack(form, kw_bytes_of(text, whole), to);
    g_assert(packed);
    *ret_edge = (kw_edge){.bytes = kw_bytes_of(to, form->width), .side = side};
    return true;
}

const kw_encoding kw_encoding_hex = {
    .name = "hex",
    .types = KW_TYPE_BIT(KW_FIELD_STRING),
    .needs_width = true,
    .prepare = prepare_hex,
    .encode = encode,
    .decode = decode,
    .edge = edge,
};

const kw_encoding kw_encoding_uuid = {
    .name = "uuid",
    .types = KW_TYPE_BIT(KW_FIELD_STRING),
    .prepare = prepare_uuid,
    .encode = encode,
    .decode = decode,
    .edge = edge,
};
