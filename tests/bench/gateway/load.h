/* A closed loop of callers: each connection sends a frame, waits for the whole reply, and sends the next
 * frame. The connections stay open between slices. So two servers can be measured alternately in fractions of
 * a second, both warm and under the same conditions. */
#pragma once

#include "base/bytes.h"

typedef struct load load;

typedef struct load_result {
    double calls_per_second;
    double server_us; /* CPU time of the server's process per call */
} load_result;

/* Like all functions here, ends the program on an error. frame: the request with its length. server: the
 * process whose CPU time is measured. */
load *load_open(uint16_t port, unsigned connections, kw_bytes frame, int server);

/* Sends calls for this time, then waits for outstanding replies. */
load_result load_slice(load *all, double seconds);

/* A percentile of all slices since load_open or load_forget. */
double load_latency_us(const load *all, double share);

/* Discards the latencies so far. */
void load_forget(load *all);

void load_close(load *all);
