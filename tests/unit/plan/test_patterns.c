/* The patterns of a plan: which keys they keep, by brute force over all keys of a small table. Patterns keep
 * the keys of all records that meet the query. If the conditions need few patterns, they keep no others. */
#include "base/pattern.h"
#include "plan/planner.h"
#include "rule/policies.h"

enum { M, N, K, ID, FIELDS };

/* Records have m from -MOST to MOST. */
#define MOST 400
#define EVERY (2 * MOST + 1)

typedef struct pattern_case {
    const char *query;
    size_t patterns;
    size_t kept; /* numbers m of keys that the patterns keep, for one n that meets the query */
} pattern_case;

#define WHERE "k=a full " /* the ranges have the prefix k; what follows is n, then m */

static const pattern_case cases[] = {
    {WHERE "m=5", 1, 1},
    {WHERE "m=1,9", 2, 2},
    {WHERE "m=1,9 n=1,2,3", 0, 2}, /* the ranges have no other m */
    {WHERE "m=-1,0,255,256", 4, 4},
    {WHERE "m=1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16", 16, 16},
    {WHERE "m=1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17", 0, EVERY},
    {WHERE "m>=3 m<9", 6, 6},
    {WHERE "m>3 m<=9", 6, 6},
    {WHERE "m>=3 m<=3", 1, 1},
    {WHERE "m>=0 m<=15", 16, 16},
    {WHERE "m>=0 m<=16", 1, 256},             /* the first byte of m */
    {WHERE "m>=250 m<260", 10, 10},           /* the first byte changes */
    {WHERE "m>=-5 m<5", 10, 10},              /* ... and the sign */
    {WHERE "m>=200 m<300", 2, EVERY / 2 + 1}, /* 0 to 511 */
    {WHERE "m>250 m<=255", 5, 5},             /* the excluded end begins with another byte */
    {WHERE "m>=-300 m<-256", 1, MOST - 256},  /* -512 to -257 */
    {WHERE "m>=-5", 0, EVERY},
    {WHERE "m<-390", 0, EVERY},
};

static bool
is_in_range(const kw_plan *plan, kw_bytes key)
{
    bool found = false;
    for (size_t i = 0; i < plan->ranges_count; i++)
        found = found || (kw_bytes_compare(key, plan->ranges[i].start) >= 0 &&
                          kw_bytes_compare(key, plan->ranges[i].stop) < 0);
    return found;
}

/* The numbers m whose keys are kept; aborts if the key of a record that meets the query is not. */
static size_t
count_kept(const kw_test_planner *planner, const kw_plan *plan, int64_t n)
{
    kw_patterns patterns = kw_plan_patterns(plan, 0);
    kw_buffer key = KW_BUFFER_EMPTY;
    size_t kept = 0;
    for (int64_t m = -MOST; m <= MOST; m++) {
        kw_value values[FIELDS] = {
            [M] = test_number(m), [N] = test_number(n), [K] = test_text("a"), [ID] = test_text("x")};
        kw_record record = {.values = values};
        key.size = 0;
        bool done = kw_layout_encode(planner->table->paths[0].layout, &record, &key, NULL);
        g_assert_true(done);
        if (!is_in_range(plan, kw_buffer_bytes(&key)))
            continue;
        bool match = kw_patterns_match(&patterns, kw_buffer_bytes(&key));
        g_assert_true(match || !kw_plan_matches(plan, &record));
        kept += match;
    }
    kw_buffer_clear(&key);
    return kept;
}

static void
check(const char *form)
{
    g_autofree char *yaml = g_strdup_printf(
        "    fields: {m: int, n: int, k: {type: string, values: [a, b]}, id: string}\n"
        "    key: [{enum: k}, {field: {name: n, width: 1}}, {field: {name: m, width: 2%s}}, {field: id}]\n",
        form);
    g_autoptr(kw_test_planner) planner = planner_new(yaml);
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        const kw_plan *plan;
        kw_error error = KW_ERROR_NONE;
        planner_reset(planner);
        planner_set_query(planner, cases[i].query);
        if (!kw_plan_make(&planner->query, planner->arena, &plan, &error))
            g_error("%s: %s", cases[i].query, error.text);
        size_t kept = count_kept(planner, plan, 1);
        if (plan->patterns_count != cases[i].patterns || kept != cases[i].kept)
            g_error("%s%s: %zu patterns keep %zu numbers", cases[i].query, form, plan->patterns_count, kept);
    }
}

