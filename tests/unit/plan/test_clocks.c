/* Plans over calendars and bits: the ranges of an interval of time, including times at which clocks are set
 * back. */
#include "plan/planner.h"
#include "rule/policies.h"

#define ARCHIVE(more)                                                                                        \
    "    fields: {ts: {type: timestamp, unit: s, column: \"d:ts\"}, seq: int}\n    key:\n"                   \
    "      - calendar: {of: ts, parts: [" more "], sequence: seq, as: packed}\n"

#define PARTITIONED                                                                                          \
    "    fields: {ts: {type: timestamp, unit: s}, id: int}\n    key:\n"                                      \
    "      - bits: {of: id, time: ts, parts: [zero 1, minute 6, seconds 32, worker 9, sequence 16]}\n"

static const kw_plan *
plan_of(kw_test_planner *planner, const char *words)
{
    planner_reset(planner);
    planner_set_query(planner, words);
    const kw_plan *plan;
    kw_error error = KW_ERROR_NONE;
    if (!kw_plan_make(&planner->query, planner->arena, &plan, &error))
        g_error("%s: %s", words, error.text);
    return plan;
}

static void
check_counts(kw_test_planner *planner, const char *words, size_t ranges, size_t groups, bool residual)
{
    const kw_plan *plan = plan_of(planner, words);
    g_assert_cmpuint(plan->ranges_count, ==, ranges);
    g_assert_cmpuint(plan->groups_count, ==, groups);
    g_assert_true(plan->residual == residual);
}

static bool
has_note(const kw_plan *plan, const char *words)
{
    for (size_t index = 0; index < plan->notes_count; index++)
        if (strstr(plan->notes[index], words))
            return true;
    return false;
}

/* The day from 1620000000 (midnight UTC) has one range for each minute, read one after the other. */
KW_TEST(test_day, "/plan/clocks/day")
{
    g_autoptr(kw_test_planner) planner = planner_new(ARCHIVE("mm, HH, dd, MM, yyyy"));
    check_counts(planner, "ts>=1620000000 ts<1620086400", 1440, 1440, false);
    const kw_plan *day = plan_of(planner, "ts>=1620000000 ts<1620086400");
    g_assert_false(has_note(day, "the first of") || day->rest.limit > 0); /* a single window */
    g_assert_cmpint(day->clock, ==, 0);
    check_counts(planner, "ts>=1620000001 ts<1620086400", 1440, 1440, true);
    check_counts(planner, "ts>=1620000059 ts<1620000061 order=desc", 2, 2, true);
    check_counts(planner, "ts=1620000000", 1, 1, false); /* the range of that minute */
    check_counts(planner, "ts=1620000000 seq=7", 1, 1, false);
    const kw_plan *rising = plan_of(planner, "ts>=1620000000 ts<1620000120");
    g_assert_cmpint(kw_bytes_compare(rising->ranges[0].start, rising->ranges[1].start), <, 0);
    const kw_plan *falling = plan_of(planner, "ts>=1620000000 ts<1620000120 order=desc");
    g_assert_true(falling->reversed);
    g_assert_true(kw_bytes_equal(falling->ranges[0].start, rising->ranges[1].start));
    g_autoptr(kw_test_planner) ordered = planner_new(ARCHIVE("yyyy, MM, dd, HH, mm"));
    check_counts(ordered, "ts>=1620000000 ts<1620086400", 1, 1, false);
}

