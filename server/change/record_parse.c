/* Parses records of changes; see record_members.h. */
#include "base/json.h"
#include "change/record_members.h"

/* NULL if the value has another type. */
static const char *
text_in(JsonNode *node)
{
    return JSON_NODE_HOLDS_VALUE(node) && json_node_get_value_type(node) == G_TYPE_STRING
               ? json_node_get_string(node)
               : NULL;
}

static bool
parse_text(JsonNode *node, kw_arena *arena, const char **ret_text)
{
    const char *text = text_in(node);
    *ret_text = text ? kw_arena_text(arena, kw_bytes_of_text(text)) : "";
    return text;
}

static bool
parse_flag(JsonNode *node, bool *ret_flag)
{
    if (!JSON_NODE_HOLDS_VALUE(node) || json_node_get_value_type(node) != G_TYPE_BOOLEAN)
        return false;
    *ret_flag = json_node_get_boolean(node);
    return true;
}

static bool
parse_number(JsonNode *node, int64_t *ret_number)
{
    if (!JSON_NODE_HOLDS_VALUE(node) || json_node_get_value_type(node) != G_TYPE_INT64)
        return false;
    *ret_number = json_node_get_int(node);
    return *ret_number >= 0;
}

static bool
parse_count(JsonNode *node, uint64_t *ret_count)
{
    int64_t number;
    if (!parse_number(node, &number))
        return false;
    *ret_count = (uint64_t)number;
    return true;
}

/* g_base64_decode skips invalid characters, so the bytes are encoded again and compared with the text. */
static bool
parse_bytes(JsonNode *node, kw_arena *arena, kw_bytes *ret_bytes)
{
    const char *text = text_in(node);
    gsize size = 0;
    g_autofree guchar *data = text ? g_base64_decode(text, &size) : NULL;
    g_autofree char *again = text ? g_base64_encode(data, size) : NULL;
    *ret_bytes = kw_arena_copy(arena, kw_bytes_of(data, size));
    return text && g_str_equal(text, again);
}

static bool
parse_rule(JsonNode *node, kw_arena *arena, kw_placed_rule *to)
{
    JsonObject *object = JSON_NODE_HOLDS_OBJECT(node) ? json_node_get_object(node) : NULL;
    JsonNode *layout = object ? json_object_get_member(object, "layout") : NULL;
    JsonNode *store_table = object ? json_object_get_member(object, "store_table") : NULL;
    int64_t number;
    if (!layout || !store_table || json_object_get_size(object) != 2 || !parse_number(layout, &number) ||
        number > UINT32_MAX || !parse_text(store_table, arena, &to->store_table))
        return false;
    to->layout = (uint32_t)number;
    return to->store_table[0] != '\0';
}

static bool
parse_path(JsonNode *node, kw_arena *arena, kw_added_path *to)
{
    JsonObject *object = JSON_NODE_HOLDS_OBJECT(node) ? json_node_get_object(node) : NULL;
    JsonNode *path = object ? json_object_get_member(object, "path") : NULL;
    JsonNode *rule = object ? json_object_get_member(object, "rule") : NULL;
    return path && rule && json_object_get_size(object) == 2 && parse_text(path, arena, &to->path) &&
           to->path[0] && parse_rule(rule, arena, &to->rule);
}

static bool
parse_paths(JsonNode *node, kw_arena *arena, kw_change_record *to)
{
    JsonArray *array = JSON_NODE_HOLDS_ARRAY(node) ? json_node_get_array(node) : NULL;
    guint count = array ? json_array_get_length(array) : 0;
    if (!array || count >= KW_CHANGE_PATHS_MAX)
        return false;
    kw_added_path *more = KW_ARENA_ARRAY(arena, kw_added_path, count);
    to->more = more;
    for (guint i = 0; i < count; i++) {
        if (!parse_path(json_array_get_element(array, i), arena, &more[i]) ||
            kw_change_has_path(to, more[i].path))
            return false;
        to->more_count++;
    }
    return true;
}

static bool
parse_version_name(JsonNode *node, kw_version_name *to)
{
    const char *text = text_in(node);
    kw_error ignored;
    return text && kw_version_parse(kw_bytes_of_text(text), to, &ignored);
}

/* The index of the text among the names; false if it is not one of them. */
static bool
parse_name(JsonNode *node, const kw_change_names *names, unsigned *ret_index)
{
    const char *text = text_in(node);
    for (unsigned i = 0; text && i < names->count; i++) {
        if (!g_str_equal(text, names->names[i]))
            continue;
        *ret_index = i;
        return true;
    }
    return false;
}

#define PARSE_NAME(names, type) (parse_name(node, &(names), &index) && (*(type *)to = (type)index, true))

static bool
parse_value(JsonNode *node, const kw_change_member *of, kw_arena *arena, kw_change_record *record)
{
    void *to = (char *)record + of->offset;
    unsigned index;
    switch (of->form) {
    case KW_CHANGE_TEXT:
        return parse_text(node, arena, to);
    case KW_CHANGE_FLAG:
        return parse_flag(node, to);
    case KW_CHANGE_COUNT:
        return parse_count(node, to);
    case KW_CHANGE_NUMBER:
        return parse_number(node, to);
    case KW_CHANGE_BYTES:
        return parse_bytes(node, arena, to);
    case KW_CHANGE_RULE:
        return parse_rule(node, arena, to);
    case KW_CHANGE_VERSION_NAME:
        return parse_version_name(node, to);
    case KW_CHANGE_PLACE:
        return kw_change_place_find(text_in(node), to);
    case KW_CHANGE_WRITERS:
        return PARSE_NAME(kw_change_writers_names, kw_change_writers);
    case KW_CHANGE_PASS:
        return PARSE_NAME(kw_change_pass_names, kw_change_pass);
    case KW_CHANGE_PATHS:
        return parse_paths(node, arena, record);
    }
    g_assert_not_reached();
}

