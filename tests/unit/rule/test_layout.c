/* Keys of known records: the bytes of each encoding, the values that it rejects and the messages, pieces,
 * and keys that the layout did not create. */
#include "rule/component.h"
#include "rule/md5.h"
#include "rule/policies.h"
#include "rule/values.h"

#define LONG_MAX_TEXT "9223372036854775807"

/* One component over field v (and nothing else). */
typedef struct kw_test_form {
    const char *type;
    const char *component;
    kw_value value;
    const char *key;    /* hex; NULL: rejected */
    const char *reason; /* of the rejection */
} kw_test_form;

static const kw_test_form forms[] = {
    {"int", "field: v", NUMBER(0), "8000000000000000", NULL},
    {"int", "field: v", NUMBER(INT64_MIN), "0000000000000000", NULL},
    {"int", "field: {name: v, order: desc}", NUMBER(-1), "8000000000000000", NULL},
    {"int", "field: {name: v, width: 1}", NUMBER(-128), "00", NULL},
    {"int", "field: {name: v, width: 1}", NUMBER(128), NULL,
     "value 128 is out of range; int in 1 bytes holds -128 to 127"},
    {"int", "field: {name: v, width: 2, order: desc}", NUMBER(1), "7ffe", NULL},
    {"int", "field: {name: v, width: 4}", NUMBER(-2147483649), NULL, "out of range"},
    {"int", "field: {name: v, encoding: raw_int, width: 4}", NUMBER(258), "00000102", NULL},
    {"int", "field: {name: v, encoding: raw_int}", NUMBER(-5), NULL,
     "value -5 is negative; raw_int holds 0 to " LONG_MAX_TEXT},
    {"int", "field: {name: v, encoding: max_minus}", NUMBER(0), "7fffffffffffffff", NULL},
    {"int", "field: {name: v, encoding: max_minus, width: 4}", NUMBER(INT32_MAX), "00000000", NULL},
    {"int", "field: {name: v, encoding: max_minus, width: 4}", NUMBER(INT64_C(2147483648)), NULL,
     "holds 0 to 2147483647"},
    {"int", "field: {name: v, encoding: max_minus}", NUMBER(-1), NULL,
     "is negative; max_minus holds 0 to " LONG_MAX_TEXT},
    {"int", "field: {name: v, encoding: decimal, width: 5}", NUMBER(42), "3030303432", NULL},
    {"int", "field: {name: v, encoding: decimal, width: 2}", NUMBER(100), NULL, "holds 0 to 99"},
    {"int", "field: {name: v, encoding: decimal, width: 3, order: desc}", NUMBER(42), "393537", NULL},
    {"int", "field: {name: v, encoding: decimal, width: 4, reverse: true}", NUMBER(12), "32313030", NULL},
    {"int", "field: {name: v, encoding: max_minus_decimal, width: 10}", NUMBER(1), "32313437343833363436",
     NULL},
    {"timestamp", "field: {name: v, encoding: int, width: 4, unit: s}", NUMBER(1999), "80000001", NULL},
    {"timestamp", "field: {name: v, encoding: int, width: 4, unit: s}", NUMBER(-1), "7fffffff", NULL},
    {"timestamp", "field: {name: v, unit: s}", NUMBER(INT64_MIN), NULL, "too early for the unit"},
    {"string", "field: v", TEXT("ab"), "6162", NULL},
    {"string", "field: v", TEXT(""), NULL, "table t, field v: is empty, so the row key of path primary"},
    {"bytes", "field: v", BYTES(""), NULL, "table t, field v: is empty, so the row key"},
    {"string", "field: {name: v, encoding: terminated}", TEXT(""), "00", NULL},
    {"string", "field: {name: v, encoding: terminated, order: desc}", TEXT("a"), "9eff", NULL},
    {"string", "field: {name: v, encoding: terminated}", TEXT("a\0b"), NULL,
     "value \"a\\x00b\" contains the byte 0x00 that ends it"},
    {"string", "field: {name: v, encoding: terminated, terminator: \"|\"}", TEXT("a"), "617c", NULL},
    {"string", "field: {name: v, encoding: terminated, terminator: \"|\"}", TEXT("a|"), NULL,
     "contains the byte 0x7C"},
    {"string", "field: {name: v, encoding: fixed, width: 4}", TEXT("ab"), "61620000", NULL},
    {"string", "field: {name: v, encoding: fixed, width: 3, order: desc}", TEXT("a"), "9effff", NULL},
    {"string", "field: {name: v, encoding: fixed, width: 1}", TEXT("ab"), NULL,
     "has 2 bytes; the row key can hold 1"},
    {"string", "field: {name: v, encoding: fixed, width: 4}", TEXT("a\0"), NULL, "ends with the byte 0x00"},
    {"string", "field: {name: v, encoding: digits, width: 3}", TEXT("012"), "303132", NULL},
    {"string", "field: {name: v, encoding: digits, width: 3, reverse: true}", TEXT("012"), "323130", NULL},
    {"string", "field: {name: v, encoding: digits, width: 3}", TEXT("12"), NULL,
     "not a string of exactly 3 decimal digits"},
    {"string", "field: {name: v, encoding: digits, width: 2}", TEXT("1x"), NULL, "exactly 2 decimal digits"},
    {"bytes", "field: v", BYTES("\0\xff"), "00ff", NULL},
    {"bytes", "field: {name: v, encoding: fixed, width: 2}", BYTES("\0\0"), "0000", NULL},
    {"bytes", "field: {name: v, encoding: fixed, width: 2}", BYTES("a"), NULL, "needs exactly 2"},
    {"bytes", "field: {name: v, encoding: terminated}", BYTES("a"), "6100", NULL},
    {"bool", "enum: v", {.kind = KW_VALUE_FLAG, .flag = true}, "01", NULL},
    {"double", "field: v", NUMBER(-2), "3fffffffffffffff", NULL},
    {"double", "field: v", NUMBER(INT64_MIN), "3c1fffffffffffff", NULL},
    {"double", "field: v", NUMBER(INT64_C(9007199254740992)), "c340000000000000", NULL},
    {"double", "field: v", NUMBER(INT64_C(9007199254740993)), NULL,
     "table t, field v: value 9007199254740993 cannot be held exactly by a double"},
    {"double", "field: v", NUMBER(INT64_MAX), NULL, "cannot be held exactly by a double"},
    {"string", "field: v", NUMBER(1), NULL, "is not of type string"},
    {"int",
     "field: v",
     {.kind = KW_VALUE_NONE},
     NULL,
     "table t, field v: is missing, and the row key needs it"},
};

