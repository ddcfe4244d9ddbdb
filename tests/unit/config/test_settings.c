/* The table of settings, one by one: each default equals its text, each bound is enforced at both ends,
 * each value is stored in its member, and the sample files use every setting. */
#include "schemas.h"

#include "config/node.h"
#include "config/parse.h"
#include "config/read.h"

#include <string.h>

typedef void (*visit)(const kw_section *section, const kw_setting *setting);

static void
each_row(const kw_section *section, visit each)
{
    for (const kw_setting *setting = section->settings; setting->name; setting++) {
        g_test_message("%s: %s", section->title, setting->name);
        each(section, setting);
        if (setting->section)
            each_row(setting->section, each);
    }
}

/* Reads "NAME: VALUE" as that section; returns the section's memory, freed by the caller. Settings of one
 * kind of store are read together with that kind. ret_refused: this setting has a problem. */
static char *
read_row(const kw_section *section, const kw_setting *setting, const char *value, bool *ret_refused)
{
    GString *text = g_string_new(NULL);
    if (setting->only)
        g_string_append_printf(text, "kind: %s\n",
                               section->settings[0].choices[__builtin_ctz(setting->only)]);
    g_string_append_printf(text, "%s: %s\n", setting->name, value);
    kw_memory *memory = kw_memory_new();
    g_autoptr(kw_diagnostics) diagnostics = kw_diagnostics_new("row");
    const kw_node *node = kw_node_parse(memory, text->str, text->len, diagnostics);
    g_assert_nonnull(node);
    kw_read read = {.memory = memory,
                    .diagnostics = diagnostics,
                    .components = sample_components,
                    .components_count = G_N_ELEMENTS(sample_components),
                    .place = g_string_new(NULL),
                    .secrets = g_array_new(FALSE, FALSE, sizeof(kw_secret_span))};
    char *into = g_malloc0(section->size);
    kw_read_section(&read, section, node, into);
    g_autofree char *prefix = g_strdup_printf("%s: ", setting->name);
    *ret_refused = false;
    for (size_t i = 0; i < kw_diagnostics_kept(diagnostics); i++)
        *ret_refused = *ret_refused || g_str_has_prefix(kw_diagnostics_get(diagnostics, i)->message, prefix);
    g_string_free(read.place, TRUE);
    g_array_unref(read.secrets);
    g_string_free(text, TRUE);
    kw_memory_free(memory);
    return into;
}

static int64_t
number_at(const char *into, size_t offset)
{
    int64_t number;
    memcpy(&number, into + offset, sizeof number);
    return number;
}

static bool
is_number(const kw_setting *setting)
{
    return setting->kind == KW_KIND_INT || setting->kind == KW_KIND_SIZE || setting->kind == KW_KIND_MS ||
           setting->kind == KW_KIND_SECONDS;
}

/* The number as in a file, in the smallest unit. */
static char *
number_text(const kw_setting *setting, int64_t number)
{
    const char *unit = setting->kind == KW_KIND_MS ? "ms" : setting->kind == KW_KIND_SECONDS ? "s" : "";
    return g_strdup_printf("%" G_GINT64_FORMAT "%s", (gint64)number, unit);
}

static void
bounds(const kw_section *section, const kw_setting *setting)
{
    if (!is_number(setting))
        return;
    /* Only text can express more than 64 bits. */
    bool lowest = setting->least == INT64_MIN, highest = setting->most == INT64_MAX;
    const struct {
        int64_t number;
        bool refused;
        const char *text;
    } cases[] = {{setting->least, false, NULL},
                 {setting->most, false, NULL},
                 {lowest ? 0 : setting->least - 1, true, lowest ? "-9223372036854775809" : NULL},
                 {highest ? 0 : setting->most + 1, true, highest ? "9223372036854775808" : NULL}};
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *text =
            cases[i].text ? g_strdup(cases[i].text) : number_text(setting, cases[i].number);
        bool refused;
        g_autofree char *into = read_row(section, setting, text, &refused);
        g_assert_cmpint(refused, ==, cases[i].refused);
        if (!refused)
            g_assert_cmpint(number_at(into, setting->offset), ==, cases[i].number);
    }
}

static void
default_after_error(const kw_section *section, const kw_setting *setting)
{
    if (!is_number(setting))
        return;
    bool refused;
    g_autofree char *wrong = read_row(section, setting, "many", &refused);
    g_assert_true(refused);
    g_autofree char *given = NULL;
    if (setting->fallback) {
        given = read_row(section, setting, setting->fallback, &refused);
        g_assert_false(refused);
        g_assert_cmpint(number_at(wrong, setting->offset), ==, number_at(given, setting->offset));
    } else {
        g_assert_cmpint(number_at(wrong, setting->offset), ==, setting->absent);
    }
}

