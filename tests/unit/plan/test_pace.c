/* The pace of a scan: which windows follow a window, by its cost. */
#include "plan/pace.h"

#include <glib.h>

static const kw_window rest = {.limit = 100, .least = 50, .most = 99, .form = KW_WINDOW_OPEN};

/* The query after a window that replaces a number of exact ranges; 0: an exact window. */
static kw_record_query
after(kw_pace *pace, uint64_t replaces, kw_pace_cost cost)
{
    kw_record_query query = {.wide_ranges = 7};
    kw_plan plan = {.replaces = replaces, .rest = rest};
    kw_pace_next(pace, &plan, &cost, &query);
    g_assert_cmpint(query.window.least, ==, 50);
    g_assert_cmpint(query.window.most, ==, 99);
    return query;
}

/* Cheap windows grow; one that takes long is followed by one of its size. */
KW_TEST(test_cheap, "/plan/pace/cheap")
{
    kw_pace pace = {.wide_ranges = 0};
    kw_record_query query = after(&pace, 1000, (kw_pace_cost){.rows = 10000, .us = KW_PACE_LONG_US});
    g_assert_cmpint(query.window.form, ==, KW_WINDOW_OPEN);
    g_assert_cmpuint(query.wide_ranges, ==, 4000);
    query = after(&pace, 4000, (kw_pace_cost){.rows = 0, .us = KW_PACE_LONG_US + 1});
    g_assert_cmpint(query.window.form, ==, KW_WINDOW_OPEN);
    g_assert_cmpuint(query.wide_ranges, ==, 4000);
    query = after(&pace, UINT64_MAX, (kw_pace_cost){.rows = UINT64_MAX});
    g_assert_cmpuint(query.wide_ranges, ==, SIZE_MAX);
}

/* After a window that examined many rows, or took long for the ranges that it replaced, a number of exact
 * windows follow; then a small wide one. */
KW_TEST(test_expensive, "/plan/pace/expensive")
{
    const kw_pace_cost costs[] = {{.rows = 10001}, {.us = 100001}};
    for (size_t index = 0; index < G_N_ELEMENTS(costs); index++) {
        kw_pace pace = {.wide_ranges = 5000};
        kw_record_query query = after(&pace, 1000, costs[index]);
        g_assert_cmpint(query.window.form, ==, KW_WINDOW_EXACT);
        for (unsigned window = 1; window < KW_PACE_EXACT_WINDOWS; window++) {
            query = after(&pace, 0, (kw_pace_cost){.rows = 5});
            g_assert_cmpint(query.window.form, ==, KW_WINDOW_EXACT);
        }
        query = after(&pace, 0, (kw_pace_cost){.rows = 5});
        g_assert_cmpint(query.window.form, ==, KW_WINDOW_OPEN);
        g_assert_cmpuint(query.wide_ranges, ==, 0);
    }
}

/* If another call read the beginning of a window, its cost is not known: a small wide window follows. */
KW_TEST(test_partial, "/plan/pace/partial")
{
    kw_pace pace = {.wide_ranges = 5000};
    kw_record_query query = after(&pace, 1000, (kw_pace_cost){.partial = true, .rows = 50000});
    g_assert_cmpint(query.window.form, ==, KW_WINDOW_OPEN);
    g_assert_cmpuint(query.wide_ranges, ==, 0);
}

/* Plans without wide ranges keep their windows. */
KW_TEST(test_fixed, "/plan/pace/fixed")
{
    kw_pace pace = {.wide_ranges = 0};
    kw_pace_cost cost = {.rows = 1};
    kw_plan plan = {.rest = {.limit = 100, .least = 50, .most = 99, .form = KW_WINDOW_EXACT}};
    kw_record_query query = {.wide_ranges = 0};
    kw_pace_next(&pace, &plan, &cost, &query);
    g_assert_cmpint(query.window.form, ==, KW_WINDOW_EXACT);
    g_assert_cmpint(query.window.least, ==, 50);
}

/* A call that could not read a wide window begins with a small one again; exact windows stay. */
KW_TEST(test_again, "/plan/pace/again")
{
    kw_record_query query = {.window = {.limit = 100, .least = 10, .most = 49, .form = KW_WINDOW_WIDE}};
    kw_plan plan = {.query = &query, .replaces = 1000, .rest = rest};
    kw_window again = kw_pace_again(&plan);
    g_assert_cmpint(again.form, ==, KW_WINDOW_OPEN);
    g_assert_cmpint(again.least, ==, 10);
    g_assert_cmpint(again.most, ==, 99);
    g_assert_cmpuint(again.limit, ==, 100);
    plan.rest = (kw_window){.limit = 0};
    again = kw_pace_again(&plan);
    g_assert_cmpint(again.most, ==, 49);
    query.window.form = KW_WINDOW_EXACT;
    plan = (kw_plan){.query = &query, .rest = rest};
    again = kw_pace_again(&plan);
    g_assert_cmpint(again.form, ==, KW_WINDOW_EXACT);
    g_assert_cmpint(again.most, ==, 49);
}
