/* The clock with known error (store/known_time.h), explored: gateways that heartbeat whenever they like, and
 * a store whose clock jumps, as when the clock's region moves to another server. What is asked: a write that
 * one gateway acknowledges has a stamp that every gateway's next stamp reaches.
 */
#pragma once

#include "explore.h"

typedef struct clock_model {
    int fresh;      /* milliseconds that a heartbeat is good for; 0: 2 */
    int ticks;      /* milliseconds that pass */
    int heartbeats; /* of each gateway */
    int jumps;      /* of the store's clock */
    int farthest;   /* milliseconds of a jump, forward or back */
    int starters;   /* gateways that start while others serve: 0 or 1 */
    bool slow;      /* heartbeats take time: the clock can tick between their steps */

    /* safeguards removed */
    bool acts_on_old;      /* heartbeats are as good as new for ever */
    bool believes_at_once; /* a heartbeat that contradicts what was known replaces it */
    bool goes_back;        /* latest can go back with the clock */
    bool serves_at_once;   /* a gateway that starts serves after its first heartbeat */
    bool looks_at_no_one;  /* ... and does not read what others saw */
} clock_model;

explored clock_model_explore(const clock_model *model, uint64_t states_most);
