/* Several Thrift2 servers, in threads of this process, over one HBase in memory (rows.h), with faults. Framed
 * and compact. One thread per connection, as in Thrift2.
 *
 *   call --> waits while its server is stopped --> delay --> applied --> delay --> reply
 *                                                   |           |
 *                                  dropped: not applied         lost: applied
 *
 * After a dropped or lost call the connection is closed. A late call is applied some time after its
 * connection is closed.
 *
 * With a patience, a write is applied within this time after it arrived, or never, however busy the machine
 * is; as with hbase.client.operation.timeout. The connection of a write that is not applied is closed.
 */
#pragma once

#include "histories/sim/fate.h"
#include "histories/sim/rows.h"

typedef struct sim_servers sim_servers;

/* Listens on these ports of 127.0.0.1. */
sim_servers *sim_servers_start(const uint16_t *ports, size_t count, uint32_t seed);

/* number: of one server; SIM_ALL: of all. */
#define SIM_ALL SIZE_MAX
void sim_servers_set_faults(sim_servers *servers, size_t number, const sim_faults *faults);
void sim_servers_set_patience(sim_servers *servers, int patience_ms); /* 0: without limit */
void sim_servers_set_clock(sim_servers *servers, sim_region region, int64_t offset_ms);
void sim_servers_dump(sim_servers *servers, const char *table);   /* see sim_rows_dump */
void sim_servers_print_ties(sim_servers *servers);                /* see sim_rows_print_ties */
void sim_servers_purge(sim_servers *servers, int64_t markers_ms); /* see sim_rows_purge */

/* A paused process: calls wait until it continues. */
void sim_servers_stop(sim_servers *servers, size_t number);
void sim_servers_go_on(sim_servers *servers, size_t number);
/* A killed process: its connections are closed; each pending call is applied or not. Refuses connections
 * until it is restarted. */
void sim_servers_kill(sim_servers *servers, size_t number);
void sim_servers_start_again(sim_servers *servers, size_t number);
