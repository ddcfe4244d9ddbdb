#include "rule/zone_pins.h"

#include "base/thread.h"
#include "rule/zone_internal.h"

#include <glib.h>
#include <string.h>

/* Ranges of years that a text lists; the rest is counted. */
#define RANGES_MAX 6

static kw_mutex lock = {PTHREAD_MUTEX_INITIALIZER};
static GHashTable *pins; /* key -> steps as text; NULL: none */

/* --- steps as text ------------------------------------------------------------------------------- */

const char *
kw_zone_print(const kw_zone *zone, kw_arena *arena)
{
    g_autoptr(GString) text = g_string_new(NULL);
    g_string_append_printf(text, "%" G_GINT64_FORMAT, zone->steps[0].offset);
    for (size_t i = 1; i < zone->count; i++)
        g_string_append_printf(text, " %" G_GINT64_FORMAT ":%" G_GINT64_FORMAT, zone->steps[i].from,
                               zone->steps[i].offset);
    return kw_arena_text(arena, kw_bytes_of_text(text->str));
}

static bool
parse_number(const char **at, char end, int64_t *ret_number)
{
    char *stop;
    *ret_number = g_ascii_strtoll(*at, &stop, 10);
    if (stop == *at || g_ascii_isspace(**at) || (*stop != end && *stop != '\0'))
        return false;
    *at = *stop ? stop + 1 : stop;
    return true;
}

static bool
parse_step(const char **at, const kw_zone_step *previous, kw_zone_step *ret_step)
{
    return parse_number(at, ':', &ret_step->from) && parse_number(at, ' ', &ret_step->offset) &&
           ret_step->from > previous->from && ret_step->offset != previous->offset;
}

/* Appends the steps; false if the text is malformed. */
static bool
parse_steps(const char *text, GArray *steps)
{
    kw_zone_step step = {.from = INT64_MIN};
    const char *at = text;
    if (strlen(text) > KW_ZONE_TEXT_MAX || !parse_number(&at, ' ', &step.offset))
        return false;
    g_array_append_val(steps, step);
    while (*at) {
        kw_zone_step next;
        if (!parse_step(&at, &step, &next))
            return false;
        step = next;
        g_array_append_val(steps, step);
    }
    return true;
}

/* --- pins ---------------------------------------------------------------------------------------- */

bool
kw_zone_pin(const char *key, const char *steps, kw_error *ret_error)
{
    g_autoptr(GArray) parsed = g_array_new(FALSE, FALSE, sizeof(kw_zone_step));
    if (!parse_steps(steps, parsed))
        return kw_error_set(ret_error, KW_CORRUPT, "the steps of a time zone are damaged");
    kw_mutex_lock(&lock);
    if (!pins)
        pins = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    g_hash_table_replace(pins, g_strdup(key), g_strdup(steps));
    kw_mutex_unlock(&lock);
    return true;
}

bool
kw_zone_pinned_steps(const char *key, GArray *steps)
{
    kw_mutex_lock(&lock);
    const char *text = pins ? g_hash_table_lookup(pins, key) : NULL;
    bool found = text && parse_steps(text, steps);
    kw_mutex_unlock(&lock);
    return found;
}

void
kw_zone_unpin_all(void)
{
    kw_mutex_lock(&lock);
    g_clear_pointer(&pins, g_hash_table_unref);
    kw_mutex_unlock(&lock);
}

static bool
same_steps(const kw_zone_step *a, size_t a_count, const kw_zone_step *b, size_t b_count)
{
    if (a_count != b_count)
        return false;
    for (size_t i = 0; i < a_count; i++)
        if (a[i].from != b[i].from || a[i].offset != b[i].offset)
            return false;
    return true;
}

bool
kw_zone_is_current(const kw_zone *zone)
{
    g_autoptr(GArray) steps = g_array_new(FALSE, FALSE, sizeof(kw_zone_step));
    bool known =
        !zone->key || kw_zone_pinned_steps(zone->key, steps) || kw_zone_system_steps(zone->given, steps);
    return known && (!zone->key || same_steps(zone->steps, zone->count,
                                              (const kw_zone_step *)(void *)steps->data, steps->len));
}

/* --- differences --------------------------------------------------------------------------------- */

typedef struct years {
    int first, last;
} years;

static int
year_of(int64_t utc)
{
    g_autoptr(GDateTime) date = g_date_time_new_from_unix_utc(utc);
    return date ? g_date_time_get_year(date) : utc < 0 ? 1 : 9999;
}

/* Adds the years of [from, to). */
static void
add_years(GArray *ranges, int64_t from, int64_t to)
{
    years fresh = {year_of(MAX(from, KW_ZONE_BEGIN)), year_of(MIN(to, KW_ZONE_END) - 1)};
    years *last = ranges->len ? &g_array_index(ranges, years, ranges->len - 1) : NULL;
    if (last && fresh.first <= last->last + 1)
        last->last = MAX(last->last, fresh.last);
    else
        g_array_append_val(ranges, fresh);
}

/* The moment at which the next step after `index` begins. */
static int64_t
end_of_step(const kw_zone_step *steps, size_t count, size_t index)
{
    return index + 1 < count ? steps[index + 1].from : INT64_MAX;
}

static void
find_differences(const kw_zone_step *a, size_t a_count, const kw_zone_step *b, size_t b_count, GArray *ranges)
{
    int64_t from = INT64_MIN;
    for (size_t i = 0, j = 0; from < INT64_MAX;) {
        int64_t a_end = end_of_step(a, a_count, i), b_end = end_of_step(b, b_count, j),
                to = MIN(a_end, b_end);
        if (a[i].offset != b[j].offset)
            add_years(ranges, from, to);
        i += a_end == to;
        j += b_end == to;
        from = to;
    }
}

static const char *
print_years(const GArray *ranges, kw_arena *arena)
{
    const char *text = "";
    for (guint i = 0; i < MIN(ranges->len, RANGES_MAX); i++) {
        const years *each = &g_array_index(ranges, years, i);
        const char *comma = i ? ", " : "";
        text = each->first == each->last
                   ? kw_arena_printf(arena, "%s%s%d", text, comma, each->first)
                   : kw_arena_printf(arena, "%s%s%d to %d", text, comma, each->first, each->last);
    }
    return ranges->len > RANGES_MAX
               ? kw_arena_printf(arena, "%s and %u more ranges", text, ranges->len - RANGES_MAX)
               : text;
}

const char *
kw_zone_difference(const kw_zone *zone, kw_arena *arena)
{
    g_autoptr(GArray) steps = g_array_new(FALSE, FALSE, sizeof(kw_zone_step));
    g_autoptr(GArray) ranges = g_array_new(FALSE, FALSE, sizeof(years));
    if (!zone->key || !kw_zone_system_steps(zone->given, steps))
        return NULL;
    find_differences(zone->steps, zone->count, (const kw_zone_step *)(void *)steps->data, steps->len, ranges);
    return ranges->len ? print_years(ranges, arena) : NULL;
}
