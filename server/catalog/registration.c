/* The content of a registration as JSON; see image.h. */
#include "base/json.h"
#include "catalog/image.h"

static void
print_digests(JsonBuilder *to, const char *member, const kw_table_digest *digests, size_t count)
{
    json_builder_set_member_name(to, member);
    json_builder_begin_object(to);
    for (size_t i = 0; i < count; i++) {
        json_builder_set_member_name(to, digests[i].table);
        json_builder_add_string_value(to, digests[i].digest);
    }
    json_builder_end_object(to);
}

static void
print_reports(JsonBuilder *to, const kw_change_report *reports, size_t count)
{
    json_builder_set_member_name(to, "changes");
    json_builder_begin_array(to);
    for (size_t i = 0; i < count; i++) {
        json_builder_begin_object(to);
        json_builder_set_member_name(to, "table");
        json_builder_add_string_value(to, reports[i].table);
        json_builder_set_member_name(to, "path");
        json_builder_add_string_value(to, reports[i].path);
        json_builder_set_member_name(to, "started_ms");
        json_builder_add_int_value(to, reports[i].started_ms);
        json_builder_set_member_name(to, "step");
        json_builder_add_int_value(to, (gint64)reports[i].step);
        json_builder_end_object(to);
    }
    json_builder_end_array(to);
}

/* A flag that is false is left out. */
static void
print_flag(JsonBuilder *to, const char *member, bool flag)
{
    if (!flag)
        return;
    json_builder_set_member_name(to, member);
    json_builder_add_boolean_value(to, TRUE);
}

kw_bytes
kw_registration_print(const kw_registration *registration, kw_arena *arena)
{
    g_autoptr(JsonBuilder) builder = json_builder_new();
    json_builder_begin_object(builder);
    print_digests(builder, "serving", registration->serving, registration->serving_count);
    print_digests(builder, "next", registration->next, registration->next_count);
    if (registration->forgetting) {
        json_builder_set_member_name(builder, "forgetting");
        json_builder_add_string_value(builder, registration->forgetting);
    }
    print_flag(builder, "follows", registration->follows);
    print_flag(builder, "has_callers", registration->has_callers);
    if (registration->reports_count)
        print_reports(builder, registration->reports, registration->reports_count);
    json_builder_end_object(builder);
    g_autoptr(JsonNode) root = json_builder_get_root(builder);
    g_autofree char *text = json_to_string(root, FALSE);
    return kw_bytes_of_text(kw_arena_text(arena, kw_bytes_of_text(text)));
}

static bool
parse_digests(JsonObject *from, const char *member, kw_arena *arena, const kw_table_digest **ret_digests,
              size_t *ret_count)
{
    JsonNode *node = json_object_get_member(from, member);
    if (!node || !JSON_NODE_HOLDS_OBJECT(node))
        return false;
    JsonObject *object = json_node_get_object(node);
    kw_table_digest *digests = KW_ARENA_ARRAY(arena, kw_table_digest, json_object_get_size(object));
    JsonObjectIter iter;
    const char *name;
    JsonNode *value;
    size_t count = 0;
    json_object_iter_init(&iter, object);
    while (json_object_iter_next(&iter, &name, &value)) {
        const char *digest = JSON_NODE_HOLDS_VALUE(value) ? json_node_get_string(value) : NULL;
        if (!digest)
            return false;
        digests[count++] = (kw_table_digest){kw_arena_text(arena, kw_bytes_of_text(name)),
                                             kw_arena_text(arena, kw_bytes_of_text(digest))};
    }
    *ret_digests = digests;
    *ret_count = count;
    return true;
}

static bool
parse_forgetting(JsonObject *from, kw_arena *arena, const char **ret_table)
{
    JsonNode *node = json_object_get_member(from, "forgetting");
    const char *text = node && JSON_NODE_HOLDS_VALUE(node) ? json_node_get_string(node) : NULL;
    *ret_table = text ? kw_arena_text(arena, kw_bytes_of_text(text)) : NULL;
    return !node || text;
}

/* The member is optional: false without it. */
static bool
parse_flag(JsonObject *from, const char *member, bool *ret_flag)
{
    JsonNode *node = json_object_get_member(from, member);
    bool valid = !node || (JSON_NODE_HOLDS_VALUE(node) && json_node_get_value_type(node) == G_TYPE_BOOLEAN);
    *ret_flag = node && valid && json_node_get_boolean(node);
    return valid;
}

/* -1 if the member is absent or not a number. */
static int64_t
number_of(JsonObject *from, const char *member)
{
    JsonNode *node = json_object_get_member(from, member);
    bool number = node && JSON_NODE_HOLDS_VALUE(node) && json_node_get_value_type(node) == G_TYPE_INT64;
    return number ? json_node_get_int(node) : -1;
}

static bool
parse_report(JsonNode *node, kw_arena *arena, kw_change_report *to)
{
    JsonObject *from = JSON_NODE_HOLDS_OBJECT(node) ? json_node_get_object(node) : NULL;
    int64_t step = from ? number_of(from, "step") : -1;
    if (step < 0)
        return false;
    *to = (kw_change_report){.table = kw_json_text(from, "table", arena),
                             .path = kw_json_text(from, "path", arena),
                             .started_ms = number_of(from, "started_ms"),
                             .step = (uint64_t)step};
    return to->table[0] && to->path[0] && to->started_ms >= 0;
}

/* The member is optional. */
static bool
parse_reports(JsonObject *from, kw_arena *arena, kw_registration *to)
{
    JsonNode *node = json_object_get_member(from, "changes");
    if (!node)
        return true;
    JsonArray *array = JSON_NODE_HOLDS_ARRAY(node) ? json_node_get_array(node) : NULL;
    guint count = array ? json_array_get_length(array) : 0;
    kw_change_report *reports = KW_ARENA_ARRAY(arena, kw_change_report, count);
    for (guint i = 0; i < count; i++)
        if (!parse_report(json_array_get_element(array, i), arena, &reports[i]))
            return false;
    to->reports = reports;
    to->reports_count = count;
    return array;
}

bool
kw_registration_parse(kw_bytes text, kw_arena *arena, kw_registration *to)
{
    g_autoptr(JsonParser) parser = json_parser_new_immutable();
    JsonObject *object = kw_json_object(parser, text);
    return object && parse_digests(object, "serving", arena, &to->serving, &to->serving_count) &&
           parse_digests(object, "next", arena, &to->next, &to->next_count) &&
           parse_forgetting(object, arena, &to->forgetting) && parse_flag(object, "follows", &to->follows) &&
           parse_flag(object, "has_callers", &to->has_callers) && parse_reports(object, arena, to);
}
