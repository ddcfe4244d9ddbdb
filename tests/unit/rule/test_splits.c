/* Split points from rules and samples, the limits of the algorithms, and the text form of bytes.
 * (test_vectors.c has the algorithms' keys.) */
#include "rule/policies.h"
#include "rule/splits.h"

/* The split keys of a rule over id (string) and n (int), as text, separated by commas. */
static char *
splits_of(const char *rule, uint32_t regions)
{
    g_autofree char *yaml =
        g_strdup_printf("    fields: {id: string, n: int, kind: {type: string, values: [x, y, z]},\n"
                        "             ts: {type: timestamp, column: 'd:ts'}}\n    key:\n%s",
                        rule);
    g_autoptr(kw_policy) policy = test_policy(yaml);
    g_autoptr(kw_arena) arena = kw_arena_new();
    kw_bytes *keys;
    size_t count;
    kw_error error = KW_ERROR_NONE;
    if (!kw_layout_splits(kw_policy_table(policy, 0)->paths[0].layout, regions, arena, &keys, &count, &error))
        return g_strconcat("error: ", error.text, NULL);
    GString *text = g_string_new(NULL);
    for (size_t index = 0; index < count; index++) {
        if (index > 0)
            g_assert_cmpint(kw_bytes_compare(keys[index - 1], keys[index]), <, 0);
        g_string_append_printf(text, "%s%s", index ? "," : "", kw_bytes_to_binary_text(keys[index], arena));
    }
    return g_string_free(text, FALSE);
}

static void
check(const char *rule, uint32_t regions, const char *expected)
{
    g_autofree char *generated = splits_of(rule, regions);
    g_assert_cmpstr(generated, ==, expected);
}

KW_TEST(test_rules, "/rule/splits/rules")
{
    check("      - salt: {of: id, buckets: 4}\n      - field: id\n", 4, "\\x01,\\x02,\\x03");
    check("      - salt: {of: id, buckets: 4}\n      - field: id\n", 2, "\\x02");
    check("      - salt: {of: id, buckets: 4}\n      - field: id\n", 16, "\\x01,\\x02,\\x03");
    check("      - salt: {of: id, buckets: 10, as: decimal, width: 3}\n      - field: id\n", 5,
          "002,004,006,008");
    check("      - hash: {of: id, algorithm: md5, take: 4}\n      - field: id\n", 4, "4000,8000,c000");
    check("      - hash: {of: id, take: 1}\n      - field: id\n", 3, "5,a");
    check("      - hash: {of: id, take: 2, as: bytes}\n      - field: id\n", 3, "UU,\\xAA\\xAA");
    check("      - hash: {of: id, algorithm: md5, take: 32}\n      - field: id\n", 4,
          "40000000,80000000,c0000000");
    /* The hash of n follows bytes of the first hash that were not counted. */
    check("      - hash: {of: id, take: 5, as: bytes}\n      - hash: {of: n, take: 1}\n      - field: id\n   "
          "   - field: n\n",
          2, "\\x80\\x00\\x00\\x00");
    check("      - literal: \"p|\"\n      - mod: {of: n, buckets: 2}\n      - field: id\n      - field: n\n",
          2, "p|\\x01");
    /* A bucket is split inside if the following pieces are also known. */
    check("      - mod: {of: n, buckets: 2}\n      - hash: {of: id, take: 1}\n      - field: id\n      - "
          "field: n\n",
          4, "\\x008,\\x01,\\x018");
    check("      - enum: {field: kind, as: text}\n      - field: id\n", 3, "y,z");
}

/* A calendar is cut between values of its first part, and bits between minutes. A text consists of the digits
 * of that part; of a number, only the last byte is left out. */
KW_TEST(test_clocks, "/rule/splits/clocks")
{
    check("      - calendar: {of: ts, parts: [HH, dd, MM, yyyy], separator: '-'}\n      - field: id\n", 4,
          "06,12,18");
    check("      - calendar: {of: ts, parts: [MM, dd, yyyy]}\n      - field: id\n", 3, "05,09");
    /* 30 of 60 minutes: 300000000000 and 30 / 64 */
    check("      - calendar: {of: ts, parts: [mm, HH, dd, MM, yyyy], as: packed}\n      - field: id\n", 2,
          "\\x00\\x00\\x00E\\xD9d\\xB8");
    /* A number of only one part is complete. */
    check("      - calendar: {of: ts, parts: [HH], as: packed}\n      - field: ts\n", 2,
          "\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x0C");
    check("      - bits: {of: ts, parts: [minute 6, ms 42]}\n      - field: id\n", 2, "x");
    check("      - bits: {of: ts, parts: [constant 1 2, minute 6, ms 40]}\n      - field: id\n", 2, "^");
    check(
        "      - calendar: {of: ts, parts: [mm, HH, dd, MM, yyyy], as: decimal}\n"
        "      - field: n\n",
        2,
        "error: table t, path primary: its keys start with calendar(ts: mm HH dd MM yyyy in UTC as decimal), "
        "whose values are not in the rule; use split keys or a sample of records");
}