/* Reads a week of minutes window by window: every minute once, in order. Returns the number of windows. */
static size_t
walk_week(kw_test_planner *planner, bool falling)
{
    const int64_t from = 1620000000, to = from + 7 * 86400;
    const kw_plan *plan = plan_of(planner, falling ? "ts>=1620000000 ts<1620604800 order=desc"
                                                   : "ts>=1620000000 ts<1620604800");
    g_assert_true(has_note(plan, "the first of 5 windows, "));
    g_assert_nonnull(strstr(kw_plan_text(plan, planner->arena), "(and more to follow)"));
    kw_record_query query = *plan->query;
    int64_t at = falling ? to : from;
    for (size_t windows = 1, minutes = plan->groups_count;; windows++, minutes += plan->groups_count) {
        g_assert_cmpuint(plan->groups_count, <=, KW_PLAN_WINDOW_RANGES);
        g_assert_true(!plan->residual && plan->ranges_count == plan->groups_count);
        at += (falling ? -60 : 60) * (int64_t)plan->groups_count;
        kw_value values[] = {test_number(falling ? at : at - 1), test_number(5)};
        kw_record record = {.values = values};
        g_assert_true(kw_plan_matches(plan, &record));
        values[0].number = falling ? at - 1 : at;
        g_assert_false(kw_plan_matches(plan, &record));
        if (plan->rest.limit == 0) {
            g_assert_cmpuint(minutes, ==, 10080);
            g_assert_cmpint(at, ==, falling ? from : to);
            return windows;
        }
        query.window = plan->rest;
        bool done = kw_plan_make(&query, planner->arena, &plan, NULL);
        g_assert_true(done && !has_note(plan, "windows"));
    }
}

KW_TEST(test_week, "/plan/clocks/week")
{
    g_autoptr(kw_test_planner) planner = planner_new(ARCHIVE("mm, HH, dd, MM, yyyy"));
    g_assert_cmpuint(walk_week(planner, false), ==, 5);
    g_assert_cmpuint(walk_week(planner, true), ==, 5);
    const kw_plan *plan = plan_of(planner, "ts>=1620000000 ts<1620086400 ranges=10");
    g_assert_cmpuint(plan->ranges_count, <=, 10);
    g_assert_true(plan->rest.limit == 10);
    plan = plan_of(planner, "ts>=1620000000 ts<1620086400 ranges=1");
    g_assert_cmpuint(plan->ranges_count, ==, 1);
    g_assert_true(plan->rest.limit == 1);
}

/* The interval is one day of January and seven of February: later branches have more ranges than the first
 * ones, which determine how much memory is allocated first. */
KW_TEST(test_days_of_months, "/plan/clocks/days-of-months")
{
    g_autoptr(kw_test_planner) planner =
        planner_new("    fields: {ts: {type: timestamp, unit: s, column: \"d:ts\"}, id: string}\n    key:\n"
                    "      - calendar: {of: ts, parts: [MM, yyyy]}\n      - field: {name: id, encoding: "
                    "fixed, width: 2}\n"
                    "      - calendar: {of: ts, parts: [dd, MM, yyyy]}\n");
    g_autoptr(GString) words = g_string_new("ts>=1612051200 ts<1612742400 id=10");
    for (int id = 11; id < 50; id++)
        g_string_append_printf(words, ",%d", id);
    check_counts(planner, words->str, 40 * (1 + 7), 8, false);
    check_counts(planner, "id=10 ts>=1625097600 ts<1630540800", 31 + 31 + 1, 63,
                 false); /* July to September 1 */
}

/* Months have different lengths: each window has at least one month, and every month is read once. */
static void
walk_months(const char *words)
{
    g_autoptr(kw_test_planner) planner = planner_new(ARCHIVE("MM, yyyy, dd"));
    const kw_plan *plan = plan_of(planner, words);
    kw_record_query query = *plan->query;
    size_t months = plan->ranges_count;
    for (size_t windows = 1; plan->rest.limit > 0; windows++, months += plan->ranges_count) {
        g_assert_true(plan->ranges_count >= 1 && plan->ranges_count <= 3);
        g_assert_cmpuint(windows, <=, 24);
        query.window = plan->rest;
        bool done = kw_plan_make(&query, planner->arena, &plan, NULL);
        g_assert_true(done);
    }
    g_assert_cmpuint(months, ==, 24);
}

KW_TEST(test_months, "/plan/clocks/months")
{
    walk_months("ts>=1577836800 ts<1640995200 ranges=3"); /* 2020 and 2021 */
    walk_months("ts>=1577836800 ts<1640995200 ranges=3 order=desc");
}

