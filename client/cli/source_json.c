/* JSON lines by json-glib. A line is an object of fields; null is an absent field. A line of a reject
 * file, {"line": ..., "error": ..., "record": {...}}, stands for its record.
 */
#include "cli/source_form.h"

#include "cli/json_text.h"
#include "cli/value.h"

static bool
set_map(const kw_source *source, kw_record *record, const char *name, JsonObject *object, GError **error)
{
    const char *entry;
    const kw_field_info *field = kw_field_named(source->table, name, &entry, error);
    g_auto(kw_held_value) held = {0};

    if (field != NULL && (field->of == NULL || entry != NULL)) {
        g_set_error(error, KW_CLIENT_ERROR, KW_CLIENT_INVALID,
                    "field %s: an object is not a value, it is no map", name);
        return false;
    }
    return field != NULL && kw_entries_parse(source->table, field, object, &held, error) &&
           kw_record_add(record, field, NULL, held.value, error);
}

#include <math.h>
#include <string.h>

static bool
set_member(const kw_source *source, kw_record *record, const char *name, JsonNode *node, GError **error)
{
    g_autofree char *text = NULL;

    if (JSON_NODE_HOLDS_NULL(node))
        return true;
    if (JSON_NODE_HOLDS_OBJECT(node))
        return set_map(source, record, name, json_node_get_object(node), error);
    if (JSON_NODE_HOLDS_VALUE(node))
        text = kw_text_of_json(node);
    if (JSON_NODE_HOLDS_VALUE(node) && json_node_get_value_type(node) == G_TYPE_DOUBLE &&
        !isfinite(json_node_get_double(node))) {
        g_set_error(error, KW_CLIENT_ERROR, KW_CLIENT_INVALID, "field %s: the number is too large", name);
        return false;
    }
    if (text == NULL) {
        g_set_error(error, KW_CLIENT_ERROR, KW_CLIENT_INVALID, "field %s: an array is not a value", name);
        return false;
    }
    return kw_source_set(source->table, record, name, text, error);
}

static kw_record *
record_of(const kw_source *source, JsonObject *object, GError **error)
{
    g_autoptr(kw_record) record = kw_record_new();
    g_autoptr(GList) names = json_object_get_members(object);

    for (GList *name = names; name != NULL; name = name->next)
        if (!set_member(source, record, name->data, json_object_get_member(object, name->data), error))
            return NULL;
    return g_steal_pointer(&record);
}

/* The record within a reject file's line, or the object itself. */
static JsonNode *
unwrap(JsonNode *root)
{
    JsonObject *object = JSON_NODE_HOLDS_OBJECT(root) ? json_node_get_object(root) : NULL;
    JsonNode *record;

    if (object == NULL || !json_object_has_member(object, "record") ||
        !json_object_has_member(object, "error"))
        return root;
    record = json_object_get_member(object, "record");
    return JSON_NODE_HOLDS_OBJECT(record) ? record : root;
}

/* json-glib's words come with a place in data that has no lines, and with names of its own. */
static void
set_not_json(GError **error, const GError *why)
{
    const char *words = strstr(why->message, "Parse error: ");

    g_set_error(error, KW_CLIENT_ERROR, KW_CLIENT_INVALID, "the line is not JSON: %s",
                words == NULL ? why->message : words + strlen("Parse error: "));
}

void
kw_json_line_parse(const kw_source *source, kw_source_item *ret_item)
{
    g_autoptr(JsonParser) parser = json_parser_new();
    g_autoptr(GError) failure = NULL;
    JsonNode *root = NULL;

    ret_item->line = source->number;
    if (json_parser_load_from_data(parser, source->line, (gssize)source->length, &failure))
        root = json_parser_get_root(parser);
    else
        set_not_json(&ret_item->error, failure);
    if (root != NULL)
        root = unwrap(root);
    if (root != NULL && JSON_NODE_HOLDS_OBJECT(root)) {
        ret_item->json = json_to_string(root, FALSE);
        ret_item->record = record_of(source, json_node_get_object(root), &ret_item->error);
        return;
    }
    if (ret_item->error == NULL)
        g_set_error_literal(&ret_item->error, KW_CLIENT_ERROR, KW_CLIENT_INVALID,
                            "the line is not a JSON object");
}
