/* The golden row keys of tests/data/rowkeys.json: computed by the JDK, HBase, Phoenix and HBaseWD
 * themselves. Each key is encoded from its fields and, if possible, decoded. */
#include "rule/digest.h"
#include "rule/policies.h"
#include "rule/splits.h"

#include <json-glib/json-glib.h>

typedef void (*case_function)(JsonObject *it);

static JsonParser *parser;

/* Runs `check` on every case of a group. */
static void
each_case(const char *group, guint least, case_function check)
{
    JsonArray *groups = json_node_get_array(json_parser_get_root(parser));
    for (guint index = 0; index < json_array_get_length(groups); index++) {
        JsonObject *object = json_array_get_object_element(groups, index);
        if (strcmp(json_object_get_string_member(object, "group"), group) != 0)
            continue;
        JsonArray *cases = json_object_get_array_member(object, "cases");
        g_assert_cmpuint(json_array_get_length(cases), >=, least);
        for (guint number = 0; number < json_array_get_length(cases); number++)
            check(json_array_get_object_element(cases, number));
        return;
    }
    g_error("no group %s in rowkeys.json", group);
}

static kw_bytes
from_hex(const char *hex, uint8_t *to)
{
    size_t size = strlen(hex) / 2;
    for (size_t index = 0; index < size; index++)
        to[index] =
            (uint8_t)(g_ascii_xdigit_value(hex[2 * index]) << 4 | g_ascii_xdigit_value(hex[2 * index + 1]));
    return kw_bytes_of(to, size);
}

/* The record encodes to the key, and the key decodes to the fields that it stores. */
static void
check_both_ways(const char *table_yaml, const kw_value *values, const char *expected)
{
    g_autoptr(kw_policy) policy = test_policy(table_yaml);
    g_autoptr(kw_arena) arena = kw_arena_new();
    const kw_table *table = kw_policy_table(policy, 0);
    kw_record record = kw_record_new(table, arena), back = kw_record_new(table, arena);
    memcpy(record.values, values, table->fields_count * sizeof *values);
    g_autofree char *key = test_key_hex(table, 0, &record);
    g_assert_cmpstr(key, ==, expected);

    uint8_t bytes[512];
    kw_error error = KW_ERROR_NONE;
    const kw_layout *layout = table->paths[0].layout;
    bool done = kw_layout_decode(layout, from_hex(expected, bytes), arena, &back, &error);
    g_assert_cmpstr(error.text, ==, "");
    g_assert_true(done);
    for (size_t field = 0; field < table->fields_count; field++) {
        kw_value stored_value = kw_layout_holds_field(layout, field) ? record.values[field] : KW_VALUE_ABSENT;
        g_assert_true(kw_value_equal(back.values[field], stored_value));
    }
}

#define ORDERS "    fields: {order_id: string, ts: {type: timestamp, unit: ms, column: \"d:ts\"}}\n    key:\n"

static void
check_order(JsonObject *it)
{
    kw_value values[] = {test_text(json_object_get_string_member(it, "order_id")),
                         test_number(json_object_get_int_member(it, "ts_ms"))};
    check_both_ways(ORDERS "      - hash: {of: order_id, algorithm: md5, take: 4}\n"
                           "      - field: {name: order_id, encoding: raw}\n"
                           "      - field: {name: ts, encoding: max_minus, width: 4, unit: s}\n",
                    values, json_object_get_string_member(it, "hex4_int32"));
    check_both_ways(ORDERS "      - hash: {of: [order_id], algorithm: md5, take: 8, as: hex}\n"
                           "      - field: {name: order_id, encoding: raw}\n"
                           "      - field: {name: ts, encoding: max_minus}\n",
                    values, json_object_get_string_member(it, "hex8_int64"));
    check_both_ways(ORDERS "      - hash: {of: order_id, algorithm: md5, take: 4, as: bytes}\n"
                           "      - field: {name: order_id, encoding: raw}\n"
                           "      - field: {name: ts, order: desc}\n",
                    values, json_object_get_string_member(it, "raw4_int64"));
    check_both_ways(ORDERS "      - hash: {of: order_id, algorithm: md5, take: 4}\n"
                           "      - field: {name: order_id, encoding: raw}\n"
                           "      - field: {name: ts, encoding: max_minus_decimal}\n",
                    values, json_object_get_string_member(it, "hex4_decimal19"));
}

