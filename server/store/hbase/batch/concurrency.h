/* The number of calls of one batch queue that can be in flight at the same time, adjusted to the measured
 * rate.
 *
 * More concurrent calls keep the servers busy. With fewer calls, more operations wait, so batches are larger,
 * and large batches cost the servers less. The best number depends on the servers, the rows and the callers,
 * so it is measured. Time is divided into windows. While operations wait, each window yields the rate of the
 * concurrency that was used in it. The rate of a concurrency is the average over its windows. From time to
 * time a neighbouring value is tried, and the best of the three is kept. Pure: the caller passes the time.
 * Not thread-safe.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KW_HBASE_CONCURRENCY_MAX 64

typedef struct kw_hbase_concurrency {
    uint32_t now;  /* maximum number of calls in flight */
    uint32_t best; /* the best value known; `now` differs while a neighbour is tried */
    uint32_t max;
    double rates[KW_HBASE_CONCURRENCY_MAX + 1]; /* operations per second by concurrency; 0: unknown */
    uint64_t window_start_ns;                   /* 0: no window is open */
    uint64_t operations;                        /* in this window, like the next two */
    uint32_t calls;
    uint32_t calls_under_load; /* operations were waiting when the call was answered */
    uint32_t windows;
    bool paused;   /* at some time in this window no operation waited */
    bool settling; /* the last window had another concurrency, which still affects this one */
} kw_hbase_concurrency;

/* The concurrency stays between 1 and max, and is at most KW_HBASE_CONCURRENCY_MAX. */
void kw_hbase_concurrency_init(kw_hbase_concurrency *self, uint32_t max);

/* A call with this many operations was answered; waiting: other operations wait to be sent. */
void kw_hbase_concurrency_answered(kw_hbase_concurrency *self, uint64_t now_ns, size_t operations,
                                   bool waiting);
