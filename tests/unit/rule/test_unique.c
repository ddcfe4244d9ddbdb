/* Generated numbers that restart: by brute force over many times.
 *
 * A model counts as the gateway does, from the start of each period (by GLib's calendar). Every put that
 * gets a key is acknowledged. Under rules without hazards, no two acknowledged puts share a row key; under
 * rules with one, some do. */
#include "rule/policies.h"

#define INSTANTS_MAX 1000

typedef struct kw_test_numbers {
    const char *per;  /* "": ever */
    const char *zone; /* of the sequence */
    int64_t last;     /* of the range that begins at 0 */
    bool wrap;
} kw_test_numbers;

/* Milliseconds, unordered. */
static int64_t instants[INSTANTS_MAX];
static size_t instants_count;

static void
add_instant(int64_t ms)
{
    g_assert_cmpuint(instants_count, <, INSTANTS_MAX);
    instants[instants_count++] = ms;
}

/* Days on which clocks change and months and years begin, and moments close together. */
static void
fill_instants(void)
{
    static const int64_t days[] = {1635595200, 1616846400, 1617408000, 1609372800, 1640908800};
    static const int64_t near[] = {0, 1, 500, 1000, 1999, 30000, 59999};
    for (size_t day = 0; day < G_N_ELEMENTS(days); day++)
        for (int64_t half = 0; half < 2 * 48; half++)
            add_instant((days[day] + half * 1800) * 1000);
    for (size_t step = 0; step < G_N_ELEMENTS(near); step++) {
        add_instant(INT64_C(1635640200000) + near[step]);
        add_instant(INT64_C(1609459199000) + near[step]);
    }
    for (int64_t month = 1; month < 40; month++)
        add_instant(INT64_C(1580515200000) + month * 2629800000);
}

/* --- the model ------------------------------------------------------------------------------------------ */

static const char *const per_names[] = {"", "second", "minute", "hour", "day", "month", "year"};

/* The local time in the zone, down to the period. */
static char *
period_of(const kw_test_numbers *numbers, GTimeZone *zone, int64_t ms)
{
    static const char *const forms[] = {"", "%F %T", "%F %H:%M", "%F %H", "%F", "%Y-%m", "%Y"};
    size_t at = 0;
    while (strcmp(per_names[at], numbers->per) != 0)
        at++;
    g_autoptr(GDateTime) utc = g_date_time_new_from_unix_utc(ms / 1000);
    g_autoptr(GDateTime) local = g_date_time_to_timezone(utc, zone);
    return at ? g_date_time_format(local, forms[at]) : g_strdup("");
}

/* Each put can be the first one of its period, or of a new cycle through the range, and have the number 0.
 * Counts those that share their row key with another put of that number. */
static size_t
count_lost(const kw_policy *policy, const kw_test_numbers *numbers)
{
    const kw_layout *layout = kw_policy_table(policy, 0)->paths[0].layout;
    g_autoptr(GTimeZone) zone = g_time_zone_new_identifier(numbers->zone);
    g_autoptr(GHashTable) keys = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    size_t lost = 0;
    for (size_t index = 0; index < instants_count; index++) {
        kw_value values[] = {test_number(instants[index]), test_number(0), test_text("a"),
                             test_number((int64_t)index)};
        kw_record record = {.values = values};
        kw_buffer bytes = KW_BUFFER_EMPTY;
        if (kw_layout_encode(layout, &record, &bytes, NULL)) {
            g_autofree char *key = test_hex(kw_buffer_bytes(&bytes));
            g_autofree char *period = period_of(numbers, zone, instants[index]);
            const char *other = g_hash_table_lookup(keys, key);
            lost += other && (numbers->wrap || strcmp(other, period) != 0);
            if (!other)
                g_hash_table_insert(keys, g_steal_pointer(&key), g_steal_pointer(&period));
        }
        kw_buffer_clear(&bytes);
    }
    return lost;
}

/* --- rules ---------------------------------------------------------------------------------------------- */

static char *
yaml_of(const kw_test_numbers *numbers, const char *key)
{
    g_autofree char *per = *numbers->per
                               ? g_strdup_printf(", per: %s, of: ts, zone: %s", numbers->per, numbers->zone)
                               : g_strdup("");
    return g_strdup_printf("    fields:\n      ts: {type: timestamp, column: 'd:ts'}\n"
                           "      n: {type: int, generate: {kind: sequence, from: 0, to: %d%s%s}}\n"
                           "      id: string\n      other: {type: int, generate: sequence}\n"
                           "    key: [%s]\n",
                           (int)numbers->last, numbers->wrap ? ", at_end: wrap" : "", per, key);
}

typedef struct kw_test_tally {
    size_t good, bad, needless;
} kw_test_tally;

