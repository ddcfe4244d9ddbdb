/* What happens to a call, drawn at random. */
#pragma once

#include "histories/sim/second.h"

/* Probabilities per call, 0 to 1. */
typedef struct sim_faults {
    double lose, drop, late;
    double repeat; /* compared writes that HBase's own client retries after its pause */
    double slow;   /* calls that are delayed by up to slow_ms before or after they are applied */
    double held;   /* writes of a few rows whose reply is delayed by up to held_ms; fewer reads */
    double blind;  /* gets of the catalog whose reply is delayed by up to blind_ms: gateways learn late of
                      others */
    double stuck;  /* writes and gets of a few rows that wait for stuck_ms / 2 to stuck_ms before they are
                      applied, while the connection stays open; fewer gets */
    double apart;  /* writes that wait for apart_ms / 2 to apart_ms before they are applied, because another
                      placement of the record has the same write already */
    int delay_us;  /* longest delay before and after a call is applied */
    int late_ms;   /* longest delay after the connection was closed */
    int slow_ms;
    int held_ms;
    int blind_ms;
    int stuck_ms;
    int apart_ms;
} sim_faults;

typedef struct sim_fate {
    bool drop, lose, late, repeat;
    int before_us, after_us, late_ms; /* delays before and after it is applied */
} sim_fate;

/* patience_ms: see server.h. */
sim_fate sim_fate_draw(const sim_faults *faults, GRand *random, sim_placements *placements, int patience_ms,
                       kw_hb_method method, const void *args);
bool sim_is_write(kw_hb_method method);
