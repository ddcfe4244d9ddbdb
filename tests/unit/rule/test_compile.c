/* Rules that are rejected, each with the message and its position; and the descriptions of compiled rules. */
#include "rule/compile.h"
#include "rule/policies.h"

#define FIELDS                                                                                               \
    "    fields:\n      id: string\n      other: string\n      n: int\n      flag: bool\n"                   \
    "      ts: {type: timestamp, unit: ms}\n      real: double\n      raw: bytes\n"                          \
    "      kind: {type: string, values: [a, ab, b]}\n    key:\n"

typedef struct kw_test_refusal {
    const char *rule;  /* each component as a line "- ..." */
    const char *place; /* line:column within the text of the table */
    const char *message;
    const char *hint; /* NULL: not checked */
} kw_test_refusal;

static const kw_test_refusal refusals[] = {
    {"      - field: {name: id, encoding: raw}\n      - field: other\n", "13:9",
     "two records could get the same key: nothing marks the end of field(id as raw)", "encoding: terminated"},
    {"      - field: {name: id, encoding: raw}\n      - field: {name: other, encoding: terminated}\n      - "
     "field: n\n",
     "13:9", "two records could get the same key", "encoding: terminated"},
    {"      - field: {name: raw, encoding: raw}\n      - enum: {field: kind, as: text}\n", "14:33",
     "the value \"a\" is a prefix of \"ab\"", "as: index"},
    {"      - hash: id\n      - field: n\n", "13:9", "field id is not itself in the key",
     "add \"- field: id\""},
    {"      - salt: {of: [n, id], buckets: 4}\n      - field: n\n", "13:9",
     "field id is not itself in the key", NULL},
    {"      - mod: {of: n, buckets: 4}\n      - field: id\n", "13:9", "field n is not itself in the key",
     NULL},
    {"      - literal: x\n", "13:9", "no component holds a field", "add \"- field: NAME\""},
    {"      - field: idd\n", "13:16", "table t has no field \"idd\"", "did you mean \"id\"?"},
    {"      - hash: md5\n      - field: id\n", "13:15", "table t has no field \"md5\"",
     "write {algorithm: md5, of: [FIELD]}"},
    {"      - hash: {of: [id, nn]}\n      - field: id\n", "13:25", "table t has no field \"nn\"",
     "did you mean \"n\"?"},
    {"      - field: {name: id, order: desc}\n", "13:34", "cannot be in descending order",
     "encoding: terminated"},
    {"      - field: {name: id, encoding: fixed}\n", "13:9", "encoding fixed needs a width", "width: 16"},
    {"      - field: {name: id, encoding: terminated, width: 4}\n", "13:56", "has no width",
     "encoding: fixed"},
    {"      - field: {name: id, encoding: int}\n", "13:37", "does not support field id of type string", NULL},
    {"      - field: {name: real, encoding: int}\n", "13:39", "does not support field real of type double",
     NULL},
    {"      - field: {name: flag, encoding: ordered}\n", "13:39", "does not support field flag of type bool",
     NULL},
    {"      - field: {name: real, width: 4}\n", "13:36", "encoding double has no width", "float"},
    {"      - field: {name: real, encoding: phoenix, width: 5}\n", "13:55",
     "needs a width of 4 (FLOAT) or 8 (DOUBLE) bytes", NULL},
    {"      - field: {name: real, encoding: ordered, width: 8}\n", "13:55", "needs a width of 5 or 9 bytes",
     NULL},
    {"      - field: {name: n, encoding: ordered, width: 8}\n", "13:52",
     "needs a width of 2, 3, 5 or 9 bytes", NULL},
    {"      - field: {name: n, encoding: phoenix, width: 3}\n", "13:52",
     "needs a width of 1, 2, 4 or 8 bytes", NULL},
    {"      - field: {name: id, encoding: ordered, width: 8}\n", "13:53", "has no width", NULL},
    {"      - field: {name: id, encoding: hex}\n", "13:9", "encoding hex needs a width", NULL},
    {"      - field: {name: id, encoding: uuid, width: 16}\n", "13:50", "encoding uuid has no width", NULL},
    {"      - field: {name: n, width: 3}\n", "13:33", "needs a width of 1, 2, 4 or 8 bytes", NULL},
    {"      - field: {name: n, encoding: max_minus, width: 2}\n", "13:54", "needs a width of 4", NULL},
    {"      - field: {name: n, encoding: decimal, width: 20}\n", "13:52", "needs a width of 1 to 19 digits",
     NULL},
    {"      - field: {name: n, encoding: max_minus_decimal, width: 12}\n", "13:62", "needs a width of 10",
     NULL},
    {"      - field: {name: n, encoding: max_minus, order: asc}\n", "13:54", "is always descending",
     "int or decimal"},
    {"      - field: {name: id, encoding: terminated, terminator: \"|\", order: desc}\n", "13:73",
     "keys would not be in the order of id: only strings terminated by", "remove order"},
    {"      - field: {name: id, order: asc, encoding: raw}\n      - field: n\n", "13:34",
     "keys would not be in the order of id: the next component is compared with the rest of longer values",
     "use an encoding"},
    {"      - field: {name: n, order: asc, encoding: decimal, reverse: true}\n", "13:33",
     "keys would not be in the order of n: reversed digits have no order", NULL},
    {"      - field: {name: n, unit: s}\n", "13:32", "unit applies only to timestamps", NULL},
    {"      - field: {name: ts, unit: us}\n", "13:33",
     "the unit of the key (us) is finer than that of field ts (ms)", NULL},
    {"      - field: {name: n, reverse: true}\n", "13:35", "only digits of a fixed length can be reversed",
     "digits for strings"},
    {"      - field: {name: id, encoding: terminated, terminator: ab}\n", "13:61", "must be one byte", NULL},
    {"      - field: {name: id, encoding: raw, terminator: \"|\"}\n", "13:54", "has no terminator", NULL},
    {"      - field: raw\n      - field: n\n", "13:9", "encoding fixed needs a width", NULL},
    {"      - literal: \"a\\\\y\"\n      - field: id\n", "13:18", "bad escape", "\\x5C"},
    {"      - hash: {of: id, algorithm: murmur3, take: 9}\n      - field: id\n", "13:50",
     "murmur3 has only 8 hex digits", NULL},
    {"      - hash: {of: id, algorithm: sha1, take: 21, as: bytes}\n      - field: id\n", "13:47",
     "sha1 has only 20 bytes", NULL},
    {"      - hash: {of: id, algorithm: xxh64, take: 9, as: bytes}\n      - field: id\n", "13:48",
     "xxh64 has only 8 bytes", NULL},
    {"      - salt: {buckets: 4}\n      - field: id\n", "13:9", "needs the setting \"of\"", NULL},
    {"      - salt: {of: id, buckets: 4, algorithm: phoenix}\n      - field: id\n", "13:20",
     "hashes the rest of the key, not fields", "remove \"of\""},
    {"      - field: id\n      - salt: {buckets: 4, algorithm: phoenix}\n", "14:9", "no component follows",
     "put it first"},
    {"      - salt: {of: [id], buckets: 4, algorithm: java_long}\n      - field: id\n", "13:20",
     "exactly one int or timestamp field", NULL},
    {"      - salt: {of: [id, n], buckets: 4, algorithm: java_string}\n      - field: id\n      - field: n\n",
     "13:20", "exactly one string, int or timestamp field", NULL},
    {"      - salt: {of: id, buckets: 4, sign: abs}\n      - field: id\n", "13:42",
     "sign is for java_string; xxh64 has only one", "remove \"sign\""},
    {"      - salt: {of: id, buckets: 4, algorithm: java_string, sign: as_is, as: hex}\n      - field: id\n",
     "13:77", "hex digits cannot hold remainders below 0", "byte or decimal"},
    {"      - salt: {of: id, buckets: 10, algorithm: java_string, sign: as_is, as: decimal, width: 1}\n      "
     "- field: id\n",
     "13:94", "10 buckets as decimal need a width of 2, not 1", NULL},
    {"      - salt: {of: id, buckets: 17, as: hex, width: 1}\n      - field: id\n", "13:53",
     "need a width of 2, not 1", NULL},
    {"      - salt: {of: id, buckets: 4, algorithm: random}\n      - field: id\n", "13:20",
     "salt: random chooses the bucket at each put", "remove \"of\""},
    {"      - salt: {buckets: 4, algorithm: random}\n      - salt: {buckets: 2, algorithm: round_robin}\n"
     "      - field: id\n",
     "14:9", "path primary: has a second random or round_robin salt", "one salt with more buckets"},
    {"      - salt: {buckets: 4, algorithm: round_robin}\n      - field: id\n", "2:3",
     "table t, path primary: a second put of a record could write a second row", "updates: false"},
    {"      - field: id\n    paths:\n      more:\n        key:\n          - salt: {buckets: 4, algorithm: "
     "random}\n          - field: id\n",
     "15:7", "table t, path more: a second put of a record could write a second row", "association: true"},
    {"      - field: id\n    paths:\n      where: {association: true, key: [{field: id}]}\n", "15:7",
     "path where: an association is only for random and round_robin salts", "remove association"},
    {"      - salt: {buckets: 4, algorithm: random}\n      - field: id\n    paths:\n      where:\n"
     "        association: true\n        key: [{salt: {buckets: 4, algorithm: random}}, {field: id}]\n",
     "16:7", "path where: the rows of an association cannot have a random or round_robin salt", "use a hash"},
    {"      - salt: {buckets: 4, algorithm: random}\n      - field: id\n    paths:\n"
     "      one: {association: true, key: [{field: id}]}\n      two: {association: true, key: [{field: "
     "id}]}\n",
     "17:7", "path two: table t already has the association one", "one association serves all"},
    {"      - salt: {buckets: 4, algorithm: random}\n      - field: id\n    paths:\n"
     "      one: {association: true, key: [{field: n}, {field: id}]}\n",
     "16:7", "path one: field n is not part of the primary key", NULL},
    {"      - mod: {of: id, buckets: 4}\n      - field: id\n", "13:19", "neither an int nor a timestamp",
     "salt"},
    {"      - ring: {of: id, nodes: [a]}\n      - field: id\n", "13:31", "needs 2 nodes or more, but has 1",
     "remove the ring"},
    {"      - ring: {of: id, nodes: [a, b, c], replicas: 100000}\n      - field: id\n", "13:52",
     "out of bounds", NULL},
    {"      - ring: {of: id, nodes: [a, b], replicas: 4096}\n      - field: n\n", "13:9",
     "field id is not itself in the key", "add \"- field: id\""},
    {"      - ring: {of: id, nodes: [n1, n10]}\n      - field: id\n", "13:31",
     "the node \"n1\" is a prefix of \"n10\"", "the same length"},
    {"      - ring: {of: id, nodes: [n1, "
     "a123456789012345678901234567890123456789012345678901234567890abcd]}\n"
     "      - field: id\n",
     "13:36", "must have at most 64 bytes, not 65", NULL},
    {"      - enum: id\n", "13:15", "field id declares no values", "declare the values"},
    {"      - field: {name: ts, unit: s}\n", "8:7", "cannot be read back from the primary key", "d:ts"},
    {"      - salt: {of: ts, buckets: 4}\n      - field: {name: ts, unit: s}\n", "13:9",
     "field ts is not itself in the key to its full precision", "in its own unit"},
    {"      - field: id\n    paths:\n      more:\n        key:\n          - field: n\n", "15:7",
     "path more: field id of the primary key is missing", "add \"- field: id\""},
    {"      - field: n\n      - field: ts\n    paths:\n      more:\n        key:\n          - field: {name: "
     "ts, unit: s}\n"
     "          - field: n\n",
     "16:7", "path more: field ts has another unit than in the primary key", "the same unit"},
    /* Milliseconds in addition to seconds. */
    {"      - field: {name: ts, unit: s}\n      - calendar: {of: ts, parts: [SSS]}\n      - field: id\n    "
     "paths:\n"
     "      more:\n        key: [{field: id}, {field: {name: ts, unit: s}}]\n",
     "17:7", "path more: field ts has another unit than in the primary key", "the same unit"},
    {"      - field: {name: ts, unit: s}\n      - field: id\n    paths:\n      more:\n"
     "        key: [{field: id}, {field: {name: ts, unit: s}}, {calendar: {of: ts, parts: [SSS]}}]\n",
     "16:7", "path more: field ts has another unit than in the primary key", "the same unit"},
};