static void
test_order_tracking(void)
{
    each_case("order_tracking", 12, check_order);
}

static void
check_reverse(JsonObject *it)
{
    kw_value values[] = {test_text(json_object_get_string_member(it, "phone")),
                         test_number(json_object_get_int_member(it, "ts_ms"))};
    check_both_ways("    fields: {phone: string, ts: timestamp}\n    key:\n"
                    "      - field: {name: phone, encoding: digits, width: 11, reverse: true}\n"
                    "      - field: {name: ts, encoding: max_minus}\n",
                    values, json_object_get_string_member(it, "key"));
}

static void
check_reverse_number(JsonObject *it)
{
    kw_value values[] = {test_number(g_ascii_strtoll(json_object_get_string_member(it, "phone"), NULL, 10)),
                         test_number(json_object_get_int_member(it, "ts_ms"))};
    check_both_ways("    fields: {phone: int, ts: timestamp}\n    key:\n"
                    "      - field: {name: phone, encoding: decimal, width: 11, reverse: true}\n"
                    "      - field: {name: ts, encoding: max_minus, order: desc}\n",
                    values, json_object_get_string_member(it, "key"));
}

static void
test_reverse(void)
{
    each_case("reverse", 12, check_reverse);
    each_case("reverse", 12, check_reverse_number);
}

static void
check_java_salt(JsonObject *it)
{
    int64_t buckets = json_object_get_int_member(it, "buckets"), ts = json_object_get_int_member(it, "ts_ms");
    kw_value values[] = {test_number(ts)};
    g_autofree char *yaml = g_strdup_printf("    fields: {ts: timestamp}\n    key:\n"
                                            "      - salt: {of: ts, buckets: %d, algorithm: java_long}\n"
                                            "      - field: {name: ts, encoding: raw_int}\n",
                                            (int)buckets);
    g_autofree char *key = g_strdup_printf("%02x%016" G_GINT64_MODIFIER "x",
                                           (unsigned)json_object_get_int_member(it, "floor_mod"), ts);
    check_both_ways(yaml, values, key);
}

static void
test_java_salt(void)
{
    each_case("java_salt", 36, check_java_salt);
}

/* From the JDK: Math.floorMod(id.hashCode(), 31), over UTF-16 units, also of a number's decimal text. */
static void
test_java_string(void)
{
    static const struct {
        const char *id;
        int32_t hash;
        unsigned bucket;
    } cases[] = {{"1000000000", 1223331615, 5},
                 {"1000000001", 1223331616, 6},
                 {"9999999999", -1266723936, 17},
                 {"", 0, 0},
                 {"order-1", -1207111310, 15},
                 {"\xe8\xae\xa2\xe5\x8d\x95"
                  "355726301748",
                  -1654452670, 1},
                 {"\xf0\x9f\x9a\x80x", 54963957, 27}};
    static const char salt[] = "    fields: {id: %s}\n    key:\n"
                               "      - salt: {of: id, buckets: 31, algorithm: java_string}\n"
                               "      - field: {name: id%s}\n";
    g_autofree char *text = g_strdup_printf(salt, "string", "");
    g_autofree char *number = g_strdup_printf(salt, "int", ", encoding: raw_int");
    for (size_t index = 0; index < G_N_ELEMENTS(cases); index++) {
        kw_bytes id = kw_bytes_of_text(cases[index].id);
        g_assert_cmpint(kw_java_string_hash(id), ==, cases[index].hash);
        g_autofree char *hex = test_hex(id);
        g_autofree char *key = g_strdup_printf("%02x%s", cases[index].bucket, hex);
        check_both_ways(text, (kw_value[]){test_text(cases[index].id)}, key);
        int64_t value = g_ascii_strtoll(cases[index].id, NULL, 10);
        g_autofree char *number_key =
            g_strdup_printf("%02x%016" G_GINT64_MODIFIER "x", cases[index].bucket, value);
        if (value)
            check_both_ways(number, (kw_value[]){test_number(value)}, number_key);
    }
}

