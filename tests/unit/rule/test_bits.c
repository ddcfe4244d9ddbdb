/* The parts of the component bits: how many there can be, and which ones a number can have. */
#include "rule/component.h"
#include "rule/policies.h"

/* A part that cannot be read is the only problem that is reported. */
KW_TEST(test_malformed_bits, "/rule/bits/malformed")
{
    g_autofree char *problems =
        test_refused("    fields: {n: int, ts: {type: timestamp, column: 'd:ts'}, id: string}\n"
                     "    key: [{bits: {of: ts, parts: [seconds 31, nonsense 1]}}, {field: id}]\n");
    g_assert_nonnull(strstr(problems, "nonsense"));
    g_assert_null(strstr(problems, "bits in all"));
}

/* All parts together have whole bytes: at least one, and at most eight. */
KW_TEST(test_sizes, "/rule/bits/sizes")
{
    static const struct {
        const char *parts;
        bool good;
    } cases[] = {{"", false},
                 {"seconds 7", false},
                 {"seconds 8", true},
                 {"seconds 32, n 31", false},
                 {"seconds 32, n 32", true},
                 {"seconds 32, n 32, zero 8", false}};
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *yaml =
            g_strdup_printf("    fields: {ts: {type: timestamp, unit: s}, n: int, id: string}\n"
                            "    key: [{bits: {of: ts, parts: [%s]}}, {field: n}, {field: id}]\n",
                            cases[i].parts);
        g_autoptr(kw_policy) policy = test_policy_maybe(yaml);
        g_assert_cmpint(policy != NULL, ==, cases[i].good);
    }
}

/* A key can hold a time that its field cannot. */
KW_TEST(test_time_outside_its_field, "/rule/bits/time-outside-its-field")
{
    g_autoptr(kw_policy) policy =
        test_policy("    fields: {ts: {type: timestamp, unit: ns, column: 'd:ts'}}\n"
                    "    key: [{bits: {of: ts, parts: [seconds 40]}}]\n");
    g_autoptr(kw_arena) arena = kw_arena_new();
    const kw_table *table = kw_policy_table(policy, 0);
    kw_record record = kw_record_new(table, arena);
    kw_error error = KW_ERROR_NONE;
    g_assert_true(kw_layout_decode(table->paths[0].layout, KW_BYTES_LITERAL("\0\xff\xff\xff\xff"), arena,
                                   &record, &error));
    g_assert_false(kw_layout_decode(table->paths[0].layout, KW_BYTES_LITERAL("\xff\xff\xff\xff\xff"), arena,
                                    &record, &error));
    g_assert_nonnull(strstr(error.text, "has a time outside the range of its field"));
}

/* The first bit of an int is its sign: it must be a constant zero if all 64 bits are in the key. */
KW_TEST(test_sign_of_numbers, "/rule/bits/sign-of-numbers")
{
    static const struct {
        const char *parts;
        bool good;
    } cases[] = {{"zero 1, seconds 32, worker 31", true},
                 {"constant 1 2, seconds 32, worker 30", true},
                 {"constant 2 2, seconds 32, worker 30", false},
                 {"constant 1 1, seconds 32, worker 31", false},
                 {"seconds 32, worker 32", false},
                 {"constant 2 2, seconds 32, worker 22", true}};
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *yaml = g_strdup_printf("    fields: {ts: {type: timestamp, unit: s}, id: int}\n    "
                                                "key: [{bits: {of: id, time: ts, parts: [%s]}}]\n",
                                                cases[i].parts);
        g_autoptr(kw_policy) policy = cases[i].good ? test_policy(yaml) : NULL;
        g_autofree char *problems = cases[i].good ? NULL : test_refused(yaml);
        if (problems)
            g_assert_nonnull(strstr(problems, "its first bit must be zero"));
    }
}

