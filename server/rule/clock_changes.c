#include "rule/clock_changes.h"

#include "rule/unique.h"

/* By how much the clock is set back at this step, which is not the first; 0: it is not. */
static int64_t
set_back_at(const kw_zone *zone, size_t step)
{
    return MAX(zone->steps[step - 1].offset - zone->steps[step].offset, 0);
}

int64_t
kw_clock_set_back_since(const kw_zone *zone)
{
    for (size_t step = 1; step < zone->count; step++)
        if (set_back_at(zone, step) && zone->steps[step].from >= KW_CLOCKS_FROM)
            return zone->steps[step].from;
    return INT64_MAX;
}

int64_t
kw_clock_set_back_most(const kw_zone *zone)
{
    int64_t most = 0;
    for (size_t step = 1; step < zone->count; step++)
        if (zone->steps[step].from >= KW_CLOCKS_FROM)
            most = MAX(most, set_back_at(zone, step));
    return most;
}

int64_t
kw_clock_set_forward_most(const kw_zone *zone, int64_t within_s)
{
    int64_t most = 0;
    for (size_t first = 1; first < zone->count; first++) {
        const kw_zone_step *from = &zone->steps[first];
        for (size_t last = first; from->from >= KW_CLOCKS_FROM && last < zone->count; last++) {
            if (zone->steps[last].from - from->from > within_s)
                break;
            most = MAX(most, zone->steps[last].offset - from[-1].offset);
        }
    }
    return most;
}

bool
kw_local_time_repeats(const kw_zone *zone, int64_t utc)
{
    size_t step = kw_zone_find(zone, utc);
    /* Step 0 has no beginning, and there is no step before it. */
    if (step > 0 && utc - zone->steps[step].from < set_back_at(zone, step))
        return true;
    return step + 1 < zone->count && zone->steps[step + 1].from - utc <= set_back_at(zone, step + 1);
}

static bool
is_ever_set_back(const kw_zone *zone, bool ever)
{
    return ever ? zone->falls : kw_clock_set_back_since(zone) != INT64_MAX;
}

/* The least time between two moments with the same local time. */
static int64_t
least_set_back(const kw_zone *zone)
{
    int64_t least = INT64_MAX;
    for (size_t step = 1; step < zone->count; step++)
        if (set_back_at(zone, step))
            least = MIN(least, set_back_at(zone, step));
    return least;
}

/* True if the other piece depends on the time and differs between the two moments. */
static bool
distinguishes(const kw_component *other, const kw_component *clock, bool ever)
{
    if (other == clock || (other->clock != clock->clock && other->field != clock->clock))
        return false;
    if (!other->offsets)
        return true; /* to the second, or finer */
    return !is_ever_set_back(other->offsets, ever) && other->cell_s <= least_set_back(clock->offsets);
}

bool
kw_clock_changes_collide(const kw_layout *layout, const kw_component *clock, bool ever, kw_arena *arena)
{
    if (!clock->offsets || clock->cell_s >= 86400 || !is_ever_set_back(clock->offsets, ever))
        return false;
    for (size_t index = 0; index < layout->count; index++)
        if (distinguishes(layout->components[index], clock, ever))
            return false;
    return !kw_unique_any(layout, ever, arena);
}