/* From JDK 17. polygenelubricants has the hash Integer.MIN_VALUE. */
static void
test_java_string_signs(void)
{
    static const char *const signs[] = {"floor_mod", "abs", "mask", "as_is"};
    static const struct {
        const char *id;
        int modulus;
        int remainders[4]; /* Math.floorMod(h, n), Math.abs(h) % n, (h & Integer.MAX_VALUE) % n, h % n */
    } cases[] = {{"user_999", 10, {9, 1, 7, -1}},
                 {"user_999", 31, {30, 1, 1, -1}},
                 {"user_999", 16, {5, 11, 5, -11}},
                 {"polygenelubricants", 10, {2, -8, 0, -8}},
                 {"polygenelubricants", 31, {29, -2, 0, -2}},
                 {"polygenelubricants", 16, {0, 0, 0, 0}},
                 {"9999999999", 10, {4, 6, 2, -6}},
                 {"9999999999", 31, {17, 14, 19, -14}},
                 {"9999999999", 16, {0, 0, 0, 0}},
                 {"1000000000", 10, {5, 5, 5, 5}},
                 {"1000000000", 31, {5, 5, 5, 5}},
                 {"1000000000", 16, {15, 15, 15, 15}},
                 {"order-1", 10, {0, 0, 8, 0}},
                 {"order-1", 31, {15, 16, 17, -16}},
                 {"order-1", 16, {2, 14, 2, -14}}};
    for (size_t index = 0; index < G_N_ELEMENTS(cases); index++)
        for (size_t sign = 0; sign < G_N_ELEMENTS(signs); sign++) {
            int remainder = cases[index].remainders[sign];
            g_autofree char *id = test_hex(kw_bytes_of_text(cases[index].id));
            g_autofree char *digits = g_strdup_printf("%03d", remainder); /* as String.format does */
            g_autofree char *digits_hex = test_hex(kw_bytes_of_text(digits));
            g_autofree char *decimal = g_strconcat(digits_hex, id, NULL);
            g_autofree char *byte = g_strdup_printf("%02x%s", (uint8_t)remainder, id);
            for (int as_byte = 0; as_byte < 2; as_byte++) {
                g_autofree char *table = g_strdup_printf(
                    "    fields: {id: string}\n    key:\n"
                    "      - salt: {of: id, buckets: %d, algorithm: java_string, sign: %s, as: %s}\n"
                    "      - field: {name: id}\n",
                    cases[index].modulus, signs[sign], as_byte ? "byte" : "decimal, width: 3");
                check_both_ways(table, (kw_value[]){test_text(cases[index].id)}, as_byte ? byte : decimal);
            }
        }
}

static void
check_phoenix(JsonObject *it)
{
    kw_value values[] = {test_text(json_object_get_string_member(it, "order_id")),
                         test_number(json_object_get_int_member(it, "ts_ms"))};
    g_autofree char *yaml = g_strdup_printf("    fields: {order_id: string, ts: timestamp}\n    key:\n"
                                            "      - salt: {buckets: %d, algorithm: phoenix}\n"
                                            "      - field: order_id\n"
                                            "      - field: {name: ts, order: desc}\n",
                                            (int)json_object_get_int_member(it, "buckets"));
    check_both_ways(yaml, values, json_object_get_string_member(it, "key"));
}

static void
test_phoenix(void)
{
    each_case("phoenix", 36, check_phoenix);
}

/* The original keys are an order id and 8 bytes of time. */
static void
check_hbasewd(JsonObject *it)
{
    uint8_t bytes[128];
    kw_bytes original = from_hex(json_object_get_string_member(it, "original"), bytes);
    kw_value values[] = {{.kind = KW_VALUE_TEXT, .bytes = kw_bytes_of(original.data, original.size - 8)},
                         test_number((int64_t)kw_be64_load(original.data + original.size - 8))};
    g_autofree char *yaml = g_strdup_printf("    fields: {order_id: string, ts: timestamp}\n    key:\n"
                                            "      - salt: {buckets: %d, algorithm: hbasewd}\n"
                                            "      - field: {name: order_id, encoding: raw}\n"
                                            "      - field: {name: ts, encoding: raw_int}\n",
                                            (int)json_object_get_int_member(it, "buckets"));
    check_both_ways(yaml, values, json_object_get_string_member(it, "key"));
}

