/* Changes of tables: the methods changes and orderChange. See scrub.c for changeDiff. */
#include "lib/client.h"
#include "lib/info.h"

/* --- conversions -------------------------------------------------------------------------------- */

static char *
text_or_empty(const char *text)
{
    return g_strdup(text == NULL ? "" : text);
}

static void
copy_progress(kw_change_status *to, const KeywayChangeStatus *thrift)
{
    to->paused = thrift->paused;
    to->waiting = thrift->waiting;
    to->limit_rows_per_second = thrift->limit_rows_per_second;
    to->share_percent = thrift->__isset_share_percent ? thrift->share_percent : 0;
    to->rows_per_second = thrift->rows_per_second;
    to->progress = thrift->progress;
    to->left_ms = thrift->__isset_left_ms ? thrift->left_ms : -1;
    to->copied = thrift->copied;
    to->compared = thrift->compared;
    to->rows_copied = thrift->rows_copied;
    to->rows_compared = thrift->rows_compared;
    to->missing = thrift->missing;
    to->different = thrift->different;
    to->extra = thrift->extra;
    to->repaired = thrift->repaired;
    to->foreign_rows = thrift->foreign_rows;
    to->example = text_or_empty(thrift->example);
}

static gpointer
status_item(gconstpointer item)
{
    const KeywayChangeStatus *thrift = item;
    kw_change_status *to = g_new0(kw_change_status, 1);

    to->table = text_or_empty(thrift->table);
    to->path = text_or_empty(thrift->path);
    to->version = text_or_empty(thrift->version);
    to->phase = text_or_empty(thrift->phase);
    to->next_commands = text_or_empty(thrift->next_commands);
    to->author = text_or_empty(thrift->author);
    to->reason = text_or_empty(thrift->reason);
    to->policy_version = thrift->policy_version;
    to->started_at = thrift->started_at;
    to->version_at = thrift->version_at;
    to->old_layout = thrift->old_layout;
    to->layout = thrift->layout;
    to->old_store_table = text_or_empty(thrift->old_store_table);
    to->store_table = text_or_empty(thrift->store_table);
    to->reads_new = thrift->reads_new;
    to->cursors_until = thrift->__isset_cursors_until ? thrift->cursors_until : 0;
    to->problem = text_or_empty(thrift->problem);
    to->goal = text_or_empty(thrift->goal);
    to->holder = text_or_empty(thrift->holder);
    to->added_paths = kw_texts_from_thrift(thrift->added_paths);
    to->dropped_paths = kw_texts_from_thrift(thrift->dropped_paths);
    copy_progress(to, thrift);
    return to;
}

static void
status_free_item(gpointer item)
{
    kw_change_status_free(item);
}

void
kw_change_status_free(kw_change_status *change)
{
    if (change == NULL)
        return;
    g_free(change->table);
    g_free(change->path);
    g_free(change->version);
    g_free(change->phase);
    g_free(change->next_commands);
    g_free(change->author);
    g_free(change->reason);
    g_free(change->old_store_table);
    g_free(change->store_table);
    g_free(change->example);
    g_free(change->problem);
    g_free(change->goal);
    g_free(change->holder);
    g_strfreev(change->added_paths);
    g_strfreev(change->dropped_paths);
    g_free(change);
}

static GObject *
options_to_thrift(kw_change_action action, const kw_change_options *options)
{
    KeywayChangeOptions *thrift = g_object_new(KEYWAY_TYPE_CHANGE_OPTIONS, NULL);

    if (options == NULL)
        return (GObject *)thrift;
    thrift->expected_version = g_strdup(options->expected_version);
    thrift->__isset_expected_version = options->expected_version != NULL;
    thrift->rows_per_second = options->rows_per_second;
    thrift->__isset_rows_per_second = action == KW_CHANGE_THROTTLE && options->rows_per_second >= 0;
    thrift->share_percent = MAX(options->share_percent, 0);
    thrift->__isset_share_percent = options->share_percent != 0;
    thrift->leave_undecodable = options->leave_undecodable;
    thrift->__isset_leave_undecodable = options->leave_undecodable;
    thrift->expire_cursors = options->expire_cursors;
    thrift->__isset_expire_cursors = options->expire_cursors;
    return (GObject *)thrift;
}

/* --- calls -------------------------------------------------------------------------------------- */

GPtrArray *
kw_client_changes(kw_client *client, const char *table, GError **error)
{
    g_autoptr(GPtrArray) changes = g_ptr_array_new_with_free_func(g_object_unref);
    kw_client_call call;
    bool ok;

    if (!kw_client_call_begin(&call, client, "changes", KW_RESULT_LIST, 0, error))
        return NULL;
    ok = keyway_admin_client_changes(call.admin, &changes, table == NULL ? "" : table, &call.thrown,
                                     &call.failure);
    return kw_client_call_end(&call, ok, KW_READS, error)
               ? kw_map_array(changes, status_item, status_free_item)
               : NULL;
}

GPtrArray *
kw_client_order_change(kw_client *client, const char *table, kw_change_action action,
                       const kw_change_options *options, GError **error)
{
    g_autoptr(GObject) thrift = options_to_thrift(action, options);
    g_autoptr(GPtrArray) changes = g_ptr_array_new_with_free_func(g_object_unref);
    kw_client_call call;
    bool ok;

    if (!kw_client_call_begin(&call, client, "orderChange", KW_RESULT_LIST, 0, error))
        return NULL;
    ok = keyway_admin_client_order_change(call.admin, &changes, table, (KeywayChangeAction)action,
                                          (KeywayChangeOptions *)thrift, &call.thrown, &call.failure);
    return kw_client_call_end(&call, ok, KW_WRITES, error)
               ? kw_map_array(changes, status_item, status_free_item)
               : NULL;
}
