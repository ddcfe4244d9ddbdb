/* What a plan says about the queries that a gateway has seen. */
#include "advise/seen.h"

#include "plan/plan.h"
#include "rule/policies.h"

#include <string.h>

#define FIELDS                                                                                               \
    "    fields:\n"                                                                                          \
    "      id: {type: string, max_bytes: 20}\n"                                                              \
    "      ts: timestamp\n"                                                                                  \
    "      kind: string\n"
#define OLD                                                                                                  \
    FIELDS "    key: [{field: id}, {field: ts}]\n    paths: {by_ts: {key: [{field: ts}, {field: id}]}}\n"
#define FRESH                                                                                                \
    FIELDS                                                                                                   \
    "    key: [{salt: {of: [id, ts], buckets: 16}}, {field: id}, {field: ts}]\n"                             \
    "    paths: {by_ts: {key: [{field: ts}, {field: id}]}}\n"
#define WITHOUT_PATH FIELDS "    key: [{field: id}, {field: ts}]\n"

typedef struct queries {
    kw_policy *policy;
    kw_arena *arena;
    kw_seen_query found[40];
    size_t count;
} queries;

static const kw_model_limits limits = {.ranges = 10000};

static void
add(queries *self, int path, const char *id, bool range, kw_order order, uint64_t count)
{
    const kw_table *table = kw_policy_table(self->policy, 0);
    kw_bound *bounds = KW_ARENA_ARRAY(self->arena, kw_bound, table->fields_count);
    kw_value value = test_text(id ? id : "");
    bounds[0] = (kw_bound){&value, id ? 1 : 0};
    kw_record_query query = {
        .table = table, .path = path, .bounds = bounds, .range_field = range ? 1 : -1, .order = order};
    if (range) {
        query.from = test_number(5);
        query.from_inclusive = true;
    }
    kw_buffer out = KW_BUFFER_EMPTY;
    kw_record_query_encode(&query, &out);
    self->found[self->count] = (kw_seen_query){
        .shape = self->count, .encoded = kw_arena_copy(self->arena, kw_buffer_bytes(&out)), .count = count};
    self->count++;
    kw_buffer_clear(&out);
}

static void
assert_compared(const queries *self, const char *fresh_yaml, kw_effort *effort, size_t described,
                const char *expected)
{
    g_autoptr(kw_policy) fresh = test_policy(fresh_yaml);
    kw_buffer out = KW_BUFFER_EMPTY;
    size_t count = kw_seen_queries_compare(kw_policy_table(self->policy, 0), kw_policy_table(fresh, 0),
                                           self->found, self->count, &limits, effort, &out);
    kw_bytes text = kw_buffer_bytes(&out);
    g_autofree char *found = g_strndup(text.size ? (const char *)text.data : "", text.size);
    g_assert_cmpstr(found, ==, expected);
    g_assert_cmpuint(count, ==, described);
    kw_buffer_clear(&out);
}

static queries
queries_new(void)
{
    return (queries){.policy = test_policy(OLD), .arena = kw_arena_new()};
}

static void
queries_clear(queries *self)
{
    kw_policy_unref(self->policy);
    kw_arena_free(self->arena);
}

KW_TEST(test_more_ranges, "/advise/seen/more ranges")
{
    queries self = queries_new();
    add(&self, -1, NULL, true, KW_ORDER_PATH, 2);
    add(&self, -1, "a", true, KW_ORDER_DESCENDING, 7);
    add(&self, -1, "a", false, KW_ORDER_PATH, 1);
    assert_compared(&self, FRESH, NULL, 3,
                    "  Queries that this gateway answered in the last hour: 3 kinds. Rejected by the new "
                    "policy: 0. Answered from more row ranges: 2.\n"
                    "    id bound, range of ts, in descending order (7 times): 1 range of path primary -> 16 "
                    "ranges of path "
                    "primary\n"
                    "    id bound (1 times): 1 range of path primary -> 16 ranges of path primary\n");
    queries_clear(&self);
}

KW_TEST(test_rejected, "/advise/seen/rejected")
{
    queries self = queries_new();
    add(&self, -1, NULL, true, KW_ORDER_PATH, 2);
    add(&self, 1, NULL, true, KW_ORDER_PATH, 3);
    add(&self, -1, "a", true, KW_ORDER_PATH, 7);
    g_autoptr(kw_policy) fresh = test_policy(WITHOUT_PATH);
    kw_buffer out = KW_BUFFER_EMPTY;
    g_assert_cmpuint(kw_seen_queries_compare(kw_policy_table(self.policy, 0), kw_policy_table(fresh, 0),
                                             self.found, self.count, &limits, NULL, &out),
                     ==, 3);
    kw_buffer_append_byte(&out, 0);
    const char *text = (const char *)kw_buffer_bytes(&out).data;
    g_assert_nonnull(
        strstr(text, "3 kinds. Rejected by the new policy: 2. Answered from more row ranges: 0.\n"));
    g_assert_nonnull(strstr(text, "    range of ts (2 times): 1 range of path by_ts -> rejected: "));
    g_assert_nonnull(
        strstr(text, "    range of ts, path by_ts (3 times): 1 range of path by_ts -> rejected: "));
    g_assert_null(strstr(text, "id bound"));
    kw_buffer_clear(&out);
    queries_clear(&self);
}

/* Queries of an earlier policy, and none. */
KW_TEST(test_unknown, "/advise/seen/unknown")
{
    queries self = queries_new();
    assert_compared(&self, FRESH, NULL, 0, "");
    self.found[self.count++] = (kw_seen_query){.encoded = KW_BYTES_LITERAL("junk"), .count = 1};
    assert_compared(&self, FRESH, NULL, 0, "");
    queries_clear(&self);
}

KW_TEST(test_limits, "/advise/seen/limits")
{
    queries self = queries_new();
    kw_effort effort = {.units_most = 1};
    for (unsigned i = 0; i < 25; i++)
        add(&self, -1, "a", false, KW_ORDER_PATH, 1);
    assert_compared(&self, FRESH, &effort, 0,
                    "  Comparing the queries seen lately took too long and was not finished.\n");
    g_autoptr(kw_policy) fresh = test_policy(FRESH);
    kw_buffer out = KW_BUFFER_EMPTY;
    kw_seen_queries_compare(kw_policy_table(self.policy, 0), kw_policy_table(fresh, 0), self.found,
                            self.count, &limits, NULL, &out);
    kw_buffer_append_byte(&out, 0);
    g_auto(GStrv) lines = g_strsplit((const char *)kw_buffer_bytes(&out).data, "\n", -1);
    g_assert_cmpuint(g_strv_length(lines), ==, 1 + 20 + 1 + 1);
    g_assert_cmpstr(lines[21], ==, "    and 5 more");
    kw_buffer_clear(&out);
    queries_clear(&self);
}
