/* A model of the clock with known error (store/known_time.h). Gateways send heartbeats at any time, and the
 * store's clock can jump, as when the clock's region moves to another server. The property: if one gateway
 * acknowledges a write, the next stamp of every gateway is at least the stamp of that write. */
#pragma once

#include "explore.h"

typedef struct clock_model {
    int fresh;      /* milliseconds for which a heartbeat is valid; 0: 2 */
    int ticks;      /* milliseconds that pass */
    int heartbeats; /* of each gateway */
    int jumps;      /* of the store's clock */
    int max_jump;   /* milliseconds of a jump, forward or back */
    int starters;   /* gateways that start while others serve: 0 or 1 */
    bool slow;      /* heartbeats take time: the clock can advance between their steps */

    /* safeguards to remove */
    bool never_expires;        /* heartbeats never expire */
    bool trusts_contradiction; /* a heartbeat that contradicts the known time replaces it */
    bool latest_goes_back;     /* the latest possible time can go back with the clock */
    bool serves_at_once;       /* a gateway serves after its first heartbeat */
    bool ignores_peers;        /* a gateway that starts does not read the stamps of the others */
} clock_model;

explored clock_model_explore(const clock_model *model, uint64_t states_max);
