/* Cell values of stored fields, in the forms of kw_cell_form. */
#include "rule/policy.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* Longest text of a number or double. */
#define NUMBER_TEXT_MAX 40

static kw_bytes
be64_cell(uint64_t bits, kw_arena *arena)
{
    uint8_t *to = kw_arena_alloc(arena, 8);
    kw_be64_store(to, bits);
    return kw_bytes_of(to, 8);
}

static double
as_real(kw_value value)
{
    return value.kind == KW_VALUE_NUMBER ? (double)value.number : value.real;
}

/* The shortest of 15, 16 and 17 digits that reads back the same. */
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

static kw_bytes
raw_cell(const kw_field *field, kw_value value, kw_arena *arena)
{
    static const uint8_t flags[] = {0x00, 0xff};
    if (field->type == KW_FIELD_BOOL)
        return kw_bytes_of(&flags[value.flag], 1);
    if (field->type == KW_FIELD_DOUBLE) {
        double real = as_real(value);
        uint64_t bits;
        memcpy(&bits, &real, sizeof bits);
        return be64_cell(bits, arena);
    }
    return be64_cell((uint64_t)value.number, arena);
}

kw_bytes
kw_field_encode_cell(const kw_field *field, kw_value value, kw_arena *arena)
{
    g_assert(value.kind != KW_VALUE_NONE);
    if (value.kind == KW_VALUE_TEXT || value.kind == KW_VALUE_BYTES)
        return value.bytes;
    switch (field->form) {
    case KW_CELL_RAW_BE:
        return raw_cell(field, value, arena);
    case KW_CELL_TEXT:
        return text_cell(field, value, arena);
    case KW_CELL_RAW_BE4: {
        uint8_t *to = kw_arena_alloc(arena, 4);
        kw_be32_store(to, (uint32_t)value.number); /* kw_table_check_value saw that it fits */
        return kw_bytes_of(to, 4);
    }
    }
    g_assert_not_reached();
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
    if (cell.size != 8)
        return false;
    uint64_t bits = kw_be64_load(cell.data);
    if (field->type == KW_FIELD_DOUBLE)
        memcpy(&ret_value->real, &bits, sizeof bits);
    else
        ret_value->number = (int64_t)bits;
    return true;
}

static bool
decode_value(const kw_field *field, kw_bytes cell, kw_value *ret_value)
{
    switch (field->form) {
    case KW_CELL_RAW_BE:
        return decode_raw(field, cell, ret_value);
    case KW_CELL_TEXT:
        return decode_text(field, cell, ret_value);
    case KW_CELL_RAW_BE4:
        if (cell.size != 4)
            return false;
        ret_value->number = (int32_t)kw_be32_load(cell.data);
        return true;
    }
    g_assert_not_reached();
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
