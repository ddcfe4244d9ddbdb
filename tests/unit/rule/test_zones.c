/* Steps of time zones as text, pins, and the years in which pinned and present data differ. */
#include "rule/zone_pins.h"

#include <glib.h>

#define BERLIN "Europe/Berlin"

static const kw_zone *
zone_of(const char *name, const char *data, kw_arena *arena)
{
    const kw_zone *zone = kw_zone_make(name, data, arena);
    g_assert_nonnull(zone);
    return zone;
}

static void
pin(const char *key, const char *steps)
{
    kw_error error;
    g_assert_true(kw_zone_pin(key, steps, &error));
}

/* Every zone of the system's list keeps its steps through its text. */
KW_TEST(test_text, "/zones/text")
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    g_autofree char *list = NULL;
    size_t longest = 0, zones = 0;
    g_assert_true(g_file_get_contents("/usr/share/zoneinfo/tzdata.zi", &list, NULL, NULL));
    g_auto(GStrv) lines = g_strsplit(list, "\n", -1);
    for (char **line = lines; *line; line++) {
        if ((*line)[0] != 'Z')
            continue;
        g_auto(GStrv) words = g_strsplit(*line, " ", 3);
        const kw_zone *zone = zone_of(words[1], NULL, arena);
        const char *text = kw_zone_print(zone, arena);
        longest = MAX(longest, strlen(text));
        g_assert_cmpuint(strlen(text), <=, KW_ZONE_TEXT_MAX);
        pin(words[1], text);
        const kw_zone *pinned = zone_of(words[1], NULL, arena);
        g_assert_cmpuint(kw_zone_hash(pinned), ==, kw_zone_hash(zone));
        g_assert_cmpuint(pinned->count, ==, zone->count);
        g_assert_cmpint(pinned->end, ==, zone->end);
        g_assert_true(pinned->falls == zone->falls);
        g_assert_null(kw_zone_difference(pinned, arena));
        zones++;
    }
    g_test_message("%zu zones, the longest text has %zu bytes", zones, longest);
    g_assert_cmpuint(zones, >, 300);
    kw_zone_unpin_all();
}

KW_TEST(test_pins, "/zones/pins")
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    const kw_zone *before = zone_of(BERLIN, NULL, arena);
    g_assert_true(kw_zone_is_current(before));
    pin(BERLIN, "3600 0:7200");
    g_assert_false(kw_zone_is_current(before));
    const kw_zone *pinned = zone_of(BERLIN, NULL, arena);
    g_assert_cmpuint(pinned->count, ==, 2);
    g_assert_cmpint(pinned->steps[1].offset, ==, 7200);
    g_assert_cmpint(pinned->end, ==, INT64_MAX);
    g_assert_true(kw_zone_is_current(pinned));
    const kw_zone *edition = zone_of(BERLIN, "2026b", arena);
    g_assert_cmpstr(edition->key, ==, BERLIN " 2026b");
    g_assert_cmpstr(edition->name, ==, BERLIN);
    g_assert_cmpuint(kw_zone_hash(edition), ==, kw_zone_hash(before));
    g_assert_null(zone_of("UTC", NULL, arena)->key);
    g_assert_null(zone_of("+08:00", "2026b", arena)->key);
    g_assert_true(kw_zone_is_current(zone_of("+08:00", NULL, arena)));
    kw_zone_unpin_all();
    g_assert_true(kw_zone_is_current(before));
}

KW_TEST(test_damaged, "/zones/damaged")
{
    static const char *const texts[] = {"",
                                        " ",
                                        "x",
                                        "3600 5",
                                        "3600 5:",
                                        "3600 5:3600",
                                        "3600 5:1 5:2",
                                        "3600 5:1 4:2",
                                        "3600 5:1x",
                                        "3600:5",
                                        "3600 5:1  6:2"};
    kw_error error;
    for (size_t i = 0; i < G_N_ELEMENTS(texts); i++) {
        g_assert_false(kw_zone_pin(BERLIN, texts[i], &error));
        g_assert_cmpint(error.code, ==, KW_CORRUPT);
    }
    g_autoptr(GString) large = g_string_new("0");
    for (int i = 0; large->len <= KW_ZONE_TEXT_MAX; i++)
        g_string_append_printf(large, " %d:%d", i, i % 2 + 1);
    g_assert_false(kw_zone_pin(BERLIN, large->str, &error));
    kw_zone_unpin_all();
}

/* Berlin's data with other offsets in some years. */
static const char *
difference(const char *from, const char *to)
{
    static char shown[200];
    g_autoptr(kw_arena) arena = kw_arena_new();
    g_autofree char *text = g_strdup(kw_zone_print(zone_of(BERLIN, NULL, arena), arena));
    g_auto(GStrv) parts = g_strsplit(text, from, 2);
    g_assert_nonnull(parts[1]);
    g_autofree char *changed = g_strjoinv(to, parts);
    pin(BERLIN, changed);
    const char *years = kw_zone_difference(zone_of(BERLIN, NULL, arena), arena);
    g_strlcpy(shown, years ? years : "none", sizeof shown);
    kw_zone_unpin_all();
    return shown;
}

KW_TEST(test_differences, "/zones/differences")
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    g_assert_cmpstr(difference(" 1269738000:7200", " 1269738000:7200"), ==, "none");
    g_assert_cmpstr(difference(" 1269738000:7200", " 1269738000:5400"), ==, "2010"); /* the summer of 2010 */
    g_assert_cmpstr(difference(" 1269738000:7200 1288486800:3600", ""), ==, "2010");
    g_assert_cmpstr(difference("3208 ", "3209 "), ==, "1800 to 1893");
    pin(BERLIN, "3600");
    const char *years = kw_zone_difference(zone_of(BERLIN, NULL, arena), arena);
    g_assert_true(g_str_has_suffix(years, "more ranges") || g_str_has_suffix(years, "to 2199"));
    kw_zone_unpin_all();
}