KW_TEST(test_refusals, "/rule/compile/refusals")
{
    bool all = true;
    for (size_t index = 0; index < G_N_ELEMENTS(refusals); index++) {
        const kw_test_refusal *it = &refusals[index];
        g_autofree char *yaml = g_strconcat(FIELDS, it->rule, NULL);
        g_autofree char *text = test_refused(yaml);
        g_autofree char *place = g_strdup_printf("test:%s: error: ", it->place);
        bool good = strstr(text, it->message) && strstr(text, place) && (!it->hint || strstr(text, it->hint));
        all = all && good;
        if (!good)
            g_printerr("rule\n%sis refused with\n%s\nnot with %s%s (hint %s)\n", it->rule, text, place,
                       it->message, it->hint ? it->hint : "-");
    }
    g_assert_true(all);
}

/* Every setting that names a field reports an unknown one, once. */
KW_TEST(test_unknown_fields, "/rule/compile/unknown_fields")
{
    static const char *const components[] = {
        "field: zz",
        "enum: zz",
        "hash: {of: [id, zz]}",
        "salt: {of: zz, buckets: 4}",
        "mod: {of: zz, buckets: 4}",
        "ring: {of: zz, nodes: [a, b]}",
        "calendar: {of: zz, parts: [yyyy, MM]}",
        "calendar: {of: ts, parts: [yyyy, MM], as: packed, sequence: zz, digits: 3}",
        "bits: {of: zz, parts: [seconds 40]}",
        "bits: {of: n, time: zz, parts: [zero 1, seconds 39]}",
    };
    for (size_t index = 0; index < G_N_ELEMENTS(components); index++) {
        g_autofree char *yaml = g_strdup_printf(FIELDS "      - %s\n      - field: id\n", components[index]);
        g_autofree char *text = test_refused(yaml);
        const char *first = strstr(text, "error: ");
        if (!strstr(text, "table t has no field \"zz\"") || !first || strstr(first + 1, "error: "))
            g_error("%s is refused with\n%s", components[index], text);
    }
}

