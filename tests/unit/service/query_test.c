/* Conversion of queries, and the errors for invalid ones. */
#include "service/methods/query.h"

#include "unit/service/fixture.h"

#include <glib.h>

static bool
ask(service_fixture *fix, const kw_api_Query *query, kw_scan_request *ret_request, kw_error *ret_error)
{
    *ret_error = KW_ERROR_NONE;
    return kw_scan_request_of_query(&fix->exchange, true, query, ret_request, ret_error);
}

static void
expect_refusal(service_fixture *fix, const kw_api_Query *query, kw_code code, const char *text)
{
    kw_scan_request request;
    kw_error error;
    g_assert_false(ask(fix, query, &request, &error));
    g_assert_cmpint(error.code, ==, code);
    if (!strstr(error.text, text))
        g_error("\"%s\" does not say \"%s\"", error.text, text);
}

static void
bind_one(kw_api_Query *query, const char *name, kw_api_Value value, kw_arena *arena)
{
    query->bound.items = kw_arena_alloc0(arena, sizeof *query->bound.items);
    query->bound.items[0].key = kw_bytes_of_text(name);
    query->bound.items[0].value = value;
    query->bound.count = 1;
    query->has_bound = true;
}

static void
bind_any(kw_api_Query *query, const char *name, uint32_t count, kw_arena *arena)
{
    query->bound_any.items = kw_arena_alloc0(arena, sizeof *query->bound_any.items);
    query->bound_any.items[0].key = kw_bytes_of_text(name);
    query->bound_any.items[0].value.items = kw_arena_alloc0(arena, (count + 1) * sizeof(kw_api_Value));
    query->bound_any.items[0].value.count = count;
    for (uint32_t i = 0; i < count; i++)
        query->bound_any.items[0].value.items[i] =
            (kw_api_Value){.has_text = true, .text = KW_BYTES_LITERAL("x")};
    query->bound_any.count = 1;
    query->has_bound_any = true;
}

KW_TEST(test_a_query_with_all_members, "/service/query/whole")
{
    service_fixture *fix = service_fixture_new();
    kw_arena *arena = fix->exchange.call.arena;
    kw_api_Value from = {.has_number = true, .number = 5}, to = {.has_number = true, .number = 9};
    kw_api_Range range = {.field = KW_BYTES_LITERAL("ts"),
                          .has_from_value = true,
                          .from_value = &from,
                          .has_to_value = true,
                          .to_value = &to,
                          .from_inclusive = true};
    kw_bytes columns[] = {KW_BYTES_LITERAL("count")};
    kw_api_Query query = {.table = KW_BYTES_LITERAL("events"),
                          .has_range = true,
                          .range = &range,
                          .has_order = true,
                          .order = KW_API_Order_ASCENDING,
                          .has_path = true,
                          .path = KW_BYTES_LITERAL("by_time"),
                          .has_columns = true,
                          .has_limit = true,
                          .limit = 7,
                          .has_page_rows = true,
                          .page_rows = 5000,
                          .has_page_bytes = true,
                          .page_bytes = 10,
                          .has_full_scan = true,
                          .full_scan = true,
                          .has_filter = true,
                          .filter = KW_BYTES_LITERAL("f"),
                          .has_deadline_ms = true,
                          .deadline_ms = 1000};
    query.columns.items = columns;
    query.columns.count = 1;
    bind_one(&query, "id", (kw_api_Value){.has_text = true, .text = KW_BYTES_LITERAL("a")}, arena);
    bind_any(&query, "status", 0, arena);
    query.bound_any.count = 0;
    kw_scan_request request;
    kw_error error;
    g_assert_true(ask(fix, &query, &request, &error));
    const kw_record_query *plan_query = &request.query;
    g_assert_true(plan_query->table == fix->table);
    g_assert_cmpint(plan_query->path, ==, 1);
    g_assert_cmpuint(plan_query->bounds[0].count, ==, 1);
    g_assert_cmpuint(plan_query->bounds[1].count, ==, 0);
    g_assert_cmpint(plan_query->range_field, ==, 1);
    g_assert_cmpint(plan_query->from.number, ==, 5);
    g_assert_cmpint(plan_query->to.number, ==, 9);
    g_assert_true(plan_query->from_inclusive && !plan_query->to_inclusive && plan_query->full_scan);
    g_assert_cmpint(plan_query->order, ==, KW_ORDER_ASCENDING);
    g_assert_cmpuint(plan_query->limit, ==, 7);
    g_assert_cmpuint(plan_query->range_limit, ==, 3);
    g_assert_cmpuint(request.limit, ==, 7);
    g_assert_cmpuint(request.page_rows, ==, 100); /* reduced to the limit */
    g_assert_cmpuint(request.page_bytes, ==, 10);
    g_assert_cmpuint(request.picks_count, ==, 1);
    g_assert_cmpuint(request.filter.size, ==, 1);
    g_assert_cmpint(kw_deadline_left_ms(fix->exchange.call.deadline), <=, 1000);
    service_fixture_free(fix);
}