KW_TEST(test_kept, "/plan/patterns/kept")
{
    check("");
}

/* A pattern continues after a text of known length, but not after one of several texts of different lengths.
 */
KW_TEST(test_after_text, "/plan/patterns/after-text")
{
    static const struct {
        const char *query;
        size_t patterns, size; /* bytes of each pattern */
    } sizes[] = {
        {"k=a id=xyz n=5 full", 1, 1 + 4 + 2},
        {"k=a id=xyz,abc n=5 full", 2, 1 + 4 + 2},
        {"k=a id=xyz full", 1, 1 + 4},
        {"k=a id=xyz,ab n=5 full", 2, 0},
    };
    g_autoptr(kw_test_planner) planner = planner_new(
        "    fields: {m: int, n: int, k: {type: string, values: [a, b]}, id: string}\n"
        "    key: [{enum: k}, {field: {name: m, width: 1}}, {field: {name: id, encoding: terminated}},\n"
        "          {field: {name: n, width: 2}}]\n");
    for (size_t i = 0; i < G_N_ELEMENTS(sizes); i++) {
        const kw_plan *plan;
        planner_reset(planner);
        planner_set_query(planner, sizes[i].query);
        bool done = kw_plan_make(&planner->query, planner->arena, &plan, NULL);
        g_assert_true(done);
        g_assert_cmpuint(plan->patterns_count, ==, sizes[i].patterns);
        for (size_t k = 0; k < plan->patterns_count && sizes[i].size; k++)
            g_assert_cmpuint(plan->patterns[k].bytes.size, ==, sizes[i].size);
    }
}

/* A text that is longer than a pattern can be ends the patterns before it. */
KW_TEST(test_long_text, "/plan/patterns/long-text")
{
    static const struct {
        size_t size;
        size_t pattern; /* its bytes, of which the last ones are the text and its end; 0: no pattern */
    } sizes[] = {{100, 4 + 101}, {251, 4 + 252}, {252, 0}, {3000, 0}};
    g_autoptr(kw_test_planner) planner = planner_new(
        "    fields: {m: int, k: {type: string, values: [a, b]}, id: {type: string, max_bytes: 4000}}\n"
        "    key: [{enum: k}, {field: {name: m, width: 4}}, {field: {name: id, encoding: terminated}}]\n");
    for (size_t i = 0; i < G_N_ELEMENTS(sizes); i++) {
        g_autofree char *id = g_strnfill(sizes[i].size, 'x');
        g_autofree char *query = g_strdup_printf("k=a id=%s full", id);
        const kw_plan *plan;
        planner_reset(planner);
        planner_set_query(planner, query);
        bool done = kw_plan_make(&planner->query, planner->arena, &plan, NULL);
        g_assert_true(done);
        g_assert_cmpuint(plan->patterns_count, ==, sizes[i].pattern > 0);
        g_assert_cmpuint(plan->patterns_count ? plan->patterns[0].bytes.size : 0, ==, sizes[i].pattern);
    }
}

/* The byte of a salt of two fields is in a pattern if the query binds both of them. */
KW_TEST(test_of_two_fields, "/plan/patterns/of-two-fields")
{
    enum { ID_BYTES = 8 };
    static const struct {
        const char *query;
        bool salted;
    } queries[] = {{"k=a m=5 n=7 full", true}, {"k=a m=5 full", false}, {"k=a n=7 full", false}};
    g_autoptr(kw_test_planner) planner = planner_new(
        "    fields: {m: int, n: int, k: {type: string, values: [a, b]}, id: int}\n"
        "    key: [{enum: k}, {field: id}, {salt: {of: [m, n], buckets: 4}}, {field: m}, {field: n}]\n");
    for (size_t i = 0; i < G_N_ELEMENTS(queries); i++) {
        const kw_plan *plan;
        planner_reset(planner);
        planner_set_query(planner, queries[i].query);
        bool done = kw_plan_make(&planner->query, planner->arena, &plan, NULL);
        g_assert_true(done);
        g_assert_cmpuint(plan->patterns_count, ==, 1);
        g_assert_cmpuint(plan->patterns[0].bytes.size, >, ID_BYTES);
        g_assert_cmpint(plan->patterns[0].mask[ID_BYTES], ==, !queries[i].salted);
    }
}
