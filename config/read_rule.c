/* Key rules: a list of components, each read by its schema. The schemas come from the module that
 * defines the components; here they are only names, kinds and bounds.
 *
 *   - hash: {algorithm: md5, of: [order_id]}     settings
 *   - literal: "|"                               a value for the first setting of the schema
 *   - NAME                                       a component that needs no setting
 *   - order_id                                   the name of a field: field: order_id
 *
 * What a name alone means depends on the table's fields, so check_rule.c decides that.
 */
#include "config/read.h"
#include "config/read_value.h"

#include <string.h>

const kw_component_schema *
kw_read_find_component(const kw_read *read, const char *name)
{
    for (size_t i = 0; i < read->components_count; i++)
        if (strcmp(read->components[i]->name, name) == 0)
            return read->components[i];
    return NULL;
}

static const kw_component_schema *
known_component(kw_read *read, const kw_node *name)
{
    const kw_component_schema *schema = kw_read_find_component(read, name->text);
    if (schema)
        return schema;
    g_autoptr(GPtrArray) names = g_ptr_array_new();
    for (size_t i = 0; i < read->components_count; i++)
        g_ptr_array_add(names, (void *)read->components[i]->name);
    g_ptr_array_add(names, NULL);
    kw_read_unknown(read, name, "key component", (const char *const *)names->pdata);
    return NULL;
}

static const kw_setting_schema *
find_setting(const kw_component_schema *schema, const char *name)
{
    for (size_t i = 0; i < schema->settings_count; i++)
        if (strcmp(schema->settings[i].name, name) == 0)
            return &schema->settings[i];
    return NULL;
}

/* Converts the schema of a component's setting to a kw_setting, which reads it into a kw_model_setting. */
static kw_setting
row_of(const kw_setting_schema *schema)
{
    kw_setting row = {.name = schema->name, .choices = schema->choices};
    switch (schema->kind) {
    case KW_SETTING_BOOL:
        row.kind = KW_KIND_BOOL;
        row.offset = offsetof(kw_model_setting, flag);
        break;
    case KW_SETTING_INT: {
        bool bounded = schema->least || schema->most;
        row.kind = KW_KIND_INT;
        row.offset = offsetof(kw_model_setting, number);
        row.least = bounded ? schema->least : INT64_MIN;
        row.most = bounded ? schema->most : INT64_MAX;
        break;
    }
    case KW_SETTING_TEXT:
        row.kind = KW_KIND_TEXT;
        row.offset = offsetof(kw_model_setting, text);
        row.least = 1;
        break;
    case KW_SETTING_CHOICE:
        row.kind = KW_KIND_CHOICE;
        row.offset = offsetof(kw_model_setting, text);
        break;
    case KW_SETTING_TEXTS:
        row.kind = KW_KIND_TEXTS;
        row.least = 1;
        break;
    }
    return row;
}

static void
read_component_texts(kw_read *read, const kw_setting *row, const kw_node *node, kw_model_setting *result)
{
    const char **texts;
    kw_mark *marks;
    size_t count;
    if (node->kind == KW_NODE_BROKEN || !kw_read_texts(read, row, node, &texts, &marks, &count))
        return;
    result->texts = texts;
    result->text_marks = marks;
    result->texts_count = count;
}

static kw_model_setting
read_component_setting(kw_read *read, const kw_setting_schema *schema, const kw_node *node)
{
    kw_model_setting result = {.name = kw_memory_text(read->memory, schema->name, strlen(schema->name)),
                               .mark = node->mark,
                               .kind = schema->kind,
                               .text = ""};
    kw_setting row = row_of(schema);
    size_t length = kw_read_enter(read, schema->name, 0);
    if (schema->kind == KW_SETTING_TEXTS)
        read_component_texts(read, &row, node, &result);
    else
        kw_read_value(read, &row, node, &result);
    /* `text` can point to a choice of the schema, which the model outlives. */
    result.text = kw_memory_text(read->memory, result.text, strlen(result.text));
    kw_read_leave(read, length);
    return result;
}

