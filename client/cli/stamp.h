/* Timestamps as text for people.
 *
 * Input:
 *   - an integer in the field's unit
 *   - ISO 8601: 2026-11-21, 2026-11-21T10:00:00Z, 2026-11-21 10:00:00.250+01:00 (no zone means UTC)
 *   - now, now-90s, now+2h (s m h d)
 * Output: ISO 8601 in UTC with as many digits as the unit has.
 */
#pragma once

#include "keyway.h"

/* unit: s, ms, us or ns; NULL is ms. False: the text is not a timestamp, or out of the unit's range. */
bool kw_stamp_parse(const char *text, const char *unit, gint64 *ret_stamp);

/* The caller frees it. A timestamp outside the years 1 to 9999 is printed as its number. */
char *kw_stamp_print(gint64 stamp, const char *unit);
