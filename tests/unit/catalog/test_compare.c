/* The changes that a policy can and cannot make while the table holds rows. Each case is a table before
 * and after, the store tables that hold rows, and a part of the refusal (or NULL). */
#include "catalog/compare.h"

#include "rule/policies.h"

#include <glib.h>

#define FIELDS                                                                                               \
    "    fields:\n"                                                                                          \
    "      id: {type: string, max_bytes: 20}\n"                                                              \
    "      ts: {type: timestamp, unit: ms}\n"                                                                \
    "      n: int\n"                                                                                         \
    "      note: string\n"
#define KEY "    key: [{field: id}, {field: ts}]\n"
#define BY_TS "    paths: {by_ts: {key: [{field: ts}, {field: id}]}}\n"
#define BASE FIELDS KEY
/* a path over the field n, which can change */
#define BY_N "    paths: {by_n: {key: [{field: n}, {field: id}, {field: ts}]}}\n"
#define BY_N_AND_TS                                                                                          \
    "    paths: {by_n: {key: [{field: n}, {field: id}, {field: ts}]}, by_ts: {key: [{field: ts}, {field: "   \
    "id}]}}\n"
#define OTHER_KEY "    key: [{field: id}, {field: {name: ts, order: desc}}]\n"
#define WITH_FIELD(line)                                                                                     \
    "    fields:\n"                                                                                          \
    "      id: {type: string, max_bytes: 20}\n"                                                              \
    "      ts: {type: timestamp, unit: ms}\n" line "      note: string\n" KEY

typedef struct test_case {
    const char *name;
    const char *before; /* NULL: the catalog does not have the table */
    const char *after;
    const char *rows;    /* store tables that hold rows, with blanks between */
    const char *refusal; /* NULL: accepted */
    bool exclusive;
} test_case;

