/* Descriptions of tables, and the locations of their regions. */
#include "store/hbase/handle.h"
#include "store/hbase/thrift2/convert.h"

#include "base/metrics.h"
#include "store/check.h"

#include <stdlib.h>

const kw_hbase_choices kw_hbase_compressions = {
    {"NONE", "SNAPPY", "LZ4", "ZSTD", "LZO", "GZ", NULL},
    {KW_HB_TCompressionAlgorithm_NONE, KW_HB_TCompressionAlgorithm_SNAPPY, KW_HB_TCompressionAlgorithm_LZ4,
     KW_HB_TCompressionAlgorithm_ZSTD, KW_HB_TCompressionAlgorithm_LZO, KW_HB_TCompressionAlgorithm_GZ}};
const kw_hbase_choices kw_hbase_blooms = {
    {"NONE", "ROW", "ROWCOL", NULL},
    {KW_HB_TBloomFilterType_NONE, KW_HB_TBloomFilterType_ROW, KW_HB_TBloomFilterType_ROWCOL}};
const kw_hbase_choices kw_hbase_encodings = {
    {"NONE", "PREFIX", "DIFF", "FAST_DIFF", "ROW_INDEX_V1", NULL},
    {KW_HB_TDataBlockEncoding_NONE, KW_HB_TDataBlockEncoding_PREFIX, KW_HB_TDataBlockEncoding_DIFF,
     KW_HB_TDataBlockEncoding_FAST_DIFF, KW_HB_TDataBlockEncoding_ROW_INDEX_V1}};

typedef struct describe_op {
    kw_hbase_call call;
    kw_table_facts *facts; /* its arena contains this struct */
    kw_hb_TTableName name;
    kw_hb_THBaseService_getTableDescriptor_args args;
    kw_table_facts_done done;
    void *user;
} describe_op;

typedef struct regions_op {
    kw_hbase_call call;
    kw_regions *regions; /* its arena contains this struct */
    kw_hb_THBaseService_getAllRegionLocations_args args;
    kw_regions_done done;
    void *user;
} regions_op;

/* --- describe --------------------------------------------------------------------------------- */

static const char *
name_of(bool given, int32_t number, const kw_hbase_choices *choices)
{
    for (size_t i = 0; given && choices->names[i]; i++) {
        if (choices->numbers[i] == number)
            return choices->names[i];
    }
    return NULL;
}

static kw_family_setting
copy_setting(kw_arena *arena, kw_bytes name, kw_bytes value, bool configures)
{
    return (kw_family_setting){kw_arena_copy(arena, name), kw_arena_copy(arena, value), configures};
}

static void
convert_settings(kw_arena *arena, const kw_hb_TColumnFamilyDescriptor *from, kw_family_spec *to)
{
    size_t most = (size_t)from->attributes.count + from->configuration.count, count = 0;
    kw_family_setting *settings = KW_ARENA_ARRAY(arena, kw_family_setting, most);
    for (uint32_t i = 0; i < from->attributes.count; i++)
        settings[count++] =
            copy_setting(arena, from->attributes.items[i].key, from->attributes.items[i].value, false);
    for (uint32_t i = 0; i < from->configuration.count; i++)
        settings[count++] =
            copy_setting(arena, from->configuration.items[i].key, from->configuration.items[i].value, true);
    to->settings = settings;
    to->settings_count = count;
    to->markers_ms = kw_hbase_to_markers_ms(settings, count);
}

static void
convert_family(kw_arena *arena, const kw_hb_TColumnFamilyDescriptor *from, kw_family_spec *to)
{
    bool forever = !from->has_timeToLive || from->timeToLive == INT32_MAX;
    bool keeps = from->keepDeletedCells != KW_HB_TKeepDeletedCells_FALSE;
    *to = (kw_family_spec){
        .name = kw_arena_text(arena, from->name),
        .compression = name_of(from->has_compressionType, from->compressionType, &kw_hbase_compressions),
        .bloom_filter = name_of(from->has_bloomnFilterType, from->bloomnFilterType, &kw_hbase_blooms),
        .block_encoding = name_of(from->has_dataBlockEncoding, from->dataBlockEncoding, &kw_hbase_encodings),
        .ttl_seconds = forever ? 0 : from->timeToLive,
        .max_versions = from->has_maxVersions ? from->maxVersions : 1,
        .min_versions = from->minVersions,
        .block_size = from->blockSize,
        .block_cache = from->has_blockCacheEnabled ? from->blockCacheEnabled : -1,
        .in_memory = from->has_inMemory ? from->inMemory : -1,
        .keep_deleted_cells = from->has_keepDeletedCells ? keeps : -1,
        .replication_scope = from->has_scope ? from->scope : -1};
    convert_settings(arena, from, to);
}

