/* Checks of tables: settings that apply only to some types of fields, families, split keys, the names of
 * paths and store tables, and the setting order. Columns are in check_columns.c. */
#include "config/check.h"

#include "config/parse.h"
#include "config/read.h"

#include <string.h>

/* --- one field -------------------------------------------------------------------------------- */

/* Reports that `name` does not apply to this type, if the file sets it. */
static bool
reject_setting(kw_read *read, const kw_node *map, const char *name, const char *applies_to)
{
    const kw_node *given = kw_node_find(map, name);
    return !given || kw_read_problem(read, given->mark, NULL, "%s applies only to %s", name, applies_to);
}

static void
check_form(kw_read *read, const kw_node *map, const kw_model_field *field, kw_field_type type)
{
    bool number = type == KW_FIELD_INT || type == KW_FIELD_TIMESTAMP || type == KW_FIELD_DOUBLE;
    if ((field->form == KW_CELL_RAW_BE4 || field->form == KW_CELL_PHOENIX4) && !number)
        kw_read_problem(read, kw_node_find(map, "form")->mark, NULL,
                        "form %s applies only to int, timestamp and double fields",
                        field->form == KW_CELL_RAW_BE4 ? "raw4" : "phoenix4");
    if (field->form == KW_CELL_TEXT && type == KW_FIELD_BYTES)
        kw_read_problem(read, kw_node_find(map, "form")->mark, NULL,
                        "form text does not apply to bytes fields");
}

/* The store increments integers of 8 bytes. */
static void
check_counter(kw_read *read, const kw_node *map, const kw_model_field *field, kw_field_type type)
{
    const kw_node *given = kw_node_find(map, "counter");
    if (field->counter && (type != KW_FIELD_INT || field->form != KW_CELL_RAW_BE))
        kw_read_problem(read, given->mark, NULL, "counter applies only to int fields in form raw");
    else if (field->counter && field->generate.enabled)
        kw_read_problem(read, given->mark, NULL, "a generated field cannot be a counter");
}

static void
check_values(kw_read *read, const kw_node *map, const kw_model_field *field, kw_field_type type)
{
    const kw_node *values = kw_node_find(map, "values");
    for (size_t i = 0; i < field->values_count; i++) {
        kw_mark mark = values->kind == KW_NODE_LIST ? values->items[i]->mark : values->mark;
        kw_refusal refusal;
        int64_t number;
        if (type == KW_FIELD_INT && !kw_parse_int(field->values[i], &number, &refusal))
            kw_read_problem(read, mark, refusal.hint, "values: '%.60s' %s", field->values[i], refusal.why);
        if (field->max_bytes && strlen(field->values[i]) > (size_t)field->max_bytes)
            kw_read_problem(read, mark, NULL, "values: '%.60s' is longer than max_bytes", field->values[i]);
    }
}

static void
check_map(kw_read *read, const kw_node *map, const kw_draft_field *draft)
{
    if (!map || !kw_node_find(map, "of"))
        kw_read_problem(read, draft->field.mark, "write for example {type: map, of: string}",
                        "a map needs of: the type of its values");
    if (draft->column && !g_str_has_suffix(draft->column, "*"))
        kw_read_problem(read, draft->column_mark,
                        "write for example f:follow_*, or f:* for all columns of a family",
                        "column: a map's column must end in *");
}

void
kw_check_field(kw_read *read, const kw_node *node, void *section)
{
    const kw_draft_field *draft = section;
    const kw_model_field *field = &draft->field;
    bool is_map = field->type == KW_FIELD_MAP;
    if (!node && is_map) /* declared in the short form */
        check_map(read, NULL, draft);
    if (!node)
        return;
    kw_field_type type = is_map ? field->of : field->type; /* the type of the values */
    bool text = type == KW_FIELD_STRING || type == KW_FIELD_BYTES;
    if (is_map)
        check_map(read, node, draft);
    else
        reject_setting(read, node, "of", "maps");
    if (type != KW_FIELD_TIMESTAMP)
        reject_setting(read, node, "unit", "timestamp fields");
    if (!text)
        reject_setting(read, node, "max_bytes", "string and bytes fields");
    check_form(read, node, field, type);
    check_counter(read, node, field, type);
    if (field->generate.enabled)
        kw_check_generated(read, node, field);
    if (type == KW_FIELD_STRING || type == KW_FIELD_INT)
        check_values(read, node, field, type);
    else
        reject_setting(read, node, "values", "string and int fields");
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
            kw_read_problem(read, mark, NULL, "keys: '%.60s' is listed twice", splits->keys[i]);
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
                        "needs exactly one of algorithm, keys and file, but has %d", ways);
    else if (*splits->algorithm && !splits->regions)
        kw_read_problem(read, splits->mark, "add regions: 16", "an algorithm needs regions");
    else if (splits->regions && !*splits->algorithm)
        kw_read_problem(read, splits->mark, "add algorithm: rule", "regions needs an algorithm");
    refuse_repeated_keys(read, kw_node_find(node, "keys"), splits);
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
            kw_read_problem(read, path->mark, "use another name: primary is the path of the table's own key",
                            "paths: the name primary is reserved");
        if (!*path->store_table)
            path->store_table = kw_memory_printf(read->memory, "%s_%s", primary->store_table, path->name);
    }
}

void
kw_check_table(kw_read *read, const kw_node *node, void *section)
{
    kw_draft_table *table = section;
    const kw_node *fields = node ? kw_node_find(node, "fields") : NULL;
    if (!node)
        return;
    table->fields_known = fields && fields->kind == KW_NODE_MAP && !fields->lacks;
    name_store_tables(read, table);
    if (table->table.order)
        table->table.order_mark = kw_node_find(node, "order")->mark;
    kw_check_rule_names(read, table);
    kw_check_columns(read, table);
    kw_check_period_fields(read, table);
}