KW_TEST(test_unknown, "/rule/splits/unknown")
{
    check("      - field: id\n", 4,
          "error: table t, path primary: its keys start with field(id as raw), whose values are not in the "
          "rule; use split keys or a sample of records");
    check("      - literal: a\n      - field: id\n", 4,
          "error: table t, path primary: its keys start with field(id as raw), whose values are not in the "
          "rule; use split keys or a sample of records");
    check("      - hash: id\n      - field: id\n", 1,
          "error: a table can be split into 2 to 65536 regions, not 1");
    check("      - hash: id\n      - field: id\n", 65537,
          "error: a table can be split into 2 to 65536 regions, not 65537");
}

KW_TEST(test_sample, "/rule/splits/sample")
{
    g_autoptr(kw_policy) policy = test_policy("    fields: {id: string}\n    key:\n      - field: id\n");
    g_autoptr(kw_arena) arena = kw_arena_new();
    static const char *const ids[] = {"d", "a", "c", "b", "h", "g", "f", "e"};
    kw_record records[8];
    for (size_t index = 0; index < 8; index++) {
        records[index] = kw_record_new(kw_policy_table(policy, 0), arena);
        records[index].values[0] = test_text(ids[index]);
    }
    const kw_layout *layout = kw_policy_table(policy, 0)->paths[0].layout;
    kw_bytes *keys;
    size_t count;
    kw_error error = KW_ERROR_NONE;
    g_assert_true(kw_layout_splits_of_sample(layout, records, 8, 4, arena, &keys, &count, &error));
    g_assert_cmpuint(count, ==, 3);
    g_assert_true(kw_bytes_equal(keys[0], KW_BYTES_LITERAL("c")));
    g_assert_true(kw_bytes_equal(keys[1], KW_BYTES_LITERAL("e")));
    g_assert_true(kw_bytes_equal(keys[2], KW_BYTES_LITERAL("g")));
    /* More regions than records: fewer cuts, without duplicates and none before the first key. */
    g_assert_true(kw_layout_splits_of_sample(layout, records, 2, 8, arena, &keys, &count, &error));
    g_assert_cmpuint(count, ==, 1);
    g_assert_true(kw_bytes_equal(keys[0], KW_BYTES_LITERAL("d")));
    g_assert_false(kw_layout_splits_of_sample(layout, records, 0, 8, arena, &keys, &count, &error));
    records[3].values[0] = KW_VALUE_ABSENT;
    g_assert_false(kw_layout_splits_of_sample(layout, records, 8, 4, arena, &keys, &count, &error));
    g_assert_true(g_str_has_prefix(error.text, "sample record 4: table t, field id: is missing"));
}

KW_TEST(test_algorithm_limits, "/rule/splits/algorithm_limits")
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    kw_bytes *keys;
    size_t count;
    kw_error error = KW_ERROR_NONE;
    g_assert_false(kw_splits_by_algorithm("HexSplit", 4, arena, &keys, &count, &error));
    g_assert_nonnull(strstr(error.text, "HexStringSplit, UniformSplit or DecimalStringSplit"));
    g_assert_false(kw_splits_by_algorithm("UniformSplit", 1, arena, &keys, &count, &error));
    g_assert_false(kw_splits_by_algorithm("UniformSplit", 0, arena, &keys, &count, &error));
    g_assert_false(kw_splits_by_algorithm("UniformSplit", UINT32_MAX, arena, &keys, &count, &error));
    g_assert_true(kw_splits_by_algorithm("UniformSplit", 65536, arena, &keys, &count, &error));
    g_assert_cmpuint(count, ==, 65535);
    g_assert_cmpuint(kw_be64_load(keys[65534].data), ==, 0xffff000000000000);
}

KW_TEST(test_binary_text, "/rule/splits/binary_text")
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    kw_bytes bytes;
    kw_error error = KW_ERROR_NONE;
    g_assert_true(kw_bytes_from_binary_text("a\\x00|\\xfF", arena, &bytes, &error));
    g_assert_true(kw_bytes_equal(bytes, KW_BYTES_LITERAL("a\0|\xff")));
    g_assert_true(kw_bytes_from_binary_text("", arena, &bytes, &error));
    g_assert_cmpuint(bytes.size, ==, 0);
    static const char *const bad[] = {"\\", "\\x", "\\x1", "a\\xg0", "\\n", "\\\\"};
    for (size_t index = 0; index < G_N_ELEMENTS(bad); index++)
        g_assert_false(kw_bytes_from_binary_text(bad[index], arena, &bytes, &error));
    uint8_t all[256];
    for (unsigned byte = 0; byte < 256; byte++)
        all[byte] = (uint8_t)byte;
    const char *text = kw_bytes_to_binary_text(kw_bytes_of(all, 256), arena);
    g_assert_nonnull(strstr(text, "[\\x5C]"));
    g_assert_true(kw_bytes_from_binary_text(text, arena, &bytes, &error));
    g_assert_true(kw_bytes_equal(bytes, kw_bytes_of(all, 256)));
}
