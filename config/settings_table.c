/* The settings of a table: fields, key rules, families, splits, further paths. See setting.h. */
#include "config/check.h"
#include "config/setting.h"

#define KIB ((int64_t)1024)
#define MIB (KIB * 1024)
#define GIB (MIB * 1024)
#define LAYOUT_MOST 1000000

/* In the orders of kw_field_type, kw_time_unit and kw_cell_form. */
const char *const kw_field_type_names[] = {"bool",  "int",       "double", "string",
                                           "bytes", "timestamp", "map",    NULL};
static const char *const entry_types[] = {"bool", "int", "double", "string", "bytes", "timestamp", NULL};
const char *const kw_time_unit_names[] = {"s", "ms", "us", "ns", NULL};
static const char *const forms[] = {"raw", "text", "raw4", "phoenix", "phoenix4", NULL};

static const kw_setting field_settings[] = {
    {.name = "type",
     .kind = KW_KIND_ENUM,
     .flags = KW_SETTING_REQUIRED,
     .offset = offsetof(kw_draft_field, field.type),
     .choices = kw_field_type_names,
     .about = "Type of the values. Integers and timestamps have 64 bits; strings are UTF-8."},
    {.name = "of",
     .kind = KW_KIND_ENUM,
     .offset = offsetof(kw_draft_field, field.of),
     .choices = entry_types,
     .about =
         "For maps: type of the entries' values. unit, form, values and max_bytes apply to these values.",
     .holds = "none; required for maps"},
    {.name = "unit",
     .kind = KW_KIND_ENUM,
     .offset = offsetof(kw_draft_field, field.unit),
     .choices = kw_time_unit_names,
     .fallback = "ms",
     .about = "For timestamps: the unit, counted from 1970-01-01 UTC."},
    {.name = "column",
     .kind = KW_KIND_TEXT,
     .offset = offsetof(kw_draft_field, column),
     .offset2 = offsetof(kw_draft_field, column_mark),
     .flags = KW_SETTING_NULLABLE,
     .least = 1,
     .rule = KW_NAME_COLUMN,
     .about = "Column that stores the field. In the qualifier, \\xNN is a byte. The column of a map ends in "
              "* and stands for all columns with this prefix: f:follow_*, or f:* for the whole family.",
     .holds = "none if the table's own key holds the field, otherwise the table's family and the field's "
              "name, followed by .* for a map"},
    {.name = "form",
     .kind = KW_KIND_ENUM,
     .offset = offsetof(kw_draft_field, field.form),
     .choices = forms,
     .fallback = "raw",
     .about =
         "Encoding of the value in the column. raw: Bytes.toBytes of a Java long, double, boolean or String. "
         "text: readable text. raw4: Bytes.toBytes of a Java int or float, 4 bytes. phoenix: Phoenix's "
         "BIGINT, DATE or TIME, DOUBLE, BOOLEAN or VARCHAR. phoenix4: Phoenix's INTEGER or FLOAT."},
    {.name = "values",
     .kind = KW_KIND_TEXTS,
     .offset = offsetof(kw_draft_field, field.values),
     .offset2 = offsetof(kw_draft_field, field.values_count),
     .least = 0,
     .about = "The allowed values (string and int). The key component enum needs them.",
     .holds = "any"},
    {.name = "max_bytes",
     .kind = KW_KIND_SIZE,
     .offset = offsetof(kw_draft_field, field.max_bytes),
     .least = 1,
     .most = GIB,
     .absent = 0,
     .about = "Maximum size of a value (string and bytes).",
     .holds = "the limit of the store"},
    {.name = "counter",
     .kind = KW_KIND_BOOL,
     .offset = offsetof(kw_draft_field, field.counter),
     .fallback = "false",
     .about = "Allow increments (int in form raw, or a map of these). On HBase with order: store, a put of a "
              "counter costs an extra read."},
    {.name = "generate",
     .kind = KW_KIND_SECTION,
     .offset = offsetof(kw_draft_field, field.generate),
     .section = &kw_generate_section,
     .about = "Generate the value if a put has none, and return it."},
    {.name = "about",
     .kind = KW_KIND_TEXT,
     .offset = offsetof(kw_draft_field, field.about),
     .about = "A comment, which describe shows.",
     .holds = "none"},
    {.name = NULL},
};

