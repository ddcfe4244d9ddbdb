/* Values: their order, their form in messages, and texts that are not UTF-8. */
#include "rule/policies.h"

#include "base/utf8.h"
#include "rule/values.h"

#include <math.h>

KW_TEST(test_compare, "/rule/values/compare")
{
    kw_value values[] = {
        KW_VALUE_ABSENT,
        {.kind = KW_VALUE_REAL, .real = -1.0 / 0.0},
        {.kind = KW_VALUE_REAL, .real = -1},
        {.kind = KW_VALUE_REAL, .real = -0x1p-1074},
        {.kind = KW_VALUE_REAL, .real = 0.0},
        {.kind = KW_VALUE_REAL, .real = 2.5},
        {.kind = KW_VALUE_REAL, .real = __builtin_nan("")},
        TEXT(""),
        TEXT("a"),
        TEXT("a\0"),
        TEXT("ab"),
        TEXT("b"),
        TEXT("\xc3\xa9"),
    };
    for (size_t a = 0; a < G_N_ELEMENTS(values); a++) {
        for (size_t b = 0; b < G_N_ELEMENTS(values); b++) {
            int order = kw_value_compare(values[a], values[b]);
            g_assert_cmpint((order > 0) - (order < 0), ==, (a > b) - (a < b));
        }
    }
    g_assert_true(kw_value_equal(values[4], (kw_value){.kind = KW_VALUE_REAL, .real = -0.0}));
    g_assert_cmpint(kw_value_compare(test_number(3), values[5]), >, 0);
    g_assert_false(kw_value_equal(test_number(0), values[4]));
}

/* Integers are compared with doubles by value, also those that no double is equal to. */
KW_TEST(test_numbers, "/rule/values/numbers")
{
    static const struct {
        int64_t number;
        double real;
        int order;
    } cases[] = {
        {2, 2.5, -1},           {3, 2.5, 1},       {2, 2, 0},        {-3, -2.5, -1}, {INT64_MIN, -0x1p63, 0},
        {INT64_MAX, 0x1p62, 1}, {0, -INFINITY, 1}, {0, INFINITY, -1}};
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        kw_value real = REAL(cases[i].real), number = test_number(cases[i].number);
        int order = kw_value_compare(number, real), other = kw_value_compare(real, number);
        g_assert_cmpint((order > 0) - (order < 0), ==, cases[i].order);
        g_assert_cmpint((other > 0) - (other < 0), ==, -cases[i].order);
    }
    static const struct {
        int64_t number;
        bool exact;
    } reals[] = {{0, true},         {INT64_C(1) << 53, true}, {(INT64_C(1) << 53) + 1, false},
                 {INT64_MIN, true}, {INT64_MAX, false},       {-(INT64_C(1) << 53) - 1, false}};
    for (size_t i = 0; i < G_N_ELEMENTS(reals); i++) {
        double real;
        g_assert_cmpint(kw_number_as_real(reals[i].number, &real), ==, reals[i].exact);
        g_assert_cmpfloat(real, ==, (double)reals[i].number);
    }
}

/* A map is compared entry by entry; one whose entries are the beginning of another one's is less. */
KW_TEST(test_maps, "/rule/values/maps")
{
    static const kw_entry entries[] = {{KW_BYTES_LITERAL("a"), NUMBER(1)},
                                       {KW_BYTES_LITERAL("b"), NUMBER(2)}},
                          other_value[] = {{KW_BYTES_LITERAL("a"), NUMBER(2)}},
                          other_name[] = {{KW_BYTES_LITERAL("b"), NUMBER(0)}};
    const kw_value rising[] = {{.kind = KW_VALUE_MAP},
                               {.kind = KW_VALUE_MAP, .entries = entries, .entries_count = 1},
                               {.kind = KW_VALUE_MAP, .entries = entries, .entries_count = 2},
                               {.kind = KW_VALUE_MAP, .entries = other_value, .entries_count = 1},
                               {.kind = KW_VALUE_MAP, .entries = other_name, .entries_count = 1}};
    for (size_t a = 0; a < G_N_ELEMENTS(rising); a++)
        for (size_t b = 0; b < G_N_ELEMENTS(rising); b++) {
            int order = kw_value_compare(rising[a], rising[b]);
            g_assert_cmpint((order > 0) - (order < 0), ==, (a > b) - (a < b));
            g_assert_cmpint(kw_value_equal(rising[a], rising[b]), ==, a == b);
        }
}

