/* Estimates of how long calls take and how fast a queue moves, from recent calls. The pool rejects calls that
 * cannot be expected to be answered before their deadline. Pure: the caller passes the time. Not thread-safe.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* The duration of one kind of call. Zeroed: unknown. */
typedef struct kw_hbase_pace {
    double mean_ns, deviation_ns;
} kw_hbase_pace;

/* The speed of a queue. Zeroed: unknown. */
typedef struct kw_hbase_flow {
    double gap_ns;        /* average time between two removals while calls wait */
    uint64_t dequeued_ns; /* the last removal; 0: the queue was empty after it */
} kw_hbase_flow;

void kw_hbase_pace_add(kw_hbase_pace *pace, uint64_t took_ns);
/* A duration that most calls do not exceed; 0: unknown. */
uint64_t kw_hbase_pace_expected_ns(const kw_hbase_pace *pace);

/* A call was removed from the queue; waiting: the number that remain. */
void kw_hbase_flow_dequeued(kw_hbase_flow *flow, uint64_t now_ns, size_t waiting);
/* The expected wait of a call with this many others before it; 0: unknown. */
uint64_t kw_hbase_flow_wait_ns(const kw_hbase_flow *flow, size_t before);
