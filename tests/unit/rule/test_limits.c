/* Limits that are exact: sizes of names, texts that are cut, characters and hashes at the end of a block,
 * ends of ranges between two units, and the numbers of bits that survive encoding and decoding. */
#include "rule/component.h"

#include "base/utf8.h"
#include "rule/derived.h"
#include "rule/digest.h"
#include "rule/policies.h"
#include "rule/values.h"

/* Computed with another program, by the description of lookup3. */
KW_TEST(test_jenkins_blocks, "/rule/limits/jenkins-blocks")
{
    static const struct {
        size_t size;
        uint32_t hash;
    } cases[] = {
        {1, 0x58d68708},  {4, 0xb5f4889c},  {11, 0x5f61edf8}, {12, 0x4012f87b},
        {13, 0x928128f9}, {23, 0x4e25bfff}, {24, 0x1b631fea}, {25, 0x6c29c5e2},

    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++)
        g_assert_cmphex(kw_jenkins_32(kw_bytes_of("abcdefghijklmnopqrstuvwxyz", cases[i].size), 0), ==,
                        cases[i].hash);
}

/* The first and the last character of each length in UTF-8. Those outside the basic plane have two UTF-16
 * units. */
KW_TEST(test_java_strings, "/rule/limits/java-strings")
{
    static const gunichar characters[] = {1,      0x7f,   0x80,    0x7ff,   0x800,   0xfff,
                                          0x1000, 0xffff, 0x10000, 0x1f600, 0x10ffff};
    for (size_t i = 0; i < G_N_ELEMENTS(characters); i++) {
        char text[10] = "a";
        int size = 1 + g_unichar_to_utf8(characters[i], text + 1);
        text[size++] = 'b';
        g_autofree gunichar2 *units = g_utf8_to_utf16(text, size, NULL, NULL, NULL);
        uint32_t hash = 0;
        for (const gunichar2 *unit = units; *unit; unit++)
            hash = 31 * hash + *unit;
        g_assert_cmpint(kw_java_string_hash(kw_bytes_of(text, (size_t)size)), ==, (int32_t)hash);
    }
}

KW_TEST(test_buckets_in_each_form, "/rule/limits/buckets-in-each-form")
{
    static const kw_bucket_form forms[] = {
        {KW_BUCKET_BYTE, 1, 256, 0, 0, 256},    {KW_BUCKET_HEX, 2, 256, 0, 0, 256},
        {KW_BUCKET_DECIMAL, 3, 256, 0, 0, 256}, {KW_BUCKET_BYTE, 1, 128, 127, -127, 255},
        {KW_BUCKET_BYTE, 8, 10, 1, -8, 11},     {KW_BUCKET_DECIMAL, 4, 256, 255, -255, 511},
        {KW_BUCKET_DECIMAL, 2, 10, 1, -8, 11}};
    for (size_t i = 0; i < G_N_ELEMENTS(forms); i++) {
        kw_buffer piece = KW_BUFFER_EMPTY, before = KW_BUFFER_EMPTY;
        for (uint32_t bucket = 0; bucket < forms[i].buckets; bucket++) {
            piece.size = 0;
            kw_bucket_form_append(&forms[i], bucket, &piece);
            g_assert_cmpuint(kw_bucket_form_find(&forms[i], kw_buffer_bytes(&piece)), ==, bucket);
            g_assert_cmpint(kw_bytes_compare(kw_buffer_bytes(&before), kw_buffer_bytes(&piece)), <, 0);
            before.size = 0;
            kw_buffer_append(&before, kw_buffer_bytes(&piece));
        }
        kw_buffer_clear(&piece);
        kw_buffer_clear(&before);
    }
    static const char *const wrong[] = {"-0", "-7", "-9", "--", "-", "10", "-8 ", "+8"};
    for (size_t i = 0; i < G_N_ELEMENTS(wrong); i++)
        g_assert_cmpuint(kw_bucket_form_find(&forms[6], kw_bytes_of_text(wrong[i])), ==, UINT32_MAX);
}