static const kw_section field_section = {
    .title = "a field",
    .about = "A field of the table. `status: string` is short for `status: {type: string}`.",
    .settings = field_settings,
    .shorthand = "type",
    .size = sizeof(kw_draft_field),
    .mark_offset = offsetof(kw_draft_field, field.mark),
    .name_offset = offsetof(kw_draft_field, field.name),
    .switch_offset = KW_OFFSET_NONE,
    .valid_offset = offsetof(kw_draft_field, valid),
    .key_rule = KW_NAME_FIELD,
    .check = kw_check_field,
};

static const char *const orders[] = {"store", "stamp", NULL};
static const char *const algorithms[] = {"HexStringSplit", "UniformSplit", "DecimalStringSplit", "rule",
                                         NULL};

static const kw_setting splits_settings[] = {
    {.name = "algorithm",
     .kind = KW_KIND_CHOICE,
     .offset = offsetof(kw_model_splits, algorithm),
     .choices = algorithms,
     .about = "A split algorithm of HBase, or rule: split at the buckets and prefixes of the key rule. Needs "
              "regions.",
     .holds = "none"},
    {.name = "regions",
     .kind = KW_KIND_INT,
     .offset = offsetof(kw_model_splits, regions),
     .least = 2,
     .most = 10000,
     .absent = 0,
     .about = "Number of regions for the algorithm.",
     .holds = "none"},
    {.name = "keys",
     .kind = KW_KIND_TEXTS,
     .offset = offsetof(kw_model_splits, keys),
     .offset2 = offsetof(kw_model_splits, keys_count),
     .least = 1,
     .most = 4096,
     .rule = KW_NAME_SPLIT_KEY,
     .about = "The split keys, as text with \\xNN escapes.",
     .holds = "none"},
    {.name = "file",
     .kind = KW_KIND_TEXT,
     .offset = offsetof(kw_model_splits, file),
     .least = 1,
     .about = "File with the split keys in the same form, one per line.",
     .holds = "none"},
    {.name = NULL},
};

static const kw_section splits_section = {
    .title = "splits",
    .about = "How a new store table is split into regions: by an algorithm, keys or a file.",
    .settings = splits_settings,
    .size = sizeof(kw_model_splits),
    .mark_offset = offsetof(kw_model_splits, mark),
    .name_offset = KW_OFFSET_NONE,
    .switch_offset = KW_OFFSET_NONE,
    .check = kw_check_splits,
};

static const char *const compressions[] = {"NONE", "SNAPPY", "LZ4", "ZSTD", "LZO", "GZ", NULL};
static const char *const blooms[] = {"NONE", "ROW", "ROWCOL", NULL};
static const char *const encodings[] = {"NONE", "PREFIX", "DIFF", "FAST_DIFF", "ROW_INDEX_V1", NULL};
static const char stores_default[] = "that of the store";

