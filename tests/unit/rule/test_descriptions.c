/* The canonical descriptions of rules and their fingerprints. A store's catalog holds fingerprints of the
 * layouts that its rows were written under, so these must not change: a test that fails here shows a version
 * that cannot read the catalogs of the versions before it. */
#include "rule/policies.h"

#define FIELDS                                                                                               \
    "    fields: {id: string, n: int, m: int, real: double, flag: bool, raw: bytes, k: {type: string, "      \
    "values: [red, "                                                                                         \
    "green]}, ts: {type: timestamp, column: 'd:ts'}, s: {type: timestamp, unit: s, column: 'd:s'}, us: "     \
    "{type: "                                                                                                \
    "timestamp, unit: us, column: 'd:us'}}\n    updates: false\n    key: "

typedef struct described {
    const char *key;
    const char *description;
    const char *fingerprint; /* its first 16 digits */
} described;

static const described rules[] = {
    {"[{field: id}]", "field(id as raw) <- id string\n", "5e00d3cc1ea82fdb"},
    {"[{field: {name: id, encoding: terminated}}, {field: n}]",
     "field(id as terminated by \\x00) <- id string\nfield(n as int, width 8) <- n int\n",
     "d5b39631785e9522"},
    {"[{field: {name: id, encoding: fixed, width: 8, order: desc}}]",
     "field(id as fixed, width 8, descending) <- id string\n", "e41b603f6cc53501"},
    {"[{field: {name: id, encoding: ordered}}, {field: {name: raw, encoding: ordered, order: desc}}]",
     "field(id as ordered) <- id string\nfield(raw as ordered, descending) <- raw bytes\n",
     "21c13b8a1bfb89ed"},
    {"[{field: {name: id, encoding: hex, width: 4}}]", "field(id as hex, width 4) <- id string\n",
     "baf191a74523aad1"},
    {"[{field: {name: id, encoding: uuid}}, {field: {name: raw, encoding: raw}}]",
     "field(id as uuid, width 16) <- id string\nfield(raw as raw) <- raw bytes\n", "e48c1ccf73cb4d4a"},
    {"[{field: {name: id, encoding: digits, width: 6}}]", "field(id as digits, width 6) <- id string\n",
     "836284922ad687ca"},
    {"[{field: {name: n, width: 2, order: desc}}, {field: flag}]",
     "field(n as int, width 2, descending) <- n int\nfield(flag as bool, width 1) <- flag bool\n",
     "1532b12c7acbe52b"},
    {"[{field: {name: n, encoding: raw_int, width: 4}}, {field: {name: m, encoding: max_minus}}]",
     "field(n as raw_int, width 4) <- n int\nfield(m as max_minus, width 8, descending) <- m int\n",
     "d2f182be8c109feb"},
    {"[{field: {name: n, encoding: decimal, width: 5, reverse: true}}]",
     "field(n as decimal, width 5, reversed) <- n int\n", "72ffe663c3f92b12"},
    {"[{field: {name: n, encoding: max_minus_decimal}}]",
     "field(n as max_minus_decimal, width 19, descending) <- n int\n", "96ef3334cd364597"},
    {"[{field: {name: n, encoding: phoenix, width: 4}}, {field: {name: real, encoding: phoenix}}]",
     "field(n as phoenix, width 4) <- n int\nfield(real as phoenix, width 8) <- real double\n",
     "0e5e962982f47d51"},
    {"[{field: {name: n, encoding: ordered, width: 5}}, {field: {name: real, encoding: ordered, width: 9}}]",
     "field(n as ordered, width 5) <- n int\nfield(real as ordered, width 9) <- real double\n",
     "3e970906986ecad0"},
    {"[{field: {name: real, encoding: float}}, {field: real}]",
     "field(real as float, width 4) <- real double\nfield(real as double, width 8) <- real double\n",
     "a1095ed17c2ffc79"},
    {"[{field: {name: ts, unit: s, width: 4}}, {field: {name: us, unit: ms}}]",
     "field(ts as int, width 4, unit s) <- ts timestamp ms\nfield(us as int, width 8, unit ms) <- us "
     "timestamp us\n",
     "504169618e48f179"},
    {"[{literal: 'a\\x00|'}, {field: id}]", "literal(\"a\\x00|\")\nfield(id as raw) <- id string\n",
     "5f56d30ca084d0aa"},
    {"[{hash: id}, {field: id}]",
     "hash(xxh64 of id, first 4 as hex) <- id string\nfield(id as raw) <- id string\n", "dbdc8f023ee3e3d9"},
    {"[{hash: {of: [id, n], algorithm: md5, take: 4, as: bytes}}, {field: {name: id, encoding: terminated}}, "
     "{field: n}]",
     "hash(md5 of id, n, first 4 as bytes) <- id string, n int\nfield(id as terminated by \\x00) <- id "
     "string\nfield(n as int, width 8) <- n int\n",
     "78e45d93c43247f5"},
    {"[{hash: {of: n, algorithm: sha1, take: 8}}, {field: n}]",
     "hash(sha1 of n, first 8 as hex) <- n int\nfield(n as int, width 8) <- n int\n", "a48707231046f514"},
    {"[{salt: {of: id, buckets: 16}}, {field: id}]",
     "salt(xxh64 of id, modulo 16 as byte, width 1) <- id string\nfield(id as raw) <- id string\n",
     "49b39bbe935ec4f3"},
    {"[{salt: {of: [id, n], buckets: 300}}, {field: {name: id, encoding: terminated}}, {field: n}]",
     "salt(xxh64 of id, n, modulo 300 as byte, width 2) <- id string, n int\nfield(id as terminated by "
     "\\x00) <- id string\nfield(n as int, width 8) <- n int\n",
     "01bc7c99dec9ca59"},
    {"[{salt: {of: n, buckets: 10, as: decimal, width: 3, algorithm: java_long}}, {field: n}]",
     "salt(java_long of n, modulo 10 as decimal, width 3) <- n int\nfield(n as int, width 8) <- n int\n",
     "df38f66e0e600d13"},
    {"[{salt: {of: id, buckets: 31, algorithm: java_string}}, {field: id}]",
     "salt(java_string of id, modulo 31 as byte, width 1) <- id string\nfield(id as raw) <- id string\n",
     "4a95b8d1b48dca04"},
    {"[{salt: {of: id, buckets: 31, algorithm: java_string, sign: mask}}, {field: id}]",
     "salt(java_string of id, sign mask, modulo 31 as byte, width 1) <- id string\nfield(id as raw) <- id "
     "string\n",
     "9e683a8002a041c5"},
    {"[{salt: {buckets: 31, algorithm: phoenix}}, {field: id}]",
     "salt(phoenix of the rest of the key, modulo 31 as byte, width 1)\nfield(id as raw) <- id string\n",
     "43a98ed136f1cfff"},
    {"[{salt: {buckets: 31, algorithm: hbasewd}}, {field: id}]",
     "salt(hbasewd of the rest of the key, modulo 31 as byte, width 1)\nfield(id as raw) <- id string\n",
     "e550cf4f321ed61e"},
    {"[{salt: {algorithm: random, buckets: 8}}, {field: id}]",
     "salt(random, modulo 8 as byte, width 1)\nfield(id as raw) <- id string\n", "de39e90f26a34a1f"},
    {"[{salt: {algorithm: round_robin, buckets: 8}}, {field: id}]",
     "salt(round_robin, modulo 8 as byte, width 1)\nfield(id as raw) <- id string\n", "1648d1811cd8ecb1"},
    {"[{mod: {of: n, buckets: 7}}, {field: n}]",
     "mod(n modulo 7 as byte, width 1) <- n int\nfield(n as int, width 8) <- n int\n", "67f80eb65424b022"},
    {"[{mod: {of: n, buckets: 700, as: decimal}}, {field: n}]",
     "mod(n modulo 700 as decimal, width 3) <- n int\nfield(n as int, width 8) <- n int\n",
     "59855cc590d7467a"},
    {"[{enum: k}, {field: id}]",
     "enum(k as index of \"red\", \"green\") <- k string\nfield(id as raw) <- id string\n",
     "057c997506620224"},
    {"[{enum: {field: k, as: text}}, {field: id}]",
     "enum(k as text of \"green\", \"red\") <- k string\nfield(id as raw) <- id string\n",
     "1acb4e401c8638ce"},
    {"[{ring: {of: id, nodes: [a, b, c]}}, {field: id}]",
     "ring(xxh64 of id, 128 replicas of \"a\", \"b\", \"c\") <- id string\nfield(id as raw) <- id string\n",
     "771c2c58fbaef775"},
    {"[{ring: {of: [id, n], nodes: [a, b, c], replicas: 3, algorithm: java_fnv_alt}}, {field: {name: id, "
     "encoding: terminated}}, {field: n}]",
     "ring(java_fnv_alt of id, n, 3 replicas of \"a\", \"b\", \"c\") <- id string, n int\nfield(id as "
     "terminated by \\x00) <- id string\nfield(n as int, width 8) <- n int\n",
     "9e113e2a5aa43c34"},
    {"[{ring: {of: id, nodes: [a, b], algorithm: java_fnv}}, {field: id}]",
     "ring(java_fnv of id, 128 replicas of \"a\", \"b\") <- id string\nfield(id as raw) <- id string\n",
     "edacf4588ef5fc52"},
    {"[{calendar: {of: ts, parts: [yyyy, MM, dd]}}, {field: n}]",
     "calendar(ts: yyyy MM dd in UTC as text) <- ts timestamp ms\nfield(n as int, width 8) <- n int\n",
     "df1ceb53e48552e4"},
    {"[{calendar: {of: ts, parts: [yyyy, MM, dd, HH, mm, ss, SSS], zone: \"-03:30\"}}, {field: ts}, {field: "
     "n}]",
     "calendar(ts: yyyy MM dd HH mm ss SSS in -03:30 as text) <- ts timestamp ms\nfield(ts as int, width 8) "
     "<- ts timestamp ms\nfield(n as int, width 8) <- n int\n",
     "32419dc77b30b9fb"},
    {"[{calendar: {of: ts, parts: [yy, DDD], as: packed, sequence: n, digits: 5}}]",
     "calendar(ts: yy DDD in UTC as packed of 8 bytes, sequence n of 5 digits) <- ts timestamp ms, n int\n",
     "2b2a1e5aa1ddae3a"},
    {"[{calendar: {of: s, parts: [dd, MM, yyyy], as: decimal, zone: '+05:30'}}, {field: n}]",
     "calendar(s: dd MM yyyy in +05:30 as decimal) <- s timestamp s\nfield(n as int, width 8) <- n int\n",
     "c86b31a529e97016"},
    {"[{bits: {of: ts, parts: [zero 1, minute 6, seconds 32, n 9, m 16]}}]",
     "bits(ts: constant 0 1 minute 6 seconds 32 n 9 m 16) <- ts timestamp ms, n int, m int\n",
     "db18bd825a393999"},
    {"[{bits: {of: ts, parts: [constant 5 3, ms 41, n 20], epoch: 1288834974657}}]",
     "bits(ts: constant 5 3 ms 41 n 20 since 1288834974657 ms) <- ts timestamp ms, n int\n",
     "83ff473fa08eeb83"},
    {"[{bits: {of: s, parts: [seconds 32], epoch: 1600000000000}}, {field: n}]",
     "bits(s: seconds 32 since 1600000000 s) <- s timestamp s\nfield(n as int, width 8) <- n int\n",
     "dd84a54f9a6427e3"},
    {"[{bits: {of: n, parts: [zero 1, minute 6, seconds 32, worker 9, sequence 16], time: ts}}]",
     "bits(n: constant 0 1 minute 6 seconds 32 worker 9 sequence 16, time of ts) <- n int\n",
     "aa9fe2bffb1811a3"},
    {"[{bits: {of: n, parts: [zero 1, ms 41, rest 22]}}]", "bits(n: constant 0 1 ms 41 rest 22) <- n int\n",
     "d5b20dd690b72196"},
};

