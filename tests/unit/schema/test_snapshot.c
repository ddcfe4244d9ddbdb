/* What the policy snapshot states about a table: order of writes, lifetime, marker, generated fields. */
#include "rule/policies.h"
#include "schema/progress.h"

#define ONE "    fields: {id: string, n: int}\n    key: [{field: id}]\n"
#define TWO ONE "    paths: {second: {key: [{hash: id}, {field: id}]}}\n"

static void
assert_order(const char *yaml, kw_write_order order, kw_atomics atomics)
{
    g_autoptr(kw_policy) policy = test_policy(yaml);
    const kw_table *table = kw_policy_table(policy, 0);
    g_assert_cmpint(kw_table_default_order(table), ==, order);
    g_assert_cmpint(table->ordering.regime.order, ==, order);
    g_assert_cmpint(table->ordering.regime.atomics, ==, atomics);
    g_assert_true(table->change == KW_TABLE_UNCHANGED && !table->regime_of_change);
}

/* With a path over a field that can change */
#define HINTS(more) ONE "    paths: {by_n: {key: [n, id]}" more "}\n"

static void
assert_no_order(const char *yaml)
{
    g_autofree char *text = test_refused(yaml);
    g_assert_nonnull(strstr(text, "order: store does not work with several paths that hold records"));
}

/* One path: the store orders the writes. Several paths: the gateway sets timestamps. */
KW_TEST(test_order, "/schema/snapshot/order")
{
    assert_order(ONE, KW_WRITE_ORDER_STORE, KW_ATOMICS_NATIVE);
    assert_order(TWO, KW_WRITE_ORDER_STAMP, KW_ATOMICS_OFF);
    assert_order(ONE "    order: store\n", KW_WRITE_ORDER_STORE, KW_ATOMICS_NATIVE);
    assert_order(ONE "    order: stamp\n", KW_WRITE_ORDER_STAMP, KW_ATOMICS_OFF);
    assert_order(ONE "    order: store\n    atomics: false\n", KW_WRITE_ORDER_STORE, KW_ATOMICS_OFF);
    assert_order(ONE "    order: stamp\n    atomics: true\n", KW_WRITE_ORDER_STAMP, KW_ATOMICS_CAS);
    assert_order(TWO "    atomics: true\n", KW_WRITE_ORDER_STAMP, KW_ATOMICS_CAS);
    assert_order(HINTS(""), KW_WRITE_ORDER_STORE, KW_ATOMICS_NATIVE);
    assert_order(HINTS("") "    order: store\n", KW_WRITE_ORDER_STORE, KW_ATOMICS_NATIVE);
    assert_order(HINTS(", second: {key: [{hash: id}, id]}"), KW_WRITE_ORDER_STAMP, KW_ATOMICS_OFF);
    assert_no_order(TWO "    order: store\n");
    assert_no_order(HINTS(", second: {key: [{hash: id}, id]}") "    order: store\n");
}

/* Tables are found by name, whatever the order in which the policy declares them. */
KW_TEST(test_names, "/schema/snapshot/names")
{
    static const char *const orders[] = {"a", "ba", "ab", "cab", "edcba"};
    for (size_t i = 0; i < G_N_ELEMENTS(orders); i++) {
        const char *names = orders[i];
        g_autofree char *first = g_strndup(names, 1);
        g_autoptr(GString) yaml = g_string_new(ONE);
        for (const char *name = names + 1; *name; name++)
            g_string_append_printf(yaml, "  %c:\n" ONE, *name);
        g_autoptr(kw_policy) policy = test_policy_named(first, yaml->str);
        g_assert_cmpuint(kw_policy_table_count(policy), ==, strlen(names));
        for (size_t number = 0; number < strlen(names); number++)
            g_assert_true(kw_policy_find_table(policy, kw_bytes_of(names + number, 1)) ==
                          kw_policy_table(policy, number));
        g_assert_null(kw_policy_find_table(policy, KW_BYTES_LITERAL("f")));
    }
}