static const test_case cases[] = {
    {"same", BASE, BASE, "t", NULL, false},
    {"rule", BASE, FIELDS "    key: [{field: id}, {field: {name: ts, order: desc}}]\n", "t",
     "table t, path primary: its rows were written under layout 1 with the key rule ", true},
    {"rule of an empty table", BASE, FIELDS "    key: [{field: id}, {field: {name: ts, order: desc}}]\n", "",
     NULL, true},
    {"layout and store table", BASE, BASE "    layout: 2\n    store_table: t2\n", "t",
     "table t, path primary: its rows were written under layout 1 (store table t, key rule ", true},
    {"layout alone", BASE, BASE "    layout: 2\n", "t",
     "and this policy has layout 2 (store table t, key rule ", true},
    {"layout and store table of an empty table", BASE, BASE "    layout: 2\n    store_table: t2\n", "", NULL,
     true},
    {"store table that holds rows", BASE, BASE "    store_table: t2\n", "t2",
     "the store table t2 holds rows that were not written under this path", true},
    {"path added", BASE, BASE BY_TS, "t",
     "table t, path by_ts: the table holds rows already, and the new path would only hold what is written "
     "from now "
     "on",
     true},
    {"path added to an empty table", BASE, BASE BY_TS, "", NULL, true},
    {"path added whose store table holds rows", BASE, BASE BY_TS, "t_by_ts",
     "table t, path by_ts: the store table t_by_ts holds rows that were not written under this path", true},
    {"path dropped", BASE BY_TS, BASE, "t t_by_ts", NULL, true},
    {"path's rule", BASE BY_TS,
     BASE "    paths: {by_ts: {key: [{salt: {of: [id], buckets: 4}}, {field: ts}, {field: id}]}}\n",
     "t t_by_ts", "table t, path by_ts: its rows were written under layout 1 with the key rule ", true},
    {"type", BASE, WITH_FIELD("      n: string\n"), "t",
     "table t, field n: its values were stored as int in d:n, encoding raw, and this policy has string in "
     "d:n, "
     "encoding raw",
     true},
    {"type of an empty table", BASE, WITH_FIELD("      n: string\n"), "", NULL, true},
    {"type, rows in a path only", BASE BY_TS, WITH_FIELD("      n: double\n") BY_TS, "t_by_ts",
     "table t, field n: its values were stored as int", true},
    {"unit", WITH_FIELD("      n: {type: timestamp, unit: s}\n"),
     WITH_FIELD("      n: {type: timestamp, unit: ms}\n"), "t",
     "stored as timestamp s in d:n, encoding raw, and this policy has timestamp ms in d:n", true},
    {"encoding", BASE, WITH_FIELD("      n: {type: int, form: text}\n"), "t",
     "stored as int in d:n, encoding raw, and this policy has int in d:n, encoding text", true},
    {"column", BASE, WITH_FIELD("      n: {type: int, column: \"d:m\"}\n"), "t",
     "stored as int in d:n, encoding raw, and this policy has int in d:m", true},
    {"map of another type", WITH_FIELD("      n: {type: map, of: int}\n"),
     WITH_FIELD("      n: {type: map, of: string}\n"), "t",
     "stored as map of int in d:n.*, encoding raw, and this policy has map of string in d:n.*", true},
    {"field added", BASE, WITH_FIELD("      n: int\n      more: bool\n"), "t", NULL, false},
    {"field removed", BASE, WITH_FIELD(""), "t", NULL, false},
    {"field renamed", BASE, WITH_FIELD("      count: {type: int, column: \"d:n\"}\n"), "t", NULL, false},
    {"field renamed with another type", BASE, WITH_FIELD("      count: {type: bool, column: \"d:n\"}\n"), "t",
     "table t, field count: its column holds values of the field n, stored as int in d:n", true},
    {"key field renamed", BASE,
     "    fields:\n      name: {type: string, max_bytes: 20}\n      ts: {type: timestamp, unit: ms}\n      "
     "n: int\n"
     "      note: string\n    key: [{field: name}, {field: ts}]\n",
     "t", "table t, path primary: its rows were written under layout 1 with the key rule ", true},
    {"map that begins like a column", WITH_FIELD("      n: {type: int, column: \"d:x.y\"}\n"),
     WITH_FIELD("      all: {type: map, of: string, column: \"d:x.y*\"}\n"), "t", NULL, false},
    {"map over columns of another type", WITH_FIELD("      n: {type: int, column: \"d:x.y\"}\n"),
     WITH_FIELD("      all: {type: map, of: string, column: \"d:x.*\"}\n"), "t",
     "table t, field all: its column holds values of the field n, stored as int in d:x.y", true},
    {"map over columns of its type", WITH_FIELD("      n: {type: int, column: \"d:x.y\"}\n"),
     WITH_FIELD("      all: {type: map, of: int, column: \"d:x.*\"}\n"), "t", NULL, false},
    {"marker", BASE, BASE "    marker: \"d:_0\"\n    marker_value: x\n", "t",
     "table t: the cell that marks its records was d:=, and is d:_0=x always in this policy", true},
    {"order", BASE, BASE "    order: stamp\n", "t", "its rows were written with order: store", true},
    {"order of an empty table", BASE, BASE "    order: stamp\n", "", NULL, true},
    {"the order of the rows is kept", BASE "    order: stamp\n", BASE, "t", NULL, false},
    {"no control cells any more", BASE, BASE "    atomics: false\n", "t", "atomics: false does not hide",
     true},
    {"control cells from now on", BASE "    atomics: false\n", BASE, "t", NULL, true},
    {"atomic operations with stamps", BASE "    order: stamp\n", BASE "    order: stamp\n    atomics: true\n",
     "t",
     "table t: its rows were written with atomics: false, and this policy has atomics: true; restore the old "
     "value, or change it while the table is in use: set policy.source: store and run keyway policy apply",
     true},
    {"no atomic operations with stamps any more", BASE BY_TS "    atomics: true\n",
     BASE BY_TS "    atomics: false\n", "t t_by_ts",
     "its rows were written with atomics: true, and this policy has atomics: false", true},
    {"atomic operations with stamps are kept", BASE BY_TS "    atomics: true\n", BASE BY_TS, "t t_by_ts",
     NULL, false},
    {"atomic operations with stamps in an empty table", BASE BY_TS, BASE BY_TS "    atomics: true\n", "",
     NULL, true},
    {"marker of an empty table", BASE, BASE "    marker: \"d:_0\"\n    marker_value: x\n", "", NULL, true},
    {"documentation", BASE, "    about: orders\n" BASE, "t", NULL, false},
    {"declared values", WITH_FIELD("      n: int\n"), WITH_FIELD("      n: {type: int, about: a number}\n"),
     "t", NULL, false},
    {"first seen, empty", NULL, BASE BY_TS, "", NULL, false},
    {"first seen, all paths hold rows", NULL, BASE BY_TS, "t t_by_ts", NULL, false},
    {"first seen, a path holds none", NULL, BASE BY_TS, "t",
     "table t, path by_ts: the table holds rows already", false},
    {"first seen, only a path holds rows", NULL, BASE BY_TS, "t_by_ts",
     "table t, path by_ts: the store table t_by_ts holds rows that were not written under this path", false},
    /* paths over fields that can change */
    {"hint path added", BASE, BASE BY_N, "t",
     "table t, path by_n: the table holds rows already, and the new path would only hold what is written "
     "from "
     "now on; leave the path out, or add it while the table is in use: set policy.source: store and run "
     "keyway "
     "policy apply",
     true},
    {"hint path added, its store table holds rows", BASE, BASE BY_N, "t t_by_n",
     "path by_n: the table holds rows already", true},
    {"hint path added to an empty table", BASE, BASE BY_N, "", NULL, true},
    {"hint path added to an empty table, its store table holds rows", BASE, BASE BY_N, "t_by_n",
     "the store table t_by_n holds rows that were not written under this path", true},
    {"hint path dropped", BASE BY_N, BASE, "t",
     "table t, path by_n: its key has fields that can change; while the table has rows, restore the path, "
     "or drop it while the table is in use",
     true},
    {"hint path dropped from an empty table", BASE BY_N, BASE, "", NULL, true},
    {"hint path's rule", BASE BY_N,
     BASE "    paths: {by_n: {key: [{field: {name: n, order: desc}}, {field: id}, {field: ts}]}}\n", "t",
     "table t, path by_n: the path cannot be changed while the table has rows, because its key has fields "
     "that "
     "can change; restore its key rule, or copy the rows",
     true},
    {"rule of the primary path beside a hint path", BASE BY_N, FIELDS OTHER_KEY BY_N, "t t_by_n",
     "table t, path primary: the path cannot be changed while the table has rows, because the key of path "
     "by_n "
     "has fields that can change; restore its key rule, or copy the rows",
     true},
    {"path added beside a hint path", BASE BY_N, BASE BY_N_AND_TS, "t t_by_n",
     "table t, path by_ts: the path cannot be added while the table has rows, because the key of path by_n "
     "has "
     "fields that can change",
     true},
    {"path dropped beside a hint path", BASE BY_N_AND_TS, BASE BY_N, "t t_by_n t_by_ts", NULL, true},
    {"field added beside a hint path", BASE BY_N, WITH_FIELD("      n: int\n      more: bool\n") BY_N,
     "t t_by_n", NULL, false},
    {"atomic operations beside a hint path", BASE BY_N "    atomics: false\n", BASE BY_N, "t t_by_n",
     "table t: its rows were written with atomics: false, and this policy has atomics: true, which cannot "
     "change while the table has rows, because the key of path by_n has fields that can change",
     true},
    {"hint path first seen, empty", NULL, BASE BY_N, "", NULL, false},
    {"hint path first seen, both hold rows", NULL, BASE BY_N, "t t_by_n",
     "table t, path by_n: the catalog does not have the table, whose store table t holds rows; the key of "
     "the "
     "path has fields that can change, and only puts of gateways with this policy write rows of the path: "
     "leave "
     "the path out, import the catalog of these rows (keyway catalog import), or copy the rows to a new "
     "table",
     false},
    {"hint path first seen, accepted without a check", NULL, BASE "    accept_unverified: true\n" BY_N,
     "t t_by_n", "table t, path by_n: the catalog does not have the table", false},
    {"hint path first seen, it holds no rows", NULL, BASE BY_N, "t",
     "table t, path by_n: the catalog does not have the table", false},
};

