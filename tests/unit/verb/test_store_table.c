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
    "    paths:\n      where: {association: true, store_table: A, key: [field: id]}\n";

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
