/* The JSON Schema (draft 7) of a policy, for editors: completion, hover texts and a first check. Only the
 * reader decides whether a policy is valid; JSON Schema cannot express all checks (equal store tables, for
 * example). */
#include "config/reader.h"
#include "config/setting.h"

#include "config/parse.h"

#include <string.h>

#define SIZE_PATTERN "^[0-9]+(B|KiB|MiB|GiB|TiB)?$"
#define DURATION_PATTERN "^(0|[0-9]+(ms|s|min|h|d))$"

/* --- a small writer: members with commas and indentation -------------------------------------- */

typedef struct json {
    GString *out;
    unsigned depth;
    bool fresh; /* the open object or array is empty */
} json;

static void
json_string(json *to, const char *text)
{
    g_string_append_c(to->out, '"');
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            g_string_append_printf(to->out, "\\%c", *text);
        else if ((unsigned char)*text < 0x20)
            g_string_append_printf(to->out, "\\u%04x", (unsigned)(unsigned char)*text);
        else
            g_string_append_c(to->out, *text);
    }
    g_string_append_c(to->out, '"');
}

static void
json_item(json *to)
{
    g_string_append(to->out, to->fresh ? "\n" : ",\n");
    g_string_append_printf(to->out, "%*s", (int)to->depth * 2, "");
    to->fresh = false;
}

static void
json_key(json *to, const char *key)
{
    json_item(to);
    json_string(to, key);
    g_string_append(to->out, ": ");
}

static void
json_open(json *to, char brace)
{
    g_string_append_c(to->out, brace);
    to->depth++;
    to->fresh = true;
}

static void
json_open_key(json *to, const char *key, char brace)
{
    json_key(to, key);
    json_open(to, brace);
}

static void
json_open_item(json *to, char brace)
{
    json_item(to);
    json_open(to, brace);
}

static void
json_close(json *to, char brace)
{
    to->depth--;
    if (!to->fresh)
        g_string_append_printf(to->out, "\n%*s", (int)to->depth * 2, "");
    g_string_append_c(to->out, brace);
    to->fresh = false;
}

static void
json_text(json *to, const char *key, const char *text)
{
    json_key(to, key);
    json_string(to, text);
}

static void
json_number(json *to, const char *key, int64_t number)
{
    json_key(to, key);
    g_string_append_printf(to->out, "%" G_GINT64_FORMAT, (gint64)number);
}

static void
json_raw(json *to, const char *key, const char *raw)
{
    json_key(to, key);
    g_string_append(to->out, raw);
}

/* --- settings --------------------------------------------------------------------------------- */

static void write_setting(json *to, const kw_setting *setting);
static void write_section(json *to, const kw_section *section);

static void
write_choices(json *to, const char *const *choices)
{
    json_open_key(to, "enum", '[');
    for (; *choices; choices++) {
        json_item(to);
        json_string(to, *choices);
    }
    json_close(to, ']');
}

static void
write_text(json *to, const kw_setting *setting)
{
    if (setting->choices) {
        write_choices(to, setting->choices);
        return;
    }
    json_raw(to, "type", "[\"string\", \"number\", \"boolean\"]");
    if (kw_name_pattern(setting->rule))
        json_text(to, "pattern", kw_name_pattern(setting->rule));
    if (setting->least)
        json_number(to, "minLength", setting->kind == KW_KIND_TEXTS || setting->most ? 1 : setting->least);
}

static void
write_texts(json *to, const kw_setting *setting)
{
    json_open_key(to, "anyOf", '[');
    json_open_item(to, '{');
    write_text(to, setting);
    json_close(to, '}');
    json_open_item(to, '{');
    json_text(to, "type", "array");
    json_number(to, "minItems", 1);
    json_open_key(to, "items", '{');
    write_text(to, setting);
    json_close(to, '}');
    json_close(to, '}');
    json_close(to, ']');
}

static void
write_quantity(json *to, const char *pattern, int64_t least, int64_t most)
{
    json_raw(to, "type", "[\"integer\", \"string\"]");
    json_text(to, "pattern", pattern);
    json_number(to, "minimum", least);
    json_number(to, "maximum", most);
}