/* An order that the encoding does not have is one problem, not also that of keys in another order. */
KW_TEST(test_descending_raw_string, "/rule/compile/descending-raw-string")
{
    g_autofree char *text = test_refused(FIELDS "      - field: {name: id, encoding: raw, order: desc}\n");
    const char *first = strstr(text, "error: ");
    g_assert_true(first && !strstr(first + 1, "error: "));
    g_assert_nonnull(strstr(text, "a raw string cannot be in descending order"));
}

/* The seconds also determine the minute of the hour. */
KW_TEST(test_repeated_time, "/rule/compile/repeated_time")
{
    g_autoptr(kw_policy) policy =
        test_policy("    fields: {id: string, ts: {type: timestamp, column: \"d:ts\"}}\n"
                    "    key: [{field: {name: ts, unit: s}}, {field: id}]\n"
                    "    paths: {more: {key: [{calendar: {of: ts, parts: [mm, ss]}}, {field: id}, "
                    "{field: {name: ts, unit: s}}]}}\n");
    g_assert_nonnull(policy);
}

KW_TEST(test_declared_twice, "/rule/compile/declared_twice")
{
    g_autofree char *text = test_refused("    fields: {n: {type: int, values: [1, 2, 01]}, flag: bool}\n"
                                         "    key: [{enum: n}, {field: flag}]\n");
    g_assert_nonnull(strstr(text, "enum: field n declares the value 1 twice / hint: declare it once"));
}

