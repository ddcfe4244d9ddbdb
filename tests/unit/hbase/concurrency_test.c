/* The adjusted concurrency, with simulated servers and simulated time: it finds the best rate, is stable
 * under noise, and follows changes. */
#include "store/hbase/batch/concurrency.h"
#include "support/seeded.h"

#include <glib.h>

typedef double (*server)(uint32_t concurrency);

static double
best_at_one(uint32_t concurrency)
{
    return 10000.0 / concurrency;
}

static double
best_at_six(uint32_t concurrency)
{
    double off = (double)concurrency - 6;
    return 10000 - 400 * off * off / (1 + off * off / 30);
}

static double
always_equal(uint32_t concurrency)
{
    (void)concurrency;
    return 5000;
}

/* Each call takes 150 ms, however many there are: a distant or loaded store. */
static double
slow_server(uint32_t concurrency)
{
    return 8 / 0.150 * concurrency;
}

/* Simulates calls of 8 operations at the server's rate, with noise, for this many seconds. */
static uint64_t
serve(kw_hbase_concurrency *concurrency, server rate, double seconds, double noise, uint64_t now_ns)
{
    uint64_t end_ns = now_ns + (uint64_t)(seconds * 1e9);
    while (now_ns < end_ns) {
        double wobble = 1 + noise * (g_test_rand_double() - 0.5);
        now_ns += (uint64_t)(8e9 / (rate(concurrency->now) * wobble));
        kw_hbase_concurrency_answered(concurrency, now_ns, 8, true);
        g_assert_cmpuint(concurrency->now, >=, 1);
        g_assert_cmpuint(concurrency->now, <=, concurrency->max);
    }
    return now_ns;
}

static void
test_finds_the_best(void)
{
    kw_hbase_concurrency concurrency;
    kw_hbase_concurrency_init(&concurrency, 16);
    uint64_t now = serve(&concurrency, best_at_six, 20, 0.1, 1);
    g_assert_cmpuint(concurrency.best, >=, 5);
    g_assert_cmpuint(concurrency.best, <=, 7);
    serve(&concurrency, best_at_one, 20, 0.1, now);
    g_assert_cmpuint(concurrency.best, <=, 2);
}

static void
test_noise(void)
{
    kw_hbase_concurrency concurrency;
    kw_hbase_concurrency_init(&concurrency, 16);
    serve(&concurrency, best_at_six, 60, 0.8, 1);
    g_assert_cmpuint(concurrency.best, >=, 4);
    g_assert_cmpuint(concurrency.best, <=, 9);
}

static void
test_equal_rates(void)
{
    kw_hbase_concurrency concurrency;
    kw_hbase_concurrency_init(&concurrency, 16);
    serve(&concurrency, always_equal, 10, 0, 1);
    g_assert_cmpuint(concurrency.best, <=, 2);
}

/* Slow calls are few, but still sufficient. */
static void
test_slow(void)
{
    kw_hbase_concurrency concurrency;
    kw_hbase_concurrency_init(&concurrency, 16);
    uint64_t now = serve(&concurrency, slow_server, 240, 0.1, 1);
    g_assert_cmpuint(concurrency.best, >=, 12);
    serve(&concurrency, best_at_one, 600, 0.1, now);
    g_assert_cmpuint(concurrency.best, <=, 2);
}

/* A pause of the callers does not affect the rate of the concurrency used before and after it, and no
 * neighbour stays in use. */
static void
test_pauses(void)
{
    kw_hbase_concurrency concurrency;
    kw_hbase_concurrency_init(&concurrency, 16);
    uint64_t now = serve(&concurrency, best_at_six, 20, 0.1, 1);
    double before = concurrency.rates[6];
    for (int round = 0; round < 200; round++) {
        now = serve(&concurrency, best_at_six, 0.006, 0.1, now);
        kw_hbase_concurrency_answered(&concurrency, ++now, 8, false);
        now += 1000000000;
    }
    g_assert_cmpuint(concurrency.best, >=, 5);
    g_assert_cmpuint(concurrency.best, <=, 7);
    g_assert_cmpfloat(concurrency.rates[6], >, before * 0.8);
}

/* If no operation waits, nothing is learned. */
static void
test_no_load(void)
{
    kw_hbase_concurrency concurrency;
    kw_hbase_concurrency_init(&concurrency, 16);
    uint32_t before = concurrency.now;
    for (uint64_t now = 1; now < 5000000000; now += 1000000)
        kw_hbase_concurrency_answered(&concurrency, now, 1, false);
    g_assert_cmpuint(concurrency.now, ==, before);
}

static void
test_limits(void)
{
    kw_hbase_concurrency concurrency;
    kw_hbase_concurrency_init(&concurrency, 1);
    serve(&concurrency, best_at_six, 2, 0.2, 1);
    g_assert_cmpuint(concurrency.now, ==, 1);
    kw_hbase_concurrency_init(&concurrency, 100000);
    g_assert_cmpuint(concurrency.max, ==, KW_HBASE_CONCURRENCY_MAX);
    serve(&concurrency, best_at_six, 2, 0.2, 1);
}

int
main(int argc, char **argv)
{
    seeded_init(&argc, &argv);
    g_test_add_func("/hbase/concurrency/finds-the-best", test_finds_the_best);
    g_test_add_func("/hbase/concurrency/noise", test_noise);
    g_test_add_func("/hbase/concurrency/equal-rates", test_equal_rates);
    g_test_add_func("/hbase/concurrency/slow", test_slow);
    g_test_add_func("/hbase/concurrency/pauses", test_pauses);
    g_test_add_func("/hbase/concurrency/no-load", test_no_load);
    g_test_add_func("/hbase/concurrency/limits", test_limits);
    return g_test_run();
}
