/* The calls tables and describe, and the calls of the Admin service that have no file of their own. */
#include "lib/client.h"
#include "lib/info.h"
#include "lib/query.h"
#include "lib/record.h"

#define DAY_MS 86400000

char **
kw_client_tables(kw_client *client, GError **error)
{
    g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
    kw_client_call call;
    bool ok;

    if (!kw_client_call_begin(&call, client, "tables", KW_RESULT_LIST, 0, error))
        return NULL;
    ok = keyway_data_client_tables(call.data, &names, &call.thrown, &call.failure);
    if (!kw_client_call_end(&call, ok, KW_READS, error))
        return NULL;
    g_ptr_array_add(names, NULL);
    return (char **)g_ptr_array_steal(names, NULL);
}

kw_table_info *
kw_client_describe(kw_client *client, const char *table, GError **error)
{
    g_autoptr(GObject) info = g_object_new(KEYWAY_TYPE_TABLE_INFO, NULL);
    kw_client_call call;
    bool ok;

    if (!kw_client_call_begin(&call, client, "describe", KW_RESULT_STRUCT, 0, error))
        return NULL;
    ok =
        keyway_data_client_describe(call.data, (KeywayTableInfo **)&info, table, &call.thrown, &call.failure);
    if (!kw_client_call_end(&call, ok, KW_READS, error))
        return NULL;
    return kw_table_info_from_thrift((KeywayTableInfo *)info);
}

kw_explanation *
kw_client_explain(kw_client *client, const kw_query *query, GError **error)
{
    g_autoptr(GObject) explanation = g_object_new(KEYWAY_TYPE_EXPLANATION, NULL);
    KeywayQuery *thrift = kw_query_thrift(query);
    kw_client_call call;
    bool ok;

    if (!kw_client_call_begin(&call, client, "explain", KW_RESULT_STRUCT, thrift->deadline_ms, error))
        return NULL;
    ok = keyway_admin_client_explain(call.admin, (KeywayExplanation **)&explanation, thrift, &call.thrown,
                                     &call.failure);
    if (!kw_client_call_end(&call, ok, KW_READS, error))
        return NULL;
    return kw_explanation_from_thrift((KeywayExplanation *)explanation);
}

kw_explanation *
kw_client_explain_put(kw_client *client, const char *table, const kw_record *record, GError **error)
{
    g_autoptr(GObject) explanation = g_object_new(KEYWAY_TYPE_EXPLANATION, NULL);
    kw_client_call call;
    bool ok;

    if (!kw_client_call_begin(&call, client, "explainPut", KW_RESULT_STRUCT, 0, error))
        return NULL;
    ok = keyway_admin_client_explain_put(call.admin, (KeywayExplanation **)&explanation, table,
                                         kw_record_table(record), &call.thrown, &call.failure);
    if (!kw_client_call_end(&call, ok, KW_READS, error))
        return NULL;
    return kw_explanation_from_thrift((KeywayExplanation *)explanation);
}

kw_policy_info *
kw_client_policy(kw_client *client, GError **error)
{
    g_autoptr(GObject) policy = g_object_new(KEYWAY_TYPE_POLICY_INFO, NULL);
    kw_client_call call;
    bool ok;

    if (!kw_client_call_begin(&call, client, "policy", KW_RESULT_STRUCT, 0, error))
        return NULL;
    ok = keyway_admin_client_policy(call.admin, (KeywayPolicyInfo **)&policy, &call.thrown, &call.failure);
    if (!kw_client_call_end(&call, ok, KW_READS, error))
        return NULL;
    return kw_policy_info_from_thrift((KeywayPolicyInfo *)policy);
}

GPtrArray *
kw_client_check(kw_client *client, const char *text, GError **error)
{
    g_autoptr(GPtrArray) problems = g_ptr_array_new_with_free_func(g_object_unref);
    kw_client_call call;
    bool ok;

    if (!kw_client_call_begin(&call, client, "check", KW_RESULT_LIST, 0, error))
        return NULL;
    ok = keyway_admin_client_check(call.admin, &problems, text, &call.thrown, &call.failure);
    return kw_client_call_end(&call, ok, KW_READS, error) ? kw_problems_from_thrift(problems) : NULL;
}