static kw_policy *
policy_of(const kw_test_form *form)
{
    g_autofree char *yaml = g_strdup_printf(
        "    fields: {v: {type: %s, column: \"d:v\"}}\n    key:\n      - %s\n", form->type, form->component);
    return test_policy(yaml);
}

KW_TEST(test_forms, "/rule/layout/forms")
{
    for (size_t index = 0; index < G_N_ELEMENTS(forms); index++) {
        g_autoptr(kw_policy) policy = policy_of(&forms[index]);
        kw_value value = forms[index].value;
        kw_record record = {.values = &value};
        kw_buffer key = KW_BUFFER_EMPTY;
        kw_error error = KW_ERROR_NONE;
        bool done = kw_layout_encode(kw_policy_table(policy, 0)->paths[0].layout, &record, &key, &error);
        g_autofree char *hex = test_hex(kw_buffer_bytes(&key));
        if (forms[index].key) {
            g_assert_cmpstr(error.text, ==, "");
            g_assert_cmpstr(hex, ==, forms[index].key);
        } else {
            g_assert_false(done);
            g_assert_cmpint(error.code, ==, KW_INVALID);
            g_assert_nonnull(strstr(error.text, "table t"));
            if (!strstr(error.text, forms[index].reason))
                g_error("%s: \"%s\" does not say \"%s\"", forms[index].component, error.text,
                        forms[index].reason);
            g_assert_cmpuint(key.size, ==, 0);
        }
        kw_buffer_clear(&key);
    }
}

