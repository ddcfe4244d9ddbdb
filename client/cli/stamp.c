/* See stamp.h. GDateTime has only microseconds, accepts second 60 of any minute, and gives no reasons: dates
 * are parsed here. */
#include "cli/stamp.h"

#include "cli/number.h"

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
    __int128 stamp =
        (__int128)seconds * per_second + ticks; /* the least one in ns is a fraction below its second */

    if (stamp < G_MININT64 || stamp > G_MAXINT64)
        return false;
    *ret_stamp = (gint64)stamp;
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

/* --- dates ------------------------------------------------------------------------------------ */

typedef struct date_parts {
    int year, month, day, hour, minute, second;
    gint64 ticks;     /* the fraction of the second */
    int offset_s;     /* of the zone: local time minus UTC */
    bool is_extended; /* 2026-11-21T10:00, not 20261121T1000 */
} date_parts;

/* Takes a number of `digits` digits. */
static bool
take(const char **at, int digits, int *ret_number)
{
    *ret_number = 0;
    for (int i = 0; i < digits; i++, (*at)++) {
        if (!g_ascii_isdigit(**at))
            return false;
        *ret_number = 10 * *ret_number + (**at - '0');
    }
    return true;
}

/* Takes the separator and a number of two digits. In the basic format, there are no separators. */
static bool
take_next(const char **at, const date_parts *parts, char separator, int *ret_number)
{
    if (parts->is_extended && **at != separator)
        return false;
    *at += parts->is_extended ? 1 : 0;
    return take(at, 2, ret_number);
}

static char *
take_day(const char **at, date_parts *parts)
{
    if (!take(at, 4, &parts->year))
        return g_strdup("write a date as YYYY-MM-DD");
    parts->is_extended = **at == '-';
    if (!take_next(at, parts, '-', &parts->month) || !take_next(at, parts, '-', &parts->day))
        return g_strdup("write a date as YYYY-MM-DD");
    if (parts->year == 0)
        return g_strdup("there is no year 0");
    if (parts->month < 1 || parts->month > 12)
        return g_strdup_printf("there is no month %02d", parts->month);
    if (!g_date_valid_dmy((GDateDay)parts->day, (GDateMonth)parts->month, (GDateYear)parts->year))
        return g_strdup_printf("month %04d-%02d has no day %02d", parts->year, parts->month, parts->day);
    return NULL;
}

/* Takes ".250". More digits than the unit has must be zeros. */
static char *
take_fraction(const char **at, gint64 per_second, date_parts *parts)
{
    gint64 worth = per_second;
    const char *digit = *at + 1;

    if (**at != '.' && **at != ',')
        return NULL;
    for (; g_ascii_isdigit(*digit); digit++) {
        worth /= 10;
        if (worth == 0 && *digit != '0')
            return g_strdup("its fraction of a second has more digits than the unit of the field");
        parts->ticks += (*digit - '0') * worth;
    }
    if (digit == *at + 1)
        return g_strdup("the digits of the fraction are missing");
    *at = digit;
    return NULL;
}

static char *
take_time(const char **at, gint64 per_second, date_parts *parts)
{
    if (**at == '\0')
        return parts->is_extended ? NULL : g_strdup("write a date as YYYY-MM-DD");
    if (strchr("Tt ", **at) == NULL)
        return g_strdup("T or a blank must follow the date");
    (*at)++;
    if (!take(at, 2, &parts->hour) || !take_next(at, parts, ':', &parts->minute))
        return g_strdup("write a time as hh:mm:ss");
    if (parts->is_extended ? **at == ':' : g_ascii_isdigit(**at)) {
        if (!take_next(at, parts, ':', &parts->second))
            return g_strdup("write a time as hh:mm:ss");
    }
    if (parts->hour > 23 || parts->minute > 59 || parts->second > 60)
        return g_strdup_printf("there is no time %02d:%02d:%02d", parts->hour, parts->minute, parts->second);
    return take_fraction(at, per_second, parts);
}

static char *
take_offset(const char **at, date_parts *parts)
{
    int hours;
    int minutes = 0;
    int sign = **at == '-' ? -1 : 1;

    if (**at != '+' && **at != '-')
        return g_strdup("only Z or an offset such as +08:00 can follow the time");
    (*at)++;
    if (!take(at, 2, &hours))
        return g_strdup("write an offset as +hh:mm");
    *at += **at == ':' ? 1 : 0;
    if (g_ascii_isdigit(**at) && !take(at, 2, &minutes))
        return g_strdup("write an offset as +hh:mm");
    if (hours > 23 || minutes > 59)
        return g_strdup_printf("there is no offset of %02d:%02d", hours, minutes);
    parts->offset_s = sign * (3600 * hours + 60 * minutes);
    return NULL;
}

