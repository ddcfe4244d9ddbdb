/* HBase's rows in memory: tables, families, cells with timestamps, delete markers, versions, and the effects
 * of a server's clock. The rules follow HBase 2.6:
 *
 *   put without stamp      the region server's clock; of two cells with one timestamp the later is visible
 *   delete without stamp   the clock; hides everything up to that time
 *   increment              max(timestamp of the cell + 1, clock)
 *   checkAnd...            its puts get max(timestamp of the compared cell, clock)
 *   versions, TTL          as the family's descriptor says; without a number of versions, all are kept. Its
 *                          other settings are returned by getTableDescriptor, but have no effect
 *   delete marker          hides cells up to its timestamp, even cells that are written later; a
 *                          compaction drops the marker when it is older than the family's configuration
 *                          hbase.hstore.time.to.purge.deletes (without it: at once)
 *
 * Used under one lock. Tables named keyway_clock are on a second region server with its own clock.
 */
#pragma once

#include "thrift/hbase2_wire.h"

#include <glib.h>

typedef struct sim_rows sim_rows;

typedef enum sim_region { SIM_DATA, SIM_CLOCK, SIM_REGIONS } sim_region;

sim_rows *sim_rows_new(void);
void sim_rows_free(sim_rows *rows);

/* The clock of a region server minus this machine's. */
void sim_rows_set_clock(sim_rows *rows, sim_region region, int64_t offset_ms);
/* A major compaction: drops markers and the cells that they hide. No marker is kept for longer than
 * markers_ms from its timestamp, so that a test does not have to wait; INT64_MAX: as the families are
 * configured. */
void sim_rows_purge(sim_rows *rows, int64_t markers_ms);

/* Prints a line per cell or delete marker: row key, family:qualifier (all in hex), put, delete-version,
 * delete-column or delete-family, timestamp, TTL in milliseconds (0: none), value in hex. Nothing if there is
 * no such table. */
void sim_rows_dump(sim_rows *rows, const char *table);
/* Prints a line for each put, since the last call, of a cell that had the same timestamp and another value:
 * row key, qualifier and both values in hex. */
void sim_rows_print_ties(sim_rows *rows);

/* The result struct of the method, in the arena. */
const void *sim_rows_answer(sim_rows *rows, kw_hb_method method, const void *args, kw_arena *arena);
