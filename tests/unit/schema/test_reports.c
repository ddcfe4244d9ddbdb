/* Every hazard and every warning of policies: numbers that restart, cycles, repeated fields, generated
 * values, and the warnings of each component of a key. Line and column show which part of the rule a line is
 * about. */
#include "schema/reports.h"

#define FIELDS "    fields:\n      id: string\n      ts: {type: timestamp, column: 'd:ts'}\n"
#define NUMBERED(settings)                                                                                   \
    FIELDS "      seq: {type: int, column: 'd:q', generate: {kind: sequence, " settings "}}\n"

/* A number that restarts is harmless if the key contains the time that it restarts with. */
KW_TEST(test_numbers, "/schema/reports/numbers")
{
    static const kw_test_report cases[] = {
        {NUMBERED(
             "per: day, of: ts") "    key: [{calendar: {of: ts, parts: [yyyy, MM, dd]}}, {field: seq}]\n",
         ""},
        {NUMBERED("per: day, of: ts") "    key: [{calendar: {of: ts, parts: [yyyy, MM]}}, {field: seq}]\n",
         "test:6:49: error: path primary: the numbers of field seq start again in each day of ts in UTC"},
        {NUMBERED("per: day, of: ts, zone: Europe/Berlin") "    key: [{calendar: {of: ts, parts: [yyyy, MM, "
                                                           "dd]}}, {field: seq}]\n",
         "start again in each day of ts in Europe/Berlin"},
        {NUMBERED("per: minute, of: ts") "    key: [{calendar: {of: ts, parts: [yyyy, MM, dd, HH]}}, {field: "
                                         "seq}]\n",
         "start again in each minute of ts in UTC"},
        {NUMBERED("to: 99") "    key: [{field: seq}]\n", ""},
        {NUMBERED("to: 99, at_end: wrap") "    key: [{field: seq}]\n",
         "test:6:49: error: path primary: the numbers of field seq start again after 99 (at_end: wrap), and "
         "the "
         "key holds no time, "},
        {NUMBERED("to: 98, at_end: wrap, per: day, of: ts") "    key: [{calendar: {of: ts, parts: [yyyy, MM, "
                                                            "dd]}}, {field: seq}]\n",
         "start again after 98 (at_end: wrap), and the key holds no time finer than the day, "},
        {NUMBERED("to: 99, at_end: wrap, per: day, of: ts") "    key: [{calendar: {of: ts, parts: [yyyy, MM, "
                                                            "dd, HH]}}, {field: seq}]\n",
         ""},
        /* Another generated value makes the key unique. */
        {NUMBERED("per: day, of: ts") "      u: {type: string, generate: uuid4}\n"
                                      "    key: [{field: seq}, {field: u}]\n",
         ""},
        /* Two fields, two paths. */
        {NUMBERED(
             "per: day, of: ts") "      other: {type: int, column: 'd:o', generate: {kind: sequence, to: 9, "
                                 "at_end: wrap}}\n"
                                 "    key: [{field: other}, {field: seq}]\n"
                                 "    paths: {second: {key: [{hash: seq}, {field: seq}, {field: other}]}}\n",
         "path primary: the numbers of field seq start again in each day\n"
         "path second: the numbers of field seq start again in each day\n"
         "path primary: the numbers of field other start again after 9 \n"
         "path second: the numbers of field other start again after 9 "},
    };
    test_check_hazards(cases, G_N_ELEMENTS(cases));
}

/* A row must have expired when the next cycle reuses its key; a month has at most 31 days. */
KW_TEST(test_cycles, "/schema/reports/cycles")
{
#define CYCLE(families, parts)                                                                               \
    FIELDS "    major_compaction: 1ms\n    families: " families                                              \
           "\n    key: [{calendar: {of: ts, parts: " parts "}}, {field: id}]\n"
    static const kw_test_report cases[] = {
        {CYCLE("{d: {ttl: 28857600s}}", "[MM]"), ""},
        {CYCLE("{d: {ttl: 28857601s}}", "[MM]"), "test:8:11: error: path primary: calendar(ts: MM in UTC as "
                                                 "text) repeats 28857600s after its end, which "
                                                 "is less than the ttl (28857601s) of family d, so two "
                                                 "records could share a row key / hint: give the "
                                                 "family a ttl of at most 28857600s"},
        {CYCLE("{d: {ttl: 1d}, e: {ttl: 340d}}", "[MM]"), "less than the ttl (29376000s) of family e"},
        {CYCLE("{d: {ttl: 340d}, e: {ttl: 341d}}", "[MM]"), "of family d\nof family e"},
        {CYCLE("{d: {ttl: 10s}}", "[mm], zone: Australia/Lord_Howe"),
         "clocks in Australia/Lord_Howe are set back (as on 1992-02-29)\n"
         "repeats -60s after its end, which is less than the ttl (10s) of family d, so two records could "
         "share "
         "a row key / hint: give the family a ttl of at most 1s"},
    };
    test_check_hazards(cases, G_N_ELEMENTS(cases));
}

