/* Prints records of changes as JSON; see record_members.h. */
#include "change/record_members.h"

#include <json-glib/json-glib.h>

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
print_paths(JsonBuilder *to, const kw_change_record *record)
{
    json_builder_begin_array(to);
    for (size_t i = 0; i < record->more_count; i++) {
        json_builder_begin_object(to);
        json_builder_set_member_name(to, "path");
        print_text(to, record->more[i].path);
        json_builder_set_member_name(to, "rule");
        print_rule(to, &record->more[i].rule);
        json_builder_end_object(to);
    }
    json_builder_end_array(to);
}

static void
print_value(JsonBuilder *to, kw_change_form as, const kw_change_record *record, size_t offset,
            kw_arena *arena)
{
    const void *value = (const char *)record + offset;
    switch (as) {
    case KW_CHANGE_TEXT:
        print_text(to, *(const char *const *)value);
        break;
    case KW_CHANGE_FLAG:
        json_builder_add_boolean_value(to, *(const bool *)value);
        break;
    case KW_CHANGE_COUNT:
        json_builder_add_int_value(to, (gint64)MIN(*(const uint64_t *)value, (uint64_t)INT64_MAX));
        break;
    case KW_CHANGE_NUMBER:
        json_builder_add_int_value(to, *(const int64_t *)value);
        break;
    case KW_CHANGE_BYTES:
        print_bytes(to, *(const kw_bytes *)value);
        break;
    case KW_CHANGE_RULE:
        print_rule(to, value);
        break;
    case KW_CHANGE_VERSION_NAME:
        print_version_name(to, value, arena);
        break;
    case KW_CHANGE_PLACE:
        json_builder_add_string_value(to, kw_change_place_name(*(const kw_change_place *)value));
        break;
    case KW_CHANGE_WRITERS:
        json_builder_add_string_value(to, kw_change_writers_names.names[*(const kw_change_writers *)value]);
        break;
    case KW_CHANGE_PASS:
        json_builder_add_string_value(to, kw_change_pass_names.names[*(const kw_change_pass *)value]);
        break;
    case KW_CHANGE_PATHS:
        print_paths(to, record);
        break;
    }
}

static void
print_members(JsonBuilder *to, const kw_change_group *group, const kw_change_record *record, kw_arena *arena)
{
    for (size_t i = 0; i < group->count; i++) {
        json_builder_set_member_name(to, group->members[i].name);
        print_value(to, group->members[i].form, record, group->members[i].offset, arena);
    }
}

static bool
has_parts(const kw_change_record *record)
{
    return record->under_way && (record->adds || record->part > 0);
}

static void
print_record(JsonBuilder *to, const kw_change_record *record, kw_arena *arena)
{
    json_builder_begin_object(to);
    print_members(to, &kw_change_of_record, record, arena);
    if (record->under_way)
        print_members(to, &kw_change_of_change, record, arena);
    if (record->under_way && record->writers == KW_CHANGE_SEVERAL_WRITERS)
        print_members(to, &kw_change_of_several_writers, record, arena);
    if (has_parts(record))
        print_members(to, &kw_change_of_parts, record, arena);
    if (record->under_way && record->atomics)
        print_members(to, &kw_change_of_atomics, record, arena);
    if (record->under_way && record->share_percent > 0)
        print_members(to, &kw_change_of_share, record, arena);
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
                            "the records of changes of tables have %zu paths and %zu bytes, and at most "
                            "%d paths and %zu bytes can be written; run keyway forget for tables that are no "
                            "longer used",
                            count, ret_cell->size, KW_CHANGES_MAX, KW_CHANGES_BYTES_MAX);
    return kw_changes_parse(*ret_cell, arena, &read, &read_count, ret_error);
}
