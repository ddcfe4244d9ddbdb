/* Which queries a loop remembers. */
#include "service/seen_queries.h"

#include "unit/service/fixture.h"

#include <string.h>

#define SECOND_NS UINT64_C(1000000000)

typedef struct seen_fixture {
    service_fixture *fix;
    kw_arena *arena;
    const kw_table *table;
    kw_seen_queries *seen;
    uint64_t now_ns;
} seen_fixture;

static seen_fixture
seen_fixture_new(void)
{
    service_fixture *fix = service_fixture_new();
    kw_arena *arena = fix->exchange.call.arena;
    return (seen_fixture){.fix = fix,
                          .arena = arena,
                          .table = kw_policy_table(fix->exchange.call.policy, 0),
                          .seen = kw_seen_queries_new(),
                          .now_ns = 7 * SECOND_NS};
}

static void
seen_fixture_clear(seen_fixture *self)
{
    kw_seen_queries_free(self->seen);
    service_fixture_free(self->fix);
}

/* Notes a query with `count` values of a field. */
static void
note(seen_fixture *self, size_t field, const char *value, size_t count, kw_order order)
{
    kw_bound *bounds = KW_ARENA_ARRAY(self->arena, kw_bound, self->table->fields_count);
    kw_value *values = KW_ARENA_ARRAY(self->arena, kw_value, count);
    for (size_t i = 0; i < count; i++)
        values[i] = (kw_value){.kind = KW_VALUE_TEXT, .bytes = kw_bytes_of_text(value)};
    bounds[field] = (kw_bound){values, count};
    const kw_record_query query = {
        .table = self->table, .path = -1, .bounds = bounds, .range_field = -1, .order = order};
    kw_seen_queries_note(self->seen, &query, self->now_ns);
}

static GArray *
collect(seen_fixture *self, const char *table)
{
    GArray *found = g_array_new(FALSE, FALSE, sizeof(kw_seen_query));
    kw_seen_queries_collect(self->seen, table, self->now_ns, self->arena, found);
    return found;
}

static void
assert_counts(seen_fixture *self, size_t count, uint64_t first)
{
    g_autoptr(GArray) found = collect(self, self->table->name);
    g_assert_cmpuint(found->len, ==, count);
    if (count)
        g_assert_cmpuint(g_array_index(found, kw_seen_query, 0).count, ==, first);
}

KW_TEST(test_shapes, "/service/seen queries/shapes")
{
    seen_fixture self = seen_fixture_new();
    assert_counts(&self, 0, 0);
    note(&self, 0, "a", 1, KW_ORDER_PATH);
    note(&self, 0, "b", 1, KW_ORDER_PATH);
    assert_counts(&self, 1, 2);
    note(&self, 0, "a", 2, KW_ORDER_PATH);
    note(&self, 0, "a", 3, KW_ORDER_PATH);
    assert_counts(&self, 2, 2);
    note(&self, 1, "a", 1, KW_ORDER_PATH);
    note(&self, 0, "a", 1, KW_ORDER_DESCENDING);
    assert_counts(&self, 4, 2);
    g_autoptr(GArray) other = collect(&self, "other");
    g_assert_cmpuint(other->len, ==, 0);
    seen_fixture_clear(&self);
}

/* The query that is kept can be planned again; queries of several loops are added. */
KW_TEST(test_kept, "/service/seen queries/kept")
{
    seen_fixture self = seen_fixture_new();
    note(&self, 0, "abc", 20, KW_ORDER_PATH);
    g_autoptr(GArray) found = collect(&self, self.table->name);
    kw_seen_queries_collect(self.seen, self.table->name, self.now_ns, self.arena, found);
    g_assert_cmpuint(found->len, ==, 1);
    const kw_seen_query *kept = &g_array_index(found, kw_seen_query, 0);
    g_assert_cmpuint(kept->count, ==, 2);
    kw_record_query query;
    size_t used;
    kw_error error;
    g_assert_true(kw_record_query_decode(self.table, kept->encoded, self.arena, &query, &used, &error));
    g_assert_cmpuint(query.bounds[0].count, ==, 8);
    g_assert_true(kw_bytes_equal(query.bounds[0].values[0].bytes, KW_BYTES_LITERAL("abc")));
    seen_fixture_clear(&self);
}

KW_TEST(test_old_and_long, "/service/seen queries/old and long")
{
    seen_fixture self = seen_fixture_new();
    g_autofree char *large = g_strnfill(KW_SEEN_QUERY_BYTES, 'x');
    note(&self, 0, large, 1, KW_ORDER_PATH);
    assert_counts(&self, 0, 0);
    note(&self, 0, "a", 1, KW_ORDER_PATH);
    self.now_ns += KW_SEEN_QUERIES_KEEP_NS;
    assert_counts(&self, 1, 1);
    self.now_ns += 1;
    assert_counts(&self, 0, 0);
    seen_fixture_clear(&self);
}

/* More shapes than places: the one seen longest ago makes space. */
KW_TEST(test_replaced, "/service/seen queries/replaced")
{
    seen_fixture self = seen_fixture_new();
    kw_bound *bounds = KW_ARENA_ARRAY(self.arena, kw_bound, self.table->fields_count);
    kw_table renamed = *self.table;
    kw_record_query query = {.table = &renamed, .path = -1, .bounds = bounds, .range_field = -1};
    for (unsigned i = 0; i <= KW_SEEN_QUERIES_MAX; i++) {
        g_autofree char *name = g_strdup_printf("t%u", i);
        renamed.name = name;
        kw_seen_queries_note(self.seen, &query, self.now_ns + i);
        if (i == 20) { /* the first one is used again */
            renamed.name = "t0";
            kw_seen_queries_note(self.seen, &query, self.now_ns + i);
        }
    }
    g_autoptr(GArray) first = collect(&self, "t0"), second = collect(&self, "t1"),
                      third = collect(&self, "t2");
    g_assert_cmpuint(first->len, ==, 1);
    g_assert_cmpuint(second->len, ==, 0);
    g_assert_cmpuint(third->len, ==, 1);
    seen_fixture_clear(&self);
}
