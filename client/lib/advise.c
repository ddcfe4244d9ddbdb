/* advise and policyDiff: convert a request to generated objects, and the reply from them. */
#include "lib/client.h"
#include "lib/info.h"
#include "lib/query.h"
#include "lib/record.h"

/* --- the request ------------------------------------------------------------------------------ */

static GPtrArray *
candidates_to_thrift(const kw_advise_request *request)
{
    GPtrArray *array = g_ptr_array_new_with_free_func(g_object_unref);

    for (gsize i = 0; i < request->candidates_count; i++) {
        KeywayCandidate *candidate = g_object_new(KEYWAY_TYPE_CANDIDATE, NULL);

        candidate->name = g_strdup(request->candidates[i].name);
        candidate->text = g_strdup(request->candidates[i].text);
        g_ptr_array_add(array, candidate);
    }
    return array;
}

static GPtrArray *
queries_to_thrift(const kw_advise_request *request)
{
    GPtrArray *array = g_ptr_array_new_with_free_func(g_object_unref);

    for (gsize i = 0; i < request->queries_count; i++) {
        KeywayNamedQuery *query = g_object_new(KEYWAY_TYPE_NAMED_QUERY, NULL);

        query->name = g_strdup(request->queries[i].name);
        g_clear_object(&query->query);
        query->query = g_object_ref(kw_query_thrift(request->queries[i].query));
        g_ptr_array_add(array, query);
    }
    return array;
}

static GPtrArray *
records_to_thrift(const GPtrArray *records)
{
    GPtrArray *array = g_ptr_array_new();

    for (guint i = 0; records != NULL && i < records->len; i++)
        g_ptr_array_add(array, kw_record_table(records->pdata[i]));
    return array;
}

static GObject *
options_to_thrift(const kw_advise_request *request)
{
    KeywayAdviseOptions *options = g_object_new(KEYWAY_TYPE_ADVISE_OPTIONS, NULL);

    options->regions = request->regions;
    options->__isset_regions = request->regions != 0;
    options->time_field = g_strdup(request->time_field);
    options->__isset_time_field = request->time_field != NULL;
    options->window_ms = request->window_ms;
    options->__isset_window_ms = request->window_ms != 0;
    return (GObject *)options;
}

/* --- the advice ------------------------------------------------------------------------------- */

static kw_spread *
spread_of(const KeywaySpread *thrift)
{
    kw_spread *spread = g_new0(kw_spread, 1);

    spread->counts = g_array_copy(thrift->counts);
    spread->reached = thrift->reached;
    spread->hottest_to_mean = thrift->hottest_to_mean;
    spread->window_share = thrift->window_share;
    spread->worst_share = thrift->worst_share;
    spread->window_places = thrift->window_places;
    return spread;
}

static void
spread_free(kw_spread *spread)
{
    if (spread == NULL)
        return;
    g_array_unref(spread->counts);
    g_free(spread);
}

static void
copy_places(const KeywayAdvisedPath *thrift, kw_advised_path *path)
{
    path->bucket = g_strdup(thrift->bucket);
    path->buckets = thrift->__isset_buckets ? spread_of(thrift->buckets) : NULL;
    path->regions = spread_of(thrift->regions);
    path->region_starts = kw_map_array(thrift->region_starts, kw_bytes_item, (GDestroyNotify)g_bytes_unref);
    path->cut = g_strdup(thrift->cut);
    path->heat = g_array_copy(thrift->heat);
    path->order_field = g_strdup(thrift->order_field);
    path->order_descending = thrift->order_descending;
    path->order_ranges = thrift->order_ranges;
    path->order_lost = kw_texts_from_thrift(thrift->order_lost);
}

static gpointer
advised_path(gconstpointer item)
{
    const KeywayAdvisedPath *thrift = item;
    kw_advised_path *path = g_new0(kw_advised_path, 1);

    path->candidate = thrift->candidate;
    path->path = g_strdup(thrift->path);
    path->store_table = g_strdup(thrift->store_table);
    path->components = kw_texts_from_thrift(thrift->components);
    path->records = thrift->records;
    path->rejected = thrift->rejected;
    path->rejection = g_strdup(thrift->rejection);
    path->duplicates = thrift->duplicates;
    path->key_bytes_min = thrift->key_bytes_min;
    path->key_bytes_max = thrift->key_bytes_max;
    path->key_bytes_mean = thrift->key_bytes_mean;
    copy_places(thrift, path);
    return path;
}

static void
advised_path_free(gpointer item)
{
    kw_advised_path *path = item;

    g_free(path->path);
    g_free(path->store_table);
    g_strfreev(path->components);
    g_free(path->rejection);
    g_free(path->bucket);
    spread_free(path->buckets);
    spread_free(path->regions);
    g_ptr_array_unref(path->region_starts);
    g_free(path->cut);
    g_array_unref(path->heat);
    g_free(path->order_field);
    g_strfreev(path->order_lost);
    g_free(path);
}