/* Until a key rule changes, every operation uses the only placement of a path. */
KW_TEST(test_placements, "/schema/snapshot/placements")
{
    g_autoptr(kw_policy) policy = test_policy(TWO);
    const kw_table *table = kw_policy_table(policy, 0);
    g_assert_cmpuint(table->placements_count, ==, 2);
    for (size_t path = 0; path < table->queried_paths_count; path++) {
        const kw_placement *placement = &table->placements[path];
        g_assert_cmpuint(table->paths[path].placements_count, ==, 1);
        g_assert_true(table->paths[path].placements == placement && placement->path == &table->paths[path]);
        g_assert_cmpuint(placement->number, ==, path);
        g_assert_true(placement->role.put == 1 && placement->role.remove == 1);
        g_assert_true(placement->role.get && placement->role.scan);
        g_assert_true(kw_path_scanned(&table->paths[path]) == placement);
    }
}

KW_TEST(test_changed_order, "/schema/snapshot/changed-order")
{
    g_autoptr(kw_policy) policy =
        test_policy("    fields: {id: string, n: int, c: {type: int, counter: true}, m: int}\n"
                    "    key: [{field: id}]\n");
    const kw_table *table = kw_policy_table(policy, 0);
    g_assert_true(table->ordering.counters && table->ordering.regime.atomics == KW_ATOMICS_NATIVE);
    g_assert_true(kw_bytes_equal(table->ordering.family, KW_BYTES_LITERAL("d")));
    kw_policy_set_order(policy, 0, KW_WRITE_ORDER_STAMP, false);
    g_assert_cmpint(table->ordering.regime.order, ==, KW_WRITE_ORDER_STAMP);
    g_assert_cmpint(table->ordering.regime.atomics, ==, KW_ATOMICS_OFF);
    kw_policy_set_order(policy, 0, KW_WRITE_ORDER_STAMP, true);
    g_assert_cmpint(table->ordering.regime.atomics, ==, KW_ATOMICS_CAS);
    kw_policy_set_order(policy, 0, KW_WRITE_ORDER_STORE, true);
    g_assert_cmpint(table->ordering.regime.atomics, ==, KW_ATOMICS_NATIVE);
    g_assert_true(table->ordering.counters);
    g_autoptr(kw_policy) first = /* the first field is a counter */
        test_policy("    fields: {c: {type: int, counter: true}, id: string}\n    key: [{field: id}]\n");
    g_assert_true(kw_policy_table(first, 0)->ordering.counters);
    g_autoptr(kw_policy) plain = test_policy(ONE);
    g_assert_false(kw_policy_table(plain, 0)->ordering.counters);
}

static int64_t
lifetime_of(const char *families)
{
    g_autofree char *yaml = g_strconcat(ONE, families, NULL);
    g_autoptr(kw_policy) policy = test_policy(yaml);
    return kw_policy_table(policy, 0)->lifetime_s;
}

KW_TEST(test_lifetime, "/schema/snapshot/lifetime")
{
    g_assert_cmpint(lifetime_of(""), ==, 0);
    g_assert_cmpint(lifetime_of("    families: {d: {ttl: 1s}}\n"), ==, 1);
    g_assert_cmpint(lifetime_of("    families: {d: {ttl: 3h}, e: {ttl: 2h}}\n"), ==, 3 * 3600);
    g_assert_cmpint(lifetime_of("    families: {d: {ttl: 2h}, e: {ttl: 3h}}\n"), ==, 3 * 3600);
    g_assert_cmpint(lifetime_of("    families: {d: {ttl: 2h}, e: {}}\n"), ==, 0);
    g_assert_cmpint(lifetime_of("    families: {d: {}, e: {ttl: 2h}}\n"), ==, 0);
    g_assert_cmpint(lifetime_of("    families: {d: {ttl: 2h, min_versions: 1}}\n"), ==, 0);
}

