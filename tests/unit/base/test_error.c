/* Errors are plain values: tests setting, prefixing and cutting of texts, and the names of codes. */
#include "base/error.h"

#include <glib.h>
#include <string.h>

static void
setting_fills_the_whole_value(void)
{
    kw_error error = {.code = KW_BUSY, .retry_after_ms = 50, .maybe_applied = true, .text = "old"};
    g_assert_false(kw_error_set(&error, KW_INVALID, "field %s: %d", "ts", 7));
    g_assert_cmpint(error.code, ==, KW_INVALID);
    g_assert_cmpstr(error.text, ==, "field ts: 7");
    g_assert_cmpuint(error.retry_after_ms, ==, 0);
    g_assert_false(error.maybe_applied);
    g_assert_false(kw_error_set(NULL, KW_INVALID, "nobody listens"));
}

static void
a_prefix_keeps_the_rest(void)
{
    kw_error error;
    kw_error_set(&error, KW_BUSY, "too much");
    error.retry_after_ms = 20;
    g_assert_false(kw_error_prefix(&error, "table %s", "orders"));
    g_assert_cmpstr(error.text, ==, "table orders: too much");
    g_assert_cmpint(error.code, ==, KW_BUSY);
    g_assert_cmpuint(error.retry_after_ms, ==, 20);
    g_assert_false(kw_error_prefix(NULL, "nobody"));
}

static void
a_prefix_is_not_repeated(void)
{
    kw_error error;
    kw_error_set(&error, KW_INVALID, "table mt, path primary: row 5 does not fit");
    kw_error_prefix(&error, "table %s, path %s", "mt", "primary");
    kw_error_prefix(&error, "table mt");
    g_assert_cmpstr(error.text, ==, "table mt, path primary: row 5 does not fit");
    kw_error_prefix(&error, "table m");
    g_assert_cmpstr(error.text, ==, "table m: table mt, path primary: row 5 does not fit");
    kw_error_set(&error, KW_REFUSED, "table mt, row 5: its timestamp is in the future");
    kw_error_prefix(&error, "table mt, path by_time");
    g_assert_cmpstr(error.text, ==, "table mt, path by_time: row 5: its timestamp is in the future");
    kw_error_set(&error, KW_INVALID, "table mt: the sum would not fit");
    kw_error_prefix(&error, "table mt, path by_time");
    g_assert_cmpstr(error.text, ==, "table mt, path by_time: the sum would not fit");
    kw_error_set(&error, KW_INVALID, "table mt_2: the sum would not fit");
    kw_error_prefix(&error, "table mt, path by_time");
    g_assert_cmpstr(error.text, ==, "table mt, path by_time: table mt_2: the sum would not fit");
}

static void
a_suffix_is_kept_whole(void)
{
    kw_error error;
    kw_error_set(&error, KW_CORRUPT, "row 7");
    g_assert_false(kw_error_suffix(&error, "; skip it"));
    g_assert_cmpstr(error.text, ==, "row 7; skip it");
    g_assert_false(kw_error_suffix(NULL, "nobody"));
    for (int shift = 0; shift < 4; shift++) {
        g_autoptr(GString) text = g_string_new("xxx" + shift % 4);
        while (text->len < 2 * KW_ERROR_TEXT_MAX)
            g_string_append(text, "\xe8\xae\xa2");
        kw_error_set(&error, KW_CORRUPT, "%s", text->str);
        kw_error_suffix(&error, "; skip it");
        g_assert_true(g_str_has_suffix(error.text, "\xe8\xae\xa2; skip it"));
        g_assert_true(g_utf8_validate(error.text, -1, NULL));
        kw_error_suffix(&error, text->str);
        g_assert_true(g_utf8_validate(error.text, -1, NULL));
    }
}

/* Uses every length around the limit, so that the cut hits each byte of a three-byte character. */
static void
long_texts_are_cut_between_characters(void)
{
    for (int shift = 0; shift < 4; shift++) {
        GString *text = g_string_new(NULL);
        for (int i = 0; i < shift; i++)
            g_string_append_c(text, 'x');
        while (text->len < 2 * KW_ERROR_TEXT_MAX)
            g_string_append(text, "\xe8\xae\xa2");
        kw_error error;
        kw_error_set(&error, KW_INVALID, "%s", text->str);
        g_assert_true(g_utf8_validate(error.text, -1, NULL));
        g_assert_cmpuint(strlen(error.text), >=, KW_ERROR_TEXT_MAX - 4);
        kw_error_prefix(&error, "%s", "pre");
        g_assert_true(g_utf8_validate(error.text, -1, NULL));
        g_assert_true(g_str_has_prefix(error.text, "pre: "));
        kw_error_prefix(&error, "%s", text->str);
        g_assert_true(g_utf8_validate(error.text, -1, NULL));
        g_string_free(text, TRUE);
    }
}

static void
codes_have_the_names_of_the_thrift_enum(void)
{
    static const char *const names[] = {"OK",      "INVALID",     "NOT_FOUND", "DENIED",  "LIMIT",   "BUSY",
                                        "TIMEOUT", "UNAVAILABLE", "REFUSED",   "CORRUPT", "INTERNAL"};
    for (size_t i = 0; i < G_N_ELEMENTS(names); i++)
        g_assert_cmpstr(kw_code_name((kw_code)i), ==, names[i]);
    g_assert_cmpint(KW_INTERNAL, ==, G_N_ELEMENTS(names) - 1);
}

int
main(int count, char **arguments)
{
    g_test_init(&count, &arguments, NULL);
    g_test_add_func("/base/error/set", setting_fills_the_whole_value);
    g_test_add_func("/base/error/prefix", a_prefix_keeps_the_rest);
    g_test_add_func("/base/error/prefix-not-repeated", a_prefix_is_not_repeated);
    g_test_add_func("/base/error/suffix", a_suffix_is_kept_whole);
    g_test_add_func("/base/error/cut", long_texts_are_cut_between_characters);
    g_test_add_func("/base/error/names", codes_have_the_names_of_the_thrift_enum);
    return g_test_run();
}
