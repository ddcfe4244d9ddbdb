/* The share of the rows up to a key, estimated from row keys only: for keys that are spread evenly, it is
 * near the real one, whether they begin with bytes, hexadecimal or decimal digits. */
#include "reconcile/share.h"

#include <glib.h>
#include <string.h>

#define COUNT 1000

static int
compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* `format` has the number of a key, or its hash. */
static void
check_share(const char *format, bool hashed)
{
    char *keys[COUNT];
    g_autoptr(GRand) chance = g_rand_new_with_seed(1);
    for (unsigned i = 0; i < COUNT; i++)
        keys[i] = g_strdup_printf(format, hashed ? g_rand_int(chance) : i);
    qsort(keys, COUNT, sizeof *keys, compare);
    for (unsigned i = 0; i < COUNT; i++) {
        double share = kw_share_of_keys(kw_bytes_of_text(keys[0]), kw_bytes_of_text(keys[COUNT - 1]),
                                        kw_bytes_of_text(keys[i]));
        if (ABS(share - (double)i / COUNT) > 0.06)
            g_error("%s: row %u of %d: %f", keys[i], i, COUNT, share);
    }
    for (unsigned i = 0; i < COUNT; i++)
        g_free(keys[i]);
}

KW_TEST(test_hexadecimal, "/share/hexadecimal")
{
    check_share("%08x", true);
    check_share("%08xid", true);
    check_share("a|%08x|9", true);
}

KW_TEST(test_decimal, "/share/decimal")
{
    check_share("%06u", false);
    check_share("r%06u-x", false);
    check_share("%010u", true);
}

KW_TEST(test_bytes, "/share/bytes")
{
    for (unsigned i = 0; i <= 250; i += 10) {
        const uint8_t first[] = {0, 7}, last[] = {250, 7}, at[] = {(uint8_t)i, 7};
        double share = kw_share_of_keys(kw_bytes_of(first, 2), kw_bytes_of(last, 2), kw_bytes_of(at, 2));
        g_assert_cmpfloat(ABS(share - i / 250.0), <, 0.001);
    }
}

KW_TEST(test_ends, "/share/ends")
{
    const kw_bytes first = kw_bytes_of_text("b1"), last = kw_bytes_of_text("b9");
    g_assert_cmpfloat(kw_share_of_keys(first, last, KW_BYTES_NONE), ==, 0);
    g_assert_cmpfloat(kw_share_of_keys(first, KW_BYTES_NONE, first), ==, 0);
    g_assert_cmpfloat(kw_share_of_keys(first, last, kw_bytes_of_text("a")), ==, 0);
    g_assert_cmpfloat(kw_share_of_keys(first, last, last), ==, 1);
    g_assert_cmpfloat(kw_share_of_keys(first, last, kw_bytes_of_text("c")), ==, 1);
    g_assert_cmpfloat(kw_share_of_keys(first, first, first), ==, 1);
}