static void
write_list(json *to, const kw_setting *setting)
{
    json_open_key(to, "anyOf", '[');
    json_open_item(to, '{');
    write_section(to, setting->section);
    json_close(to, '}');
    json_open_item(to, '{');
    json_text(to, "type", "array");
    json_number(to, "minItems", setting->least);
    json_number(to, "maxItems", setting->most);
    json_open_key(to, "items", '{');
    write_section(to, setting->section);
    json_close(to, '}');
    json_close(to, '}');
    json_close(to, ']');
}

static void
write_map(json *to, const kw_setting *setting)
{
    json_text(to, "type", "object");
    json_number(to, "minProperties", setting->least);
    json_number(to, "maxProperties", setting->most);
    json_open_key(to, "propertyNames", '{');
    json_text(to, "pattern", kw_name_pattern(setting->section->key_rule));
    json_close(to, '}');
    json_open_key(to, "additionalProperties", '{');
    write_section(to, setting->section);
    json_close(to, '}');
}

static void
write_integer(json *to, int64_t least, int64_t most)
{
    json_text(to, "type", "integer");
    if (least || most) {
        json_number(to, "minimum", least);
        json_number(to, "maximum", most);
    }
}

static void
write_kind(json *to, const kw_setting *setting)
{
    switch (setting->kind) {
    case KW_KIND_BOOL:
    case KW_KIND_SWITCH:
        json_text(to, "type", "boolean");
        break;
    case KW_KIND_INT:
        write_integer(to, setting->least, setting->most);
        break;
    case KW_KIND_SIZE:
        write_quantity(to, SIZE_PATTERN, setting->least, setting->most);
        break;
    case KW_KIND_MS:
    case KW_KIND_SECONDS:
        write_quantity(to, DURATION_PATTERN, 0, 0);
        break;
    case KW_KIND_TEXT:
        write_text(to, setting);
        break;
    case KW_KIND_CHOICE:
    case KW_KIND_ENUM:
    case KW_KIND_EITHER:
        write_choices(to, setting->choices);
        break;
    case KW_KIND_TEXTS:
        write_texts(to, setting);
        break;
    case KW_KIND_ADDRESS:
        json_text(to, "type", "string");
        break;
    case KW_KIND_SECTION:
        write_section(to, setting->section);
        break;
    case KW_KIND_LIST:
        write_list(to, setting);
        break;
    case KW_KIND_MAP:
        write_map(to, setting);
        break;
    case KW_KIND_RULE:
        json_text(to, "$ref", "#/definitions/key");
        break;
    }
}

static void
write_setting(json *to, const kw_setting *setting)
{
    json_open_key(to, setting->name, '{');
    json_text(to, "description", setting->about);
    if (setting->fallback)
        json_text(to, "default", setting->fallback);
    write_kind(to, setting);
    json_close(to, '}');
}

/* --- sections --------------------------------------------------------------------------------- */

static bool
has_required(const kw_section *section)
{
    for (const kw_setting *setting = section->settings; setting->name; setting++)
        if (setting->flags & KW_SETTING_REQUIRED)
            return true;
    return false;
}

static void
write_object(json *to, const kw_section *section)
{
    json_raw(to, "type", has_required(section) ? "\"object\"" : "[\"object\", \"null\"]");
    json_raw(to, "additionalProperties", "false");
    if (has_required(section)) {
        json_open_key(to, "required", '[');
        for (const kw_setting *setting = section->settings; setting->name; setting++) {
            if (!(setting->flags & KW_SETTING_REQUIRED))
                continue;
            json_item(to);
            json_string(to, setting->name);
        }
        json_close(to, ']');
    }
    json_open_key(to, "properties", '{');
    for (const kw_setting *setting = section->settings; setting->name; setting++)
        write_setting(to, setting);
    json_close(to, '}');
}