/* Bits of a timestamp need no other time. */
KW_TEST(test_time_of_a_timestamp, "/rule/compile/time_of_a_timestamp")
{
    g_autofree char *text =
        test_refused("    fields: {ts: {type: timestamp}, now: {type: timestamp}, id: string}\n"
                     "    key: [{bits: {of: ts, time: now, parts: [zero 22, ms 42]}}, {field: id}]\n");
    g_assert_nonnull(strstr(text, "bits: the time is already that of field ts"));
}

/* Of the values of an enum as text, none can be a prefix of another, wherever the two are in the order. */
KW_TEST(test_prefixes_of_values, "/rule/compile/prefixes_of_values")
{
    static const struct {
        const char *values, *problem; /* NULL: accepted */
    } cases[] = {
        {"b, bc", "\"b\" is a prefix of \"bc\""},        {"bc, a, b", "\"b\" is a prefix of \"bc\""},
        {"c, ab, a", "\"a\" is a prefix of \"ab\""},     {"a, abc, abd", "\"a\" is a prefix of \"abc\""},
        {"ab, abc, b", "\"ab\" is a prefix of \"abc\""}, {"ab, b, ac", NULL}};
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *yaml =
            g_strdup_printf("    fields: {kind: {type: string, values: [%s]}, id: string}\n"
                            "    key: [{enum: {field: kind, as: text}}, {field: id}]\n",
                            cases[i].values);
        if (!cases[i].problem) {
            kw_policy_unref(test_policy(yaml));
            continue;
        }
        g_autofree char *text = test_refused(yaml);
        if (!strstr(text, cases[i].problem))
            g_error("%s: %s", cases[i].values, text);
    }
}

