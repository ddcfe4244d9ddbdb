/* How a store table differs from the policy, and which store tables are refused. */
#include "desk.h"

#include "verb/store_table.h"

#include <string.h>

#define DAY_S 86400
#define PERIOD_S (365 * DAY_S)

static const char policy[] =
    "store: {kind: embedded}\ntables:\n"
    "  round:\n    store_table: R\n    major_compaction: 1d\n    families: {d: {ttl: 30d}}\n"
    "    fields: {id: {type: string, max_bytes: 20}, at: {type: timestamp, unit: s}, n: int}\n"
    "    key: [calendar: {of: at, parts: [MM, dd]}, field: id]\n"
    "  plain:\n    store_table: P\n    families: {d: {ttl: 1h, versions: 3}, e: {min_versions: 1, ttl: 2h}}\n"
    "    fields: {id: string, n: int, m: {type: int, column: \"e:m\"}}\n    key: [field: id]\n"
    "  found:\n    store_table: F\n    fields: {id: string, n: int}\n"
    "    key: [salt: {algorithm: random, buckets: 4}, field: id]\n"
    "    paths:\n      where: {association: true, store_table: A, key: [field: id]}\n"
    "  hinted:\n    store_table: H\n    families: {d: {ttl: 10d}, e: {ttl: 20d}, f: {}}\n"
    "    fields: {id: string, n: int, m: {type: int, column: \"e:m\"}, k: {type: int, column: \"f:k\"}}\n"
    "    key: [field: id]\n    paths:\n      by_n: {key: [n, id]}\n      by_m: {key: [n, m, id]}\n"
    "      by_k: {key: [n, k, id]}\n";

typedef struct store {
    bool exists;
    const char *names; /* one letter for each family */
    kw_family_spec d, e;
} store;

static kw_store_table_verdict
judge(desk *self, const kw_path *path, const store *of)
{
    static kw_family_spec families[2];
    size_t count = strlen(of->names);
    for (size_t i = 0; i < count; i++) {
        families[i] = of->names[i] == 'd' ? of->d : of->e;
        families[i].name = of->names[i] == 'd' ? "d" : "e";
    }
    kw_table_facts facts = {.exists = of->exists, .families = families, .families_count = count};
    kw_store_table_verdict verdict;
    kw_store_table_judge(path->placements, &facts, self->call.arena, &verdict);
    return verdict;
}

#define DIFFERS "table plain, path primary: the store table P differs from the policy: "
#define SAME_D                                                                                               \
    {                                                                                                        \
        .ttl_seconds = 3600, .max_versions = 3, .keep_deleted_cells = -1                                     \
    }
#define SAME_E                                                                                               \
    {                                                                                                        \
        .ttl_seconds = 7200, .max_versions = 1, .min_versions = 1                                            \
    }

static const struct {
    store store;
    const char *differences; /* NULL: none */
} plain[] = {
    {{true, "de", SAME_D, SAME_E}, NULL},
    {{true, "ed", {.ttl_seconds = 3600, .max_versions = 3, .keep_deleted_cells = 0}, SAME_E}, NULL},
    {{false, "", SAME_D, SAME_E},
     "table plain, path primary: the store has no table P; keyway create plain creates it"},
    {{true, "d", SAME_D, SAME_E}, DIFFERS "it has no family e"},
    {{true, "", SAME_D, SAME_E}, DIFFERS "it has no family d; it has no family e"},
    {{true, "de", {.max_versions = 3}, SAME_E}, DIFFERS "family d keeps cells without a ttl, not for 3600 s"},
    {{true, "de", {.ttl_seconds = 60, .max_versions = 1}, SAME_E},
     DIFFERS "family d keeps cells for 60 s, not for 3600 s; family d has max_versions 1, not 3"},
    {{true,
      "de",
      {.ttl_seconds = 3600, .max_versions = 3, .min_versions = 2, .keep_deleted_cells = 1},
      SAME_E},
     DIFFERS "family d has min_versions 2, not 0; family d keeps deleted cells"},
    {{true, "de", SAME_D, {.ttl_seconds = 7200}}, DIFFERS "family e has min_versions 0, not 1"},
};

KW_TEST(test_differences, "/verb/store_table/differences")
{
    desk *self = desk_new(policy);
    const kw_path *path = desk_table(self, "plain")->paths;
    for (size_t i = 0; i < G_N_ELEMENTS(plain); i++) {
        kw_store_table_verdict verdict = judge(self, path, &plain[i].store);
        g_assert_cmpstr(verdict.differences, ==, plain[i].differences);
        g_assert_cmpint(verdict.refusal.code, ==, KW_OK);
    }
    desk_free(self);
}

static const struct {
    kw_family_spec family;
    const char *keeps; /* NULL: it is served */
} circular[] = {
    {{.ttl_seconds = 30 * DAY_S}, NULL},
    {{.ttl_seconds = 1, .max_versions = 100, .keep_deleted_cells = 1}, NULL},
    {{.ttl_seconds = PERIOD_S - 2 * DAY_S}, NULL},
    {{.ttl_seconds = PERIOD_S - 2 * DAY_S + 1}, "keeps cells for 31363201 s, so"},
    {{.ttl_seconds = 0}, "keeps cells without a ttl, so"},
    {{.ttl_seconds = 30 * DAY_S, .min_versions = 1}, "for 2592000 s and at least 1 versions of them, so"},
};

