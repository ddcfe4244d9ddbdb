/* Where a skip finds an error in a container. */
#include "wire/skip.h"

#include <glib.h>

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
static void
test_unknown_types(void)
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

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/wire/skip-edges/unknown-types", test_unknown_types);
    return g_test_run();
}
