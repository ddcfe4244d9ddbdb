/* Dates of the proleptic Gregorian calendar as counts of days, by integer arithmetic alone (the method that
 * Howard Hinnant published as "chrono-compatible low-level date algorithms"). */
#pragma once

#include <stdint.h>

typedef struct kw_civil {
    int64_t year;
    uint32_t month; /* 1..12 */
    uint32_t day;   /* 1..31 */
} kw_civil;

static inline int64_t
kw_floor_div(int64_t value, int64_t by)
{
    return value / by - (value % by < 0);
}

/* Days since 1970-01-01. */
static inline int64_t
kw_days_of(int64_t year, uint32_t month, uint32_t day)
{
    int64_t shifted = year - (month <= 2); /* years begin in March */
    int64_t era = kw_floor_div(shifted, 400);
    int64_t of_era = shifted - era * 400;
    int64_t of_year = (153 * ((int64_t)month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

static inline kw_civil
kw_civil_of(int64_t days)
{
    int64_t shifted = days + 719468;
    int64_t era = kw_floor_div(shifted, 146097);
    int64_t of_era = shifted - era * 146097;
    int64_t year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    int64_t of_year = of_era - (365 * year + year / 4 - year / 100);
    int64_t month = (5 * of_year + 2) / 153; /* from March */
    uint32_t day = (uint32_t)(of_year - (153 * month + 2) / 5 + 1);
    uint32_t shown = (uint32_t)(month < 10 ? month + 3 : month - 9);
    return (kw_civil){.year = year + era * 400 + (shown <= 2), .month = shown, .day = day};
}