/* More hazards than the first array of hazards has space for. */
KW_TEST(test_many, "/schema/reports/many")
{
    g_autoptr(GString) yaml = g_string_new("    fields: {n: int}\n    key:\n");
    for (int i = 0; i < 32; i++)
        g_string_append(yaml, "      - field: n\n");
    g_autoptr(kw_policy) policy = test_policy_with_hazards(yaml->str);
    g_assert_cmpuint(kw_policy_hazards_count(policy), ==, 31);
    for (unsigned i = 0; i < 31; i++) {
        const kw_hazard *hazard = kw_policy_hazard(policy, i);
        g_assert_nonnull(strstr(hazard->text, "field n is in the key twice"));
        g_assert_cmpuint(hazard->mark.line, ==, 6 + i);
    }
}

/* A generated time fits if the key can hold a time of 2026 or of 2036. Generated bytes must always fit. */
KW_TEST(test_generated, "/schema/reports/generated")
{
#define NOW(unit, width)                                                                                     \
    "    fields: {id: string, ts: {type: timestamp, unit: " unit ", generate: now}}\n"                       \
    "    key: [{field: {name: ts, encoding: decimal, width: " width "}}, {field: id}]\n"
#define ENDED_BY(byte)                                                                                       \
    "    fields: {id: string, u: {type: bytes, generate: uuid4}}\n"                                          \
    "    key: [{field: {name: u, encoding: terminated, terminator: '\\x" byte "'}}, {field: id}]\n"
    static const kw_test_report cases[] = {
        {NOW("s", "10"), ""},
        {NOW("s", "9"), "test:4:11: error: path primary: field(ts as decimal, width 9)"},
        {NOW("ms", "13"), ""},
        {NOW("ms", "12"), "field(ts as decimal, width 12) cannot hold"},
        {NOW("us", "16"), ""},
        {NOW("us", "15"), "field(ts as decimal, width 15) cannot hold"},
        {NOW("ns", "19"), ""},
        {NOW("ns", "18"), "field(ts as decimal, width 18) cannot hold"},
        {ENDED_BY("00"), "contains the byte 0x00 that ends it"},
        {ENDED_BY("01"), "contains the byte 0x01 that ends it"},
        {ENDED_BY("05"), "contains the byte 0x05 that ends it"},
        {ENDED_BY("FF"), "contains the byte 0xFF that ends it"},
    };
    test_check_hazards(cases, G_N_ELEMENTS(cases));
}

#define KEY_FIELDS                                                                                           \
    "    fields: {id: string, n: int, ts: {type: timestamp}, o: {type: string, generate: objectid}, u4: "    \
    "{type: string, generate: uuid4}, u7: {type: string, generate: uuid7}, s: {type: int, generate: "        \
    "snowflake}, p: {type: int, generate: {kind: snowflake, form: partitioned}}}\n"

/* Keys that grow: the first component that is not a literal decides. */
KW_TEST(test_growing, "/schema/reports/growing")
{
#define STARTS(key) KEY_FIELDS "    key: [" key "]\n"
    static const kw_test_report cases[] = {
        {STARTS("{field: o}"),
         "test:4:11: warning: path primary: keys start with o, which is generated in the "},
        {STARTS("{field: u7}"), "keys start with u7, which is generated in the order of time"},
        {STARTS("{field: s}"), "keys start with s, which is generated in the order of time"},
        {"    fields: {ts: timestamp, id: string}\n    key: [{field: ts}, {field: id}]\n",
         "test:4:11: warning: path primary: keys start with ts, which is a time, so "},
        {STARTS("{field: u4}"), ""},
        {STARTS("{field: p}"), ""},
        {STARTS("{literal: a}, {literal: b}, {field: ts}, {field: id}"),
         "test:4:39: warning: path primary: keys start with ts"},
        {STARTS("{field: id}, {field: ts}"), ""},
        {STARTS("{hash: id}, {field: ts}, {field: id}"), ""},
        {STARTS("{mod: {of: n, buckets: 3}}, {field: ts}, {field: n}"), ""},
        {STARTS("{field: {name: ts, encoding: decimal, reverse: true}}"), ""},
    };
    test_check_warnings(cases, G_N_ELEMENTS(cases));
}