/* Limits of 1 are enforced, too. */
KW_TEST(test_limits_of_one, "/schema/snapshot/limits-of-one")
{
    g_autoptr(kw_policy) policy =
        test_policy("    fields: {id: {type: string, max_bytes: 1}, ts: {type: timestamp, column: 'd:ts'}}\n"
                    "    major_compaction: 1h\n    families: {d: {ttl: 1s}}\n"
                    "    key: [{calendar: {of: ts, parts: [HH]}}, {field: id}]\n");
    const kw_table *table = kw_policy_table(policy, 0);
    kw_error error;
    g_assert_cmpint(table->lifetime_s, ==, 1);
    g_assert_true(kw_table_check_value(table, 0, test_text("a"), &error));
    g_assert_false(kw_table_check_value(table, 0, test_text("ab"), &error));
}

KW_TEST(test_generated_fields, "/schema/snapshot/generated")
{
    g_autoptr(kw_policy) policy =
        test_policy("    fields: {a: {type: string, generate: uuid4}, b: int, c: {type: int, generate: "
                    "sequence}}\n    key: [{field: a}, {field: b}]\n");
    const kw_table *table = kw_policy_table(policy, 0);
    g_assert_cmpuint(table->generated_count, ==, 2);
    g_assert_cmpuint(table->generated[0], ==, 0);
    g_assert_cmpuint(table->generated[1], ==, 2);
}

KW_TEST(test_marker, "/schema/snapshot/marker")
{
    g_autoptr(kw_policy) first = /* the first field is a counter */
        test_policy("    fields: {c: {type: int, counter: true}, id: string}\n    key: [{field: id}]\n");
    g_assert_true(kw_policy_table(first, 0)->ordering.counters);
    g_autoptr(kw_policy) plain = test_policy(ONE);
    const kw_table *table = kw_policy_table(plain, 0);
    g_assert_false(table->marks_all);
    g_assert_true(kw_bytes_equal(table->marker_family, KW_BYTES_LITERAL("d")));
    g_assert_cmpuint(table->marker_qualifier.size, ==, 0);
    g_assert_cmpuint(table->marker_value.size, ==, 0);
    g_autoptr(kw_policy) marked =
        test_policy(ONE "    families: {d: {}, e: {}}\n    marker: 'e:m'\n    marker_value: x\n");
    table = kw_policy_table(marked, 0);
    g_assert_true(table->marks_all);
    g_assert_true(kw_bytes_equal(table->marker_family, KW_BYTES_LITERAL("e")));
    g_assert_true(kw_bytes_equal(table->marker_qualifier, KW_BYTES_LITERAL("m")));
    g_assert_true(kw_bytes_equal(table->marker_value, KW_BYTES_LITERAL("x")));
}

static void
assert_refused(const char *yaml, const char *part)
{
    g_autofree char *text = test_refused(yaml);
    if (!strstr(text, part))
        g_error("\"%s\" does not contain \"%s\"", text, part);
}

KW_TEST(test_columns, "/schema/snapshot/columns")
{
    assert_refused(ONE "    marker: 'd:n'\n", "field n: its column is the marker");
    assert_refused(
        "    fields: {id: string, n: {type: int, column: 'd:\\x00kw:x'}}\n    key: [{field: id}]\n",
        "field n: Keyway reserves the columns");
    assert_refused("    fields: {id: {type: int, counter: true}}\n    key: [{field: id}]\n",
                   "field id is stored in the row key");
    assert_refused(
        "    fields: {id: string, ts: timestamp}\n    key: [{field: id}, {field: {name: ts, unit: s}}]\n",
        "field ts cannot be read back");
    /* The same column, written in two ways. */
    assert_refused(
        "    fields: {id: string, a: int, b: {type: int, column: 'd:\\x61'}}\n    key: [{field: id}]\n",
        "fields a and b share the column d:a");
    /* The same qualifier in two families, and a marker in addition. */
    g_autoptr(kw_policy) policy =
        test_policy("    fields: {id: string, a: int, b: {type: int, column: 'e:a'}}\n    marker: 'f:a'\n"
                    "    key: [{field: id}]\n");
    const kw_table *table = kw_policy_table(policy, 0);
    g_assert_cmpint(kw_table_find_column(table, KW_BYTES_LITERAL("d"), KW_BYTES_LITERAL("a")), ==, 1);
    g_assert_cmpint(kw_table_find_column(table, KW_BYTES_LITERAL("e"), KW_BYTES_LITERAL("a")), ==, 2);
    g_assert_cmpint(kw_table_find_column(table, KW_BYTES_LITERAL("f"), KW_BYTES_LITERAL("a")), ==, -1);
    g_assert_cmpint(kw_table_find_column(table, KW_BYTES_LITERAL("d"), KW_BYTES_LITERAL("id")), ==, -1);
}

