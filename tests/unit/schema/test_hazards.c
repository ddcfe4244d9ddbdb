/* Rules that are rejected in new layouts, although rows can exist under them: such a policy compiles, and
 * each hazard has a position, a problem and a hint. */
#include "rule/policies.h"

typedef struct kw_test_hazard {
    const char *yaml;     /* of the table */
    const char *expected; /* parts of the text, one per line; "" for a policy without hazards */
} kw_test_hazard;

static void
check(const kw_test_hazard *cases, size_t count)
{
    bool all = true;
    for (size_t index = 0; index < count; index++) {
        g_autofree char *text = test_hazards(cases[index].yaml);
        g_auto(GStrv) parts = g_strsplit(cases[index].expected, "\n", -1);
        bool good = !*text == !*cases[index].expected;
        for (char **part = parts; *part; part++)
            good = good && strstr(text, *part);
        if (!good)
            g_printerr("%shas the hazards\n%snot\n%s\n", cases[index].yaml, text, cases[index].expected);
        all = all && good;
    }
    g_assert_true(all);
}

/* Rows of Phoenix and HBaseWD have a salt of one byte. */
KW_TEST(test_salts, "/schema/hazards/salts")
{
#define SALT(settings) "    fields: {id: string}\n    key:\n      - salt: {" settings "}\n      - field: id\n"
    static const kw_test_hazard cases[] = {
        {SALT("buckets: 256, algorithm: phoenix"), ""},
        {SALT("buckets: 256, algorithm: hbasewd"), ""},
        {SALT("buckets: 300, of: id"), ""},
        {SALT("buckets: 300, algorithm: phoenix"),
         "test:5:25: error: path primary: salt: phoenix writes the bucket as one byte, so it has at most 256 "
         "buckets, not 300\n / hint: use at most 256 buckets"},
        {SALT("buckets: 257, algorithm: hbasewd"), "salt: hbasewd writes the bucket as one byte"},
        {"    fields: {id: string}\n    key: [{literal: x}, {salt: {buckets: 257, algorithm: hbasewd}}, "
         "{field: id}]\n",
         "salt: hbasewd writes the bucket as one byte"},
    };
    check(cases, G_N_ELEMENTS(cases));
}

/* Clocks that are set back are found in every component. */
KW_TEST(test_clocks, "/schema/hazards/clocks")
{
#define CLOCK "{calendar: {of: ts, parts: [yyyy, MM, dd, HH], zone: Europe/Berlin}}"
#define CLOCK_FIELDS "    fields: {id: string, ts: {type: timestamp, column: 'd:ts'}}\n"
    static const kw_test_hazard cases[] = {
        {CLOCK_FIELDS "    key: [" CLOCK ", {field: id}]\n", "clocks in Europe/Berlin are set back"},
        {CLOCK_FIELDS "    key: [{field: {name: id, encoding: terminated}}, " CLOCK "]\n",
         "clocks in Europe/Berlin are set back"},
        {CLOCK_FIELDS "    key: [{field: {name: id, encoding: terminated}}, " CLOCK ", {field: ts}]\n", ""},
    };
    check(cases, G_N_ELEMENTS(cases));
}

/* The same value is in the key only once. Clocks can repeat the time. */
KW_TEST(test_repeated, "/schema/hazards/repeated")
{
#define FIELDS                                                                                               \
    "    fields: {id: string, n: int, k: {type: string, values: [a, b]}, ts: {type: timestamp, column: "     \
    "'d:ts'}}\n"
    static const kw_test_hazard cases[] = {
        {FIELDS "    key: [{field: id}, {field: ts}, {field: id}]\n",
         "test:4:37: error: path primary: field id is in the key twice, in field(id as terminated by \\x00) "
         "and in "
         "field(id as raw) / hint: remove one of them"},
        {FIELDS "    key: [{enum: k}, {field: k}]\n", "field k is in the key twice, in enum(k as index of"},
        {FIELDS "    key: [{calendar: {of: ts, parts: [yyyy, MM], as: packed, sequence: n}}, {field: n}]\n",
         "field n is in the key twice, in calendar(ts: yyyy MM"},
        {FIELDS "    key: [{bits: {of: ts, parts: [seconds 40, n 24]}}, {field: n}]\n",
         "field n is in the key twice"},
        {FIELDS "    key: [{field: n}, {field: n}, {field: n}]\n",
         "test:4:23: error: path primary: field n is in the key twice\ntest:4:35: error"},
        {FIELDS
         "    key: [{field: n}]\n    paths: {other: {key: [{field: n}, {field: {name: n, order: desc}}]}}\n",
         "path other: field n is in the key twice"},
        {FIELDS
         "    key: [{calendar: {of: ts, parts: [yyyy, MM, dd]}}, {field: ts}, {hash: n}, {field: n}]\n",
         ""},
        {FIELDS "    key: [{calendar: {of: ts, parts: [yyyy, MM]}}, {calendar: {of: ts, parts: [yyyy, "
                "DDD]}}, {field: n}]\n",
         ""},
        {FIELDS
         "    key: [{bits: {of: ts, parts: [seconds 48]}}, {field: {name: ts, order: desc}}, {field: id}]\n",
         ""},
    };
    check(cases, G_N_ELEMENTS(cases));
}

