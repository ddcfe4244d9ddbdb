/* Clocks that are put back show some local times twice. Inside of the module.
 *
 *   UTC     00:00 ------ 00:30 ------ 01:00 ------ 01:30 ------ 02:00
 *   Berlin  02:00 ------ 02:30 ------ 03:00|02:00  02:30 ------ 03:00     the last Sunday of October
 *
 * Records of both make the same piece of a calendar. Something else in the key must tell them apart: the time
 * itself, another clock, or a number that the gateway makes (unique.h).
 */
#pragma once

#include "rule/compile.h"

/* Can records of a local time that came twice share a key? Not of whole days, which are longer then. ever: at
 * any time; else from KW_CLOCKS_FROM on. */
bool kw_put_back_loses(const kw_layout *layout, const kw_component *clock, bool ever, kw_arena *arena);

/* By how much a clock is put back at most in one change from KW_CLOCKS_FROM on, and forward within so many
 * seconds. */
int64_t kw_put_back_most(const kw_zone *zone);
int64_t kw_put_forward_most(const kw_zone *zone, int64_t within_s);

/* When clocks were first put back from KW_CLOCKS_FROM on, in UTC seconds; INT64_MAX: never. */
int64_t kw_put_back_since(const kw_zone *zone);

/* Did the local time of this moment (UTC seconds) come twice? */
bool kw_put_back_twice(const kw_zone *zone, int64_t utc);
