/* Clocks that are set back: by brute force over every change of a zone's clock.
 *
 * GLib reports when the clock of a zone is set back, and by how much. For each such time, pairs of moments
 * with the same local time are tried; the two records are equal except for generated numbers. Under rules
 * without hazards, no two acknowledged puts share a row key; under rules with one, some do since 1992. */
#include "rule/policies.h"

#define FIRST_YEAR_S INT64_C(-2208988800) /* 1900 */
#define LAST_YEAR_S INT64_C(2208988800)   /* 2040 */
#define YEAR_1992_S INT64_C(694224000)

typedef struct kw_test_moment {
    int64_t utc_s; /* when the clock is set back */
    int64_t by_s;
} kw_test_moment;

/* Half a day: no two changes are closer. */
#define STRIDE 43200

static GArray *
find_moments(const char *zone_name)
{
    GArray *moments = g_array_new(FALSE, FALSE, sizeof(kw_test_moment));
    g_autoptr(GTimeZone) zone = g_time_zone_new_identifier(zone_name);
    int interval = g_time_zone_find_interval(zone, G_TIME_TYPE_UNIVERSAL, FIRST_YEAR_S);
    for (int64_t at = FIRST_YEAR_S; at < LAST_YEAR_S; at += STRIDE) {
        int next = g_time_zone_find_interval(zone, G_TIME_TYPE_UNIVERSAL, at);
        int64_t low = at - STRIDE, high = at;
        int64_t by = g_time_zone_get_offset(zone, interval) - g_time_zone_get_offset(zone, next);
        while (by > 0 && high - low > 1) {
            int64_t middle = (low + high) / 2;
            bool changed = g_time_zone_find_interval(zone, G_TIME_TYPE_UNIVERSAL, middle) == next;
            *(changed ? &high : &low) = middle;
        }
        if (by > 0)
            g_array_append_val(moments, ((kw_test_moment){high, by}));
        interval = next;
    }
    return moments;
}

/* Determined once for each zone. */
static GArray *
moments_of(const char *zone)
{
    static GHashTable *found;
    if (!found)
        found = g_hash_table_new(g_str_hash, g_str_equal);
    GArray *moments = g_hash_table_lookup(found, zone);
    if (!moments)
        g_hash_table_insert(found, (gpointer)zone, moments = find_moments(zone));
    return moments;
}

/* --- the model ------------------------------------------------------------------------------------------ */

static kw_bytes
key_of(const kw_layout *layout, int64_t ms, int64_t number, kw_arena *arena, kw_error *ret_error)
{
    kw_value values[] = {test_number(ms), test_text("a"), test_number(number)};
    kw_record record = {.values = values};
    kw_buffer key = KW_BUFFER_EMPTY;
    bool done = kw_layout_encode(layout, &record, &key, ret_error);
    kw_bytes bytes = done ? kw_arena_copy(arena, kw_buffer_bytes(&key)) : KW_BYTES_NONE;
    kw_buffer_clear(&key);
    return bytes;
}

typedef struct kw_test_tally {
    size_t lost, refused, kept; /* since 1992 */
    size_t old_lost, old_refused, old_kept;
} kw_test_tally;

/* Counts two puts as lost (they share a key), refused (one has no key) or kept. numbers: of the first and the
 * second put. */
static void
try_pair(const kw_layout *layout, int64_t first_ms, int64_t second_ms, const int64_t *numbers, bool old,
         kw_test_tally *tally)
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    kw_error error = KW_ERROR_NONE;
    kw_bytes a = key_of(layout, first_ms, numbers[0], arena, &error);
    kw_bytes b = key_of(layout, second_ms, numbers[1], arena, &error);
    if ((a.size == 0 || b.size == 0) && strstr(error.text, "does not fit into 40 bits"))
        return; /* before 1970 */
    if (a.size == 0 || b.size == 0) {
        g_assert_cmpint(error.code, ==, KW_INVALID);
        g_assert_nonnull(strstr(error.text, "table t, field ts: value "));
        g_assert_nonnull(strstr(error.text, "clocks were set back"));
    }
    bool refused = a.size == 0 || b.size == 0, same = !refused && kw_bytes_equal(a, b);
    *(old ? &tally->old_lost : &tally->lost) += same;
    *(old ? &tally->old_refused : &tally->refused) += refused;
    *(old ? &tally->old_kept : &tally->kept) += !refused && !same;
}