/* Generated values, and components that cannot store them. */
KW_TEST(test_generated, "/schema/hazards/generated")
{
#define GENERATED(field, generate, key)                                                                      \
    "    fields:\n      id: {" field ", generate: " generate                                                 \
    "}\n      ts: {type: timestamp, column: 'd:ts'}\n"                                                       \
    "      other: string\n    key: [" key "]\n"
#define SEQUENCE(from_to)                                                                                    \
    GENERATED("type: int", "{kind: sequence, " from_to "}", FIELD("id, encoding: decimal, width: 5"))
#define FIELD(settings) "{field: {name: " settings "}}"
#define DIGITS "{calendar: {of: ts, parts: [yyyy, MM, dd], as: packed, sequence: id, digits: 5}}"
    static const kw_test_hazard cases[] = {
        {SEQUENCE("to: 99999"), ""},
        {SEQUENCE("from: 0, to: 999999"),
         "test:7:11: error: path primary: field(id as decimal, width 5) cannot hold every generated value: "
         "table t, field id: value 999999 is out of range; decimal in 5 bytes holds 0 to 99999\n / hint: end "
         "the sequence (to)"},
        {SEQUENCE("from: 100000"), "value 100000 is out of range"},
        {SEQUENCE("from: 1"), ""}, /* a warning */
        {GENERATED("type: int", "{kind: sequence, from: 0, to: 99999}", DIGITS), ""},
        {GENERATED("type: int", "{kind: sequence, to: 999999}", DIGITS),
         "value 999999 does not fit into 5 digits"},
        {GENERATED("type: int", "{kind: sequence, to: 511}", "{bits: {of: ts, parts: [seconds 47, id 9]}}"),
         ""},
        {GENERATED("type: int", "{kind: sequence, to: 512}", "{bits: {of: ts, parts: [seconds 47, id 9]}}"),
         "value 512 does not fit into 9 bits"},
        {GENERATED("type: int", "snowflake", FIELD("id")), ""},
        {GENERATED("type: int", "snowflake", FIELD("id, encoding: max_minus_decimal")), ""},
        {GENERATED("type: int", "snowflake", FIELD("id, width: 4")),
         "int in 4 bytes holds -2147483648 to 2147483647"},
        {GENERATED("type: int", "snowflake", FIELD("id, encoding: decimal, width: 18")),
         "holds 0 to 999999999999999999"},
        {GENERATED("type: int, column: 'd:id', form: phoenix4", "snowflake", FIELD("other")),
         "test:4:65: error: the column of the field cannot hold every generated value"},
        {GENERATED("type: int", "{kind: snowflake, form: partitioned}",
                   "{bits: {of: id, parts: [zero 1, minute 6, seconds 32, worker 9, n 16]}}"),
         ""},
        {GENERATED("type: int", "{kind: snowflake, form: partitioned}",
                   "{bits: {of: id, parts: [zero 1, minute 6, seconds 32, zero 25]}}"),
         "cannot hold every generated value"},
        {GENERATED("type: int", "{kind: snowflake, form: partitioned}",
                   "{bits: {of: id, parts: [zero 1, minute 6, seconds 32, constant 0 1, n 24]}}"),
         "cannot hold every generated value"},
        {GENERATED("type: int", "{kind: snowflake, form: partitioned}",
                   "{bits: {of: id, parts: [zero 2, high 31, low 31]}}"), /* minutes up to 31 */
         "cannot hold every generated value"},
        {GENERATED("type: int", "snowflake",
                   "{bits: {of: id, parts: [zero 1, minute 6, seconds 32, worker 9, n 16]}}"),
         "has a minute in its bits that differs from its time"},
        {GENERATED("type: string", "uuid7", FIELD("id, encoding: fixed, width: 36")), ""},
        {GENERATED("type: string", "uuid7", FIELD("id, encoding: uuid")), ""},
        {GENERATED("type: string", "uuid7", FIELD("id, encoding: terminated") ", {field: other}"), ""},
        {GENERATED("type: string", "uuid7", FIELD("id, encoding: fixed, width: 20")),
         "has 36 bytes; the row key can hold 20"},
        {GENERATED("type: string", "uuid4", FIELD("id, encoding: hex, width: 16")), "hex digits"},
        {GENERATED("type: string", "uuid4",
                   FIELD("id, encoding: terminated, terminator: e") ", {field: other}"),
         "contains the byte 0x65 that ends it"},
        {GENERATED("type: string", "objectid", FIELD("id, encoding: hex, width: 12")), ""},
        {GENERATED("type: string", "objectid", FIELD("id, encoding: digits, width: 24")), "decimal digits"},
        {GENERATED("type: bytes", "uuid7", FIELD("id, encoding: fixed, width: 16")), ""},
        {GENERATED("type: bytes", "uuid7", FIELD("id, encoding: fixed, width: 20")),
         "the row key needs exactly 20"},
        {GENERATED("type: bytes", "uuid4", FIELD("id, encoding: terminated") ", {field: other}"),
         "contains the byte 0x00 that ends it"},
        {GENERATED("type: bytes", "objectid", FIELD("id, encoding: ordered")), ""},
        {GENERATED("type: bytes", "objectid", FIELD("id, encoding: fixed, width: 12")), ""},
        {GENERATED("type: bytes", "objectid", FIELD("id, encoding: fixed, width: 16")),
         "has 12 bytes; the row key needs exactly 16"},
        {GENERATED("type: timestamp", "now", FIELD("id, width: 4")), "is out of range"},
        {GENERATED("type: timestamp, column: 'd:id'", "now", FIELD("id, width: 4, unit: s")), ""},
        /* from 2026 to 2034 */
        {GENERATED("type: timestamp, column: 'd:id'", "now",
                   "{bits: {of: id, parts: [seconds 28, zero 4], epoch: 1767225600000}}, {field: other}"),
         ""},
    };
    check(cases, G_N_ELEMENTS(cases));
}

