/* A closed loop of callers: each connection sends a frame, waits for the whole answer, and sends the next. */
#pragma once

#include "base/bytes.h"

typedef struct load_result {
    double calls_per_second;
    double p50_us;
    double p99_us;
    double server_us; /* CPU time of the server's process per call */
} load_result;

/* frame: the request, length and all. server: the process whose CPU time is taken. Ends the program on an
 * error. */
load_result load_run(uint16_t port, unsigned connections, double seconds, kw_bytes frame, int server);