/* of a store with one writer */
static const test_case cases_alone[] = {
    {"hint path dropped", BASE BY_N, BASE, "t t_by_n", NULL, true},
    {"rule of the primary path beside a hint path", BASE BY_N, FIELDS OTHER_KEY BY_N, "t t_by_n",
     "path primary: the path cannot be changed", true},
    {"path added beside a hint path", BASE BY_N, BASE BY_N_AND_TS, "t t_by_n",
     "table t, path by_ts: the table holds rows already, and the new path would only hold", true},
    {"atomic operations beside a hint path", BASE BY_N "    atomics: false\n", BASE BY_N, "t t_by_n", NULL,
     true},
};

/* --- helpers --------------------------------------------------------------------------------------- */

static kw_evidence
evidence_of(const char *rows, kw_arena *arena)
{
    g_auto(GStrv) names = g_strsplit(rows, " ", -1);
    size_t count = rows[0] ? g_strv_length(names) : 0;
    const char **tables = KW_ARENA_ARRAY(arena, const char *, count);
    kw_rows_found *found = KW_ARENA_ARRAY(arena, kw_rows_found, count);
    for (size_t i = 0; i < count; i++) {
        tables[i] = kw_arena_text(arena, kw_bytes_of_text(names[i]));
        found[i] = KW_ROWS_SOME;
    }
    return (kw_evidence){.store_tables = tables, .rows = found, .count = count};
}