static void
write_section(json *to, const kw_section *section)
{
    bool can_switch = section->switch_offset != KW_OFFSET_NONE;
    if (!section->shorthand && !can_switch) {
        write_object(to, section);
        return;
    }
    json_open_key(to, "anyOf", '[');
    if (can_switch) {
        json_item(to);
        g_string_append(to->out, "{\"enum\": [\"off\", false]}");
    }
    if (section->shorthand) {
        json_open_item(to, '{');
        write_kind(to, kw_section_find(section, section->shorthand));
        json_close(to, '}');
    }
    json_open_item(to, '{');
    write_object(to, section);
    json_close(to, '}');
    json_close(to, ']');
}

/* --- key components --------------------------------------------------------------------------- */

static void
write_component_kind(json *to, const kw_setting_schema *setting)
{
    static const kw_setting text = {.kind = KW_KIND_TEXT, .least = 1};
    static const kw_setting texts = {.kind = KW_KIND_TEXTS, .least = 1};
    switch (setting->kind) {
    case KW_SETTING_BOOL:
        json_text(to, "type", "boolean");
        break;
    case KW_SETTING_INT:
        write_integer(to, setting->least, setting->most);
        break;
    case KW_SETTING_TEXT:
        write_kind(to, &text);
        break;
    case KW_SETTING_CHOICE:
        write_choices(to, setting->choices);
        break;
    case KW_SETTING_TEXTS:
        write_kind(to, &texts);
        break;
    }
}

static void
write_component_settings(json *to, const kw_component_schema *component)
{
    json_text(to, "type", "object");
    json_raw(to, "additionalProperties", "false");
    json_open_key(to, "required", '[');
    for (size_t i = 0; i < component->settings_count; i++) {
        if (!component->settings[i].required)
            continue;
        json_item(to);
        json_string(to, component->settings[i].name);
    }
    json_close(to, ']');
    json_open_key(to, "properties", '{');
    for (size_t i = 0; i < component->settings_count; i++) {
        const kw_setting_schema *setting = &component->settings[i];
        json_open_key(to, setting->name, '{');
        if (setting->about)
            json_text(to, "description", setting->about);
        if (setting->fallback)
            json_text(to, "default", setting->fallback);
        write_component_kind(to, setting);
        json_close(to, '}');
    }
    json_close(to, '}');
}

static void
write_component(json *to, const kw_component_schema *component)
{
    json_open_key(to, component->name, '{');
    if (component->about)
        json_text(to, "description", component->about);
    json_open_key(to, "anyOf", '[');
    json_open_item(to, '{');
    write_component_settings(to, component);
    json_close(to, '}');
    json_open_item(to, '{');
    if (component->settings_count)
        write_component_kind(to, &component->settings[0]);
    else
        json_text(to, "type", "null");
    json_close(to, '}');
    json_close(to, ']');
    json_close(to, '}');
}

static void
write_rule(json *to, const kw_component_schema *const *components, size_t components_count)
{
    json_open_key(to, "key", '{');
    json_text(to, "description", "A key rule: its components in order.");
    json_text(to, "type", "array");
    json_number(to, "minItems", 1);
    json_open_key(to, "items", '{');
    json_text(to, "description", "A key component, or the name of a field (NAME is field: NAME).");
    json_raw(to, "type", "[\"object\", \"string\"]");
    json_number(to, "minProperties", 1);
    json_number(to, "maxProperties", 1);
    json_raw(to, "additionalProperties", "false");
    json_open_key(to, "properties", '{');
    for (size_t i = 0; i < components_count; i++)
        write_component(to, components[i]);
    json_close(to, '}');
    json_close(to, '}');
    json_close(to, '}');
}

char *
kw_schema_json(const kw_component_schema *const *components, size_t components_count)
{
    json to = {.out = g_string_new(NULL)};
    json_open(&to, '{');
    json_text(&to, "$schema", "http://json-schema.org/draft-07/schema#");
    json_text(&to, "title", "Keyway policy");
    json_text(&to, "description", kw_policy_section.about);
    write_object(&to, &kw_policy_section);
    json_open_key(&to, "definitions", '{');
    write_rule(&to, components, components_count);
    json_close(&to, '}');
    json_close(&to, '}');
    g_string_append_c(to.out, '\n');
    return g_string_free(to.out, FALSE);
}
