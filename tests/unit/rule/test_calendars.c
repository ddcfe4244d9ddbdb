/* Calendars and the time in bits: limits of times, exact ends of spans, and how many ranges a span needs. */
#include "rule/component.h"
#include "rule/policies.h"

#define DAY_MS INT64_C(86400000)

/* The policy of a table with the fields ts and n, and this component before the field id. */
static kw_policy *
policy_with_clock(const char *component)
{
    g_autofree char *yaml =
        g_strdup_printf("    fields: {n: int, ts: {type: timestamp, column: 'd:ts'}, id: string}\n"
                        "    key: [%s, {field: {name: id, encoding: fixed, width: 4}}]\n",
                        component);
    return test_policy_with_hazards(yaml);
}

static const kw_component *
clock_of(const kw_policy *policy)
{
    return kw_layout_component(kw_policy_table(policy, 0)->paths[0].layout, 0);
}

static kw_value_span
span_of(int64_t from_ms, int64_t to_ms)
{
    return (kw_value_span){.field = 1,
                           .from = test_number(from_ms),
                           .to = test_number(to_ms),
                           .from_inclusive = true,
                           .to_inclusive = true};
}

static bool
is_loose(const kw_component *clock, int64_t from_ms, int64_t to_ms)
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    kw_value values[3] = {{.kind = KW_VALUE_NONE}};
    kw_value_span span = span_of(from_ms, to_ms);
    kw_piece_runs runs;
    kw_error error = KW_ERROR_NONE;
    if (!clock->kind->runs(clock, values, &span, arena, &runs, &error))
        g_error("%s", error.text);
    return runs.loose;
}

/* A span of whole years is exact, and no other span of a calendar that holds only years. */
KW_TEST(test_whole_years_are_exact, "/rule/calendars/whole-years")
{
    const int64_t year_2010 = 1262304000000, year_2012 = 1325376000000;
    g_autoptr(kw_policy) policy = policy_with_clock("{calendar: {of: ts, parts: [yyyy]}}");
    g_assert_false(is_loose(clock_of(policy), year_2010, year_2012 - 1));
    g_assert_true(is_loose(clock_of(policy), year_2010 + 31 * DAY_MS, year_2012 - 1));
    g_assert_true(is_loose(clock_of(policy), year_2010, year_2012 - 2));
}

/* A span of whole days of a zone is exact. */
KW_TEST(test_days_of_a_zone_are_exact, "/rule/calendars/days-of-a-zone")
{
    const int64_t midnight = 1262304000000 - 19800000; /* January 1, 2010 */
    g_autoptr(kw_policy) policy =
        policy_with_clock("{calendar: {of: ts, parts: [yyyy, MM, dd], zone: '+05:30'}}");
    g_assert_false(is_loose(clock_of(policy), midnight, midnight + 3 * DAY_MS - 1));
    g_assert_true(is_loose(clock_of(policy), midnight + 19800000, midnight + 3 * DAY_MS - 1));
}

/* Day 366 exists in leap years only. */
KW_TEST(test_days_of_years, "/rule/calendars/days-of-years")
{
    g_autoptr(kw_policy) policy = policy_with_clock("{calendar: {of: ts, parts: [yyyy, DDD]}}");
    g_autoptr(kw_arena) arena = kw_arena_new();
    const kw_table *table = kw_policy_table(policy, 0);
    static const struct {
        kw_bytes key;
        bool good;
    } cases[] = {{{(const uint8_t *)"2020366abcd", 11}, true},
                 {{(const uint8_t *)"2021365abcd", 11}, true},
                 {{(const uint8_t *)"2021366abcd", 11}, false}};
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        kw_record record = kw_record_new(table, arena);
        kw_error error = KW_ERROR_NONE;
        g_assert_cmpint(kw_layout_decode(table->paths[0].layout, cases[i].key, arena, &record, &error), ==,
                        cases[i].good);
        g_assert_cmpint(error.code, ==, cases[i].good ? KW_OK : KW_CORRUPT);
    }
}