/* Generated numbers differ, unless their periods differ: then both can be the first number. */
static void
try_zone(const kw_layout *layout, const char *zone, const int64_t *numbers, kw_test_tally *tally)
{
    GArray *moments = moments_of(zone);
    for (guint index = 0; index < moments->len; index++) {
        kw_test_moment it = g_array_index(moments, kw_test_moment, index);
        bool old = it.utc_s < YEAR_1992_S;
        int64_t steps[] = {0, 1, it.by_s / 2, it.by_s - 1};
        for (size_t step = 0; step < G_N_ELEMENTS(steps); step++) {
            int64_t second = (it.utc_s + steps[step]) * 1000, first = second - it.by_s * 1000;
            try_pair(layout, first, second, numbers, old, tally);
            try_pair(layout, first + 999, second + 999, numbers, old, tally);
        }
    }
}

/* --- rules ---------------------------------------------------------------------------------------------- */

static char *
yaml_of(const char *parts, const char *zone, const char *number, const char *rest)
{
    return g_strdup_printf("    fields:\n      ts: {type: timestamp, column: 'd:ts'}\n      id: string\n"
                           "      n: %s\n    updates: false\n    key:\n"
                           "      - calendar: {of: ts, parts: [%s], zone: '%s'}\n"
                           "      - field: {name: id, encoding: terminated}\n%s",
                           number, parts, zone, rest);
}

static const char *const zones[] = {"Europe/Berlin", "Australia/Lord_Howe", "America/Sao_Paulo",
                                    "Europe/Moscow", "America/Caracas",     "Asia/Shanghai",
                                    "Asia/Tokyo",    "Asia/Kolkata",        "UTC"};

/* True if the clocks of the zone were set back in 1992 or later. */
static bool
is_late(const char *zone)
{
    bool late = false;
    GArray *moments = moments_of(zone);
    for (guint index = 0; index < moments->len; index++)
        late = late || g_array_index(moments, kw_test_moment, index).utc_s >= YEAR_1992_S;
    return late;
}

/* Only the calendar is in the key, so the two hours are not distinguished. */
KW_TEST(test_calendar_only, "/rule/clock_changes/calendar_only")
{
    static const char *const parts[] = {"yyyy, MM, dd, HH", "yyyy, MM, dd, HH, mm",
                                        "mm, HH, dd, MM, yyyy, ss", "yyyy, MM, dd, HH, mm, ss, SSS"};
    const int64_t same[] = {5, 5};
    for (size_t zone = 0; zone < G_N_ELEMENTS(zones); zone++)
        for (size_t part = 0; part < G_N_ELEMENTS(parts); part++) {
            g_autofree char *yaml = yaml_of(parts[part], zones[zone], "int", "");
            g_autofree char *text = test_hazards(yaml);
            g_autoptr(kw_policy) policy = test_policy_with_hazards(yaml);
            kw_test_tally tally = {0};
            try_zone(kw_policy_table(policy, 0)->paths[0].layout, zones[zone], same, &tally);
            g_test_message("%s, %s: %zu lost, %zu refused; before 1992 %zu and %zu", zones[zone], parts[part],
                           tally.lost, tally.refused, tally.old_lost, tally.old_refused);
            if (is_late(zones[zone])) {
                g_assert_nonnull(strstr(text, "clocks in "));
                g_assert_nonnull(strstr(text, "two records could share a row key"));
                g_assert_cmpuint(tally.lost, >, 0);
            } else {
                g_assert_cmpstr(text, ==, "");
            }
            g_assert_cmpuint(tally.old_lost, ==, 0);
            g_assert_cmpuint(tally.refused + tally.kept + tally.old_kept, ==, 0);
        }
}

/* Whole days are longer when clocks are set back: there is no second one. */
KW_TEST(test_days, "/rule/clock_changes/days")
{
    static const char *const parts[] = {"yyyy, MM, dd", "yyyy, DDD", "yyyy, MM"};
    for (size_t zone = 0; zone < G_N_ELEMENTS(zones); zone++)
        for (size_t part = 0; part < G_N_ELEMENTS(parts); part++) {
            g_autofree char *yaml = yaml_of(parts[part], zones[zone], "int", "");
            g_autoptr(kw_policy) policy = test_policy(yaml);
            kw_test_tally tally = {0};
            const int64_t same[] = {5, 5};
            try_zone(kw_policy_table(policy, 0)->paths[0].layout, zones[zone], same, &tally);
            g_assert_cmpuint(tally.refused + tally.old_refused, ==, 0);
        }
}

/* Another part of the key distinguishes them. Before 1992 some clocks were set back by less than a minute:
 * clocks of another zone do not distinguish such times. */
