/* See json_text.h. */
#include "cli/json_text.h"

#include "cli/text.h"

char *
kw_text_of_json(JsonNode *node)
{
    switch (JSON_NODE_HOLDS_VALUE(node) ? json_node_get_value_type(node) : G_TYPE_NONE) {
    case G_TYPE_STRING:
        return g_strdup(json_node_get_string(node));
    case G_TYPE_INT64:
        return g_strdup_printf("%" G_GINT64_FORMAT, json_node_get_int(node));
    case G_TYPE_DOUBLE:
        return kw_text_from_real(json_node_get_double(node));
    case G_TYPE_BOOLEAN:
        return g_strdup(json_node_get_boolean(node) ? "true" : "false");
    default:
        return NULL;
    }
}