/* Planning ten years is as quick as planning an hour. An interval without an end is rejected, and the error
 * says what is missing. */
KW_TEST(test_years, "/plan/clocks/years")
{
    g_autoptr(kw_test_planner) planner = planner_new(ARCHIVE("mm, HH, dd, MM, yyyy"));
    size_t before = kw_arena_used(planner->arena);
    const kw_plan *plan = plan_of(planner, "ts>=1300000000 ts<1620000000 order=desc limit=10");
    g_assert_cmpuint(plan->groups_count, >, 2000);
    g_assert_cmpuint(plan->groups_count, <=, KW_PLAN_WINDOW_RANGES);
    g_assert_cmpuint(kw_arena_used(planner->arena) - before, <, 2 << 20);
    g_assert_true(has_note(plan, "the first of about 26"));
    kw_value values[] = {test_number(1619999999), test_number(5)};
    g_assert_true(kw_plan_matches(plan, &(kw_record){.values = values}));
    planner_reset(planner);
    planner_set_query(planner, "ts>=1620000000");
    kw_error error = KW_ERROR_NONE;
    g_assert_false(kw_plan_make(&planner->query, planner->arena, &plan, &error));
    g_assert_cmpint(error.code, ==, KW_INVALID);
    g_assert_nonnull(strstr(error.text, "the range of ts needs both ends"));
}

/* Each minute has one range for each bucket and each listed value, so a window has fewer minutes. Lists that
 * exceed the limit by themselves are rejected. */
KW_TEST(test_week_in_buckets, "/plan/clocks/week_in_buckets")
{
    g_autoptr(kw_test_planner) planner =
        planner_new("    fields: {who: string, ts: {type: timestamp, unit: s, column: \"d:ts\"}, seq: int}\n"
                    "    key:\n      - salt: {buckets: 16, of: [seq]}\n"
                    "      - calendar: {of: ts, parts: [mm, HH, dd, MM, yyyy], as: packed}\n"
                    "      - field: {name: who, encoding: terminated}\n      - field: {name: seq}\n");
    const kw_plan *plan = plan_of(planner, "ts>=1620000000 ts<1620086400 who=a,b,c");
    g_assert_cmpuint(plan->ranges_count, ==, plan->groups_count * 48);
    g_assert_cmpuint(plan->ranges_count, <=, KW_PLAN_WINDOW_RANGES);
    g_assert_cmpuint(plan->groups_count, >, 30);
    g_assert_true(plan->rest.limit > 0);
    planner_reset(planner);
    planner_set_query(planner, "ts>=1620000000 ts<1620086400 who=a,b,c ranges=40");
    kw_error error = KW_ERROR_NONE;
    g_assert_false(kw_plan_make(&planner->query, planner->arena, &plan, &error));
    g_assert_cmpint(error.code, ==, KW_LIMIT);
}

/* On 2021-10-31 in Berlin, the hour from 02:00 to 03:00 occurs twice. Each occurrence finds its own rows. */
KW_TEST(test_clock_set_back, "/plan/clocks/clock_set_back")
{
    g_autoptr(kw_test_planner) planner =
        planner_new("    fields: {ts: {type: timestamp, unit: s, column: \"d:ts\"}, seq: int}\n    key:\n"
                    "      - calendar: {of: ts, parts: [yyyy, MM, dd, HH, mm], zone: Europe/Berlin,\n"
                    "                   sequence: seq, as: packed}\n");
    const int64_t change = 1635642000;
    const kw_plan *plan = plan_of(planner, "ts>=1635552000 ts<1635724800");
    g_assert_cmpuint(plan->ranges_count, ==, 2);
    g_assert_cmpuint(plan->groups_count, ==, 2);
    g_assert_true(plan->residual);
    g_assert_true(plan->ranges[0].timed && plan->ranges[1].timed);
    g_assert_cmpint(plan->ranges[0].most, ==, change - 1);
    g_assert_cmpint(plan->ranges[1].least, ==, change);
    kw_value values[] = {test_number(change - 1), test_number(5)};
    kw_record record = {.values = values};
    g_assert_true(kw_plan_matches_in(plan, 0, &record) && !kw_plan_matches_in(plan, 1, &record));
    check_counts(planner, "ts>=1620000000 ts<1620086400", 1, 1, false); /* no clock change in the interval */
}

