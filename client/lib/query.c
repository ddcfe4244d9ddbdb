/* Building queries. */
#include "lib/query.h"

#include "lib/record.h"

kw_query *
kw_query_new(const char *table)
{
    KeywayQuery *query = g_object_new(KEYWAY_TYPE_QUERY, NULL);

    query->table = g_strdup(table);
    return (kw_query *)query;
}

void
kw_query_free(kw_query *query)
{
    if (query != NULL)
        g_object_unref(kw_query_thrift(query));
}

void
kw_query_where(kw_query *query, const char *field, kw_value value)
{
    KeywayQuery *thrift = kw_query_thrift(query);

    g_hash_table_insert(thrift->bound, g_strdup(field), kw_value_to_thrift(value));
    thrift->__isset_bound = TRUE;
}

void
kw_query_where_any(kw_query *query, const char *field, kw_value value)
{
    KeywayQuery *thrift = kw_query_thrift(query);
    GPtrArray *values = g_hash_table_lookup(thrift->bound_any, field);

    if (values == NULL) {
        values = g_ptr_array_new_with_free_func(g_object_unref);
        g_hash_table_insert(thrift->bound_any, g_strdup(field), values);
    }
    g_ptr_array_add(values, kw_value_to_thrift(value));
    thrift->__isset_bound_any = TRUE;
}

static KeywayRange *
range_on(kw_query *query, const char *field)
{
    KeywayQuery *thrift = kw_query_thrift(query);

    g_free(thrift->range->field);
    thrift->range->field = g_strdup(field);
    thrift->__isset_range = TRUE;
    return thrift->range;
}

void
kw_query_from(kw_query *query, const char *field, kw_value value, bool inclusive)
{
    KeywayRange *range = range_on(query, field);

    g_clear_object(&range->from_value);
    range->from_value = kw_value_to_thrift(value);
    range->__isset_from_value = TRUE;
    range->from_inclusive = inclusive;
    range->__isset_from_inclusive = TRUE;
}

void
kw_query_to(kw_query *query, const char *field, kw_value value, bool inclusive)
{
    KeywayRange *range = range_on(query, field);

    g_clear_object(&range->to_value);
    range->to_value = kw_value_to_thrift(value);
    range->__isset_to_value = TRUE;
    range->to_inclusive = inclusive;
    range->__isset_to_inclusive = TRUE;
}

void
kw_query_order(kw_query *query, bool descending)
{
    KeywayQuery *thrift = kw_query_thrift(query);

    thrift->order = descending ? KEYWAY_ORDER_DESCENDING : KEYWAY_ORDER_ASCENDING;
    thrift->__isset_order = TRUE;
}

static void
replace_text(char **place, gboolean *is_set, const char *text)
{
    g_free(*place);
    *place = g_strdup(text);
    *is_set = text != NULL;
}

void
kw_query_path(kw_query *query, const char *path)
{
    replace_text(&kw_query_thrift(query)->path, &kw_query_thrift(query)->__isset_path, path);
}

void
kw_query_column(kw_query *query, const char *field)
{
    KeywayQuery *thrift = kw_query_thrift(query);

    g_ptr_array_add(thrift->columns, g_strdup(field));
    thrift->__isset_columns = TRUE;
}

void
kw_query_filter(kw_query *query, const char *filter)
{
    replace_text(&kw_query_thrift(query)->filter, &kw_query_thrift(query)->__isset_filter, filter);
}

void
kw_query_limit(kw_query *query, gint64 limit)
{
    kw_query_thrift(query)->limit = limit;
    kw_query_thrift(query)->__isset_limit = TRUE;
}

void
kw_query_page(kw_query *query, gint32 rows, gint32 bytes)
{
    KeywayQuery *thrift = kw_query_thrift(query);

    thrift->page_rows = rows;
    thrift->__isset_page_rows = rows != 0;
    thrift->page_bytes = bytes;
    thrift->__isset_page_bytes = bytes != 0;
}

void
kw_query_full_scan(kw_query *query, bool allow)
{
    kw_query_thrift(query)->full_scan = allow;
    kw_query_thrift(query)->__isset_full_scan = TRUE;
}

void
kw_query_skip_undecodable(kw_query *query, bool skip)
{
    kw_query_thrift(query)->skip_undecodable = skip;
    kw_query_thrift(query)->__isset_skip_undecodable = TRUE;
}

void
kw_query_deadline(kw_query *query, gint32 deadline_ms)
{
    kw_query_thrift(query)->deadline_ms = deadline_ms;
    kw_query_thrift(query)->__isset_deadline_ms = deadline_ms != 0;
}
