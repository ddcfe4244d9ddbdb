/* Integers and timestamps in keys.
 *
 *   int                big-endian with the sign bit flipped: every value of the width, in order
 *   raw_int            big-endian as Java's Bytes.toBytes; not negative, because that would break the order
 *   max_minus          Integer.MAX_VALUE or Long.MAX_VALUE minus the value, big-endian: newest first
 *   decimal            decimal digits, padded with zeros on the left; not negative
 *   max_minus_decimal  as max_minus, in 10 or 19 decimal digits
 *
 *   value -> unit of the key (floor) -> code = value - least -> descending: top - code -> bytes or digits
 */
#include "rule/encoding.h"

#include <inttypes.h>

#define NUMBER_TYPES (KW_TYPE_BIT(KW_FIELD_INT) | KW_TYPE_BIT(KW_FIELD_TIMESTAMP))

/* Digits of UINT64_MAX. */
#define DIGITS_MAX 20

static int64_t
floor_div(int64_t value, int64_t divisor)
{
    int64_t quotient = value / divisor;
    return value % divisor < 0 ? quotient - 1 : quotient;
}

static uint64_t
ten_to(uint32_t power)
{
    uint64_t result = 1;
    while (power--)
        result *= 10;
    return result;
}

static bool
width_error(const kw_site *site, const char *allowed)
{
    return kw_diagnostics_add(site->diagnostics, kw_site_mark(site, "width"), NULL,
                              "field: this encoding needs a width of %s", allowed);
}

static void
settle(kw_form *form)
{
    form->delimited = true;
    form->direction = form->reversed ? 0 : form->descending ? -1 : 1;
}

/* --- codes ----------------------------------------------------------------------------------------- */

static bool
code_of(const kw_form *form, int64_t number, uint64_t *ret_code, kw_error *ret_error)
{
    int64_t unit_number = floor_div(number, form->divisor);
    int64_t start;
    if (__builtin_mul_overflow(unit_number, form->divisor, &start))
        return kw_error_set(ret_error, KW_INVALID, "is too early for the unit of the row key");
    if (unit_number < 0 && form->least == 0)
        return kw_error_set(ret_error, KW_INVALID, "is negative; %s holds 0 to %" PRId64,
                            form->encoding->name, form->most);
    if (unit_number < form->least || unit_number > form->most)
        return kw_error_set(ret_error, KW_INVALID,
                            "is out of range; %s in %u bytes holds %" PRId64 " to %" PRId64 "%s",
                            form->encoding->name, form->width, form->least, form->most,
                            form->divisor > 1 ? " of the key's unit" : "");
    uint64_t code = (uint64_t)unit_number - (uint64_t)form->least;
    *ret_code = form->descending ? form->top - code : code;
    return true;
}

static bool
value_of_code(const kw_form *form, uint64_t code, kw_value *ret_value, kw_error *ret_error)
{
    bool fits = code <= form->top;
    if (fits && form->descending)
        code = form->top - code;
    int64_t number = (int64_t)(code + (uint64_t)form->least);
    fits = fits && code <= (uint64_t)form->most - (uint64_t)form->least;
    if (!fits || __builtin_mul_overflow(number, form->divisor, &number))
        return kw_error_set(ret_error, KW_CORRUPT, "is not a valid value of encoding %s",
                            form->encoding->name);
    *ret_value = (kw_value){.kind = KW_VALUE_NUMBER, .number = number};
    return true;
}

/* The code of the nearest number that can be encoded. */
static void
nearest_code(const kw_form *form, int64_t number, bool lower, uint64_t *ret_code, kw_edge *ret_edge)
{
    int64_t unit_number = floor_div(number, form->divisor);
    int64_t offset =
        number % form->divisor < 0 ? number % form->divisor + form->divisor : number % form->divisor;
    int64_t nearest = CLAMP(unit_number, form->least, form->most);
    uint64_t code = (uint64_t)nearest - (uint64_t)form->least;
    *ret_code = form->descending ? form->top - code : code;
    *ret_edge = (kw_edge){
        .side = (unit_number > nearest) - (unit_number < nearest),
        .loose = unit_number == nearest && (lower ? offset != 0 : offset != form->divisor - 1),
    };
}

/* --- as bytes -------------------------------------------------------------------------------------- */

static void
write_bytes(const kw_form *form, uint64_t code, uint8_t *to)
{
    uint8_t bytes[8];
    kw_be64_store(bytes, code);
    memcpy(to, bytes + 8 - form->width, form->width);
}

static bool
encode_bytes(const kw_form *form, kw_value value, kw_buffer *out, kw_error *ret_error)
{
    uint64_t code;
    if (!code_of(form, value.number, &code, ret_error))
        return false;
    write_bytes(form, code, kw_buffer_reserve(out, form->width));
    out->size += form->width;
    return true;
}

static bool
decode_bytes(const kw_form *form, kw_bytes piece, kw_arena *arena, kw_value *ret_value, kw_error *ret_error)
{
    (void)arena;
    uint8_t bytes[8] = {0};
    memcpy(bytes + 8 - form->width, piece.data, form->width);
    return value_of_code(form, kw_be64_load(bytes), ret_value, ret_error);
}

static bool
edge_bytes(const kw_form *form, kw_value value, bool lower, kw_arena *arena, kw_edge *ret_edge)
{
    uint64_t code;
    nearest_code(form, value.number, lower, &code, ret_edge);
    uint8_t *to = kw_arena_alloc(arena, form->width);
    write_bytes(form, code, to);
    ret_edge->bytes = kw_bytes_of(to, form->width);
    return true;
}

