#include "service/query.h"

#include "service/convert.h"
#include "service/show.h"

static bool
bind_one(const kw_api_Query *query, kw_question *question, kw_bound *bounds, kw_arena *arena,
         kw_error *ret_error)
{
    const kw_table *table = question->table;
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
bind_any(const kw_api_Query *query, kw_question *question, kw_bound *bounds, kw_arena *arena,
         kw_error *ret_error)
{
    const kw_table *table = question->table;
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
        if (count > question->range_limit)
            return kw_error_set(ret_error, KW_LIMIT,
                                "table %s, field %s: bound_any has %zu values, at most %zu are allowed",
                                table->name, name, count, question->range_limit);
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
take_range(const kw_api_Query *query, kw_question *question, kw_arena *arena, kw_error *ret_error)
{
    const kw_api_Range *range = query->range;
    size_t field = 0;
    question->range_field = -1;
    if (!query->has_range)
        return true;
    if (!kw_convert_field(question->table, range->field, &field, ret_error))
        return false;
    if (range->has_from_value &&
        !kw_convert_queried(question->table, field, range->from_value, arena, &question->from, ret_error))
        return kw_error_prefix(ret_error, "from_value");
    if (range->has_to_value &&
        !kw_convert_queried(question->table, field, range->to_value, arena, &question->to, ret_error))
        return kw_error_prefix(ret_error, "to_value");
    question->range_field = (int)field;
    question->from_inclusive = range->from_inclusive;
    question->to_inclusive = range->to_inclusive;
    return true;
}

static bool
take_order(const kw_api_Query *query, kw_question *question, kw_error *ret_error)
{
    if (!query->has_order)
        return true;
    if (query->order != KW_API_Order_ASCENDING && query->order != KW_API_Order_DESCENDING)
        return kw_error_set(ret_error, KW_INVALID,
                            "order %d does not exist; it is ASCENDING (1) or DESCENDING (2)", query->order);
    question->order = query->order == KW_API_Order_ASCENDING ? KW_ORDER_ASCENDING : KW_ORDER_DESCENDING;
    return true;
}

static bool
take_path(const kw_api_Query *query, kw_question *question, kw_error *ret_error)
{
    char shown[KW_SHOWN_MAX];
    question->path = -1;
    if (!query->has_path)
        return true;
    question->path = kw_table_find_path(question->table, query->path);
    if (question->path >= 0)
        return true;
    if (kw_table_find_store(question->table, query->path) >= 0)
        return kw_error_set(ret_error, KW_INVALID, "table %s: %s is the association, which holds no records",
                            question->table->name, kw_show_name(query->path, shown));
    g_autoptr(GString) known = g_string_new(NULL);
    for (size_t i = 0; i < question->table->paths_count; i++)
        g_string_append_printf(known, "%s%s", i ? ", " : "", question->table->paths[i].name);
    return kw_error_set(ret_error, KW_NOT_FOUND, "table %s has no path %s; it has: %s", question->table->name,
                        kw_show_name(query->path, shown), known->str);
}

static bool
positive(const char *name, bool given, int64_t value, kw_error *ret_error)
{
    if (!given || value > 0)
        return true;
    return kw_error_set(ret_error, KW_INVALID, "%s must be at least 1, not %" G_GINT64_FORMAT, name, value);
}

/* Reduces page sizes to their limits: the caller gets more pages. */
static bool
take_sizes(const kw_api_Query *query, const kw_model_limits *limits, kw_scan_request *request,
           kw_error *ret_error)
{
    if (!positive("limit", query->has_limit, query->limit, ret_error) ||
        !positive("page_rows", query->has_page_rows, query->page_rows, ret_error) ||
        !positive("page_bytes", query->has_page_bytes, query->page_bytes, ret_error))
        return false;
    request->limit = query->has_limit ? (uint64_t)query->limit : 0;
    request->question.limit = request->limit;
    if (query->has_page_rows)
        request->page_rows = (uint32_t)MIN(query->page_rows, limits->page_rows);
    if (query->has_page_bytes)
        request->page_bytes = (uint32_t)MIN(query->page_bytes, limits->page_bytes);
    return true;
}

bool
kw_scan_request_on_table(const kw_table *table, const kw_model_limits *limits, const kw_api_Query *query,
                         kw_arena *arena, kw_scan_request *ret_request, kw_error *ret_error)
{
    kw_scan_request request = {0};
    kw_question *question = &request.question;
    kw_bound *bounds = KW_ARENA_ARRAY(arena, kw_bound, table->fields_count);
    question->table = table;
    question->bounds = bounds;
    question->range_limit = (size_t)limits->list_values;
    question->full_scan = query->has_full_scan && query->full_scan;
    if (!bind_one(query, question, bounds, arena, ret_error) ||
        !bind_any(query, question, bounds, arena, ret_error) ||
        !take_range(query, question, arena, ret_error) || !take_order(query, question, ret_error) ||
        !take_path(query, question, ret_error) || !take_sizes(query, limits, &request, ret_error) ||
        !kw_convert_columns(table, query->columns.items, query->columns.count, arena, &request.picks,
                            &request.picks_count, ret_error))
        return false;
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
