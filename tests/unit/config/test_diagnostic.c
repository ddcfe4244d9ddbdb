/* Problems are printed in the order of the file, one line each, up to a maximum number; similar names are
 * suggested. */
#include "config/diagnostic.h"

#include <string.h>

KW_TEST(test_order, "/config/diagnostic/order")
{
    g_autoptr(kw_diagnostics) all = kw_diagnostics_new("p.yaml");
    g_assert_false(kw_diagnostics_add(all, (kw_mark){7, 3}, NULL, "third"));
    kw_diagnostics_add(all, (kw_mark){2, 9}, "do this", "second %d", 2);
    kw_diagnostics_add(all, (kw_mark){2, 1}, NULL, "first");
    kw_diagnostics_add(all, (kw_mark){7, 3}, NULL, "fourth");
    kw_diagnostics_add(all, (kw_mark){0, 0}, NULL, "nowhere");
    g_autofree char *text = kw_diagnostics_text(all);
    g_assert_cmpstr(text, ==,
                    "p.yaml: error: nowhere\n"
                    "p.yaml:2:1: error: first\n"
                    "p.yaml:2:9: error: second 2 / hint: do this\n"
                    "p.yaml:7:3: error: third\n"
                    "p.yaml:7:3: error: fourth\n");
    g_assert_cmpuint(kw_diagnostics_count(all), ==, 5);
    g_assert_cmpstr(kw_diagnostics_get(all, 2)->hint, ==, "do this");
}

KW_TEST(test_limit, "/config/diagnostic/limit")
{
    g_autoptr(kw_diagnostics) all = kw_diagnostics_new("p.yaml");
    for (uint32_t i = 0; i < 250; i++)
        kw_diagnostics_add(all, (kw_mark){i + 1, 1}, NULL, "problem");
    g_assert_cmpuint(kw_diagnostics_count(all), ==, 250);
    g_assert_cmpuint(kw_diagnostics_kept(all), ==, 100);
    g_autofree char *text = kw_diagnostics_text(all);
    g_assert_true(g_str_has_suffix(text, "p.yaml: error: 150 more problems are not shown\n"));
}

KW_TEST(test_one_line, "/config/diagnostic/json")
{
    g_autoptr(kw_diagnostics) all = kw_diagnostics_new("p.yaml");
    kw_diagnostics_add(all, (kw_mark){1, 1}, "a\nb", "%s", "x\ny\x1b[31m\x7f\xc2\x85\xe2\x80\xa8 \xff ok");
    g_autofree char *text = kw_diagnostics_text(all);
    g_assert_cmpstr(text, ==,
                    "p.yaml:1:1: error: x\\ny\\x1b[31m\\x7f\\x85\\u2028 \xef\xbf\xbd ok / hint: a\\nb\n");
}

KW_TEST(test_json, "/config/diagnostic/json-limit")
{
    g_autoptr(kw_diagnostics) all = kw_diagnostics_new("a\"b\x1b.yaml");
    kw_diagnostics_add(all, (kw_mark){1, 2}, "a\\b", "say \"x\"\n");
    kw_diagnostics_warn(all, (kw_mark){0, 0}, NULL, "careful");
    g_autofree char *text = kw_diagnostics_json(all);
    g_assert_cmpstr(
        text, ==,
        "{\"file\": \"a\\\"b\\\\x1b.yaml\", \"severity\": \"warning\", \"message\": \"careful\"}\n"
        "{\"file\": \"a\\\"b\\\\x1b.yaml\", \"line\": 1, \"column\": 2, \"severity\": \"error\", "
        "\"message\": \"say \\\"x\\\"\\\\n\", \"hint\": \"a\\\\b\"}\n");
}

KW_TEST(test_json_limit, "/config/diagnostic/one-line")
{
    g_autoptr(kw_diagnostics) all = kw_diagnostics_new("p.yaml");
    for (uint32_t i = 0; i < 102; i++)
        kw_diagnostics_add(all, (kw_mark){i + 1, 1}, NULL, "problem");
    g_autofree char *text = kw_diagnostics_json(all);
    g_assert_true(g_str_has_suffix(text, "\n{\"file\": \"p.yaml\", \"severity\": \"error\", "
                                         "\"message\": \"2 more problems are not shown\"}\n"));
}

KW_TEST(test_nearest_name, "/config/diagnostic/nearest")
{
    static const char *const names[] = {"frame",      "in_flight", "decoded", "page_rows",
                                        "page_bytes", "tls",       NULL};
    g_assert_cmpstr(kw_nearest_name("frames", names), ==, "frame");
    g_assert_cmpstr(kw_nearest_name("fraem", names), ==, "frame");
    g_assert_cmpstr(kw_nearest_name("in-flight", names), ==, "in_flight");
    g_assert_cmpstr(kw_nearest_name("FRAME", names), ==, "frame");
    g_assert_cmpstr(kw_nearest_name("page_row", names), ==, "page_rows");
    g_assert_cmpstr(kw_nearest_name("page_byte", names), ==, "page_bytes");
    g_assert_cmpstr(kw_nearest_name("tsl", names), ==, "tls");
    g_assert_null(kw_nearest_name("connections", names));
    g_assert_null(kw_nearest_name("ab", names));
    g_assert_null(kw_nearest_name("", names));
    g_autofree char *endless = g_strnfill(100000, 'a');
    g_assert_null(kw_nearest_name(endless, names));
}
