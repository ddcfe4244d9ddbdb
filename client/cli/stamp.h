/* Timestamps between people and the gateway.
 *
 * Read: an integer in the field's unit; ISO 8601 like 2026-11-21T10:00:00Z, 2026-11-21 10:00:00.250+01:00,
 * 2026-11-21 (no zone means UTC); now, now-90s, now+2h (s m h d). Written: ISO 8601 in UTC with as many
 * digits as the unit has.
 */
#pragma once

#include "keyway.h"

/* unit: s, ms, us or ns; NULL is ms. False: the text is no timestamp, or out of the unit's reach. */
bool kw_stamp_parse(const char *text, const char *unit, gint64 *ret_stamp);

/* The caller's. A stamp beyond the years 1 to 9999 is written as its number. */
char *kw_stamp_print(gint64 stamp, const char *unit);