static gpointer
advised_query(gconstpointer item)
{
    const KeywayAdvisedQuestion *thrift = item;
    kw_advised_query *query = g_new0(kw_advised_query, 1);

    query->candidate = thrift->candidate;
    query->query = thrift->question;
    query->refusal = g_strdup(thrift->refusal);
    query->path = g_strdup(thrift->path);
    query->ranges = thrift->ranges;
    query->groups = thrift->groups;
    query->point = thrift->point;
    query->ordered = thrift->ordered;
    query->expected_reads_per_row = thrift->expected_reads_per_row;
    query->scanned = thrift->scanned;
    query->matching = thrift->matching;
    return query;
}

static void
advised_query_free(gpointer item)
{
    kw_advised_query *query = item;

    g_free(query->refusal);
    g_free(query->path);
    g_free(query);
}

/* Rejects advice whose numbers would be invalid indexes. The callers rely on valid numbers of candidates and
 * queries, and on a cell for every column and region of a heat map. */
static bool
check_advice(const kw_advice *advice, gsize candidates, gsize queries, GError **error)
{
    bool good = true;

    for (guint i = 0; good && i < advice->paths->len; i++) {
        const kw_advised_path *path = advice->paths->pdata[i];

        good = path->candidate >= 0 && (gsize)path->candidate < candidates &&
               path->regions->counts->len > 0 && path->region_starts->len == path->regions->counts->len &&
               path->heat->len == advice->columns->len * path->regions->counts->len;
    }
    for (guint i = 0; good && i < advice->queries->len; i++) {
        const kw_advised_query *query = advice->queries->pdata[i];

        good = query->candidate >= 0 && (gsize)query->candidate < candidates && query->query >= 0 &&
               (gsize)query->query < queries && (query->refusal != NULL || query->path != NULL);
    }
    if (!good)
        g_set_error_literal(error, KW_CLIENT_ERROR, KW_CLIENT_PROTOCOL,
                            "invalid reply from the gateway: the advice is inconsistent");
    return good;
}

static kw_advice *
advice_of(const KeywayAdvice *thrift)
{
    kw_advice *advice = g_new0(kw_advice, 1);

    advice->paths = kw_map_array(thrift->paths, advised_path, advised_path_free);
    advice->queries = kw_map_array(thrift->questions, advised_query, advised_query_free);
    advice->words = kw_texts_from_thrift(thrift->words);
    advice->time_field = g_strdup(thrift->time_field);
    advice->window_ms = thrift->window_ms;
    advice->windows = thrift->windows;
    advice->columns = g_array_copy(thrift->columns);
    return advice;
}

void
kw_advice_free(kw_advice *advice)
{
    if (advice == NULL)
        return;
    g_ptr_array_unref(advice->paths);
    g_ptr_array_unref(advice->queries);
    g_strfreev(advice->words);
    g_free(advice->time_field);
    g_array_unref(advice->columns);
    g_free(advice);
}

char *
kw_client_policy_diff(kw_client *client, const char *old_text, const char *new_text, const char *table,
                      const GPtrArray *sample, GError **error)
{
    g_autoptr(GPtrArray) records = records_to_thrift(sample);
    g_autofree char *text = NULL;
    kw_client_call call;
    bool ok;

    if (!kw_client_call_begin(&call, client, "policyDiff", KW_RESULT_TEXT, 0, error))
        return NULL;
    ok = keyway_admin_client_policy_diff(call.admin, &text, old_text, new_text, table == NULL ? "" : table,
                                         records, &call.thrown, &call.failure);
    return kw_client_call_end(&call, ok, KW_READS, error) ? g_steal_pointer(&text) : NULL;
}

kw_advice *
kw_client_advise(kw_client *client, const kw_advise_request *request, GError **error)
{
    g_autoptr(GObject) thrift = g_object_new(KEYWAY_TYPE_ADVICE, NULL);
    g_autoptr(GObject) options = options_to_thrift(request);
    g_autoptr(GPtrArray) candidates = candidates_to_thrift(request);
    g_autoptr(GPtrArray) queries = queries_to_thrift(request);
    g_autoptr(GPtrArray) sample = records_to_thrift(request->sample);
    g_autoptr(kw_advice) advice = NULL;
    kw_client_call call;
    bool ok;

    if (!kw_client_call_begin(&call, client, "advise", KW_RESULT_STRUCT, 0, error))
        return NULL;
    ok = keyway_admin_client_advise(call.admin, (KeywayAdvice **)&thrift, candidates,
                                    request->table == NULL ? "" : request->table, sample, queries,
                                    (KeywayAdviseOptions *)options, &call.thrown, &call.failure);
    if (!kw_client_call_end(&call, ok, KW_READS, error))
        return NULL;
    advice = advice_of((KeywayAdvice *)thrift);
    return check_advice(advice, request->candidates_count, request->queries_count, error)
               ? g_steal_pointer(&advice)
               : NULL;
}
