/* Numbers, sizes and durations. */
#include "config/parse.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

typedef struct unit {
    const char *name;
    int64_t factor;
} unit;

static const unit size_units[] = {{"TiB", (int64_t)1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20},
                                  {"KiB", 1 << 10},          {"B", 1},         {NULL, 0}};
static const unit time_units[] = {{"d", 86400000}, {"h", 3600000}, {"min", 60000},
                                  {"s", 1000},     {"ms", 1},      {NULL, 0}};

static bool
refuse(kw_refusal *ret_refusal, const char *why, const char *hint)
{
    *ret_refusal = (kw_refusal){why, hint};
    return false;
}

bool
kw_parse_bool(const char *text, bool *ret_value, kw_refusal *ret_refusal)
{
    bool yes = strcmp(text, "true") == 0;
    if (!yes && strcmp(text, "false") != 0)
        return refuse(ret_refusal, "is neither true nor false", "write true or false");
    *ret_value = yes;
    return true;
}

/* Parses digits with an optional minus; ret_rest is the text after them. */
static bool
leading_number(const char *text, int64_t *ret_number, const char **ret_rest)
{
    const char *digits = text + (*text == '-');
    if (!g_ascii_isdigit(*digits))
        return false;
    errno = 0;
    char *rest;
    int64_t number = strtoll(text, &rest, 10);
    if (errno)
        return false;
    *ret_number = number;
    *ret_rest = rest;
    return true;
}

bool
kw_parse_int(const char *text, int64_t *ret_value, kw_refusal *ret_refusal)
{
    const char *rest;
    int64_t number;
    if (!leading_number(text, &number, &rest) || *rest)
        return refuse(ret_refusal, "is not a whole number", "write digits only, such as 10000");
    *ret_value = number;
    return true;
}

static bool
value_with_unit(const char *text, const unit *units, int64_t *ret_value)
{
    const char *rest;
    int64_t number;
    if (!leading_number(text, &number, &rest) || number < 0)
        return false;
    while (units->name && strcmp(units->name, rest) != 0)
        units++;
    int64_t value;
    if (!units->name || __builtin_mul_overflow(number, units->factor, &value))
        return false;
    *ret_value = value;
    return true;
}

bool
kw_parse_size(const char *text, int64_t *ret_bytes, kw_refusal *ret_refusal)
{
    const char *rest;
    int64_t number;
    if (leading_number(text, &number, &rest) && !*rest && number >= 0) {
        *ret_bytes = number;
        return true;
    }
    if (!value_with_unit(text, size_units, ret_bytes))
        return refuse(ret_refusal, "is not a size",
                      "write a number of bytes, or a whole number with KiB, MiB, GiB or TiB: 16MiB");
    return true;
}

bool
kw_parse_duration_ms(const char *text, int64_t *ret_ms, kw_refusal *ret_refusal)
{
    if (strcmp(text, "0") == 0) {
        *ret_ms = 0;
        return true;
    }
    const char *rest;
    int64_t number;
    if (leading_number(text, &number, &rest) && !*rest && number >= 0)
        return refuse(ret_refusal, "has no unit", "add ms, s, min, h or d: 10s");
    if (!value_with_unit(text, time_units, ret_ms))
        return refuse(ret_refusal, "is not a duration", "write a whole number with ms, s, min, h or d: 10s");
    return true;
}

static char *
text_with_unit(int64_t value, const unit *units, const char *zero)
{
    if (value == 0)
        return g_strdup(zero);
    while (units[1].name && value % units->factor != 0)
        units++;
    return g_strdup_printf("%" G_GINT64_FORMAT "%s", (gint64)(value / units->factor), units->name);
}

char *
kw_size_text(int64_t bytes)
{
    return text_with_unit(bytes, size_units, "0");
}

char *
kw_duration_text(int64_t ms)
{
    return text_with_unit(ms, time_units, "0");
}
