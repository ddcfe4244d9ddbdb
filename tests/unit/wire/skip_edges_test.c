/* Where a skip finds an error in a container. */
#include "wire/skip.h"

#include <glib.h>

#define BINARY_TEXT 11
#define BINARY_MAP 13
#define BINARY_LIST 15
#define LIMIT 1000

static void
expect_unknown_type(uint8_t container, kw_bytes input, int type)
{
    kw_skip skip;
    size_t wanted;
    kw_skip_begin_value(&skip, KW_WIRE_BINARY, container, LIMIT, 10);
    g_assert_cmpint(kw_skip_run(&skip, input, &wanted), ==, KW_WIRE_BROKEN);
    g_assert_cmpint(skip.fault.kind, ==, KW_DECODE_TYPE);
    g_assert_cmpint(skip.fault.value, ==, type);
    g_assert_cmpuint(skip.fault.left, ==, LIMIT); /* at the head, not at the first element */
}

/* Types that Thrift does not have: within its numbers, and beyond them. */
KW_TEST(test_unknown_types, "/wire/skip-edges/unknown-types")
{
    static const uint8_t types[] = {0, 1, 5, 9, 16, 17, 200, 255};
    for (size_t i = 0; i < G_N_ELEMENTS(types); i++) {
        const uint8_t list[] = {types[i], 0, 0, 0, 1, 0, 0, 0, 0}, key[] = {types[i], 8, 0, 0, 0, 1, 0, 0},
                      value[] = {8, types[i], 0, 0, 0, 1, 0, 0};
        expect_unknown_type(BINARY_LIST, kw_bytes_of(list, sizeof list), types[i]);
        expect_unknown_type(BINARY_MAP, kw_bytes_of(key, sizeof key), types[i]);
        expect_unknown_type(BINARY_MAP, kw_bytes_of(value, sizeof value), types[i]);
    }
}

/* A field head that ends at the limit is read: its type is reported, not the missing value. */
KW_TEST(test_unknown_type_at_the_limit, "/wire/skip-edges/unknown-type-at-the-limit")
{
    static const uint8_t head[] = {BINARY_TEXT, 0, 1, 0, 0, 0, 0, 5, 0, 2};
    for (size_t limit = sizeof head - 2; limit <= sizeof head; limit++) {
        kw_skip skip;
        size_t wanted;
        kw_skip_begin_struct(&skip, KW_WIRE_BINARY, 0, limit, 10);
        g_assert_cmpint(kw_skip_run(&skip, kw_bytes_of(head, limit), &wanted), ==, KW_WIRE_BROKEN);
        g_assert_cmpint(skip.fault.kind, ==, limit < sizeof head ? KW_DECODE_TRUNCATED : KW_DECODE_TYPE);
    }
}

/* A text of negative length, in a struct and after another field. */
KW_TEST(test_negative_lengths, "/wire/skip-edges/negative-lengths")
{
    static const uint8_t body[] = {8, 0,    1,    0,    0,    0, 0, BINARY_TEXT, 0,
                                   2, 0xff, 0xff, 0xff, 0xf0, 0, 0, 0,           0};
    for (size_t from = 0; from <= 7; from += 7) {
        kw_skip skip;
        size_t wanted;
        kw_skip_begin_struct(&skip, KW_WIRE_BINARY, 0, INT32_MAX, 10);
        kw_bytes input = kw_bytes_skip(kw_bytes_of(body, sizeof body), from);
        g_assert_cmpint(kw_skip_run(&skip, input, &wanted), ==, KW_WIRE_BROKEN);
        g_assert_cmpint(skip.fault.kind, ==, KW_DECODE_NEGATIVE);
        g_assert_cmpint(skip.fault.value, ==, -16);
    }
}

static void
expect_depth(kw_bytes lists, kw_wire_progress progress)
{
    kw_skip skip;
    size_t wanted;
    kw_skip_begin_value(&skip, KW_WIRE_BINARY, BINARY_LIST, LIMIT, 1);
    g_assert_cmpint(kw_skip_run(&skip, lists, &wanted), ==, progress);
    if (progress == KW_WIRE_BROKEN)
        g_assert_cmpint(skip.fault.kind, ==, KW_DECODE_DEPTH);
    else
        g_assert_cmpuint(skip.at, ==, lists.size);
}

/* An empty container does not count as nesting: there is nothing in it to skip. */
KW_TEST(test_empty_containers_at_the_depth_limit, "/wire/skip-edges/empty-containers-at-the-depth-limit")
{
    static const uint8_t empty[] = {BINARY_LIST, 0, 0, 0, 1, BINARY_TEXT, 0, 0, 0, 0},
                         filled[] = {BINARY_LIST, 0, 0, 0, 1, BINARY_TEXT, 0, 0, 0, 1, 0, 0, 0, 0};
    expect_depth(kw_bytes_of(empty, sizeof empty), KW_WIRE_MESSAGE);
    expect_depth(kw_bytes_of(filled, sizeof filled), KW_WIRE_BROKEN);
}
