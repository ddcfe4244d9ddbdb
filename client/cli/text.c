/* Escapes, widths, similar names. */
#include "cli/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

char *
kw_text_from_bytes(const void *data, gsize size)
{
    const guint8 *bytes = data;
    GString *text = g_string_sized_new(size);

    for (gsize i = 0; i < size; i++)
        if (bytes[i] >= 0x20 && bytes[i] < 0x7f && bytes[i] != '\\')
            g_string_append_c(text, (char)bytes[i]);
        else
            g_string_append_printf(text, "\\x%02X", bytes[i]);
    return g_string_free(text, FALSE);
}

char *
kw_text_of_bytes(GBytes *bytes)
{
    return bytes == NULL ? g_strdup("")
                         : kw_text_from_bytes(g_bytes_get_data(bytes, NULL), g_bytes_get_size(bytes));
}

char *
kw_hex_of_bytes(GBytes *bytes)
{
    GString *hex = g_string_new(NULL);
    gsize size = 0;
    const guint8 *data = bytes == NULL ? NULL : g_bytes_get_data(bytes, &size);

    for (gsize i = 0; i < size; i++)
        g_string_append_printf(hex, "%02x", data[i]);
    return g_string_free(hex, FALSE);
}

GByteArray *
kw_text_to_bytes(const char *text)
{
    g_autoptr(GByteArray) bytes = g_byte_array_new();

    while (*text != '\0') {
        guint8 byte = (guint8)*text;
        gsize step = 1;

        if (text[0] == '\\' && text[1] == 'x') {
            if (!g_ascii_isxdigit(text[2]) || !g_ascii_isxdigit(text[3]))
                return NULL;
            byte = (guint8)(g_ascii_xdigit_value(text[2]) << 4 | g_ascii_xdigit_value(text[3]));
            step = 4;
        }
        g_byte_array_append(bytes, &byte, 1);
        text += step;
    }
    return g_steal_pointer(&bytes);
}

GBytes *
kw_text_to_key(const char *text, GError **error)
{
    GByteArray *bytes = kw_text_to_bytes(text);
    g_autofree char *shown = NULL;

    if (bytes != NULL)
        return g_byte_array_free_to_bytes(bytes);
    shown = kw_text_for_terminal(text);
    g_set_error(error, KW_CLIENT_ERROR, KW_CLIENT_INVALID,
                "row key \"%s\": two hexadecimal digits must follow each \\x", shown);
    return NULL;
}

char *
kw_text_from_real(double real)
{
    char text[G_ASCII_DTOSTR_BUF_SIZE];

    if (real == 0 && signbit(real))
        return g_strdup("-0.0"); /* JSON integers have no negative zero */
    if (isnan(real))
        return g_strdup("NaN");
    if (isinf(real))
        return g_strdup(real > 0 ? "Infinity" : "-Infinity");
    for (int digits = 15; digits <= 17; digits++) {
        char format[] = "%.15g";

        format[3] = (char)('0' + digits - 10);
        g_ascii_formatd(text, sizeof text, format, real);
        if (g_ascii_strtod(text, NULL) == real)
            break;
    }
    return g_strdup(text);
}

static bool
reorders_text(gunichar character)
{
    return character == 0x61c || (character >= 0x200e && character <= 0x200f) ||
           (character >= 0x2028 && character <= 0x202e) || (character >= 0x2066 && character <= 0x2069);
}

bool
kw_text_is_plain(gunichar character)
{
    return character >= 0x20 && !(character >= 0x7f && character < 0xa0) && !reorders_text(character);
}

void
kw_text_append_plain(GString *to, gunichar character)
{
    char bytes[6];
    int size;

    if (kw_text_is_plain(character)) {
        g_string_append_unichar(to, character);
        return;
    }
    if (character < 0xa0) {
        g_string_append_printf(to, "\\x%02X", character);
        return;
    }
    size = g_unichar_to_utf8(character, bytes);
    for (int i = 0; i < size; i++)
        g_string_append_printf(to, "\\x%02X", (guint8)bytes[i]);
}

char *
kw_text_for_terminal(const char *text)
{
    g_autofree char *valid = g_utf8_make_valid(text, -1);
    GString *safe = g_string_sized_new(strlen(valid));

    for (const char *at = valid; *at != '\0'; at = g_utf8_next_char(at))
        kw_text_append_plain(safe, g_utf8_get_char(at));
    return g_string_free(safe, FALSE);
}

gsize
kw_text_width(const char *text)
{
    gsize width = 0;

    for (; *text != '\0'; text = g_utf8_next_char(text)) {
        gunichar character = g_utf8_get_char(text);

        if (!g_unichar_iszerowidth(character))
            width += g_unichar_iswide(character) ? 2 : 1;
    }
    return width;
}

/* Levenshtein's distance; both texts are short names. */
static gsize
distance(const char *a, const char *b)
{
    gsize length = strlen(b);
    g_autofree gsize *row = g_new(gsize, length + 1);

    for (gsize j = 0; j <= length; j++)
        row[j] = j;
    for (gsize i = 1; a[i - 1] != '\0'; i++) {
        gsize diagonal = row[0];

        row[0] = i;
        for (gsize j = 1; j <= length; j++) {
            gsize changed = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);

            diagonal = row[j];
            row[j] = MIN(changed, MIN(row[j], row[j - 1]) + 1);
        }
    }
    return row[length];
}

const char *
kw_text_nearest(const char *text, const char *const *candidates)
{
    const char *nearest = NULL;
    gsize least = strlen(text) / 3 + 2;

    for (; *candidates != NULL && strlen(text) < 100; candidates++) {
        gsize away = strlen(*candidates) < 100 ? distance(text, *candidates) : least;

        if (away < least) {
            least = away;
            nearest = *candidates;
        }
    }
    return nearest;
}

void
kw_text_append_json(GString *to, const char *text)
{
    g_autofree char *valid = g_utf8_make_valid(text, -1);

    g_string_append_c(to, '"');
    for (const char *at = valid; *at != '\0'; at = g_utf8_next_char(at)) {
        gunichar character = g_utf8_get_char(at);

        if (character == '"' || character == '\\')
            g_string_append_printf(to, "\\%c", (char)character);
        else if (character == '\n')
            g_string_append(to, "\\n");
        else if (!kw_text_is_plain(character))
            g_string_append_printf(to, "\\u%04x", character);
        else
            g_string_append_unichar(to, character);
    }
    g_string_append_c(to, '"');
}

#define MINUTE_MS 60000
#define HOUR_MS 3600000

char *
kw_text_of_duration(gint64 ms)
{
    if (ms < MINUTE_MS)
        return g_strdup_printf("%" G_GINT64_FORMAT " s", (ms + 999) / 1000);
    if (ms < 2 * (gint64)HOUR_MS)
        return g_strdup_printf("%" G_GINT64_FORMAT " min", (ms + MINUTE_MS - 1) / MINUTE_MS);
    return g_strdup_printf("%" G_GINT64_FORMAT " h", (ms + HOUR_MS - 1) / HOUR_MS);
}
