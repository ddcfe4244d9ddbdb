/* Records of changes as JSON; see changes.h. A record must have exactly these members with their types: a
 * version of Keyway with other members also has another form of the facts. A record has the members for
 * several writers only if the change has several writers. */
#include "catalog/changes.h"
#include "catalog/json.h"

#include "store/check.h"

#include <stddef.h>
#include <string.h>

typedef enum form {
    TEXT,
    FLAG,
    COUNT,
    NUMBER,
    BYTES,
    RULE,
    VERSION_NAME,
    CHAIN_VERSION,
    WRITERS,
    GOAL,
    PASS
} form;

typedef struct member {
    const char *name;
    form form;
    size_t offset;
} member;

#define MEMBER(kind, name)                                                                                   \
    {                                                                                                        \
#name, kind, offsetof(kw_change_record, name)                                                        \
    }

static const member of_record[] = {
    MEMBER(TEXT, table), MEMBER(TEXT, path), MEMBER(RULE, given), MEMBER(RULE, now), MEMBER(FLAG, under_way),
};

static const member of_change[] = {
    MEMBER(RULE, old),
    MEMBER(RULE, old_given),
    MEMBER(VERSION_NAME, old_version),
    MEMBER(NUMBER, new_version),
    MEMBER(CHAIN_VERSION, version),
    MEMBER(NUMBER, version_at_ms),
    MEMBER(NUMBER, started_ms),
    MEMBER(TEXT, author),
    MEMBER(TEXT, reason),
    MEMBER(FLAG, paused),
    MEMBER(FLAG, completing),
    MEMBER(COUNT, rows_per_second),
    MEMBER(FLAG, copied),
    MEMBER(FLAG, compared),
    MEMBER(COUNT, rows_copied),
    MEMBER(COUNT, rows_compared),
    MEMBER(COUNT, missing),
    MEMBER(COUNT, different),
    MEMBER(COUNT, extra),
    MEMBER(COUNT, repaired),
    MEMBER(COUNT, foreign),
    MEMBER(TEXT, example),
    MEMBER(BYTES, copied_to),
    MEMBER(BYTES, compare_cursor),
};

static const member of_several_writers[] = {
    MEMBER(WRITERS, writers),
    MEMBER(COUNT, step),
    MEMBER(COUNT, rounds),
    MEMBER(NUMBER, set_at_ms),
    MEMBER(GOAL, goal),
    MEMBER(PASS, pass),
    MEMBER(TEXT, holder),
    MEMBER(FLAG, store_order),
    MEMBER(NUMBER, settled_ms),
    MEMBER(NUMBER, swept_ms),
    MEMBER(FLAG, short_round),
    MEMBER(COUNT, work_ppm),
    MEMBER(COUNT, work_rows_per_second),
    MEMBER(COUNT, work_left_ms),
};

static const char *const writers_names[] = {
    [KW_CHANGE_ONE_WRITER] = "one",
    [KW_CHANGE_SEVERAL_WRITERS] = "several",
};

static const char *const goal_names[] = {
    [KW_CHANGE_GOAL_COPIED] = "copied",       [KW_CHANGE_GOAL_SWITCHED] = "switched",
    [KW_CHANGE_GOAL_COMPLETED] = "completed", [KW_CHANGE_GOAL_REVERSED] = "reversed",
    [KW_CHANGE_GOAL_CANCELLED] = "cancelled",
};

static const char *const pass_names[] = {
    [KW_CHANGE_PASS_OLD] = "old",
    [KW_CHANGE_PASS_NEW] = "new",
    [KW_CHANGE_PASS_ENDED] = "ended",
};

const char *
kw_change_goal_name(kw_change_goal goal)
{
    g_assert((unsigned)goal < G_N_ELEMENTS(goal_names));
    return goal_names[goal];
}

/* --- printing -------------------------------------------------------------------------------------- */

static void
print_rule(JsonBuilder *to, const kw_placed_rule *rule)
{
    json_builder_begin_object(to);
    json_builder_set_member_name(to, "layout");
    json_builder_add_int_value(to, rule->layout);
    json_builder_set_member_name(to, "store_table");
    json_builder_add_string_value(to, rule->store_table);
    json_builder_end_object(to);
}

