#include "base/metrics.h"

#include <glib.h>
#include <stdatomic.h>

#define SHARDS 32

/* Aligned, so that threads with different shards never write to the same cache line. */
typedef struct shard {
    _Atomic int64_t values[KW_METRIC_COUNT];
} __attribute__((aligned(128))) shard;

static shard shards[SHARDS];
static _Atomic unsigned shard_next;

const kw_metric_info kw_metric_infos[KW_METRIC_COUNT] = {
#define KW_METRIC(name, kind, about) {#name, KW_METRIC_##kind, about},
#include "base/metrics.def"
#undef KW_METRIC
};

static shard *
own_shard(void)
{
    static _Thread_local shard *own;
    if (!own)
        own = &shards[atomic_fetch_add(&shard_next, 1) % SHARDS];
    return own;
}

void
kw_metrics_add(kw_metric metric, int64_t amount)
{
    atomic_fetch_add_explicit(&own_shard()->values[metric], amount, memory_order_relaxed);
}

int64_t
kw_metrics_read(kw_metric metric)
{
    int64_t total = 0;
    for (size_t i = 0; i < SHARDS; i++)
        total += atomic_load_explicit(&shards[i].values[metric], memory_order_relaxed);
    return total;
}

static size_t
step_of(uint64_t value_us)
{
    if (value_us < 4)
        return (size_t)value_us;
    unsigned power = 63u - (unsigned)__builtin_clzll(value_us);
    size_t step = (size_t)(power - 1) * 4 + ((value_us >> (power - 2)) & 3);
    return step < KW_HISTOGRAM_STEPS ? step : KW_HISTOGRAM_STEPS - 1;
}

uint64_t
kw_histogram_step_end_us(size_t step)
{
    if (step < 4)
        return step;
    unsigned power = (unsigned)(step / 4) + 1;
    uint64_t width = (uint64_t)1 << (power - 2);
    return (4 + (step & 3)) * width + width - 1;
}

void
kw_histogram_add_us(kw_histogram *histogram, uint64_t value_us)
{
    atomic_fetch_add_explicit(&histogram->counts[step_of(value_us)], 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&histogram->sum_us, value_us, memory_order_relaxed);
}

uint64_t
kw_histogram_count(const kw_histogram *histogram)
{
    uint64_t total = 0;
    for (size_t i = 0; i < KW_HISTOGRAM_STEPS; i++)
        total += atomic_load_explicit(&histogram->counts[i], memory_order_relaxed);
    return total;
}

uint64_t
kw_histogram_quantile_us(const kw_histogram *histogram, double share)
{
    uint64_t total = kw_histogram_count(histogram);
    double rank = share * (double)total;
    uint64_t seen = 0;
    for (size_t i = 0; i < KW_HISTOGRAM_STEPS; i++) {
        seen += atomic_load_explicit(&histogram->counts[i], memory_order_relaxed);
        if (seen > 0 && ((double)seen >= rank || seen >= total))
            return kw_histogram_step_end_us(i);
    }
    return 0;
}
