/* Clocks that are set back show some local times twice. Private to this module.
 *
 *   UTC     00:00 ------ 00:30 ------ 01:00 ------ 01:30 ------ 02:00
 *   Berlin  02:00 ------ 02:30 ------ 03:00|02:00  02:30 ------ 03:00     the last Sunday of October
 *
 * Records of both times have the same calendar piece. Another part of the key must distinguish them: the time
 * itself, another clock, or a generated number (unique.h).
 */
#pragma once

#include "rule/compile.h"

/* True if records of a local time that occurs twice can share a key. Ignores calendars of whole days: such a
 * day only becomes longer. ever: considers all times; otherwise those from KW_CLOCKS_FROM on. */
bool kw_clock_changes_collide(const kw_layout *layout, const kw_component *clock, bool ever, kw_arena *arena);

/* The most by which one change from KW_CLOCKS_FROM on sets a clock back; and the most by which clocks are put
 * forward within the given number of seconds. */
int64_t kw_clock_set_back_most(const kw_zone *zone);
int64_t kw_clock_set_forward_most(const kw_zone *zone, int64_t within_s);

/* When clocks were first set back after KW_CLOCKS_FROM, in UTC seconds; INT64_MAX: never. */
int64_t kw_clock_set_back_since(const kw_zone *zone);

/* True if the local time of this moment (UTC seconds) occurs twice. */
bool kw_local_time_repeats(const kw_zone *zone, int64_t utc);