/* The number of the parts is limited. With as many as possible, every bit has its place. */
KW_TEST(test_most_parts, "/rule/bits/most-parts")
{
    enum { MOST = 16 };
    g_autoptr(GString) parts = g_string_new("seconds 32");
    for (int part = 1; part < MOST; part++)
        g_string_append_printf(parts, ", p%d %d", part, part < 10 ? 2 : 1);
    static const char form[] = "    fields: {ts: {type: timestamp, unit: s}, id: int}\n"
                               "    key: [{bits: {of: id, time: ts, parts: [%s]}}]\n";
    g_autofree char *yaml = g_strdup_printf(form, parts->str);
    g_autoptr(kw_policy) policy = test_policy(yaml);
    g_autoptr(kw_arena) arena = kw_arena_new();
    const kw_table *table = kw_policy_table(policy, 0);
    kw_value values[] = {test_number(0x12345678), test_number(INT64_C(0x12345678abcdef))};
    kw_record record = {.values = values}, back = kw_record_new(table, arena);
    g_autofree char *hex = test_key_hex(table, 0, &record);
    g_assert_cmpstr(hex, ==, "12345678abcdef");
    kw_bytes key = KW_BYTES_LITERAL("\x12\x34\x56\x78\xab\xcd\xef");
    g_assert_true(kw_layout_decode(table->paths[0].layout, key, arena, &back, NULL));
    g_assert_true(kw_value_equal(back.values[1], values[1]));
    g_string_append(parts, ", p16 8");
    g_autofree char *more = g_strdup_printf(form, parts->str);
    g_autofree char *problems = test_refused(more);
    g_assert_nonnull(strstr(problems, "exceeds the maximum number of parts"));
}

/* A number generated elsewhere contains the time of its record. Another time is refused; without a time,
 * the number is enough. */
KW_TEST(test_number_of_another_time, "/rule/bits/number-of-another-time")
{
    g_autoptr(kw_policy) policy =
        test_policy("    fields: {ts: {type: timestamp, unit: s}, id: int}\n"
                    "    key: [{bits: {of: id, time: ts, parts: [zero 1, seconds 32, worker 31]}}]\n");
    const kw_layout *layout = kw_policy_table(policy, 0)->paths[0].layout;
    kw_value number = test_number(INT64_C(5) << 31), none = {.kind = KW_VALUE_NONE};
    kw_value times[] = {test_number(4), test_number(5), none};
    for (size_t i = 0; i < G_N_ELEMENTS(times); i++) {
        kw_value values[] = {times[i], number};
        kw_buffer key = KW_BUFFER_EMPTY;
        kw_error error = KW_ERROR_NONE;
        g_assert_cmpint(kw_layout_encode(layout, &(kw_record){.values = values}, &key, &error), ==, i != 0);
        if (i == 0)
            g_assert_nonnull(strstr(error.text, "value 4 differs from the time in the bits of field id"));
        kw_buffer_clear(&key);
    }
}

/* No number in the key is less than zero, nor greater than the number with all bits. */
KW_TEST(test_numbers_outside_the_bits, "/rule/bits/numbers-outside-the-bits")
{
    static const struct {
        int64_t number;
        int side;
        const char *piece;
    } cases[] = {{INT64_MIN, -1, "000000000000"},
                 {-1, -1, "000000000000"},
                 {0, 0, "000000000000"},
                 {5, 0, "000000000005"},
                 {(INT64_C(1) << 48) - 1, 0, "ffffffffffff"},
                 {INT64_C(1) << 48, 1, "ffffffffffff"},
                 {INT64_MAX, 1, "ffffffffffff"}};
    g_autoptr(kw_policy) policy =
        test_policy("    fields: {ts: {type: timestamp, unit: s}, id: int}\n"
                    "    key: [{bits: {of: id, time: ts, parts: [seconds 32, worker 16]}}]\n");
    g_autoptr(kw_arena) arena = kw_arena_new();
    const kw_component *bits = kw_layout_component(kw_policy_table(policy, 0)->paths[0].layout, 0);
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        kw_edge edge;
        g_assert_true(bits->kind->edge(bits, test_number(cases[i].number), false, arena, &edge));
        g_autofree char *piece = test_hex(edge.bytes);
        g_assert_cmpint(edge.side, ==, cases[i].side);
        g_assert_cmpstr(piece, ==, cases[i].piece);
    }
}

/* Bits of a field that does not exist are one problem. */
KW_TEST(test_unknown_field, "/rule/bits/unknown-field")
{
    g_autofree char *problems =
        test_refused("    fields: {ts: {type: timestamp, unit: s}, id: int}\n"
                     "    key: [{bits: {of: nosuch, parts: [zero 1, seconds 32, id 31]}}]\n");
    g_assert_nonnull(strstr(problems, "nosuch"));
    g_assert_true(g_strrstr(problems, "error:") == strstr(problems, "error:"));
}
