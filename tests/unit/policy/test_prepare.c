/* The pauses of a preparation that finds that another gateway is changing the catalog. */
#include "policy/prepare.h"

#include <glib.h>

#define TRIES 14

/* The first pause is short, because the other gateway needs only some 20 ms. */
KW_TEST(test_first, "/policy/prepare/first")
{
    for (uint64_t random = 0; random < 1000; random++) {
        g_assert_cmpuint(kw_prepare_pause_ms(1, random), >=, 10);
        g_assert_cmpuint(kw_prepare_pause_ms(1, random), <=, 50);
    }
}

/* Further pauses are longer, up to half a second, and all of them together last a second or more. */
KW_TEST(test_all, "/policy/prepare/all")
{
    uint64_t least_ms = 0;
    for (unsigned tries = 1; tries < TRIES; tries++) {
        uint64_t pause_ms = kw_prepare_pause_ms(tries, 0);
        g_assert_cmpuint(pause_ms, >=, tries > 1 ? kw_prepare_pause_ms(tries - 1, 0) : 1);
        for (uint64_t random = 0; random < 1000; random++)
            g_assert_cmpuint(kw_prepare_pause_ms(tries, random), <=, 500);
        least_ms += pause_ms;
    }
    g_assert_cmpuint(least_ms, >=, 1000);
    g_assert_cmpuint(kw_prepare_pause_ms(1000, UINT64_MAX), <=, 500);
}

/* Two gateways that have collided do not pause equally long. */
KW_TEST(test_differ, "/policy/prepare/differ")
{
    g_autoptr(GHashTable) pauses = g_hash_table_new(g_direct_hash, g_direct_equal);
    for (uint64_t random = 0; random < 41; random++)
        g_hash_table_add(pauses, GUINT_TO_POINTER((guint)kw_prepare_pause_ms(1, random)));
    g_assert_cmpuint(g_hash_table_size(pauses), ==, 41);
}