/* Listed values in one bucket have the same ranges: each occurrence of a repeated hour is read once, for any
 * number of values. */
KW_TEST(test_set_back_in_one_bucket, "/plan/clocks/set_back_in_one_bucket")
{
    g_autoptr(kw_test_planner) planner =
        planner_new("    fields: {n: int, ts: {type: timestamp, unit: s, column: \"d:ts\"}, seq: int}\n"
                    "    key:\n      - mod: {of: n, buckets: 2}\n"
                    "      - calendar: {of: ts, parts: [yyyy, MM, dd, HH, mm], zone: Europe/Berlin}\n"
                    "      - field: seq\n      - field: n\n");
    check_counts(planner, "ts>=1635638400 ts<1635645600 n=1,3,5", 2, 2, true);
    check_counts(planner, "ts>=1635638400 ts<1635645600 n=1,2,3", 4, 2, true);
}

/* Equal pieces of listed values belong together even if a piece is as short as the unit of the field. */
KW_TEST(test_listed_seconds, "/plan/clocks/listed_seconds")
{
    g_autoptr(kw_test_planner) planner =
        planner_new("    fields: {ts: {type: timestamp, unit: s, column: 'd:ts'}, who: string, seq: int}\n"
                    "    key: [{calendar: {of: ts, parts: [ss, mm, HH, dd, MM, yyyy]}},\n"
                    "          {field: {name: who, encoding: terminated}}, {field: seq}]\n");
    check_counts(planner, "ts>=1620000000 ts<1620000003 who=a,b", 6, 3, true);
    check_counts(planner, "ts>=1620000000 ts<1620000003 who=a,b order=desc", 6, 3, true);
}

/* A minute is in one of 60 partitions. */
KW_TEST(test_partitions, "/plan/clocks/partitions")
{
    g_autoptr(kw_test_planner) planner = planner_new(PARTITIONED);
    check_counts(planner, "ts>=1620000000 ts<1620000600", 10, 10, true);
    check_counts(planner, "ts>=1620000000 ts<1620086400", 60, 1, true);
    const kw_plan *plan = plan_of(planner, "ts>=1620000000 ts<1620086400 order=desc limit=1");
    g_assert_true(plan->reversed);
    g_assert_cmpuint(plan->ranges[0].skip, ==, 1);
    /* in 2038 the first bit of the seconds changes together with the minute: two groups */
    check_counts(planner, "ts>=2147400000 ts<2147560000", 120, 2, true);
    check_counts(planner, "id>=5 id<9", 1, 1, false);
}

/* Cells with adjacent keys are one range if their times are adjacent too. The rows of each cell have an order
 * of their own. */
