#include "service/methods/query.h"

#include "service/methods/convert.h"
#include "service/show.h"

static bool
bind_one(const kw_api_Query *query, kw_record_query *plan_query, kw_bound *bounds, kw_arena *arena,
         kw_error *ret_error)
{
    const kw_table *table = plan_query->table;
    for (uint32_t i = 0; query->has_bound && i < query->bound.count; i++) {
        size_t field = 0;
        if (!kw_convert_field(table, query->bound.items[i].key, &field, ret_error))
            return false;
        if (bounds[field].count > 0)
            return kw_error_set(ret_error, KW_INVALID, "table %s, field %s: is bound twice", table->name,
                                table->fields[field].name);
        kw_value *value = KW_ARENA_NEW(arena, kw_value);
        if (!kw_convert_queried(table, field, &query->bound.items[i].value, arena, value, ret_error))
            return false;
        bounds[field] = (kw_bound){value, 1};
    }
    return true;
}

static bool
bind_any(const kw_api_Query *query, const kw_model_limits *limits, kw_record_query *plan_query,
         kw_bound *bounds, kw_arena *arena, kw_error *ret_error)
{
    const kw_table *table = plan_query->table;
    for (uint32_t i = 0; query->has_bound_any && i < query->bound_any.count; i++) {
        size_t field = 0;
        size_t count = query->bound_any.items[i].value.count;
        if (!kw_convert_field(table, query->bound_any.items[i].key, &field, ret_error))
            return false;
        const char *name = table->fields[field].name;
        if (bounds[field].count > 0)
            return kw_error_set(ret_error, KW_INVALID, "table %s, field %s: is bound twice", table->name,
                                name);
        if (count == 0)
            return kw_error_set(ret_error, KW_INVALID, "table %s, field %s: bound_any has no values",
                                table->name, name);
        if ((int64_t)count > limits->ranges)
            return kw_error_set(
                ret_error, KW_LIMIT,
                "table %s, field %s: bound_any has %zu values, at most %zu are allowed (limits.ranges)",
                table->name, name, count, (size_t)limits->ranges);
        kw_value *values = KW_ARENA_ARRAY(arena, kw_value, count);
        for (size_t at = 0; at < count; at++)
            if (!kw_convert_queried(table, field, &query->bound_any.items[i].value.items[at], arena,
                                    &values[at], ret_error))
                return false;
        bounds[field] = (kw_bound){values, count};
    }
    return true;
}

static bool
read_range(const kw_api_Query *query, kw_record_query *plan_query, kw_arena *arena, kw_error *ret_error)
{
    const kw_api_Range *range = query->range;
    size_t field = 0;
    plan_query->range_field = -1;
    if (!query->has_range)
        return true;
    if (!kw_convert_field(plan_query->table, range->field, &field, ret_error))
        return false;
    if (range->has_from_value &&
        !kw_convert_queried(plan_query->table, field, range->from_value, arena, &plan_query->from, ret_error))
        return kw_error_prefix(ret_error, "from_value");
    if (range->has_to_value &&
        !kw_convert_queried(plan_query->table, field, range->to_value, arena, &plan_query->to, ret_error))
        return kw_error_prefix(ret_error, "to_value");
    plan_query->range_field = (int)field;
    plan_query->from_inclusive = !range->has_from_inclusive || range->from_inclusive;
    plan_query->to_inclusive = range->has_to_inclusive && range->to_inclusive;
    return true;
}

static bool
read_order(const kw_api_Query *query, kw_record_query *plan_query, kw_error *ret_error)
{
    if (!query->has_order)
        return true;
    if (query->order != KW_API_Order_ASCENDING && query->order != KW_API_Order_DESCENDING)
        return kw_error_set(ret_error, KW_INVALID,
                            "order %d does not exist; it is ASCENDING (1) or DESCENDING (2)", query->order);
    plan_query->order = query->order == KW_API_Order_ASCENDING ? KW_ORDER_ASCENDING : KW_ORDER_DESCENDING;
    return true;
}

