/* Time zones as tables of offsets: read from the system's time zone data, or from the pins (zone_pins.h),
 * when a policy is compiled; pure after that.
 *
 *   steps   [ -inf .. from1 )  [ from1 .. from2 )  ...   each with its offset from UTC, in seconds
 *
 * Zones whose offset keeps changing are known up to the end of the year 2199.
 */
#pragma once

#include "base/arena.h"

typedef struct kw_zone_step {
    int64_t from;   /* UTC seconds; the first one's is INT64_MIN */
    int64_t offset; /* local time minus UTC, in seconds */
} kw_zone_step;

typedef struct kw_zone {
    const char *name;  /* as given; "UTC" for every zone whose offset is always zero */
    const char *given; /* as given */
    const char *key;   /* under which its steps are pinned: "Europe/Berlin", or "Europe/Berlin 2026b"; NULL:
                          they cannot change ("UTC", "+08:00") */
    const kw_zone_step *steps;
    size_t count;
    int64_t end; /* UTC seconds: the offset is unknown from here on; INT64_MAX: it is always known */
    bool falls;  /* true if some step sets the clock back, so that local times occur twice */
} kw_zone;

/* Accepts a name of the time zone database ("Europe/Berlin"), "UTC", or a fixed offset ("+08:00"). data: the
 * name that the policy gives to an edition of the zone's data, such as "2026b"; NULL: none. Different
 * editions are pinned separately. NULL if this machine has no such zone. In the arena. */
const kw_zone *kw_zone_make(const char *name, const char *data, kw_arena *arena);

/* Index of the step that contains a moment. */
static inline size_t
kw_zone_find(const kw_zone *zone, int64_t utc)
{
    size_t low = 0, high = zone->count;
    while (high - low > 1) {
        size_t middle = (low + high) / 2;
        if (zone->steps[middle].from <= utc)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* A 64-bit hash of the steps, without the name. */
uint64_t kw_zone_hash(const kw_zone *zone);