KW_TEST(test_touching_cells, "/plan/clocks/touching_cells")
{
    g_autoptr(kw_test_planner) planner =
        planner_new("    fields: {ts: {type: timestamp, unit: s, column: \"d:ts\"}, name: string, n: int}\n"
                    "    updates: false\n    major_compaction: 1ms\n    families: {d: {ttl: 1s}}\n    key:\n"
                    "      - calendar: {of: ts, parts: [HH]}\n      - field: {name: name, encoding: raw}\n"
                    "      - field: n\n");
    kw_value empty = test_text("");
    planner_reset(planner);
    planner_set_query(planner, "ts>=1620003600 ts<1620010800 order=desc");
    planner->bounds[1] = (kw_bound){.values = &empty, .count = 1};
    const kw_plan *plan;
    bool done = kw_plan_make(&planner->query, planner->arena, &plan, NULL);
    g_assert_true(done);
    g_assert_cmpuint(plan->ranges_count, ==, 1);
    g_assert_cmpuint(plan->ranges[0].skip, ==, 0); /* its keys begin with either piece */
    g_assert_true(plan->ranges[0].timed);
    g_assert_cmpint(plan->ranges[0].least, ==, 1620003600);
    g_assert_cmpint(plan->ranges[0].most, ==, 1620010799);
    g_assert_true(has_note(plan, "rows are ordered by the pieces of ts, those of one piece by n descending"));
    static const char *const nights[] = {"ts>=1620082800 ts<1620090000 order=desc",
                                         "ts>=1620079200 ts<1620093600 order=desc"};
    for (size_t i = 0; i < G_N_ELEMENTS(nights); i++) {
        planner_reset(planner); /* 23 and 00 are adjacent in time, but not in the keys */
        planner_set_query(planner, nights[i]);
        planner->bounds[1] = (kw_bound){.values = &empty, .count = 1};
        done = kw_plan_make(&planner->query, planner->arena, &plan, NULL);
        g_assert_true(done);
        g_assert_cmpuint(plan->ranges_count, ==, 2);
        g_assert_cmpuint(plan->groups_count, ==, 2);
        for (uint32_t range = 0; range < 2; range++) {
            g_assert_cmpuint(plan->ranges[range].group, ==, range);
            g_assert_cmpuint(plan->groups[range].first, ==, range);
            g_assert_cmpuint(plan->groups[range].count, ==, 1);
        }
    }
}

/* A record without the time field does not meet a range of the time, although its number contains a time. */
KW_TEST(test_number_without_time, "/plan/clocks/number_without_time")
{
    static const char *const queries[] = {"ts>=1620000000 ts<1620000600", "ts>=1620000000 ts<1620086400"};
    g_autoptr(kw_test_planner) planner = planner_new(PARTITIONED);
    for (size_t index = 0; index < G_N_ELEMENTS(queries); index++) {
        const kw_plan *plan = plan_of(planner, queries[index]);
        g_assert_true(plan->residual && has_note(plan, "records may lack it"));
        kw_value values[] = {test_number(1620000001), test_number(INT64_C(1620000001) << 25)};
        g_assert_true(kw_plan_matches(plan, &(kw_record){.values = values}));
        values[0] = (kw_value){.kind = KW_VALUE_NONE};
        g_assert_false(kw_plan_matches(plan, &(kw_record){.values = values}));
    }
}

/* A query by ids and a time reads the ids that contain the time. A put with another time in its id is
 * rejected. */
KW_TEST(test_number_of_another_time, "/plan/clocks/number_of_another_time")
{
    g_autoptr(kw_test_planner) planner = planner_new(PARTITIONED);
    g_autofree char *both = g_strdup_printf("ts=5 id=%d,%d", 5 << 25, 6 << 25);
    g_autofree char *neither = g_strdup_printf("ts=7 id=%d", 6 << 25);
    const kw_plan *plan = plan_of(planner, both);
    g_assert_true(plan->point && plan->ranges_count == 1 && plan->residual);
    plan = plan_of(planner, neither);
    g_assert_cmpuint(plan->ranges_count, ==, 0);
    kw_value values[] = {test_number(7), test_number(6 << 25)};
    kw_buffer key = KW_BUFFER_EMPTY;
    kw_error error = KW_ERROR_NONE;
    g_assert_false(
        kw_layout_encode(plan->placements[0]->layout, &(kw_record){.values = values}, &key, &error));
    g_assert_nonnull(strstr(error.text, "value 7 differs from the time in the bits of field id"));
    kw_buffer_clear(&key);
}

