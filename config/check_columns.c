/* Determines the column of each field of a table and of the marker. Checks that no two fields share a column,
 * and that the column of the marker does not belong to a map: a map uses every column of its family that
 * begins with its prefix. A field that is not a map and has the column of the marker is rejected later,
 * when the schema is built. */
#include "config/check.h"

#include "config/parse.h"
#include "config/read.h"

#include <string.h>

bool
kw_setting_holds_field(const kw_model_setting *setting, const char *field)
{
    static const char *const names[] = {"field", "name", NULL};
    return setting->kind == KW_SETTING_TEXT && g_strv_contains(names, setting->name) &&
           strcmp(setting->text, field) == 0;
}

static bool
rule_holds_field(const kw_model_path *path, const char *field)
{
    for (size_t i = 0; i < path->components_count; i++)
        for (size_t j = 0; j < path->components[i].settings_count; j++)
            if (kw_setting_holds_field(&path->components[i].settings[j], field))
                return true;
    return false;
}

/* Converts text with escapes to bytes in the model's memory, followed by a NUL. */
static const char *
bytes_of(kw_read *read, const char *text, size_t *ret_size)
{
    char *bytes = kw_memory_array(read->memory, strlen(text) + 1, 1);
    bool legal = kw_parse_binary(text, (uint8_t *)bytes, ret_size);
    g_assert(legal); /* the name rule of the setting was checked */
    bytes[*ret_size] = '\0';
    return bytes;
}

static void
cut_column(kw_read *read, const char *column, const char **ret_family, const char **ret_qualifier,
           size_t *ret_size)
{
    const char *colon = strchr(column, ':');
    *ret_family = kw_memory_text(read->memory, column, (size_t)(colon - column));
    *ret_qualifier = bytes_of(read, colon + 1, ret_size);
}

/* The column of a map without the final star. */
static const char *
without_star(kw_read *read, const char *column)
{
    size_t size = strlen(column);
    return kw_memory_text(read->memory, column, column[size - 1] == '*' ? size - 1 : size);
}

static void
set_column(kw_read *read, const kw_draft_table *table, kw_draft_field *draft)
{
    kw_model_field *field = &draft->field;
    draft->stored = draft->column || !rule_holds_field(&table->primary.path, field->name);
    if (!draft->stored)
        return;
    bool is_map = field->type == KW_FIELD_MAP;
    if (!draft->column) {
        field->family = table->table.default_family;
        field->qualifier = is_map ? kw_memory_printf(read->memory, "%s.", field->name) : field->name;
        field->qualifier_size = strlen(field->qualifier);
        return;
    }
    const char *column = is_map ? without_star(read, draft->column) : draft->column;
    cut_column(read, column, &field->family, &field->qualifier, &field->qualifier_size);
}

/* True if the column belongs to the map. A column that equals the prefix does not: entries have names. */
static bool
falls_into(const kw_model_field *map, const char *family, const char *qualifier, size_t size)
{
    return strcmp(map->family, family) == 0 && size > map->qualifier_size &&
           memcmp(map->qualifier, qualifier, map->qualifier_size) == 0;
}

/* True if one column could belong to both maps. */
static bool
overlap(const kw_model_field *a, const kw_model_field *b)
{
    size_t size = MIN(a->qualifier_size, b->qualifier_size);
    return strcmp(a->family, b->family) == 0 && memcmp(a->qualifier, b->qualifier, size) == 0;
}

#define MAP_HINT "a map uses all columns with its prefix: give one of the two another family or prefix"

/* Checks that the columns of a map belong to no other field and not to the marker. */
static void
keep_out(kw_read *read, const kw_draft_table *table, size_t number)
{
    const kw_model_field *map = &table->fields[number].field;
    for (size_t i = 0; i < table->fields_count; i++) {
        const kw_draft_field *other = &table->fields[i];
        const kw_model_field *field = &other->field;
        bool is_map = field->type == KW_FIELD_MAP;
        if (i == number || !other->stored || (is_map && i < number)) /* each pair of maps is checked once */
            continue;
        if (is_map ? overlap(map, field)
                   : falls_into(map, field->family, field->qualifier, field->qualifier_size))
            kw_read_problem(read, other->column ? other->column_mark : field->mark, MAP_HINT,
                            is_map ? "fields.%s: shares columns with the map %s"
                                   : "fields.%s: its column belongs to the map %s",
                            field->name, map->name);
    }
    const kw_model_table *own = &table->table;
    if (own->marker_family &&
        falls_into(map, own->marker_family, own->marker_qualifier, own->marker_qualifier_size))
        kw_read_problem(read, table->marker_mark, MAP_HINT, "marker: its column belongs to the map %s",
                        map->name);
}

static void
set_columns(kw_read *read, kw_draft_table *table)
{
    g_autoptr(GHashTable) owners = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    for (size_t i = 0; i < table->fields_count; i++) {
        kw_draft_field *draft = &table->fields[i];
        set_column(read, table, draft);
        if (!draft->stored || draft->field.type == KW_FIELD_MAP)
            continue;
        g_autofree char *column = draft->column
                                      ? g_strdup(draft->column)
                                      : g_strdup_printf("%s:%s", draft->field.family, draft->field.qualifier);
        const char *first = g_hash_table_lookup(owners, column);
        if (first)
            kw_read_problem(read, draft->column ? draft->column_mark : draft->field.mark,
                            "every field needs a column of its own",
                            "fields.%s: the column %s is already used by field %s", draft->field.name, column,
                            first);
        else
            g_hash_table_insert(owners, g_steal_pointer(&column), (void *)draft->field.name);
    }
}

static void
set_marker(kw_read *read, kw_draft_table *draft)
{
    kw_model_table *table = &draft->table;
    table->marker_value = "";
    if (!draft->marker) {
        if (draft->marker_value)
            kw_read_problem(read, draft->marker_value_mark, "add a marker, for example marker: \"0:_0\"",
                            "marker_value needs a marker");
        return;
    }
    cut_column(read, draft->marker, &table->marker_family, &table->marker_qualifier,
               &table->marker_qualifier_size);
    if (draft->marker_value)
        table->marker_value = bytes_of(read, draft->marker_value, &table->marker_value_size);
}

void
kw_check_columns(kw_read *read, kw_draft_table *table)
{
    set_columns(read, table);
    set_marker(read, table);
    for (size_t i = 0; i < table->fields_count; i++)
        if (table->fields[i].stored && table->fields[i].field.type == KW_FIELD_MAP)
            keep_out(read, table, i);
}
