/* Creating and dropping tables: each is a short sequence of calls.
 *
 *   create: tableExists --yes--> created = false
 *               '--no--> [listNamespaces --> createNamespace when missing] --> createTable
 *   drop:   disableTable (a disabled table is no error) --> deleteTable
 *
 * createTable returns when the table can be used. Calls that change something are not sent twice; if the
 * reply to createTable is lost, the table may exist.
 */
#include "store/hbase/handle.h"
#include "store/hbase/hbase.h"
#include "store/hbase/thrift2/convert.h"

#include "base/metrics.h"
#include "store/check.h"

#include <string.h>

#define ADMIN_MS 120000

typedef struct table_op {
    kw_hbase_call call;
    kw_hbase_handle *handle;
    kw_arena *arena; /* contains this struct */
    kw_hb_TTableName name;
    const kw_table_spec *spec;
    kw_create_done created;
    kw_simple_done dropped;
    void *user;
} table_op;

static table_op *
op_new(kw_store_handle *handle, kw_bytes table, kw_deadline deadline, void *user)
{
    kw_arena *arena = kw_arena_new();
    table_op *op = KW_ARENA_NEW(arena, table_op);
    op->handle = kw_hbase_handle_of(handle);
    op->arena = arena;
    op->user = user;
    op->call.table = table;
    op->call.deadline = deadline == KW_DEADLINE_NONE ? kw_deadline_in_ms(ADMIN_MS) : deadline;
    op->call.user = op;
    kw_hbase_to_table_name(table, &op->name);
    return op;
}

static void
start_call(table_op *op, kw_hb_method method, const void *args, bool changes, kw_hbase_done done)
{
    op->call.method = method;
    op->call.args = args;
    op->call.changes = changes;
    op->call.repeatable = !changes;
    op->call.done = done;
    kw_hbase_pool_start(&op->handle->pool, &op->call);
}

/* --- create ----------------------------------------------------------------------------------- */

static void
finish_create(table_op *op, bool created, const kw_error *error)
{
    kw_create_done done = op->created;
    void *user = op->user;
    kw_arena_free(op->arena);
    if (error)
        kw_metrics_add(KW_METRIC_store_errors, 1);
    done(user, created, error);
}

static int32_t
choice(const char *value, const char *const *names, const int32_t *numbers)
{
    while (strcmp(value, *names) != 0) {
        names++;
        numbers++;
        g_assert(*names); /* kw_store_handle_create_table checks the values */
    }
    return *numbers;
}

static void
set_choices(const kw_family_spec *from, kw_hb_TColumnFamilyDescriptor *to)
{
    to->has_compressionType = from->compression != NULL;
    if (from->compression)
        to->compressionType =
            choice(from->compression, kw_hbase_compressions.names, kw_hbase_compressions.numbers);
    to->has_bloomnFilterType = from->bloom_filter != NULL;
    if (from->bloom_filter)
        to->bloomnFilterType = choice(from->bloom_filter, kw_hbase_blooms.names, kw_hbase_blooms.numbers);
    to->has_dataBlockEncoding = from->block_encoding != NULL;
    if (from->block_encoding)
        to->dataBlockEncoding =
            choice(from->block_encoding, kw_hbase_encodings.names, kw_hbase_encodings.numbers);
}

static void
set_settings(kw_arena *arena, const kw_family_spec *from, kw_hb_TColumnFamilyDescriptor *to)
{
    size_t bytes = from->settings_count * sizeof *to->attributes.items;
    to->attributes.items = kw_arena_alloc0(arena, bytes);
    to->configuration.items = kw_arena_alloc0(arena, bytes);
    for (size_t i = 0; i < from->settings_count; i++) {
        const kw_family_setting *each = &from->settings[i];
        if (kw_hbase_is_markers_setting(each) || kw_hbase_is_in_memory_setting(each))
            continue;
        uint32_t at = each->configures ? to->configuration.count++ : to->attributes.count++;
        if (each->configures) {
            to->configuration.items[at].key = each->name;
            to->configuration.items[at].value = each->value;
        } else {
            to->attributes.items[at].key = each->name;
            to->attributes.items[at].value = each->value;
        }
    }
    to->has_attributes = to->attributes.count > 0;
    to->has_configuration = to->configuration.count > 0;
}