/* One warning for a literal, at its first character of two bytes. */
KW_TEST(test_literals, "/schema/reports/literals")
{
#define LITERALS(key) "    fields: {id: string}\n    key: [" key ", {field: id}]\n"
    static const kw_test_report cases[] = {
        {LITERALS("{literal: \"~\\x7F\\u0100\"}"), ""},
        {LITERALS("{literal: \"a\\x80\"}"), "test:4:21: warning: path primary: the literal has the character "
                                            "U+0080, which has the two bytes \\xC2\\x80"},
        {LITERALS("{literal: \"\\u0100\\xBF\\xFF\"}"), "U+00BF, which has the two bytes \\xC2\\xBF"},
        {LITERALS("{literal: \"a\"}, {literal: \"\\xC0\"}, {literal: \"\\xFF\"}"),
         "test:4:37: warning: path primary: the literal has the character U+00C0, which has the two bytes "
         "\\xC3\\x80\ntest:4:56: warning: path primary: the literal has the character U+00FF, which has the "
         "two bytes \\xC3\\xBF"},
    };
    test_check_warnings(cases, G_N_ELEMENTS(cases));
}

/* Each component and each path has its own warnings. */
KW_TEST(test_each, "/schema/reports/each")
{
#define NUMBERS "    fields: {id: string, b: bytes, n: int, m: int, ts: {type: timestamp, column: 'd:ts'}}\n"
    static const kw_test_report cases[] = {
        {NUMBERS "    key: [{field: n}, {field: {name: b, encoding: ordered}}, {field: {name: id, encoding: "
                 "terminated, terminator: '|'}}, {field: m}]\n",
         "test:4:23: warning: path primary: with this encoding, keys are not in the order of b; \n"
         "test:4:62: warning: path primary: with this encoding, keys are not in the order of id; "},
        {NUMBERS "    updates: false\n    key: [{field: n}, {field: id}]\n    paths:\n"
                 "      r: {key: [{salt: {algorithm: random, buckets: 4}}, {field: id}, {field: n}]}\n"
                 "      twin: {key: [{field: n}, {field: id}]}\n"
                 "      third: {key: [{field: n}, {field: id}]}\n",
         "test:7:7: warning: path r: each put chooses a bucket, so each removal goes to every bucket\n"
         "test:8:7: warning: path twin has the same key rule as path primary\n"
         "test:9:7: warning: path third has the same key rule as path primary\n"
         "test:9:7: warning: path third has the same key rule as path twin"},
        {NUMBERS "    key: [{salt: {algorithm: random, buckets: 4}}, {field: n}, {field: id}]\n"
                 "    paths: {by_id: {association: true, key: [{field: n}, {field: id}]}}\n",
         ""},
        {NUMBERS "    key: [{field: n}, {field: {name: ts, unit: s}}]\n"
                 "    paths: {late: {key: [{hash: n}, {field: n}, {field: {name: ts, unit: s}}]}}\n",
         "test:2:3: warning: path primary: records that differ only in the part of ts that is finer"},
        {NUMBERS "    families: {d: {}, e: {}, f: {}}\n    key: [{field: n}]\n",
         "no field is stored in family e\nno field is stored in family f"},
        {NUMBERED(
             "to: 99, at_end: wrap") "      also: {type: int, column: 'd:a', generate: {kind: sequence, to: "
                                     "98, at_end: wrap}}\n    key: [{hash: ts}, {field: ts}, {field: seq}, "
                                     "{field: also}]\n",
         "test:6:49: warning: path primary: the numbers of field seq start again after 99\n"
         "test:7:50: warning: path primary: the numbers of field also start again after 98"},
        {NUMBERED("from: 0") "    key: [{hash: id}, {field: {name: seq, encoding: decimal, width: 4}}, "
                             "{field: id}]\n",
         "test:7:23: warning: path primary: a sequence without an end grows beyond field(seq as decimal, "
         "width 4)"},
    };
    test_check_warnings(cases, G_N_ELEMENTS(cases));
}
