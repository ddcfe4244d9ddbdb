/* Sections, lists and maps: assigns nodes to settings. Single values are in read_value.c. */
#include "config/read.h"

#include "config/read_value.h"

#include <stdarg.h>
#include <string.h>

#define KNOWN_NAMES_SHOWN 16

size_t
kw_read_enter(kw_read *read, const char *name, size_t index)
{
    size_t length = read->place->len;
    if (name)
        g_string_append_printf(read->place, "%s%.64s", length ? "." : "", name);
    else
        g_string_append_printf(read->place, "[%zu]", index);
    return length;
}

void
kw_read_leave(kw_read *read, size_t length)
{
    g_string_truncate(read->place, length);
}

bool
kw_read_problem(kw_read *read, kw_mark mark, const char *hint, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    g_autofree char *message = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    return kw_diagnostics_add(read->diagnostics, mark, hint, "%s%s%s", read->place->str,
                              read->place->len ? ": " : "", message);
}

static size_t
names_length(const char *const *names)
{
    size_t length = 0;
    while (names[length])
        length++;
    return length;
}

bool
kw_read_unknown(kw_read *read, const kw_node *node, const char *what, const char *const *names)
{
    const char *nearest = kw_nearest_name(node->text, names);
    g_autofree char *hint = NULL;
    if (nearest) {
        hint = g_strdup_printf("did you mean %s?", nearest);
    } else if (names_length(names) <= KNOWN_NAMES_SHOWN) {
        g_autofree char *known = g_strjoinv(", ", (char **)names);
        hint = g_strdup_printf("use one of %s", known);
    }
    return kw_read_problem(read, node->mark, *names ? hint : NULL, "unknown %s '%.60s'", what, node->text);
}

const kw_setting *
kw_section_find(const kw_section *section, const char *name)
{
    for (const kw_setting *setting = section->settings; setting->name; setting++)
        if (strcmp(setting->name, name) == 0)
            return setting;
    return NULL;
}

const char **
kw_section_names(const kw_section *section)
{
    GPtrArray *names = g_ptr_array_new();
    for (const kw_setting *setting = section->settings; setting->name; setting++)
        g_ptr_array_add(names, (void *)setting->name);
    g_ptr_array_add(names, NULL);
    return (const char **)g_ptr_array_free(names, FALSE);
}

/* --- lists and maps of sections --------------------------------------------------------------- */

static void
store_array(const kw_setting *setting, void *into, void *array, size_t count)
{
    memcpy((char *)into + setting->offset, &array, sizeof array);
    memcpy((char *)into + setting->offset2, &count, sizeof count);
}

static bool
check_items(kw_read *read, const kw_setting *setting, const kw_node *node, size_t count)
{
    if (count >= (size_t)setting->least && count <= (size_t)setting->most)
        return true;
    return kw_read_problem(read, node->mark, NULL, "has %zu entries, must have %d to %d", count,
                           (int)setting->least, (int)setting->most);
}

static void
read_list(kw_read *read, const kw_setting *setting, const kw_node *node, void *into)
{
    const kw_section *section = setting->section;
    bool is_list = node->kind == KW_NODE_LIST;
    size_t count = is_list ? node->count : 1;
    if (node->kind == KW_NODE_BROKEN || !check_items(read, setting, node, count))
        return;
    char *items = kw_memory_array(read->memory, count, section->size);
    for (size_t i = 0; i < count; i++) {
        size_t length = is_list ? kw_read_enter(read, NULL, i) : read->place->len;
        kw_read_section(read, section, is_list ? node->items[i] : node, items + i * section->size);
        kw_read_leave(read, length);
    }
    store_array(setting, into, items, count);
}

static bool
check_name(kw_read *read, const kw_section *section, const kw_node *key)
{
    kw_refusal refusal;
    if (kw_parse_name(section->key_rule, key->text, &refusal))
        return true;
    return kw_read_problem(read, key->mark, refusal.hint, "'%.60s' %s", key->text, refusal.why);
}

static void
read_named(kw_read *read, const kw_section *section, const kw_node *key, const kw_node *node, char *item)
{
    check_name(read, section, key);
    const char *name = kw_memory_text(read->memory, key->text, strlen(key->text));
    memcpy(item + section->name_offset, &name, sizeof name);
    memcpy(item + section->mark_offset, &key->mark, sizeof key->mark);
    size_t length = kw_read_enter(read, name, 0);
    kw_read_section(read, section, node, item);
    kw_read_leave(read, length);
}