KW_TEST(test_enum, "/rule/layout/enum")
{
    g_autoptr(kw_policy) policy =
        test_policy("    fields: {s: {type: string, values: [new, paid, sent]}, n: {type: int, values: "
                    "[\"7\", \"-1\"]}}\n"
                    "    key:\n      - enum: {field: s, as: text}\n      - enum: n\n");
    kw_value values[] = {test_text("paid"), test_number(-1)};
    kw_record record = {.values = values};
    const kw_table *table = kw_policy_table(policy, 0);
    g_autofree char *key = test_key_hex(table, 0, &record);
    g_assert_cmpstr(key, ==, "7061696401");
    values[1] = test_number(3);
    kw_buffer out = KW_BUFFER_EMPTY;
    kw_error error = KW_ERROR_NONE;
    g_assert_false(kw_layout_encode(table->paths[0].layout, &record, &out, &error));
    g_assert_cmpstr(error.text, ==, "table t, field n: value 3 is not a declared value");
    kw_buffer_clear(&out);
}

/* The index of up to 256 values needs one byte, that of more values two. */
KW_TEST(test_width_of_enum, "/rule/layout/width-of-enum")
{
    static const struct {
        int values;
        const char *key; /* of the last value */
    } cases[] = {{255, "fe"}, {256, "ff"}, {257, "0100"}};
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GString) yaml = g_string_new("    fields: {n: {type: int, values: [0");
        for (int n = 1; n < cases[i].values; n++)
            g_string_append_printf(yaml, ", %d", n);
        g_string_append(yaml, "]}}\n    key: [enum: n]\n");
        g_autoptr(kw_policy) policy = test_policy(yaml->str);
        kw_value values[] = {test_number(cases[i].values - 1)};
        kw_record record = {.values = values};
        g_autofree char *key = test_key_hex(kw_policy_table(policy, 0), 0, &record);
        g_assert_cmpstr(key, ==, cases[i].key);
    }
}

/* The pieces together are the key; of_rest pieces have the bytes filled in last. */
KW_TEST(test_pieces, "/rule/layout/pieces")
{
    g_autoptr(kw_policy) policy =
        test_policy("    fields: {id: string, n: int}\n    key:\n"
                    "      - salt: {buckets: 16, algorithm: phoenix}\n      - literal: \"|\"\n"
                    "      - field: {name: id, encoding: raw}\n      - field: {name: n, width: 2}\n");
    g_autoptr(kw_arena) arena = kw_arena_new();
    const kw_table *table = kw_policy_table(policy, 0);
    kw_record record = kw_record_new(table, arena);
    record.values[0] = test_text("abc");
    record.values[1] = test_number(1);
    kw_key_piece *pieces;
    size_t count;
    kw_error error = KW_ERROR_NONE;
    bool done = kw_layout_pieces(table->paths[0].layout, &record, arena, &pieces, &count, &error);
    g_assert_true(done);
    g_assert_cmpuint(count, ==, 4);
    g_assert_cmpstr(pieces[1].component, ==, "literal(\"|\")");
    g_assert_true(kw_bytes_equal(pieces[2].bytes, KW_BYTES_LITERAL("abc")));
    g_assert_true(kw_bytes_equal(pieces[3].bytes, KW_BYTES_LITERAL("\x80\x01")));
    g_autofree char *key = test_key_hex(table, 0, &record);
    g_autofree char *salt = test_hex(pieces[0].bytes);
    g_assert_true(g_str_has_prefix(key, salt));
    record.values[1] = KW_VALUE_ABSENT;
    g_assert_false(kw_layout_pieces(table->paths[0].layout, &record, arena, &pieces, &count, &error));
}

/* What the planner knows about the pieces of a component. */
typedef struct kw_test_shape {
    const char *component;
    uint32_t width; /* 0: varies */
    bool delimited;
    int direction;
    uint64_t buckets, cuts;
    int64_t unit; /* INT64_MAX: no multiple of the field's unit */
} kw_test_shape;