/* A copy of a value shares no memory with it. */
KW_TEST(test_copies_of_values, "/rule/limits/copies-of-values")
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    kw_entry entry = {.name = kw_bytes_of_text("a"), .value = test_text("one")};
    const kw_value values[] = {test_text("text"),
                               {.kind = KW_VALUE_BYTES, .bytes = kw_bytes_of_text("bytes")},
                               {.kind = KW_VALUE_MAP, .entries = &entry, .entries_count = 1}};
    for (size_t i = 0; i < G_N_ELEMENTS(values); i++) {
        kw_value copy = kw_value_copy(values[i], arena);
        g_assert_true(kw_value_equal(copy, values[i]));
        if (copy.kind != KW_VALUE_MAP) {
            g_assert_true(copy.bytes.data != values[i].bytes.data);
            continue;
        }
        g_assert_true(copy.entries[0].name.data != entry.name.data);
        g_assert_true(copy.entries[0].value.bytes.data != entry.value.bytes.data);
    }
}

/* A ring has at most 262,144 points in all. */
KW_TEST(test_ring_points, "/rule/limits/ring-points")
{
    g_autoptr(GString) nodes = g_string_new("n01");
    for (unsigned count = 2; count <= 65; count++) {
        g_string_append_printf(nodes, ", n%02u", count);
        g_autofree char *yaml = g_strdup_printf("    fields: {id: string}\n    key: [{ring: {of: id, nodes: "
                                                "[%s], replicas: 4096}}, {field: id}]\n",
                                                nodes->str);
        g_autoptr(kw_policy) policy = count < 64 ? NULL : test_policy_maybe(yaml);
        g_assert_cmpint(policy != NULL, ==, count == 64);
    }
}

/* The name of a node has at most 64 bytes. */
KW_TEST(test_ring_names, "/rule/limits/ring-names")
{
    for (size_t size = 64; size <= 65; size++) {
        g_autofree char *name = g_strnfill(size, 'n');
        g_autofree char *yaml = g_strdup_printf(
            "    fields: {id: string}\n    key: [{ring: {of: id, nodes: [%s, b]}}, {field: id}]\n", name);
        g_autoptr(kw_policy) policy = test_policy_maybe(yaml);
        g_assert_cmpint(policy != NULL, ==, size == 64);
    }
}

static void
assert_printed(kw_value value, size_t size, const char *text)
{
    g_autofree char *to = g_malloc(size + 1);
    to[size] = '#';
    kw_value_print(value, to, size);
    g_assert_cmpstr(to, ==, text);
    g_assert_cmpint(to[size], ==, '#');
}

/* A text is cut only if it does not fit, and never within a character or an escape. */
KW_TEST(test_printed_texts, "/rule/limits/printed-texts")
{
    assert_printed(test_text("abcdefghi"), 16, "\"abcdefghi\"");
    assert_printed(test_text("abcdefghij"), 16, "\"abcdefghi...\"");
    assert_printed(test_text("abcdefgh\n"), 16, "\"abcdefgh\\x0A\"");
    assert_printed(test_text("abcdefghi\n"), 16, "\"abcdefghi...\"");
    assert_printed(test_text("abcdefgh\xc3\xa9"), 16, "\"abcdefgh...\"");
    assert_printed(test_text("abcdefgh\xc3\xa9"), 17, "\"abcdefgh\xc3\xa9\"");
    kw_value bytes = {.kind = KW_VALUE_BYTES, .bytes = KW_BYTES_LITERAL("abcdefghij\x01")};
    assert_printed(bytes, 17, "abcdefghij\\x01");
    assert_printed(bytes, 16, "abcdefghij...");
    assert_printed(test_text("~\x7f"), 16, "\"~\\x7F\"");
    assert_printed((kw_value){.kind = KW_VALUE_NONE}, 16, "(absent)");
    assert_printed((kw_value){.kind = KW_VALUE_FLAG, .flag = true}, 16, "true");
    assert_printed((kw_value){.kind = KW_VALUE_FLAG, .flag = false}, 16, "false");
    assert_printed((kw_value){.kind = KW_VALUE_REAL, .real = 0.5}, 16, "0.5");
    assert_printed((kw_value){.kind = KW_VALUE_MAP, .entries_count = 3}, 16, "3 entries");
}

/* A byte that is not UTF-8 is found at every position of a text of every length, and a character of two bytes
 * is accepted at every position. */
KW_TEST(test_bytes_outside_ascii, "/rule/limits/bytes-outside-ascii")
{
    char text[72];
    for (size_t size = 1; size <= sizeof text; size++) {
        memset(text, 'a', sizeof text);
        g_assert_true(kw_utf8_valid(kw_bytes_of(text, size)));
        for (size_t at = 0; at < size; at++) {
            text[at] = '\xff';
            g_assert_false(kw_utf8_valid(kw_bytes_of(text, size)));
            text[at] = '\xc3';
            g_assert_false(kw_utf8_valid(kw_bytes_of(text, size)));
            if (at + 1 < size) {
                text[at + 1] = '\xa9';
                g_assert_true(kw_utf8_valid(kw_bytes_of(text, size)));
                text[at + 1] = 'a';
            }
            text[at] = 'a';
        }
    }
}

