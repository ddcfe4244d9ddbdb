/* Which path answers a query: the one with the whole key, then with more equalities, then with the range,
 * then with fewer ranges to read. */
#include "plan/plan.h"
#include "rule/policies.h"
#include "schema/progress.h"

enum { ID, N, TS, K, FIELDS };

#define TABLE(primary, second)                                                                               \
    "    fields: {id: string, n: int, ts: {type: timestamp}, k: {type: string, values: [a, b]}}\n"           \
    "    key: [" primary "]\n    paths:\n      second: {key: [" second "]}\n"

typedef struct choice {
    const char *yaml;
    bool id, n, ts, k; /* bound fields */
    bool range;        /* of ts */
    const char *path;
    size_t ranges;
    bool residual;
} choice;

static const choice choices[] = {
    {.yaml = TABLE("{field: {name: id, encoding: terminated}}, {enum: k}, {field: n}, {field: ts}",
                   "{enum: k}, {field: {name: id, encoding: terminated}}, {field: n}, {field: ts}"),
     .id = true,
     .path = "primary",
     .ranges = 2}, /* one for each value of k, so that they are in the order of n */
    {.yaml = TABLE("{field: {name: id, encoding: terminated}}, {enum: k}, {field: n}, {field: ts}",
                   "{enum: k}, {field: {name: id, encoding: terminated}}, {field: n}, {field: ts}"),
     .k = true,
     .path = "second",
     .ranges = 1},
    /* The range counts more than the number of ranges. */
    {.yaml = TABLE("{mod: {of: n, buckets: 2}}, {field: {name: id, encoding: terminated}}, {field: ts}, "
                   "{field: n}, {enum: k}",
                   "{field: {name: id, encoding: terminated}}, {field: n}, {field: ts}, {enum: k}"),
     .id = true,
     .range = true,
     .path = "primary",
     .ranges = 2},
    {.yaml = TABLE("{field: {name: id, encoding: terminated}}, {field: n}, {field: ts}, {enum: k}",
                   "{mod: {of: n, buckets: 2}}, {field: {name: id, encoding: terminated}}, {field: ts}, "
                   "{field: n}, {enum: k}"),
     .id = true,
     .range = true,
     .path = "second",
     .ranges = 2},
    /* Without the range, one range is better than two. */
    {.yaml = TABLE("{mod: {of: n, buckets: 2}}, {field: {name: id, encoding: terminated}}, {field: ts}, "
                   "{field: n}, {enum: k}",
                   "{field: {name: id, encoding: terminated}}, {field: n}, {field: ts}, {enum: k}"),
     .id = true,
     .path = "second",
     .ranges = 1},
    /* The whole key is known on both paths. */
    {.yaml =
         TABLE("{hash: id}, {field: {name: id, encoding: terminated}}, {field: ts}, {field: n}, {enum: k}",
               "{field: n}, {field: ts}, {enum: k}, {field: id}"),
     .id = true,
     .n = true,
     .ts = true,
     .k = true,
     .path = "primary",
     .ranges = 1},
    /* ... or only on the second one, although the first one has fewer ranges. */
    {.yaml = TABLE("{field: {name: id, encoding: terminated}}, {enum: k}",
                   "{enum: k}, {field: {name: id, encoding: terminated}}"),
     .id = true,
     .path = "second",
     .ranges = 2},
    /* One range for each bucket, because a bound value follows, whatever comes after it. */
    {.yaml = TABLE("{mod: {of: n, buckets: 4}}, {enum: k}, {hash: id}, {field: n}, {field: ts}, {field: id}",
                   "{hash: id}, {enum: k}, {field: n}, {field: ts}, {field: id}"),
     .k = true,
     .path = "primary",
     .ranges = 4},
    /* More equalities at the beginning of the key. */
    {.yaml = TABLE("{field: n}, {field: ts}, {enum: k}, {field: id}",
                   "{field: n}, {field: {name: id, encoding: terminated}}, {field: ts}, {enum: k}"),
     .id = true,
     .n = true,
     .path = "second",
     .ranges = 1},
    /* A hash is not another equality. */
    {.yaml =
         TABLE("{hash: id}, {field: {name: id, encoding: terminated}}, {field: ts}, {field: n}, {enum: k}",
               "{field: {name: id, encoding: terminated}}, {field: n}, {field: ts}, {enum: k}"),
     .id = true,
     .n = true,
     .path = "second",
     .ranges = 1},
    {.yaml = TABLE("{field: n}, {field: ts}, {enum: k}, {field: id}",
                   "{field: ts}, {field: n}, {enum: k}, {field: id}"),
     .n = true,
     .id = true,
     .path = "primary",
     .ranges = 1,
     .residual = true},
};