/* A cursor continues its plan after the limit of ranges changed. */
KW_TEST(test_planned_again, "/plan/clocks/planned_again")
{
    g_autoptr(kw_test_planner) planner = planner_new(PARTITIONED);
    const kw_plan *plan = plan_of(planner, "ts>=1620000000 ts<1620086400 ranges=1000"), *again;
    g_assert_true(plan->ranges_count == 60 && plan->rest.limit == 0);
    kw_record_query query = *plan->query;
    query.range_limit = 10;
    bool done = kw_plan_make(&query, planner->arena, &again, NULL);
    g_assert_true(done && again->ranges_count == 60 && again->groups_count == 1 && again->rest.limit == 0);
    plan = plan_of(planner, "ts>=1620000000 ts<1620086400 ranges=10");
    g_assert_true(plan->ranges_count <= 10 && plan->rest.limit == 10);
}

/* Cells repeat every year: an interval without an end would cover every year of the calendar. */
KW_TEST(test_circular, "/plan/clocks/circular")
{
    static const char *const words[] = {"ts>=0", "ts<=86400", "full order=asc", "ts>=0 full order=desc"};
    g_autoptr(kw_test_planner) planner = NULL;
    planner = planner_new("    fields: {ts: {type: timestamp, unit: s, column: 'd:ts'}, url: string}\n"
                          "    families: {d: {ttl: 300d}}\n"
                          "    key:\n      - calendar: {of: ts, parts: [MM, dd]}\n      - field: url\n");
    for (size_t index = 0; index < G_N_ELEMENTS(words); index++) {
        planner_reset(planner);
        planner_set_query(planner, words[index]);
        const kw_plan *plan;
        kw_error error = KW_ERROR_NONE;
        g_assert_false(kw_plan_make(&planner->query, planner->arena, &plan, &error));
        g_assert_nonnull(strstr(error.text, "both ends"));
    }
    check_counts(planner, "ts>=0 ts<=864000 order=desc", 1, 1, true);
}

/* The hours are read one after the other, each in the order of the time field after it. The first row is the
 * latest, for any number of hours. Without an end of the range there would be too many hours. */
KW_TEST(test_time_after_hours, "/plan/clocks/time_after_hours")
{
    static const char *const intervals[] = {"ts>=1600000000 ts<1600360000", "ts>=1600000000 ts<1617996400",
                                            "ts>=1600000000 ts<1618003600", "ts>=1262304000 ts<1618003600"};
    g_autoptr(kw_test_planner) planner =
        planner_new("    fields: {ts: {type: timestamp, unit: s}, id: string}\n    key:\n"
                    "      - calendar: {of: ts, parts: [yyyy, MM, dd, HH]}\n"
                    "      - field: {name: ts, order: desc}\n      - field: id\n");
    for (size_t index = 0; index < G_N_ELEMENTS(intervals); index++) {
        g_autofree char *latest = g_strdup_printf("%s order=desc limit=1", intervals[index]);
        const kw_plan *plan = plan_of(planner, latest);
        g_assert_true(has_note(plan, "rows are ordered by ts descending"));
        g_assert_false(plan->reversed);
        g_assert_cmpuint(plan->ranges_count, ==, plan->groups_count);
        g_assert_cmpint(kw_bytes_compare(plan->ranges[0].start, plan->ranges[1].start), >, 0);
        g_assert_cmpuint(plan->ranges_count, <=, index ? KW_PLAN_WINDOW_RANGES : 101);
    }
    check_counts(planner, intervals[3], 1, 1, true); /* without an order, one range is enough */
}

