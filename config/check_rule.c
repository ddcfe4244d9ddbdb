/* Components that are written as a name only: the name of a component without required settings, or of a
 * field, which stands for `field: NAME`. A name that is both is rejected. */
#include "config/check.h"

#include "config/read.h"

#include <string.h>

static bool
has_field(const kw_draft_table *table, const char *name)
{
    for (size_t i = 0; i < table->fields_count; i++)
        if (strcmp(table->fields[i].field.name, name) == 0)
            return true;
    return false;
}

static void
refuse_unknown(kw_read *read, const kw_draft_table *table, const kw_model_component *component)
{
    g_autoptr(GPtrArray) names = g_ptr_array_new();
    for (size_t i = 0; i < table->fields_count; i++)
        g_ptr_array_add(names, (void *)table->fields[i].field.name);
    for (size_t i = 0; i < read->components_count; i++)
        g_ptr_array_add(names, (void *)read->components[i]->name);
    g_ptr_array_add(names, NULL);
    kw_node name = {.kind = KW_NODE_SCALAR, .text = component->name, .mark = component->mark};
    kw_read_unknown(read, &name, "field or key component", (const char *const *)names->pdata);
}

static void
refuse_both(kw_read *read, const kw_component_schema *schema, const kw_model_component *component)
{
    g_autofree char *hint =
        g_strdup_printf("write `field: %s` for the field, or `%s: {%s}` for the component", component->name,
                        component->name, schema->settings_count ? "..." : "");
    kw_read_problem(read, component->mark, hint, "'%s' is the name of a field and of a key component",
                    component->name);
}

/* The component `field: NAME`. */
static kw_model_component
field_component(kw_read *read, const kw_component_schema *schema, const kw_model_component *bare)
{
    kw_model_setting *setting = KW_MEMORY_ARRAY(read->memory, kw_model_setting, 1);
    *setting = (kw_model_setting){
        .name = schema->settings[0].name, .mark = bare->mark, .kind = KW_SETTING_TEXT, .text = bare->name};
    return (kw_model_component){
        .name = schema->name, .mark = bare->mark, .bare = true, .settings = setting, .settings_count = 1};
}

static void
resolve(kw_read *read, const kw_draft_table *table, kw_model_component *component)
{
    const kw_component_schema *schema = kw_read_find_component(read, component->name);
    const kw_component_schema *of_fields = kw_read_find_component(read, "field");
    bool field = of_fields && has_field(table, component->name);
    if (schema && field) {
        refuse_both(read, schema, component);
    } else if (schema) {
        size_t length = kw_read_enter(read, schema->name, 0);
        kw_read_missing_settings(read, schema, component);
        kw_read_leave(read, length);
    } else if (field) {
        *component = field_component(read, of_fields, component);
    } else if (table->fields_count) { /* otherwise, the missing fields are the problem */
        refuse_unknown(read, table, component);
    }
}

static void
resolve_rule(kw_read *read, const kw_draft_table *table, kw_model_path *path)
{
    kw_model_component *components =
        KW_MEMORY_ARRAY(read->memory, kw_model_component, path->components_count);
    size_t length = kw_read_enter(read, "key", 0);
    for (size_t i = 0; i < path->components_count; i++) {
        size_t inner = kw_read_enter(read, NULL, i);
        size_t before = kw_diagnostics_count(read->diagnostics);
        components[i] = path->components[i];
        if (components[i].bare)
            resolve(read, table, &components[i]);
        components[i].broken |= kw_diagnostics_count(read->diagnostics) > before;
        kw_read_leave(read, inner);
    }
    kw_read_leave(read, length);
    path->components = components;
}

void
kw_check_rule_names(kw_read *read, kw_draft_table *table)
{
    resolve_rule(read, table, &table->primary.path);
    size_t length = kw_read_enter(read, "paths", 0);
    for (size_t i = 0; i < table->paths_count; i++) {
        size_t inner = kw_read_enter(read, table->paths[i].path.name, 0);
        resolve_rule(read, table, &table->paths[i].path);
        kw_read_leave(read, inner);
    }
    kw_read_leave(read, length);
}
