/* Cell values of stored fields, in the forms of kw_cell_form. The form applies to numbers, doubles and bools.
 *
 *   text               decimal numbers, true or false
 *   raw, raw4          big-endian two's complement or IEEE bits, as Java writes them
 *   phoenix, phoenix4  the same bits changed so that they sort: numbers with the sign bit flipped; doubles
 *                      with every bit inverted if negative, otherwise with the sign bit set, plus 1
 */
#include "schema/policy.h"

#include "base/utf8.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Longest text of a number or double. */
#define NUMBER_TEXT_MAX 40

static size_t
width_of(const kw_field *field)
{
    return field->form == KW_CELL_RAW_BE4 || field->form == KW_CELL_PHOENIX4 ? 4 : 8;
}

static bool
is_phoenix(const kw_field *field)
{
    return field->form == KW_CELL_PHOENIX || field->form == KW_CELL_PHOENIX4;
}

static double
as_real(kw_value value)
{
    return value.kind == KW_VALUE_NUMBER ? (double)value.number : value.real;
}

/* Uses the fewest of 15, 16 and 17 digits that parse to the same value. */
static void
print_real(double real, char *to, int size)
{
    static const char *const formats[] = {"%.15g", "%.16g", "%.17g"};
    for (size_t index = 0; index < G_N_ELEMENTS(formats); index++) {
        g_ascii_formatd(to, size, formats[index], real);
        if (g_ascii_strtod(to, NULL) == real)
            return;
    }
}

static kw_bytes
text_cell(const kw_field *field, kw_value value, kw_arena *arena)
{
    char text[NUMBER_TEXT_MAX];
    if (field->type == KW_FIELD_BOOL)
        return value.flag ? KW_BYTES_LITERAL("true") : KW_BYTES_LITERAL("false");
    if (field->type == KW_FIELD_DOUBLE)
        print_real(as_real(value), text, sizeof text);
    else
        snprintf(text, sizeof text, "%" PRId64, value.number);
    return kw_arena_copy(arena, kw_bytes_of_text(text));
}

/* IEEE bits in `width` bytes; every NaN becomes Java's, because Phoenix has only one. */
static uint64_t
bits_of_real(double real, size_t width)
{
    if (isnan(real))
        return width == 4 ? UINT64_C(0x7fc00000) : UINT64_C(0x7ff8000000000000);
    if (width == 4) {
        float narrow = (float)real;
        uint32_t bits;
        memcpy(&bits, &narrow, sizeof bits);
        return bits;
    }
    uint64_t bits;
    memcpy(&bits, &real, sizeof bits);
    return bits;
}

static double
real_of_bits(uint64_t bits, size_t width)
{
    double real;
    if (width == 4) {
        uint32_t narrow = (uint32_t)bits;
        float value;
        memcpy(&value, &narrow, sizeof value);
        return (double)value;
    }
    memcpy(&real, &bits, sizeof real);
    return real;
}

static uint64_t
sign_bit(size_t width)
{
    return UINT64_C(1) << (8 * width - 1);
}

static uint64_t
phoenix_bits(const kw_field *field, uint64_t bits, size_t width)
{
    uint64_t sign = sign_bit(width);
    if (field->type != KW_FIELD_DOUBLE)
        return bits ^ sign;
    return (bits & sign ? ~bits : bits | sign) + 1;
}

static uint64_t
bits_of_phoenix(const kw_field *field, uint64_t code, size_t width)
{
    uint64_t sign = sign_bit(width);
    if (field->type != KW_FIELD_DOUBLE)
        return code ^ sign;
    return (code - 1) & sign ? (code - 1) ^ sign : ~(code - 1);
}

static kw_bytes
flag_cell(const kw_field *field, bool flag)
{
    static const uint8_t bytes[] = {0x00, 0xff, 0x01};
    return kw_bytes_of(&bytes[flag ? 1 + is_phoenix(field) : 0], 1);
}