KW_TEST(test_descriptions, "/rule/descriptions")
{
    for (size_t i = 0; i < G_N_ELEMENTS(rules); i++) {
        g_autofree char *yaml = g_strconcat(FIELDS, rules[i].key, "\n", NULL);
        g_autoptr(kw_policy) policy = test_policy_with_hazards(yaml);
        const kw_layout *layout = kw_policy_table(policy, 0)->paths[0].layout;
        g_autofree char *fingerprint = g_strndup(kw_layout_fingerprint(layout), 16);
        g_assert_cmpstr(kw_layout_description(layout), ==, rules[i].description);
        g_assert_cmpstr(fingerprint, ==, rules[i].fingerprint);
        g_assert_cmpuint(strlen(kw_layout_fingerprint(layout)), ==, 64);
    }
}

/* Keys depend on the changes of a zone's clocks, so these are part of the description. */
KW_TEST(test_zones, "/rule/descriptions/zones")
{
    static const struct {
        const char *zone;
        bool changes;
    } cases[] = {{"UTC", false}, {"+05:30", false}, {"Europe/Berlin", true}};
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *yaml = g_strdup_printf(
            FIELDS "[{calendar: {of: ts, parts: [yyyy, MM], zone: '%s'}}, {field: n}]\n", cases[i].zone);
        g_autoptr(kw_policy) policy = test_policy_with_hazards(yaml);
        const char *text = kw_layout_description(kw_policy_table(policy, 0)->paths[0].layout);
        g_autofree char *pattern = g_strdup_printf("^calendar\\(ts: yyyy MM in %s%s as text\\)",
                                                   cases[i].zone[0] == '+' ? "\\+05:30" : cases[i].zone,
                                                   cases[i].changes ? " with offsets [0-9a-f]{16}" : "");
        if (!g_regex_match_simple(pattern, text, 0, 0))
            g_error("\"%s\" does not match %s", text, pattern);
    }
}