static void
test_hbasewd(void)
{
    each_case("hbasewd", 36, check_hbasewd);
}

/* Each hash as the beginning of a key, and as a salt. */
static void
check_hash(const char *algorithm, const char *value, uint32_t expected)
{
    kw_value values[] = {test_text(value)};
    g_autofree char *id = test_hex(kw_bytes_of_text(value));
    g_autofree char *hashed = g_strdup_printf("%08x%s", expected, id);
    g_autofree char *hash = g_strdup_printf("    fields: {id: string}\n    key:\n"
                                            "      - hash: {of: id, algorithm: %s, take: 4, as: bytes}\n"
                                            "      - field: id\n",
                                            algorithm);
    check_both_ways(hash, values, hashed);
    g_autofree char *salted = g_strdup_printf("%02x%s", expected % 31, id);
    g_autofree char *salt = g_strdup_printf("    fields: {id: string}\n    key:\n"
                                            "      - salt: {of: id, algorithm: %s, buckets: 31}\n"
                                            "      - field: id\n",
                                            algorithm);
    check_both_ways(salt, values, salted);
}

static void
check_murmur(JsonObject *it)
{
    static const char *const names[] = {"murmur2", "murmur3", "jenkins"};
    const char *value = json_object_get_string_member(it, "value");
    for (size_t index = 0; index < G_N_ELEMENTS(names); index++)
        check_hash(names[index], value, (uint32_t)json_object_get_int_member(it, names[index]));
}

static void
test_murmur(void)
{
    each_case("murmur", 12, check_murmur);
}

/* Lengths around the words and blocks of each hash. crc32: the check value of the CRC catalogues; lookup3:
 * the values in the author's source; SHA-1: compared with GLib's. */
static void
test_hashes(void)
{
    g_assert_cmphex(kw_crc32(kw_bytes_of_text("123456789")), ==, 0xcbf43926);
    g_assert_cmphex(kw_crc32(KW_BYTES_NONE), ==, 0);
    check_hash("crc32", "123456789", 0xcbf43926);
    g_assert_cmphex(kw_jenkins_32(KW_BYTES_NONE, 0), ==, 0xdeadbeef);
    g_assert_cmphex(kw_jenkins_32(kw_bytes_of_text("Four score and seven years ago"), 0), ==, 0x17770551);
    g_assert_cmphex(kw_jenkins_32(kw_bytes_of_text("Four score and seven years ago"), 1), ==, 0xcd628161);
    g_assert_cmphex(kw_murmur2_32(KW_BYTES_NONE, 0), ==, 0);
    uint8_t text[200];
    for (size_t size = 0; size <= sizeof text; size++) {
        uint8_t digest[KW_DIGEST_MAX];
        memset(text, (int)('a' + size % 26), size);
        kw_digest_compute(KW_DIGEST_SHA1, kw_bytes_of(text, size), digest);
        g_autofree char *ours = test_hex(kw_bytes_of(digest, kw_digest_size(KW_DIGEST_SHA1)));
        g_autofree char *theirs = g_compute_checksum_for_data(G_CHECKSUM_SHA1, text, size);
        g_assert_cmpstr(ours, ==, theirs);
    }
    kw_value values[] = {test_text("abc")};
    check_both_ways("    fields: {id: string}\n    key:\n"
                    "      - hash: {of: id, algorithm: sha1, take: 40}\n      - field: id\n",
                    values,
                    "61393939336533363437303638313661626133653235373137383530633236633963643064383964"
                    "616263");
}

/* One field of a type in an encoding, alone and before another one. */
static void
check_field(const char *type, const char *form, kw_value value, const char *expected)
{
    kw_value values[] = {value, test_number(1)};
    g_autofree char *alone =
        g_strdup_printf("    fields: {v: %s}\n    key:\n      - field: {name: v, %s}\n", type, form);
    check_both_ways(alone, values, expected);
    g_autofree char *before = g_strdup_printf("    fields: {v: %s, n: int}\n    key:\n"
                                              "      - field: {name: v, %s}\n"
                                              "      - field: {name: n, width: 1}\n",
                                              type, form);
    g_autofree char *longer = g_strconcat(expected, "81", NULL);
    check_both_ways(before, values, longer);
}