KW_TEST(test_distinguished, "/rule/clock_changes/distinguished")
{
    static const struct {
        const char *number, *rest;
    } cases[] = {
        {"int", "      - field: ts\n"},
        {"int", "      - field: {name: ts, unit: s, order: desc}\n"},
        {"int", "      - bits: {of: ts, parts: [seconds 40]}\n"},
        {"int", "      - calendar: {of: ts, parts: [mm, HH, dd, MM, yyyy]}\n"},
        {"{type: int, generate: sequence}", "      - field: n\n"},
        {"{type: int, generate: snowflake}", "      - field: n\n"},
        {"{type: int, generate: {kind: sequence, per: hour, of: ts, zone: ZONE}}", "      - field: n\n"},
        {"{type: int, generate: {kind: sequence, per: minute, of: ts, zone: ZONE}}", "      - field: n\n"},
    };
    const int64_t same[] = {5, 5}, other[] = {5, 6};
    for (size_t zone = 0; zone < G_N_ELEMENTS(zones); zone++)
        for (size_t index = 0; index < G_N_ELEMENTS(cases); index++) {
            g_auto(GStrv) words = g_strsplit(cases[index].number, "ZONE", -1);
            g_autofree char *number = g_strjoinv(zones[zone], words);
            g_autofree char *yaml = yaml_of("yyyy, MM, dd, HH, mm", zones[zone], number, cases[index].rest);
            g_autoptr(kw_policy) policy = test_policy(yaml);
            kw_test_tally tally = {0};
            try_zone(kw_policy_table(policy, 0)->paths[0].layout, zones[zone],
                     strstr(number, "generate") ? other : same, &tally);
            bool clock = strstr(cases[index].rest, "calendar") != NULL;
            if (tally.lost + tally.old_lost + tally.refused > 0 || (tally.old_refused > 0 && !clock))
                g_error("%zu lost, %zu refused:\n%s", tally.lost + tally.old_lost,
                        tally.refused + tally.old_refused, yaml);
        }
}

/* Parts of the key that seem to distinguish them, but do not. */
KW_TEST(test_not_distinguished, "/rule/clock_changes/not_distinguished")
{
    static const struct {
        const char *number, *rest;
    } cases[] = {
        {"int", "      - field: n\n"},
        {"int", "      - calendar: {of: ts, parts: [yyyy, MM, dd]}\n"},
        {"int", "      - calendar: {of: ts, parts: [yyyy, MM, dd, HH, mm], zone: Europe/Paris}\n"},
        {"{type: int, generate: {kind: sequence, to: 99, at_end: wrap}}", "      - field: n\n"},
        {"{type: int, generate: {kind: sequence, per: minute, of: ts}}", "      - field: n\n"},
    };
    for (size_t index = 0; index < G_N_ELEMENTS(cases); index++) {
        g_autofree char *yaml =
            yaml_of("yyyy, MM, dd, HH, mm", "Europe/Berlin", cases[index].number, cases[index].rest);
        g_autofree char *text = test_hazards(yaml);
        if (!strstr(text, "clocks in Europe/Berlin are set back (as on 1992-09-27)"))
            g_error("%s\nhas only the hazards\n%s", yaml, text);
    }
}

/* Clocks of Shanghai were set back until 1991, for the first time by six minutes: a record of such a time is
 * rejected, unless the key distinguishes it from the other one. */
KW_TEST(test_shanghai, "/rule/clock_changes/shanghai")
{
    g_autofree char *alone = yaml_of("yyyy, MM, dd, HH, mm", "Asia/Shanghai", "int", "");
    g_autofree char *utc =
        yaml_of("yyyy, MM, dd, HH, mm", "Asia/Shanghai",
                "{type: int, generate: {kind: sequence, per: minute, of: ts}}", "      - field: n\n");
    g_autofree char *hour = yaml_of("yyyy, MM, dd, HH, mm", "Asia/Shanghai", "int",
                                    "      - calendar: {of: ts, parts: [HH, dd, MM, yyyy]}\n");
    const int64_t same[] = {0, 0};
    const char *const yamls[] = {alone, utc, hour};
    for (size_t index = 0; index < G_N_ELEMENTS(yamls); index++) {
        g_autoptr(kw_policy) policy = test_policy(yamls[index]);
        kw_test_tally tally = {0};
        try_zone(kw_policy_table(policy, 0)->paths[0].layout, "Asia/Shanghai", same, &tally);
        g_assert_cmpuint(tally.old_lost, ==, 0);
        g_assert_cmpuint(tally.old_refused, >, 20);
    }
}
