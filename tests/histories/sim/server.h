/* Several Thrift2 servers, in threads of this process, over one HBase in memory (rows.h), and what can go
 * wrong with them. Framed and compact. Each connection is served by a thread, as Thrift2 does.
 *
 *   call --> held while its server is stopped --> delay --> applied --> delay --> answered
 *                                                   |          |
 *                                      dropped: not applied    lost: applied; in both cases the connection
 * ends late: the connection ends, and it is applied after a while
 */
#pragma once

#include "histories/sim/rows.h"

typedef struct sim_servers sim_servers;

/* Shares of calls, 0 to 1. */
typedef struct sim_faults {
    double lose, drop, late;
    double repeat; /* compared writes that HBase's own client sends again, after its pause */
    int delay_us;  /* up to so long, before and after a call is applied */
    int late_ms;   /* up to so long after the connection ended */
} sim_faults;

/* Listens on these ports of 127.0.0.1. */
sim_servers *sim_servers_start(const uint16_t *ports, size_t count, uint32_t seed);

void sim_servers_set_faults(sim_servers *servers, const sim_faults *faults);
void sim_servers_set_clock(sim_servers *servers, sim_region region, int64_t offset_ms);
void sim_servers_purge(sim_servers *servers);

/* A stopped process: what arrives waits, and is served when it goes on. */
void sim_servers_stop(sim_servers *servers, size_t number);
void sim_servers_go_on(sim_servers *servers, size_t number);
/* A killed one: its connections end, of what was under way each call is applied or not. Refuses connections
 * until it is started again. */
void sim_servers_kill(sim_servers *servers, size_t number);
void sim_servers_start_again(sim_servers *servers, size_t number);