static const kw_setting family_settings[] = {
    {.name = "compression",
     .kind = KW_KIND_CHOICE,
     .flags = KW_SETTING_NULLABLE,
     .offset = offsetof(kw_model_family, compression),
     .choices = compressions,
     .about = "Block compression.",
     .holds = stores_default},
    {.name = "bloom_filter",
     .kind = KW_KIND_CHOICE,
     .flags = KW_SETTING_NULLABLE,
     .offset = offsetof(kw_model_family, bloom_filter),
     .choices = blooms,
     .about = "Bloom filter.",
     .holds = stores_default},
    {.name = "block_encoding",
     .kind = KW_KIND_CHOICE,
     .flags = KW_SETTING_NULLABLE,
     .offset = offsetof(kw_model_family, block_encoding),
     .choices = encodings,
     .about = "Encoding of the keys in a block.",
     .holds = stores_default},
    {.name = "ttl",
     .kind = KW_KIND_SECONDS,
     .offset = offsetof(kw_model_family, ttl_seconds),
     .least = 0,
     .most = INT32_MAX,
     .fallback = "0",
     .about = "Time to live of cells, in whole seconds. 0: forever."},
    {.name = "versions",
     .kind = KW_KIND_INT,
     .offset = offsetof(kw_model_family, max_versions),
     .least = 1,
     .most = INT32_MAX,
     .absent = 0,
     .about = "Number of versions kept of each cell.",
     .holds = "1"},
    {.name = "min_versions",
     .kind = KW_KIND_INT,
     .offset = offsetof(kw_model_family, min_versions),
     .least = 0,
     .most = INT32_MAX,
     .absent = 0,
     .about = "Number of versions kept even after their ttl.",
     .holds = stores_default},
    {.name = "block_size",
     .kind = KW_KIND_SIZE,
     .offset = offsetof(kw_model_family, block_size),
     .least = KIB,
     .most = 16 * MIB,
     .absent = 0,
     .about = "Block size.",
     .holds = stores_default},
    {.name = "block_cache",
     .kind = KW_KIND_SWITCH,
     .offset = offsetof(kw_model_family, block_cache),
     .about = "Keep blocks in the cache after a read.",
     .holds = stores_default},
    {.name = "in_memory",
     .kind = KW_KIND_SWITCH,
     .offset = offsetof(kw_model_family, in_memory),
     .about = "Give the blocks of this family priority in the cache.",
     .holds = stores_default},
    {.name = "keep_deleted_cells",
     .kind = KW_KIND_SWITCH,
     .offset = offsetof(kw_model_family, keep_deleted_cells),
     .about = "Keep deleted cells until they expire.",
     .holds = stores_default},
    {.name = "replication_scope",
     .kind = KW_KIND_INT,
     .offset = offsetof(kw_model_family, replication_scope),
     .least = 0,
     .most = 1,
     .absent = -1,
     .about = "0: not replicated, 1: replicated.",
     .holds = stores_default},
    {.name = NULL},
};

static const kw_section family_section = {
    .title = "a column family",
    .about = "Options of a column family in the store tables that Keyway creates. Existing tables are not "
             "changed; keywayd(8) says how differences are reported.",
    .settings = family_settings,
    .size = sizeof(kw_model_family),
    .mark_offset = offsetof(kw_model_family, mark),
    .name_offset = offsetof(kw_model_family, name),
    .switch_offset = KW_OFFSET_NONE,
    .key_rule = KW_NAME_FAMILY,
    .check = kw_check_family,
};

/* Settings that the primary path, which is part of the table, shares with the further paths. `path` is the
 * kw_model_path in `draft`. */
#define PATH_VERSION_SETTINGS(draft, path)                                                                   \
    {.name = "layout",                                                                                       \
     .kind = KW_KIND_INT,                                                                                    \
     .offset = offsetof(draft, path.layout),                                                                 \
     .least = 1,                                                                                             \
     .most = LAYOUT_MOST,                                                                                    \
     .fallback = "1",                                                                                        \
     .about = "Number of this rule. A changed rule needs a new number."},                                    \
    {                                                                                                        \
        .name = "splits", .kind = KW_KIND_SECTION, .offset = offsetof(draft, path.splits),                   \
        .section = &splits_section, .about = "How a new store table is split into regions."                  \
    }

