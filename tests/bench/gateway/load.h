/* A closed loop of callers: each connection sends a frame, waits for the whole answer, and sends the next.
 * The connections stay open between slices, so that two servers can be measured in turns of a fraction of a
 * second, both warm, while the machine is as it is for both. */
#pragma once

#include "base/bytes.h"

typedef struct load load;

typedef struct load_result {
    double calls_per_second;
    double server_us; /* CPU time of the server's process per call */
} load_result;

/* Ends the program on an error, as all of these do. frame: the request, length and all. server: the process
 * whose CPU time is taken. */
load *load_open(uint16_t port, unsigned connections, kw_bytes frame, int server);

/* Calls for so long, then waits for the answers that are under way. */
load_result load_slice(load *all, double seconds);

/* Of all slices since the first call of it. */
double load_latency_us(const load *all, double share);

/* Forgets the latencies so far. */
void load_forget(load *all);

void load_close(load *all);