static void
read_map(kw_read *read, const kw_setting *setting, const kw_node *node, void *into)
{
    const kw_section *section = setting->section;
    if (node->kind == KW_NODE_BROKEN)
        return;
    if (node->kind != KW_NODE_MAP && !kw_node_is_empty(node)) {
        kw_read_problem(read, node->mark, "write each entry as `name: ...` on its own line",
                        "must be a map of names");
        return;
    }
    if (!check_items(read, setting, node, node->count))
        return;
    char *items = kw_memory_array(read->memory, node->count, section->size);
    for (size_t i = 0; i < node->count; i++)
        read_named(read, section, node->keys[i], node->items[i], items + i * section->size);
    store_array(setting, into, items, node->count);
}

/* --- one setting ------------------------------------------------------------------------------ */

static void
read_present(kw_read *read, const kw_setting *setting, const kw_node *node, void *into)
{
    switch (setting->kind) {
    case KW_KIND_SECTION:
        kw_read_section(read, setting->section, node, (char *)into + setting->offset);
        break;
    case KW_KIND_LIST:
        read_list(read, setting, node, into);
        break;
    case KW_KIND_MAP:
        read_map(read, setting, node, into);
        break;
    case KW_KIND_RULE:
        kw_read_rule(read, setting, node, into);
        break;
    case KW_KIND_BOOL:
    case KW_KIND_SWITCH:
    case KW_KIND_INT:
    case KW_KIND_SIZE:
    case KW_KIND_MS:
    case KW_KIND_SECONDS:
    case KW_KIND_TEXT:
    case KW_KIND_CHOICE:
    case KW_KIND_ENUM:
    case KW_KIND_EITHER:
    case KW_KIND_TEXTS:
    case KW_KIND_ADDRESS:
        kw_read_value(read, setting, node, into);
        break;
    }
}

static void
read_absent(kw_read *read, const kw_setting *setting, void *into)
{
    if (setting->fallback) {
        kw_node node = {.kind = KW_NODE_SCALAR, .text = setting->fallback, .plain = true};
        read_present(read, setting, &node, into);
    } else if (setting->kind == KW_KIND_SECTION) {
        kw_read_section(read, setting->section, NULL, (char *)into + setting->offset);
    } else {
        kw_read_nothing(setting, into);
    }
}

/* True if the setting belongs to the kind of this section: the kind of the store, or of generated values. The
 * kind is the first setting of such a section. */
static bool
belongs(kw_read *read, const kw_section *section, const kw_setting *setting, const kw_node *node,
        const void *into)
{
    if (!setting->only)
        return true;
    int kind;
    memcpy(&kind, (const char *)into + section->settings[0].offset, sizeof kind);
    if (setting->only & (1u << kind))
        return true;
    if (!node)
        return false;
    int other = __builtin_ctz(setting->only);
    const char *const *names = section->settings[0].choices;
    g_autofree char *hint = g_strdup_printf("remove it, or write kind: %s", names[other]);
    return kw_read_problem(read, node->mark, hint, "applies only to kind %s, but the kind is %s",
                           names[other], names[kind]);
}

static void
read_setting(kw_read *read, const kw_section *section, const kw_setting *setting, const kw_node *node,
             void *into)
{
    size_t length = kw_read_enter(read, setting->name, 0);
    /* The default remains if the value is invalid. */
    read_absent(read, setting, into);
    if (node && belongs(read, section, setting, node, into))
        read_present(read, setting, node, into);
    kw_read_leave(read, length);
}

/* --- sections --------------------------------------------------------------------------------- */

static const kw_unneeded_setting *
find_unneeded(const kw_section *section, const char *name)
{
    for (const kw_unneeded_setting *at = section->unneeded; at && at->name; at++)
        if (strcmp(at->name, name) == 0)
            return at;
    return NULL;
}

/* Reports a name that is a setting of a section in this one, such as ttl, which belongs in families. */
static bool
find_misplaced(kw_read *read, const kw_section *section, const kw_node *name)
{
    const kw_setting *setting = section->settings;
    while (setting->name && !(setting->section && kw_section_find(setting->section, name->text)))
        setting++;
    if (!setting->name)
        return false;
    bool map = setting->kind == KW_KIND_MAP;
    g_autofree char *hint = g_strdup_printf("write %s: {%s%s: ...}%s", setting->name, map ? "NAME: {" : "",
                                            name->text, map ? "}" : "");
    kw_read_problem(read, name->mark, hint, "unknown setting '%s'", name->text);
    return true;
}