/* A calendar without a month has days up to the 31st. */
KW_TEST(test_days_without_a_month, "/rule/calendars/days-without-a-month")
{
    static const struct {
        kw_bytes key;
        bool good;
    } cases[] = {{{(const uint8_t *)"202130abcd", 10}, true},
                 {{(const uint8_t *)"202131abcd", 10}, true},
                 {{(const uint8_t *)"202132abcd", 10}, false}};
    g_autoptr(kw_policy) policy = test_policy_with_hazards(
        "    fields: {ts: {type: timestamp, column: 'd:ts'}, id: string}\n"
        "    updates: false\n    major_compaction: 1ms\n    families: {d: {ttl: 1s}}\n"
        "    key: [{calendar: {of: ts, parts: [yyyy, dd]}}, {field: {name: id, encoding: fixed, width: "
        "4}}]\n");
    g_autoptr(kw_arena) arena = kw_arena_new();
    const kw_table *table = kw_policy_table(policy, 0);
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        kw_record record = kw_record_new(table, arena);
        g_assert_cmpint(kw_layout_decode(table->paths[0].layout, cases[i].key, arena, &record, NULL), ==,
                        cases[i].good);
    }
}

/* Local times repeat where a clock was set back, even if it was set back only at the zone's first change. */
KW_TEST(test_order_of_zones, "/rule/calendars/order-of-zones")
{
    static const struct {
        const char *zone;
        int direction;
    } cases[] = {{"UTC", 1}, {"Europe/Berlin", 0}, {"Asia/Kathmandu", 0}};
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *component =
            g_strdup_printf("{calendar: {of: ts, parts: [yyyy, MM, dd, HH, mm], zone: %s}}", cases[i].zone);
        g_autoptr(kw_policy) policy = policy_with_clock(component);
        g_assert_cmpint(clock_of(policy)->direction, ==, cases[i].direction);
    }
}

/* The key's first component can distinguish the two hours with the same local time. */
KW_TEST(test_seconds_before_a_calendar, "/rule/calendars/seconds-before-a-calendar")
{
    g_autofree char *hazards = test_hazards(
        "    fields: {ts: {type: timestamp, column: 'd:ts'}, id: string}\n    key: [{field: {name: ts, unit: "
        "s}}, "
        "{calendar: {of: ts, parts: [yyyy, MM, dd, HH, mm], zone: Europe/Berlin}}, {field: id}]\n");
    g_assert_cmpstr(hazards, ==, "");
}

/* The number of ranges is estimated closely. */
KW_TEST(test_counts_of_runs, "/rule/calendars/counts-of-runs")
{
    g_autoptr(kw_policy) policy = policy_with_clock("{calendar: {of: ts, parts: [dd, MM, yyyy]}}");
    kw_value_span span = span_of(1270000000000, 1270000000000 + 40 * DAY_MS);
    bool known[3] = {false};
    uint64_t count = clock_of(policy)->kind->count(clock_of(policy), known, &span, false);
    g_assert_cmpuint(count, >=, 41);
    g_assert_cmpuint(count, <=, 43);
    g_autoptr(kw_policy) ordered = policy_with_clock("{calendar: {of: ts, parts: [yyyy, MM, dd]}}");
    g_assert_cmpuint(clock_of(ordered)->kind->count(clock_of(ordered), known, &span, false), ==, 1);
}

/* A calendar holds the years that its parts can name, to the last millisecond. */
KW_TEST(test_last_years, "/rule/calendars/last-years")
{
    static const struct {
        const char *key;
        int64_t after_ms; /* the beginning of the first year that cannot be named */
    } cases[] = {{"{calendar: {of: ts, parts: [yy, MM]}}", INT64_C(4102444800000)},
                 {"{calendar: {of: ts, parts: [yyyy, MM]}}", INT64_C(253402300800000)}};
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(kw_policy) policy = policy_with_clock(cases[i].key);
        for (int64_t after = -1; after < 1; after++) {
            kw_value values[] = {test_number(0), test_number(cases[i].after_ms + after), test_text("abcd")};
            kw_record record = {.values = values};
            kw_buffer key = KW_BUFFER_EMPTY;
            kw_error error = KW_ERROR_NONE;
            const kw_layout *layout = kw_policy_table(policy, 0)->paths[0].layout;
            g_assert_cmpint(kw_layout_encode(layout, &record, &key, &error), ==, after < 0);
            g_assert_cmpint(error.code, ==, after < 0 ? KW_OK : KW_INVALID);
            kw_buffer_clear(&key);
        }
    }
}