static void
try_rule(const kw_test_numbers *numbers, const char *key, kw_test_tally *tally)
{
    g_autofree char *yaml = yaml_of(numbers, key);
    g_autoptr(kw_policy) policy = test_policy_with_hazards(yaml);
    size_t hazards = kw_policy_hazards_count(policy), lost = count_lost(policy, numbers);
    for (size_t index = 0; index < hazards; index++)
        g_assert_nonnull(strstr(kw_policy_hazard(policy, index)->text, "two records could share a row key"));
    if (!hazards && lost && !numbers->wrap)
        g_error("%zu acknowledged puts are lost:\n%s", lost, yaml);
    tally->good += !hazards;
    tally->bad += hazards > 0;
    tally->needless += hazards && !lost;
}

/* Every period with every calendar: in the same zone, and in others. */
KW_TEST(test_periods, "/rule/unique/periods")
{
    static const char *const parts[] = {
        "yyyy",
        "yyyy, MM",
        "yyyy, MM, dd",
        "yyyy, MM, dd, HH",
        "yyyy, DDD, HH",
        "mm, HH, dd, MM, yyyy",
        "yyyy, MM, dd, HH, mm, ss",
    };
    static const char *const zones[] = {"UTC", "Asia/Shanghai", "+05:30"};
    kw_test_tally tally = {0};
    for (size_t per = 1; per < G_N_ELEMENTS(per_names); per++)
        for (size_t part = 0; part < G_N_ELEMENTS(parts); part++)
            for (size_t zone = 0; zone < G_N_ELEMENTS(zones); zone++)
                for (size_t other = 0; other < G_N_ELEMENTS(zones); other++) {
                    kw_test_numbers numbers = {per_names[per], zones[other], 9999, false};
                    g_autofree char *key = g_strdup_printf("{calendar: {of: ts, parts: [%s], zone: '%s'}}, "
                                                           "{field: id}, {field: n}",
                                                           parts[part], zones[zone]);
                    try_rule(&numbers, key, &tally);
                }
    g_test_message("%zu rules keep all records, %zu lose some", tally.good, tally.bad);
    g_assert_cmpuint(tally.good, >, 100);
    g_assert_cmpuint(tally.bad, >, 100);
    g_assert_cmpuint(tally.needless, ==, 0);
}

/* A clock that is only set forward, by whole hours, keeps the periods of UTC apart: Fakaofo skipped a day in
 * 2011. */
KW_TEST(test_set_forward, "/rule/unique/set_forward")
{
    kw_test_tally tally = {0};
    add_instant(INT64_C(1325239200000) - 1);
    add_instant(INT64_C(1325239200000));
    for (size_t per = 1; per < G_N_ELEMENTS(per_names); per++) {
        kw_test_numbers numbers = {per_names[per], "UTC", 9999, false};
        try_rule(
            &numbers,
            "{calendar: {of: ts, parts: [yyyy, MM, dd, HH], zone: Pacific/Fakaofo}}, {field: id}, {field: n}",
            &tally);
    }
    g_assert_cmpuint(tally.good, ==, 4); /* hours and longer periods */
    g_assert_cmpuint(tally.needless, ==, 0);
}

/* Clocks that are set back: the number's period must be that of the same clock. Days and longer periods of
 * another clock can change at a time other than that at which it is set back. */
KW_TEST(test_clock_changes, "/rule/unique/clock_changes")
{
    static const char *const parts[] = {"yyyy, MM, dd, HH", "mm, HH, dd, MM, yyyy",
                                        "yyyy, MM, dd, HH, mm, ss"};
    static const char *const zones[] = {"Europe/Berlin", "Australia/Lord_Howe", "UTC"};
    kw_test_tally tally = {0};
    for (size_t per = 1; per < G_N_ELEMENTS(per_names); per++)
        for (size_t part = 0; part < G_N_ELEMENTS(parts); part++)
            for (size_t zone = 0; zone < 2; zone++)
                for (size_t other = 0; other < G_N_ELEMENTS(zones); other++) {
                    kw_test_numbers numbers = {per_names[per], zones[other], 9999, false};
                    g_autofree char *key = g_strdup_printf(
                        "{calendar: {of: ts, parts: [%s], zone: '%s', as: packed, sequence: n, digits: 4}}",
                        parts[part], zones[zone]);
                    try_rule(&numbers, key, &tally);
                }
    g_test_message("%zu rules keep all records, %zu lose some", tally.good, tally.bad);
    g_assert_cmpuint(tally.good, >, 10);
    g_assert_cmpuint(tally.bad, >, 10);
    g_assert_cmpuint(tally.needless, <, tally.bad);
}