KW_TEST(test_circular, "/verb/store_table/circular")
{
    desk *self = desk_new(policy);
    const kw_path *path = desk_table(self, "round")->paths;
    for (size_t i = 0; i < G_N_ELEMENTS(circular); i++) {
        store of = {true, "d", circular[i].family, {0}};
        kw_store_table_verdict verdict = judge(self, path, &of);
        g_assert_cmpint(verdict.refusal.code, ==, circular[i].keeps ? KW_REFUSED : KW_OK);
        if (!circular[i].keeps)
            continue;
        g_assert_nonnull(strstr(verdict.refusal.text, circular[i].keeps));
        g_assert_nonnull(
            strstr(verdict.refusal.text, "table round, path primary: the row keys of calendar("));
        g_assert_nonnull(strstr(verdict.refusal.text, "give the family a ttl of at most 31363200 s"));
        bool least = circular[i].family.min_versions > 0;
        g_assert_true(least == (strstr(verdict.refusal.text, " s and no min_versions, or name") != NULL));
    }
    /* A table that is missing, or lacks the family, has no cells that could stay. */
    g_assert_cmpint(judge(self, path, &(store){.exists = false, .names = ""}).refusal.code, ==, KW_OK);
    g_assert_cmpint(judge(self, path, &(store){.exists = true, .names = ""}).refusal.code, ==, KW_OK);
    desk_free(self);
}

static void
assert_hints(desk *self, const char *name, const store *of, const char *refusal)
{
    const kw_table *table = desk_table(self, "hinted");
    const kw_path *path = &table->paths[kw_table_find_path(table, kw_bytes_of_text(name))];
    kw_store_table_verdict verdict = judge(self, path, of);
    g_assert_cmpint(verdict.refusal.code, ==, refusal ? KW_REFUSED : KW_OK);
    if (refusal && !strstr(verdict.refusal.text, refusal))
        g_error("got: %s", verdict.refusal.text);
}

/* Hints must not expire before the fields in their keys, which can be in families with different TTLs. */
KW_TEST(test_hint_ttl, "/verb/store_table/ttl of hints")
{
    desk *self = desk_new(policy);
    const store none = {true, "d", {0}, {0}}, ten = {true, "d", {.ttl_seconds = 11 * DAY_S}, {0}},
                twenty = {true, "d", {.ttl_seconds = 21 * DAY_S}, {0}},
                less = {true, "d", {.ttl_seconds = 21 * DAY_S - 1}, {0}};
    static const char *const names[] = {"by_n", "by_m", "by_k"};
    for (size_t i = 0; i < G_N_ELEMENTS(names); i++)
        assert_hints(self, names[i], &none, NULL);
    assert_hints(self, "by_n", &ten, NULL);
    assert_hints(
        self, "by_m", &ten,
        "table hinted, path by_m: family d of the store table H_by_m keeps cells for 950400 s, so rows "
        "of the path expire before the fields in their keys; in the store, give the family a ttl of at "
        "least 1814400 s");
    assert_hints(self, "by_m", &twenty, NULL);
    assert_hints(self, "by_m", &less, "keeps cells for 1814399 s, so");
    assert_hints(self, "by_k", &twenty, "in the store, remove the ttl of the family");
    desk_free(self);
}

/* The TTL of hints is computed from the policy, so the records must not be kept longer than it says. */
KW_TEST(test_record_ttl, "/verb/store_table/ttl of records with hints")
{
    desk *self = desk_new(policy);
    const store same = {true, "d", {.ttl_seconds = 10 * DAY_S}, {0}},
                shorter = {true, "d", {.ttl_seconds = DAY_S}, {0}},
                longer = {true, "d", {.ttl_seconds = 10 * DAY_S + 1}, {0}}, forever = {true, "d", {0}, {0}},
                least = {true, "d", {.ttl_seconds = DAY_S, .min_versions = 1}, {0}};
    assert_hints(self, "primary", &same, NULL);
    assert_hints(self, "primary", &shorter, NULL);
    assert_hints(
        self, "primary", &longer,
        "table hinted: family d of the store table H keeps cells for 864001 s, and the policy says for "
        "864000 s; the rows of path by_n, whose key has fields that can change, would expire before the "
        "records: give the family the same settings");
    assert_hints(self, "primary", &forever, "keeps cells without a ttl, and the policy says for 864000 s");
    assert_hints(self, "primary", &least, "for 86400 s and some versions of them longer, and the policy");
    desk_free(self);
}

/* The settings of its family do not come from the policy. */
KW_TEST(test_association, "/verb/store_table/association")
{
    desk *self = desk_new(policy);
    const kw_path *path = desk_table(self, "found")->locators->path;
    store of = {true, "d", {.ttl_seconds = 60, .max_versions = 7}, {0}},
          without = {.exists = true, .names = ""};
    g_assert_null(judge(self, path, &of).differences);
    g_assert_nonnull(strstr(judge(self, path, &without).differences, "it has no family d"));
    desk_free(self);
}