GPtrArray *
kw_client_policy_tables(kw_client *client, const char *text, GError **error)
{
    g_autoptr(GPtrArray) tables = g_ptr_array_new_with_free_func(g_object_unref);
    kw_client_call call;
    bool ok;

    if (!kw_client_call_begin(&call, client, "policyTables", KW_RESULT_LIST, 0, error))
        return NULL;
    ok = keyway_admin_client_policy_tables(call.admin, &tables, text, &call.thrown, &call.failure);
    return kw_client_call_end(&call, ok, KW_READS, error) ? kw_table_infos_from_thrift(tables) : NULL;
}

/* --- creating tables -------------------------------------------------------------------------- */

kw_family_options
kw_family_options_of(const char *name)
{
    return (kw_family_options){.name = name,
                               .ttl_seconds = -1,
                               .max_versions = -1,
                               .min_versions = -1,
                               .block_size = -1,
                               .replication_scope = -1,
                               .block_cache = -1,
                               .in_memory = -1,
                               .keep_deleted_cells = -1};
}

static void
set_text(const char *text, char **place, gboolean *is_set)
{
    *place = g_strdup(text);
    *is_set = text != NULL;
}

static void
set_number(int number, gint32 *place, gboolean *is_set)
{
    *place = number;
    *is_set = number >= 0;
}

static KeywayFamilyOptions *
family_to_thrift(const kw_family_options *family)
{
    KeywayFamilyOptions *thrift = g_object_new(KEYWAY_TYPE_FAMILY_OPTIONS, NULL);

    thrift->name = g_strdup(family->name);
    set_text(family->compression, &thrift->compression, &thrift->__isset_compression);
    set_text(family->bloom_filter, &thrift->bloom_filter, &thrift->__isset_bloom_filter);
    set_text(family->block_encoding, &thrift->block_encoding, &thrift->__isset_block_encoding);
    set_number(family->ttl_seconds, &thrift->ttl_seconds, &thrift->__isset_ttl_seconds);
    set_number(family->max_versions, &thrift->max_versions, &thrift->__isset_max_versions);
    set_number(family->min_versions, &thrift->min_versions, &thrift->__isset_min_versions);
    set_number(family->block_size, &thrift->block_size, &thrift->__isset_block_size);
    set_number(family->replication_scope, &thrift->replication_scope, &thrift->__isset_replication_scope);
    set_number(family->block_cache, &thrift->block_cache, &thrift->__isset_block_cache);
    set_number(family->in_memory, &thrift->in_memory, &thrift->__isset_in_memory);
    set_number(family->keep_deleted_cells, &thrift->keep_deleted_cells, &thrift->__isset_keep_deleted_cells);
    return thrift;
}

static void
splits_to_thrift(const kw_create_options *options, KeywaySplitOptions *thrift)
{
    set_text(options->split_algorithm, &thrift->algorithm, &thrift->__isset_algorithm);
    thrift->regions = options->regions;
    thrift->__isset_regions = options->regions != 0;
    thrift->__isset_keys = options->split_keys != NULL;
    for (guint i = 0; options->split_keys != NULL && i < options->split_keys->len; i++)
        g_ptr_array_add(thrift->keys, kw_bytes_to_thrift(options->split_keys->pdata[i]));
    thrift->__isset_sample = options->sample != NULL;
    g_ptr_array_set_free_func(thrift->sample, (GDestroyNotify)g_hash_table_unref);
    for (guint i = 0; options->sample != NULL && i < options->sample->len; i++)
        g_ptr_array_add(thrift->sample, kw_record_ref(options->sample->pdata[i]));
}