/* Copies the facts, because the policy is freed. */
static kw_facts *
facts_of(const char *yaml, kw_arena *arena)
{
    g_autoptr(kw_policy) policy = test_policy(yaml);
    g_autoptr(kw_arena) own = kw_arena_new();
    kw_facts *facts;
    kw_error error;
    const kw_facts *printed = kw_facts_of_table(kw_policy_table(policy, 0), own);
    kw_bytes text = kw_arena_copy(arena, kw_facts_print(printed, own));
    if (!kw_facts_parse(text, arena, &facts, &error))
        g_error("%s", error.text);
    facts->order_given = printed->order_given;
    facts->atomics_given = printed->atomics_given;
    return facts;
}

static bool
compare(const kw_facts *before, const kw_facts *after, const char *rows, kw_arena *arena,
        kw_facts_change *change, kw_error *error)
{
    kw_evidence evidence = evidence_of(rows, arena);
    return kw_facts_compare(before, after, &evidence, NULL, arena, change, error);
}

static void
assert_text(const char *got, const char *part)
{
    if (!strstr(got, part))
        g_error("got: %s\nnot: %s", got, part);
}

/* Assumes that the change is accepted and returns the catalog's new facts. */
static kw_facts *
accept(const kw_facts *before, const char *after, const char *rows, kw_arena *arena)
{
    kw_facts_change change;
    kw_error error;
    if (!compare(before, facts_of(after, arena), rows, arena, &change, &error))
        g_error("%s", error.text);
    return change.merged;
}

static void
assert_refused(const kw_facts *before, const char *after, const char *rows, const char *part, kw_arena *arena)
{
    kw_facts_change change;
    kw_error error;
    g_assert_false(compare(before, facts_of(after, arena), rows, arena, &change, &error));
    g_assert_cmpint(error.code, ==, KW_REFUSED);
    assert_text(error.text, part);
}

/* --- one change ------------------------------------------------------------------------------------ */

static void
run_case(const test_case *at, bool one_writer)
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    kw_facts *before = at->before ? facts_of(at->before, arena) : NULL;
    kw_facts_change change;
    kw_error error;
    kw_evidence evidence = evidence_of(at->rows, arena);
    evidence.one_writer = one_writer;
    bool good = kw_facts_compare(before, facts_of(at->after, arena), &evidence, NULL, arena, &change, &error);
    if (good != !at->refusal)
        g_error("%s", good ? "accepted" : error.text);
    if (!good) {
        g_assert_cmpint(error.code, ==, KW_REFUSED);
        assert_text(error.text, at->refusal);
        return;
    }
    g_assert_cmpint(change.exclusive, ==, at->exclusive);
    /* After the change, the same policy is accepted again and changes nothing. */
    kw_facts_change again;
    g_assert_true(
        kw_facts_compare(change.merged, facts_of(at->after, arena), &evidence, NULL, arena, &again, &error));
    g_assert_false(again.changed);
    g_assert_false(again.exclusive);
}

