/* Warnings about valid rules: their messages and positions, and that good rules have none. */
#include "config/reader.h"
#include "rule/policies.h"

typedef struct kw_test_warning {
    const char *rule;     /* the table's key and the following settings, from line 9 on */
    const char *expected; /* parts of the warnings, one per line; "": no warnings */
} kw_test_warning;

#define FIELDS                                                                                               \
    "    fields:\n      id: string\n      n: int\n      ts: {type: timestamp, unit: ms, column: 'd:ts'}\n"   \
    "      seq: {type: int, generate: sequence}\n      raw: bytes\n    updates: false\n    key:\n"

static const kw_test_warning cases[] = {
    {"      - salt: {of: id, buckets: 31}\n      - field: id\n", ""},
    {"      - hash: id\n      - field: id\n      - field: ts\n", ""},
    {"      - mod: {of: n, buckets: 7}\n      - field: n\n", ""},
    {"      - ring: {of: id, nodes: [a, b, c, d]}\n      - field: id\n", ""},
    {"      - field: {name: n, encoding: decimal, reverse: true}\n", ""},
    {"      - salt: {of: id, buckets: 31, algorithm: java_string}\n      - field: id\n",
     "test:11:9: warning: path primary, salt(java_string of id\nsequential ten-digit values of id use 10 of "
     "31 buckets, and the fullest bucket gets 3.1 times the mean\n/ hint: a salt with the default algorithm "
     "xxh64"},
    {"      - salt: {buckets: 31, algorithm: hbasewd}\n      - field: id\n", "use 10 of 31 buckets"},
    {"      - salt: {buckets: 31, algorithm: phoenix}\n      - field: {name: id, encoding: raw}\n",
     "sequential"},
    {"      - ring: {of: id, nodes: [a, b, c, d], replicas: 1}\n      - field: id\n",
     "the fullest bucket gets"},
    {"      - ring: {of: raw, nodes: [a, b, c, d], replicas: 1}\n      - field: {name: raw, encoding: fixed, "
     "width: 8}\n",
     "sequential values of raw use"},
    {"      - field: ts\n      - field: id\n",
     "test:11:9: warning: path primary: keys start with ts, which is a time, so at any moment all writes go "
     "to one region / hint: start the key with a salt"},
    {"      - literal: x\n      - field: {name: ts, order: desc}\n      - field: id\n",
     "test:12:9: warning: path primary: keys start with ts"},
    {"      - literal: '\\xFF'\n      - field: n\n", ""},
    {"      - literal: \"\\xFF\"\n      - field: n\n",
     "test:11:18: warning: path primary: the literal has the character U+00FF, which has the two bytes "
     "\\xC3\\xBF / hint: for a byte, write \\xNN in single quotes"},
    {"      - field: seq\n", "keys start with seq, which is sequential"},
    {"      - field: {name: seq, encoding: decimal, reverse: true}\n", ""},
    {"      - field: {name: seq, encoding: decimal, width: 9, reverse: true}\n",
     "path primary: a sequence without an end grows beyond field(seq as decimal, width 9, reversed)\nholds 0 "
     "to 999999999 / hint: end the sequence (to)"},
    {"      - hash: n\n      - field: n\n    paths:\n      other:\n        key:\n          - field: {name: "
     "ts, unit: s}\n"
     "          - field: n\n",
     "test:16:13: warning: path other: keys start with ts, which is a time"},
    {"      - hash: n\n      - field: n\n      - field: {name: ts, unit: s}\n",
     "test:2:3: warning: path primary: records that differ only in the part of ts that is finer than the "
     "unit of the key are the same record"},
    {"      - field: {name: id, encoding: raw}\n      - field: n\n",
     "test:11:9: warning: path primary: with this encoding, keys are not in the order of id\n/ hint: "
     "encoding: terminated"},
    {"      - field: {name: id, encoding: terminated, terminator: '|'}\n      - field: n\n",
     "keys are not in the order of id"},
    {"      - field: {name: raw, encoding: ordered}\n      - field: n\n",
     "keys are not in the order of raw\n/ hint: encoding: fixed keeps the order"},
    {"      - hash: id\n      - field: {name: ts, encoding: decimal, width: 10}\n      - field: id\n",
     "test:12:9: warning: path primary: field(ts as decimal, width 10) holds no time after 1970-04-26: "
     "such puts fail / hint: use more bytes or digits, or a coarser unit"},
    {"      - hash: id\n      - field: {name: ts, encoding: raw_int, width: 4}\n      - field: id\n",
     "holds no time after 1970-01-25"},
    {"      - hash: id\n      - field: {name: ts, encoding: max_minus, width: 4}\n      - field: id\n",
     "holds no time after 1970-01-25"},
    {"      - hash: id\n      - field: {name: ts, unit: s, encoding: raw_int, width: 4}\n      - field: id\n",
     "holds no time after 2038-01-19"},
    {"      - hash: id\n      - field: {name: ts, encoding: decimal, width: 13}\n      - field: id\n", ""},
    {"      - hash: id\n      - calendar: {of: ts, parts: [yyyy, mm, dd]}\n      - field: ts\n      - field: "
     "id\n",
     "test:12:35: warning: path primary: mm is the minute of the hour, but the calendar has no hour / hint: "
     "use MM for the month"},
    {"      - calendar: {of: ts, parts: [mm, HH, dd, MM, yyyy]}\n      - field: id\n",
     "records that differ only in the part of ts that is finer than the unit of the key are the same record "
     "/ hint: if they must be different records"},
    {"      - salt: {algorithm: random, buckets: 8}\n      - field: id\n",
     "each lookup reads a row in every bucket / hint: add an association"},
    {"      - hash: id\n      - field: id\n    paths:\n      again:\n        key: [{hash: id}, {field: "
     "id}]\n",
     "test:14:7: warning: path again has the same key rule as path primary, so it serves no other queries / "
     "hint: remove one of them"},
    {"      - hash: id\n      - field: id\n    families: {d: {ttl: 1d}, old: {ttl: 1d}}\n",
     "table t: no field is stored in family old / hint: remove the family"},
    {"      - hash: id\n      - field: id\n    marker: 'm:x'\n", ""},
};