/* Prints a text that can contain bytes of row keys in a form that can be read back. */
static void
print_text(JsonBuilder *to, const char *text)
{
    g_autofree char *valid = g_utf8_make_valid(text, -1);
    json_builder_add_string_value(to, valid);
}

static void
print_bytes(JsonBuilder *to, kw_bytes bytes)
{
    g_autofree char *text = g_base64_encode(bytes.data, bytes.size);
    json_builder_add_string_value(to, text);
}

static void
print_version_name(JsonBuilder *to, const kw_version_name *name, kw_arena *arena)
{
    json_builder_add_string_value(to, name->number > 0 ? kw_arena_text(arena, kw_version_print(name, arena))
                                                       : "");
}

static void
print_value(JsonBuilder *to, form as, const void *value, kw_arena *arena)
{
    switch (as) {
    case TEXT:
        print_text(to, *(const char *const *)value);
        break;
    case FLAG:
        json_builder_add_boolean_value(to, *(const bool *)value);
        break;
    case COUNT:
        json_builder_add_int_value(to, (gint64)MIN(*(const uint64_t *)value, (uint64_t)INT64_MAX));
        break;
    case NUMBER:
        json_builder_add_int_value(to, *(const int64_t *)value);
        break;
    case BYTES:
        print_bytes(to, *(const kw_bytes *)value);
        break;
    case RULE:
        print_rule(to, value);
        break;
    case VERSION_NAME:
        print_version_name(to, value, arena);
        break;
    case CHAIN_VERSION:
        json_builder_add_string_value(to, kw_chain_version_of(*(const kw_chain_id *)value)->name);
        break;
    case WRITERS:
        json_builder_add_string_value(to, writers_names[*(const kw_change_writers *)value]);
        break;
    case GOAL:
        json_builder_add_string_value(to, kw_change_goal_name(*(const kw_change_goal *)value));
        break;
    case PASS:
        json_builder_add_string_value(to, pass_names[*(const kw_change_pass *)value]);
        break;
    }
}

static void
print_members(JsonBuilder *to, const member *members, size_t count, const kw_change_record *record,
              kw_arena *arena)
{
    for (size_t i = 0; i < count; i++) {
        json_builder_set_member_name(to, members[i].name);
        print_value(to, members[i].form, (const char *)record + members[i].offset, arena);
    }
}

static void
print_record(JsonBuilder *to, const kw_change_record *record, kw_arena *arena)
{
    json_builder_begin_object(to);
    print_members(to, of_record, G_N_ELEMENTS(of_record), record, arena);
    if (record->under_way)
        print_members(to, of_change, G_N_ELEMENTS(of_change), record, arena);
    if (record->under_way && record->writers == KW_CHANGE_SEVERAL_WRITERS)
        print_members(to, of_several_writers, G_N_ELEMENTS(of_several_writers), record, arena);
    json_builder_end_object(to);
}

kw_bytes
kw_changes_print(const kw_change_record *records, size_t count, kw_arena *arena)
{
    g_autoptr(JsonBuilder) builder = json_builder_new();
    json_builder_begin_array(builder);
    for (size_t i = 0; i < count; i++)
        print_record(builder, &records[i], arena);
    json_builder_end_array(builder);
    g_autoptr(JsonNode) root = json_builder_get_root(builder);
    g_autofree char *text = json_to_string(root, FALSE);
    return kw_bytes_of_text(kw_arena_text(arena, kw_bytes_of_text(text)));
}

/* --- parsing --------------------------------------------------------------------------------------- */

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

/* g_base64_decode ignores what is not base64, so the text is compared with that of the bytes. */
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
parse_version_name(JsonNode *node, kw_version_name *to)
{
    const char *text = text_in(node);
    kw_error ignored;
    return text && kw_version_parse(kw_bytes_of_text(text), to, &ignored);
}