KW_TEST(test_shapes, "/rule/layout/shapes")
{
    static const kw_test_shape shapes[] = {
        {"enum: {field: k, as: text}", 0, true, 0, 3, 3, 1},
        {"enum: {field: kk, as: text}", 2, true, 0, 3, 3, 1},
        {"enum: {field: one, as: text}", 3, true, 0, 1, 1, 1},
        {"enum: k", 1, true, 0, 3, 3, 1},
        {"enum: flag", 1, true, 0, 2, 2, 1},
        {"literal: ab", 2, true, 0, 0, 1, 1},
        {"hash: {of: n, take: 3}", 3, true, 0, 0, 4096, 1},
        {"hash: {of: n, take: 3, as: bytes}", 3, true, 0, 0, 16777216, 1},
        {"hash: {of: n, take: 20, algorithm: sha1, as: bytes}", 20, true, 0, 0, UINT64_C(1) << 32, 1},
        {"salt: {of: n, buckets: 300}", 2, true, 0, 300, 300, 1},
        {"salt: {of: n, buckets: 100, as: decimal}", 2, true, 0, 100, 100, 1},
        {"salt: {of: n, buckets: 101, as: decimal}", 3, true, 0, 101, 101, 1},
        {"salt: {of: n, buckets: 17, as: hex}", 2, true, 0, 17, 17, 1},
        {"mod: {of: n, buckets: 256}", 1, true, 0, 256, 256, 1},
        {"mod: {of: n, buckets: 257}", 2, true, 0, 257, 257, 1},
        {"ring: {of: n, nodes: [aa, bb, cc]}", 2, true, 0, 3, 3, 1},
        {"calendar: {of: ts, parts: [MM, dd], separator: '--'}", 6, true, 0, 12 * 31, 12, INT64_MAX},
        {"calendar: {of: ts, parts: [yyyy, MM, dd]}", 8, true, 1, 0, 0, 86400000},
        {"calendar: {of: ts, parts: [DDD, HH]}", 5, true, 0, 366 * 24, 366, INT64_MAX},
        {"calendar: {of: ts, parts: [HH, dd, MM, yyyy], as: packed}", 8, true, 0, 0, 24, 3600000},
        {"calendar: {of: ts, parts: [yyyy, MM, dd, HH, mm, ss, SSS]}", 17, true, 1, 0, 0, 1},
        {"calendar: {of: ts, parts: [yyyy, MM], as: decimal}", 0, false, 0, 0, 0, INT64_MAX},
        {"calendar: {of: ts, parts: [yyyy, MM, dd, HH], zone: Europe/Berlin}", 10, true, 1, 0, 0, INT64_MAX},
        {"bits: {of: ts, parts: [seconds 40]}", 5, true, 1, 0, 0, 1000},
        {"bits: {of: ts, parts: [zero 1, minute 6, ms 41]}", 6, true, 0, 0, 60, 1},
    };
    bool all = true;
    for (size_t index = 0; index < G_N_ELEMENTS(shapes); index++) {
        const kw_test_shape *it = &shapes[index];
        g_autofree char *yaml =
            g_strdup_printf("    fields: {n: int, ts: {type: timestamp, column: 'd:ts'}, flag: bool,\n"
                            "             k: {type: string, values: [a, bb, ccc]}, kk: {type: string, "
                            "values: [aa, bb, cc]},\n"
                            "             one: {type: string, values: [abc]}}\n"
                            "    updates: false\n    major_compaction: 1ms\n    families: {d: {ttl: 1s}}\n"
                            "    key: [{%s}, {field: n}]\n",
                            it->component);
        g_autoptr(kw_policy) policy = test_policy_with_hazards(yaml);
        const kw_component *one = kw_layout_component(kw_policy_table(policy, 0)->paths[0].layout, 0);
        bool good = one->width == it->width && one->delimited == it->delimited &&
                    one->direction == it->direction && one->buckets == it->buckets && one->cuts == it->cuts &&
                    one->unit == it->unit;
        if (!good)
            g_printerr("{\"%s\", %u, %s, %d, %" G_GUINT64_FORMAT ", %" G_GUINT64_FORMAT ", %" G_GINT64_FORMAT
                       "},\n",
                       it->component, one->width, one->delimited ? "true" : "false", one->direction,
                       one->buckets, one->cuts, (gint64)one->unit);
        all = all && good;
    }
    g_assert_true(all);
}

