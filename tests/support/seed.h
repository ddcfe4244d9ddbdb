/* The seed of a test with its own random numbers: KW_SEED if it is set, so that a run can be repeated,
 * otherwise a new one each time. It is printed as a TAP comment. Tests that use g_test_rand_int call
 * seeded_init instead. */
#pragma once

#include "base/clock.h"

#include <glib.h>
#include <stdio.h>

static inline uint64_t
test_seed(void)
{
    const char *given = g_getenv("KW_SEED");
    uint64_t seed = given ? g_ascii_strtoull(given, NULL, 10) : kw_random_u64() % 1000000000;
    printf("# KW_SEED=%" G_GUINT64_FORMAT "\n", (guint64)seed);
    return seed;
}
