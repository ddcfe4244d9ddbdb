/* See bench.h. */
#include "bench.h"

#include <glib.h>
#include <math.h>
#include <stdlib.h>

static int
by_value(const void *a, const void *b)
{
    double one = *(const double *)a, other = *(const double *)b;
    return (one > other) - (one < other);
}

double
rounds_median(double *values, int count)
{
    qsort(values, (size_t)count, sizeof *values, by_value);
    return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

double
rounds_rate(const slice_result *of)
{
    return of->per_second;
}

double
rounds_p50(const slice_result *of)
{
    return of->p50_us;
}

static double
mean_of(const slice_result *of)
{
    return of->mean_us;
}

static double
p99_of(const slice_result *of)
{
    return of->p99_us;
}

static double
cpu_of(const slice_result *of)
{
    return of->cpu_us;
}

static double
servers_cpu_of(const slice_result *of)
{
    return of->servers_cpu_us;
}

static double
calls_of(const slice_result *of)
{
    return of->store_calls;
}

static double
median_of(const slice_result *of, int count, rounds_member which)
{
    double values[ROUNDS_MOST];
    for (int i = 0; i < count; i++)
        values[i] = which(&of[i]);
    return rounds_median(values, count);
}

/* The number of sorted values at each end that are outside the 95 % interval of the median. Each value is
 * below the median with probability 1/2, so their number has a binomial distribution. */
static int
outside_interval(int count)
{
    double term = pow(0.5, count), sum = term;
    int outside = 0;
    while (sum <= 0.025) {
        outside++;
        term *= (double)(count - outside + 1) / outside;
        sum += term;
    }
    return MAX(outside - 1, 0);
}

interval
rounds_interval(double *values, int count)
{
    interval result = {.median = rounds_median(values, count)};
    int outside = outside_interval(count);
    result.low = values[outside];
    result.high = values[count - 1 - outside];
    return result;
}

static interval
ratio_of(const slice_result *upper, const slice_result *lower, int count, rounds_member which)
{
    double values[ROUNDS_MOST];
    for (int i = 0; i < count; i++)
        values[i] = which(&lower[i]) > 0 ? which(&upper[i]) / which(&lower[i]) : 0;
    return rounds_interval(values, count);
}

static interval
values_of(const slice_result *of, int count, rounds_member which)
{
    double values[ROUNDS_MOST];
    for (int i = 0; i < count; i++)
        values[i] = which(&of[i]);
    return rounds_interval(values, count);
}

/* Rates and times are medians; the number of callers served and of connections is that of the worst round. */
static slice_result
summary(const slice_result *of, int count)
{
    slice_result all = of[0];
    for (int i = 1; i < count; i++) {
        all.connected = MIN(all.connected, of[i].connected);
        all.served = MIN(all.served, of[i].served);
        all.lost = MAX(all.lost, of[i].lost);
        all.upstream = MAX(all.upstream, of[i].upstream);
        all.generator = MAX(all.generator, of[i].generator);
    }
    all.per_second = median_of(of, count, rounds_rate);
    all.p50_us = median_of(of, count, rounds_p50);
    all.mean_us = median_of(of, count, mean_of);
    all.p99_us = median_of(of, count, p99_of);
    all.cpu_us = median_of(of, count, cpu_of);
    all.servers_cpu_us = median_of(of, count, servers_cpu_of);
    all.store_calls = median_of(of, count, calls_of);
    return all;
}

static compared
compare(slice_result of[SIDES][ROUNDS_MOST], int rounds, bool proxy)
{
    const slice_result *direct = of[SIDE_DIRECT], *gateway = of[SIDE_GATEWAY], *bare = of[SIDE_PROXY];
    compared result = {.of = {summary(direct, rounds), summary(gateway, rounds)}, .has_proxy = proxy};
    result.rate = ratio_of(gateway, direct, rounds, rounds_rate);
    result.p50 = ratio_of(gateway, direct, rounds, rounds_p50);
    result.mean = ratio_of(gateway, direct, rounds, mean_of);
    result.p99 = ratio_of(gateway, direct, rounds, p99_of);
    result.cpu = values_of(gateway, rounds, cpu_of);
    if (!proxy)
        return result;
    result.of[SIDE_PROXY] = summary(bare, rounds);
    result.to_proxy_rate = ratio_of(gateway, bare, rounds, rounds_rate);
    result.to_proxy_p50 = ratio_of(gateway, bare, rounds, rounds_p50);
    result.proxy_rate = ratio_of(bare, direct, rounds, rounds_rate);
    result.proxy_p50 = ratio_of(bare, direct, rounds, rounds_p50);
    return result;
}

compared
rounds_compare(bench *all, work what, unsigned callers, bool proxy)
{
    slice_result of[SIDES][ROUNDS_MOST] = {0};
    proxy = proxy && all->has_proxy;
    int sides = proxy ? SIDES : SIDE_PROXY;
    for (int round = 0; round < all->rounds; round++) {
        for (int turn = 0; turn < sides; turn++) {
            int side = (round + turn) % sides;
            of[side][round] = all->generated
                                  ? slice_run_generated(&all->sides[side], what, callers, all->slice_ms)
                                  : slice_run(&all->sides[side], what, callers, all->slice_ms);
        }
    }
    for (int side = 0; side < SIDE_PROXY && what == WORK_PUT && !all->unverified; side++)
        scan_whole(&all->sides[side]);
    return compare(of, all->rounds, proxy);
}