static void
set_family(kw_arena *arena, const kw_family_spec *from, const kw_hbase_store *store,
           kw_hb_TColumnFamilyDescriptor *to)
{
    *to = (kw_hb_TColumnFamilyDescriptor){.name = kw_bytes_of_text(from->name),
                                          .has_blockSize = from->block_size > 0,
                                          .blockSize = from->block_size,
                                          .has_keepDeletedCells = from->keep_deleted_cells >= 0,
                                          .keepDeletedCells = from->keep_deleted_cells > 0
                                                                  ? KW_HB_TKeepDeletedCells_TRUE
                                                                  : KW_HB_TKeepDeletedCells_FALSE,
                                          .has_maxVersions = true,
                                          .maxVersions = MAX(from->max_versions, 1),
                                          .has_minVersions = from->min_versions > 0,
                                          .minVersions = from->min_versions,
                                          .has_scope = from->replication_scope >= 0,
                                          .scope = from->replication_scope,
                                          .has_timeToLive = from->ttl_seconds > 0,
                                          .timeToLive = from->ttl_seconds,
                                          .has_blockCacheEnabled = from->block_cache >= 0,
                                          .blockCacheEnabled = from->block_cache > 0,
                                          .has_inMemory = from->in_memory >= 0,
                                          .inMemory = from->in_memory > 0};
    set_choices(from, to);
    set_settings(arena, from, to);
    kw_hbase_set_in_memory(arena, from, to);
    kw_hbase_set_markers(arena, MAX(from->markers_ms, kw_hbase_markers_ms(store->settings.late_ms)), to);
}

/* Nonblocking servers close the connection when they receive the frames of frames.c. */
static void
explain_loss(const table_op *op, const kw_hbase_failure *failure, kw_error *ret_error)
{
    *ret_error = failure->error;
    if (failure->kind != KW_HBASE_LOST || op->spec->split_keys_count == 0)
        return;
    kw_error_set(
        ret_error, KW_UNAVAILABLE,
        "the connection to the store was lost while table '%s' was created; a nonblocking Thrift2 server "
        "(-threadedselector, -hsha, -nonblocking) cannot create a table with split keys: if it is one, use "
        "another server type",
        kw_show(op->spec->name).text);
    ret_error->maybe_applied = true;
}

static void
create_done(kw_hbase_call *call, const void *result, const kw_hbase_failure *failure)
{
    (void)result;
    table_op *op = call->user;
    kw_error error;
    if (!failure || failure->kind == KW_HBASE_TABLE_EXISTS) {
        finish_create(op, !failure, NULL);
        return;
    }
    explain_loss(op, failure, &error);
    finish_create(op, false, &error);
}

static void
start_create(table_op *op)
{
    const kw_table_spec *spec = op->spec;
    const kw_hbase_store *store = (const kw_hbase_store *)op->handle->base.store;
    kw_hb_TTableDescriptor *table = KW_ARENA_NEW(op->arena, kw_hb_TTableDescriptor);
    table->tableName = &op->name;
    table->has_columns = true;
    table->columns.count = (uint32_t)spec->families_count;
    table->columns.items = KW_ARENA_ARRAY(op->arena, kw_hb_TColumnFamilyDescriptor, spec->families_count);
    for (size_t i = 0; i < spec->families_count; i++)
        set_family(op->arena, &spec->families[i], store, &table->columns.items[i]);
    kw_hb_THBaseService_createTable_args *args =
        KW_ARENA_NEW(op->arena, kw_hb_THBaseService_createTable_args);
    args->desc = table;
    args->has_splitKeys = spec->split_keys_count != 0;
    args->splitKeys.count = (uint32_t)spec->split_keys_count;
    args->splitKeys.items = KW_ARENA_ARRAY(op->arena, kw_bytes, spec->split_keys_count);
    for (size_t i = 0; i < spec->split_keys_count; i++)
        args->splitKeys.items[i] = spec->split_keys[i];
    start_call(op, KW_HB_THBaseService_createTable, args, true, create_done);
}

