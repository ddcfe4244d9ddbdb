/* Copies the objects of the generated Thrift client to plain structs. Each struct has a pair of functions, to
 * copy and to free it. */
#include "lib/info.h"

GPtrArray *
kw_map_array(const GPtrArray *from, gpointer (*copy)(gconstpointer item), GDestroyNotify destroy)
{
    GPtrArray *to = g_ptr_array_new_with_free_func(destroy);

    for (guint i = 0; from != NULL && i < from->len; i++)
        g_ptr_array_add(to, copy(from->pdata[i]));
    return to;
}

static GBytes *
bytes_of(const GByteArray *array)
{
    return array == NULL ? g_bytes_new(NULL, 0) : g_bytes_new(array->data, array->len);
}

gpointer
kw_bytes_item(gconstpointer item)
{
    return bytes_of(item);
}

GByteArray *
kw_bytes_to_thrift(GBytes *bytes)
{
    gsize size;
    const guint8 *data = g_bytes_get_data(bytes, &size);
    GByteArray *thrift = g_byte_array_sized_new((guint)size);

    return g_byte_array_append(thrift, data, (guint)size);
}

char **
kw_texts_from_thrift(const GPtrArray *from)
{
    GStrvBuilder *builder = g_strv_builder_new();
    char **texts;

    for (guint i = 0; from != NULL && i < from->len; i++)
        g_strv_builder_add(builder, from->pdata[i]);
    texts = g_strv_builder_end(builder);
    g_strv_builder_unref(builder);
    return texts;
}

/* --- tables ----------------------------------------------------------------------------------- */

static gpointer
field_info(gconstpointer item)
{
    const KeywayFieldInfo *thrift = item;
    kw_field_info *info = g_new0(kw_field_info, 1);

    info->name = g_strdup(thrift->name);
    info->type = g_strdup(thrift->type);
    info->key = thrift->key;
    info->column = g_strdup(thrift->column);
    info->unit = g_strdup(thrift->unit);
    info->about = g_strdup(thrift->about);
    info->of = g_strdup(thrift->of);
    return info;
}

static void
field_info_free(gpointer item)
{
    kw_field_info *info = item;

    g_free(info->name);
    g_free(info->type);
    g_free(info->column);
    g_free(info->unit);
    g_free(info->about);
    g_free(info->of);
    g_free(info);
}

static gpointer
path_info(gconstpointer item)
{
    const KeywayPathInfo *thrift = item;
    kw_path_info *info = g_new0(kw_path_info, 1);

    info->name = g_strdup(thrift->name);
    info->store_table = g_strdup(thrift->store_table);
    info->layout = thrift->layout;
    info->fingerprint = g_strdup(thrift->fingerprint);
    info->components = kw_texts_from_thrift(thrift->components);
    info->buckets = thrift->buckets;
    info->state = g_strdup(thrift->state);
    info->verified = thrift->verified;
    info->checked_rows = thrift->checked_rows;
    info->checked_at = thrift->checked_at;
    info->association = thrift->__isset_association && thrift->association;
    info->differences = g_strdup(thrift->differences);
    info->hints = thrift->__isset_hints && thrift->hints;
    info->unique = thrift->__isset_unique && thrift->unique;
    return info;
}

static void
path_info_free(gpointer item)
{
    kw_path_info *info = item;

    g_free(info->name);
    g_free(info->store_table);
    g_free(info->fingerprint);
    g_strfreev(info->components);
    g_free(info->state);
    g_free(info->differences);
    g_free(info);
}

kw_table_info *
kw_table_info_from_thrift(const KeywayTableInfo *thrift)
{
    kw_table_info *info = g_new0(kw_table_info, 1);

    info->name = g_strdup(thrift->name);
    info->about = g_strdup(thrift->about);
    info->not_served = g_strdup(thrift->not_served);
    info->fields = kw_map_array(thrift->fields, field_info, field_info_free);
    info->paths = kw_map_array(thrift->paths, path_info, path_info_free);
    return info;
}

void
kw_table_info_free(kw_table_info *info)
{
    if (info == NULL)
        return;
    g_free(info->name);
    g_free(info->about);
    g_free(info->not_served);
    g_ptr_array_unref(info->fields);
    g_ptr_array_unref(info->paths);
    g_free(info);
}

const kw_field_info *
kw_table_info_field(const kw_table_info *info, const char *name)
{
    for (guint i = 0; i < info->fields->len; i++) {
        const kw_field_info *field = info->fields->pdata[i];

        if (g_str_equal(field->name, name))
            return field;
    }
    return NULL;
}

/* --- keys and plans --------------------------------------------------------------------------- */

static gpointer
key_piece(gconstpointer item)
{
    const KeywayKeyPiece *thrift = item;
    kw_key_piece *piece = g_new0(kw_key_piece, 1);

    piece->component = g_strdup(thrift->component);
    piece->bytes = bytes_of(thrift->bytes);
    piece->text = g_strdup(thrift->text);
    return piece;
}

static void
key_piece_free(gpointer item)
{
    kw_key_piece *piece = item;

    g_free(piece->component);
    g_bytes_unref(piece->bytes);
    g_free(piece->text);
    g_free(piece);
}

GPtrArray *
kw_key_pieces_from_thrift(const GPtrArray *thrift)
{
    return kw_map_array(thrift, key_piece, key_piece_free);
}