KW_TEST(test_foreign_keys, "/rule/layout/foreign_keys")
{
    static const char *const why[] = {"too short", "hash(xxh64", "too long", "too short", "it is empty"};
    g_autoptr(kw_policy) policy =
        test_policy("    fields: {id: string, n: int}\n    key:\n      - hash: {of: id, take: 2}\n"
                    "      - field: id\n      - field: n\n");
    g_autoptr(kw_arena) arena = kw_arena_new();
    const kw_table *table = kw_policy_table(policy, 0);
    const kw_layout *layout = table->paths[0].layout;
    kw_record record = kw_record_new(table, arena);
    record.values[0] = test_text("abc");
    record.values[1] = test_number(1);
    kw_buffer key = KW_BUFFER_EMPTY;
    bool done = kw_layout_encode(layout, &record, &key, NULL);
    g_assert_true(done);
    kw_buffer_append_byte(&key, 0);
    uint8_t *other = kw_arena_alloc(arena, key.size);
    memcpy(other, key.data, key.size);
    other[0] ^= 1;
    kw_bytes cases[] = {kw_bytes_of(key.data, key.size - 2), kw_bytes_of(other, key.size - 1),
                        kw_buffer_bytes(&key), kw_bytes_of(key.data, 5), KW_BYTES_NONE};
    for (size_t index = 0; index < G_N_ELEMENTS(cases); index++) {
        kw_error error = KW_ERROR_NONE;
        g_assert_false(kw_layout_decode(layout, cases[index], arena, &record, &error));
        g_assert_cmpint(error.code, ==, KW_CORRUPT);
        g_assert_nonnull(strstr(error.text, why[index]));
    }
    kw_buffer_clear(&key);
}

static kw_bytes
from_hex(const char *hex, kw_arena *arena)
{
    size_t size = strlen(hex) / 2;
    uint8_t *bytes = kw_arena_alloc(arena, size + 1);
    for (size_t index = 0; index < size; index++)
        bytes[index] =
            (uint8_t)(g_ascii_xdigit_value(hex[2 * index]) << 4 | g_ascii_xdigit_value(hex[2 * index + 1]));
    return kw_bytes_of(bytes, size);
}

/* Key (hex), the component that does not fit and why; NULL: it fits. */
typedef struct kw_test_dissection {
    const char *key;
    const char *why;
    size_t wrong;
    size_t pieces;
    int64_t n; /* as decoded */
} kw_test_dissection;

KW_TEST(test_dissect, "/rule/layout/dissect")
{
    static const kw_test_dissection cases[] = {
        {"347c616263008000000000000001", NULL, 0, 4, 1},
        {"357c616263008000000000000001", "is 5, but must be 4 for the other parts of this key", 0, 4, 1},
        {"347d616263008000000000000001", "is }, but must be |", 1, 4, 0},
        {"347cff6263008000000000000001", "UTF-8", 2, 4, 0},
        {"347c616263", "does not end within the 3 bytes that are left", 2, 2, 0},
        {"347c6162630080000000", "needs 8 bytes, but only 4 are left", 3, 3, 0},
        {"347c6162630080000000000000013f3f", "has bytes after the last component: ??", 4, 4, 1},
        {"", "a row key has 1 to 32767 bytes, but this one has 0", 0, 0, 0},
    };
    g_autoptr(kw_policy) policy = test_policy(
        "    fields: {id: string, n: int}\n    key:\n      - hash: {of: id, take: 1}\n"
        "      - literal: \"|\"\n      - {field: {name: id, encoding: terminated}}\n      - field: n\n");
    g_autoptr(kw_arena) arena = kw_arena_new();
    const kw_table *table = kw_policy_table(policy, 0);
    const kw_layout *layout = table->paths[0].layout;
    for (size_t index = 0; index < G_N_ELEMENTS(cases); index++) {
        kw_record record = kw_record_new(table, arena);
        kw_dissected_key found;
        kw_layout_dissect(layout, from_hex(cases[index].key, arena), arena, &record, &found);
        if (cases[index].why) {
            g_assert_nonnull(found.why);
            g_assert_nonnull(strstr(found.why, cases[index].why));
            g_assert_cmpuint(found.wrong, ==, cases[index].wrong);
        } else {
            g_assert_cmpstr(found.why, ==, NULL);
        }
        g_assert_cmpuint(found.pieces_count, ==, cases[index].pieces);
        g_assert_true(
            kw_value_equal(record.values[1], cases[index].n ? test_number(cases[index].n) : (kw_value){0}));
    }
}

