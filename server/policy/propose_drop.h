/* Private to the files that propose changes (propose.h): paths that a policy drops while several
 * gateways serve the table. With one gateway, a path is dropped while no call runs. Pure. */
#pragma once

#include "policy/propose.h"

/* How many paths the policy drops from the table, if it changes nothing else about paths, and they can be
 * dropped now. */
size_t kw_change_count_dropped(const kw_change_proposal *proposal, const kw_table *table);

/* Appends the record of a change that drops the paths. False: the policy drops none, or they cannot be
 * dropped now. */
bool kw_change_propose_drop(const kw_change_proposal *proposal, const kw_table *table,
                            kw_change_record *records, size_t *count, kw_arena *arena);

/* propose.c: true if the policy names no order of writes, or that of the table's rows. */
bool kw_change_keeps_order(const kw_change_proposal *proposal, const kw_table *table);