/* The index of the text among the names; false if it is not one of them. */
static bool
parse_name(JsonNode *node, const char *const *names, size_t count, unsigned *ret_index)
{
    const char *text = text_in(node);
    for (unsigned i = 0; text && i < count; i++) {
        if (!g_str_equal(text, names[i]))
            continue;
        *ret_index = i;
        return true;
    }
    return false;
}

#define PARSE_NAME(names, type)                                                                              \
    (parse_name(node, names, G_N_ELEMENTS(names), &index) && (*(type *)to = (type)index, true))

static bool
parse_value(JsonNode *node, form as, kw_arena *arena, void *to)
{
    unsigned index;
    switch (as) {
    case TEXT:
        return parse_text(node, arena, to);
    case FLAG:
        return parse_flag(node, to);
    case COUNT:
        return parse_count(node, to);
    case NUMBER:
        return parse_number(node, to);
    case BYTES:
        return parse_bytes(node, arena, to);
    case RULE:
        return parse_rule(node, arena, to);
    case VERSION_NAME:
        return parse_version_name(node, to);
    case CHAIN_VERSION:
        return kw_chain_find(text_in(node), to);
    case WRITERS:
        return PARSE_NAME(writers_names, kw_change_writers);
    case GOAL:
        return PARSE_NAME(goal_names, kw_change_goal);
    case PASS:
        return PARSE_NAME(pass_names, kw_change_pass);
    }
    g_assert_not_reached();
}

static bool
parse_members(JsonObject *from, const member *members, size_t count, kw_arena *arena, kw_change_record *to)
{
    for (size_t i = 0; i < count; i++) {
        JsonNode *node = json_object_get_member(from, members[i].name);
        if (!node || !parse_value(node, members[i].form, arena, (char *)to + members[i].offset))
            return false;
    }
    return true;
}

/* The members of a change that is under way. */
static bool
parse_change(JsonObject *from, kw_arena *arena, kw_change_record *to, size_t *count)
{
    *count += G_N_ELEMENTS(of_change);
    if (!parse_members(from, of_change, G_N_ELEMENTS(of_change), arena, to))
        return false;
    if (!json_object_has_member(from, "writers"))
        return true;
    *count += G_N_ELEMENTS(of_several_writers);
    return parse_members(from, of_several_writers, G_N_ELEMENTS(of_several_writers), arena, to) &&
           to->writers == KW_CHANGE_SEVERAL_WRITERS && to->step > 0;
}

static bool
parse_record(JsonNode *node, kw_arena *arena, kw_change_record *to)
{
    JsonObject *from = JSON_NODE_HOLDS_OBJECT(node) ? json_node_get_object(node) : NULL;
    size_t count = G_N_ELEMENTS(of_record);
    *to = (kw_change_record){
        .author = "", .reason = "", .example = "", .holder = "", .old = {.store_table = ""}};
    to->old_given = to->old;
    return from && parse_members(from, of_record, count, arena, to) && to->table[0] && to->path[0] &&
           (!to->under_way || parse_change(from, arena, to, &count)) && json_object_get_size(from) == count;
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
            kw_changes_find(records, i, records[i].table, records[i].path))
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
            parse_records(kw_catalog_json_array(parser, cell), arena, ret_records, ret_count)) ||
           kw_error_set(ret_error, KW_CORRUPT, "the catalog's records of changes cannot be read: %s",
                        kw_show(cell).text);
}

/* Refuses records that could not be read back. */
bool
kw_changes_print_to_put(const kw_change_record *records, size_t count, kw_arena *arena, kw_bytes *ret_cell,
                        kw_error *ret_error)
{
    kw_change_record *read;
    size_t read_count;
    *ret_cell = kw_changes_print(records, count, arena);
    if (count > KW_CHANGES_MAX || ret_cell->size > KW_CHANGES_BYTES_MAX)
        return kw_error_set(ret_error, KW_REFUSED,
                            "the records of changes of key rules have %zu paths and %zu bytes, and at most "
                            "%d paths and %zu bytes can be written; run keyway forget for tables that are no "
                            "longer used",
                            count, ret_cell->size, KW_CHANGES_MAX, KW_CHANGES_BYTES_MAX);
    return kw_changes_parse(*ret_cell, arena, &read, &read_count, ret_error);
}
