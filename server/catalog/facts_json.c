/* Facts as JSON: one object per table. Members with their default value are omitted, so that the text of a
 * table with a hundred fields has only a few KiB. A reader ignores unknown members, which later releases may
 * add. If rows must be read or written differently because of a new member, a release that ignored it would
 * harm them: such facts get a greater `form`, and a release that does not know the form refuses them. */
#include "base/json.h"
#include "catalog/facts.h"

#include "store/check.h"

/* Not printed: the default. */
#define FORM 1

/* --- printing -------------------------------------------------------------------------------------- */

static void
add_text(JsonBuilder *to, const char *name, const char *text)
{
    if (!text[0])
        return;
    json_builder_set_member_name(to, name);
    json_builder_add_string_value(to, text);
}

static void
add_flag(JsonBuilder *to, const char *name, bool flag)
{
    if (!flag)
        return;
    json_builder_set_member_name(to, name);
    json_builder_add_boolean_value(to, TRUE);
}

/* Numbers that are greater than 0. */
static void
add_number(JsonBuilder *to, const char *name, int64_t number)
{
    if (number <= 0)
        return;
    json_builder_set_member_name(to, name);
    json_builder_add_int_value(to, number);
}

static void
print_field(JsonBuilder *to, const kw_field_facts *field)
{
    json_builder_begin_object(to);
    add_text(to, "name", field->name);
    add_text(to, "type", field->type);
    add_text(to, "encoding", field->encoding);
    add_text(to, "family", field->family);
    add_text(to, "qualifier", field->qualifier);
    add_flag(to, "map", field->map);
    add_flag(to, "key", field->key);
    add_flag(to, "counter", field->counter);
    add_flag(to, "removed", field->removed);
    json_builder_end_object(to);
}

static void
print_placement(JsonBuilder *to, const kw_placement_facts *placement)
{
    json_builder_begin_object(to);
    json_builder_set_member_name(to, "layout");
    json_builder_add_int_value(to, placement->layout);
    add_text(to, "fingerprint", placement->fingerprint);
    add_text(to, "rule", placement->rule);
    add_text(to, "store_table", placement->store_table);
    add_text(to, "state", kw_placement_state_name(placement->state));
    add_flag(to, "verified", placement->verified);
    add_number(to, "checked_rows", placement->checked_rows);
    add_number(to, "checked_at", placement->checked_at_ms);
    add_number(to, "retired_by", placement->retired_by);
    json_builder_end_object(to);
}

static void
print_path(JsonBuilder *to, const kw_path_facts *path)
{
    json_builder_begin_object(to);
    add_text(to, "name", path->name);
    add_flag(to, "association", path->association);
    add_flag(to, "hints", path->hints);
    add_flag(to, "unique", path->unique);
    json_builder_set_member_name(to, "placements");
    json_builder_begin_array(to);
    for (size_t i = 0; i < path->placements_count; i++)
        if (path->placements[i].state != KW_PLACEMENT_ABSENT)
            print_placement(to, &path->placements[i]);
    json_builder_end_array(to);
    json_builder_end_object(to);
}

/* False for a forgotten path, which is omitted. The primary path is always listed. */
static bool
is_listed(const kw_facts *facts, size_t path)
{
    for (size_t i = 0; i < facts->paths[path].placements_count; i++)
        if (facts->paths[path].placements[i].state != KW_PLACEMENT_ABSENT)
            return true;
    return path == 0;
}

static void
print_table(JsonBuilder *to, const kw_facts *facts)
{
    json_builder_begin_object(to);
    add_text(to, "table", facts->table);
    add_text(to, "marker", facts->marker);
    add_text(to, "order", facts->order);
    add_flag(to, "atomics", facts->atomics);
    add_flag(to, "changing_atomics", facts->changing_atomics);
    json_builder_set_member_name(to, "fields");
    json_builder_begin_array(to);
    for (size_t i = 0; i < facts->fields_count; i++)
        print_field(to, &facts->fields[i]);
    json_builder_end_array(to);
    json_builder_set_member_name(to, "paths");
    json_builder_begin_array(to);
    for (size_t i = 0; i < facts->paths_count; i++)
        if (is_listed(facts, i))
            print_path(to, &facts->paths[i]);
    json_builder_end_array(to);
    json_builder_end_object(to);
}

kw_bytes
kw_facts_print(const kw_facts *facts, kw_arena *arena)
{
    g_autoptr(JsonBuilder) builder = json_builder_new();
    print_table(builder, facts);
    g_autoptr(JsonNode) root = json_builder_get_root(builder);
    g_autofree char *text = json_to_string(root, FALSE);
    return kw_bytes_of_text(kw_arena_text(arena, kw_bytes_of_text(text)));
}

/* --- parsing --------------------------------------------------------------------------------------- */

static bool
flag_of(JsonObject *from, const char *name)
{
    JsonNode *node = json_object_get_member(from, name);
    return node && JSON_NODE_HOLDS_VALUE(node) && json_node_get_boolean(node);
}

static int64_t
number_of(JsonObject *from, const char *name)
{
    JsonNode *node = json_object_get_member(from, name);
    return node && JSON_NODE_HOLDS_VALUE(node) ? json_node_get_int(node) : -1;
}

