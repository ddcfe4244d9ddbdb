/* Metrics sum the additions of all threads; histograms count every value in the right step. */
#include "base/metrics.h"

#include "base/clock.h"
#include "base/thread.h"
#include "support/seed.h"

#include <glib.h>
#include <string.h>

KW_TEST(every_metric_has_a_name, "/base/metrics/names")
{
    for (size_t i = 0; i < KW_METRIC_COUNT; i++) {
        g_assert_nonnull(kw_metric_infos[i].about);
        for (size_t j = 0; j < i; j++)
            g_assert_cmpstr(kw_metric_infos[i].name, !=, kw_metric_infos[j].name);
    }
    g_assert_cmpstr(kw_metric_infos[KW_METRIC_bytes_in].name, ==, "bytes_in");
    g_assert_cmpint(kw_metric_infos[KW_METRIC_connections_open].kind, ==, KW_METRIC_GAUGE);
    g_assert_cmpint(kw_metric_infos[KW_METRIC_bytes_in].kind, ==, KW_METRIC_COUNTER);
}

static void
add_many(void *user)
{
    (void)user;
    for (int i = 0; i < 10000; i++) {
        kw_metrics_add(KW_METRIC_bytes_in, 3);
        kw_metrics_add(KW_METRIC_connections_open, 1);
        kw_metrics_add(KW_METRIC_connections_open, -1);
    }
}

/* Uses more threads than there are shards. */
KW_TEST(all_threads_are_summed, "/base/metrics/threads")
{
    int64_t before = kw_metrics_read(KW_METRIC_bytes_in);
    kw_thread threads[40];
    for (size_t i = 0; i < G_N_ELEMENTS(threads); i++)
        kw_thread_start(&threads[i], "count", add_many, NULL);
    for (int i = 0; i < 100; i++)
        g_assert_cmpint(kw_metrics_read(KW_METRIC_bytes_in), >=, before);
    for (size_t i = 0; i < G_N_ELEMENTS(threads); i++)
        kw_thread_join(&threads[i]);
    g_assert_cmpint(kw_metrics_read(KW_METRIC_bytes_in) - before, ==, 40 * 10000 * 3);
    g_assert_cmpint(kw_metrics_read(KW_METRIC_connections_open), ==, 0);
    g_assert_cmpint(kw_metrics_read(KW_METRIC_bytes_out), ==, 0);
}

KW_TEST(bounds_of_steps_increase, "/base/histogram/bounds-of-steps")
{
    for (size_t i = 1; i < KW_HISTOGRAM_STEPS; i++)
        g_assert_cmpuint(kw_histogram_step_end_us(i), >, kw_histogram_step_end_us(i - 1));
    g_assert_cmpuint(kw_histogram_step_end_us(KW_HISTOGRAM_STEPS - 1), >, 60000000);
}

/* A value is counted in the first step whose bound is not less than the value. This bound exceeds the value
 * by at most a quarter. */
KW_TEST(a_value_is_counted_in_its_step, "/base/histogram/step-of-a-value")
{
    kw_random_inject(test_seed());
    uint64_t last = kw_histogram_step_end_us(KW_HISTOGRAM_STEPS - 1);
    for (int i = 0; i < 20000; i++) {
        uint64_t value = i < 3000 ? (uint64_t)i : kw_random_u64() >> (kw_random_u64() % 40 + 24);
        kw_histogram histogram;
        memset(&histogram, 0, sizeof histogram);
        kw_histogram_add_us(&histogram, value);
        uint64_t bound = kw_histogram_quantile_us(&histogram, 0.5);
        if (value > last) {
            g_assert_cmpuint(bound, ==, last);
            continue;
        }
        g_assert_cmpuint(bound, >=, value);
        g_assert_cmpuint(bound - value, <=, value / 4 + 1);
        g_assert_cmpuint(histogram.sum_us, ==, value);
    }
}

KW_TEST(quantiles, "/base/histogram/quantiles")
{
    kw_histogram histogram;
    memset(&histogram, 0, sizeof histogram);
    g_assert_cmpuint(kw_histogram_count(&histogram), ==, 0);
    g_assert_cmpuint(kw_histogram_quantile_us(&histogram, 0.99), ==, 0);
    kw_histogram_add_us(&histogram, 1);
    kw_histogram_add_us(&histogram, 3);
    g_assert_cmpuint(kw_histogram_quantile_us(&histogram, 0), ==, 1);
    g_assert_cmpuint(kw_histogram_quantile_us(&histogram, 0.5), ==, 1);
    g_assert_cmpuint(kw_histogram_quantile_us(&histogram, 0.51), ==, 3);
    g_assert_cmpuint(kw_histogram_quantile_us(&histogram, 1), ==, 3);
    memset(&histogram, 0, sizeof histogram);
    for (uint64_t value = 1; value <= 100; value++)
        kw_histogram_add_us(&histogram, value < 100 ? 2 : 1000);
    g_assert_cmpuint(kw_histogram_quantile_us(&histogram, 0.99), ==, 2);
    g_assert_cmpuint(kw_histogram_quantile_us(&histogram, 0.995), >=, 1000);
    g_assert_cmpuint(kw_histogram_count(&histogram), ==, 100);
}

static kw_histogram shared;

static void
add_latencies(void *user)
{
    (void)user;
    for (uint64_t i = 0; i < 10000; i++)
        kw_histogram_add_us(&shared, i);
}

KW_TEST(histograms_count_all_threads, "/base/histogram/threads")
{
    kw_thread threads[4];
    for (size_t i = 0; i < G_N_ELEMENTS(threads); i++)
        kw_thread_start(&threads[i], "count", add_latencies, NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(threads); i++)
        kw_thread_join(&threads[i]);
    g_assert_cmpuint(kw_histogram_count(&shared), ==, 40000);
    g_assert_cmpuint(shared.sum_us, ==, 4u * 49995000u);
}