/* A key in seconds distinguishes the ends of a range of milliseconds only between two seconds: an end within
 * a second is loose, so the rows of that second must be checked. */
KW_TEST(test_ends_between_units, "/rule/limits/ends-between-units")
{
    static const struct {
        int64_t ms;
        bool loose_from, loose_to; /* inclusive ends */
    } cases[] = {
        {0, false, true},  {1, true, true},  {998, true, true},  {999, true, false},   {1000, false, true},
        {-1, true, false}, {-2, true, true}, {-999, true, true}, {-1000, false, true}, {-1001, true, false},
    };
    static const char *const encodings[] = {"int", "max_minus", "decimal"};
    for (size_t i = 0; i < G_N_ELEMENTS(encodings); i++) {
        g_autofree char *yaml = g_strdup_printf("    fields: {ts: {type: timestamp, column: 'd:ts'}}\n"
                                                "    key: [{field: {name: ts, encoding: %s, unit: s}}]\n",
                                                encodings[i]);
        g_autoptr(kw_policy) policy = test_policy_with_hazards(yaml);
        g_autoptr(kw_arena) arena = kw_arena_new();
        const kw_component *field = kw_layout_component(kw_policy_table(policy, 0)->paths[0].layout, 0);
        for (size_t at = 0; at < G_N_ELEMENTS(cases); at++) {
            kw_edge from, to;
            g_assert_true(field->kind->edge(field, test_number(cases[at].ms), true, arena, &from) &&
                          field->kind->edge(field, test_number(cases[at].ms), false, arena, &to));
            bool stored = i == 0 || cases[at].ms >= 0; /* the other encodings hold no negative numbers */
            g_assert_cmpint(from.loose, ==, stored && cases[at].loose_from);
            g_assert_cmpint(to.loose, ==, stored && cases[at].loose_to);
        }
    }
}

/* Maps are compared entry by entry, by name and then by value; then the one with fewer entries is first. */
KW_TEST(test_order_of_maps, "/rule/limits/order-of-maps")
{
#define ENTRY(name, number)                                                                                  \
    {                                                                                                        \
        KW_BYTES_LITERAL(name), NUMBER(number)                                                               \
    }
    static const kw_entry entries[][3] = {
        {ENTRY("a", 1)},
        {ENTRY("a", 1), ENTRY("b", 1)},
        {ENTRY("a", 1), ENTRY("b", 1), ENTRY("c", 1)},
        {ENTRY("a", 1), ENTRY("b", 1), ENTRY("c", 2)},
        {ENTRY("a", 1), ENTRY("b", 2), ENTRY("c", 1)},
        {ENTRY("a", 1), ENTRY("c", 0)},
        {ENTRY("a", 2)},
        {ENTRY("b", 0)},
    };
    static const size_t counts[] = {1, 2, 3, 3, 3, 2, 1, 1};
    for (size_t a = 0; a < G_N_ELEMENTS(entries); a++)
        for (size_t b = 0; b < G_N_ELEMENTS(entries); b++) {
            kw_value left = {.kind = KW_VALUE_MAP, .entries = entries[a], .entries_count = counts[a]};
            kw_value right = {.kind = KW_VALUE_MAP, .entries = entries[b], .entries_count = counts[b]};
            int order = kw_value_compare(left, right);
            g_assert_cmpint((order > 0) - (order < 0), ==, (a > b) - (a < b));
            g_assert_cmpint(kw_value_equal(left, right), ==, a == b);
        }
}

