/* Timestamps. GDateTime has only microseconds, so the fraction of a second is parsed here. */
#include "cli/stamp.h"

#include <string.h>

static gint64
ticks_per_second(const char *unit)
{
    if (unit == NULL || g_str_equal(unit, "ms"))
        return 1000;
    if (g_str_equal(unit, "s"))
        return 1;
    return g_str_equal(unit, "us") ? 1000000 : 1000000000;
}

static bool
scale(gint64 seconds, gint64 ticks, gint64 per_second, gint64 *ret_stamp)
{
    gint64 stamp;

    if (__builtin_mul_overflow(seconds, per_second, &stamp) || __builtin_add_overflow(stamp, ticks, &stamp))
        return false;
    *ret_stamp = stamp;
    return true;
}

static bool
parse_now(const char *text, gint64 per_second, gint64 *ret_stamp)
{
    gint64 now_us = g_get_real_time();
    gint64 seconds = 0;
    gint64 moved;
    char *end = (char *)text + strlen("now");

    if (!g_str_has_prefix(text, "now"))
        return false;
    if (*end == '+' || *end == '-') {
        gint64 amount = g_ascii_strtoll(end, &end, 10);
        const char *units = "smhd";
        const gint64 seconds_of[] = {1, 60, 3600, 86400};
        const char *unit = *end == '\0' ? NULL : strchr(units, *end);

        if (unit == NULL || __builtin_mul_overflow(amount, seconds_of[unit - units], &seconds))
            return false;
        end++;
    }
    return *end == '\0' && !__builtin_add_overflow(now_us / G_USEC_PER_SEC, seconds, &moved) &&
           scale(moved, (gint64)((double)(now_us % G_USEC_PER_SEC) / 1e6 * (double)per_second), per_second,
                 ret_stamp);
}

/* Removes ".250" from the text and returns it in ticks; digits beyond the unit's must be zeros. */
static bool
cut_fraction(GString *text, gint64 per_second, gint64 *ret_ticks)
{
    const char *point = strpbrk(text->str, ".,");
    gint64 worth = per_second;
    gint64 ticks = 0;
    gsize digits = 0;

    *ret_ticks = 0;
    if (point == NULL)
        return true;
    for (; g_ascii_isdigit(point[1 + digits]); digits++) {
        gint64 digit = point[1 + digits] - '0';

        worth /= 10;
        if (worth == 0 && digit != 0)
            return false;
        ticks += digit * worth;
    }
    g_string_erase(text, point - text->str, (gssize)digits + 1);
    *ret_ticks = ticks;
    return digits > 0;
}

static bool
parse_date(const char *given, gint64 per_second, gint64 *ret_stamp)
{
    g_autoptr(GString) text = g_string_new(given);
    g_autoptr(GTimeZone) utc = g_time_zone_new_utc();
    g_autoptr(GDateTime) date = NULL;
    gint64 ticks;

    if (text->len < strlen("2026-11-21") || !cut_fraction(text, per_second, &ticks))
        return false;
    if (text->len == strlen("2026-11-21"))
        g_string_append(text, "T00:00:00Z");
    if (text->str[10] == ' ')
        text->str[10] = 'T';
    if (text->len == strlen("2026-11-21T10:00"))
        g_string_append(text, ":00");
    date = g_date_time_new_from_iso8601(text->str, utc);
    return date != NULL && scale(g_date_time_to_unix(date), ticks, per_second, ret_stamp);
}

bool
kw_stamp_parse(const char *text, const char *unit, gint64 *ret_stamp)
{
    gint64 per_second = ticks_per_second(unit);

    return g_ascii_string_to_signed(text, 10, G_MININT64, G_MAXINT64, ret_stamp, NULL) ||
           parse_now(text, per_second, ret_stamp) || parse_date(text, per_second, ret_stamp);
}

char *
kw_stamp_print(gint64 stamp, const char *unit)
{
    gint64 per_second = ticks_per_second(unit);
    gint64 ticks = stamp % per_second;
    gint64 seconds = stamp / per_second;
    int digits = per_second == 1 ? 0 : per_second == 1000 ? 3 : per_second == 1000000 ? 6 : 9;
    g_autoptr(GDateTime) date = NULL;
    g_autofree char *text = NULL;

    if (ticks < 0) {
        ticks += per_second;
        seconds--;
    }
    date = g_date_time_new_from_unix_utc(seconds);
    if (date == NULL)
        return g_strdup_printf("%" G_GINT64_FORMAT, stamp);
    text = g_strdup_printf("%04d-%02d-%02dT%02d:%02d:%02d", g_date_time_get_year(date),
                           g_date_time_get_month(date), g_date_time_get_day_of_month(date),
                           g_date_time_get_hour(date), g_date_time_get_minute(date),
                           g_date_time_get_second(date));
    if (digits == 0)
        return g_strdup_printf("%sZ", text);
    return g_strdup_printf("%s.%0*" G_GINT64_FORMAT "Z", text, digits, ticks);
}
