#include "change/version_name.h"

#include <glib.h>
#include <string.h>

#define ID_DIGITS 32

bool
kw_version_is_id(const char *text)
{
    return strlen(text) == ID_DIGITS && strspn(text, "0123456789abcdef") == ID_DIGITS;
}

bool
kw_version_parse(kw_bytes cell, kw_version_name *ret_name, kw_error *ret_error)
{
    char text[64], *end;
    *ret_name = (kw_version_name){0};
    if (cell.size == 0)
        return true;
    g_snprintf(text, sizeof text, "%.*s", (int)MIN(cell.size, sizeof text), (const char *)cell.data);
    int64_t number = g_ascii_strtoll(text, &end, 10);
    if (cell.size >= sizeof text || !g_ascii_isdigit(*text) || number < 1 || *end != ' ' ||
        !kw_version_is_id(end + 1))
        return kw_error_set(ret_error, KW_CORRUPT, "the catalog's current policy version cannot be read: %s",
                            kw_show(cell).text);
    ret_name->number = number;
    g_strlcpy(ret_name->id, end + 1, sizeof ret_name->id);
    return true;
}

kw_bytes
kw_version_print(const kw_version_name *name, kw_arena *arena)
{
    return kw_bytes_of_text(kw_arena_printf(arena, "%" G_GINT64_FORMAT " %s", name->number, name->id));
}
