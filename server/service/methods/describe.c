/* describe, tables and policy: describe the policy that is being served. */
#include "service/methods/describe.h"

#include "base/utf8.h"
#include "config/reader.h"
#include "rule/splits.h"
#include "schema/progress.h"
#include "service/methods.h"

static const char *
type_name(kw_field_type type)
{
    switch (type) {
    case KW_FIELD_BOOL:
        return "bool";
    case KW_FIELD_INT:
        return "int";
    case KW_FIELD_DOUBLE:
        return "double";
    case KW_FIELD_STRING:
        return "string";
    case KW_FIELD_BYTES:
        return "bytes";
    case KW_FIELD_TIMESTAMP:
        return "timestamp";
    case KW_FIELD_MAP:
        return "map";
    }
    g_assert_not_reached();
}

static const char *
unit_name(kw_time_unit unit)
{
    switch (unit) {
    case KW_UNIT_S:
        return "s";
    case KW_UNIT_MS:
        return "ms";
    case KW_UNIT_US:
        return "us";
    case KW_UNIT_NS:
        return "ns";
    }
    g_assert_not_reached();
}

/* The qualifier unchanged if it is printable text without backslashes, else with \xNN escapes. */
static const char *
qualifier_text(kw_bytes qualifier, kw_arena *arena)
{
    bool printable = kw_utf8_valid(qualifier);
    for (size_t i = 0; i < qualifier.size; i++)
        printable = printable && !g_ascii_iscntrl(qualifier.data[i]) && qualifier.data[i] != '\\';
    return printable ? kw_arena_text(arena, qualifier) : kw_bytes_to_binary_text(qualifier, arena);
}

static void
describe_field(const kw_field *field, kw_arena *arena, kw_api_FieldInfo *ret_info)
{
    const char *about = field->model->about;
    kw_field_type values = field->entry ? field->entry->type : field->type;
    *ret_info = (kw_api_FieldInfo){.name = kw_bytes_of_text(field->name),
                                   .type = kw_bytes_of_text(type_name(field->type)),
                                   .key = field->identity,
                                   .has_column = field->stored,
                                   .has_unit = values == KW_FIELD_TIMESTAMP,
                                   .unit = kw_bytes_of_text(unit_name(field->unit)),
                                   .has_about = about && about[0],
                                   .about = kw_bytes_of_text(about),
                                   .has_of = field->entry,
                                   .of = kw_bytes_of_text(type_name(values))};
    if (field->stored)
        ret_info->column = kw_bytes_of_text(
            kw_arena_printf(arena, "%.*s:%s%s", (int)field->family.size, (const char *)field->family.data,
                            qualifier_text(field->qualifier, arena), field->entry ? "*" : ""));
}

static void
describe_path(const kw_path *path, kw_arena *arena, kw_api_PathInfo *ret_info)
{
    const kw_layout *layout = path->layout;
    size_t count = kw_layout_component_count(layout);
    uint64_t buckets = kw_layout_buckets(layout);
    const kw_path_progress *progress = path->progress;
    *ret_info = (kw_api_PathInfo){.name = kw_bytes_of_text(path->name),
                                  .store_table = path->store_table,
                                  .layout = (int32_t)kw_layout_number(layout),
                                  .fingerprint = kw_bytes_of_text(kw_layout_fingerprint(layout)),
                                  .buckets = (int64_t)MIN(buckets, (uint64_t)INT64_MAX)};
    ret_info->components.items = KW_ARENA_ARRAY(arena, kw_bytes, count);
    ret_info->components.count = (uint32_t)count;
    ret_info->has_state = ret_info->has_verified = progress->state != NULL;
    ret_info->state = kw_bytes_of_text(progress->state);
    ret_info->verified = progress->verified;
    ret_info->has_association = ret_info->association = path->content == KW_CONTENT_LOCATORS;
    ret_info->has_hints = ret_info->hints = path->content == KW_CONTENT_HINTS;
    ret_info->has_unique = ret_info->unique = path->unique;
    ret_info->has_checked_rows = ret_info->has_checked_at = progress->checked_rows > 0;
    ret_info->checked_rows = progress->checked_rows;
    ret_info->checked_at = progress->checked_at_ms;
    const char *differences = progress->differences;
    ret_info->has_differences = differences != NULL;
    ret_info->differences = kw_bytes_of_text(differences);
    for (size_t i = 0; i < count; i++)
        ret_info->components.items[i] = kw_bytes_of_text(kw_layout_component_text(layout, i));
}

