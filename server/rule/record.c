/* Values: kinds, comparison and their form in messages. */
#include "rule/record.h"

#include <inttypes.h>
#include <stdio.h>

kw_value_kind
kw_field_value_kind(kw_field_type type)
{
    switch (type) {
    case KW_FIELD_BOOL:
        return KW_VALUE_FLAG;
    case KW_FIELD_INT:
    case KW_FIELD_TIMESTAMP:
        return KW_VALUE_NUMBER;
    case KW_FIELD_DOUBLE:
        return KW_VALUE_REAL;
    case KW_FIELD_STRING:
        return KW_VALUE_TEXT;
    case KW_FIELD_BYTES:
        return KW_VALUE_BYTES;
    case KW_FIELD_MAP:
        return KW_VALUE_MAP;
    }
    g_assert_not_reached();
}

/* IEEE bits as an integer whose order is that of the doubles: -0.0 equals 0.0, and NaN is above infinity. */
static int64_t
real_rank(double real)
{
    int64_t bits;
    if (real == 0)
        return 0;
    memcpy(&bits, &real, sizeof bits);
    return bits < 0 ? (int64_t)(~(uint64_t)bits | (UINT64_C(1) << 63)) : bits;
}

static int
order_of(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

bool
kw_value_equal(kw_value a, kw_value b)
{
    return a.kind == b.kind && kw_value_compare(a, b) == 0;
}

static bool
is_numeric(kw_value_kind kind)
{
    return kind == KW_VALUE_NUMBER || kind == KW_VALUE_REAL;
}

bool
kw_number_as_real(int64_t number, double *ret_real)
{
    *ret_real = (double)number;
    return *ret_real < 0x1p63 && (int64_t)*ret_real == number;
}

static double
as_real(kw_value value)
{
    return value.kind == KW_VALUE_NUMBER ? (double)value.number : value.real;
}

static int
compare_entries(kw_value a, kw_value b)
{
    int order = 0;
    for (size_t index = 0; order == 0 && index < MIN(a.entries_count, b.entries_count); index++) {
        order = kw_bytes_compare(a.entries[index].name, b.entries[index].name);
        if (order == 0)
            order = kw_value_compare(a.entries[index].value, b.entries[index].value);
    }
    return order ? order : (a.entries_count > b.entries_count) - (a.entries_count < b.entries_count);
}

int
kw_value_compare(kw_value a, kw_value b)
{
    if (a.kind != b.kind) {
        if (is_numeric(a.kind) && is_numeric(b.kind))
            return order_of(real_rank(as_real(a)), real_rank(as_real(b)));
        return order_of(a.kind, b.kind);
    }
    switch (a.kind) {
    case KW_VALUE_NONE:
        return 0;
    case KW_VALUE_FLAG:
        return order_of(a.flag, b.flag);
    case KW_VALUE_NUMBER:
        return order_of(a.number, b.number);
    case KW_VALUE_REAL:
        return order_of(real_rank(a.real), real_rank(b.real));
    case KW_VALUE_TEXT:
    case KW_VALUE_BYTES:
        return kw_bytes_compare(a.bytes, b.bytes);
    case KW_VALUE_MAP:
        return compare_entries(a, b);
    }
    g_assert_not_reached();
}

static const kw_entry *
copy_entries(kw_value map, kw_arena *arena)
{
    kw_entry *entries = KW_ARENA_ARRAY(arena, kw_entry, map.entries_count);
    for (size_t index = 0; index < map.entries_count; index++)
        entries[index] = (kw_entry){.name = kw_arena_copy(arena, map.entries[index].name),
                                    .value = kw_value_copy(map.entries[index].value, arena)};
    return entries;
}

kw_value
kw_value_copy(kw_value value, kw_arena *arena)
{
    if (value.kind == KW_VALUE_TEXT || value.kind == KW_VALUE_BYTES)
        value.bytes = kw_arena_copy(arena, value.bytes);
    if (value.kind == KW_VALUE_MAP)
        value.entries = copy_entries(value, arena);
    return value;
}

/* Prints printable ASCII unchanged, except backslash and double quote; for text, also the bytes from 0x80 on.
 * Prints all other bytes as \xNN. */
static void
print_bytes(kw_value value, char *to, size_t size)
{
    static const size_t end_reserve = 6; /* for an escape or the dots, and the terminating NUL */
    bool text = value.kind == KW_VALUE_TEXT;
    size_t at = 0;
    if (text)
        to[at++] = '"';
    size_t index = 0;
    for (; index < value.bytes.size && at + end_reserve < size; index++) {
        uint8_t byte = value.bytes.data[index];
        if ((byte >= 0x20 && byte < 0x7f && byte != '\\' && byte != '"') || (text && byte >= 0x80))
            to[at++] = (char)byte;
        else
            at += (size_t)snprintf(to + at, size - at, "\\x%02X", byte);
    }
    bool cut = index < value.bytes.size;
    /* The last character can be incomplete: remove all its bytes. */
    while (cut && at > 0 && ((uint8_t)to[at - 1] & 0xc0) == 0x80)
        at--;
    if (cut && at > 0 && (uint8_t)to[at - 1] >= 0xc0)
        at--;
    snprintf(to + at, size - at, "%s%s", cut ? "..." : "", text ? "\"" : "");
}

void
kw_value_print(kw_value value, char *to, size_t size)
{
    g_assert(size >= 16);
    switch (value.kind) {
    case KW_VALUE_NONE:
        snprintf(to, size, "(absent)");
        return;
    case KW_VALUE_FLAG:
        snprintf(to, size, "%s", value.flag ? "true" : "false");
        return;
    case KW_VALUE_NUMBER:
        snprintf(to, size, "%" PRId64, value.number);
        return;
    case KW_VALUE_REAL:
        snprintf(to, size, "%.17g", value.real);
        return;
    case KW_VALUE_TEXT:
    case KW_VALUE_BYTES:
        print_bytes(value, to, size);
        return;
    case KW_VALUE_MAP:
        snprintf(to, size, "%zu entries", value.entries_count);
        return;
    }
    g_assert_not_reached();
}
