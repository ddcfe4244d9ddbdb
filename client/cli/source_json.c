/* JSON lines with json-glib. A line is an object of fields; null is an absent field. A line of a reject file,
 * {"line": ..., "error": ..., "record": {...}}, is read as its record.
 */
#include "cli/source_form.h"

#include "cli/json_text.h"
#include "cli/text.h"
#include "cli/value.h"

#include <string.h>

static bool
set_map(const kw_source *source, kw_record *record, const char *name, JsonObject *object, GError **error)
{
    const char *entry;
    const kw_field_info *field = kw_field_named(source->table, name, &entry, error);
    g_auto(kw_held_value) held = {0};

    if (field != NULL && (field->of == NULL || entry != NULL)) {
        g_set_error(error, KW_CLIENT_ERROR, KW_CLIENT_INVALID,
                    "field %s: the value is an object, but the field is not a map", name);
        return false;
    }
    return field != NULL && kw_entries_parse(source->table, field, object, &held, error) &&
           kw_record_add(record, field, NULL, held.value, error);
}

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
    if (text == NULL) {
        g_set_error(error, KW_CLIENT_ERROR, KW_CLIENT_INVALID,
                    "field %s: the value is an array, which no field can hold", name);
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

/* If a line, or the record in it, is not a JSON object, the reject file gets the line as a JSON string. */
static char *
line_as_json(const kw_source *source)
{
    GString *json = g_string_new(NULL);
    gsize length = source->length;

    while (length > 0 && strchr("\r\n", source->line[length - 1]) != NULL)
        length--;
    g_autofree char *line = g_strndup(source->line, length);
    kw_text_append_json(json, line);
    return g_string_free(json, FALSE);
}

/* The record in a reject file's line, or the object itself. */
static JsonNode *
unwrap(JsonNode *root)
{
    JsonObject *object = JSON_NODE_HOLDS_OBJECT(root) ? json_node_get_object(root) : NULL;

    if (object == NULL || !json_object_has_member(object, "record") ||
        !json_object_has_member(object, "error"))
        return root;
    return json_object_get_member(object, "record");
}

/* True if the line begins an object that goes on in the next line, as in indented JSON, or in an object
 * around an array of records. */
static bool
ends_open(const kw_source *source)
{
    gsize end = source->length;

    while (end > 0 && g_ascii_isspace(source->line[end - 1]))
        end--;
    return source->line[strspn(source->line, " \t")] == '{' && strchr("{[", source->line[end - 1]) != NULL;
}

void
kw_json_line_parse(const kw_source *source, kw_source_item *ret_item)
{
    g_autoptr(JsonNode) read = kw_json_read(source->line, source->length, &ret_item->error);
    JsonNode *root = read == NULL ? NULL : unwrap(read);

    ret_item->line = source->number;
    if (root != NULL && JSON_NODE_HOLDS_OBJECT(root)) {
        GString *json = g_string_sized_new(source->length + 16);

        kw_json_append(json, root);
        ret_item->json = g_string_free(json, FALSE);
        ret_item->record = record_of(source, json_node_get_object(root), &ret_item->error);
        return;
    }
    ret_item->json = line_as_json(source);
    if (ret_item->error == NULL)
        g_set_error_literal(&ret_item->error, KW_CLIENT_ERROR, KW_CLIENT_INVALID,
                            read == root ? "the line is not a JSON object"
                                         : "the line's record is not a JSON object");
    else if (!source->is_array && ends_open(source))
        g_prefix_error(
            &ret_item->error,
            "the object does not end on this line; write one object per line (jq -c), or one array: ");
    else
        g_prefix_error(&ret_item->error, "the line is not JSON: ");
}
