/* The exact number of rows that a fetch requests, and the exact limits for reading ahead. */
#include "gather/demand.h"

#include <glib.h>

KW_TEST(test_rows, "/gather/demand-edges/rows")
{
    kw_demand one = {.wanted = 100, .streams = 1};
    g_assert_cmpuint(kw_demand_expected(&one), ==, 100);
    g_assert_cmpuint(kw_demand_rows(&one, 0), ==, 100);
    g_assert_cmpuint(kw_demand_rows(&one, 30), ==, 70);
    g_assert_cmpuint(kw_demand_rows(&one, 99), ==, 1);
    g_assert_cmpuint(kw_demand_rows(&one, 100), ==, 1);
    g_assert_cmpuint(kw_demand_rows(&one, 200), ==, 1);
    kw_demand ten = {.wanted = 1000, .streams = 10};
    g_assert_cmpuint(kw_demand_expected(&ten), ==, 100);
    g_assert_cmpuint(kw_demand_rows(&ten, 0), ==, 115); /* plus one and a half times the square root */
    g_assert_cmpuint(kw_demand_rows(&ten, 10), ==, 105);
    kw_demand fifteen = {.wanted = 150, .streams = 10}, sixteen = {.wanted = 160, .streams = 10};
    g_assert_cmpuint(kw_demand_rows(&fifteen, 0), ==, 15 + 3);
    g_assert_cmpuint(kw_demand_rows(&sixteen, 0), ==, 16 + 4 + 2);
    kw_demand frequent = {.wanted = 1000, .streams = 10, .taken = 49, .taken_by_all = 90};
    g_assert_cmpuint(kw_demand_expected(&frequent), ==, 500);
    kw_demand many = {.wanted = 1000000, .streams = 2};
    g_assert_cmpuint(kw_demand_rows(&many, 0), ==, 500000 + 707 + 353);
    kw_demand few = {.wanted = 3, .streams = 1};
    g_assert_cmpuint(kw_demand_rows(&few, 0), ==, 3);
}

KW_TEST(test_ahead, "/gather/demand-edges/ahead")
{
    kw_demand one = {.wanted = 100, .streams = 1};
    g_assert_true(kw_demand_ahead(&one, 46));
    g_assert_false(kw_demand_ahead(&one, 47));
    one.wanted = 8;
    g_assert_true(kw_demand_ahead(&one, 0));
    one.wanted = 7;
    g_assert_false(kw_demand_ahead(&one, 0));
}

KW_TEST(test_groups, "/gather/demand-edges/groups")
{
    g_assert_cmpuint(kw_demand_groups(10, 0, 0), ==, 0);
    g_assert_cmpuint(kw_demand_groups(0, 5, 5), ==, 0);
    g_assert_cmpuint(kw_demand_groups(0, 5, 0), ==, 0);
    g_assert_cmpuint(kw_demand_groups(10, 1, 0), ==, 1);
    g_assert_cmpuint(kw_demand_groups(10, 3, 0), ==, 3);
    g_assert_cmpuint(kw_demand_groups(10, 2, 10), ==, 1);
    g_assert_cmpuint(kw_demand_groups(10, 2, 5), ==, 3);
    g_assert_cmpuint(kw_demand_groups(1, 1, 100), ==, 0);
}