static void
describe_done(kw_hbase_call *call, const void *result, const kw_hbase_failure *failure)
{
    describe_op *op = call->user;
    kw_table_facts *facts = op->facts;
    kw_table_facts_done done = op->done;
    void *user = op->user;
    if (failure && failure->kind != KW_HBASE_TABLE_MISSING) {
        kw_metrics_add(KW_METRIC_store_errors, 1);
        kw_table_facts_free(facts);
        done(user, NULL, &failure->error);
        return;
    }
    const kw_hb_THBaseService_getTableDescriptor_result *answer = result;
    if (answer && answer->success) {
        uint32_t count = answer->success->columns.count;
        kw_family_spec *families = KW_ARENA_ARRAY(facts->arena, kw_family_spec, count);
        for (uint32_t i = 0; i < count; i++)
            convert_family(facts->arena, &answer->success->columns.items[i], &families[i]);
        facts->exists = true;
        facts->families = families;
        facts->families_count = count;
    }
    done(user, facts, NULL);
}

void
kw_hbase_describe_table(kw_store_handle *handle, kw_bytes table, kw_deadline deadline,
                        kw_table_facts_done done, void *user)
{
    kw_arena *arena = kw_arena_new();
    describe_op *op = KW_ARENA_NEW(arena, describe_op);
    op->facts = KW_ARENA_NEW(arena, kw_table_facts);
    op->facts->arena = arena;
    op->done = done;
    op->user = user;
    kw_hbase_to_table_name(table, &op->name);
    op->args.table = &op->name;
    op->call = (kw_hbase_call){.method = KW_HB_THBaseService_getTableDescriptor,
                               .args = &op->args,
                               .table = table,
                               .deadline = deadline,
                               .repeatable = true,
                               .done = describe_done,
                               .user = op};
    kw_hbase_pool_start(&kw_hbase_handle_of(handle)->pool, &op->call);
}

/* --- regions ---------------------------------------------------------------------------------- */

static int
by_start(const void *a, const void *b)
{
    return kw_bytes_compare(((const kw_region *)a)->start, ((const kw_region *)b)->start);
}

static void
convert_regions(kw_regions *regions, const kw_hb_THRegionLocation *items, uint32_t count)
{
    kw_arena *arena = regions->arena;
    kw_region *converted = KW_ARENA_ARRAY(arena, kw_region, count);
    for (uint32_t i = 0; i < count; i++) {
        const kw_hb_TServerName *server = items[i].serverName;
        char *text = kw_arena_printf(arena, "%.*s:%d", (int)server->hostName.size,
                                     (const char *)server->hostName.data, server->port);
        converted[i] = (kw_region){.start = kw_arena_copy(arena, items[i].regionInfo->startKey),
                                   .stop = kw_arena_copy(arena, items[i].regionInfo->endKey),
                                   .server = kw_bytes_of_text(text)};
    }
    if (count)
        qsort(converted, count, sizeof *converted, by_start);
    regions->regions = converted;
    regions->count = count;
}

/* HBase returns no regions for an unknown table. */
static void
regions_done(kw_hbase_call *call, const void *result, const kw_hbase_failure *failure)
{
    regions_op *op = call->user;
    kw_regions *regions = op->regions;
    kw_regions_done done = op->done;
    void *user = op->user;
    const kw_hb_THBaseService_getAllRegionLocations_result *answer = result;
    kw_error error;
    if (failure)
        error = failure->error;
    else if (answer->success.count == 0)
        kw_error_set(&error, KW_NOT_FOUND,
                     "the store has no table '%s'; `keyway create` creates the store tables of a table",
                     kw_show(call->table).text);
    if (failure || answer->success.count == 0) {
        kw_metrics_add(KW_METRIC_store_errors, 1);
        kw_regions_free(regions);
        done(user, NULL, &error);
        return;
    }
    convert_regions(regions, answer->success.items, answer->success.count);
    done(user, regions, NULL);
}

void
kw_hbase_regions(kw_store_handle *handle, kw_bytes table, kw_deadline deadline, kw_regions_done done,
                 void *user)
{
    kw_arena *arena = kw_arena_new();
    regions_op *op = KW_ARENA_NEW(arena, regions_op);
    op->regions = KW_ARENA_NEW(arena, kw_regions);
    op->regions->arena = arena;
    op->done = done;
    op->user = user;
    op->args.table = table;
    op->call = (kw_hbase_call){.method = KW_HB_THBaseService_getAllRegionLocations,
                               .args = &op->args,
                               .table = table,
                               .deadline = deadline,
                               .repeatable = true,
                               .done = regions_done,
                               .user = op};
    kw_hbase_pool_start(&kw_hbase_handle_of(handle)->pool, &op->call);
}