static void
find_unknown(kw_read *read, const kw_section *section, const kw_node *map)
{
    g_autofree const char **names = kw_section_names(section);
    for (size_t i = 0; i < map->count; i++) {
        const kw_node *key = map->keys[i];
        const kw_unneeded_setting *unneeded = find_unneeded(section, key->text);
        if (unneeded)
            kw_read_problem(read, key->mark, "remove it", "%s is no longer needed: %s", key->text,
                            unneeded->reason);
        else if (!kw_section_find(section, key->text) && !find_misplaced(read, section, key))
            kw_read_unknown(read, key, "setting", names);
    }
}

static void
find_missing(kw_read *read, const kw_section *section, const kw_node *map)
{
    for (const kw_setting *setting = section->settings; setting->name; setting++) {
        if (!(setting->flags & KW_SETTING_REQUIRED) || kw_node_find(map, setting->name))
            continue;
        g_autofree char *hint = g_strdup_printf("%s: %s", setting->name, setting->about);
        kw_read_problem(read, map->mark, hint, "%s needs %s", section->title, setting->name);
    }
}

static void
write_switch(const kw_section *section, void *into, bool on)
{
    if (section->switch_offset != KW_OFFSET_NONE)
        memcpy((char *)into + section->switch_offset, &on, sizeof on);
}

/* Reads `off` or the short form, or reports a problem. Always returns NULL: there is no map to read. In
 * quotes, `off` would be a text such as a host name, which hardly anyone intends, so it is rejected. */
static const kw_node *
read_short(kw_read *read, const kw_section *section, const kw_node *node, void *into)
{
    bool off = section->switch_offset != KW_OFFSET_NONE && strcmp(node->text, "off") == 0;
    if (off && node->plain) {
        write_switch(section, into, false);
        return NULL;
    }
    if (off) {
        kw_read_problem(read, node->mark, "write off without quotes",
                        "\"off\" in quotes is a string, and does not turn this off");
        return NULL;
    }
    if (!section->shorthand) {
        g_autofree const char **names = kw_section_names(section);
        g_autofree char *known = g_strjoinv(", ", (char **)names);
        g_autofree char *hint = g_strdup_printf("write a map of %s", known);
        kw_read_problem(read, node->mark, hint, "must be %sa map, not '%.60s'",
                        section->switch_offset == KW_OFFSET_NONE ? "" : "off or ", node->text);
        return NULL;
    }
    read_setting(read, section, kw_section_find(section, section->shorthand), node, into);
    return NULL;
}

/* Returns the node if it is a map or has no value. Otherwise returns NULL: this function itself reads `off`
 * and short forms (which can be lists of texts), and reports a list as a problem. */
static const kw_node *
section_map(kw_read *read, const kw_section *section, const kw_node *node, void *into)
{
    if (!node || node->kind == KW_NODE_BROKEN)
        return NULL;
    if (section->mark_offset != KW_OFFSET_NONE && section->name_offset == KW_OFFSET_NONE)
        memcpy((char *)into + section->mark_offset, &node->mark, sizeof node->mark);
    write_switch(section, into, true);
    if (node->kind == KW_NODE_MAP || kw_node_is_empty(node))
        return node;
    if (node->kind == KW_NODE_SCALAR)
        return read_short(read, section, node, into);
    const kw_setting *brief = section->shorthand ? kw_section_find(section, section->shorthand) : NULL;
    if (brief && brief->kind == KW_KIND_TEXTS) {
        read_setting(read, section, brief, node, into);
        return NULL;
    }
    kw_read_problem(read, node->mark, section->shorthand ? NULL : "remove the '- ' in front",
                    "must be %sa map, not a list", section->shorthand ? "one value or " : "");
    return NULL;
}

void
kw_read_section(kw_read *read, const kw_section *section, const kw_node *node, void *into)
{
    size_t before = kw_diagnostics_count(read->diagnostics);
    write_switch(section, into, section->on);
    for (const kw_setting *setting = section->settings; setting->name; setting++)
        read_setting(read, section, setting, NULL, into);
    const kw_node *map = section_map(read, section, node, into);
    if (map) {
        find_unknown(read, section, map);
        find_missing(read, section, map);
        for (const kw_setting *setting = section->settings; setting->name; setting++) {
            const kw_node *value = kw_node_find(map, setting->name);
            if (value)
                read_setting(read, section, setting, value, into);
        }
    }
    bool clean = kw_diagnostics_count(read->diagnostics) == before;
    if (section->check && (clean || section->check_always))
        section->check(read, map, into);
    bool valid = kw_diagnostics_count(read->diagnostics) == before && !(node && node->damaged);
    if (section->valid_offset)
        memcpy((char *)into + section->valid_offset, &valid, sizeof valid);
}
