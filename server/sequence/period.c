#include "sequence/period.h"

#define SECOND INT64_C(1000)
#define MINUTE (SECOND * 60)
#define HOUR (MINUTE * 60)
#define DAY (HOUR * 24)
#define LEAST_MS (-INT64_C(62135596800000)) /* 0001-01-01 */
#define MOST_MS INT64_C(253402300799999)    /* the end of 9999 */

static int64_t
floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

static int64_t
to_ms(kw_time_unit unit, int64_t timestamp)
{
    switch (unit) {
    case KW_UNIT_S:
        return timestamp > MOST_MS / SECOND    ? INT64_MAX
               : timestamp < LEAST_MS / SECOND ? INT64_MIN
                                               : timestamp * SECOND;
    case KW_UNIT_MS:
        return timestamp;
    case KW_UNIT_US:
        return floor_div(timestamp, 1000);
    case KW_UNIT_NS:
        return floor_div(timestamp, 1000000);
    }
    g_assert_not_reached();
}

static int64_t
shift_of(const kw_zone *zone, int64_t utc_ms)
{
    if (!zone)
        return 0;
    return zone->steps[kw_zone_find(zone, floor_div(utc_ms, SECOND))].offset * SECOND;
}

static int64_t
length_of(kw_period period)
{
    switch (period) {
    case KW_PERIOD_SECOND:
        return SECOND;
    case KW_PERIOD_MINUTE:
        return MINUTE;
    case KW_PERIOD_HOUR:
        return HOUR;
    case KW_PERIOD_DAY:
        return DAY;
    case KW_PERIOD_EVER:
    case KW_PERIOD_MONTH:
    case KW_PERIOD_YEAR:
        break;
    }
    g_assert_not_reached();
}

/* Local midnight of the first day of a month. months: 12 * year + month, where January is 0. */
static int64_t
month_ms(int64_t months)
{
    g_autoptr(GDateTime) first = g_date_time_new_utc((int)(months / 12), (int)(months % 12) + 1, 1, 0, 0, 0);
    return first ? g_date_time_to_unix(first) * SECOND : MOST_MS + 1;
}

bool
kw_period_find(kw_period period, const kw_zone *zone, kw_time_unit unit, int64_t timestamp,
               kw_period_at *ret_at)
{
    int64_t utc_ms = to_ms(unit, timestamp);
    if (utc_ms < LEAST_MS + DAY || utc_ms > MOST_MS - DAY)
        return false;
    int64_t shift_ms = shift_of(zone, utc_ms), local_ms = utc_ms + shift_ms;
    kw_period_at at = {.shift_ms = shift_ms, .time_ms = local_ms};
    if (period == KW_PERIOD_MONTH || period == KW_PERIOD_YEAR) {
        g_autoptr(GDateTime) local = g_date_time_new_from_unix_utc(floor_div(local_ms, SECOND));
        int64_t year = g_date_time_get_year(local), month = g_date_time_get_month(local) - 1;
        bool monthly = period == KW_PERIOD_MONTH;
        at.index = monthly ? year * 12 + month : year;
        at.start_ms = month_ms(monthly ? at.index : year * 12);
        at.end_ms = month_ms(monthly ? at.index + 1 : (year + 1) * 12);
    } else {
        int64_t length = length_of(period);
        at.index = floor_div(local_ms, length);
        at.start_ms = at.index * length;
        at.end_ms = at.start_ms + length;
    }
    *ret_at = at;
    return true;
}

const char *
kw_period_name(kw_period period)
{
    static const char *const names[] = {"ever", "second", "minute", "hour", "day", "month", "year"};
    return names[period];
}

void
kw_period_print(kw_period period, const kw_period_at *at, char *to, size_t size)
{
    static const char *const forms[] = {
        "", "%Y-%m-%d %H:%M:%S", "%Y-%m-%d %H:%M", "%Y-%m-%d %H", "%Y-%m-%d", "%Y-%m", "%Y"};
    g_assert(period != KW_PERIOD_EVER && size > 0);
    g_autoptr(GDateTime) start = g_date_time_new_from_unix_utc(floor_div(at->start_ms, SECOND));
    g_autofree char *text = g_date_time_format(start, forms[period]);
    g_strlcpy(to, text, size);
}
