/* Checks of tables: what fits a field's type, which column each field gets, where tables are cut. */
#include "config/check.h"

#include "config/parse.h"
#include "config/read.h"

#include <string.h>

/* --- one field -------------------------------------------------------------------------------- */

/* Tells that `name` is not for this type, when the file gives it. */
static bool
refuse_given(kw_read *read, const kw_node *map, const char *name, const char *for_whom)
{
    const kw_node *given = kw_node_find(map, name);
    return !given || kw_read_problem(read, given->mark, NULL, "%s is for %s", name, for_whom);
}

static void
check_form(kw_read *read, const kw_node *map, const kw_model_field *field)
{
    bool number =
        field->type == KW_FIELD_INT || field->type == KW_FIELD_TIMESTAMP || field->type == KW_FIELD_DOUBLE;
    if ((field->form == KW_CELL_RAW_BE4 || field->form == KW_CELL_PHOENIX4) && !number)
        kw_read_problem(read, kw_node_find(map, "form")->mark, NULL,
                        "form %s is for int, timestamp and double fields",
                        field->form == KW_CELL_RAW_BE4 ? "raw4" : "phoenix4");
    if (field->form == KW_CELL_TEXT && field->type == KW_FIELD_BYTES)
        kw_read_problem(read, kw_node_find(map, "form")->mark, NULL, "form text is not for bytes fields");
}

static void
check_values(kw_read *read, const kw_node *map, const kw_model_field *field)
{
    const kw_node *values = kw_node_find(map, "values");
    for (size_t i = 0; i < field->values_count; i++) {
        kw_mark mark = values->kind == KW_NODE_LIST ? values->items[i]->mark : values->mark;
        kw_refusal refusal;
        int64_t number;
        if (field->type == KW_FIELD_INT && !kw_parse_int(field->values[i], &number, &refusal))
            kw_read_problem(read, mark, refusal.hint, "values: '%.60s' %s", field->values[i], refusal.why);
        if (field->max_bytes && strlen(field->values[i]) > (size_t)field->max_bytes)
            kw_read_problem(read, mark, NULL, "values: '%.60s' is longer than max_bytes", field->values[i]);
    }
}

void
kw_check_field(kw_read *read, const kw_node *node, void *section)
{
    const kw_draft_field *draft = section;
    const kw_model_field *field = &draft->field;
    if (!node)
        return;
    bool text = field->type == KW_FIELD_STRING || field->type == KW_FIELD_BYTES;
    if (field->type != KW_FIELD_TIMESTAMP)
        refuse_given(read, node, "unit", "timestamp fields");
    if (!text)
        refuse_given(read, node, "max_bytes", "string and bytes fields");
    check_form(read, node, field);
    if (field->generate.enabled)
        kw_check_made(read, node, field);
    if (field->type == KW_FIELD_STRING || field->type == KW_FIELD_INT)
        check_values(read, node, field);
    else
        refuse_given(read, node, "values", "string and int fields");
}

/* --- families and splits ---------------------------------------------------------------------- */

void
kw_check_family(kw_read *read, const kw_node *node, void *section)
{
    const kw_model_family *family = section;
    int64_t versions = family->max_versions ? family->max_versions : 1;
    if (node && family->min_versions > versions)
        kw_read_problem(read, kw_node_find(node, "min_versions")->mark, NULL,
                        "min_versions is more than versions (%d)", (int)versions);
}

static void
refuse_repeated_keys(kw_read *read, const kw_node *keys, const kw_model_splits *splits)
{
    g_autoptr(GHashTable) seen =
        g_hash_table_new_full(g_bytes_hash, g_bytes_equal, (GDestroyNotify)g_bytes_unref, NULL);
    for (size_t i = 0; i < splits->keys_count; i++) {
        g_autofree uint8_t *bytes = g_malloc(strlen(splits->keys[i]) + 1);
        size_t size;
        bool legal = kw_parse_binary(splits->keys[i], bytes, &size);
        g_assert(legal);
        kw_mark mark = keys->kind == KW_NODE_LIST ? keys->items[i]->mark : keys->mark;
        if (!g_hash_table_add(seen, g_bytes_new(bytes, size)))
            kw_read_problem(read, mark, NULL, "keys: '%.60s' is the same key as one before", splits->keys[i]);
    }
}

