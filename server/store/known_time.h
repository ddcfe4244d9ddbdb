/* An estimate of the store's time: an interval that certainly contains it.
 *
 *   one heartbeat:   sent at t0, answered at t1, stored with the timestamp ts (in whole milliseconds): the
 *                    store's clock minus ours is in [ts - t1, ts + 1 ms - t0]
 *   several of them: the intersection of their intervals, each widened by the possible drift of two clocks
 *
 * The clock can jump: an operator sets it, or its region moves to a server with another clock. The gateways
 * notice that at different times. So a gateway looks at two periods, each as long as `fresh` (fresh_ns). It
 * assumes that the offset of either period can be the right one, and needs heartbeats from both:
 *
 *       now - 2 fresh            now - fresh              now
 *        |  heartbeats answered   |   heartbeats sent      |
 *        |  here: interval A      |   here: interval B     |     estimate: the smallest one that covers both
 *
 * In addition, `latest` never decreases, even if the clock does. Then, for any two gateways, `earliest` at
 * one is never greater than `latest` at the other, read at the same moment or later. tests/unit/order checks
 * that. The clock must not jump twice within 2 fresh.
 *
 * All times are in nanoseconds: ours are monotonic, the store's count from 1970. Not thread safe.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KW_TIME_FRESH_NS (INT64_C(250) * 1000000)
#define KW_TIME_DRIFT_PPM 200
#define KW_TIME_HEARTBEATS 48 /* at most this many are kept, from the last 2 fresh */

/* The store's time is in [earliest, latest]. */
typedef struct kw_span {
    int64_t earliest_ns;
    int64_t latest_ns;
} kw_span;

typedef struct kw_heartbeat {
    int64_t sent_ns;
    int64_t answered_ns;
    int64_t stamp_ms;
    int64_t stamp_is_upper_bound; /* 1: the true timestamp is stamp_ms or less; 0: it is stamp_ms */
} kw_heartbeat;

typedef struct kw_known_time {
    kw_heartbeat last; /* the last one with an exact timestamp */
    int64_t fresh_ns;
    int64_t least_ns;  /* lower limit of `latest` */
    int64_t passed_ns; /* the time for which low_ns, high_ns and least_ns were computed */
    int64_t change_ns; /* the next time at which they must be computed again */
    /* Bounds of the store's clock minus ours. low_ns is INT64_MAX if there are too few heartbeats, and
     * INT64_MIN if there is no lower bound. */
    int64_t low_ns;
    int64_t high_ns;
    uint64_t count;
    kw_heartbeat heartbeats[KW_TIME_HEARTBEATS]; /* in the order of answered_ns */
} kw_known_time;

void kw_known_time_init(kw_known_time *known, int64_t fresh_ns);

/* Adds a heartbeat that was answered now or earlier. Its timestamp must be plausible (plausible.h). A
 * heartbeat is a put to a cell that only this gateway writes. The gateway then reads the cell to learn the
 * timestamp of the put. In two cases, the timestamp that it reads is only an upper bound
 * (stamp_is_upper_bound): if the read returns another put, whose timestamp is not lower, or if the store's
 * own client can have sent the put twice. Such a heartbeat proves no lower bound, and a period needs another
 * one with an exact timestamp. */
void kw_known_time_add_heartbeat(kw_known_time *known, const kw_heartbeat *heartbeat, int64_t now_ns);

/* Adds the newest timestamp in the heartbeat cells of all gateways, which must be a time that a clock can
 * have, read after the first heartbeat was answered. Another gateway can have acted on it before the clock
 * was set back, so `latest` must exceed it. */
void kw_known_time_add_newest_stamp(kw_known_time *known, int64_t newest_stamp_ms);

/* The interval to act on. False if one of the two periods has no heartbeat with an exact timestamp. now_ns
 * must not decrease from call to call. */
bool kw_known_time_read(kw_known_time *known, int64_t now_ns, kw_span *ret_span);

/* A narrower interval: from the heartbeats sent within `fresh`, or else from the last one with an exact
 * timestamp. It is good enough to predict when the next heartbeat should arrive, but not to act on. False if
 * no heartbeat has an exact timestamp. */
bool kw_known_time_recent(const kw_known_time *known, int64_t now_ns, kw_span *ret_span);

/* An interval from the last heartbeat with an exact timestamp, however old it is. Use it where a jump of the
 * clock does no harm. False if there is no such heartbeat. */
bool kw_known_time_estimate(const kw_known_time *known, int64_t now_ns, kw_span *ret_span);
