/* Doubles in keys, as big-endian IEEE bits changed so that they sort in the total order of the values
 * (-infinity, ..., -0, 0, ..., infinity, NaN).
 *
 *   double   8 bytes
 *   float    4 bytes; accepts only values that a float can represent
 *
 *   1. negative: invert every bit; otherwise: set the sign bit
 *   2. add the bias
 *   3. descending: invert every bit
 *
 * Keys contain only one NaN, that of Java's doubleToLongBits: others are rejected. The bias is 1 in Phoenix's
 * form (see compatible.c), otherwise 0.
 */
#include "rule/encoding.h"

#define DOUBLE_NAN UINT64_C(0x7ff8000000000000)

static uint64_t
bits_of(double real)
{
    uint64_t bits;
    memcpy(&bits, &real, sizeof bits);
    return bits;
}

static double
real_of(uint64_t bits)
{
    double real;
    memcpy(&real, &bits, sizeof real);
    return real;
}

static uint32_t
float_bits_of(float real)
{
    uint32_t bits;
    memcpy(&bits, &real, sizeof bits);
    return bits;
}

static double
real_of_float_bits(uint32_t bits)
{
    float real;
    memcpy(&real, &bits, sizeof real);
    return (double)real;
}

static bool
is_other_nan(double real)
{
    return real != real && bits_of(real) != DOUBLE_NAN;
}

static uint64_t
every_bit(const kw_form *form)
{
    return UINT64_MAX >> (64 - 8 * form->width);
}

static uint64_t
code_of(const kw_form *form, uint64_t bits)
{
    uint64_t every = every_bit(form), sign = every ^ every >> 1;
    uint64_t code = (bits & sign ? ~bits : bits | sign) + form->bias;
    return (form->descending ? ~code : code) & every;
}

static uint64_t
bits_of_code(const kw_form *form, uint64_t code)
{
    uint64_t every = every_bit(form), sign = every ^ every >> 1;
    code = ((form->descending ? ~code : code) - form->bias) & every;
    return code & sign ? code ^ sign : ~code & every;
}

static void
write_code(const kw_form *form, uint64_t code, uint8_t *to)
{
    uint8_t bytes[8];
    kw_be64_store(bytes, code);
    memcpy(to, bytes + 8 - form->width, form->width);
}

/* The bits of the nearest value that the form can represent. */
static uint64_t
nearest_bits(const kw_form *form, double real)
{
    return form->width == 4 ? float_bits_of((float)real) : bits_of(real);
}

static double
real_of_bits(const kw_form *form, uint64_t bits)
{
    return form->width == 4 ? real_of_float_bits((uint32_t)bits) : real_of(bits);
}

static bool
encode(const kw_form *form, kw_value value, kw_buffer *out, kw_error *ret_error)
{
    if (is_other_nan(value.real))
        return kw_error_set(ret_error, KW_INVALID, "is a NaN other than 0x7FF8000000000000");
    uint64_t bits = nearest_bits(form, value.real);
    if (bits_of(real_of_bits(form, bits)) != bits_of(value.real))
        return kw_error_set(ret_error, KW_INVALID, "cannot be held exactly by a float of 4 bytes");
    write_code(form, code_of(form, bits), kw_buffer_reserve(out, form->width));
    out->size += form->width;
    return true;
}

static bool
decode(const kw_form *form, kw_bytes piece, kw_arena *arena, kw_value *ret_value, kw_error *ret_error)
{
    (void)arena;
    uint8_t bytes[8] = {0};
    memcpy(bytes + 8 - form->width, piece.data, form->width);
    uint64_t bits = bits_of_code(form, kw_be64_load(bytes));
    double real = real_of_bits(form, bits);
    if (is_other_nan(real) || nearest_bits(form, real) != bits)
        return kw_error_set(ret_error, KW_CORRUPT, "is not a valid value of encoding %s",
                            form->encoding->name);
    *ret_value = (kw_value){.kind = KW_VALUE_REAL, .real = real};
    return true;
}

static bool
edge(const kw_form *form, kw_value value, bool lower, kw_arena *arena, kw_edge *ret_edge)
{
    (void)lower;
    if (is_other_nan(value.real))
        return false;
    uint64_t bits = nearest_bits(form, value.real);
    kw_value nearest = {.kind = KW_VALUE_REAL, .real = real_of_bits(form, bits)};
    uint8_t *to = kw_arena_alloc(arena, form->width);
    write_code(form, code_of(form, bits), to);
    *ret_edge = (kw_edge){.bytes = kw_bytes_of(to, form->width), .side = kw_value_compare(value, nearest)};
    return true;
}

static bool
prepare_double(const kw_site *site, kw_form *form)
{
    (void)site;
    form->width = 8;
    form->delimited = true;
    form->direction = form->descending ? -1 : 1;
    return true;
}

static bool
prepare_float(const kw_site *site, kw_form *form)
{
    bool done = prepare_double(site, form);
    form->width = 4;
    return done;
}

const kw_encoding kw_encoding_double = {
    .name = "double",
    .types = KW_TYPE_BIT(KW_FIELD_DOUBLE),
    .prepare = prepare_double,
    .encode = encode,
    .decode = decode,
    .edge = edge,
};

const kw_encoding kw_encoding_float = {
    .name = "float",
    .types = KW_TYPE_BIT(KW_FIELD_DOUBLE),
    .prepare = prepare_float,
    .encode = encode,
    .decode = decode,
    .edge = edge,
};