static void
read_settings(kw_read *read, const kw_component_schema *schema, const kw_node *map,
              kw_model_component *component)
{
    kw_model_setting *settings = KW_MEMORY_ARRAY(read->memory, kw_model_setting, map->count);
    component->settings = settings;
    for (size_t i = 0; i < map->count; i++) {
        const kw_setting_schema *setting = find_setting(schema, map->keys[i]->text);
        if (setting) {
            settings[component->settings_count++] = read_component_setting(read, setting, map->items[i]);
            continue;
        }
        g_autoptr(GPtrArray) names = g_ptr_array_new();
        for (size_t j = 0; j < schema->settings_count; j++)
            g_ptr_array_add(names, (void *)schema->settings[j].name);
        g_ptr_array_add(names, NULL);
        kw_read_unknown(read, map->keys[i], "setting", (const char *const *)names->pdata);
    }
}

static void
read_short(kw_read *read, const kw_component_schema *schema, const kw_node *node,
           kw_model_component *component)
{
    if (schema->settings_count == 0) {
        kw_read_problem(read, node->mark, "write only its name", "takes no value");
        return;
    }
    kw_model_setting *setting = KW_MEMORY_ARRAY(read->memory, kw_model_setting, 1);
    *setting = read_component_setting(read, &schema->settings[0], node);
    component->settings = setting;
    component->settings_count = 1;
}

void
kw_read_missing_settings(kw_read *read, const kw_component_schema *schema,
                         const kw_model_component *component)
{
    for (size_t i = 0; i < schema->settings_count; i++) {
        const kw_setting_schema *setting = &schema->settings[i];
        if (!setting->required || kw_model_setting_find(component, setting->name))
            continue;
        g_autofree char *hint = g_strdup_printf("%s: %s", setting->name, setting->about);
        kw_read_problem(read, component->mark, hint, "needs %s", setting->name);
    }
}

static void
read_body(kw_read *read, const kw_component_schema *schema, const kw_node *body,
          kw_model_component *component)
{
    size_t length = kw_read_enter(read, schema->name, 0);
    if (body->kind == KW_NODE_MAP)
        read_settings(read, schema, body, component);
    else if (body->kind != KW_NODE_BROKEN && !kw_node_is_empty(body))
        read_short(read, schema, body, component);
    if (body->kind != KW_NODE_BROKEN)
        kw_read_missing_settings(read, schema, component);
    kw_read_leave(read, length);
}

static void
read_component(kw_read *read, const kw_node *node, kw_model_component *component)
{
    component->broken = true;
    if (node->kind == KW_NODE_BROKEN)
        return;
    if (kw_node_is_empty(node) || node->kind == KW_NODE_LIST) {
        kw_read_problem(read, node->mark, "write for example `- field: order_id`", "must be a key component");
        return;
    }
    if (node->kind == KW_NODE_MAP && node->count != 1) {
        kw_read_problem(
            read, node->mark,
            "start each component with '- ', and indent its settings below its name or put them in { }",
            "has %zu names, must be one component", node->count);
        return;
    }
    size_t before = kw_diagnostics_count(read->diagnostics);
    const kw_node *name = node->kind == KW_NODE_SCALAR ? node : node->keys[0];
    component->mark = node->mark;
    component->name = kw_memory_text(read->memory, name->text, strlen(name->text));
    component->bare = node->kind == KW_NODE_SCALAR;
    const kw_component_schema *schema = component->bare ? NULL : known_component(read, name);
    if (schema)
        read_body(read, schema, node->items[0], component);
    component->broken = node->damaged || kw_diagnostics_count(read->diagnostics) > before;
}

void
kw_read_rule(kw_read *read, const kw_setting *setting, const kw_node *node, void *into)
{
    if (node->kind == KW_NODE_BROKEN)
        return;
    if (node->kind != KW_NODE_LIST) {
        kw_read_problem(read, node->mark, "write each component on its own line: - field: order_id",
                        "must be a list of components");
        return;
    }
    if (node->count < (size_t)setting->least || node->count > (size_t)setting->most) {
        kw_read_problem(read, node->mark, NULL, "has %zu components, must have %d to %d", node->count,
                        (int)setting->least, (int)setting->most);
        return;
    }
    kw_model_component *components = KW_MEMORY_ARRAY(read->memory, kw_model_component, node->count);
    for (size_t i = 0; i < node->count; i++) {
        size_t length = kw_read_enter(read, NULL, i);
        components[i].name = "";
        read_component(read, node->items[i], &components[i]);
        kw_read_leave(read, length);
    }
    memcpy((char *)into + setting->offset, &components, sizeof components);
    memcpy((char *)into + setting->offset2, &node->count, sizeof node->count);
}