static void
test_case_run(gconstpointer data)
{
    run_case(data, false);
}

static void
test_case_run_alone(gconstpointer data)
{
    run_case(data, true);
}

/* --- several changes ------------------------------------------------------------------------------- */

KW_TEST(test_path_returns, "/catalog/compare/path returns")
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    kw_facts *facts = accept(NULL, BASE BY_TS, "", arena);
    facts = accept(facts, BASE, "t t_by_ts", arena);
    const kw_path_facts *path = kw_facts_find_path(facts, "by_ts");
    g_assert_cmpint(path->placements[0].state, ==, KW_PLACEMENT_RETIRED);
    g_assert_null(kw_path_facts_serving(path));
    assert_refused(
        facts, BASE BY_TS, "t t_by_ts",
        "table t, path by_ts: the path was dropped, and its store table t_by_ts still holds its rows; "
        "serve a policy without the path, and run keyway forget t --path by_ts --drop-rows",
        arena);
    assert_refused(facts, BASE BY_TS, "t", "the new path would only hold what is written from now on", arena);
    assert_refused(facts, BASE BY_TS, "t_by_ts", "the path was dropped", arena);
    facts = accept(facts, BASE BY_TS, "", arena);
    g_assert_nonnull(kw_path_facts_serving(kw_facts_find_path(facts, "by_ts")));
}

/* Records that were put without the path have no rows in it, so it cannot return while there are some. */
KW_TEST(test_hint_path_returns, "/catalog/compare/hint path returns")
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    kw_facts_change change;
    kw_error error;
    kw_evidence evidence = evidence_of("t t_by_n", arena);
    evidence.one_writer = true;
    kw_facts *with = accept(NULL, BASE BY_N, "", arena);
    g_assert_true(kw_facts_compare(with, facts_of(BASE, arena), &evidence, NULL, arena, &change, &error));
    kw_facts *facts = change.merged;
    g_assert_cmpint(kw_facts_find_path(facts, "by_n")->placements[0].state, ==, KW_PLACEMENT_RETIRED);
    assert_refused(facts, BASE BY_N, "t t_by_n",
                   "table t, path by_n: the path was dropped, and its store table", arena);
    assert_refused(facts, BASE BY_N, "t", "path by_n: the table holds rows already", arena);
    assert_refused(facts,
                   BASE "    paths: {other: {store_table: t_by_n, key: [{field: n}, {field: id}, {field: "
                        "ts}]}}\n",
                   "t t_by_n", "path other: the table holds rows already", arena);
    facts = accept(facts, BASE BY_N, "", arena);
    g_assert_nonnull(kw_path_facts_serving(kw_facts_find_path(facts, "by_n")));
}

/* A path with records is not one over fields that can change, whatever its key rule. */
KW_TEST(test_hints_are_not_records, "/catalog/compare/hints are not records")
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    kw_facts *with = accept(NULL, BASE BY_N, "", arena);
    ((kw_path_facts *)kw_facts_find_path(with, "by_n"))->hints = false;
    assert_refused(with, BASE BY_N, "t t_by_n", "path by_n: the path cannot be changed", arena);
}

/* Another path cannot use the store table of a retired path while that holds rows. */
KW_TEST(test_retired_store_table, "/catalog/compare/retired store table")
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    kw_facts *facts = accept(accept(NULL, BASE BY_TS, "", arena), BASE, "t_by_ts", arena);
    assert_refused(
        facts, BASE "    paths: {other: {store_table: t_by_ts, key: [{field: ts}, {field: id}]}}\n",
        "t_by_ts", "table t, path other: the store table t_by_ts holds rows that were not written", arena);
}