static kw_value
case_value(JsonObject *it, kw_value_kind kind)
{
    switch (kind) {
    case KW_VALUE_NUMBER:
        return test_number(json_object_get_int_member(it, "value"));
    case KW_VALUE_REAL:
        return (kw_value){.kind = kind, .real = json_object_get_double_member(it, "value")};
    case KW_VALUE_TEXT:
    case KW_VALUE_BYTES:
        return (kw_value){.kind = kind,
                          .bytes = kw_bytes_of_text(json_object_get_string_member(it, "value"))};
    case KW_VALUE_MAP:
    case KW_VALUE_NONE:
    case KW_VALUE_FLAG:
        break;
    }
    g_assert_not_reached();
}

typedef struct kw_test_type {
    const char *name; /* in the vectors */
    const char *type;
    const char *form;
    const char *plain; /* another encoding that writes the same bytes; NULL: none */
    kw_value_kind kind;
} kw_test_type;

static const kw_test_type *
find_type(const kw_test_type *types, size_t count, const char *name)
{
    for (size_t index = 0; index < count; index++) {
        if (strcmp(types[index].name, name) == 0)
            return &types[index];
    }
    g_error("no type %s", name);
}

static void
check_phoenix_type(JsonObject *it)
{
    static const kw_test_type types[] = {
        {"BIGINT", "int", "encoding: phoenix", "encoding: int", KW_VALUE_NUMBER},
        {"INTEGER", "int", "encoding: phoenix, width: 4", "encoding: int, width: 4", KW_VALUE_NUMBER},
        {"DOUBLE", "double", "encoding: phoenix", NULL, KW_VALUE_REAL},
    };
    const kw_test_type *type =
        find_type(types, G_N_ELEMENTS(types), json_object_get_string_member(it, "type"));
    kw_value value = case_value(it, type->kind);
    static const char *const orders[] = {"asc", "desc"};
    for (size_t order = 0; order < 2; order++) {
        const char *expected = json_object_get_string_member(it, orders[order]);
        g_autofree char *form = g_strdup_printf("%s, order: %s", type->form, orders[order]);
        check_field(type->type, form, value, expected);
        g_autofree char *plain = g_strdup_printf("%s, order: %s", type->plain, orders[order]);
        if (type->plain)
            check_field(type->type, plain, value, expected);
    }
}

static void
test_phoenix_types(void)
{
    each_case("phoenix_types", 20, check_phoenix_type);
}

static void
check_ordered(JsonObject *it)
{
    static const kw_test_type types[] = {
        {"int64", "int", "encoding: ordered", NULL, KW_VALUE_NUMBER},
        {"int32", "int", "encoding: ordered, width: 5", NULL, KW_VALUE_NUMBER},
        {"float64", "double", "encoding: ordered", NULL, KW_VALUE_REAL},
        {"string", "string", "encoding: ordered", NULL, KW_VALUE_TEXT},
        {"blob_var", "bytes", "encoding: ordered", NULL, KW_VALUE_BYTES},
    };
    const kw_test_type *type =
        find_type(types, G_N_ELEMENTS(types), json_object_get_string_member(it, "type"));
    bool descending = strcmp(json_object_get_string_member(it, "order"), "DESCENDING") == 0;
    g_autofree char *form = g_strdup_printf("%s, order: %s", type->form, descending ? "desc" : "asc");
    check_field(type->type, form, case_value(it, type->kind), json_object_get_string_member(it, "bytes"));
}

static void
test_ordered(void)
{
    each_case("ordered_bytes", 56, check_ordered);
}

