/* Timestamps as text for people.
 *
 * Input:
 *   - an integer in the field's unit; one that looks like a date, such as 20261121, needs a sign: +20261121
 *   - ISO 8601: 2026-11-21, 2026-11-21T10:00Z, 2026-11-21 10:00:00.250+01:00, 20261121T100000Z (no zone means
 *     UTC; a zone in brackets after an offset is ignored)
 *   - now, now-90s, now+2h (s m h d)
 * Second 60 is accepted only at the 27 leap seconds up to 2016. It is the same timestamp as second 0 of the
 * next minute, as on every computer. Output: ISO 8601 in UTC with as many digits as the unit has.
 */
#pragma once

#include "keyway.h"

/* unit: s, ms, us or ns; NULL is ms. False: *ret_reason says why; the caller frees it. */
bool kw_stamp_parse(const char *text, const char *unit, gint64 *ret_stamp, char **ret_reason);

/* The caller frees it. A timestamp outside the years 1 to 9999 is printed as its number. */
char *kw_stamp_print(gint64 stamp, const char *unit);