/* Every path stores the identity of the primary key, in the same units. */
KW_TEST(test_identity, "/schema/snapshot/identity")
{
#define KEYED                                                                                                \
    "    fields: {id: string, n: int, ts: {type: timestamp, column: 'd:ts'}}\n    key: [{field: id}, "       \
    "{field: ts}]\n"
    assert_refused(KEYED "    paths: {p: {key: [{field: id}]}}\n",
                   "path p: field ts of the primary key is missing");
    assert_refused(KEYED
                   "    paths: {p: {key: [{salt: {algorithm: random, buckets: 2}}, {field: ts}, {field: "
                   "n}, {field: id}]}}\n",
                   "path p: field n can change, and the key rule chooses a bucket");
    assert_refused(KEYED "    paths: {p: {key: [{field: {name: ts, unit: s}}, {field: id}]}}\n",
                   "path p: field ts has another unit");
    assert_refused(KEYED "    paths: {p: {key: [{field: ts}, {field: id}]}, q: {key: [{field: ts}]}}\n",
                   "path q: field id of the primary key is missing");
    assert_refused(KEYED "    paths: {p: {key: [{field: ts}]}, q: {key: [{field: ts}, {field: id}]}}\n",
                   "path p: field id of the primary key is missing");
    g_autoptr(kw_policy) policy = test_policy(KEYED "    paths: {p: {key: [{field: ts}, {field: id}]}}\n");
    const kw_table *table = kw_policy_table(policy, 0);
    g_assert_cmpuint(table->queried_paths_count, ==, 2);
    g_assert_cmpuint(table->paths_count, ==, 2);
    g_assert_true(table->fields[0].identity && !table->fields[1].identity && table->fields[2].identity);
}

/* A path whose key has fields outside the identity holds hints. */
KW_TEST(test_hint_paths, "/schema/snapshot/hint_paths")
{
#define CHANGING "    fields: {id: string, n: int, c: {type: int, counter: true}}\n"
    g_autoptr(kw_policy) policy =
        test_policy(CHANGING "    key: [{field: id}]\n    paths: {p: {key: [{field: n}, {field: id}]}}\n");
    const kw_table *table = kw_policy_table(policy, 0);
    g_assert_cmpuint(table->hint_paths_count, ==, 1);
    g_assert_cmpuint(table->tuples_count, ==, 1);
    g_assert_cmpint(table->paths[1].content, ==, KW_CONTENT_HINTS);
    g_assert_cmpuint(table->paths[1].placements->tuple_count, ==, 1);
    g_assert_cmpstr(table->fields[table->paths[1].placements->tuple[0]].name, ==, "n");
    g_assert_cmpuint(table->tuple_bits[table->paths[1].placements->tuple[0]], ==, 0);
    g_assert_cmpuint(table->tuples[0], ==, 1);
    assert_refused(CHANGING "    key: [{field: id}]\n    paths: {p: {key: [{field: c}, {field: id}]}}\n",
                   "path p: field c is a counter");
    assert_refused(CHANGING
                   "    updates: false\n    key: [{salt: {algorithm: random, buckets: 2}}, {field: id}]\n"
                   "    paths: {p: {key: [{field: n}, {field: id}]}}\n",
                   "needs to find the row of a record, but each put chooses a bucket");
    assert_refused("    fields: {id: string, n: int, ts: {type: timestamp, column: 'd:ts'}}\n"
                   "    key: [{field: id}, {field: {name: ts, unit: s}}]\n"
                   "    paths: {p: {key: [{field: n}, {field: {name: ts, unit: s}}, {field: id}]}}\n",
                   "path p: field ts has a coarser unit in the key");
}