/* The last time that a calendar holds can be read back from its key. */
KW_TEST(test_last_time_in_a_key, "/rule/calendars/last-time-in-a-key")
{
    g_autoptr(kw_policy) policy =
        policy_with_clock("{calendar: {of: ts, parts: [yyyy, MM, dd, HH, mm, ss, SSS]}}");
    g_autoptr(kw_arena) arena = kw_arena_new();
    const kw_table *table = kw_policy_table(policy, 0);
    const kw_layout *layout = table->paths[0].layout;
    kw_value values[] = {test_number(0), test_number(INT64_C(253402300799999)), test_text("abcd")};
    kw_record record = {.values = values}, back = kw_record_new(table, arena);
    kw_buffer key = KW_BUFFER_EMPTY;
    kw_error error = KW_ERROR_NONE;
    g_assert_true(kw_layout_encode(layout, &record, &key, &error));
    g_assert_true(kw_layout_decode(layout, kw_buffer_bytes(&key), arena, &back, &error));
    g_assert_true(kw_value_equal(back.values[1], values[1]));
    kw_buffer_clear(&key);
}

/* The second byte of the key has bits of the minute and of the seconds, and the bits of the seconds change
 * every 2^26 seconds. So 120 ranges are the 60 minutes of two such stretches, from either end of the span. */
KW_TEST(test_stretches_of_bits, "/rule/calendars/stretches-of-bits")
{
    const int64_t from_s = 1270000000, to_s = from_s + (INT64_C(20) << 26);
    g_autoptr(kw_policy) policy =
        policy_with_clock("{bits: {of: ts, parts: [zero 4, minute 6, seconds 32, n 22]}}");
    const kw_component *clock = clock_of(policy);
    kw_value_span span = span_of(from_s * 1000, to_s * 1000);
    int64_t cut;
    g_assert_true(clock->kind->reach(clock, &span, false, 120, false, &cut));
    g_assert_cmpint(cut, ==, (((from_s >> 26) + 2) << 26) * 1000 - 1);
    g_assert_true(clock->kind->reach(clock, &span, false, 120, true, &cut));
    g_assert_cmpint(cut, ==, (((to_s >> 26) - 1) << 26) * 1000);
}

/* The pieces of a clock with a further field cannot be counted by its time, not even if that field is the
 * table's first one. */
KW_TEST(test_pieces_with_a_sequence, "/rule/calendars/pieces-with-a-sequence")
{
    g_autoptr(kw_policy) policy =
        policy_with_clock("{calendar: {of: ts, parts: [yyyy, MM], as: packed, sequence: n, digits: 3}}");
    const kw_component *clock = clock_of(policy);
    kw_value_span span = span_of(1270000000000, 1270000000000 + 40 * DAY_MS);
    bool known[3] = {false};
    g_assert_cmpuint(clock->kind->count(clock, known, &span, true), ==, UINT64_MAX);
    g_assert_cmpuint(clock->kind->count(clock, known, &span, false), <, 10);
    g_assert_cmpuint(clock->inputs_count, ==, 2);
    g_assert_cmpuint(clock->inputs[1], ==, 0); /* the sequence is the first field */
    g_autoptr(kw_arena) arena = kw_arena_new();
    kw_value values[3] = {test_number(1000), test_number(1270000000000)}; /* 1000 has four digits */
    kw_piece_runs runs;
    kw_error error = KW_ERROR_NONE;
    g_assert_false(clock->kind->runs(clock, values, &span, arena, &runs, &error));
    g_assert_nonnull(strstr(error.text, "field n"));
    values[0] = test_number(999);
    g_assert_true(clock->kind->runs(clock, values, &span, arena, &runs, &error));
}