/* A copy does not depend on the memory of the original. */
KW_TEST(test_copies, "/rule/values/copies")
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    char name[] = "name", text[] = "text";
    kw_entry entry = {.name = kw_bytes_of_text(name),
                      .value = {.kind = KW_VALUE_BYTES, .bytes = kw_bytes_of_text(text)}};
    kw_value map = {.kind = KW_VALUE_MAP, .entries = &entry, .entries_count = 1};
    kw_value copies[] = {
        kw_value_copy(map, arena),
        kw_value_copy((kw_value){.kind = KW_VALUE_TEXT, .bytes = kw_bytes_of_text(text)}, arena)};
    name[0] = text[0] = '!';
    entry.value.kind = KW_VALUE_NONE;
    g_assert_true(kw_value_equal(copies[1], (kw_value)TEXT("text")));
    g_assert_cmpuint(copies[0].entries_count, ==, 1);
    g_assert_true(kw_bytes_equal(copies[0].entries[0].name, KW_BYTES_LITERAL("name")));
    g_assert_true(kw_value_equal(copies[0].entries[0].value, (kw_value)BYTES("text")));
}

/* A value that does not fit is cut between two characters, after an ASCII one. */
KW_TEST(test_print, "/rule/values/print")
{
    const struct {
        kw_value value;
        size_t size;
        const char *expected;
    } cases[] = {
        {TEXT("a\"\\\n\xc3\xa9~\x7f"), 40, "\"a\\x22\\x5C\\x0A\xc3\xa9~\\x7F\""},
        {BYTES("a \xff\x1f"), 40, "a \\xFF\\x1F"},
        {NUMBER(-5), 16, "-5"},
        {REAL(0.1), 40, "0.10000000000000001"},
        {{.kind = KW_VALUE_FLAG, .flag = true}, 16, "true"},
        {{.kind = KW_VALUE_FLAG}, 16, "false"},
        {KW_VALUE_ABSENT, 16, "(absent)"},
        {{.kind = KW_VALUE_MAP, .entries_count = 3}, 16, "3 entries"},
        {TEXT("123456789"), 16, "\"123456789\""},
        {TEXT("1234567890"), 16, "\"123456789...\""},
        {BYTES("1234567890"), 16, "1234567890"},
        {BYTES("12345678901"), 16, "1234567890..."},
        {TEXT("12345678\xc3\xa9"), 16, "\"12345678...\""},
        {TEXT("1234567\xc3\xa9..."), 16, "\"1234567...\""},
        {TEXT("123456\xe2\x82\xac..."), 16, "\"123456...\""},
        {TEXT("1234567\xe2\x82\xac"), 16, "\"1234567...\""},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        char text[40];
        kw_value_print(cases[i].value, text, cases[i].size);
        g_assert_cmpstr(text, ==, cases[i].expected);
    }
}

/* The result of GLib, whose texts end at a NUL: NUL is replaced by another ASCII character. */
static bool
valid_for_glib(const uint8_t *bytes, size_t size)
{
    char text[128];
    for (size_t i = 0; i < size; i++)
        text[i] = bytes[i] ? (char)bytes[i] : 'x';
    return g_utf8_validate_len(text, size, NULL);
}

/* Valid and invalid characters at every position of texts of every length, alone and after a NUL. */
KW_TEST(test_utf8, "/rule/values/utf8")
{
    static const char *const pieces[] = {
        "\xC3\xA9",     "\xE2\x82\xAC", "\xF0\x9F\x98\x80", "\x80", "\xC3", "\xE2\x82", "\xFF",
        "\xED\xA0\x80", "\xC0\x80",     "\xF4\x90\x80\x80", "\x7F"};
    size_t good = 0, bad = 0;
    for (size_t size = 0; size <= 70; size++) {
        for (size_t at = 0; at <= size; at++) {
            for (size_t i = 0; i < 2 * G_N_ELEMENTS(pieces); i++) {
                uint8_t text[128];
                memset(text, 'a', sizeof text);
                if (i % 2)
                    text[at / 2] = 0;
                size_t piece = MIN(strlen(pieces[i / 2]), size - at);
                memcpy(text + at, pieces[i / 2], piece);
                bool valid = kw_utf8_valid(kw_bytes_of(text, size));
                g_assert_cmpint(valid, ==, valid_for_glib(text, size));
                good += valid;
                bad += !valid;
            }
        }
    }
    g_assert_cmpuint(good, >, 1000);
    g_assert_cmpuint(bad, >, 1000);
    g_assert_true(kw_utf8_valid(KW_BYTES_NONE));
}