KW_TEST(test_removed_field_keeps_its_column, "/catalog/compare/removed field keeps its column")
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    kw_facts *facts = accept(accept(NULL, BASE, "", arena), WITH_FIELD(""), "t", arena);
    g_assert_true(kw_facts_find_field(facts, "n")->removed);
    assert_refused(facts, WITH_FIELD("      n: string\n"), "t",
                   "table t, field n: its values were stored as int", arena);
    assert_refused(facts, WITH_FIELD("      m: {type: string, column: \"d:n\"}\n"), "t",
                   "table t, field m: its column holds values of the field n", arena);
    facts = accept(facts, BASE, "t", arena);
    g_assert_false(kw_facts_find_field(facts, "n")->removed);
    /* Without rows, nothing can be decoded wrongly. */
    facts = accept(accept(facts, WITH_FIELD(""), "t", arena), WITH_FIELD("      n: string\n"), "", arena);
    g_assert_cmpstr(kw_facts_find_field(facts, "n")->type, ==, "string");
}

/* A field removed while the table was empty is still remembered: a row could have been written in between. */
KW_TEST(test_removed_from_an_empty_table, "/catalog/compare/removed from an empty table")
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    kw_facts *facts = accept(accept(NULL, BASE, "", arena), WITH_FIELD(""), "", arena);
    assert_refused(facts, WITH_FIELD("      n: string\n"), "t",
                   "table t, field n: its values were stored as int", arena);
}

KW_TEST(test_verified, "/catalog/compare/verified")
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    kw_facts *facts = accept(NULL, BASE BY_TS, "", arena);
    g_assert_true(facts->paths[0].placements[0].verified && facts->paths[1].placements[0].verified);
    facts = accept(NULL, BASE BY_TS, "t t_by_ts", arena);
    g_assert_false(facts->paths[0].placements[0].verified || facts->paths[1].placements[0].verified);
    facts = accept(facts, WITH_FIELD("") BY_TS, "t t_by_ts", arena);
    g_assert_false(facts->paths[0].placements[0].verified);
}

KW_TEST(test_forgetting, "/catalog/compare/forgetting")
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    kw_facts *facts = accept(accept(NULL, BASE BY_TS, "", arena), BASE, "t t_by_ts", arena);
    ((kw_path_facts *)kw_facts_find_path(facts, "by_ts"))->placements[0].state = KW_PLACEMENT_FORGETTING;
    assert_refused(facts, BASE BY_TS, "", "table t, path by_ts: keyway forget has not finished with the path",
                   arena);
    facts = accept(facts, BASE, "t", arena);
    g_assert_cmpint(kw_facts_find_path(facts, "by_ts")->placements[0].state, ==, KW_PLACEMENT_FORGETTING);
}

/* --- two tables ------------------------------------------------------------------------------------ */

KW_TEST(test_renamed, "/catalog/compare/renamed")
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    kw_facts *old = facts_of(BASE BY_TS, arena), *new = facts_of(BASE BY_TS, arena);
    new->table = "u";
    g_assert_true(kw_facts_is_renamed(old, new));
    kw_facts_change change;
    kw_error error;
    g_assert_true(compare(old, new, "t t_by_ts", arena, &change, &error));
    g_assert_cmpstr(change.renamed_from, ==, "t");
    g_assert_cmpstr(change.merged->table, ==, "u");
    g_assert_true(change.exclusive && change.changed);
    new = facts_of(BASE, arena);
    new->table = "u";
    g_assert_false(kw_facts_is_renamed(old, new));
    new = facts_of(BASE "    store_table: v\n" BY_TS, arena);
    new->table = "u";
    g_assert_false(kw_facts_is_renamed(old, new));
}

KW_TEST(test_owner, "/catalog/compare/owner")
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    kw_facts *one = facts_of(BASE BY_TS, arena),
             *two = facts_of(BASE "    store_table: \"default:t_by_ts\"\n", arena);
    kw_error error;
    two->table = "u";
    g_assert_false(kw_facts_check_owner(one, two, &error));
    assert_text(error.text,
                "table u, path primary: the store table t_by_ts belongs to table t; name another one, or "
                "run keyway forget t once no policy has that table");
    one->paths[1].placements[0].state = KW_PLACEMENT_RETIRED;
    g_assert_false(kw_facts_check_owner(one, two, &error));
    assert_text(error.text,
                "table u, path primary: the store table t_by_ts belongs to the path by_ts of table t, which "
                "was dropped; name another one, or run keyway forget t --path by_ts");
    one->paths[1].placements[0].state = KW_PLACEMENT_ABSENT;
    g_assert_true(kw_facts_check_owner(one, two, &error));
    two = facts_of(BASE "    store_table: v\n", arena);
    g_assert_true(kw_facts_check_owner(one, two, &error));
}

