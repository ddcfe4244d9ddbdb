/* Sections in the order of the file, each before those inside it; then the key components. */
#include "config/schema.h"

#include "config/parse.h"

#include <string.h>

static char *
range_words(const char *what, char *least, char *most)
{
    char *words = g_strdup_printf("%s, %s to %s", what, least, most);
    g_free(least);
    g_free(most);
    return words;
}

static char *
number_text(int64_t number)
{
    return g_strdup_printf("%" G_GINT64_FORMAT, (gint64)number);
}

static char *
choice_words(const char *const *choices)
{
    g_autofree char *joined = g_strjoinv(", ", (char **)choices);
    return g_strdup_printf("one of %s", joined);
}

static char *
section_words(const kw_section *section)
{
    const kw_setting *brief = section->shorthand ? kw_section_find(section, section->shorthand) : NULL;
    if (!brief)
        return g_strdup("map");
    return g_strdup_printf("%s, off, or a map", brief->kind == KW_KIND_ADDRESS ? "host:port" : brief->name);
}

/* Caller frees. */
static char *
text_words(const kw_setting *setting)
{
    const char *words = kw_name_words(setting->rule);
    if (!setting->most)
        return g_strdup(words);
    if (setting->least > 1)
        return g_strdup_printf("%s, %" G_GINT64_FORMAT " to %" G_GINT64_FORMAT " bytes", words,
                               (gint64)setting->least, (gint64)setting->most);
    return g_strdup_printf("%s, at most %" G_GINT64_FORMAT " bytes", words, (gint64)setting->most);
}

/* Caller frees. */
static char *
texts_words(const kw_setting *setting)
{
    g_autofree char *each = setting->choices ? choice_words(setting->choices) : text_words(setting);
    return g_strdup_printf("list, each: %s", each);
}

/* Describes the kind of a setting. Caller frees. */
static char *
type_words(const kw_setting *setting)
{
    switch (setting->kind) {
    case KW_KIND_BOOL:
    case KW_KIND_SWITCH:
        return g_strdup("true or false");
    case KW_KIND_INT:
        return range_words("number", number_text(setting->least), number_text(setting->most));
    case KW_KIND_SIZE:
        return range_words("size", kw_size_text(setting->least), kw_size_text(setting->most));
    case KW_KIND_MS:
        return range_words("duration", kw_duration_text(setting->least), kw_duration_text(setting->most));
    case KW_KIND_SECONDS:
        return range_words("duration", kw_duration_text(setting->least * 1000),
                           kw_duration_text(setting->most * 1000));
    case KW_KIND_TEXT:
        return text_words(setting);
    case KW_KIND_CHOICE:
    case KW_KIND_ENUM:
    case KW_KIND_EITHER:
        return choice_words(setting->choices);
    case KW_KIND_TEXTS:
        return texts_words(setting);
    case KW_KIND_ADDRESS:
        return g_strdup("host:port");
    case KW_KIND_SECTION:
        return section_words(setting->section);
    case KW_KIND_LIST:
        return g_strdup_printf("%s at most %" G_GINT64_FORMAT " of these",
                               setting->section->shorthand ? "host:port or a map, or a list of"
                                                           : "map, or a list of",
                               (gint64)setting->most);
    case KW_KIND_MAP:
        return g_strdup_printf("map of at most %" G_GINT64_FORMAT " names", (gint64)setting->most);
    case KW_KIND_RULE:
        return g_strdup_printf("list of at most %" G_GINT64_FORMAT " key components", (gint64)setting->most);
    }
    g_assert_not_reached();
}

static char *
fallback_words(const kw_setting *setting)
{
    if (setting->flags & KW_SETTING_REQUIRED)
        return g_strdup("required");
    if (setting->fallback)
        return g_strdup_printf("default: %s", setting->fallback);
    return setting->holds ? g_strdup_printf("default: %s", setting->holds) : g_strdup("");
}

static void
write_setting(const kw_schema_writer *writer, GString *out, const kw_section *section,
              const kw_setting *setting)
{
    g_autofree char *type = type_words(setting);
    g_autofree char *fallback = fallback_words(setting);
    g_autofree char *about = g_strdup(setting->about);
    if (setting->only) {
        const char *kind = section->settings[0].choices[__builtin_ctz(setting->only)];
        g_free(about);
        about = g_strdup_printf("(%s) %s", kind, setting->about);
    }
    kw_schema_line line = {setting->name, type, fallback, about};
    writer->setting(out, &line);
}

static char *
place_within(const char *place, const kw_setting *setting)
{
    return g_strdup_printf("%s%s%s%s", place, *place ? "." : "", setting->name,
                           setting->kind == KW_KIND_MAP ? ".NAME" : "");
}

static void
walk_section(const kw_schema_writer *writer, GString *out, const char *place, const kw_section *section)
{
    writer->section(out, place, section->about);
    for (const kw_setting *setting = section->settings; setting->name; setting++)
        write_setting(writer, out, section, setting);
    writer->section_end(out);
    for (const kw_setting *setting = section->settings; setting->name; setting++) {
        if (!setting->section)
            continue;
        g_autofree char *inner = place_within(place, setting);
        walk_section(writer, out, inner, setting->section);
    }
}

/* --- key components --------------------------------------------------------------------------- */

static char *
component_type_words(const kw_setting_schema *setting)
{
    switch (setting->kind) {
    case KW_SETTING_BOOL:
        return g_strdup("true or false");
    case KW_SETTING_INT:
        if (setting->least || setting->most)
            return range_words("number", number_text(setting->least), number_text(setting->most));
        return g_strdup("number");
    case KW_SETTING_TEXT:
        return g_strdup("string");
    case KW_SETTING_CHOICE:
        return choice_words(setting->choices);
    case KW_SETTING_TEXTS:
        return g_strdup("string or list of strings");
    }
    g_assert_not_reached();
}

static void
walk_component(const kw_schema_writer *writer, GString *out, const kw_component_schema *component)
{
    g_autofree char *place = g_strdup_printf("- %s", component->name);
    writer->section(out, place, component->about ? component->about : "");
    for (size_t i = 0; i < component->settings_count; i++) {
        const kw_setting_schema *setting = &component->settings[i];
        g_autofree char *type = component_type_words(setting);
        g_autofree char *fallback = setting->required   ? g_strdup("required")
                                    : setting->fallback ? g_strdup_printf("default: %s", setting->fallback)
                                                        : g_strdup("");
        kw_schema_line line = {setting->name, type, fallback, setting->about ? setting->about : ""};
        writer->setting(out, &line);
    }
    writer->section_end(out);
}

void
kw_schema_walk(const kw_schema_writer *writer, GString *out, const kw_component_schema *const *components,
               size_t components_count)
{
    walk_section(writer, out, "", &kw_policy_section);
    for (size_t i = 0; i < components_count; i++)
        walk_component(writer, out, components[i]);
}