void
kw_describe_table(const kw_table *table, kw_arena *arena, kw_api_TableInfo *ret_info)
{
    const char *about = table->model->about;
    *ret_info = (kw_api_TableInfo){.name = kw_bytes_of_text(table->name),
                                   .has_about = about && about[0],
                                   .about = kw_bytes_of_text(about)};
    const kw_error *why = kw_table_why_not_served(table);
    ret_info->has_not_served = why != NULL;
    ret_info->not_served = why ? kw_bytes_of_text(why->text) : KW_BYTES_NONE;
    ret_info->fields.items = KW_ARENA_ARRAY(arena, kw_api_FieldInfo, table->fields_count);
    ret_info->fields.count = (uint32_t)table->fields_count;
    for (size_t i = 0; i < table->fields_count; i++)
        describe_field(&table->fields[i], arena, &ret_info->fields.items[i]);
    ret_info->paths.items = KW_ARENA_ARRAY(arena, kw_api_PathInfo, table->paths_count);
    ret_info->paths.count = (uint32_t)table->paths_count;
    for (size_t i = 0; i < table->paths_count; i++)
        describe_path(&table->paths[i], arena, &ret_info->paths.items[i]);
}

void
kw_serve_describe(kw_exchange *exchange)
{
    const kw_api_Data_describe_args *args = exchange->args;
    const kw_table *table = NULL;
    kw_error error = KW_ERROR_NONE;
    if (!kw_exchange_find_table(exchange, args->has_table, args->table, &table, &error)) {
        kw_exchange_fail(exchange, &error);
        return;
    }
    kw_api_TableInfo info;
    kw_describe_table(table, exchange->call.arena, &info);
    kw_exchange_reply(exchange, &(kw_api_Data_describe_result){.has_success = true, .success = &info});
}

void
kw_serve_tables(kw_exchange *exchange)
{
    const kw_policy *policy = exchange->call.policy;
    kw_api_Data_tables_result result = {.has_success = true};
    size_t count = kw_policy_table_count(policy);
    result.success.items = KW_ARENA_ARRAY(exchange->call.arena, kw_bytes, count);
    for (size_t i = 0; i < count; i++) {
        kw_bytes name = kw_bytes_of_text(kw_policy_table(policy, i)->name);
        if (kw_exchange_may(exchange, KW_OPERATION_DESCRIBE, name, NULL))
            result.success.items[result.success.count++] = name;
    }
    kw_exchange_reply(exchange, &result);
}

void
kw_serve_policy(kw_exchange *exchange)
{
    const kw_policy *policy = exchange->call.policy;
    kw_arena *arena = exchange->call.arena;
    size_t count = kw_policy_table_count(policy);
    const kw_model *model = kw_exchange_model(exchange);
    g_autofree char *text = kw_model_text_without_secrets(model);
    kw_api_PolicyInfo info = {.text = kw_bytes_of_text(text), .loaded_at = kw_policy_loaded_at_ms(policy)};
    if (model->policy_in_store) {
        info.has_version = info.has_settings = true;
        info.version = kw_policy_version(policy);
        info.settings = info.text;
        info.text = kw_bytes_of_text(model->shared_text);
    }
    info.tables.items = KW_ARENA_ARRAY(arena, kw_api_TableInfo, count);
    info.tables.count = (uint32_t)count;
    for (size_t i = 0; i < count; i++)
        kw_describe_table(kw_policy_table(policy, i), arena, &info.tables.items[i]);
    kw_exchange_reply(exchange, &(kw_api_Admin_policy_result){.has_success = true, .success = &info});
}