/* The spelling of a rule does not change its fingerprint; everything that determines bytes does. */
KW_TEST(test_fingerprint, "/rule/compile/fingerprint")
{
    g_autoptr(kw_policy) plain =
        test_policy(FIELDS "      - hash: id\n      - field: id\n      - field: n\n");
    g_autoptr(kw_policy) spelled =
        test_policy(FIELDS "      - hash: {as: hex, algorithm: xxh64, of: [id], take: 4, numbers: long}\n"
                           "      - field: {name: id, encoding: terminated, terminator: \"\\\\x00\", order: "
                           "asc, reverse: false}\n"
                           "      - field: {width: 8, encoding: int, name: n}\n");
    g_autoptr(kw_policy) other =
        test_policy(FIELDS "      - hash: {of: id, take: 5}\n      - field: id\n      - field: n\n");
    const kw_layout *a = kw_policy_table(plain, 0)->paths[0].layout,
                    *b = kw_policy_table(spelled, 0)->paths[0].layout;
    const kw_layout *c = kw_policy_table(other, 0)->paths[0].layout;
    g_assert_cmpstr(kw_layout_description(a), ==,
                    "hash(xxh64 of id, first 4 as hex) <- id string\n"
                    "field(id as terminated by \\x00) <- id string\n"
                    "field(n as int, width 8) <- n int\n");
    g_assert_cmpstr(kw_layout_description(a), ==, kw_layout_description(b));
    g_assert_cmpstr(kw_layout_fingerprint(a), ==, kw_layout_fingerprint(b));
    g_assert_cmpstr(kw_layout_fingerprint(a), !=, kw_layout_fingerprint(c));
    g_assert_cmpuint(strlen(kw_layout_fingerprint(a)), ==, 64);
    g_autofree char *sha = g_compute_checksum_for_string(G_CHECKSUM_SHA256, kw_layout_description(a), -1);
    g_assert_cmpstr(kw_layout_fingerprint(a), ==, sha);
    g_assert_cmpstr(kw_layout_component_text(a, 0), ==, "hash(xxh64 of id, first 4 as hex)");
    g_assert_cmpuint(kw_layout_component_count(a), ==, 3);
}

static uint64_t
buckets_of(const char *rule)
{
    g_autofree char *yaml = g_strconcat(FIELDS, rule, NULL);
    g_autoptr(kw_policy) policy = test_policy(yaml);
    return kw_layout_buckets(kw_policy_table(policy, 0)->paths[0].layout);
}

