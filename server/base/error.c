/* Errors are plain values: a code and a text. */
#include "base/error.h"

#include <glib.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const kw_error kw_error_shutting_down = {.code = KW_UNAVAILABLE, .text = "the gateway is shutting down"};

/* Removes the part of a UTF-8 sequence that the size limit split. */
static void
trim_utf8(char *text)
{
    const char *end;
    if (!g_utf8_validate(text, -1, &end))
        text[end - text] = '\0';
}

bool
kw_error_set(kw_error *ret_error, kw_code code, const char *format, ...)
{
    if (!ret_error)
        return false;
    *ret_error = (kw_error){.code = code};
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(ret_error->text, sizeof ret_error->text, format, arguments);
    va_end(arguments);
    trim_utf8(ret_error->text);
    return false;
}

/* True if the text begins with these words: "table t" and "table t, path p: ..." */
static bool
begins_with(const char *text, const char *prefix, size_t size)
{
    return strncmp(text, prefix, size) == 0 && (text[size] == ':' || text[size] == ',');
}

/* The text without the name that the prefix begins with too: "row r: ..." of "table t, row r: ..." with the
 * prefix "table t, path p". */
static const char *
skip_common_name(const char *text, const char *prefix)
{
    size_t size = strcspn(prefix, ",");
    return prefix[size] == ',' && begins_with(text, prefix, size) ? text + size + strlen(", ") : text;
}

bool
kw_error_prefix(kw_error *error, const char *format, ...)
{
    if (!error)
        return false;
    char old[KW_ERROR_TEXT_MAX];
    memcpy(old, error->text, sizeof old);
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(error->text, sizeof error->text, format, arguments);
    va_end(arguments);
    if (begins_with(old, error->text, strlen(error->text)))
        memcpy(error->text, old, sizeof old);
    else if (length >= 0 && (size_t)length < sizeof error->text)
        g_snprintf(error->text + length, sizeof error->text - (size_t)length, ": %s",
                   skip_common_name(old, error->text)); /* cuts */
    trim_utf8(error->text);
    return false;
}

bool
kw_error_suffix(kw_error *error, const char *suffix)
{
    if (!error)
        return false;
    size_t size = strlen(suffix), most = sizeof error->text - 1 - MIN(size, sizeof error->text - 1);
    if (strlen(error->text) > most)
        error->text[most] = '\0';
    trim_utf8(error->text);
    g_strlcat(error->text, suffix, sizeof error->text);
    trim_utf8(error->text);
    return false;
}

const char *
kw_code_name(kw_code code)
{
    switch (code) {
    case KW_OK:
        return "OK";
    case KW_INVALID:
        return "INVALID";
    case KW_NOT_FOUND:
        return "NOT_FOUND";
    case KW_DENIED:
        return "DENIED";
    case KW_LIMIT:
        return "LIMIT";
    case KW_BUSY:
        return "BUSY";
    case KW_TIMEOUT:
        return "TIMEOUT";
    case KW_UNAVAILABLE:
        return "UNAVAILABLE";
    case KW_REFUSED:
        return "REFUSED";
    case KW_CORRUPT:
        return "CORRUPT";
    case KW_INTERNAL:
        return "INTERNAL";
    }
    g_assert_not_reached();
}
