/* The lines that a plan shows for the changes of a table. */
#include "advise/changes.h"
#include "advise/diff.h"

#include "rule/policies.h"

#include <string.h>

#define FIELDS                                                                                               \
    "    fields:\n"                                                                                          \
    "      id: {type: string, max_bytes: 20}\n"                                                              \
    "      ts: timestamp\n"                                                                                  \
    "      n: int\n"
#define KEY "    key: [{field: id}, {field: ts}]\n"
#define BASE FIELDS KEY
#define BY_TS "    paths: {by_ts: {key: [{field: ts}, {field: id}]}}\n"

static void
assert_table_changes(const kw_policy *old, const kw_policy *fresh, const char *expected)
{
    kw_buffer out = KW_BUFFER_EMPTY;
    kw_table_changes(kw_policy_table(old, 0), kw_policy_table(fresh, 0), &out);
    kw_bytes text = kw_buffer_bytes(&out);
    g_autofree char *found = g_strndup(text.size ? (const char *)text.data : "", text.size);
    g_assert_cmpstr(found, ==, expected);
    kw_buffer_clear(&out);
}

static void
assert_changes(const char *old_yaml, const char *new_yaml, const char *expected)
{
    g_autoptr(kw_policy) old = test_policy(old_yaml), fresh = test_policy(new_yaml);
    assert_table_changes(old, fresh, expected);
}

KW_TEST(test_fields, "/advise/changes/fields")
{
    assert_changes(BASE, BASE, "");
    assert_changes(BASE, FIELDS "      note: string\n" KEY, "  field note: new (string)\n");
    assert_changes(FIELDS "      note: string\n" KEY, BASE,
                   "  field note: removed; its stored values stay\n");
    assert_changes(
        BASE,
        "    fields: {id: {type: string, max_bytes: 20}, ts: timestamp, m: {type: int, column: 'd:n'}}\n" KEY,
        "  field n: renamed to m; its column stays\n");
    assert_changes(
        BASE,
        "    fields: {id: {type: string, max_bytes: 20}, ts: timestamp, n: {type: int, about: x}}\n" KEY,
        "  field n: new description\n");
    assert_changes(
        BASE,
        "    fields: {id: {type: string, max_bytes: 21}, ts: timestamp, n: {type: int, counter: true}}\n" KEY,
        "  field id: other values are accepted in new puts\n  field n: can now be incremented\n");
    assert_changes(BASE, "    fields: {id: {type: string, max_bytes: 20}, ts: timestamp, n: string}\n" KEY,
                   "  field n: another type, unit or encoding\n");
    assert_changes(
        BASE,
        "    fields: {id: {type: string, max_bytes: 20}, ts: timestamp, n: {type: int, column: 'd:x'}}\n" KEY,
        "  field n: another column\n");
    assert_changes(BASE,
                   "    fields: {id: {type: string, max_bytes: 20}, ts: timestamp, n: {type: int, generate: "
                   "sequence}}\n" KEY,
                   "  field n: values are generated in another way\n");
}

KW_TEST(test_paths, "/advise/changes/paths")
{
    assert_changes(BASE, BASE BY_TS, "  path by_ts: new\n");
    assert_changes(BASE BY_TS, BASE,
                   "  path by_ts: dropped; its rows stay until `keyway forget t --path by_ts`\n");
    assert_changes(BASE, FIELDS "    key: [{field: ts}, {field: id}]\n",
                   "  path primary: another key rule\n");
    assert_changes(BASE, BASE "    layout: 2\n    store_table: t2\n",
                   "  path primary: layout 2 instead of 1\n"
                   "  path primary: store table t2 instead of t\n");
    assert_changes(BASE, BASE "    splits: {keys: [m]}\n",
                   "  path primary: other splits, used when its store table is created\n");
}

KW_TEST(test_table, "/advise/changes/table")
{
    assert_changes(BASE, BASE "    about: a table\n", "  new description\n");
    assert_changes(BASE, BASE "    order: stamp\n", "  order: stamp\n");
    assert_changes(BASE, BASE "    atomics: false\n", "  atomics: false\n");
    assert_changes(BASE, BASE "    families: {d: {ttl: 1d}}\n",
                   "  other options of families; existing store tables keep theirs\n");
    assert_changes(BASE, BASE "    marker: 'd:x'\n", "  another marker cell\n");
}

/* The placement that a change of a key rule has set is not reported as a difference of the texts. */
KW_TEST(test_placed, "/advise/changes/placed")
{
    static const kw_placing moved = {.table = "t", .path = "primary", .given = {1, "t"}, .now = {5, "t_L5"}};
    g_autoptr(kw_policy) text = test_policy(BASE), other = test_policy(BASE "    layout: 2\n");
    g_autoptr(kw_diagnostics) problems = kw_diagnostics_new("test");
    g_autoptr(kw_policy) placed = kw_policy_new_placed(kw_policy_model(text), &moved, 1, problems);
    g_assert_true(kw_bytes_equal(kw_policy_table(placed, 0)->paths[0].store_table, KW_BYTES_LITERAL("t_L5")));
    assert_table_changes(placed, text, "");
    assert_table_changes(text, placed, "");
    assert_table_changes(placed, other, "  path primary: layout 2 instead of 1\n");
    g_autoptr(kw_arena) arena = kw_arena_new();
    g_assert_cmpstr(kw_policy_diff(placed, text, NULL, arena), ==,
                    "no difference in tables, fields, rules and queries\n");
    const char *diff = kw_policy_diff(placed, other, NULL, arena);
    g_assert_nonnull(strstr(diff, "path primary: layout 1 -> 2, though the rule is the same"));
}