static bool
is_integer_width(uint32_t width)
{
    return width == 1 || width == 2 || width == 4 || width == 8;
}

static int64_t
signed_most(uint32_t width)
{
    return (int64_t)(UINT64_MAX >> (65 - 8 * width));
}

static bool
prepare_int(const kw_site *site, kw_form *form)
{
    form->width = form->width ? form->width : 8;
    if (!is_integer_width(form->width))
        return width_error(site, "1, 2, 4 or 8 bytes");
    form->most = signed_most(form->width);
    form->least = -form->most - 1;
    form->top = UINT64_MAX >> (64 - 8 * form->width);
    settle(form);
    return true;
}

static bool
prepare_raw_int(const kw_site *site, kw_form *form)
{
    form->width = form->width ? form->width : 8;
    if (!is_integer_width(form->width))
        return width_error(site, "1, 2, 4 or 8 bytes");
    form->most = signed_most(form->width);
    form->top = UINT64_MAX >> (64 - 8 * form->width); /* descending inverts every bit */
    settle(form);
    return true;
}

static bool
prepare_max_minus(const kw_site *site, kw_form *form)
{
    form->width = form->width ? form->width : 8;
    if (form->width != 4 && form->width != 8)
        return width_error(site, "4 (Integer.MAX_VALUE) or 8 (Long.MAX_VALUE) bytes");
    form->most = signed_most(form->width);
    form->top = (uint64_t)form->most;
    settle(form);
    return true;
}

const kw_encoding kw_encoding_int = {
    .name = "int",
    .types = NUMBER_TYPES,
    .accepts_unit = true,
    .prepare = prepare_int,
    .encode = encode_bytes,
    .decode = decode_bytes,
    .edge = edge_bytes,
};

const kw_encoding kw_encoding_raw_int = {
    .name = "raw_int",
    .types = NUMBER_TYPES,
    .accepts_unit = true,
    .prepare = prepare_raw_int,
    .encode = encode_bytes,
    .decode = decode_bytes,
    .edge = edge_bytes,
};

const kw_encoding kw_encoding_max_minus = {
    .name = "max_minus",
    .types = NUMBER_TYPES,
    .always_descending = true,
    .accepts_unit = true,
    .prepare = prepare_max_minus,
    .encode = encode_bytes,
    .decode = decode_bytes,
    .edge = edge_bytes,
};

/* --- as decimal digits ----------------------------------------------------------------------------- */

static void
write_digits(const kw_form *form, uint64_t code, uint8_t *to)
{
    for (uint32_t index = 0; index < form->width; index++, code /= 10)
        to[form->reversed ? index : form->width - 1 - index] = (uint8_t)('0' + code % 10);
}

static bool
encode_digits(const kw_form *form, kw_value value, kw_buffer *out, kw_error *ret_error)
{
    uint64_t code;
    if (!code_of(form, value.number, &code, ret_error))
        return false;
    write_digits(form, code, kw_buffer_reserve(out, form->width));
    out->size += form->width;
    return true;
}

static bool
decode_digits(const kw_form *form, kw_bytes piece, kw_arena *arena, kw_value *ret_value, kw_error *ret_error)
{
    (void)arena;
    uint64_t code = 0; /* at most 19 digits: cannot overflow */
    for (uint32_t index = 0; index < form->width; index++) {
        uint8_t digit = piece.data[form->reversed ? form->width - 1 - index : index];
        if (digit < '0' || digit > '9')
            return kw_error_set(ret_error, KW_CORRUPT, "has characters other than decimal digits");
        code = code * 10 + (uint64_t)(digit - '0');
    }
    return value_of_code(form, code, ret_value, ret_error);
}

static bool
edge_digits(const kw_form *form, kw_value value, bool lower, kw_arena *arena, kw_edge *ret_edge)
{
    uint64_t code;
    nearest_code(form, value.number, lower, &code, ret_edge);
    uint8_t *to = kw_arena_alloc(arena, form->width);
    write_digits(form, code, to);
    ret_edge->bytes = kw_bytes_of(to, form->width);
    return true;
}

static bool
prepare_decimal(const kw_site *site, kw_form *form)
{
    form->width = form->width ? form->width : DIGITS_MAX - 1;
    if (form->width >= DIGITS_MAX)
        return width_error(site, "1 to 19 digits");
    form->top = ten_to(form->width) - 1;
    form->most = form->top > INT64_MAX ? INT64_MAX : (int64_t)form->top;
    settle(form);
    return true;
}

static bool
prepare_max_minus_decimal(const kw_site *site, kw_form *form)
{
    form->width = form->width ? form->width : DIGITS_MAX - 1;
    if (form->width != 10 && form->width != DIGITS_MAX - 1)
        return width_error(site, "10 (Integer.MAX_VALUE) or 19 (Long.MAX_VALUE) digits");
    form->most = form->width == 10 ? INT32_MAX : INT64_MAX;
    form->top = (uint64_t)form->most;
    settle(form);
    return true;
}

const kw_encoding kw_encoding_decimal = {
    .name = "decimal",
    .types = NUMBER_TYPES,
    .reversible = true,
    .accepts_unit = true,
    .prepare = prepare_decimal,
    .encode = encode_digits,
    .decode = decode_digits,
    .edge = edge_digits,
};

const kw_encoding kw_encoding_max_minus_decimal = {
    .name = "max_minus_decimal",
    .types = NUMBER_TYPES,
    .always_descending = true,
    .accepts_unit = true,
    .prepare = prepare_max_minus_decimal,
    .encode = encode_digits,
    .decode = decode_digits,
    .edge = edge_digits,
};
