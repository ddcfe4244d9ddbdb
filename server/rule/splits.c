/* HBase's RegionSplitter algorithms, in 64-bit arithmetic, and the text form of bytes. */
#include "rule/splits.h"

#include <glib.h>
#include <inttypes.h>
#include <stdio.h>

/* More regions than any table should start with. */
#define REGIONS_MAX 65536

typedef enum numerals { NUMERALS_RAW, NUMERALS_HEX, NUMERALS_DECIMAL } numerals;

/* Creates keys of 8 bytes: a number as digits, or in binary. */
typedef struct algorithm {
    const char *name;
    numerals numerals;
    uint64_t span; /* number of possible keys; 0: 2^64 */
} algorithm;

static const algorithm algorithms[] = {
    {.name = "HexStringSplit", .numerals = NUMERALS_HEX, .span = UINT64_C(1) << 32},
    {.name = "UniformSplit", .numerals = NUMERALS_RAW, .span = 0},
    {.name = "DecimalStringSplit", .numerals = NUMERALS_DECIMAL, .span = 100000000},
};

static const algorithm *
find_algorithm(const char *name)
{
    for (size_t index = 0; index < G_N_ELEMENTS(algorithms); index++) {
        if (strcmp(algorithms[index].name, name) == 0)
            return &algorithms[index];
    }
    return NULL;
}

/* floor(span / regions) */
static uint64_t
step_of(const algorithm *it, uint32_t regions)
{
    if (it->span)
        return it->span / regions;
    uint64_t step = UINT64_MAX / regions;
    return UINT64_MAX % regions == regions - 1 ? step + 1 : step;
}

static kw_bytes
key_of(const algorithm *it, uint64_t number, kw_arena *arena)
{
    if (it->numerals == NUMERALS_HEX)
        return kw_bytes_of(kw_arena_printf(arena, "%08" PRIx64, number), 8);
    if (it->numerals == NUMERALS_DECIMAL)
        return kw_bytes_of(kw_arena_printf(arena, "%08" PRIu64, number), 8);
    uint8_t *bytes = kw_arena_alloc(arena, 8);
    kw_be64_store(bytes, number);
    return kw_bytes_of(bytes, 8);
}

bool
kw_splits_by_algorithm(const char *name, uint32_t regions, kw_arena *arena, kw_bytes **ret_keys,
                       size_t *ret_count, kw_error *ret_error)
{
    const algorithm *it = find_algorithm(name);
    if (!it)
        return kw_error_set(
            ret_error, KW_INVALID,
            "unknown split algorithm \"%s\"; use rule, HexStringSplit, UniformSplit or DecimalStringSplit",
            name);
    if (regions < 2 || regions > REGIONS_MAX)
        return kw_error_set(ret_error, KW_INVALID, "a table can be split into 2 to %d regions, not %u",
                            REGIONS_MAX, regions);
    uint64_t step = step_of(it, regions);
    kw_bytes *keys = KW_ARENA_ARRAY(arena, kw_bytes, regions - 1);
    for (uint32_t index = 1; index < regions; index++)
        keys[index - 1] = key_of(it, step * index, arena);
    *ret_keys = keys;
    *ret_count = regions - 1;
    return true;
}

bool
kw_bytes_from_binary_text(const char *text, kw_arena *arena, kw_bytes *ret_bytes, kw_error *ret_error)
{
    size_t length = strlen(text), size = 0;
    uint8_t *bytes = kw_arena_alloc(arena, length);
    for (size_t at = 0; at < length; at++) {
        if (text[at] != '\\') {
            bytes[size++] = (uint8_t)text[at];
            continue;
        }
        bool whole = length - at >= 4 && text[at + 1] == 'x' && g_ascii_isxdigit(text[at + 2]) &&
                     g_ascii_isxdigit(text[at + 3]);
        if (!whole)
            return kw_error_set(
                ret_error, KW_INVALID,
                "bad escape at byte %zu of \"%s\": a backslash starts \\xNN with two hex digits", at, text);
        bytes[size++] =
            (uint8_t)(g_ascii_xdigit_value(text[at + 2]) << 4 | g_ascii_xdigit_value(text[at + 3]));
        at += 3;
    }
    *ret_bytes = kw_bytes_of(bytes, size);
    return true;
}

char *
kw_bytes_to_binary_text(kw_bytes bytes, kw_arena *arena)
{
    char *text = kw_arena_alloc(arena, bytes.size * 4 + 1), *to = text;
    for (size_t index = 0; index < bytes.size; index++) {
        uint8_t byte = bytes.data[index];
        if (byte >= 0x20 && byte < 0x7f && byte != '\\')
            *to++ = (char)byte;
        else
            to += sprintf(to, "\\x%02X", byte);
    }
    *to = '\0';
    return text;
}
