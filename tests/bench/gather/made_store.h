/* A store that makes rows up as they are read: ranges with the prefixes 0, 1, 2, ... (two bytes), each with
 * the same number of rows, whose suffixes (eight bytes) interleave at random over all ranges. Reading costs
 * next to nothing: cells are shared, only keys are written. One loop. */
#pragma once

#include "gather/gather.h"

typedef struct made_store made_store;

made_store *made_store_new(kw_loop *loop, uint64_t rows_per_range, uint32_t cells_per_row, bool copies);
void made_store_free(made_store *store);
kw_store_handle *made_store_handle(made_store *store);
/* One merge group of `ranges` ranges; in the arena. */
const kw_plan *made_store_plan(uint32_t ranges, bool reversed, kw_arena *arena);