/* An order that the hours do not provide is rejected; the error says what is missing. */
KW_TEST(test_time_after_hours_without_end, "/plan/clocks/time_after_hours_without_end")
{
    static const char *const rejected[] = {"full order=desc", "ts>=1600000000 order=desc",
                                           "ts<1600000000 order=asc", "ts>=1600000000 id=a order=desc"};
    static const char *const rules[] = {
        "      - field: {name: ts, order: desc}\n      - field: id\n",
        "      - field: {name: id, encoding: terminated}\n"
        "      - field: {name: ts, order: desc}\n",
        "      - salt: {of: id, buckets: 2}\n      - field: ts\n      - field: id\n"};
    for (size_t rule = 0; rule < G_N_ELEMENTS(rules); rule++) {
        g_autofree char *yaml =
            g_strconcat("    fields: {ts: {type: timestamp, unit: s}, id: string}\n    key:\n"
                        "      - calendar: {of: ts, parts: [yyyy, MM, dd, HH]}\n",
                        rules[rule], NULL);
        g_autoptr(kw_test_planner) planner = planner_new(yaml);
        for (size_t index = 0; index < G_N_ELEMENTS(rejected); index++) {
            bool by_hour =
                rule == 1 && index < 3; /* ids are between hour and time: rows are ordered by hour only */
            bool by_time = rule == 2 && index == 3; /* one bucket */
            planner_reset(planner);
            planner_set_query(planner, rejected[index]);
            kw_error error = KW_ERROR_NONE;
            const kw_plan *plan;
            bool planned = kw_plan_make(&planner->query, planner->arena, &plan, &error);
            g_assert_true(planned == (by_hour || by_time));
            if (!planned)
                g_assert_nonnull(
                    strstr(error.text, "the order of time only within a range of ts with both ends"));
        }
    }
    g_autoptr(kw_test_planner) rising = planner_new(
        "    fields: {ts: {type: timestamp, unit: s}, id: string}\n    key:\n"
        "      - calendar: {of: ts, parts: [yyyy, MM, dd, HH]}\n      - field: ts\n      - field: id\n");
    check_counts(rising, "full order=desc", 1, 1, false);
    check_counts(rising, "ts>=1600000000 order=desc", 1, 1, true);
    check_counts(rising, "ts>=1262304000 ts<1618003600 order=desc", 1, 1, true);
}

/* Of two paths, the planner selects the one with the exact order, even if it has more ranges. */
KW_TEST(test_exact_path, "/plan/clocks/exact_path")
{
    g_autoptr(kw_test_planner) planner = planner_new(
        "    fields: {ts: {type: timestamp, unit: s, column: \"d:ts\"}, id: string, n: int}\n    key:\n"
        "      - calendar: {of: ts, parts: [mm, HH, dd, MM, yyyy]}\n      - field: id\n      - field: ts\n"
        "    paths:\n      exact:\n        key:\n          - salt: {of: id, buckets: 16}\n"
        "          - field: ts\n          - field: id\n");
    static const char *const words[] = {"ts>=1620000000 ts<1620000060 order=desc",
                                        "ts>=1620000000 ts<1620086400 order=desc"};
    for (size_t index = 0; index < G_N_ELEMENTS(words); index++)
        g_assert_cmpstr(plan_of(planner, words[index])->path->name, ==, "exact");
}

/* Of two paths that list the pieces of the time, the one with shorter pieces has the better order. */
KW_TEST(test_shorter_pieces, "/plan/clocks/shorter_pieces")
{
#define REST "{field: {name: host, encoding: terminated}}, {field: n}, {field: ts}]\n"
    static const char *const rules[] = {"HH, dd, MM, yyyy", "mm, HH, dd, MM, yyyy"};
    for (size_t first = 0; first < G_N_ELEMENTS(rules); first++) {
        g_autofree char *yaml =
            g_strdup_printf("    fields: {ts: {type: timestamp, column: 'd:ts'}, host: string, n: int}\n"
                            "    key: [{calendar: {of: ts, parts: [%s]}}, " REST
                            "    paths: {other: {key: [{calendar: {of: ts, parts: [%s]}}, " REST "}}\n",
                            rules[first], rules[1 - first]);
        g_autoptr(kw_test_planner) planner = planner_new(yaml);
        const char *minutes = first ? "primary" : "other", *hours = first ? "other" : "primary";
        const char *latest = "host=a ts>=1620000000000 ts<1620003600000 order=desc";
        g_assert_cmpstr(plan_of(planner, latest)->path->name, ==, minutes);
        latest = "host=a ts>=1620000000000 ts<1620003600000"; /* without an order: fewer ranges */
        g_assert_cmpstr(plan_of(planner, latest)->path->name, ==, hours);
    }
#undef REST
}

