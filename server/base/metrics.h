/* Counters, gauges and histograms of the whole process.
 *
 * Each thread adds to one of 32 shards (relaxed atomics); with more threads, several use the same shard. A
 * reader sums the shards. A value read while other threads write can be slightly old, but is never torn. Any
 * thread.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

typedef enum kw_metric {
#define KW_METRIC(name, kind, about) KW_METRIC_##name,
#include "base/metrics.def"
#undef KW_METRIC
    KW_METRIC_COUNT
} kw_metric;

typedef enum kw_metric_kind { KW_METRIC_COUNTER, KW_METRIC_GAUGE } kw_metric_kind;

typedef struct kw_metric_info {
    const char *name;
    kw_metric_kind kind;
    const char *about;
} kw_metric_info;

extern const kw_metric_info kw_metric_infos[KW_METRIC_COUNT];

/* A negative amount decreases a gauge. */
void kw_metrics_add(kw_metric metric, int64_t amount);
int64_t kw_metrics_read(kw_metric metric);

/* A latency histogram in microseconds, with four steps per power of two. Any thread. */
#define KW_HISTOGRAM_STEPS 112
typedef struct kw_histogram {
    _Atomic uint64_t counts[KW_HISTOGRAM_STEPS];
    _Atomic uint64_t sum_us;
} kw_histogram;

void kw_histogram_add_us(kw_histogram *histogram, uint64_t value_us);
/* The value that a share (0..1) of the samples does not exceed; 0 if there are none. */
uint64_t kw_histogram_quantile_us(const kw_histogram *histogram, double share);
uint64_t kw_histogram_count(const kw_histogram *histogram);
/* Upper bound of a step, inclusive. */
uint64_t kw_histogram_step_end_us(size_t step);
