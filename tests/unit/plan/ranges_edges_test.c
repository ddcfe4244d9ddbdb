/* The exact ends of ranges, and how many ranges a path is expected to have. */
#include "plan/planner.h"

#include <string.h>

/* A range begins after every key that begins with an excluded value, however long the value is. */
KW_TEST(test_excluded_values, "/plan/ranges-edges/excluded-values")
{
    g_autoptr(kw_test_planner) planner =
        planner_new("    fields: {id: string}\n    key: [{field: {name: id, encoding: raw}}]\n");
    static const struct {
        const char *query, *plan;
    } cases[] = {
        {"id>0123456789abcdef id<=x full", "primary: [0123456789abcdef\\x00,x\\x00)"},
        {"id>0123456789abcde id<0123456789abcdef full", "primary: [0123456789abcde\\x00,0123456789abcdef)"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++)
        g_assert_cmpstr(planner_plan_text(planner, cases[i].query), ==, cases[i].plan);
}

/* Nothing is less than the least number or greater than the greatest one. */
KW_TEST(test_ends_of_numbers, "/plan/ranges-edges/ends-of-numbers")
{
    static const char *const queries[] = {"n<-9223372036854775808", "n>9223372036854775807",
                                          "n>=5 n<-9223372036854775808", "n>9223372036854775807 n<=5"};
    g_autoptr(kw_test_planner) planner = planner_new("    fields: {n: int}\n    key: [field: n]\n");
    for (size_t i = 0; i < G_N_ELEMENTS(queries); i++)
        g_assert_cmpstr(planner_plan_text(planner, queries[i]), ==, "primary:");
}

/* A hash of two fields, of which the second is bound to three values, has three ranges, so the path with one
 * range is used. */
KW_TEST(test_lists_in_a_hash, "/plan/ranges-edges/lists-in-a-hash")
{
    g_autoptr(kw_test_planner) planner =
        planner_new("    fields: {a: int, b: int, ts: timestamp}\n"
                    "    key: [{hash: {of: [a, b], take: 2, as: hex}}, {field: a}, {field: ts}, {field: b}]\n"
                    "    paths: {second: {key: [{field: a}, {field: ts}, {field: b}]}}\n");
    g_assert_true(g_str_has_prefix(planner_plan_text(planner, "a=1 b=1,2,3"), "second: "));
}

/* Buckets that contain disjoint intervals of a field are merged if the rows are in the order of another
 * field. */
KW_TEST(test_buckets_of_another_order, "/plan/ranges-edges/buckets-of-another-order")
{
    g_autoptr(kw_test_planner) planner =
        planner_new("    fields: {n: int, ts: timestamp}\n"
                    "    key: [{mod: {of: n, buckets: 4}}, {field: ts}, {field: n}]\n");
    g_assert_cmpstr(planner_plan_text(planner, "n>=5 n<7 full"), ==,
                    "primary: [\\x01,\\x02) [\\x02,\\x03) residual");
}