static const kw_setting path_settings[] = {
    {.name = "key",
     .kind = KW_KIND_RULE,
     .flags = KW_SETTING_REQUIRED,
     .offset = offsetof(kw_draft_path, path.components),
     .offset2 = offsetof(kw_draft_path, path.components_count),
     .least = 1,
     .most = 32,
     .about = "The key rule of the path: a list of components."},
    {.name = "store_table",
     .kind = KW_KIND_TEXT,
     .offset = offsetof(kw_draft_path, path.store_table),
     .offset2 = offsetof(kw_draft_path, store_table_mark),
     .least = 1,
     .rule = KW_NAME_STORE_TABLE,
     .about = "Store table of the path's rows.",
     .holds = "the table's own store table, followed by _ and the path's name"},
    PATH_VERSION_SETTINGS(kw_draft_path, path),
    {.name = "association",
     .kind = KW_KIND_BOOL,
     .offset = offsetof(kw_draft_path, path.association),
     .fallback = "false",
     .about = "Make this path an association. For each record, it stores the row keys that the record has in "
              "paths with a random or round_robin salt. It holds no records itself. A lookup then reads the "
              "record's row in the association and one row of the record, instead of one row in every "
              "bucket. A record can be put again."},
    {.name = "unique",
     .kind = KW_KIND_BOOL,
     .offset = offsetof(kw_draft_path, path.unique),
     .fallback = "false",
     .about = "No two records have the same values of the fields in the path's key, and `get` finds a record "
              "by these fields. The key has no field of the table's own key. A put of values that another "
              "record has is refused. Only with the embedded store."},
    {.name = NULL},
};

static const kw_section path_section = {
    .title = "a path",
    .about = "A further path to the records, with its own key rule and store table. Its rule uses all "
             "fields of the table's own key, and can use others.",
    .settings = path_settings,
    .size = sizeof(kw_draft_path),
    .mark_offset = offsetof(kw_draft_path, path.mark),
    .name_offset = offsetof(kw_draft_path, path.name),
    .switch_offset = KW_OFFSET_NONE,
    .key_rule = KW_NAME_FIELD,
};

