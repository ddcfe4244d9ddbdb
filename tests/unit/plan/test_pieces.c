/* Which pieces and buckets a plan reads, how it groups them, and what remains to be checked for each row. */
#include "plan/planner.h"
#include "rule/policies.h"

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

static bool
has_note(const kw_plan *plan, const char *words)
{
    for (size_t index = 0; index < plan->notes_count; index++)
        if (strstr(plan->notes[index], words))
            return true;
    return false;
}

/* The hours of an interval of 23 hours are read one after the other. An interval of a day contains every hour
 * of the day; the rows of all hours are merged by the time field that follows in the key. */
KW_TEST(test_whole_round, "/plan/pieces/whole-round")
{
    static const struct {
        const char *words;
        size_t ranges, groups;
    } cases[] = {{"ts>=1620000000 ts<1620003600 order=asc", 1, 1},
                 {"ts>=1620000000 ts<1620082800 order=asc", 23, 23},
                 {"ts>=1620000000 ts<1620086400 order=asc", 24, 1},
                 {"ts>=1620000000 ts<1620172800 order=asc", 24, 1}};
    g_autoptr(kw_test_planner) planner =
        planner_new("    fields: {ts: {type: timestamp, unit: s}, id: string}\n"
                    "    key: [{calendar: {of: ts, parts: [HH]}}, {field: ts}, {field: id}]\n");
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        const kw_plan *plan = plan_of(planner, cases[i].words);
        g_assert_cmpuint(plan->ranges_count, ==, cases[i].ranges);
        g_assert_cmpuint(plan->groups_count, ==, cases[i].groups);
        g_assert_true(has_note(plan, "rows are ordered by ts ascending"));
    }
}

/* Of the pairs of a month and a day, only those are read whose day is in the month. */
KW_TEST(test_pieces_that_exclude_each_other, "/plan/pieces/excluded")
{
    g_autoptr(kw_test_planner) planner =
        planner_new("    fields: {ts: {type: timestamp, unit: s}, id: string}\n    key:\n"
                    "      - calendar: {of: ts, parts: [MM, yyyy]}\n"
                    "      - field: {name: id, encoding: terminated}\n"
                    "      - calendar: {of: ts, parts: [dd, MM, yyyy]}\n      - field: ts\n");
    const kw_plan *plan =
        plan_of(planner, "ts>=1612051200 ts<1612310400 id=x"); /* January 31 to February 2 */
    static const char *const starts[] = {"012021x", "022021x", "022021x"};
    g_assert_cmpuint(plan->ranges_count, ==, G_N_ELEMENTS(starts));
    for (size_t i = 0; i < plan->ranges_count; i++)
        g_assert_true(kw_bytes_starts_with(plan->ranges[i].start, kw_bytes_of_text(starts[i])));
}

/* A month with one day in the interval, and one with more: the ranges of both are kept. */
KW_TEST(test_runs_of_several_months, "/plan/pieces/several-months")
{
    g_autoptr(kw_test_planner) planner =
        planner_new("    fields: {ts: {type: timestamp, unit: s, column: 'd:ts'}, id: string}\n    key:\n"
                    "      - calendar: {of: ts, parts: [MM, yyyy]}\n"
                    "      - field: {name: id, encoding: fixed, width: 2}\n"
                    "      - calendar: {of: ts, parts: [dd, MM, yyyy]}\n");
    const kw_plan *plan =
        plan_of(planner, "ts>=1612051200 ts<1612742400 id=10"); /* January 31 to February 7 */
    g_assert_cmpuint(plan->ranges_count, ==, 1 + 7);
    for (size_t i = 0; i < plan->ranges_count; i++)
        g_assert_true(
            kw_bytes_starts_with(plan->ranges[i].start, kw_bytes_of_text(i ? "02202110" : "01202110")));
}

/* An hour that occurs twice is read twice, and the time of each row is checked, even if the query has no
 * condition on the time. */