static void
check(const choice *it)
{
    g_autoptr(kw_policy) policy = test_policy(it->yaml);
    g_autoptr(kw_arena) arena = kw_arena_new();
    kw_value values[FIELDS] = {test_text("x"), test_number(7), test_number(1500000000000), test_text("a")};
    const bool bound[FIELDS] = {it->id, it->n, it->ts, it->k};
    kw_bound bounds[FIELDS] = {{0}};
    for (size_t i = 0; i < FIELDS; i++)
        if (bound[i])
            bounds[i] = (kw_bound){.values = &values[i], .count = 1};
    kw_record_query query = {.table = kw_policy_table(policy, 0),
                             .path = -1,
                             .bounds = bounds,
                             .range_field = -1,
                             .range_limit = 10000};
    if (it->range) {
        query.range_field = TS;
        query.from = test_number(1500000000000);
        query.to = test_number(1600000000000);
        query.from_inclusive = true;
    }
    const kw_plan *plan;
    kw_error error;
    if (!kw_plan_make(&query, arena, &plan, &error))
        g_error("%s\n%s", it->yaml, error.text);
    if (strcmp(plan->path->name, it->path) != 0 || plan->ranges_count != it->ranges ||
        plan->residual != it->residual)
        g_error("%s\nreads %zu ranges of path %s%s", it->yaml, plan->ranges_count, plan->path->name,
                plan->residual ? " and checks rows" : "");
}

KW_TEST(test_choices, "/plan/paths-edges/choices")
{
    for (size_t i = 0; i < G_N_ELEMENTS(choices); i++)
        check(&choices[i]);
}

/* A query that only a path that is being filled can answer is refused. The error names the path, and how much
 * of it is copied. */
KW_TEST(test_path_that_is_filled, "/plan/paths-edges/path-that-is-filled")
{
    g_autoptr(kw_policy) policy = test_policy(
        "    fields: {id: string, ts: {type: timestamp}}\n"
        "    key: [{hash: id}, {field: {name: id, encoding: terminated}}, {field: ts}]\n    paths:\n"
        "      by_time: {key: [{field: ts}, {field: id}]}\n");
    g_autoptr(kw_arena) arena = kw_arena_new();
    const kw_table *table = kw_policy_table(policy, 0);
    kw_bound bounds[2] = {{0}};
    kw_record_query query = {.table = table,
                             .path = -1,
                             .bounds = bounds,
                             .range_field = 1,
                             .from = test_number(1500000000000),
                             .to = test_number(1600000000000),
                             .order = KW_ORDER_ASCENDING,
                             .range_limit = 100};
    const kw_plan *plan;
    kw_error error = KW_ERROR_NONE;
    g_assert_true(kw_plan_make(&query, arena, &plan, &error));
    g_assert_cmpstr(plan->path->name, ==, "by_time");
    ((kw_placement *)(uintptr_t)table->paths[1].placements)->role.scan = false;
    kw_policy_set_path_filled(policy, "t", "by_time", 40);
    g_assert_false(kw_plan_make(&query, arena, &plan, &error));
    g_assert_cmpint(error.code, ==, KW_REFUSED);
    g_assert_nonnull(strstr(error.text, "path by_time, which is being filled"));
    g_assert_nonnull(strstr(error.text, "40 % of its rows are copied"));
}