static void
namespace_done(kw_hbase_call *call, const void *result, const kw_hbase_failure *failure)
{
    (void)result;
    table_op *op = call->user;
    if (failure && failure->kind != KW_HBASE_NAMESPACE_EXISTS)
        finish_create(op, false, &failure->error);
    else
        start_create(op);
}

static void
namespaces_done(kw_hbase_call *call, const void *result, const kw_hbase_failure *failure)
{
    table_op *op = call->user;
    if (failure) {
        finish_create(op, false, &failure->error);
        return;
    }
    const kw_hb_THBaseService_listNamespaces_result *answer = result;
    for (uint32_t i = 0; i < answer->success.count; i++) {
        if (kw_bytes_equal(answer->success.items[i], op->name.ns)) {
            start_create(op);
            return;
        }
    }
    kw_hb_TNamespaceDescriptor *space = KW_ARENA_NEW(op->arena, kw_hb_TNamespaceDescriptor);
    space->name = op->name.ns;
    kw_hb_THBaseService_createNamespace_args *args =
        KW_ARENA_NEW(op->arena, kw_hb_THBaseService_createNamespace_args);
    args->namespaceDesc = space;
    start_call(op, KW_HB_THBaseService_createNamespace, args, true, namespace_done);
}

static void
exists_done(kw_hbase_call *call, const void *result, const kw_hbase_failure *failure)
{
    table_op *op = call->user;
    static const kw_hb_THBaseService_listNamespaces_args nothing;
    if (failure)
        finish_create(op, false, &failure->error);
    else if (((const kw_hb_THBaseService_tableExists_result *)result)->success)
        finish_create(op, false, NULL);
    else if (op->name.has_ns)
        start_call(op, KW_HB_THBaseService_listNamespaces, &nothing, false, namespaces_done);
    else
        start_create(op);
}

void
kw_hbase_create_table(kw_store_handle *handle, const kw_table_spec *spec, kw_create_done done, void *user)
{
    table_op *op = op_new(handle, spec->name, spec->deadline, user);
    op->spec = spec;
    op->created = done;
    kw_hb_THBaseService_tableExists_args *args =
        KW_ARENA_NEW(op->arena, kw_hb_THBaseService_tableExists_args);
    args->has_tableName = true;
    args->tableName = &op->name;
    start_call(op, KW_HB_THBaseService_tableExists, args, false, exists_done);
}

/* --- drop ------------------------------------------------------------------------------------- */

static void
finish_drop(table_op *op, const kw_error *error)
{
    kw_simple_done done = op->dropped;
    void *user = op->user;
    kw_arena_free(op->arena);
    if (error)
        kw_metrics_add(KW_METRIC_store_errors, 1);
    done(user, error);
}

static void
delete_done(kw_hbase_call *call, const void *result, const kw_hbase_failure *failure)
{
    (void)result;
    finish_drop(call->user, failure ? &failure->error : NULL);
}

static void
disable_done(kw_hbase_call *call, const void *result, const kw_hbase_failure *failure)
{
    (void)result;
    table_op *op = call->user;
    if (failure && failure->kind != KW_HBASE_TABLE_DISABLED) {
        finish_drop(op, &failure->error);
        return;
    }
    kw_hb_THBaseService_deleteTable_args *args =
        KW_ARENA_NEW(op->arena, kw_hb_THBaseService_deleteTable_args);
    args->tableName = &op->name;
    start_call(op, KW_HB_THBaseService_deleteTable, args, true, delete_done);
}

void
kw_hbase_drop_table(kw_store_handle *handle, kw_bytes table, kw_deadline deadline, kw_simple_done done,
                    void *user)
{
    table_op *op = op_new(handle, table, deadline, user);
    op->dropped = done;
    kw_hb_THBaseService_disableTable_args *args =
        KW_ARENA_NEW(op->arena, kw_hb_THBaseService_disableTable_args);
    args->tableName = &op->name;
    start_call(op, KW_HB_THBaseService_disableTable, args, true, disable_done);
}