KW_TEST(test_repeated_hours_without_condition, "/plan/pieces/repeated-hours")
{
    g_autoptr(kw_test_planner) planner =
        planner_new("    fields: {ts: {type: timestamp, unit: s, column: 'd:ts'}, seq: int}\n    key:\n"
                    "      - calendar: {of: ts, parts: [yyyy, MM, dd, HH, mm], zone: Europe/Berlin,\n"
                    "                   sequence: seq, as: packed}\n");
    const kw_plan *plan = plan_of(planner, "full order=asc");
    g_assert_true(plan->residual);
    g_assert_true(has_note(plan, "the time is checked for each row: a key can belong to more than one time"));
    g_assert_nonnull(strstr(kw_plan_text(plan, planner->arena), "about 1.05 rows scanned"));
}

/* The seconds of a time come after two numbers: ranges can meet a condition on the time only if both are
 * bound. */
KW_TEST(test_time_after_numbers, "/plan/pieces/time-after-numbers")
{
    static const struct {
        const char *words;
        bool checked;
    } cases[] = {{"ts=5500 a=1 b=1", false}, {"ts=5500 a=1", true}, {"ts=5500 full", true}};
    g_autoptr(kw_test_planner) planner =
        planner_new("    fields: {ts: {type: timestamp, column: 'd:ts'}, a: int, b: int, c: int}\n"
                    "    key: [{bits: {of: ts, parts: [a 2, b 2, seconds 36, c 8]}}]\n");
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        const kw_plan *plan = plan_of(planner, cases[i].words);
        g_assert_cmpint(has_note(plan, "ts is checked for each row"), ==, cases[i].checked);
        g_assert_true(plan->residual || !cases[i].checked);
    }
}

/* The choice of the path for an order does not depend on the number of pieces: sixty minutes in one bucket
 * are preferred to a day in two. */
KW_TEST(test_choice_without_pieces, "/plan/pieces/choice")
{
    g_autoptr(kw_test_planner) planner = planner_new(
        "    fields: {ts: {type: timestamp, unit: s}, id: string}\n"
        "    key: [{salt: {of: [id], buckets: 2}}, {calendar: {of: ts, parts: [dd, MM, yyyy]}}, {field: "
        "ts},\n"
        "          {field: id}]\n"
        "    paths: {minutes: {key: [{calendar: {of: ts, parts: [mm, HH, dd, MM, yyyy]}}, {field: ts},\n"
        "                            {field: id}]}}\n");
    const kw_plan *plan = plan_of(planner, "ts>=1620000000 ts<1620003600 order=desc");
    g_assert_cmpstr(plan->path->name, ==, "minutes");
    g_assert_cmpuint(plan->ranges_count, ==, 60);
    plan = plan_of(planner, "ts>=1620000000 ts<1620003600"); /* without an order: fewer ranges */
    g_assert_cmpstr(plan->path->name, ==, "primary");
}

/* Hours are less exact than minutes, even if buckets follow them. */
KW_TEST(test_buckets_after_pieces, "/plan/pieces/buckets")
{
    g_autoptr(kw_test_planner) planner = planner_new(
        "    fields: {ts: {type: timestamp, unit: s, column: 'd:ts'}, host: string, n: int}\n"
        "    key: [{calendar: {of: ts, parts: [HH, dd, MM, yyyy]}}, {salt: {of: [n], buckets: 2}},\n"
        "          {field: {name: host, encoding: terminated}}, {field: n}, {field: ts}]\n"
        "    paths: {minutes: {key: [{calendar: {of: ts, parts: [mm, HH, dd, MM, yyyy]}},\n"
        "                            {field: {name: host, encoding: terminated}}, {field: n}, {field: "
        "ts}]}}\n");
    const kw_plan *plan = plan_of(planner, "host=a ts>=1620000000 ts<1620007200 order=desc");
    g_assert_cmpstr(plan->path->name, ==, "minutes");
}