static bool
read_path(const kw_api_Query *query, kw_record_query *plan_query, kw_error *ret_error)
{
    char shown[KW_SHOWN_MAX];
    plan_query->path = -1;
    if (!query->has_path)
        return true;
    plan_query->path = kw_table_find_queried_path(plan_query->table, query->path);
    if (plan_query->path >= 0)
        return true;
    if (kw_table_find_path(plan_query->table, query->path) >= 0)
        return kw_error_set(ret_error, KW_INVALID, "table %s: %s is the association, which holds no records",
                            plan_query->table->name, kw_show_name(query->path, shown));
    g_autoptr(GString) known = g_string_new(NULL);
    for (size_t i = 0; i < plan_query->table->queried_paths_count; i++)
        g_string_append_printf(known, "%s%s", i ? ", " : "", plan_query->table->paths[i].name);
    return kw_error_set(ret_error, KW_NOT_FOUND, "table %s has no path %s; it has: %s",
                        plan_query->table->name, kw_show_name(query->path, shown), known->str);
}

static bool
check_positive(const char *name, bool given, int64_t value, kw_error *ret_error)
{
    if (!given || value > 0)
        return true;
    return kw_error_set(ret_error, KW_INVALID, "%s must be at least 1, not %" G_GINT64_FORMAT, name, value);
}

/* Reduces page sizes to their limits: the caller gets more pages. */
static bool
read_sizes(const kw_api_Query *query, const kw_model_limits *limits, kw_scan_request *request,
           kw_error *ret_error)
{
    if (!check_positive("limit", query->has_limit, query->limit, ret_error) ||
        !check_positive("page_rows", query->has_page_rows, query->page_rows, ret_error) ||
        !check_positive("page_bytes", query->has_page_bytes, query->page_bytes, ret_error))
        return false;
    request->limit = query->has_limit ? (uint64_t)query->limit : 0;
    request->query.limit = request->limit;
    if (query->has_page_rows)
        request->page_rows = (uint32_t)MIN(query->page_rows, limits->page_rows);
    if (query->has_page_bytes)
        request->page_bytes = (uint32_t)MIN(query->page_bytes, kw_limits_page_bytes(limits));
    return true;
}

bool
kw_scan_request_on_table(const kw_table *table, const kw_model_limits *limits, const kw_api_Query *query,
                         kw_arena *arena, kw_scan_request *ret_request, kw_error *ret_error)
{
    kw_scan_request request = {0};
    kw_record_query *plan_query = &request.query;
    kw_bound *bounds = KW_ARENA_ARRAY(arena, kw_bound, table->fields_count);
    plan_query->table = table;
    plan_query->bounds = bounds;
    plan_query->range_limit = (size_t)limits->ranges;
    plan_query->full_scan = query->has_full_scan && query->full_scan;
    if (!bind_one(query, plan_query, bounds, arena, ret_error) ||
        !bind_any(query, limits, plan_query, bounds, arena, ret_error) ||
        !read_range(query, plan_query, arena, ret_error) || !read_order(query, plan_query, ret_error) ||
        !read_path(query, plan_query, ret_error) || !read_sizes(query, limits, &request, ret_error) ||
        !kw_convert_columns(table, query->columns.items, query->columns.count, arena, &request.picks,
                            &request.picks_count, ret_error))
        return false;
    request.skip_undecodable = query->has_skip_undecodable && query->skip_undecodable;
    request.filter = query->has_filter ? query->filter : KW_BYTES_NONE;
    *ret_request = request;
    return true;
}

bool
kw_scan_request_of_query(kw_exchange *exchange, bool given, const kw_api_Query *query,
                         kw_scan_request *ret_request, kw_error *ret_error)
{
    const kw_table *table = NULL;
    if (!given)
        return kw_error_set(ret_error, KW_INVALID, "the argument query is missing");
    return kw_exchange_find_table(exchange, true, query->table, &table, ret_error) &&
           kw_scan_request_on_table(table, &kw_exchange_model(exchange)->limits, query, exchange->call.arena,
                                    ret_request, ret_error) &&
           kw_exchange_read_deadline(exchange, query->has_deadline_ms, query->deadline_ms, ret_error);
}