KW_TEST(test_longest_key, "/rule/layout/longest_key")
{
    g_autoptr(kw_policy) policy = test_policy("    fields: {id: string}\n    key:\n      - field: id\n");
    g_autofree char *text = g_strnfill(KW_ROW_KEY_MAX + 1, 'x');
    kw_value value = {.kind = KW_VALUE_TEXT, .bytes = kw_bytes_of(text, KW_ROW_KEY_MAX)};
    kw_record record = {.values = &value};
    const kw_layout *layout = kw_policy_table(policy, 0)->paths[0].layout;
    kw_buffer key = KW_BUFFER_EMPTY;
    kw_error error = KW_ERROR_NONE;
    g_assert_true(kw_layout_encode(layout, &record, &key, &error));
    value.bytes.size++;
    g_assert_false(kw_layout_encode(layout, &record, &key, &error));
    g_assert_cmpstr(error.text, ==,
                    "table t, field id: has 32768 bytes in the row key of path primary, which would have "
                    "32768 bytes; the maximum is 32767");
    g_assert_cmpuint(key.size, ==, KW_ROW_KEY_MAX);
    kw_buffer_clear(&key);
}

/* Ten-digit sequential ids spread evenly with the default salt, and badly with their digits alone: the
 * default must remain a good one. */
KW_TEST(test_salt_spreads, "/rule/layout/salt_spreads")
{
    enum { BUCKETS = 31, IDS = 31000 };
    g_autofree char *yaml = g_strdup_printf("    fields: {id: string}\n    key:\n"
                                            "      - salt: {of: id, buckets: %d}\n      - field: id\n",
                                            BUCKETS);
    g_autoptr(kw_policy) policy = test_policy(yaml);
    const kw_layout *layout = kw_policy_table(policy, 0)->paths[0].layout;
    unsigned seen[BUCKETS] = {0};
    kw_buffer key = KW_BUFFER_EMPTY;
    for (int index = 0; index < IDS; index++) {
        char id[16];
        g_snprintf(id, sizeof id, "%010d", 1000000000 + index);
        kw_value value = test_text(id);
        key.size = 0;
        bool done = kw_layout_encode(layout, &(kw_record){.values = &value}, &key, NULL);
        g_assert_true(done && key.data[0] < BUCKETS);
        seen[key.data[0]]++;
    }
    for (int bucket = 0; bucket < BUCKETS; bucket++) {
        g_assert_cmpuint(seen[bucket], >, IDS / BUCKETS * 8 / 10);
        g_assert_cmpuint(seen[bucket], <, IDS / BUCKETS * 12 / 10);
    }
    kw_buffer_clear(&key);
}

/* Several inputs, numbers as text and as bytes: compared with digests computed here. */
KW_TEST(test_hash_inputs, "/rule/layout/hash_inputs")
{
    g_autoptr(kw_policy) policy = test_policy(
        "    fields: {id: string, n: int}\n    key:\n      - hash: {of: [id, n], algorithm: md5, take: 32, "
        "numbers: text}\n"
        "      - hash: {of: n, algorithm: md5, take: 16, as: bytes}\n      - field: id\n      - field: n\n");
    kw_value values[] = {test_text("order"), test_number(-42)};
    g_autofree char *key = test_key_hex(kw_policy_table(policy, 0), 0, &(kw_record){.values = values});
    g_autofree char *text = g_compute_checksum_for_string(G_CHECKSUM_MD5, "order-42", -1);
    g_autofree char *text_hex = test_hex(kw_bytes_of_text(text));
    static const guchar minus_42[] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xd6};
    g_autofree char *bytes_hex = g_compute_checksum_for_data(G_CHECKSUM_MD5, minus_42, sizeof minus_42);
    g_autofree char *start = g_strconcat(text_hex, bytes_hex, NULL);
    g_assert_true(g_str_has_prefix(key, start));
}

/* Every length around that of a block, compared with GLib's result. */
KW_TEST(test_md5, "/rule/layout/md5")
{
    uint8_t input[300];
    for (size_t index = 0; index < sizeof input; index++)
        input[index] = (uint8_t)(index * 7 + 3);
    for (size_t size = 0; size <= sizeof input; size++) {
        uint8_t digest[KW_MD5_SIZE];
        kw_md5(kw_bytes_of(input, size), digest);
        g_autofree char *computed = test_hex(kw_bytes_of(digest, sizeof digest));
        g_autofree char *expected = g_compute_checksum_for_data(G_CHECKSUM_MD5, input, size);
        g_assert_cmpstr(computed, ==, expected);
    }
}
