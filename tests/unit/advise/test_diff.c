/* The text of a policy diff: rules, keys that move, queries; and no text where nothing changed. */
#include "advise/diff.h"

#include "rule/policies.h"

#include <stdlib.h>

#define RING                                                                                                 \
    "    fields: {id: string, ts: timestamp, note: string}\n    key:\n"                                      \
    "      - ring: {of: id, nodes: [%s]}\n      - field: id\n      - field: ts\n"
#define REJECTED "    policy.source file: rejected if the table holds rows\n"
#define REJECTED_TOO "    policy.source store: rejected if the table holds rows\n"
#define MOVED                                                                                                \
    "    policy.source store: `keyway policy apply --dry-run` says whether the rows can be moved while the " \
    "table is served\n"
#define COPIED "    policy.source store: `keyway policy apply` copies the rows while the table is served\n"
#define TEN "n01, n02, n03, n04, n05, n06, n07, n08, n09, n10"

static char *
diff_with(const char *old_yaml, const char *new_yaml, const kw_record *records, size_t count)
{
    g_autoptr(kw_policy) old = test_policy(old_yaml), fresh = test_policy(new_yaml);
    g_autoptr(kw_arena) arena = kw_arena_new();
    kw_diff_sample sample = {
        .table = count ? kw_policy_table(old, 0) : NULL, .records = records, .count = count};
    return g_strdup(kw_policy_diff(old, fresh, count ? &sample : NULL, arena));
}

static char *
diff(const char *old_yaml, const char *new_yaml)
{
    return diff_with(old_yaml, new_yaml, NULL, 0);
}

#define ASSERT_CONTAINS(text, part)                                                                          \
    G_STMT_START                                                                                             \
    {                                                                                                        \
        if (!strstr(text, part))                                                                             \
            g_error("not said: %s\n%s", part, text);                                                         \
    }                                                                                                        \
    G_STMT_END

/* Parses the percentage in "COMPONENT: 9.1 % of". */
static double
share(const char *text, const char *component)
{
    g_autofree char *head = g_strdup_printf("    %s: ", component);
    const char *found = strstr(text, head);
    if (!found)
        g_error("no share of %s in\n%s", component, text);
    return g_ascii_strtod(found + strlen(head), NULL);
}

KW_TEST(test_same, "/advise/diff/same")
{
    g_autofree char *same = diff("    fields: {a: string, n: int}\n    key: [{hash: a}, {field: a}]\n",
                                 "    fields: {a: string, n: int}\n"
                                 "    key: [{hash: {of: a, take: 4}}, {field: {name: a, encoding: raw}}]\n");
    g_assert_cmpstr(same, ==, "no difference in tables, fields, rules and queries\n");
}

/* With one more node, only its share of the ring moves. */
KW_TEST(test_ring, "/advise/diff/ring")
{
    g_autofree char *ten = g_strdup_printf(RING, TEN), *eleven = g_strdup_printf(RING, TEN ", n11");
    g_autofree char *grown = diff(ten, eleven), *shrunk = diff(eleven, ten);
    g_assert_cmpfloat(share(grown, "ring"), >, 100.0 / 11 * 0.7);
    g_assert_cmpfloat(share(grown, "ring"), <, 100.0 / 11 * 1.3);
    g_assert_cmpfloat(share(shrunk, "ring"), ==, share(grown, "ring"));
    ASSERT_CONTAINS(grown, "path primary: another key rule (layout 1, ");
    ASSERT_CONTAINS(grown, REJECTED MOVED);
    ASSERT_CONTAINS(grown, "    range of id: 10 ranges by path primary -> 11 ranges by path primary\n");
}