static const kw_setting table_settings[] = {
    {.name = "about",
     .kind = KW_KIND_TEXT,
     .offset = offsetof(kw_draft_table, table.about),
     .about = "A comment, which describe shows.",
     .holds = "none"},
    {.name = "family",
     .kind = KW_KIND_TEXT,
     .offset = offsetof(kw_draft_table, table.default_family),
     .least = 1,
     .fallback = "d",
     .rule = KW_NAME_FAMILY,
     .about = "Column family of fields without a column of their own."},
    {.name = "marker",
     .kind = KW_KIND_TEXT,
     .flags = KW_SETTING_NULLABLE,
     .offset = offsetof(kw_draft_table, marker),
     .offset2 = offsetof(kw_draft_table, marker_mark),
     .least = 1,
     .rule = KW_NAME_COLUMN,
     .about = "A column that every record gets in addition to its fields, to show that the record exists, "
              "such as Phoenix's empty column 0:_0.",
     .holds = "an empty qualifier in the table's family, only for records without a stored field"},
    {.name = "marker_value",
     .kind = KW_KIND_TEXT,
     .flags = KW_SETTING_NULLABLE,
     .offset = offsetof(kw_draft_table, marker_value),
     .offset2 = offsetof(kw_draft_table, marker_value_mark),
     .rule = KW_NAME_SPLIT_KEY,
     .about = "Value of the marker column, as text with \\xNN escapes. It is x in tables of Phoenix.",
     .holds = "an empty value"},
    {.name = "fields",
     .kind = KW_KIND_MAP,
     .flags = KW_SETTING_REQUIRED,
     .offset = offsetof(kw_draft_table, fields),
     .offset2 = offsetof(kw_draft_table, fields_count),
     .least = 1,
     .most = 1000,
     .section = &field_section,
     .about = "The fields, by name."},
    {.name = "key",
     .kind = KW_KIND_RULE,
     .flags = KW_SETTING_REQUIRED,
     .offset = offsetof(kw_draft_table, primary.path.components),
     .offset2 = offsetof(kw_draft_table, primary.path.components_count),
     .least = 1,
     .most = 32,
     .about = "The table's own key rule (path primary): a list of components. Its fields identify a record."},
    {.name = "store_table",
     .kind = KW_KIND_TEXT,
     .offset = offsetof(kw_draft_table, primary.path.store_table),
     .offset2 = offsetof(kw_draft_table, primary.store_table_mark),
     .least = 1,
     .rule = KW_NAME_STORE_TABLE,
     .about = "Store table of the primary path's rows.",
     .holds = "the table's name"},
    PATH_VERSION_SETTINGS(kw_draft_table, primary.path),
    {.name = "families",
     .kind = KW_KIND_MAP,
     .offset = offsetof(kw_draft_table, families),
     .offset2 = offsetof(kw_draft_table, families_count),
     .least = 0,
     .most = 32,
     .section = &family_section,
     .about = "Options of column families, by name, for all store tables of the table."},
    {.name = "major_compaction",
     .kind = KW_KIND_MS,
     .offset = offsetof(kw_draft_table, table.major_compaction_ms),
     .least = 0,
     .most = INT64_C(1000) * 86400 * 366,
     .fallback = "7d",
     .about = "Interval of major compactions in the store, which remove expired rows for good: HBase's "
              "hbase.hregion.majorcompaction. 0: never. Circular calendars are checked against it."},
    {.name = "paths",
     .kind = KW_KIND_MAP,
     .offset = offsetof(kw_draft_table, paths),
     .offset2 = offsetof(kw_draft_table, paths_count),
     .least = 0,
     .most = 32,
     .section = &path_section,
     .about = "Further paths to the records, by name. Each write goes to every path. The key of a path can "
              "have fields that change."},
    {.name = "order",
     .kind = KW_KIND_CHOICE,
     .flags = KW_SETTING_NULLABLE,
     .offset = offsetof(kw_draft_table, table.order),
     .choices = orders,
     .about = "Where the timestamps of writes come from. store: from the store. stamp: from the gateways, "
              "which measure the store's clock and wait for it. Tables with several paths that hold records "
              "need stamp. See keyway-ordering(7).",
     .holds = "store for tables with one path that holds records, stamp for tables with several"},
    {.name = "atomics",
     .kind = KW_KIND_SWITCH,
     .offset = offsetof(kw_draft_table, table.atomics),
     .about = "Allow increment, putIf and compareAndPut. On HBase with order: store, each of them writes a "
              "control cell into its row, so that a concurrent removal detects it. On HBase with order: "
              "stamp, every write of the table writes a control cell, and on a table with rows, the setting "
              "changes only with policy.source: store.",
     .holds = "true with order: store and on the embedded store; with order: stamp, the value that the "
              "table had before, or false for a new table"},
    {.name = "updates",
     .kind = KW_KIND_BOOL,
     .offset = offsetof(kw_draft_table, table.updates),
     .fallback = "true",
     .about = "Allow a record to be put more than once. A rule with a random or round_robin salt needs false "
              "here, or an association, because a second put could write a second row in another bucket."},
    {.name = "accept_unverified",
     .kind = KW_KIND_BOOL,
     .offset = offsetof(kw_draft_table, table.accept_unverified),
     .fallback = "false",
     .about = "Serve existing rows of a table that is new to the catalog without a check. By default, the "
              "gateway first checks a sample of the rows of each region, and does not serve the table if one "
              "of them does not follow the key rule or has a value that cannot be decoded."},
    {.name = NULL},
};

const kw_section kw_table_section = {
    .title = "a table",
    .about = "A logical table: its fields, and the rules that build row keys from them.",
    .settings = table_settings,
    .size = sizeof(kw_draft_table),
    .mark_offset = offsetof(kw_draft_table, table.mark),
    .name_offset = offsetof(kw_draft_table, table.name),
    .switch_offset = KW_OFFSET_NONE,
    .key_rule = KW_NAME_TABLE,
    .valid_offset = offsetof(kw_draft_table, valid),
    .check_always = true,
    .check = kw_check_table,
};