/* Other pieces that store a time, or none. */
KW_TEST(test_other_times, "/rule/unique/other_times")
{
    static const char *const keys[] = {
        "{field: n}",
        "{field: id}, {field: n}",
        "{field: {name: ts, unit: s}}, {field: n}",
        "{field: ts}, {field: n}",
        "{bits: {of: ts, parts: [seconds 40, n 24]}}",
        "{calendar: {of: ts, parts: [yyyy, MM], zone: Asia/Shanghai}}, {calendar: {of: ts, parts: [yyyy, "
        "DDD, HH]}}, "
        "{field: n}",
        "{salt: {of: n, buckets: 3}}, {calendar: {of: ts, parts: [yyyy, MM, dd, HH, mm, ss, SSS]}}, {field: "
        "n}",
        "{field: n}, {field: other}",
    };
    kw_test_tally tally = {0};
    for (size_t per = 0; per < G_N_ELEMENTS(per_names); per++)
        for (size_t key = 0; key < G_N_ELEMENTS(keys); key++)
            for (int wrap = 0; wrap < 2; wrap++) {
                kw_test_numbers numbers = {per_names[per], "UTC", wrap ? 2 : 9999, wrap};
                try_rule(&numbers, keys[key], &tally);
            }
    g_test_message("%zu rules keep all records, %zu lose some", tally.good, tally.bad);
    g_assert_cmpuint(tally.good, >, 20);
    g_assert_cmpuint(tally.bad, >, 10);
    g_assert_cmpuint(tally.needless, ==, 0);
}

/* Numbers that start again within their period are unique for a while if the key holds finer times. */
KW_TEST(test_finer_times, "/rule/unique/finer_times")
{
    kw_test_numbers numbers = {"minute", "UTC", 99, true};
    g_autofree char *yaml =
        yaml_of(&numbers, "{calendar: {of: ts, parts: [yyyy, MM, dd, HH, mm, ss]}}, {field: n}");
    g_autofree char *hazards = test_hazards(yaml);
    g_assert_cmpstr(hazards, ==, "");
    kw_test_numbers in_seconds = {"second", "UTC", 99, true};
    g_autofree char *in_field = yaml_of(&in_seconds, "{field: ts}, {field: n}");
    g_autofree char *none = test_hazards(in_field);
    g_assert_cmpstr(none, ==, "");
}

/* Numbers that start again without a period are unique for a while if the key holds any time, even if that is
 * the first field of the table. */
KW_TEST(test_any_time, "/rule/unique/any-time")
{
    static const char *const keys[] = {"{field: ts}, {field: n}",
                                       "{calendar: {of: ts, parts: [yyyy]}}, {field: n}"};
    kw_test_numbers numbers = {"", "UTC", 99, true};
    for (size_t key = 0; key < G_N_ELEMENTS(keys); key++) {
        g_autofree char *yaml = yaml_of(&numbers, keys[key]);
        g_autofree char *hazards = test_hazards(yaml);
        g_assert_cmpstr(hazards, ==, "");
    }
}

/* The messages and their positions. */
KW_TEST(test_texts, "/rule/unique/texts")
{
    static const struct {
        kw_test_numbers numbers;
        const char *key, *expected_text;
    } cases[] = {
        {{"minute", "UTC", 99, false},
         "{calendar: {of: ts, parts: [yyyy, MM, dd, HH]}}, {field: n}",
         "test:5:32: error: path primary: the numbers of field n start again in each minute of ts in UTC, "
         "which the key does not distinguish, so two records could share a row key / hint: let the key hold "
         "ts to the minute or finer, in the same zone, or remove per"},
        {{"", "UTC", 99, true},
         "{field: n}",
         "start again after 99 (at_end: wrap), and the key holds no time, so two records could share a row "
         "key / hint: remove at_end: wrap"},
        {{"minute", "UTC", 99, true},
         "{calendar: {of: ts, parts: [yyyy, MM, dd, HH, mm]}}, {field: n}",
         "and the key holds no time finer than the minute"},
    };
    for (size_t index = 0; index < G_N_ELEMENTS(cases); index++) {
        g_autofree char *yaml = yaml_of(&cases[index].numbers, cases[index].key);
        g_autofree char *text = test_hazards(yaml);
        if (!strstr(text, cases[index].expected_text))
            g_error("%s\nis not in the text:\n%s", cases[index].expected_text, text);
    }
}

/* Hours of UTC are in one day of Tokyo. Those of Pyongyang were as well until 2015, when its clock was set
 * back by half an hour. */
KW_TEST(test_periods_that_change, "/rule/unique/periods-that-change")
{
    static const char key[] = "calendar: {of: ts, parts: [HH, dd, MM, yyyy]}, field: n";
    const kw_test_numbers tokyo = {.per = "day", .zone = "Asia/Tokyo", .last = 99};
    const kw_test_numbers pyongyang = {.per = "day", .zone = "Asia/Pyongyang", .last = 99};
    g_autofree char *same = yaml_of(&tokyo, key), *changed = yaml_of(&pyongyang, key);
    g_autofree char *none = test_hazards(same), *hazards = test_hazards(changed);
    g_assert_cmpstr(none, ==, "");
    g_assert_nonnull(strstr(hazards, "two records could share a row key"));
}

KW_TEST_START(start)
{
    fill_instants();
}