/* With one more bucket, almost all keys move. */
KW_TEST(test_buckets, "/advise/diff/buckets")
{
    g_autofree char *salted =
        diff("    fields: {a: string}\n    key: [{salt: {of: a, buckets: 10}}, {field: a}]\n",
             "    fields: {a: string}\n    layout: 2\n    store_table: t2\n"
             "    key: [{salt: {of: a, buckets: 11}}, {field: a}]\n");
    g_assert_cmpfloat(share(salted, "salt"), >, 88);
    ASSERT_CONTAINS(salted, REJECTED MOVED);
    ASSERT_CONTAINS(salted, "(layout 1, ");
    ASSERT_CONTAINS(salted, " -> layout 2, ");
    g_autofree char *mod = diff("    fields: {n: int}\n    key: [{mod: {of: n, buckets: 10}}, {field: n}]\n",
                                "    fields: {n: int}\n    key: [{mod: {of: n, buckets: 11}}, {field: n}]\n");
    g_assert_cmpfloat(share(mod, "mod"), >, 85);
}

/* Given records are counted instead of random ones. */
KW_TEST(test_sample, "/advise/diff/sample")
{
    static const char *const old =
        "    fields: {n: int}\n    key: [{mod: {of: n, buckets: 4}}, {field: n}]\n";
    static const char *const fresh =
        "    fields: {n: int}\n    key: [{mod: {of: n, buckets: 8}}, {field: n}]\n";
    kw_value values[4] = {test_number(0), test_number(1), test_number(3), test_number(5)};
    kw_record records[4] = {{&values[0]}, {&values[1]}, {&values[2]}, {&values[3]}};
    g_autofree char *text = diff_with(old, fresh, records, 4);
    ASSERT_CONTAINS(text, "    mod: 25.0 % of 4 given records move\n");
    ASSERT_CONTAINS(text, "    25.0 % of 4 given records get another row key\n");
}

/* Encodings that accept only some values, and fields that only one policy has. */
KW_TEST(test_values, "/advise/diff/values")
{
    g_autofree char *text = diff(
        "    fields: {u: string, p: string, x: string, k: {type: string, values: [a, b]}, raw: bytes}\n"
        "    key: [{salt: {of: u, buckets: 3}}, {field: {name: u, encoding: uuid}}, {field: {name: p, "
        "encoding: "
        "digits, width: 11}}, {enum: k}, {field: {name: raw, encoding: fixed, width: 5}}, "
        "{field: {name: x, encoding: hex, width: 4}}]\n",
        "    fields: {u: string, p: string, x: string, k: {type: string, values: [a, b]}, raw: bytes, n: "
        "int}\n"
        "    key: [{hash: u}, {field: {name: u, encoding: uuid}}, {field: {name: p, encoding: digits, width: "
        "11}}, {enum: k}, {field: {name: raw, encoding: fixed, width: 5}}, {field: {name: x, encoding: hex, "
        "width: "
        "4}}]\n");
    ASSERT_CONTAINS(text, "    100.0 % of 20000 random records get another row key\n");
    ASSERT_CONTAINS(text, "  field n is new (int)\n");
    ASSERT_CONTAINS(text, "    range of u: 3 ranges by path primary -> would read the whole table\n");
}

KW_TEST(test_paths, "/advise/diff/paths")
{
    g_autofree char *text = diff(
        "    fields: {a: string, n: int, removed: int}\n    key: [{hash: a}, {field: a}, {field: n}]\n"
        "    paths: {by_n: {key: [{field: n}, {field: a}]}}\n",
        "    fields: {a: string, n: {type: int, column: 'd:n'}}\n    key: [{hash: a}, {field: a}, {field: "
        "n}]\n"
        "    updates: false\n    store_table: other\n    paths: {new: {key: [{field: n}, {field: a}]}}\n");
    ASSERT_CONTAINS(text, "  field n: stored in the row key only -> in column d:n");
    ASSERT_CONTAINS(text, "  field removed is removed\n");
    ASSERT_CONTAINS(text, "  updates: true -> false\n");
    ASSERT_CONTAINS(text, "  path by_n is removed; its store table t_by_n remains unchanged\n");
    ASSERT_CONTAINS(text, "  path new is new (layout 1, ");
    ASSERT_CONTAINS(text, ")\n" REJECTED COPIED);
    ASSERT_CONTAINS(text,
                    "  path primary: store table t -> other\n" REJECTED
                    "    policy.source store: rejected if the table holds rows, unless the layout number "
                    "changes as well\n");
    ASSERT_CONTAINS(text, "    n bound: 1 range by path by_n -> 1 range by path new\n");
}