/* Forms without vectors: computed by hand. */
static void
test_plain_forms(void)
{
    kw_value one = {.kind = KW_VALUE_REAL, .real = 1}, minus = {.kind = KW_VALUE_REAL, .real = -1.5};
    kw_value yes = {.kind = KW_VALUE_FLAG, .flag = true}, no = {.kind = KW_VALUE_FLAG};
    kw_value id = test_text("00112233-4455-6677-8899-aabbccddeeff"), digits = test_text("00ff1a");
    /* the bytes that Phoenix's own UPSERT writes for BOOLEAN and BOOLEAN DESC */
    check_field("bool", "encoding: phoenix", yes, "01");
    check_field("bool", "encoding: phoenix", no, "00");
    check_field("bool", "encoding: phoenix, order: desc", yes, "fe");
    check_field("bool", "encoding: phoenix, order: desc", no, "ff");
    check_field("double", "order: asc", one, "bff0000000000000");
    check_field("double", "order: desc", one, "400fffffffffffff");
    check_field("double", "encoding: double", minus, "4007ffffffffffff");
    check_field("double", "encoding: float", one, "bf800000");
    check_field("double", "encoding: float, order: desc", minus, "bfc00000");
    check_field("double", "encoding: phoenix, width: 4", one, "bf800001");
    check_field("double", "encoding: ordered, width: 5", one, "30bf800000");
    check_field("int", "encoding: ordered, width: 2", test_number(-1), "297f");
    check_field("int", "encoding: ordered, width: 3", test_number(1), "2a8001");
    check_field("bool", "order: asc", yes, "01");
    check_field("bool", "order: desc", yes, "00");
    check_field("bool", "encoding: raw_bool", yes, "ff");
    check_field("bool", "encoding: raw_bool, order: desc", no, "ff");
    check_field("string", "encoding: uuid", id, "00112233445566778899aabbccddeeff");
    check_field("string", "encoding: uuid, order: desc", id, "ffeeddccbbaa99887766554433221100");
    check_field("string", "encoding: hex, width: 3", digits, "00ff1a");
    check_field("string", "encoding: hex, width: 3, order: desc", digits, "ff00e5");
}

#define MINUTES                                                                                              \
    "    fields: {ts: {type: timestamp, column: \"d:ts\"}, n: int}\n    key:\n"                              \
    "      - calendar: {of: ts, parts: [mm, HH, dd, MM, yyyy], sequence: n, zone: %s, as: %s}\n"

static void
check_calendar(JsonObject *it)
{
    static const char *const forms[][2] = {
        {"packed", "int64"}, {"packed, width: 7", "int56"}, {"decimal", "decimal"}};
    kw_value values[] = {test_number(json_object_get_int_member(it, "ts_ms")),
                         test_number(json_object_get_int_member(it, "sequence"))};
    for (size_t form = 0; form < G_N_ELEMENTS(forms); form++) {
        g_autofree char *yaml =
            g_strdup_printf(MINUTES, json_object_get_string_member(it, "zone"), forms[form][0]);
        const char *expected = json_object_get_string_member(it, forms[form][1]);
        g_autofree char *text = test_hex(kw_bytes_of_text(expected));
        check_both_ways(yaml, values, form == 2 ? text : expected);
    }
}

static void
test_calendar_minute(void)
{
    each_case("calendar_minute", 12, check_calendar);
}

static void
check_circular(JsonObject *it)
{
    kw_value values[] = {test_number(json_object_get_int_member(it, "ts_ms")),
                         test_text(json_object_get_string_member(it, "url"))};
    check_both_ways("    fields: {ts: {type: timestamp, column: \"d:ts\"}, url: string}\n    key:\n"
                    "      - calendar: {of: ts, parts: [MM, dd], separator: \"-\"}\n"
                    "      - literal: \"-\"\n      - field: url\n"
                    "    families: {d: {ttl: 351d}}\n",
                    values, json_object_get_string_member(it, "key"));
}

static void
test_circular(void)
{
    each_case("circular", 12, check_circular);
}

/* From separate fields, and as one number generated elsewhere. */
static void
check_partitioned(JsonObject *it)
{
    const char *key = json_object_get_string_member(it, "key");
    kw_value values[] = {test_number(json_object_get_int_member(it, "ts_ms")),
                         test_number(json_object_get_int_member(it, "worker")),
                         test_number(json_object_get_int_member(it, "sequence"))};
    check_both_ways("    fields: {ts: {type: timestamp, column: \"d:ts\"}, worker: int, n: int}\n    key:\n"
                    "      - bits: {of: ts, parts: [zero 1, minute 6, seconds 32, worker 9, n 16]}\n",
                    values, key);
    values[1] = test_number((int64_t)g_ascii_strtoull(key, NULL, 16));
    check_both_ways("    fields: {ts: timestamp, id: int}\n    key:\n"
                    "      - bits: {of: id, time: ts,\n"
                    "               parts: [zero 1, minute 6, seconds 32, worker 9, sequence 16]}\n",
                    values, key);
}