static kw_bytes
number_cell(const kw_field *field, kw_value value, kw_arena *arena)
{
    size_t width = width_of(field);
    uint64_t bits = field->type == KW_FIELD_DOUBLE
                        ? bits_of_real(as_real(value), width)
                        : (uint64_t)value.number; /* it fits: kw_table_check_value */
    uint8_t *to = kw_arena_alloc(arena, width);
    if (is_phoenix(field))
        bits = phoenix_bits(field, bits, width);
    if (width == 4)
        kw_be32_store(to, (uint32_t)bits);
    else
        kw_be64_store(to, bits);
    return kw_bytes_of(to, width);
}

kw_bytes
kw_field_encode_cell(const kw_field *field, kw_value value, kw_arena *arena)
{
    g_assert(value.kind != KW_VALUE_NONE);
    if (value.kind == KW_VALUE_TEXT || value.kind == KW_VALUE_BYTES)
        return value.bytes;
    if (field->form == KW_CELL_TEXT)
        return text_cell(field, value, arena);
    return field->type == KW_FIELD_BOOL ? flag_cell(field, value.flag) : number_cell(field, value, arena);
}

static bool
decode_text(const kw_field *field, kw_bytes cell, kw_value *ret_value)
{
    char text[NUMBER_TEXT_MAX], *end;
    if (cell.size == 0 || cell.size >= sizeof text || g_ascii_isspace(cell.data[0]))
        return false;
    memcpy(text, cell.data, cell.size);
    text[cell.size] = '\0';
    errno = 0;
    if (field->type == KW_FIELD_BOOL) {
        ret_value->flag = strcmp(text, "true") == 0;
        return ret_value->flag || strcmp(text, "false") == 0;
    }
    if (field->type == KW_FIELD_DOUBLE)
        ret_value->real = g_ascii_strtod(text, &end);
    else
        ret_value->number = strtoll(text, &end, 10);
    return end == text + cell.size && (errno == 0 || field->type == KW_FIELD_DOUBLE);
}

static bool
decode_raw(const kw_field *field, kw_bytes cell, kw_value *ret_value)
{
    if (field->type == KW_FIELD_BOOL) {
        ret_value->flag = cell.size == 1 && cell.data[0] != 0; /* as Java's Bytes.toBoolean */
        return cell.size == 1;
    }
    size_t width = width_of(field);
    if (cell.size != width)
        return false;
    uint64_t bits = width == 4 ? kw_be32_load(cell.data) : kw_be64_load(cell.data);
    if (is_phoenix(field))
        bits = bits_of_phoenix(field, bits, width);
    if (field->type == KW_FIELD_DOUBLE)
        ret_value->real = real_of_bits(bits, width);
    else
        ret_value->number = width == 4 ? (int32_t)(uint32_t)bits : (int64_t)bits;
    return true;
}

static bool
decode_value(const kw_field *field, kw_bytes cell, kw_value *ret_value)
{
    return field->form == KW_CELL_TEXT ? decode_text(field, cell, ret_value)
                                       : decode_raw(field, cell, ret_value);
}

bool
kw_field_decode_cell(const kw_table *table, const kw_field *field, kw_bytes cell, kw_arena *arena,
                     kw_value *ret_value, kw_error *ret_error)
{
    (void)arena; /* values are slices of the cell */
    kw_value value = {.kind = kw_field_value_kind(field->type)};
    bool good = true;
    if (value.kind == KW_VALUE_TEXT || value.kind == KW_VALUE_BYTES) {
        value.bytes = cell;
        good = value.kind == KW_VALUE_BYTES || kw_utf8_valid(cell);
    } else {
        good = decode_value(field, cell, &value);
    }
    if (!good)
        return kw_error_set(ret_error, KW_CORRUPT,
                            "table %s, field %s: the stored value (%zu bytes) cannot be read", table->name,
                            field->name, cell.size);
    *ret_value = value;
    return true;
}