/* --- the stored form ------------------------------------------------------------------------------- */

KW_TEST(test_damaged, "/catalog/facts/damaged")
{
    g_autofree char *brackets = g_strnfill(1000000, '['); /* json-glib reads them by recursion */
    const char *const texts[] = {
        "",
        "{",
        "[]",
        "7",
        "{}",
        "{\"table\":\"t\"}",
        "{\"table\":\"t\",\"fields\":[],\"paths\":[]}",
        "{\"table\":\"t\",\"fields\":[7],\"paths\":[{\"name\":\"primary\",\"placements\":[]}]}",
        "{\"table\":\"t\",\"fields\":[],\"paths\":[{\"name\":\"primary\",\"placements\":[{\"layout\":1}]}]}",
        "{\"table\":\"t\",\"fields\":[{\"name\":\"n\"}],\"paths\":[{\"name\":\"p\",\"placements\":[]}]}",
        "{\"table\":\"t\",\"fields\":[],\"paths\":[{\"name\":\"p\",\"placements\":[{\"layout\":-1,"
        "\"fingerprint\":\"a\",\"store_table\":\"b\",\"state\":\"complete\"}]}]}",
        "{\"table\":\"t\",\"fields\":[],\"paths\":[{\"name\":\"p\",\"placements\":[{\"layout\":1,"
        "\"fingerprint\":\"a\",\"store_table\":\"b\",\"state\":\"gone\"}]}]}",
        "{\"table\":\"t\",\"fields\":[{\"name\":\"n\",\"type\":\"int\",\"map\":true}],\"paths\":[{\"name\":"
        "\"p\","
        "\"placements\":[]}]}",
        "/* \" */ {}",
        brackets};
    g_autoptr(kw_arena) arena = kw_arena_new();
    for (size_t i = 0; i < G_N_ELEMENTS(texts); i++) {
        kw_facts *facts;
        kw_error error;
        g_assert_false(kw_facts_parse(kw_bytes_of_text(texts[i]), arena, &facts, &error));
        g_assert_cmpint(error.code, ==, KW_CORRUPT);
    }
    kw_facts *facts;
    kw_error error;
    kw_bytes later = KW_BYTES_LITERAL(
        "{\"table\":\"t\",\"later\":{\"a\":[1]},\"fields\":[],\"paths\":[{\"name\":\"p\",\"x\":1,"
        "\"placements\":[]}]}");
    g_assert_true(kw_facts_parse(later, arena, &facts, &error)); /* members of a later version are skipped */
    kw_bytes known = KW_BYTES_LITERAL(
        "{\"table\":\"t\",\"form\":1,\"fields\":[],\"paths\":[{\"name\":\"p\",\"placements\":[]}]}");
    g_assert_true(kw_facts_parse(known, arena, &facts, &error));
    kw_bytes newer = KW_BYTES_LITERAL(
        "{\"table\":\"t\",\"form\":2,\"fields\":[],\"paths\":[{\"name\":\"p\",\"placements\":[]}]}");
    g_assert_false(kw_facts_parse(newer, arena, &facts, &error));
    g_assert_cmpint(error.code, ==, KW_REFUSED);
    g_assert_nonnull(strstr(error.text, "the facts of table t have form 2, which a later release"));
}

KW_TEST(test_digest, "/catalog/facts/digest")
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    const char *base = kw_facts_digest(facts_of(BASE BY_TS, arena), arena);
    g_assert_cmpstr(kw_facts_digest(facts_of("    about: x\n" WITH_FIELD("") BY_TS, arena), arena), ==, base);
    static const char *const others[] = {
        BASE, BASE "    store_table: u\n" BY_TS, BASE "    layout: 2\n" BY_TS,
        FIELDS "    key: [{field: id}, {field: {name: ts, order: desc}}]\n" BY_TS,
        BASE "    marker: \"d:_0\"\n    marker_value: x\n" BY_TS};
    for (size_t i = 0; i < G_N_ELEMENTS(others); i++)
        g_assert_cmpstr(kw_facts_digest(facts_of(others[i], arena), arena), !=, base);
}