static gpointer
explained_key(gconstpointer item)
{
    const KeywayExplainedKey *thrift = item;
    kw_explained_key *key = g_new0(kw_explained_key, 1);

    key->path = g_strdup(thrift->path);
    key->store_table = g_strdup(thrift->store_table);
    key->row_key = bytes_of(thrift->row_key);
    key->pieces = kw_key_pieces_from_thrift(thrift->pieces);
    key->region_start = thrift->__isset_region_start ? bytes_of(thrift->region_start) : NULL;
    key->region_server = g_strdup(thrift->region_server);
    key->region_stop = thrift->__isset_region_stop ? bytes_of(thrift->region_stop) : NULL;
    return key;
}

static void
explained_key_free(gpointer item)
{
    kw_explained_key *key = item;

    g_free(key->path);
    g_free(key->store_table);
    g_bytes_unref(key->row_key);
    g_ptr_array_unref(key->pieces);
    g_clear_pointer(&key->region_start, g_bytes_unref);
    g_clear_pointer(&key->region_stop, g_bytes_unref);
    g_free(key->region_server);
    g_free(key);
}

static gpointer
explained_range(gconstpointer item)
{
    const KeywayExplainedRange *thrift = item;
    kw_explained_range *range = g_new0(kw_explained_range, 1);

    range->start = bytes_of(thrift->start);
    range->stop = bytes_of(thrift->stop);
    range->group = thrift->group;
    range->text = g_strdup(thrift->text);
    return range;
}

static void
explained_range_free(gpointer item)
{
    kw_explained_range *range = item;

    g_bytes_unref(range->start);
    g_bytes_unref(range->stop);
    g_free(range->text);
    g_free(range);
}

kw_explanation *
kw_explanation_from_thrift(const KeywayExplanation *thrift)
{
    kw_explanation *explanation = g_new0(kw_explanation, 1);

    explanation->keys = kw_map_array(thrift->keys, explained_key, explained_key_free);
    explanation->path = g_strdup(thrift->path);
    explanation->ranges = kw_map_array(thrift->ranges, explained_range, explained_range_free);
    explanation->ranges_count =
        thrift->__isset_ranges_count ? thrift->ranges_count : (gint64)explanation->ranges->len;
    explanation->reversed = thrift->reversed;
    explanation->notes = kw_texts_from_thrift(thrift->notes);
    explanation->expected_reads_per_row = thrift->expected_reads_per_row;
    explanation->text = g_strdup(thrift->text);
    return explanation;
}

void
kw_explanation_free(kw_explanation *explanation)
{
    if (explanation == NULL)
        return;
    g_ptr_array_unref(explanation->keys);
    g_free(explanation->path);
    g_ptr_array_unref(explanation->ranges);
    g_strfreev(explanation->notes);
    g_free(explanation->text);
    g_free(explanation);
}

/* --- policy ----------------------------------------------------------------------------------- */

static gpointer
table_info_item(gconstpointer item)
{
    return kw_table_info_from_thrift(item);
}

static void
table_info_free_item(gpointer item)
{
    kw_table_info_free(item);
}

GPtrArray *
kw_table_infos_from_thrift(const GPtrArray *thrift)
{
    return kw_map_array(thrift, table_info_item, table_info_free_item);
}

kw_policy_info *
kw_policy_info_from_thrift(const KeywayPolicyInfo *thrift)
{
    kw_policy_info *policy = g_new0(kw_policy_info, 1);

    policy->text = g_strdup(thrift->text);
    policy->tables = kw_table_infos_from_thrift(thrift->tables);
    policy->loaded_at = thrift->loaded_at;
    policy->version = thrift->__isset_version ? thrift->version : -1;
    policy->settings = thrift->__isset_settings ? g_strdup(thrift->settings) : NULL;
    return policy;
}

void
kw_policy_info_free(kw_policy_info *policy)
{
    if (policy == NULL)
        return;
    g_free(policy->text);
    g_free(policy->settings);
    g_ptr_array_unref(policy->tables);
    g_free(policy);
}

static gpointer
problem(gconstpointer item)
{
    const KeywayProblem *thrift = item;
    kw_problem *copy = g_new0(kw_problem, 1);

    copy->line = thrift->line;
    copy->column = thrift->column;
    copy->message = g_strdup(thrift->message);
    copy->hint = g_strdup(thrift->hint);
    return copy;
}

static void
problem_free(gpointer item)
{
    kw_problem *copy = item;

    g_free(copy->message);
    g_free(copy->hint);
    g_free(copy);
}

GPtrArray *
kw_problems_from_thrift(const GPtrArray *thrift)
{
    return kw_map_array(thrift, problem, problem_free);
}

static gpointer
created_table(gconstpointer item)
{
    const KeywayCreatedTable *thrift = item;
    kw_created_table *table = g_new0(kw_created_table, 1);

    table->store_table = g_strdup(thrift->store_table);
    table->split_keys = kw_map_array(thrift->split_keys, kw_bytes_item, (GDestroyNotify)g_bytes_unref);
    table->created = thrift->created;
    return table;
}

static void
created_table_free(gpointer item)
{
    kw_created_table *table = item;

    g_free(table->store_table);
    g_ptr_array_unref(table->split_keys);
    g_free(table);
}

GPtrArray *
kw_created_tables_from_thrift(const GPtrArray *thrift)
{
    return kw_map_array(thrift, created_table, created_table_free);
}
