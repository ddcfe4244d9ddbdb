/* Converts the drafts' arrays to those of the model. The primary path is the first path. The families are
 * those of the file and those that a field or the marker uses. The default family is always one of them,
 * because a table without a marker stores a cell there for each record without stored fields. */
#include "config/assemble.h"

#include "config/check.h"

#include <string.h>

static void
add_family(kw_read *read, kw_model_family *families, size_t *count, const char *name, kw_mark mark)
{
    for (size_t i = 0; i < *count; i++)
        if (strcmp(families[i].name, name) == 0)
            return;
    kw_model_family *added = &families[(*count)++];
    kw_read_section(read, kw_section_find(&kw_table_section, "families")->section, NULL, added);
    added->name = name;
    added->mark = mark;
}

static void
assemble_families(kw_read *read, const kw_draft_table *draft, kw_model_table *table)
{
    size_t most = draft->families_count + draft->fields_count + 2;
    kw_model_family *families = KW_MEMORY_ARRAY(read->memory, kw_model_family, most);
    if (draft->families_count)
        memcpy(families, draft->families, draft->families_count * sizeof *families);
    size_t count = draft->families_count;
    add_family(read, families, &count, table->default_family, table->mark);
    if (table->marker_family)
        add_family(read, families, &count, table->marker_family, draft->marker_mark);
    for (size_t i = 0; i < draft->fields_count; i++)
        if (draft->fields[i].stored)
            add_family(read, families, &count, draft->fields[i].field.family, draft->fields[i].field.mark);
    table->families = families;
    table->families_count = count;
}

/* --- tables with problems: the parts that can be checked nevertheless ---------------------------- */

static bool
is_broken_field(const kw_draft_table *draft, const char *name)
{
    for (size_t i = 0; i < draft->fields_count; i++)
        if (!draft->fields[i].valid && strcmp(draft->fields[i].field.name, name) == 0)
            return true;
    return false;
}

static bool
names_broken_field(const kw_draft_table *draft, const kw_model_setting *setting)
{
    for (size_t i = 0; i < setting->texts_count; i++)
        if (is_broken_field(draft, setting->texts[i]))
            return true;
    return is_broken_field(draft, setting->text);
}

/* True if the rule and the fields that it names have no problem. Otherwise further problems would be
 * misleading. */
static bool
is_usable(const kw_draft_table *draft, const kw_model_path *path)
{
    bool usable = draft->fields_known && path->components_count > 0;
    for (size_t i = 0; i < path->components_count; i++) {
        const kw_model_component *component = &path->components[i];
        usable = usable && !component->broken;
        for (size_t j = 0; j < component->settings_count; j++)
            usable = usable && !names_broken_field(draft, &component->settings[j]);
    }
    return usable;
}

static kw_model_table
assemble_usable(kw_read *read, const kw_draft_table *draft)
{
    kw_model_table table = draft->table;
    kw_model_field *fields = KW_MEMORY_ARRAY(read->memory, kw_model_field, draft->fields_count);
    kw_model_path *paths = KW_MEMORY_ARRAY(read->memory, kw_model_path, draft->paths_count + 1);
    for (size_t i = 0; i < draft->fields_count; i++)
        if (draft->fields[i].valid)
            fields[table.fields_count++] = draft->fields[i].field;
    if (is_usable(draft, &draft->primary.path))
        paths[table.paths_count++] = draft->primary.path;
    for (size_t i = 0; i < draft->paths_count; i++)
        if (is_usable(draft, &draft->paths[i].path))
            paths[table.paths_count++] = draft->paths[i].path;
    table.fields = fields;
    table.paths = paths;
    table.incomplete = true;
    return table;
}

/* --- whole tables -------------------------------------------------------------------------------- */

static kw_model_table
assemble_table(kw_read *read, const kw_draft_table *draft)
{
    kw_model_table table = draft->table;
    kw_model_field *fields = KW_MEMORY_ARRAY(read->memory, kw_model_field, draft->fields_count);
    for (size_t i = 0; i < draft->fields_count; i++)
        fields[i] = draft->fields[i].field;
    kw_model_path *paths = KW_MEMORY_ARRAY(read->memory, kw_model_path, draft->paths_count + 1);
    paths[0] = draft->primary.path;
    for (size_t i = 0; i < draft->paths_count; i++)
        paths[i + 1] = draft->paths[i].path;
    table.fields = fields;
    table.fields_count = draft->fields_count;
    table.paths = paths;
    table.paths_count = draft->paths_count + 1;
    assemble_families(read, draft, &table);
    return table;
}

kw_model
kw_assemble(kw_read *read, const kw_draft *draft)
{
    kw_model model = draft->model;
    kw_model_table *tables = KW_MEMORY_ARRAY(read->memory, kw_model_table, draft->tables_count);
    model.sequences.table = kw_sequences_table_name(read->memory, model.store.catalog);
    model.tables = tables;
    model.tables_count = draft->tables_count;
    for (size_t i = 0; i < draft->tables_count; i++)
        tables[i] = draft->tables[i].valid ? assemble_table(read, &draft->tables[i])
                                           : assemble_usable(read, &draft->tables[i]);
    return model;
}