/* True if a gateway with the policy `mine` can serve at the same time as one with `theirs`. */
static bool
agree(const char *mine, const char *theirs, const char *recorded, const char *rows)
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    const kw_facts *wanted = facts_of(mine, arena), *before = recorded ? facts_of(recorded, arena) : NULL;
    kw_facts_change change;
    kw_error error;
    return compare(before, wanted, rows, arena, &change, &error) &&
           kw_facts_agree(kw_facts_digest(facts_of(theirs, arena), arena), wanted, before, change.merged,
                          arena);
}

#define STORE "    order: store\n"
#define STAMP "    order: stamp\n"

/* The order that a gateway uses decides, not whether its policy names it. */
KW_TEST(test_orders_that_agree, "/catalog/facts/orders that agree")
{
    g_assert_true(agree(BASE, STORE BASE, BASE, "t"));
    g_assert_true(agree(STORE BASE, BASE, BASE, "t"));
    g_assert_true(agree(STORE BASE, BASE, NULL, ""));
    g_assert_true(agree(STAMP BASE BY_TS, BASE BY_TS, BASE BY_TS, "t t_by_ts"));
    g_assert_true(agree(BASE, STAMP BASE, STAMP BASE, "t")); /* the rows' order */
    g_assert_false(agree(BASE, STAMP BASE, BASE, "t"));
    g_assert_false(agree(STAMP BASE, BASE, BASE, ""));
    g_assert_false(agree(STAMP BASE, BASE, NULL, ""));
    g_assert_false(agree(STORE BASE, STAMP BASE, BASE, ""));
    g_assert_false(agree(STORE BASE, BASE, STAMP BASE, "")); /* the other may have seen rows */
    g_assert_false(agree(BASE, BASE BY_TS, BASE, "t"));
}

#define ATOMICS "    atomics: true\n"
#define NO_ATOMICS "    atomics: false\n"

/* With order: stamp, a policy that does not say whether atomic operations are allowed uses what the catalog
 * has, even if the table is empty. */
KW_TEST(test_atomics_that_agree, "/catalog/facts/atomics that agree")
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    kw_facts *before = facts_of(STAMP ATOMICS BASE, arena);
    g_assert_true(accept(before, STAMP BASE, "t", arena)->atomics);
    g_assert_true(accept(before, STAMP BASE, "", arena)->atomics);
    g_assert_false(accept(NULL, STAMP BASE, "", arena)->atomics);
    g_assert_true(accept(NULL, ATOMICS BASE BY_TS, "", arena)->atomics);
    g_assert_true(agree(STAMP BASE, STAMP ATOMICS BASE, STAMP ATOMICS BASE, "t"));
    g_assert_true(agree(STAMP ATOMICS BASE, STAMP BASE, STAMP ATOMICS BASE, "t"));
    g_assert_true(agree(STAMP NO_ATOMICS BASE, STAMP BASE, STAMP BASE, "t"));
    g_assert_true(agree(ATOMICS BASE BY_TS, BASE BY_TS, ATOMICS BASE BY_TS, "t t_by_ts"));
    g_assert_false(agree(STAMP ATOMICS BASE, STAMP BASE, STAMP BASE, ""));
    g_assert_false(agree(STAMP BASE, STAMP ATOMICS BASE, STAMP BASE, "t"));
    g_assert_false(agree(STAMP ATOMICS BASE, STAMP NO_ATOMICS BASE, STAMP ATOMICS BASE, "t"));
    g_assert_false(agree(STAMP NO_ATOMICS BASE, STAMP ATOMICS BASE, STAMP BASE, ""));
}

KW_TEST_START(start)
{
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *path = g_strdup_printf("/catalog/compare/%s", cases[i].name);
        g_test_add_data_func(path, &cases[i], test_case_run);
    }
    for (size_t i = 0; i < G_N_ELEMENTS(cases_alone); i++) {
        g_autofree char *path = g_strdup_printf("/catalog/compare/one writer/%s", cases_alone[i].name);
        g_test_add_data_func(path, &cases_alone[i], test_case_run_alone);
    }
}