static void
choices(const kw_section *section, const kw_setting *setting)
{
    for (int i = 0; setting->choices && setting->choices[i]; i++) {
        bool refused;
        g_autofree char *into = read_row(section, setting, setting->choices[i], &refused);
        const char *member = into + setting->offset;
        g_assert_false(refused);
        if (setting->kind == KW_KIND_CHOICE)
            g_assert_true(memcmp(member, &setting->choices[i], sizeof(char *)) == 0);
        else if (setting->kind == KW_KIND_EITHER)
            g_assert_cmpint(*member, ==, i);
        else if (setting->kind != KW_KIND_TEXTS) /* the memory of a list is gone */
            g_assert_true(memcmp(member, &i, sizeof i) == 0);
    }
}

static void
bools(const kw_section *section, const kw_setting *setting)
{
    if (setting->kind != KW_KIND_BOOL && setting->kind != KW_KIND_SWITCH)
        return;
    for (int truth = 0; truth < 2; truth++) {
        bool refused;
        g_autofree char *into = read_row(section, setting, truth ? "true" : "false", &refused);
        g_assert_false(refused);
        size_t size = setting->kind == KW_KIND_BOOL ? sizeof(bool) : sizeof(int);
        g_assert_true(memcmp(into + setting->offset, &truth, size) == 0);
    }
}

static void
empty_value(const kw_section *section, const kw_setting *setting)
{
    if (setting->section || setting->kind == KW_KIND_RULE)
        return;
    bool refused;
    g_autofree char *into = read_row(section, setting, "", &refused);
    g_assert_true(refused || setting->kind == KW_KIND_TEXTS);
}

static void
complete_settings(const kw_section *section, const kw_setting *setting)
{
    g_assert_nonnull(setting->about);
    g_assert_true(g_str_has_suffix(setting->about, "."));
    g_assert_true(g_ascii_islower(setting->name[0]));
    g_assert_true(section->shorthand == NULL || kw_section_find(section, section->shorthand));
    bool has_choices =
        setting->kind == KW_KIND_CHOICE || setting->kind == KW_KIND_ENUM || setting->kind == KW_KIND_EITHER;
    g_assert_true(has_choices == (setting->choices != NULL) || setting->kind == KW_KIND_TEXTS);
    bool has_section =
        setting->kind == KW_KIND_SECTION || setting->kind == KW_KIND_LIST || setting->kind == KW_KIND_MAP;
    g_assert_cmpint(has_section, ==, setting->section != NULL);
    if (is_number(setting))
        g_assert_cmpint(setting->least, <, setting->most);
    g_assert_true(!setting->fallback || !(setting->flags & KW_SETTING_REQUIRED));
}

/* --- the sample files use every setting ----------------------------------------------------------- */

static GHashTable *used;

static void
collect(const kw_section *section, const kw_node *node)
{
    if (node->kind == KW_NODE_SCALAR && section->shorthand)
        g_hash_table_add(used, (void *)kw_section_find(section, section->shorthand));
    for (size_t i = 0; node->kind == KW_NODE_LIST && i < node->count; i++)
        collect(section, node->items[i]);
    if (node->kind != KW_NODE_MAP)
        return;
    for (size_t i = 0; i < node->count; i++) {
        const kw_setting *setting = kw_section_find(section, node->keys[i]->text);
        g_assert_nonnull(setting);
        g_hash_table_add(used, (void *)setting);
        const kw_node *value = node->items[i];
        if (setting->kind == KW_KIND_MAP)
            for (size_t j = 0; j < value->count; j++)
                collect(setting->section, value->items[j]);
        else if (setting->section)
            collect(setting->section, value);
    }
}

static void
row_is_used(const kw_section *section, const kw_setting *setting)
{
    if (!g_hash_table_contains(used, setting))
        g_error("no sample file sets %s of %s", setting->name, section->title);
}

KW_TEST(test_samples_use_every_setting, "/config/settings/samples")
{
    static const char *const samples[] = {"everything_embedded.yaml", "everything_hbase.yaml",
                                          "policy_in_store.yaml"};
    used = g_hash_table_new(NULL, NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(samples); i++) {
        g_autofree char *path = g_build_filename(KW_TEST_GOOD, samples[i], NULL);
        g_autofree char *text = NULL;
        gsize size;
        g_assert_true(g_file_get_contents(path, &text, &size, NULL));
        g_autoptr(kw_memory) memory = kw_memory_new();
        g_autoptr(kw_diagnostics) diagnostics = kw_diagnostics_new(samples[i]);
        collect(&kw_policy_section, kw_node_parse(memory, text, size, diagnostics));
    }
    each_row(&kw_policy_section, row_is_used);
    g_hash_table_unref(used);
}

#define ROW_TEST(name, path)                                                                                 \
    KW_TEST(test_##name, path)                                                                               \
    {                                                                                                        \
        each_row(&kw_policy_section, name);                                                                  \
    }
ROW_TEST(complete_settings, "/config/settings/complete")
ROW_TEST(bounds, "/config/settings/bounds")
ROW_TEST(default_after_error, "/config/settings/default")
ROW_TEST(choices, "/config/settings/choices")
ROW_TEST(bools, "/config/settings/bools")
ROW_TEST(empty_value, "/config/settings/empty")
