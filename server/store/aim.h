/* When to send a heartbeat, so that the store's clock reaches the next millisecond just before or just after
 * the heartbeat arrives. Such a heartbeat bounds the clock best (known_time.h): if the millisecond has begun,
 * its timestamp is a tight lower bound; if not, a tight upper bound.
 *
 *        sent     arrives    answered         AFTER: arrives `margin` after the turn of the millisecond
 *   ------|----------|----------|----->       BEFORE: arrives `margin` before it
 *
 * The aim estimates how far the store's clock is ahead of ours, as one number instead of bounds. The estimate
 * can be wrong: then a heartbeat arrives on the other side of the turn (a miss), and nothing else happens.
 * The aim assumes that the store sets the timestamp in the middle of a heartbeat's duration. If a timestamp
 * contradicts the estimate, the estimate moves by half of the difference, or by all of it if the clock was
 * set. Each miss makes the margin of its side larger, each hit makes it smaller, so about three of four
 * heartbeats hit. Pure; not thread safe.
 */
#pragma once

#include "store/known_time.h"

typedef enum kw_aim_side { KW_AIM_BEFORE, KW_AIM_AFTER } kw_aim_side;

typedef struct kw_aim {
    bool started;        /* false: no heartbeat was answered yet */
    int64_t offset_ns;   /* the store's clock minus ours; an estimate */
    int64_t duration_ns; /* of heartbeats; a moving average, which falls at once after a load of the store */
    int64_t margin_ns[2];
} kw_aim;

/* What a heartbeat was aimed at. */
typedef struct kw_aimed {
    bool aimed; /* false: it was sent without an aim */
    kw_aim_side side;
    int64_t turn_ms;
} kw_aimed;

void kw_aim_init(kw_aim *aim);

/* The side whose bound of the known time is farther from the estimate; AFTER if no heartbeat has an exact
 * timestamp yet. */
kw_aim_side kw_aim_choose(const kw_aim *aim, const kw_known_time *known, int64_t now_ns);

/* The time to send a heartbeat, from now_ns to a millisecond later; now_ns if nothing is known yet. */
int64_t kw_aim_send_at(const kw_aim *aim, kw_aim_side side, int64_t now_ns, kw_aimed *ret_aimed);

/* Learns from an answered heartbeat. */
void kw_aim_learn(kw_aim *aim, const kw_aimed *aimed, const kw_heartbeat *heartbeat);
