/* The seed of a test that has dice of its own: KW_SEED when it is set, so that a run can be repeated, and
 * another one each time otherwise. It is told as a TAP comment. Tests with g_test_rand_int begin with
 * seeded_init. */
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
