/* createTable: creates the store tables of a table's paths, or of one path. The caller can override the
 * policy's families and splits. */
#include "schema/progress.h"
#include "service/methods.h"
#include "service/methods/convert.h"
#include "service/show.h"
#include "verb/verb.h"

/* Registers the created tables in the catalog, so that keyway forget is allowed to empty them. */
static void
note_created(const kw_exchange *exchange, const kw_created_table *tables, size_t count)
{
    const kw_service_settings *settings = &exchange->worker->service->settings;
    const char **names = KW_ARENA_ARRAY(exchange->call.arena, const char *, count);
    size_t created = 0;
    for (size_t i = 0; i < count; i++)
        if (tables[i].created)
            names[created++] = kw_arena_text(exchange->call.arena, tables[i].store_table);
    if (created && settings->created)
        settings->created(settings->user, names, created);
}

static void
reply_created(void *user, const kw_created_table *tables, size_t count, const kw_error *error)
{
    kw_exchange *exchange = user;
    if (error) {
        kw_exchange_fail(exchange, error);
        return;
    }
    note_created(exchange, tables, count);
    kw_arena *arena = exchange->call.arena;
    kw_api_Admin_createTable_result result = {.has_success = true};
    result.success.items = KW_ARENA_ARRAY(arena, kw_api_CreatedTable, count);
    result.success.count = (uint32_t)count;
    for (size_t i = 0; i < count; i++) {
        kw_api_CreatedTable *out = &result.success.items[i];
        out->store_table = tables[i].store_table;
        out->created = tables[i].created;
        out->split_keys.count = (uint32_t)tables[i].split_keys_count;
        out->split_keys.items = KW_ARENA_ARRAY(arena, kw_bytes, tables[i].split_keys_count);
        for (size_t at = 0; at < tables[i].split_keys_count; at++)
            out->split_keys.items[at] = tables[i].split_keys[at];
    }
    kw_exchange_reply(exchange, &result);
}

static const char *
text_of(bool given, kw_bytes text, kw_arena *arena)
{
    return given ? kw_arena_text(arena, text) : NULL;
}

static int8_t
switch_of(bool given, bool on)
{
    return given ? (int8_t)on : -1;
}

static bool
not_negative(const kw_api_FamilyOptions *from, kw_error *ret_error)
{
    const struct {
        const char *name;
        int32_t value;
    } sizes[] = {{"ttl_seconds", from->ttl_seconds},
                 {"max_versions", from->max_versions},
                 {"min_versions", from->min_versions},
                 {"block_size", from->block_size},
                 {"replication_scope", from->replication_scope}};
    for (size_t i = 0; i < G_N_ELEMENTS(sizes); i++)
        if (sizes[i].value < 0)
            return kw_error_set(ret_error, KW_INVALID, "family %.*s: %s must not be negative",
                                (int)MIN(from->name.size, (size_t)60), (const char *)from->name.data,
                                sizes[i].name);
    return true;
}

static bool
read_families(kw_arena *arena, const kw_api_CreateOptions *options, kw_create_request *request,
              kw_error *ret_error)
{
    size_t count = options->families.count;
    kw_family_spec *families = KW_ARENA_ARRAY(arena, kw_family_spec, count);
    for (size_t i = 0; i < count; i++) {
        const kw_api_FamilyOptions *from = &options->families.items[i];
        if (from->name.size == 0)
            return kw_error_set(ret_error, KW_INVALID, "families: a family without a name");
        if (!not_negative(from, ret_error))
            return false;
        families[i] = (kw_family_spec){
            .name = kw_arena_text(arena, from->name),
            .compression = text_of(from->has_compression, from->compression, arena),
            .bloom_filter = text_of(from->has_bloom_filter, from->bloom_filter, arena),
            .block_encoding = text_of(from->has_block_encoding, from->block_encoding, arena),
            .ttl_seconds = from->ttl_seconds,
            .max_versions = from->max_versions,
            .min_versions = from->min_versions,
            .block_size = from->block_size,
            .block_cache = switch_of(from->has_block_cache, from->block_cache),
            .in_memory = switch_of(from->has_in_memory, from->in_memory),
            .keep_deleted_cells = switch_of(from->has_keep_deleted_cells, from->keep_deleted_cells),
            .replication_scope = from->has_replication_scope ? from->replication_scope : -1};
    }
    request->families = count ? families : NULL;
    request->families_count = count;
    return true;
}

static bool
read_sample(kw_exchange *exchange, const kw_api_SplitOptions *splits, kw_create_request *request,
            kw_error *ret_error)
{
    size_t count = splits->sample.count;
    kw_record *records = KW_ARENA_ARRAY(exchange->call.arena, kw_record, count);
    for (size_t i = 0; i < count; i++)
        if (!kw_convert_record(request->table, &splits->sample.items[i], exchange->call.arena, &records[i],
                               ret_error))
            return kw_error_prefix(ret_error, "splits.sample, record %zu", i + 1);
    request->sample = records;
    request->sample_count = count;
    return true;
}

static bool
read_splits(kw_exchange *exchange, const kw_api_SplitOptions *splits, kw_create_request *request,
            kw_error *ret_error)
{
    int ways = splits->has_keys + splits->has_algorithm + splits->has_sample;
    bool wants_regions = splits->has_algorithm || splits->has_sample;
    if (ways != 1)
        return kw_error_set(ret_error, KW_INVALID, "splits: set exactly one of keys, algorithm and sample");
    if (wants_regions && (!splits->has_regions || splits->regions < 2))
        return kw_error_set(ret_error, KW_INVALID, "splits: regions must be at least 2 with %s",
                            splits->has_algorithm ? "algorithm" : "sample");
    request->has_splits = true;
    request->split_keys = splits->keys.items;
    request->split_keys_count = splits->keys.count;
    request->split_algorithm = text_of(splits->has_algorithm, splits->algorithm, exchange->call.arena);
    request->split_regions = wants_regions ? (uint32_t)splits->regions : 0;
    return !splits->has_sample || read_sample(exchange, splits, request, ret_error);
}

static bool
read_path(const kw_api_CreateOptions *options, kw_create_request *request, kw_error *ret_error)
{
    char shown[KW_SHOWN_MAX];
    request->path = kw_table_find_path(request->table, options->path);
    return request->path >= 0 || kw_error_set(ret_error, KW_NOT_FOUND, "table %s has no path %s",
                                              request->table->name, kw_show_name(options->path, shown));
}

static bool
read_options(kw_exchange *exchange, const kw_api_CreateOptions *options, kw_create_request *request,
             kw_error *ret_error)
{
    request->path = -1;
    if (!options)
        return true;
    request->if_absent = options->has_if_absent && options->if_absent;
    return (!options->has_path || read_path(options, request, ret_error)) &&
           (!options->has_families || read_families(exchange->call.arena, options, request, ret_error)) &&
           (!options->has_splits || read_splits(exchange, options->splits, request, ret_error));
}

void
kw_serve_create_table(kw_exchange *exchange)
{
    const kw_api_Admin_createTable_args *args = exchange->args;
    kw_create_request *request = KW_EXCHANGE_ALLOC(exchange, kw_create_request);
    kw_error error = KW_ERROR_NONE;
    if (kw_exchange_find_table(exchange, args->has_table, args->table, &request->table, &error) &&
        kw_policy_check_served(exchange->call.policy, args->table, &error) &&
        read_options(exchange, args->has_options ? args->options : NULL, request, &error))
        kw_verb_create_table(&exchange->call, request, reply_created, exchange);
    else
        kw_exchange_fail(exchange, &error);
}