static bool
parse_members(JsonObject *from, const kw_change_group *group, kw_arena *arena, kw_change_record *to)
{
    for (size_t i = 0; i < group->count; i++) {
        JsonNode *node = json_object_get_member(from, group->members[i].name);
        if (!node || !parse_value(node, &group->members[i], arena, to))
            return false;
    }
    return true;
}

static bool
parse_several_writers(JsonObject *from, kw_arena *arena, kw_change_record *to, size_t *count)
{
    if (!json_object_has_member(from, "writers"))
        return true;
    *count += kw_change_of_several_writers.count;
    return parse_members(from, &kw_change_of_several_writers, arena, to) &&
           to->writers == KW_CHANGE_SEVERAL_WRITERS && to->step > 0;
}

static bool
parse_parts(JsonObject *from, kw_arena *arena, kw_change_record *to, size_t *count)
{
    if (!json_object_has_member(from, "adds"))
        return true;
    *count += kw_change_of_parts.count;
    return parse_members(from, &kw_change_of_parts, arena, to) &&
           (to->adds || (to->more_count == 0 && !to->drops && !to->hints));
}

static bool
parse_atomics(JsonObject *from, kw_arena *arena, kw_change_record *to, size_t *count)
{
    if (!json_object_has_member(from, "atomics"))
        return true;
    *count += kw_change_of_atomics.count;
    return parse_members(from, &kw_change_of_atomics, arena, to) && to->atomics && !to->adds &&
           to->writers == KW_CHANGE_SEVERAL_WRITERS;
}

static bool
parse_share(JsonObject *from, kw_arena *arena, kw_change_record *to, size_t *count)
{
    if (!json_object_has_member(from, "share_percent"))
        return true;
    *count += kw_change_of_share.count;
    return parse_members(from, &kw_change_of_share, arena, to) && to->share_percent >= 1 &&
           to->share_percent <= 100;
}

/* A change of atomics ends on either side of its only place. */
static bool
has_places(const kw_change_record *record)
{
    kw_change_ladder ladder = kw_change_ladder_of(record);
    bool ends = record->goal == KW_OLD(ALONE) || record->goal == KW_NEW(ALONE);
    return kw_change_ladder_has(ladder, record->place) &&
           (record->writers == KW_CHANGE_ONE_WRITER ||
            (record->atomics ? ends : kw_change_ladder_has(ladder, record->goal)));
}

/* The members of a change that is under way. */
static bool
parse_change(JsonObject *from, kw_arena *arena, kw_change_record *to, size_t *count)
{
    *count += kw_change_of_change.count;
    return parse_members(from, &kw_change_of_change, arena, to) &&
           parse_several_writers(from, arena, to, count) && parse_parts(from, arena, to, count) &&
           parse_atomics(from, arena, to, count) && parse_share(from, arena, to, count) && has_places(to);
}

static bool
parse_record(JsonNode *node, kw_arena *arena, kw_change_record *to)
{
    JsonObject *from = JSON_NODE_HOLDS_OBJECT(node) ? json_node_get_object(node) : NULL;
    size_t count = kw_change_of_record.count;
    *to = (kw_change_record){
        .author = "", .reason = "", .example = "", .holder = "", .old = {.store_table = ""}};
    to->old_given = to->old;
    return from && parse_members(from, &kw_change_of_record, arena, to) && to->table[0] && to->path[0] &&
           (!to->under_way || parse_change(from, arena, to, &count)) && json_object_get_size(from) == count;
}

/* True if an earlier record has the same table and one of the same paths as the last record. */
static bool
repeats_earlier_path(const kw_change_record *records, size_t last)
{
    for (size_t i = 0; i < kw_change_paths_count(&records[last]); i++)
        if (kw_changes_find(records, last, records[last].table, kw_change_path_name(&records[last], i)))
            return true;
    return false;
}

static bool
parse_records(JsonArray *array, kw_arena *arena, kw_change_record **ret_records, size_t *ret_count)
{
    guint count = array ? json_array_get_length(array) : 0;
    if (!array || count > KW_CHANGES_MAX)
        return false;
    kw_change_record *records = KW_ARENA_ARRAY(arena, kw_change_record, count);
    for (guint i = 0; i < count; i++)
        if (!parse_record(json_array_get_element(array, i), arena, &records[i]) ||
            repeats_earlier_path(records, i))
            return false;
    *ret_records = records;
    *ret_count = count;
    return true;
}

bool
kw_changes_parse(kw_bytes cell, kw_arena *arena, kw_change_record **ret_records, size_t *ret_count,
                 kw_error *ret_error)
{
    g_autoptr(JsonParser) parser = json_parser_new_immutable();
    if (cell.size == 0) {
        *ret_records = NULL;
        *ret_count = 0;
        return true;
    }
    return (cell.size <= KW_CHANGES_BYTES_MAX &&
            parse_records(kw_json_array(parser, cell), arena, ret_records, ret_count)) ||
           kw_error_set(
               ret_error, KW_CORRUPT,
               "the catalog's records of changes cannot be read: they are damaged, or another version "
               "of Keyway has written them; end the changes with that version: %s",
               kw_show(cell).text);
}