static void
test_partitioned(void)
{
    each_case("partitioned_snowflake", 12, check_partitioned);
}

/* The hash alone, and the node before an id. */
static void
check_ring(JsonObject *it)
{
    const char *id = json_object_get_string_member(it, "message_id");
    g_autoptr(GString) nodes = g_string_new("");
    g_assert_cmpint(kw_java_fnv_alt_hash(kw_bytes_of_text(id)), ==, json_object_get_int_member(it, "hash"));
    for (int node = 1; node <= json_object_get_int_member(it, "nodes"); node++)
        g_string_append_printf(nodes, "%s'%04d'", node > 1 ? ", " : "", node);
    g_autofree char *yaml =
        g_strdup_printf("    fields: {id: string}\n    key:\n"
                        "      - ring: {of: id, algorithm: java_fnv_alt, replicas: %d, nodes: [%s]}\n"
                        "      - field: id\n",
                        (int)json_object_get_int_member(it, "replicas"), nodes->str);
    g_autofree char *key = g_strconcat(json_object_get_string_member(it, "node"), id, NULL);
    g_autofree char *expected = test_hex(kw_bytes_of_text(key));
    kw_value values[] = {test_text(id)};
    check_both_ways(yaml, values, expected);
}

static void
test_ring(void)
{
    each_case("ring", 36, check_ring);
}

static void
check_splits(JsonObject *it)
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    JsonArray *expected = json_object_get_array_member(it, "splits");
    kw_bytes *keys;
    size_t count;
    kw_error error = KW_ERROR_NONE;
    bool done = kw_splits_by_algorithm(json_object_get_string_member(it, "algorithm"),
                                       (uint32_t)json_object_get_int_member(it, "regions"), arena, &keys,
                                       &count, &error);
    g_assert_true(done);
    g_assert_cmpuint(count, ==, json_array_get_length(expected));
    for (guint index = 0; index < count; index++) {
        g_autofree char *key = test_hex(keys[index]);
        g_assert_cmpstr(key, ==, json_array_get_string_element(expected, index));
    }
}

static void
test_splits(void)
{
    each_case("splits", 18, check_splits);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    parser = json_parser_new();
    GError *error = NULL;
    json_parser_load_from_file(parser, KW_TEST_DATA "/rowkeys.json", &error);
    g_assert_no_error(error);
    g_test_add_func("/rule/vectors/order_tracking", test_order_tracking);
    g_test_add_func("/rule/vectors/reverse", test_reverse);
    g_test_add_func("/rule/vectors/java_salt", test_java_salt);
    g_test_add_func("/rule/vectors/java_string", test_java_string);
    g_test_add_func("/rule/vectors/java_string_signs", test_java_string_signs);
    g_test_add_func("/rule/vectors/phoenix", test_phoenix);
    g_test_add_func("/rule/vectors/hbasewd", test_hbasewd);
    g_test_add_func("/rule/vectors/murmur", test_murmur);
    g_test_add_func("/rule/vectors/hashes", test_hashes);
    g_test_add_func("/rule/vectors/phoenix_types", test_phoenix_types);
    g_test_add_func("/rule/vectors/ordered_bytes", test_ordered);
    g_test_add_func("/rule/vectors/plain_forms", test_plain_forms);
    g_test_add_func("/rule/vectors/calendar_minute", test_calendar_minute);
    g_test_add_func("/rule/vectors/circular", test_circular);
    g_test_add_func("/rule/vectors/partitioned_snowflake", test_partitioned);
    g_test_add_func("/rule/vectors/ring", test_ring);
    g_test_add_func("/rule/vectors/splits", test_splits);
    int result = g_test_run();
    g_object_unref(parser);
    return result;
}
