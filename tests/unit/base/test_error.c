/* Errors are plain values: tests setting, prefixing and cutting of texts, and the names of codes. */
#include "base/error.h"

#include <glib.h>
#include <string.h>

KW_TEST(setting_fills_the_whole_value, "/base/error/set")
{
    kw_error error = {.code = KW_BUSY, .retry_after_ms = 50, .maybe_applied = true, .text = "old"};
    g_assert_false(kw_error_set(&error, KW_INVALID, "field %s: %d", "ts", 7));
    g_assert_cmpint(error.code, ==, KW_INVALID);
    g_assert_cmpstr(error.text, ==, "field ts: 7");
    g_assert_cmpuint(error.retry_after_ms, ==, 0);
    g_assert_false(error.maybe_applied);
    g_assert_false(kw_error_set(NULL, KW_INVALID, "nobody listens"));
}

KW_TEST(a_prefix_keeps_the_rest, "/base/error/prefix")
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

KW_TEST(a_prefix_is_not_repeated, "/base/error/prefix-not-repeated")
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

KW_TEST(a_suffix_is_kept_whole, "/base/error/suffix")
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
KW_TEST(long_texts_are_cut_between_characters, "/base/error/cut")
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

KW_TEST(codes_have_the_names_of_the_thrift_enum, "/base/error/names")
{
    static const char *const names[] = {"OK",      "INVALID",     "NOT_FOUND", "DENIED",  "LIMIT",   "BUSY",
                                        "TIMEOUT", "UNAVAILABLE", "REFUSED",   "CORRUPT", "INTERNAL"};
    for (size_t i = 0; i < G_N_ELEMENTS(names); i++)
        g_assert_cmpstr(kw_code_name((kw_code)i), ==, names[i]);
    g_assert_cmpint(KW_INTERNAL, ==, G_N_ELEMENTS(names) - 1);
}