static bool
matches(const kw_plan *plan, int64_t time)
{
    kw_value values[] = {test_number(time), test_number(5)};
    return kw_plan_matches(plan, &(kw_record){.values = values});
}

/* A clock that is set back once a year has few runs, so an interval without an end can be read in windows.
 * Each window includes its own ends, and the next one continues there. */
KW_TEST(test_windows_of_open_interval, "/plan/pieces/open-window")
{
    static const char *const queries[] = {"ts>=0 order=asc", "ts<=4000000000 order=desc",
                                          "ts<=4000000000 order=asc", "ts>=0 order=desc"};
    g_autoptr(kw_test_planner) planner =
        planner_new("    fields: {ts: {type: timestamp, unit: s, column: 'd:ts'}, seq: int}\n"
                    "    key: [{salt: {of: [seq], buckets: 16}},\n"
                    "          {calendar: {of: ts, parts: [yyyy, MM, dd, HH, mm], zone: Europe/Berlin}},\n"
                    "          {field: seq}]\n");
    for (size_t i = 0; i < G_N_ELEMENTS(queries); i++) {
        const kw_plan *plan = plan_of(planner, queries[i]), *next;
        bool falling = plan->reversed;
        kw_record_query query = *plan->query;
        int64_t last = falling ? query.window.least : query.window.most;
        query.window = plan->rest;
        bool done = plan->rest.limit > 0 && kw_plan_make(&query, planner->arena, &next, NULL);
        g_assert_true(done);
        g_assert_cmpuint(next->rest.limit, ==, 0);
        int64_t first = last + (falling ? -1 : 1);
        g_assert_true(matches(plan, last) && !matches(plan, first));
        g_assert_true(!matches(next, last) && matches(next, first));
    }
}

/* A range does not help a hash, whichever of the hashed fields it is a range of. */
KW_TEST(test_range_of_hashed_field, "/plan/pieces/hashed-range")
{
    g_autoptr(kw_test_planner) planner =
        planner_new("    fields: {a: int, b: int, c: int}\n"
                    "    key: [{hash: [a, b]}, {field: a}, {field: b}, {field: c}]\n");
    static const char *const names[] = {"a", "b", "c"};
    for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
        g_autofree char *words = g_strdup_printf("%s>=3", names[i]);
        g_autofree char *why =
            g_strdup_printf("; a range of %s does not help, only values do: hash(", names[i]);
        const char *text = planner_plan_text(planner, words);
        g_assert_cmpint(strstr(text, why) != NULL, ==, i < 2);
        g_assert_cmpint(strstr(text, "; c alone does not help") != NULL, ==, i == 2);
    }
}

/* ... in whichever path the hash is. */
KW_TEST(test_range_of_field_hashed_in_second_path, "/plan/pieces/hashed-range-of-second-path")
{
    g_autoptr(kw_test_planner) planner =
        planner_new("    fields: {a: int, b: int}\n    key: [{field: a}, {field: b}]\n"
                    "    paths: {second: {key: [{hash: b}, {field: b}, {field: a}]}}\n");
    const char *text = planner_plan_text(planner, "b>=3");
    g_assert_nonnull(strstr(text, "; a range of b does not help, only values do: hash("));
}

/* An end that has no place among descending digits is checked for each row. */
KW_TEST(test_ends_without_a_piece, "/plan/pieces/ends-without-a-piece")
{
    static const struct {
        const char *words;
        bool checked;
    } cases[] = {{"id>=10 id<=25", false}, {"id>=1", true}, {"id<=2", true}, {"id>=1x", true}};
    g_autoptr(kw_test_planner) planner =
        planner_new("    fields: {id: string, n: int}\n"
                    "    key: [{field: {name: id, encoding: digits, width: 2, order: desc}}, {field: n}]\n");
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++)
        g_assert_cmpint(plan_of(planner, cases[i].words)->residual, ==, cases[i].checked);
}
