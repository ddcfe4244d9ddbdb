/* Which timestamps of a server are trusted as the store's time (store/plausible.h). */
#include "store/plausible.h"

#include <glib.h>

#define NOW_MS INT64_C(1800000000000) /* our wall clock */
#define MONO_MS INT64_C(5000)
#define HOUR_MS INT64_C(3600000)

KW_TEST(test_impossible, "/store/plausible/impossible")
{
    static const int64_t stamps[] = {INT64_MIN, INT64_MIN + 1, -1,
                                     INT64_MAX, INT64_MAX - 1, INT64_C(253402300800000)};
    for (size_t i = 0; i < G_N_ELEMENTS(stamps); i++) {
        kw_plausible self = {0};
        g_assert_false(kw_plausible_is_time(stamps[i]));
        for (int64_t at_ms = 0; at_ms < 60000; at_ms += 100)
            g_assert_false(kw_plausible_judge(&self, stamps[i], MONO_MS + at_ms, NOW_MS + at_ms));
        g_assert_true(kw_plausible_judge(&self, NOW_MS, MONO_MS, NOW_MS));
    }
}

/* The store's clock is near ours, and is moved by less than a minute. */
KW_TEST(test_usual, "/store/plausible/usual")
{
    kw_plausible self = {0};
    g_assert_true(kw_plausible_judge(&self, NOW_MS - 5000, MONO_MS, NOW_MS));
    g_assert_true(kw_plausible_judge(&self, NOW_MS + 30000, MONO_MS + 100, NOW_MS + 100));
    g_assert_true(kw_plausible_judge(&self, NOW_MS + 85000, MONO_MS + 200,
                                     NOW_MS + 200)); /* far from ours, near the last */
    g_assert_true(kw_plausible_judge(&self, NOW_MS, MONO_MS + 300, NOW_MS + 300));
}

/* A clock that is far from ours is trusted after ten seconds, and at once after that. */
KW_TEST(test_far_clock, "/store/plausible/far-clock")
{
    for (int64_t ahead_ms = -1000 * HOUR_MS; ahead_ms <= 1000 * HOUR_MS; ahead_ms += 2000 * HOUR_MS) {
        kw_plausible self = {0};
        int64_t at_ms = 0;
        for (; at_ms < KW_PLAUSIBLE_AFTER_MS; at_ms += 100)
            g_assert_false(
                kw_plausible_judge(&self, NOW_MS + ahead_ms + at_ms, MONO_MS + at_ms, NOW_MS + at_ms));
        for (; at_ms < 2 * KW_PLAUSIBLE_AFTER_MS; at_ms += 100)
            g_assert_true(
                kw_plausible_judge(&self, NOW_MS + ahead_ms + at_ms, MONO_MS + at_ms, NOW_MS + at_ms));
        /* Our own clock is set right: the one before counts, too. */
        g_assert_true(
            kw_plausible_judge(&self, NOW_MS + ahead_ms + at_ms, MONO_MS + at_ms, NOW_MS + ahead_ms + at_ms));
    }
}

/* What a server reports for less than ten seconds is not trusted, even if it repeats later. */
KW_TEST(test_lies, "/store/plausible/lies")
{
    kw_plausible self = {0};
    g_assert_true(kw_plausible_judge(&self, NOW_MS, MONO_MS, NOW_MS));
    for (int64_t at_ms = 100; at_ms < 60000; at_ms += 100) {
        bool lie = at_ms % 9000 != 0;
        int64_t stamp_ms = NOW_MS + at_ms + (lie ? HOUR_MS : 0);
        g_assert_cmpint(kw_plausible_judge(&self, stamp_ms, MONO_MS + at_ms, NOW_MS + at_ms), ==, !lie);
    }
    /* Different lies do not support each other. */
    for (int64_t at_ms = 100; at_ms < 60000; at_ms += 100)
        g_assert_false(kw_plausible_judge(&self, NOW_MS + at_ms + (at_ms % 200 ? 2 : 3) * HOUR_MS,
                                          MONO_MS + at_ms, NOW_MS + at_ms));
}
