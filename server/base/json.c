#include "base/json.h"

#define DEPTH_MAX 8

/* json-glib also accepts comments, and a quotation mark in a comment does not begin a string. So texts with
 * comments are rejected. */
static bool
is_json_outside_strings(uint8_t byte)
{
    return g_ascii_isalnum(byte) || (byte && strchr("{}[]:,+-. \t\r\n", byte));
}

static bool
is_shallow(kw_bytes text)
{
    int depth = 0;
    bool in_string = false;
    for (size_t i = 0; i < text.size && depth <= DEPTH_MAX; i++) {
        uint8_t byte = text.data[i];
        if (in_string && byte == '\\')
            i++;
        else if (byte == '"')
            in_string = !in_string;
        else if (!in_string && !is_json_outside_strings(byte))
            return false;
        else if (!in_string)
            depth += (byte == '{' || byte == '[') - (byte == '}' || byte == ']');
    }
    return depth <= DEPTH_MAX;
}

static JsonNode *
load(JsonParser *parser, kw_bytes text)
{
    bool good = text.size > 0 && is_shallow(text) &&
                json_parser_load_from_data(parser, (const char *)text.data, (gssize)text.size, NULL);
    return good ? json_parser_get_root(parser) : NULL;
}

JsonObject *
kw_json_object(JsonParser *parser, kw_bytes text)
{
    JsonNode *root = load(parser, text);
    return root && JSON_NODE_HOLDS_OBJECT(root) ? json_node_get_object(root) : NULL;
}

JsonArray *
kw_json_array(JsonParser *parser, kw_bytes text)
{
    JsonNode *root = load(parser, text);
    return root && JSON_NODE_HOLDS_ARRAY(root) ? json_node_get_array(root) : NULL;
}

const char *
kw_json_text(JsonObject *from, const char *member, kw_arena *arena)
{
    JsonNode *node = json_object_get_member(from, member);
    const char *text = node && JSON_NODE_HOLDS_VALUE(node) ? json_node_get_string(node) : NULL;
    return text ? kw_arena_text(arena, kw_bytes_of_text(text)) : "";
}