/* A path whose rows are claims: its key has no field of the identity. */
KW_TEST(test_unique_paths, "/schema/snapshot/unique_paths")
{
#define UNIQUE(key)                                                                                          \
    "    fields: {id: string, n: int, ts: timestamp, c: {type: int, counter: true}, m: {type: map, of: "     \
    "int}}\n"                                                                                                \
    "    key: [{field: id}]\n    paths: {p: {unique: true, key: " key "}, q: {key: [ts, id]}}\n"
    g_autoptr(kw_policy) policy = test_policy(UNIQUE("[{hash: {of: [n], take: 2}}, n]"));
    const kw_table *table = kw_policy_table(policy, 0);
    const kw_path *path = &table->paths[1];
    g_assert_true(path->unique && !table->paths[2].unique);
    g_assert_cmpint(path->content, ==, KW_CONTENT_HINTS);
    g_assert_cmpuint(path->placements->tuple_count, ==, 1);
    g_assert_cmpuint(table->unique_fields, ==, UINT64_C(1) << table->tuple_bits[path->placements->tuple[0]]);
    assert_refused(UNIQUE("[n, id]"),
                   "path p: field id is part of the primary key; the key of a path with unique");
    assert_refused(UNIQUE("[{field: {name: ts, unit: s}}]"),
                   "path p: the key does not hold field ts exactly");
    assert_refused(UNIQUE("[c]"), "path p: field c is a counter");
    assert_refused(UNIQUE("[{salt: {algorithm: random, buckets: 2}}, n]"),
                   "path p: field n can change, and the key rule chooses a bucket");
    assert_refused(UNIQUE("[n]") "    atomics: false\n", "path p: unique: true reads before it writes");
    assert_refused(
        "    fields: {id: string, n: int, ts: timestamp}\n    key: [id, {field: {name: ts, unit: s}}]\n"
        "    paths: {p: {unique: true, key: [n]}}\n",
        "path p: field ts has a coarser unit in the primary key");
}

/* Problems of fields are reported beside those of paths. */
KW_TEST(test_problems_together, "/schema/snapshot/problems_together")
{
    static const char text[] = "    fields: {id: string, n: int, a: {type: int, column: 'd:\\x00kw:x'}}\n"
                               "    key: [{field: id}]\n    paths: {p: {key: [{field: n}]}}\n";
    assert_refused(text, "path p: field id of the primary key is missing");
    assert_refused(text, "field a: Keyway reserves the columns");
}