/* A salt of an absent field reports the field. */
KW_TEST(test_absent_fields, "/rule/limits/absent-fields")
{
    static const char *const salts[] = {"of: n, buckets: 10, algorithm: java_long",
                                        "of: n, buckets: 10, algorithm: java_string", "of: n, buckets: 10",
                                        "of: [m, n], buckets: 10"};
    for (size_t i = 0; i < G_N_ELEMENTS(salts); i++) {
        g_autofree char *yaml = g_strdup_printf(
            "    fields: {id: string, m: int, n: int}\n    key: [{salt: {%s}}, {field: n}, {field: m}]\n",
            salts[i]);
        g_autoptr(kw_policy) policy = test_policy(yaml);
        g_autoptr(kw_arena) arena = kw_arena_new();
        const kw_table *table = kw_policy_table(policy, 0);
        kw_record record = kw_record_new(table, arena);
        kw_buffer key = KW_BUFFER_EMPTY;
        kw_error error = KW_ERROR_NONE;
        record.values[1] = test_number(1);
        g_assert_false(kw_layout_encode(table->paths[0].layout, &record, &key, &error));
        g_assert_nonnull(strstr(error.text, "table t, field n: "));
        kw_buffer_clear(&key);
    }
}

/* Fields before, between and after the time in a number can be decoded from the key. */
KW_TEST(test_bits_come_back, "/rule/limits/bits-round-trip")
{
    static const char *const parts[] = {"n 8, seconds 40, m 16", "seconds 32, n 9, m 7",
                                        "n 5, m 3, seconds 48", "constant 1 1, n 7, ms 48"};
    for (size_t i = 0; i < G_N_ELEMENTS(parts); i++) {
        bool both = strstr(parts[i], "m ") && !strstr(parts[i], "ms");
        g_autofree char *yaml =
            g_strdup_printf("    fields: {ts: {type: timestamp, column: 'd:ts'}, n: int, m: int}\n"
                            "    key: [{bits: {of: ts, parts: [%s]}}%s]\n",
                            parts[i], both ? "" : ", {field: m}");
        g_autoptr(kw_policy) policy = test_policy(yaml);
        g_autoptr(kw_arena) arena = kw_arena_new();
        const kw_table *table = kw_policy_table(policy, 0);
        kw_record record = kw_record_new(table, arena), back = kw_record_new(table, arena);
        kw_buffer key = KW_BUFFER_EMPTY;
        kw_error error = KW_ERROR_NONE;
        record.values[0] = test_number(1500000000000);
        record.values[1] = test_number(21);
        record.values[2] = test_number(6);
        g_assert_true(kw_layout_encode(table->paths[0].layout, &record, &key, &error));
        g_assert_true(kw_layout_decode(table->paths[0].layout, kw_buffer_bytes(&key), arena, &back, &error));
        g_assert_cmpint(back.values[1].number, ==, 21);
        g_assert_cmpint(back.values[2].number, ==, 6);
        kw_buffer_clear(&key);
    }
}

/* A number that was generated elsewhere comes back whole, whichever field of the table it is. */
KW_TEST(test_number_of_bits, "/rule/limits/number-of-bits-round-trip")
{
    static const char *const fields[] = {"id: int, ts: {type: timestamp, unit: s}",
                                         "ts: {type: timestamp, unit: s}, id: int"};
    for (size_t i = 0; i < G_N_ELEMENTS(fields); i++) {
        g_autofree char *yaml = g_strdup_printf(
            "    fields: {%s}\n"
            "    key: [{bits: {of: id, time: ts, parts: [zero 1, seconds 38, worker 9, sequence 16]}}]\n",
            fields[i]);
        g_autoptr(kw_policy) policy = test_policy(yaml);
        g_autoptr(kw_arena) arena = kw_arena_new();
        const kw_table *table = kw_policy_table(policy, 0);
        kw_record record = kw_record_new(table, arena), back = kw_record_new(table, arena);
        kw_buffer key = KW_BUFFER_EMPTY;
        kw_error error = KW_ERROR_NONE;
        record.values[i] = test_number(INT64_C(1620000000) << 25 | 5 << 16 | 77);
        record.values[1 - i] = test_number(1620000000);
        g_assert_true(kw_layout_encode(table->paths[0].layout, &record, &key, &error));
        g_assert_true(kw_layout_decode(table->paths[0].layout, kw_buffer_bytes(&key), arena, &back, &error));
        g_assert_true(kw_value_equal(back.values[i], record.values[i]));
        kw_buffer_clear(&key);
    }
}

/* Every entry of the table, compared with the definition: one bit at a time. */
KW_TEST(test_crc32_of_every_byte, "/rule/limits/crc32-of-every-byte")
{
    for (unsigned byte = 0; byte < 256; byte++) {
        uint8_t input = (uint8_t)byte;
        uint32_t crc = UINT32_MAX ^ byte;
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
        g_assert_cmphex(kw_crc32(kw_bytes_of(&input, 1)), ==, ~crc);
    }
}