static KeywayCreateOptions *
create_options_to_thrift(const kw_create_options *options)
{
    KeywayCreateOptions *thrift = g_object_new(KEYWAY_TYPE_CREATE_OPTIONS, NULL);

    if (options == NULL)
        return thrift;
    set_text(options->path, &thrift->path, &thrift->__isset_path);
    for (gsize i = 0; i < options->families_count; i++)
        g_ptr_array_add(thrift->families, family_to_thrift(&options->families[i]));
    thrift->__isset_families = options->families_count > 0;
    splits_to_thrift(options, thrift->splits);
    thrift->__isset_splits =
        options->split_keys != NULL || options->split_algorithm != NULL || options->sample != NULL;
    thrift->if_absent = options->if_absent;
    thrift->__isset_if_absent = options->if_absent;
    return thrift;
}

GPtrArray *
kw_client_create_table(kw_client *client, const char *table, const kw_create_options *options, GError **error)
{
    g_autoptr(GObject) thrift_options = (GObject *)create_options_to_thrift(options);
    g_autoptr(GPtrArray) created = g_ptr_array_new_with_free_func(g_object_unref);
    kw_client_call call;
    bool ok;

    if (!kw_client_call_begin(&call, client, "createTable", KW_RESULT_LIST, 0, error))
        return NULL;
    ok = keyway_admin_client_create_table(call.admin, &created, table, (KeywayCreateOptions *)thrift_options,
                                          &call.thrown, &call.failure);
    return kw_client_call_end(&call, ok, KW_WRITES, error) ? kw_created_tables_from_thrift(created) : NULL;
}

char **
kw_client_forget(kw_client *client, const char *table, const char *path, bool drop_rows, GError **error)
{
    g_autoptr(GObject) options = g_object_new(KEYWAY_TYPE_FORGET_OPTIONS, NULL);
    g_autoptr(GPtrArray) emptied = g_ptr_array_new_with_free_func(g_free);
    kw_client_call call;
    bool ok;

    if (path != NULL)
        g_object_set(options, "path", path, NULL);
    if (drop_rows)
        g_object_set(options, "drop_rows", TRUE, NULL);
    if (!kw_client_call_begin(&call, client, "forget", KW_RESULT_LIST, 0, error))
        return NULL;
    ok = keyway_admin_client_forget(call.admin, &emptied, table, (KeywayForgetOptions *)options, &call.thrown,
                                    &call.failure);
    if (!kw_client_call_end(&call, ok, KW_WRITES, error))
        return NULL;
    g_ptr_array_add(emptied, NULL);
    return (char **)g_ptr_array_steal(emptied, NULL);
}

gint64
kw_client_backup(kw_client *client, const char *name, gint32 timeout_ms, GError **error)
{
    g_autoptr(GObject) made = g_object_new(KEYWAY_TYPE_MADE_BACKUP, NULL);
    kw_client_call call;
    bool ok;

    if (!kw_client_call_begin(&call, client, "backup", KW_RESULT_STRUCT,
                              timeout_ms == 0 ? DAY_MS : timeout_ms, error))
        return -1;
    ok =
        keyway_admin_client_backup(call.admin, (KeywayMadeBackup **)&made, name, &call.thrown, &call.failure);
    return kw_client_call_end(&call, ok, KW_WRITES, error) ? ((KeywayMadeBackup *)made)->bytes : -1;
}

bool
kw_client_reload(kw_client *client, GError **error)
{
    kw_client_call call;
    bool ok;

    if (!kw_client_call_begin(&call, client, "reload", KW_RESULT_VOID, 0, error))
        return false;
    ok = keyway_admin_client_reload(call.admin, &call.thrown, &call.failure);
    return kw_client_call_end(&call, ok, KW_WRITES, error);
}

GHashTable *
kw_client_stats(kw_client *client, GError **error)
{
    g_autoptr(GHashTable) stats = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    kw_client_call call;
    bool ok;

    if (!kw_client_call_begin(&call, client, "stats", KW_RESULT_MAP, 0, error))
        return NULL;
    ok = keyway_admin_client_stats(call.admin, &stats, &call.thrown, &call.failure);
    return kw_client_call_end(&call, ok, KW_READS, error) ? g_steal_pointer(&stats) : NULL;
}