/* A chosen bucket needs an association, or records that are put once. */
KW_TEST(test_associations, "/schema/snapshot/associations")
{
#define RANDOM                                                                                               \
    "    fields: {id: string, n: int}\n    key: [{salt: {algorithm: random, buckets: 4}}, {field: id}]\n"
    assert_refused(RANDOM, "table t, path primary: a second put of a record could write a second row");
    assert_refused(ONE "    paths: {by: {association: true, key: [{hash: id}, {field: id}]}}\n",
                   "path by: an association is only for");
    assert_refused(
        RANDOM
        "    paths: {by: {association: true, key: [{salt: {algorithm: random, buckets: 3}}, {field: id}]}}\n",
        "path by: the rows of an association cannot have");
    assert_refused(RANDOM "    paths: {by: {association: true, key: [{field: id}]}, to: {association: true, "
                          "key: [{hash: id}, {field: id}]}}\n",
                   "path to: table t already has the association by");
    g_autoptr(kw_policy) once = test_policy(RANDOM "    updates: false\n");
    g_assert_true(kw_policy_table(once, 0)->chosen);
    g_assert_null(kw_policy_table(once, 0)->locators);
    g_autoptr(kw_policy) policy = test_policy(
        RANDOM
        "    paths: {by: {association: true, key: [{field: id}]}, p: {key: [{hash: id}, {field: id}]}}\n");
    const kw_table *table = kw_policy_table(policy, 0);
    g_assert_cmpuint(table->queried_paths_count, ==, 2);
    g_assert_cmpuint(table->paths_count, ==, 3);
    g_assert_cmpuint(table->placements_count, ==, 3);
    for (size_t path = 0; path < 3; path++) {
        const kw_placement *placement = &table->placements[path];
        kw_content content = path == 2 ? KW_CONTENT_LOCATORS : KW_CONTENT_RECORDS;
        g_assert_true(table->paths[path].placements == placement && placement->path == &table->paths[path]);
        g_assert_true(placement->content == content && table->paths[path].content == content);
        g_assert_null(placement->scope.field); /* all records */
    }
    g_assert_true(table->locators == &table->placements[2]);
    g_assert_cmpstr(table->paths[1].name, ==, "p");
    g_assert_cmpint(kw_table_find_queried_path(table, KW_BYTES_LITERAL("by")), ==, -1);
    g_assert_cmpint(kw_table_find_path(table, KW_BYTES_LITERAL("by")), ==, 2);
    g_assert_cmpint(kw_table_find_path(table, KW_BYTES_LITERAL("p")), ==, 1);
    g_assert_true(table->chosen);
}

KW_TEST(test_path_states, "/schema/snapshot/path-states")
{
    g_autoptr(kw_policy) policy = test_policy(TWO);
    const kw_table *table = kw_policy_table(policy, 0);
    g_assert_null(table->paths[1].progress->state);
    kw_policy_set_path_state(policy, 0, 1, &(kw_path_state){.name = "complete", .verified = true});
    g_assert_cmpstr(table->paths[1].progress->state, ==, "complete");
    g_assert_true(table->paths[1].progress->verified);
    g_assert_null(table->paths[0].progress->state);
    g_assert_false(table->paths[0].progress->verified);
}

static void
assert_served(const kw_policy *policy, const char *table, const char *why, uint32_t retry_after_ms)
{
    kw_error error = KW_ERROR_NONE;
    g_assert_true(kw_policy_check_served(policy, kw_bytes_of_text(table), &error) == !why);
    g_assert_cmpstr(error.text, ==, why ? why : "");
    g_assert_cmpint(error.code, ==, why ? KW_UNAVAILABLE : KW_OK);
    g_assert_cmpuint(error.retry_after_ms, ==, retry_after_ms);
}

/* Only the tables that are not served refuse calls, whatever the code of the reason is. */
KW_TEST(test_tables_that_are_not_served, "/schema/snapshot/not-served")
{
    g_autoptr(kw_policy) policy = test_policy(ONE "  u:\n" ONE);
    g_assert_cmpuint(kw_policy_count_unserved(policy), ==, 0);
    assert_served(policy, "t", NULL, 0);
    kw_policy_set_served(policy, 0, &(kw_error){.code = KW_REFUSED, .text = "its rows", .retry_after_ms = 7});
    kw_policy_set_served(policy, 1, NULL);
    g_assert_cmpuint(kw_policy_count_unserved(policy), ==, 1);
    assert_served(policy, "t", "its rows", 7);
    assert_served(policy, "u", NULL, 0);
    assert_served(policy, "missing", NULL, 0);
    kw_policy_set_served(policy, 0, &(kw_error){.code = KW_TIMEOUT, .text = "its store table"});
    g_assert_cmpuint(kw_policy_count_unserved(policy), ==, 1);
    assert_served(policy, "t", "its store table", 0);
    kw_policy_set_served(policy, 0, NULL);
    g_assert_cmpuint(kw_policy_count_unserved(policy), ==, 0);
    g_assert_null(kw_table_why_not_served(kw_policy_table(policy, 0)));
    assert_served(policy, "t", NULL, 0);
}
