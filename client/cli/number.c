/* See number.h. The digits are moved as text, because a double would round them. */
#include "cli/number.h"

#include <string.h>

/* No integer of 64 bits has more digits. */
#define DIGITS_MAX 19

static const char *
take_digits(const char *at, GString *to)
{
    while (g_ascii_isdigit(*at))
        g_string_append_c(to, *at++);
    return at;
}

/* Appends all digits; *ret_power is the power of ten of the last one. */
static bool
take_number(const char *at, GString *digits, gint64 *ret_power)
{
    gint64 power = 0;
    gint64 exponent = 0;

    at = take_digits(at, digits);
    if (*at == '.') {
        gsize whole = digits->len;

        at = take_digits(at + 1, digits);
        power -= (gint64)(digits->len - whole);
    }
    if (digits->len > 0 && (*at == 'e' || *at == 'E')) {
        at += at[1] == '+' ? 2 : 1;
        if (!g_ascii_string_to_signed(at, 10, G_MININT32, G_MAXINT32, &exponent, NULL))
            return false;
        at += strlen(at);
    }
    *ret_power = power + exponent;
    return digits->len > 0 && *at == '\0';
}

bool
kw_integer_parse(const char *text, gint64 *ret_number)
{
    g_autoptr(GString) digits = g_string_new(NULL);
    gsize zeros;
    gint64 power;

    if (!take_number(text + (*text == '-' || *text == '+' ? 1 : 0), digits, &power))
        return false;
    zeros = strspn(digits->str, "0");
    g_string_erase(digits, 0, (gssize)zeros);
    for (; digits->len > 0 && power < 0 && digits->str[digits->len - 1] == '0'; power++)
        g_string_truncate(digits, digits->len - 1);
    if (digits->len == 0)
        return g_ascii_string_to_signed("0", 10, 0, 0, ret_number, NULL);
    if (power < 0 || power > DIGITS_MAX)
        return false;
    for (; power > 0; power--)
        g_string_append_c(digits, '0');
    if (*text == '-')
        g_string_prepend_c(digits, '-');
    return g_ascii_string_to_signed(digits->str, 10, G_MININT64, G_MAXINT64, ret_number, NULL);
}
