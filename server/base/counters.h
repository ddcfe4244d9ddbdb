/* Counters, gauges and histograms of the whole process.
 *
 * Each thread adds to a shard of its own (relaxed atomics); a reader sums the shards, so a figure
 * read while others write is a little late, never torn. Any thread.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

typedef enum kw_figure {
#define KW_FIGURE(name, kind, about) KW_FIGURE_##name,
#include "base/counters.def"
#undef KW_FIGURE
    KW_FIGURE_COUNT
} kw_figure;

typedef enum kw_figure_kind { KW_FIGURE_COUNTER, KW_FIGURE_GAUGE } kw_figure_kind;

typedef struct kw_figure_info {
    const char *name;
    kw_figure_kind kind;
    const char *about;
} kw_figure_info;

extern const kw_figure_info kw_figures[KW_FIGURE_COUNT];

/* Gauges take negative amounts. */
void kw_counters_add(kw_figure figure, int64_t amount);
int64_t kw_counters_read(kw_figure figure);

/* A latency histogram: powers of two of microseconds, four steps each. Any thread. */
#define KW_HISTOGRAM_STEPS 112
typedef struct kw_histogram {
    _Atomic uint64_t counts[KW_HISTOGRAM_STEPS];
    _Atomic uint64_t sum_us;
} kw_histogram;

void kw_histogram_add_us(kw_histogram *histogram, uint64_t value_us);
/* The value that `share` (0..1) of the samples do not exceed, 0 when empty. */
uint64_t kw_histogram_quantile_us(const kw_histogram *histogram, double share);
uint64_t kw_histogram_count(const kw_histogram *histogram);
/* Upper bound of a step, inclusive. */
uint64_t kw_histogram_step_us(size_t step);