void
kw_check_splits(kw_read *read, const kw_node *node, void *section)
{
    const kw_model_splits *splits = section;
    if (!node)
        return;
    int ways = (*splits->algorithm != 0) + (splits->keys_count != 0) + (*splits->file != 0);
    if (ways != 1)
        kw_read_problem(read, splits->mark, "{algorithm: rule, regions: 16}, {keys: [...]} or {file: ...}",
                        "needs %s of algorithm, keys and file", ways ? "only one" : "one");
    else if (*splits->algorithm && !splits->regions)
        kw_read_problem(read, splits->mark, "regions: 16", "an algorithm needs regions");
    else if (splits->regions && !*splits->algorithm)
        kw_read_problem(read, splits->mark, "algorithm: rule", "regions needs an algorithm");
    refuse_repeated_keys(read, kw_node_find(node, "keys"), splits);
}

/* --- the columns of a table ------------------------------------------------------------------- */

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

/* Text with escapes as bytes of the model's memory, a NUL behind them. */
static const char *
bytes_of(kw_read *read, const char *text, size_t *ret_size)
{
    char *bytes = kw_memory_array(read->memory, strlen(text) + 1, 1);
    bool legal = kw_parse_binary(text, (uint8_t *)bytes, ret_size);
    g_assert(legal); /* the row's name rule saw it */
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

static void
give_column(kw_read *read, const kw_draft_table *table, kw_draft_field *draft)
{
    kw_model_field *field = &draft->field;
    draft->stored = draft->column || !rule_holds_field(&table->primary.path, field->name);
    if (!draft->stored)
        return;
    if (!draft->column) {
        field->family = table->table.default_family;
        field->qualifier = field->name;
        field->qualifier_size = strlen(field->name);
        return;
    }
    cut_column(read, draft->column, &field->family, &field->qualifier, &field->qualifier_size);
}

static void
give_columns(kw_read *read, kw_draft_table *table)
{
    g_autoptr(GHashTable) owners = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    for (size_t i = 0; i < table->fields_count; i++) {
        kw_draft_field *draft = &table->fields[i];
        give_column(read, table, draft);
        if (!draft->stored)
            continue;
        g_autofree char *column = draft->column
                                      ? g_strdup(draft->column)
                                      : g_strdup_printf("%s:%s", draft->field.family, draft->field.qualifier);
        const char *first = g_hash_table_lookup(owners, column);
        if (first)
            kw_read_problem(read, draft->column ? draft->column_mark : draft->field.mark,
                            "every field needs a column of its own",
                            "fields.%s: the column %s is the field %s's already", draft->field.name, column,
                            first);
        else
            g_hash_table_insert(owners, g_steal_pointer(&column), (void *)draft->field.name);
    }
}

static void
give_marker(kw_read *read, kw_draft_table *draft)
{
    kw_model_table *table = &draft->table;
    table->marker_value = "";
    if (!draft->marker) {
        if (draft->marker_value)
            kw_read_problem(read, draft->marker_value_mark, "marker: \"0:_0\"",
                            "marker_value needs a marker");
        return;
    }
    cut_column(read, draft->marker, &table->marker_family, &table->marker_qualifier,
               &table->marker_qualifier_size);
    if (draft->marker_value)
        table->marker_value = bytes_of(read, draft->marker_value, &table->marker_value_size);
}

/* --- a table's paths -------------------------------------------------------------------------- */

static void
name_store_tables(kw_read *read, kw_draft_table *table)
{
    kw_model_path *primary = &table->primary.path;
    primary->name = "primary";
    primary->mark = table->table.mark;
    if (!*primary->store_table)
        primary->store_table = table->table.name;
    for (size_t i = 0; i < table->paths_count; i++) {
        kw_model_path *path = &table->paths[i].path;
        if (strcmp(path->name, "primary") == 0)
            kw_read_problem(read, path->mark, "give it another name; the table's own key is the path primary",
                            "paths: the name primary is taken");
        if (!*path->store_table)
            path->store_table = kw_memory_printf(read->memory, "%s_%s", primary->store_table, path->name);
    }
}

void
kw_check_table(kw_read *read, const kw_node *node, void *section)
{
    kw_draft_table *table = section;
    if (!node)
        return;
    name_store_tables(read, table);
    give_columns(read, table);
    give_marker(read, table);
    kw_check_period_fields(read, table);
}