/* The array's objects; false if the member is not an array of objects. */
static bool
objects_of(JsonObject *from, const char *name, kw_arena *arena, JsonObject ***ret_objects, size_t *ret_count)
{
    JsonNode *node = json_object_get_member(from, name);
    if (!node || !JSON_NODE_HOLDS_ARRAY(node))
        return false;
    JsonArray *array = json_node_get_array(node);
    guint count = json_array_get_length(array);
    *ret_objects = KW_ARENA_ARRAY(arena, JsonObject *, count);
    *ret_count = count;
    for (guint i = 0; i < count; i++) {
        JsonNode *element = json_array_get_element(array, i);
        if (!JSON_NODE_HOLDS_OBJECT(element))
            return false;
        (*ret_objects)[i] = json_node_get_object(element);
    }
    return true;
}

static bool
parse_state(const char *name, kw_placement_state *ret_state)
{
    for (kw_placement_state state = KW_PLACEMENT_FILLING; state <= KW_PLACEMENT_FORGETTING; state++) {
        if (!g_str_equal(name, kw_placement_state_name(state)))
            continue;
        *ret_state = state;
        return true;
    }
    return false;
}

static bool
parse_placement(JsonObject *from, kw_arena *arena, kw_placement_facts *to)
{
    int64_t layout = number_of(from, "layout");
    *to = (kw_placement_facts){.layout = (uint32_t)layout,
                               .fingerprint = kw_json_text(from, "fingerprint", arena),
                               .rule = kw_json_text(from, "rule", arena),
                               .store_table = kw_json_text(from, "store_table", arena),
                               .verified = flag_of(from, "verified"),
                               .checked_rows = MAX(number_of(from, "checked_rows"), 0),
                               .checked_at_ms = MAX(number_of(from, "checked_at"), 0),
                               .retired_by = MAX(number_of(from, "retired_by"), 0)};
    return layout >= 0 && layout <= UINT32_MAX && to->fingerprint[0] && to->store_table[0] &&
           parse_state(kw_json_text(from, "state", arena), &to->state);
}

static bool
parse_path(JsonObject *from, kw_arena *arena, kw_path_facts *to)
{
    JsonObject **objects;
    *to = (kw_path_facts){.name = kw_json_text(from, "name", arena),
                          .association = flag_of(from, "association"),
                          .hints = flag_of(from, "hints"),
                          .unique = flag_of(from, "unique")};
    if (!to->name[0] || !objects_of(from, "placements", arena, &objects, &to->placements_count))
        return false;
    to->placements = KW_ARENA_ARRAY(arena, kw_placement_facts, to->placements_count);
    for (size_t i = 0; i < to->placements_count; i++)
        if (!parse_placement(objects[i], arena, &to->placements[i]))
            return false;
    return true;
}

static bool
parse_field(JsonObject *from, kw_arena *arena, kw_field_facts *to)
{
    *to = (kw_field_facts){.name = kw_json_text(from, "name", arena),
                           .type = kw_json_text(from, "type", arena),
                           .encoding = kw_json_text(from, "encoding", arena),
                           .family = kw_json_text(from, "family", arena),
                           .qualifier = kw_json_text(from, "qualifier", arena),
                           .map = flag_of(from, "map"),
                           .key = flag_of(from, "key"),
                           .counter = flag_of(from, "counter"),
                           .removed = flag_of(from, "removed")};
    return to->name[0] && to->type[0] && to->map == g_str_has_prefix(to->type, "map of ");
}

static bool
parse_table(JsonObject *from, kw_arena *arena, kw_facts *to)
{
    JsonObject **fields, **paths;
    *to = (kw_facts){.table = kw_json_text(from, "table", arena),
                     .marker = kw_json_text(from, "marker", arena),
                     .order = kw_json_text(from, "order", arena),
                     .atomics = flag_of(from, "atomics"),
                     .changing_atomics = flag_of(from, "changing_atomics"),
                     .atomics_given = -1};
    if (!to->table[0] || !objects_of(from, "fields", arena, &fields, &to->fields_count) ||
        !objects_of(from, "paths", arena, &paths, &to->paths_count))
        return false;
    to->fields = KW_ARENA_ARRAY(arena, kw_field_facts, to->fields_count);
    to->paths = KW_ARENA_ARRAY(arena, kw_path_facts, to->paths_count);
    bool good = to->paths_count > 0;
    for (size_t i = 0; good && i < to->fields_count; i++)
        good = parse_field(fields[i], arena, &to->fields[i]);
    for (size_t i = 0; good && i < to->paths_count; i++)
        good = parse_path(paths[i], arena, &to->paths[i]);
    return good;
}

bool
kw_facts_parse(kw_bytes text, kw_arena *arena, kw_facts **ret_facts, kw_error *ret_error)
{
    g_autoptr(JsonParser) parser = json_parser_new_immutable();
    kw_facts *facts = KW_ARENA_NEW(arena, kw_facts);
    JsonObject *object = kw_json_object(parser, text);
    int64_t form = object ? number_of(object, "form") : -1;
    if (form > FORM)
        return kw_error_set(
            ret_error, KW_REFUSED,
            "the facts of table %s have form %" G_GINT64_FORMAT
            ", which a later release of Keyway wrote; this one knows form %d; start a release "
            "that knows it",
            kw_show(kw_bytes_of_text(kw_json_text(object, "table", arena))).text, (gint64)form, FORM);
    if (!object || !parse_table(object, arena, facts))
        return kw_error_set(ret_error, KW_CORRUPT, "the facts of a table are damaged: %s",
                            kw_show(text).text);
    *ret_facts = facts;
    return true;
}