/* Takes Z, UTC, or an offset such as +08:00, +0800 or +08. Java adds the name of the zone in brackets. */
static char *
take_zone(const char **at, date_parts *parts)
{
    char *reason = NULL;

    *at += **at == ' ' && (*at)[1] != '\0' ? 1 : 0;
    if (**at == '\0' || g_str_equal(*at, "UTC"))
        return NULL;
    if (**at == 'Z' || **at == 'z')
        (*at)++;
    else
        reason = take_offset(at, parts);
    if (reason != NULL || **at == '\0' || (**at == '[' && strchr(*at, ']') == *at + strlen(*at) - 1))
        return reason;
    return g_strdup("only Z or an offset such as +08:00 can follow the time");
}

/* True if a leap second was inserted before this second, which begins a day in UTC. */
static bool
follows_leap_second(gint64 seconds)
{
    /* In days since 1970, from 1972-07-01 to 2017-01-01. */
    static const gint16 days[] = {912,  1096, 1461,  1826,  2191,  2557,  2922,  3287,  3652,
                                  4199, 4564, 4929,  5660,  6574,  7305,  7670,  8217,  8582,
                                  8947, 9496, 10043, 10592, 13149, 14245, 15522, 16617, 17167};

    for (gsize i = 0; i < G_N_ELEMENTS(days); i++)
        if (seconds == (gint64)days[i] * 86400)
            return true;
    return false;
}

static char *
parse_date(const char *text, gint64 per_second, gint64 *ret_stamp)
{
    date_parts parts = {0};
    g_autoptr(GDateTime) local = NULL;
    char *reason = take_day(&text, &parts);
    gint64 seconds;

    if (reason == NULL)
        reason = take_time(&text, per_second, &parts);
    if (reason == NULL)
        reason = take_zone(&text, &parts);
    if (reason != NULL)
        return reason;
    local = g_date_time_new_utc(parts.year, parts.month, parts.day, parts.hour, parts.minute, 0);
    seconds = g_date_time_to_unix(local) + parts.second - parts.offset_s;
    if (parts.second == 60 && !follows_leap_second(seconds))
        return g_strdup("the last second of this minute is 59");
    return scale(seconds, parts.ticks, per_second, ret_stamp)
               ? NULL
               : g_strdup("it is out of the range of the unit of the field");
}

/* --- numbers ---------------------------------------------------------------------------------- */

/* A date without separators, alone or with hours and minutes, seconds, and ms. */
static bool
looks_like_date(const char *text)
{
    const char *at = text;
    date_parts parts = {0};
    gsize length = strlen(text);
    g_autofree char *reason = NULL;

    if (strspn(text, "0123456789") != length || (length != 8 && length != 12 && length != 14 && length != 17))
        return false;
    reason = take_day(&at, &parts);
    if (reason != NULL || parts.year < 1900 || parts.year > 2099)
        return false;
    return (!take(&at, 2, &parts.hour) || parts.hour < 24) &&
           (!take(&at, 2, &parts.minute) || parts.minute < 60);
}

#define DATE_DIGITS_MAX 17 /* of a date without separators, with ms */

bool
kw_stamp_parse(const char *text, const char *unit, gint64 *ret_stamp, char **ret_reason)
{
    gint64 per_second = ticks_per_second(unit);

    *ret_reason = NULL;
    if (looks_like_date(text)) {
        *ret_reason = g_strdup_printf("it looks like a date, but would be a number; write %.4s-%.2s-%.2s "
                                      "for the date, or +%s for the number",
                                      text, text + 4, text + 6, text);
        return false;
    }
    if (kw_integer_parse(text, ret_stamp) || parse_now(text, per_second, ret_stamp))
        return true;
    if (g_str_has_prefix(text, "now"))
        *ret_reason = g_strdup("after now, write + or -, a number, and s, m, h or d, such as now-10m");
    else if (strlen(text) > DATE_DIGITS_MAX && text[1 + strspn(text + 1, "0123456789")] == '\0')
        *ret_reason = g_strdup("it does not fit into 64 bits");
    else
        *ret_reason = parse_date(text, per_second, ret_stamp);
    return *ret_reason == NULL;
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
