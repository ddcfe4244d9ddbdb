/* Settings are written into texts of every form, and their comments stay. */
#include "config/edit.h"

#include <glib.h>
#include <string.h>

#define BLOCK                                                                                                \
    "# head\ntables:\n  t: # of t\n    key: [a] # k\n    paths:\n      p:\n        key: [b]\n      q: "      \
    "{key: [c]}\n"

static const kw_table_setting layout = {"t", "primary", "layout", "2"};
static const kw_table_setting store = {"t", "primary", "store_table", "ns:x"};
static const kw_table_setting of_p = {"t", "p", "layout", "3"};
static const kw_table_setting of_q = {"t", "q", "layout", "4"};

KW_TEST(test_added, "/config/edit/added")
{
    const kw_table_setting all[] = {layout, store, of_p, of_q};
    g_autofree char *made = kw_text_with_settings(BLOCK, strlen(BLOCK), all, G_N_ELEMENTS(all));
    g_assert_cmpstr(
        made, ==,
        "# head\ntables:\n  t: # of t\n    layout: 2\n    store_table: ns:x\n    key: [a] # k\n    paths:\n"
        "      p:\n        layout: 3\n        key: [b]\n      q: {layout: 4, key: [c]}\n");
}

KW_TEST(test_forms, "/config/edit/forms")
{
    static const struct {
        const char *text, *expected;
    } cases[] = {
        {"tables: {t: {key: [a]}}\n", "tables: {t: {layout: 2, store_table: ns:x, key: [a]}}\n"},
        {"{\"tables\": {\"t\": {\"key\": [1]}}}",
         "{\"tables\": {\"t\": {layout: 2, store_table: ns:x, \"key\": [1]}}}"},
        {"tables:\n  t:\n    store_table: 'old' # s\n    layout: 1\n    key: [a]\n",
         "tables:\n  t:\n    store_table: ns:x # s\n    layout: 2\n    key: [a]\n"},
        {"tables:\n  t: {store_table: a, key: [a], layout: 7}\n",
         "tables:\n  t: {store_table: ns:x, key: [a], layout: 2}\n"},
        {"\xef\xbb\xbf# \xc3\xa9\xe2\x82\xac\ntables:\r\n  t:\r\n    about: '\xf0\x9f\x98\x80'\r\n    "
         "layout: 1\r\n",
         "# \xc3\xa9\xe2\x82\xac\ntables:\r\n  t:\r\n    store_table: ns:x\n    about: "
         "'\xf0\x9f\x98\x80'\r\n    layout: "
         "2\r\n"},
    };
    const kw_table_setting both[] = {layout, store};
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        const char *text = cases[i].text;
        g_autofree char *made = kw_text_with_settings(text, strlen(text), both, G_N_ELEMENTS(both));
        g_assert_cmpstr(made, ==, cases[i].expected);
    }
}

KW_TEST(test_no_place, "/config/edit/no-place")
{
    static const char *const texts[] = {"tables: [",
                                        "a text\n",
                                        "tables: {}\n",
                                        "tables: {u: {key: [a]}}\n",
                                        "tables: {t: x}\n",
                                        "tables: {t: {key: [a], paths: {p: {}}}}\n",
                                        "tables: {t: {key: [a], paths: {p: {layout: [1]}}}}\n"};
    for (size_t i = 0; i < G_N_ELEMENTS(texts); i++)
        g_assert_null(kw_text_with_settings(texts[i], strlen(texts[i]), &of_p, 1));
}