/* Rows of one moment are in the order of their numbers only if every number before the first unknown one has
 * a single value. */
KW_TEST(test_numbers_of_one_moment, "/plan/clocks/numbers_of_one_moment")
{
    static const struct {
        const char *words;
        bool ordered;
        size_t ranges;
    } cases[] = {
        {"ts=5", true, 1},        {"ts=5 a=1", true, 1},        {"ts=5 a=1 b=2", true, 1},
        {"ts=5 a=1,2", false, 2}, {"ts=5 a=1 b=2,3", false, 2}, {"ts=5 a=1,2 b=2", false, 2},
        {"ts=5,6", false, 2},
    };
    g_autoptr(kw_test_planner) planner =
        planner_new("    fields: {ts: {type: timestamp, unit: s}, a: int, b: int, c: int}\n"
                    "    key: [{bits: {of: ts, parts: [seconds 32, a 8, b 8, c 8]}}]\n");
    for (size_t index = 0; index < G_N_ELEMENTS(cases); index++) {
        check_counts(planner, cases[index].words, cases[index].ranges, cases[index].ranges, true);
        g_autofree char *words = g_strconcat(cases[index].words, " order=asc", NULL);
        const char *plan = planner_plan_text(planner, words);
        g_assert_cmpint(g_str_has_prefix(plan, "primary:"), ==, cases[index].ordered);
        if (!cases[index].ordered)
            g_assert_nonnull(strstr(plan, "cannot be answered in ascending order"));
    }
}

/* If the field directly after a calendar is bound, a plan without a time reads one range in every piece of
 * the calendar. */
KW_TEST(test_every_hour, "/plan/clocks/every_hour")
{
    g_autoptr(kw_test_planner) planner =
        planner_new("    fields: {id: string, ts: {type: timestamp, column: 'd:ts'}}\n    updates: false\n"
                    "    major_compaction: 1ms\n    families: {d: {ttl: 1s}}\n"
                    "    key: [{calendar: {of: ts, parts: [HH]}}, {field: id}]\n");
    check_counts(planner, "id=a", 24, 24, true); /* keys of longer ids are between them */
    check_counts(planner, "id=a,b", 24, 24, true);
}

/* The ranges of many values in one interval use no more memory than the effort allows. */
KW_TEST(test_effort, "/plan/clocks/effort")
{
    g_autoptr(kw_test_planner) planner = planner_new(
        "    fields: {n: int, ts: {type: timestamp, unit: s}, id: int}\n    key:\n      - field: n\n"
        "      - bits: {of: id, time: ts, parts: [zero 1, minute 6, seconds 32, worker 9, sequence 16]}\n");
    planner_set_query(planner, "ts>=1620000000 ts<1620086400");
    kw_value values[500];
    for (size_t index = 0; index < G_N_ELEMENTS(values); index++)
        values[index] = test_number((int64_t)index);
    planner->bounds[0] = (kw_bound){.values = values, .count = G_N_ELEMENTS(values)};
    planner->query.range_limit = 0;
    for (int enough = 0; enough < 2; enough++) {
        g_autoptr(kw_arena) arena = kw_arena_new();
        const size_t most = enough ? 64 << 20 : 1 << 20;
        kw_effort effort = {.bytes_most = most, .deadline = KW_DEADLINE_NONE};
        const kw_plan *plan;
        kw_error error = KW_ERROR_NONE;
        g_assert_cmpint(kw_plan_make_within(&planner->query, &effort, arena, &plan, &error), ==, enough);
        if (enough)
            g_assert_cmpuint(plan->ranges_count, ==, 500 * 60);
        else
            g_assert_cmpint(error.code, ==, KW_LIMIT);
        g_assert_cmpuint(kw_arena_used(arena), <, most * 5 / 4);
    }
}
