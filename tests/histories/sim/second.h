/* Recognizes writes that another placement of the record has already: Keyway writes the cells of a put or
 * removal with the same timestamps to all placements. */
#pragma once

#include "thrift/hbase2_wire.h"

#include <glib.h>

typedef struct sim_placements sim_placements;

sim_placements *sim_placements_new(void);

/* Notes the write, which has arrived. True if it, or one of a batch, has arrived before for another placement
 * of the same path. */
bool sim_placements_note(sim_placements *placements, kw_hb_method method, const void *args);
