/* Versions of a policy that the catalog keeps: policyApply, policyHistory, policyVersion. */
#include "lib/client.h"
#include "lib/info.h"

/* --- conversions -------------------------------------------------------------------------------- */

static gpointer
version_item(gconstpointer item)
{
    const KeywayPolicyVersion *thrift = item;
    kw_policy_version *copy = g_new0(kw_policy_version, 1);

    copy->version = thrift->version;
    copy->author = g_strdup(thrift->author);
    copy->applied_at = thrift->applied_at;
    copy->reason = g_strdup(thrift->reason);
    copy->text = thrift->__isset_text ? g_strdup(thrift->text) : NULL;
    return copy;
}

static void
version_free_item(gpointer item)
{
    kw_policy_version_free(item);
}

void
kw_policy_version_free(kw_policy_version *version)
{
    if (version == NULL)
        return;
    g_free(version->author);
    g_free(version->reason);
    g_free(version->text);
    g_free(version);
}

static kw_applied_policy *
applied_of(const KeywayAppliedPolicy *thrift)
{
    kw_applied_policy *copy = g_new0(kw_applied_policy, 1);

    copy->version = thrift->version;
    copy->plan = g_strdup(thrift->plan);
    copy->refused = thrift->refused;
    copy->changed = thrift->changed;
    copy->copied_tables = kw_texts_from_thrift(thrift->copied_tables);
    if (thrift->__isset_copy_guess && thrift->copy_guess != NULL) {
        copy->copy_reads = thrift->copy_guess->reads;
        copy->copy_wait_ms = thrift->copy_guess->wait_ms;
        copy->copy_rows_per_second = thrift->copy_guess->rows_per_second;
        copy->copy_rows_per_second_beside_callers = thrift->copy_guess->rows_per_second_beside_callers;
    }
    return copy;
}

void
kw_applied_policy_free(kw_applied_policy *applied)
{
    if (applied == NULL)
        return;
    g_free(applied->plan);
    g_strfreev(applied->copied_tables);
    g_free(applied);
}

static GObject *
options_to_thrift(const kw_apply_options *options)
{
    KeywayApplyOptions *thrift = g_object_new(KEYWAY_TYPE_APPLY_OPTIONS, NULL);

    if (options == NULL)
        return (GObject *)thrift;
    thrift->reason = g_strdup(options->reason);
    thrift->__isset_reason = options->reason != NULL;
    thrift->dry_run = options->dry_run;
    thrift->__isset_dry_run = options->dry_run;
    thrift->import_file = options->import_file;
    thrift->__isset_import_file = options->import_file;
    thrift->only_writer = options->only_writer;
    thrift->__isset_only_writer = options->only_writer;
    return (GObject *)thrift;
}

/* --- calls -------------------------------------------------------------------------------------- */

kw_applied_policy *
kw_client_policy_apply(kw_client *client, const char *text, gint64 expected_version,
                       const kw_apply_options *options, GError **error)
{
    g_autoptr(GObject) thrift_options = options_to_thrift(options);
    g_autoptr(GObject) applied = g_object_new(KEYWAY_TYPE_APPLIED_POLICY, NULL);
    kw_client_call call;
    bool ok;

    if (!kw_client_call_begin(&call, client, "policyApply", KW_RESULT_STRUCT, 0, error))
        return NULL;
    ok =
        keyway_admin_client_policy_apply(call.admin, (KeywayAppliedPolicy **)&applied, text, expected_version,
                                         (KeywayApplyOptions *)thrift_options, &call.thrown, &call.failure);
    if (!kw_client_call_end(&call, ok, KW_WRITES, error))
        return NULL;
    return applied_of((KeywayAppliedPolicy *)applied);
}

GPtrArray *
kw_client_policy_history(kw_client *client, gint64 before, gint32 limit, GError **error)
{
    g_autoptr(GPtrArray) versions = g_ptr_array_new_with_free_func(g_object_unref);
    kw_client_call call;
    bool ok;

    if (!kw_client_call_begin(&call, client, "policyHistory", KW_RESULT_LIST, 0, error))
        return NULL;
    ok =
        keyway_admin_client_policy_history(call.admin, &versions, before, limit, &call.thrown, &call.failure);
    return kw_client_call_end(&call, ok, KW_READS, error)
               ? kw_map_array(versions, version_item, version_free_item)
               : NULL;
}

kw_policy_version *
kw_client_policy_version(kw_client *client, gint64 version, GError **error)
{
    g_autoptr(GObject) found = g_object_new(KEYWAY_TYPE_POLICY_VERSION, NULL);
    kw_client_call call;
    bool ok;

    if (!kw_client_call_begin(&call, client, "policyVersion", KW_RESULT_STRUCT, 0, error))
        return NULL;
    ok = keyway_admin_client_policy_version(call.admin, (KeywayPolicyVersion **)&found, version, &call.thrown,
                                            &call.failure);
    return kw_client_call_end(&call, ok, KW_READS, error) ? version_item(found) : NULL;
}

kw_policy_version *
kw_client_policy_in_effect(kw_client *client, gint64 version, GError **error)
{
    g_autoptr(GObject) found = g_object_new(KEYWAY_TYPE_POLICY_VERSION, NULL);
    kw_client_call call;
    bool ok;

    if (!kw_client_call_begin(&call, client, "policyInEffect", KW_RESULT_STRUCT, 0, error))
        return NULL;
    ok = keyway_admin_client_policy_in_effect(call.admin, (KeywayPolicyVersion **)&found, version,
                                              &call.thrown, &call.failure);
    return kw_client_call_end(&call, ok, KW_READS, error) ? version_item(found) : NULL;
}
