/* What a gateway knows of the store's time: not what it is, but an interval that it is surely in.
 *
 *   heartbeat:  sent at t0, answered at t1, the store gave it the timestamp ts (whole milliseconds), so the
 *               store's clock minus ours is in [ts - t1, ts + 1 ms - t0]
 *   several:    in the intersection of what they say, each widened by what two clocks can drift
 *
 * The clock can jump: it is set, or its region moves to a server with another clock. Gateways learn that one
 * after the other. So nobody acts on a heartbeat older than `fresh`, and everybody holds what was true that
 * long ago for as possible as what is true now:
 *
 *       now - 2 fresh            now - fresh              now
 *        |  heartbeats answered   |   heartbeats sent      |
 *        |  here: one interval    |   here: another one    |     known: what covers both
 *
 * And `latest` never goes back, even if the clock does. Then, for every two gateways, what is `earliest` at
 * one is never after what is `latest` at the other at that moment or later; tests/unit/order explores that.
 * The clock must not jump twice within 2 fresh.
 *
 * All times in nanoseconds: ours monotonic, the store's since 1970. Not thread safe.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KW_TIME_FRESH_NS (INT64_C(250) * 1000000)
#define KW_TIME_DRIFT_PPM 200
#define KW_TIME_HEARTBEATS 48 /* that are remembered, of the last 2 fresh */

/* The store's time is in [earliest, latest]. */
typedef struct kw_span {
    int64_t earliest_ns;
    int64_t latest_ns;
} kw_span;

typedef struct kw_heartbeat {
    int64_t sent_ns;
    int64_t answered_ns;
    int64_t stamp_ms;
    int64_t or_less; /* 1: the store gave it this timestamp or a smaller one; else 0 */
} kw_heartbeat;

typedef struct kw_known_time {
    kw_heartbeat last; /* whose timestamp is known exactly */
    int64_t fresh_ns;
    int64_t least_ns;  /* `latest` is not below this */
    int64_t passed_ns; /* `least` was kept until then */
    int64_t change_ns; /* until then the heartbeats say the same: */
    int64_t low_ns;    /* the store's clock minus ours, as of passed_ns; INT64_MAX: nothing may be acted on */
    int64_t high_ns;
    uint64_t count;
    kw_heartbeat heartbeats[KW_TIME_HEARTBEATS]; /* by the time they were answered */
} kw_known_time;

void kw_known_time_init(kw_known_time *known, int64_t fresh_ns);

/* A heartbeat was answered, now or some time ago: a put of a cell that only this gateway writes. The store
 * shows the put with the greatest timestamp of that cell; one with this timestamp or less proves no lower
 * bound, and does not count as fresh. */
void kw_known_time_heard(kw_known_time *known, const kw_heartbeat *heartbeat, int64_t now_ns);

/* The newest timestamp in the cells of all gateways, read after the first heartbeat was answered: what others
 * may have acted on before the clock went back. */
void kw_known_time_saw(kw_known_time *known, int64_t newest_stamp_ms);

/* False: nothing may be done on what is known: there are no heartbeats of one of the two times. now_ns must
 * not go back. */
bool kw_known_time_read(kw_known_time *known, int64_t now_ns, kw_span *ret_span);

/* What the heartbeats sent within `fresh` say together, or else the last one: narrower than what may be acted
 * on. Shows when the next heartbeat should arrive. False: there are no heartbeats. */
bool kw_known_time_recent(const kw_known_time *known, int64_t now_ns, kw_span *ret_span);

/* What the last heartbeat says, however old it is: where a clock that jumps does no harm. False: there is
 * none. */
bool kw_known_time_about(const kw_known_time *known, int64_t now_ns, kw_span *ret_span);
