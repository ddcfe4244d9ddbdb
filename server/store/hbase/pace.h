/* How long calls take, and how fast those that wait get their turn: learned from what happens, so that a call
 * which cannot be answered before its deadline is refused instead of sent. Pure: the time is given. One
 * owner. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Of one kind of call. Zeroed: nothing is known. */
typedef struct kw_hbase_pace {
    double mean_ns, deviation_ns;
} kw_hbase_pace;

/* Of a waiting line. Zeroed: nothing is known. */
typedef struct kw_hbase_flow {
    double gap_ns;    /* between two that leave it while others wait */
    uint64_t left_ns; /* when the last one left; 0: nobody waited then */
} kw_hbase_flow;

void kw_hbase_pace_took(kw_hbase_pace *pace, uint64_t took_ns);
/* What most calls do not exceed; 0: not known. */
uint64_t kw_hbase_pace_expected_ns(const kw_hbase_pace *pace);

/* One has left the line; waiting: how many are still in it. */
void kw_hbase_flow_left(kw_hbase_flow *flow, uint64_t now_ns, size_t waiting);
/* How long one waits that so many go before; 0: not known. */
uint64_t kw_hbase_flow_wait_ns(const kw_hbase_flow *flow, size_t before);