KW_TEST(test_defaults, "/service/query/defaults")
{
    service_fixture *fix = service_fixture_new();
    kw_scan_request request;
    kw_error error;
    g_assert_true(ask(fix, &(kw_api_Query){.table = KW_BYTES_LITERAL("events")}, &request, &error));
    g_assert_cmpint(request.query.path, ==, -1);
    g_assert_cmpint(request.query.range_field, ==, -1);
    g_assert_cmpint(request.query.order, ==, KW_ORDER_PATH);
    g_assert_false(request.query.full_scan);
    g_assert_cmpuint(request.limit + request.page_rows + request.page_bytes + request.picks_count, ==, 0);
    g_assert_true(fix->exchange.call.deadline == KW_DEADLINE_NONE);
    service_fixture_free(fix);
}

/* A range without the optional members includes its first value and excludes its last one. */
KW_TEST(test_the_ends_of_a_range, "/service/query/range")
{
    service_fixture *fix = service_fixture_new();
    kw_scan_request request;
    kw_error error;
    kw_api_Range range = {.field = KW_BYTES_LITERAL("ts")};
    kw_api_Query query = {.table = KW_BYTES_LITERAL("events"), .has_range = true, .range = &range};
    g_assert_true(ask(fix, &query, &request, &error));
    g_assert_true(request.query.from_inclusive && !request.query.to_inclusive);
    range.has_from_inclusive = range.has_to_inclusive = true;
    g_assert_true(ask(fix, &query, &request, &error));
    g_assert_false(request.query.from_inclusive || request.query.to_inclusive);
    range.from_inclusive = range.to_inclusive = true;
    g_assert_true(ask(fix, &query, &request, &error));
    g_assert_true(request.query.from_inclusive && request.query.to_inclusive);
    service_fixture_free(fix);
}

KW_TEST(test_refusals, "/service/query/refusals")
{
    service_fixture *fix = service_fixture_new();
    kw_arena *arena = fix->exchange.call.arena;
    const kw_api_Query plain = {.table = KW_BYTES_LITERAL("events")};
    kw_api_Query query = {.table = KW_BYTES_LITERAL("evnts")};
    expect_refusal(fix, &query, KW_NOT_FOUND, "there is no table \"evnts\"; did you mean \"events\"?");

    query = plain;
    query.has_path = true;
    query.path = KW_BYTES_LITERAL("by_tme");
    expect_refusal(fix, &query, KW_NOT_FOUND, "no path \"by_tme\"; it has: primary, by_time");

    query = plain;
    query.has_order = true;
    query.order = 9;
    expect_refusal(fix, &query, KW_INVALID, "order 9");

    query = plain;
    query.has_limit = true;
    expect_refusal(fix, &query, KW_INVALID, "limit must be at least 1, not 0");
    query = plain;
    query.has_page_rows = true;
    query.page_rows = -5;
    expect_refusal(fix, &query, KW_INVALID, "page_rows must be at least 1, not -5");
    query = plain;
    query.has_deadline_ms = true;
    expect_refusal(fix, &query, KW_INVALID, "deadline_ms");

    query = plain;
    bind_any(&query, "id", 0, arena);
    expect_refusal(fix, &query, KW_INVALID, "field id: bound_any has no values");
    bind_any(&query, "id", 4, arena);
    expect_refusal(fix, &query, KW_LIMIT, "field id: bound_any has 4 values, at most 3");
    bind_any(&query, "id", 2, arena);
    bind_one(&query, "id", (kw_api_Value){.has_text = true, .text = KW_BYTES_LITERAL("a")}, arena);
    expect_refusal(fix, &query, KW_INVALID, "field id: is bound twice");

    query = plain;
    kw_api_Value wrong = {.has_text = true};
    kw_api_Range range = {.field = KW_BYTES_LITERAL("ts"), .has_to_value = true, .to_value = &wrong};
    query.has_range = true;
    query.range = &range;
    expect_refusal(fix, &query, KW_INVALID, "to_value: table events, field ts");
    range.field = KW_BYTES_LITERAL("tss");
    expect_refusal(fix, &query, KW_INVALID, "did you mean \"ts\"?");
    service_fixture_free(fix);
}

KW_TEST(test_a_missing_query, "/service/query/missing")
{
    service_fixture *fix = service_fixture_new();
    kw_scan_request request;
    kw_error error = KW_ERROR_NONE;
    g_assert_false(kw_scan_request_of_query(&fix->exchange, false, NULL, &request, &error));
    g_assert_nonnull(strstr(error.text, "the argument query is missing"));
    service_fixture_free(fix);
}
