/* Windows of a single piece, the path for a requested order, and what a refused query could bind. */
#include "plan/planner.h"

/* A window has at least one piece of the clock, even if it then has more ranges than other windows. */
KW_TEST(test_window_of_one_piece, "/plan/clocks-edges/window-of-one-piece")
{
    g_autoptr(kw_test_planner) planner = planner_new(
        "    fields: {n: int, ts: {type: timestamp, unit: s}}\n    key:\n"
        "      - mod: {of: n, buckets: 3000}\n      - calendar: {of: ts, parts: [mm, HH, dd, MM, yyyy]}\n"
        "      - field: ts\n      - field: n\n");
    planner_set_query(planner, "ts>=1620000000 ts<1620086400");
    const kw_plan *plan;
    bool done = kw_plan_make(&planner->query, planner->arena, &plan, NULL);
    g_assert_true(done);
    g_assert_cmpuint(plan->ranges_count, ==, 3000);
    g_assert_cmpuint(plan->groups_count, ==, 1);
    g_assert_true(plan->rest.limit > 0);
    g_assert_cmpint(plan->rest.least, ==, 1620000060);
}

/* The notes of a plan mention windows only if more than one window is needed. */
KW_TEST(test_note_of_windows, "/plan/clocks-edges/note-of-windows")
{
    static const struct {
        const char *query;
        bool windows;
    } cases[] = {{"ts>=1620000000 ts<1620000060", false}, {"ts>=1620000000 ts<1620000061", true}};
    g_autoptr(kw_test_planner) planner =
        planner_new("    fields: {n: int, ts: {type: timestamp, unit: s}}\n    key:\n"
                    "      - mod: {of: n, buckets: 3000}\n"
                    "      - calendar: {of: ts, parts: [mm, HH, dd, MM, yyyy]}\n"
                    "      - field: ts\n      - field: n\n");
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        const kw_plan *plan;
        planner_reset(planner);
        planner_set_query(planner, cases[i].query);
        bool done = kw_plan_make(&planner->query, planner->arena, &plan, NULL), noted = false;
        g_assert_true(done);
        for (size_t note = 0; note < plan->notes_count; note++)
            noted = noted || strstr(plan->notes[note], "windows");
        g_assert_true(plan->query->window.limit > 0);
        g_assert_cmpint(plan->rest.limit > 0, ==, cases[i].windows);
        g_assert_cmpint(noted, ==, cases[i].windows);
    }
}

/* If an order is requested, a path without a clock answers, even if a clock has fewer ranges in a short time.
 */
KW_TEST(test_path_of_an_order, "/plan/clocks-edges/path-of-an-order")
{
    static const struct {
        const char *query, *path;
    } cases[] = {{"ts>=1620000000 ts<1620000060", "primary:"},
                 {"ts>=1620000000 ts<1620000060 order=asc", "second:"},
                 {"ts>=1620000000 ts<1620086400 order=asc", "second:"},
                 {"ts>=1620000000 ts<1620086400", "second:"}};
    g_autoptr(kw_test_planner) planner =
        planner_new("    fields: {ts: {type: timestamp, unit: s, column: 'd:ts'}, id: string}\n"
                    "    key: [{calendar: {of: ts, parts: [mm, HH, dd, MM, yyyy]}}, field: ts, field: id]\n"
                    "    paths: {second: {key: [{salt: {of: [id], buckets: 4}}, field: ts, field: id]}}\n");
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        const char *text = planner_plan_text(planner, cases[i].query);
        if (!g_str_has_prefix(text, cases[i].path))
            g_error("%s: %s", cases[i].query, text);
    }
}

/* The error names both fields of a component that holds a number and its time, whatever their order. */
KW_TEST(test_wish_for_a_number, "/plan/clocks-edges/wish-for-a-number")
{
    static const char *const fields[] = {"id: int, ts: {type: timestamp, unit: s}",
                                         "ts: {type: timestamp, unit: s}, id: int"};
    for (size_t i = 0; i < G_N_ELEMENTS(fields); i++) {
        g_autofree char *yaml = g_strdup_printf("    fields: {%s}\n    key:\n"
                                                "      - bits: {of: id, time: ts, parts: [zero 1, minute 6, "
                                                "seconds 32, worker 9, sequence 16]}\n",
                                                fields[i]);
        g_autoptr(kw_test_planner) planner = planner_new(yaml);
        const char *text = planner_plan_text(planner, "");
        if (!strstr(text, "bind id, or give it or ts a range (path primary)"))
            g_error("%s", text);
    }
}

/* A range of a time whose bits begin with another field contains other times, so its rows are checked. */
KW_TEST(test_time_after_an_unknown_field, "/plan/clocks-edges/time-after-an-unknown-field")
{
    static const struct {
        const char *query;
        bool residual;
    } cases[] = {{"ts=1620000000000", true}, {"ts=1620000000000 n=3", false}};
    g_autoptr(kw_test_planner) planner =
        planner_new("    fields: {ts: {type: timestamp, column: 'd:ts'}, n: int, id: string}\n"
                    "    key: [{bits: {of: ts, parts: [zero 1, n 7, seconds 40]}}, {field: id}]\n");
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        const char *text = planner_plan_text(planner, cases[i].query);
        if (!g_str_has_prefix(text, "primary: [") || g_str_has_suffix(text, " residual") != cases[i].residual)
            g_error("%s: %s", cases[i].query, text);
    }
}

/* As many ranges as the query allows are not too many. */
KW_TEST(test_most_ranges, "/plan/clocks-edges/most-ranges")
{
    g_autoptr(kw_test_planner) planner =
        planner_new("    fields: {ts: {type: timestamp, column: 'd:ts'}, n: int, id: string}\n    key:\n"
                    "      - calendar: {of: ts, parts: [yyyy, MM, dd], as: packed, sequence: n, digits: 3}\n"
                    "      - field: id\n");
    const char *text = planner_plan_text(planner, "ts=1620000000000 ranges=1");
    if (!g_str_has_prefix(text, "primary: ["))
        g_error("%s", text);
}
