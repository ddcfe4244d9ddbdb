/* GLib reads the zones; encoding needs a faster table of steps. */
#include "rule/zone_internal.h"

#include "config/parse.h"

#include <glib.h>
#include <string.h>
#include <xxhash.h>

#define YEAR_SECONDS INT64_C(31556952)

static int64_t
offset_of(GTimeZone *found, int interval)
{
    return g_time_zone_get_offset(found, interval);
}

/* The end of the interval that contains `from`; KW_ZONE_END if it is later. */
static int64_t
end_of(GTimeZone *found, int interval, int64_t from)
{
    int64_t low = from, high = from, stride = YEAR_SECONDS / 4;
    while (high < KW_ZONE_END && g_time_zone_find_interval(found, G_TIME_TYPE_UNIVERSAL, high) == interval) {
        low = high;
        high = MIN(high + stride, KW_ZONE_END);
        stride *= 2;
    }
    if (g_time_zone_find_interval(found, G_TIME_TYPE_UNIVERSAL, high) == interval)
        return KW_ZONE_END;
    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;
        if (g_time_zone_find_interval(found, G_TIME_TYPE_UNIVERSAL, middle) == interval)
            low = middle;
        else
            high = middle;
    }
    return high;
}

/* Reads the steps at which the offset changes. */
static void
read_steps(GTimeZone *found, GArray *steps)
{
    int64_t from = KW_ZONE_BEGIN;
    int interval = g_time_zone_find_interval(found, G_TIME_TYPE_UNIVERSAL, from);
    kw_zone_step step = {.from = INT64_MIN, .offset = offset_of(found, interval)};
    g_array_append_val(steps, step);
    for (;;) {
        from = end_of(found, interval, from);
        if (from >= KW_ZONE_END)
            return;
        interval = g_time_zone_find_interval(found, G_TIME_TYPE_UNIVERSAL, from);
        int64_t offset = offset_of(found, interval);
        if (offset == step.offset)
            continue;
        step = (kw_zone_step){.from = from, .offset = offset};
        g_array_append_val(steps, step);
    }
}

static const char *
plain_name(const char *name, const kw_zone *zone)
{
    return zone->count == 1 && zone->steps[0].offset == 0 ? "UTC" : name;
}

bool
kw_zone_system_steps(const char *name, GArray *steps)
{
    kw_refusal refusal;
    g_autoptr(GTimeZone) found = kw_parse_zone(name, &refusal) ? g_time_zone_new_identifier(name) : NULL;
    if (found)
        read_steps(found, steps);
    return found != NULL;
}

static const char *
key_of(const char *name, const char *data, kw_arena *arena)
{
    if (*name == '+' || *name == '-' || strcmp(name, "UTC") == 0)
        return NULL;
    return data ? kw_arena_printf(arena, "%s %s", name, data) : name;
}

const kw_zone *
kw_zone_make(const char *name, const char *data, kw_arena *arena)
{
    g_autoptr(GArray) steps = g_array_new(FALSE, FALSE, sizeof(kw_zone_step));
    const char *given = kw_arena_text(arena, kw_bytes_of_text(name)), *key = key_of(given, data, arena);
    if (!(key && kw_zone_pinned_steps(key, steps)) && !kw_zone_system_steps(name, steps))
        return NULL;
    kw_zone *zone = KW_ARENA_NEW(arena, kw_zone);
    kw_zone_step *kept = KW_ARENA_ARRAY(arena, kw_zone_step, steps->len);
    memcpy(kept, steps->data, steps->len * sizeof *kept);
    zone->steps = kept;
    zone->count = steps->len;
    zone->given = given;
    zone->key = key;
    zone->name = plain_name(given, zone);
    zone->end = kept[zone->count - 1].from > KW_ZONE_END - 2 * YEAR_SECONDS ? KW_ZONE_END : INT64_MAX;
    for (size_t index = 1; index < zone->count; index++)
        zone->falls = zone->falls || kept[index].offset < kept[index - 1].offset;
    return zone;
}

uint64_t
kw_zone_hash(const kw_zone *zone)
{
    XXH64_state_t *state = XXH64_createState();
    g_assert(state);
    XXH64_reset(state, 0);
    for (size_t index = 0; index < zone->count; index++) {
        int64_t shown[2] = {GINT64_TO_LE(zone->steps[index].from), GINT64_TO_LE(zone->steps[index].offset)};
        XXH64_update(state, shown, sizeof shown);
    }
    uint64_t hash = XXH64_digest(state);
    XXH64_freeState(state);
    return hash;
}