static char *
warnings_of(const char *fields, const char *rule)
{
    g_autofree char *text = g_strconcat("tables:\n  t:\n", fields, rule, NULL);
    size_t count;
    const kw_component_schema *const *schemas = kw_rule_schemas(&count);
    g_autoptr(kw_diagnostics) found = kw_diagnostics_new("test");
    g_autoptr(kw_model) model = kw_model_read_text("test", text, strlen(text), schemas, count, found);
    g_autoptr(kw_policy) policy = model ? kw_policy_new(model, found) : NULL;
    if (!policy)
        return NULL;
    kw_policy_warn(policy, found);
    g_assert_cmpuint(kw_diagnostics_count(found), ==, 0);
    g_assert_cmpuint(kw_diagnostics_warnings(found), ==, kw_diagnostics_kept(found));
    return kw_diagnostics_text(found);
}

KW_TEST(test_warnings, "/schema/warnings/cases")
{
    bool all = true;
    for (size_t index = 0; index < G_N_ELEMENTS(cases); index++) {
        g_autofree char *text = warnings_of(FIELDS, cases[index].rule);
        bool good = !text == !cases[index].expected;
        g_auto(GStrv) parts = g_strsplit(cases[index].expected ? cases[index].expected : "", "\n", -1);
        if (text && strstr(cases[index].rule, "calendar"))
            good = good && !strstr(text, "not in the order"); /* the planner reads them in order */
        for (char **part = parts; text && *part; part++)
            good = good && strstr(text, *part);
        if (text && cases[index].expected && !*cases[index].expected)
            good = !*text;
        all = all && good;
        if (!good)
            g_printerr("rule\n%shas the warnings\n%snot\n%s\n", cases[index].rule,
                       text ? text : "(refused)\n",
                       cases[index].expected ? cases[index].expected : "(refused)");
    }
    g_assert_true(all);
}

/* Only numbers, texts and bytes can be sequential, and only if no values are declared. */
KW_TEST(test_spread_of_other_fields, "/schema/warnings/spread-of-other-fields")
{
    static const struct {
        const char *type;
        bool warns;
    } cases_of[] = {{"string", true},
                    {"{type: string, values: [a, b, c]}", false},
                    {"{type: int, values: [1, 2, 3]}", false},
                    {"int", false}, /* spread evenly */
                    {"bool", false},
                    {"double", false}};
    for (size_t i = 0; i < G_N_ELEMENTS(cases_of); i++) {
        g_autofree char *fields = g_strdup_printf("    fields: {id: %s}\n    key:\n", cases_of[i].type);
        g_autofree char *text =
            warnings_of(fields, "      - salt: {buckets: 31, algorithm: hbasewd}\n      - field: id\n");
        if (!text)
            g_error("%s is refused", cases_of[i].type);
        g_assert_cmpint(strstr(text, "sequential") != NULL, ==, cases_of[i].warns);
    }
}