/* The other members of a hazard. */
KW_TEST(test_places, "/schema/hazards/places")
{
    g_autoptr(kw_policy) policy =
        test_policy_with_hazards("    fields: {id: string}\n    key: [field: id]\n    paths:\n      other:\n"
                                 "        key: [{salt: {buckets: 300, algorithm: phoenix}}, {field: id}]\n");
    g_assert_cmpuint(kw_policy_hazards_count(policy), ==, 1);
    const kw_hazard *hazard = kw_policy_hazard(policy, 0);
    g_assert_true(hazard->table == kw_policy_table(policy, 0));
    g_assert_true(hazard->path == &kw_policy_table(policy, 0)->paths[1]);
    g_assert_cmpuint(hazard->mark.line, ==, 7);
    g_assert_nonnull(strstr(hazard->text, "path other: salt: phoenix"));
    g_assert_nonnull(strstr(hazard->hint, "256"));
}

/* A generated field has one hazard, and other fields of the key have none. */
KW_TEST(test_hazards_of_a_field, "/schema/hazards/hazards-of-a-field")
{
    g_autoptr(kw_policy) policy = test_policy_with_hazards(
        "    fields:\n      seq: {type: int, generate: {kind: sequence, to: 99999, at_end: wrap}}\n"
        "      id: string\n    key: [{field: {name: seq, encoding: decimal, width: 5}}]\n");
    g_assert_cmpuint(kw_policy_hazards_count(policy), ==, 1);
    g_assert_nonnull(strstr(kw_policy_hazard(policy, 0)->text, "after 99999 (at_end: wrap)"));
}

/* The hazards of every table are found. */
KW_TEST(test_tables, "/schema/hazards/tables")
{
#define PHOENIX(buckets)                                                                                     \
    "    fields: {id: string}\n"                                                                             \
    "    key: [{salt: {buckets: " buckets ", algorithm: phoenix}}, {field: id}]\n"
    g_autoptr(kw_policy) policy = test_policy_with_hazards(
        PHOENIX("300") "  u:\n" PHOENIX("256") "  v:\n" PHOENIX("400") "  w:\n" PHOENIX("500"));
    g_assert_cmpuint(kw_policy_hazards_count(policy), ==, 3);
    g_assert_cmpstr(kw_policy_hazard(policy, 0)->table->name, ==, "t");
    g_assert_cmpstr(kw_policy_hazard(policy, 1)->table->name, ==, "v");
    g_assert_cmpstr(kw_policy_hazard(policy, 2)->table->name, ==, "w");
}