/* The number of midnight is zero, which has one digit. */
KW_TEST(test_decimal_midnight, "/rule/calendars/decimal-midnight")
{
    static const struct {
        kw_bytes key;
        bool good;
    } cases[] = {{{(const uint8_t *)"0abcd", 5}, true},
                 {{(const uint8_t *)"2359abcd", 8}, true},
                 {{(const uint8_t *)"00abcd", 6}, false},
                 {{(const uint8_t *)"0001abcd", 8}, false}};
    g_autoptr(kw_policy) policy = test_policy_with_hazards(
        "    fields: {ts: {type: timestamp, column: 'd:ts'}, id: string}\n"
        "    updates: false\n    major_compaction: 1ms\n    families: {d: {ttl: 1s}}\n"
        "    key: [{calendar: {of: ts, parts: [HH, mm], as: decimal}},\n"
        "          {field: {name: id, encoding: fixed, width: 4}}]\n");
    g_autoptr(kw_arena) arena = kw_arena_new();
    const kw_table *table = kw_policy_table(policy, 0);
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        kw_record record = kw_record_new(table, arena);
        g_assert_cmpint(kw_layout_decode(table->paths[0].layout, cases[i].key, arena, &record, NULL), ==,
                        cases[i].good);
    }
}

/* Without a range of its field, a calendar lists each piece that a time can have once: the days of a year, of
 * which a leap year has all. */
KW_TEST(test_all_pieces, "/rule/calendars/all-pieces")
{
    static const char *const parts[] = {"MM, dd", "dd, MM", "MM, dd, HH"};
    const int64_t year_2020 = 1577836800000;
    for (size_t i = 0; i < G_N_ELEMENTS(parts); i++) {
        g_autofree char *yaml = g_strdup_printf(
            "    fields: {n: int, ts: {type: timestamp, column: 'd:ts'}, id: string}\n"
            "    major_compaction: 1ms\n    families: {d: {ttl: 1s}}\n"
            "    key: [{calendar: {of: ts, parts: [%s]}}, {field: {name: id, encoding: fixed, width: 4}}]\n",
            parts[i]);
        g_autoptr(kw_policy) policy = test_policy_with_hazards(yaml);
        g_autoptr(kw_arena) arena = kw_arena_new();
        const kw_table *table = kw_policy_table(policy, 0);
        const kw_bucket *pieces;
        kw_value_span none = {.field = -1};
        size_t count = clock_of(policy)->kind->enumerate(clock_of(policy), &none, arena, &pieces);
        g_assert_cmpuint(count, ==, i < 2 ? 366 : 366 * 24);
        g_autoptr(GHashTable) listed = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
        for (size_t at = 0; at < count; at++)
            g_assert_true(g_hash_table_add(listed, test_hex(pieces[at].bytes)));
        for (int64_t hour = 0; hour < 366 * 24; hour++) {
            kw_record record = kw_record_new(table, arena);
            record.values[1] = test_number(year_2020 + hour * (DAY_MS / 24));
            record.values[2] = test_text("abcd");
            g_autofree char *key = test_key_hex(table, 0, &record);
            key[2 * pieces[0].bytes.size] = '\0';
            g_assert_true(g_hash_table_contains(listed, key));
        }
    }
}

/* Nothing is in a span after 5 ms up to 5 ms, although both ends are in the same minute. */
KW_TEST(test_empty_span, "/rule/calendars/empty-span")
{
    g_autoptr(kw_policy) policy = policy_with_clock("{calendar: {of: ts, parts: [yyyy, MM, dd, HH, mm]}}");
    g_autoptr(kw_arena) arena = kw_arena_new();
    const kw_component *clock = clock_of(policy);
    const bool known[3] = {false};
    const kw_bucket *pieces;
    kw_value_span span = span_of(5, 5);
    g_assert_cmpuint(clock->kind->count(clock, known, &span, false), >, 0);
    span.from_inclusive = false;
    g_assert_cmpuint(clock->kind->count(clock, known, &span, false), ==, 0);
    g_assert_cmpuint(clock->kind->enumerate(clock, &span, arena, &pieces), ==, 0);
    g_autoptr(kw_policy) bits =
        policy_with_clock("{bits: {of: ts, parts: [zero 4, minute 6, seconds 32, n 22]}}");
    g_assert_cmpuint(clock_of(bits)->kind->count(clock_of(bits), known, &span, false), ==, 0);
    span.from_inclusive = true;
    g_assert_cmpuint(clock_of(bits)->kind->count(clock_of(bits), known, &span, false), >, 0);
    span = span_of(-5000, -1000); /* before the epoch */
    g_assert_cmpuint(clock_of(bits)->kind->count(clock_of(bits), known, &span, false), ==, 0);
}
