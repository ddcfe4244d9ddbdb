#include "schema/reports.h"

/* True if line n of the text contains part n, and there are as many lines as parts. */
static bool
matches(const char *text, const char *parts)
{
    g_auto(GStrv) lines =
        g_strsplit(text, "\n", -1); /* the text ends with a line end: the last line is empty */
    g_auto(GStrv) wanted = g_strsplit(parts, "\n", -1);
    guint lines_count = g_strv_length(lines), wanted_count = g_strv_length(wanted);
    if (!*text || !*parts)
        return *text == *parts;
    bool good = lines_count == wanted_count + 1;
    for (guint i = 0; good && i < wanted_count; i++)
        good = strstr(lines[i], wanted[i]) != NULL;
    return good;
}

static bool
check_text(const kw_test_report *report, const char *text)
{
    bool good = matches(text, report->parts);
    if (!good)
        g_printerr("%s reports\n%snot\n%s\n", report->yaml, text, report->parts);
    return good;
}

void
test_check_hazards(const kw_test_report *cases, size_t count)
{
    bool all = true;
    for (size_t i = 0; i < count; i++) {
        g_autofree char *text = test_hazards(cases[i].yaml);
        all = check_text(&cases[i], text) && all;
    }
    g_assert_true(all);
}

void
test_check_warnings(const kw_test_report *cases, size_t count)
{
    bool all = true;
    for (size_t i = 0; i < count; i++) {
        g_autoptr(kw_policy) policy = test_policy_with_hazards(cases[i].yaml);
        g_autoptr(kw_diagnostics) found = kw_diagnostics_new("test");
        kw_policy_warn(policy, found);
        g_autofree char *text = kw_diagnostics_text(found);
        all = check_text(&cases[i], text) && all;
    }
    g_assert_true(all);
}