KW_TEST(test_buckets, "/rule/compile/buckets")
{
    g_assert_cmpuint(buckets_of("      - field: id\n"), ==, 1);
    g_assert_cmpuint(buckets_of("      - hash: id\n      - field: id\n"), ==, 1);
    g_assert_cmpuint(buckets_of("      - salt: {of: id, buckets: 16}\n      - field: id\n"), ==, 16);
    g_assert_cmpuint(buckets_of("      - enum: kind\n      - mod: {of: n, buckets: 10}\n      - field: n\n"),
                     ==, 30);
    g_assert_cmpuint(buckets_of("      - field: id\n      - enum: kind\n"), ==, 1);
    g_assert_cmpuint(buckets_of("      - enum: flag\n      - field: id\n"), ==, 2);
}

/* A calendar whose pieces repeat is circular, unless another clock distinguishes its cycles. The cells of a
 * clock in another zone begin at other moments, so they must be short enough not to span two cycles. */
KW_TEST(test_circular, "/rule/compile/circular")
{
    static const struct {
        const char *clock;
        bool circular;
    } cases[] = {{"calendar: {of: ts, parts: [yyyy]}", false},
                 {"calendar: {of: ts, parts: [yyyy], zone: '+08:00'}", true},
                 {"calendar: {of: ts, parts: [yyyy, MM, dd], zone: '+08:00'}", false},
                 {"calendar: {of: ts, parts: [HH], zone: '+08:00'}", true},
                 {"literal: x", true}};
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *yaml =
            g_strdup_printf("    fields: {id: string, ts: {type: timestamp, column: 'd:ts'}}\n"
                            "    families: {d: {ttl: 3h}}\n    major_compaction: 1h\n"
                            "    key: [{calendar: {of: ts, parts: [MM, dd]}}, {%s}, {field: id}]\n",
                            cases[i].clock);
        g_autoptr(kw_policy) policy = test_policy_with_hazards(yaml);
        const kw_component *found = kw_layout_circular(kw_policy_table(policy, 0)->paths[0].layout);
        g_assert_cmpint(found != NULL, ==, cases[i].circular);
    }
}

KW_TEST(test_fields, "/rule/compile/fields")
{
    g_autoptr(kw_policy) policy =
        test_policy("    fields: {id: string, ts: {type: timestamp, unit: ms, column: \"m:when\"}, n: int, "
                    "kept: {type: int, column: \"d:k\"}}\n"
                    "    key:\n      - field: id\n      - field: {name: ts, unit: s}\n      - field: kept\n");
    const kw_table *table = kw_policy_table(policy, 0);
    const kw_field *id = &table->fields[kw_table_find_field(table, KW_BYTES_LITERAL("id"))];
    const kw_field *ts = &table->fields[kw_table_find_field(table, KW_BYTES_LITERAL("ts"))];
    const kw_field *n = &table->fields[kw_table_find_field(table, KW_BYTES_LITERAL("n"))];
    const kw_field *kept = &table->fields[kw_table_find_field(table, KW_BYTES_LITERAL("kept"))];
    g_assert_true(id->identity && id->in_primary_key && !id->stored);
    g_assert_true(ts->identity && !ts->in_primary_key && ts->stored);
    g_assert_true(!n->identity && !n->in_primary_key && n->stored);
    g_assert_true(kept->identity && kept->in_primary_key && kept->stored);
    g_assert_true(kw_bytes_equal(n->family, KW_BYTES_LITERAL("d")) &&
                  kw_bytes_equal(n->qualifier, KW_BYTES_LITERAL("n")));
    g_assert_cmpint(kw_table_find_column(table, KW_BYTES_LITERAL("m"), KW_BYTES_LITERAL("when")), ==,
                    (int)(ts - table->fields));
    g_assert_cmpint(kw_table_find_column(table, KW_BYTES_LITERAL("m"), KW_BYTES_LITERAL("x")), ==, -1);
}
