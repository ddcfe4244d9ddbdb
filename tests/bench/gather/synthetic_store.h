/* A store that generates rows while they are read: ranges with the prefixes 0, 1, 2, ... (two bytes), each
 * with the same number of rows, whose suffixes (eight bytes) interleave at random over all ranges. Reading
 * needs almost no time: cells are shared, and only keys are written. One loop. */
#pragma once

#include "gather/gather.h"

typedef struct synthetic_store synthetic_store;

synthetic_store *synthetic_store_new(kw_loop *loop, uint64_t rows_per_range, uint32_t cells_per_row,
                                     bool copies);
void synthetic_store_free(synthetic_store *store);
kw_store_handle *synthetic_store_handle(synthetic_store *store);
/* One merge group of `ranges` ranges, in the arena. */
const kw_plan *synthetic_store_plan(uint32_t ranges, bool reversed, kw_arena *arena);