/* Another layout number moves the rows, even if the rule is the same. */
KW_TEST(test_layout, "/advise/diff/layout")
{
    g_autofree char *text = diff("    fields: {a: string}\n    key: [a]\n",
                                 "    fields: {a: string}\n    key: [a]\n    layout: 2\n");
    ASSERT_CONTAINS(text, "  path primary: layout 1 -> 2, though the rule is the same\n" REJECTED MOVED);
}

#define HINTS(paths) "    fields: {a: string, s: string, n: int}\n    key: [{hash: a}, a, n]\n" paths
#define BY_S "by_s: {key: [s, a, n]}"
#define BY_N "by_n: {key: [n, a]}"
#define DEPENDS                                                                                              \
    "    policy.source store: `keyway policy apply --dry-run` says whether the path can be added while the " \
    "table is served\n"

/* The table of a path over fields that can change. */
KW_TEST(test_hints, "/advise/diff/hints")
{
    const char *without = HINTS(""), *with = HINTS("    paths: {" BY_S "}\n");
    g_autofree char *added = diff(without, with), *dropped = diff(with, without);
    ASSERT_CONTAINS(added, "  path by_s is new (layout 1, ");
    ASSERT_CONTAINS(added, ")\n" REJECTED COPIED);
    ASSERT_CONTAINS(dropped, "  path by_s is removed; its store table t_by_s remains unchanged; on HBase, "
                             "policy.source file rejects this if the table holds rows\n");
    g_autofree char *changed = diff(with, HINTS("    paths: {by_s: {key: [{hash: s}, s, a, n]}}\n"));
    ASSERT_CONTAINS(changed, REJECTED REJECTED_TOO);
    g_autofree char *primary = diff(with, "    fields: {a: string, s: string, n: int}\n    key: [a, n]\n"
                                          "    paths: {" BY_S "}\n");
    ASSERT_CONTAINS(primary, "path primary: another key rule");
    ASSERT_CONTAINS(primary, REJECTED REJECTED_TOO);
    g_autofree char *beside = diff(with, HINTS("    paths: {" BY_S ", " BY_N "}\n"));
    ASSERT_CONTAINS(beside, REJECTED DEPENDS);
}

#define CHOSEN(buckets)                                                                                      \
    "    fields: {a: string, n: int}\n    updates: false\n"                                                  \
    "    key: [{salt: {algorithm: random, buckets: " #buckets "}}, a, n]\n"

/* Rules with chosen buckets, and associations, do not change while the table has rows. */
KW_TEST(test_chosen_buckets, "/advise/diff/chosen buckets")
{
    static const char by_n[] = CHOSEN(4) "    paths: {by_n: {key: [n, a]}}\n";
    static const char associated[] = CHOSEN(4) "    paths: {by_n: {association: true, key: [n, a]}}\n";
    static const char other[] = CHOSEN(4) "    paths: {by_n: {association: true, key: [a, n]}}\n";
    const char *const pairs[][2] = {
        {CHOSEN(4), CHOSEN(8)}, {CHOSEN(4), by_n}, {CHOSEN(4), associated}, {associated, other}};
    for (size_t i = 0; i < G_N_ELEMENTS(pairs); i++) {
        g_autofree char *text = diff(pairs[i][0], pairs[i][1]);
        ASSERT_CONTAINS(text, REJECTED REJECTED_TOO);
        g_assert_null(strstr(text, "keyway policy apply"));
    }
}
