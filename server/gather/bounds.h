/* What is left of a plan's range behind a position: how a scan continues without any memory of it. Pure. */
#pragma once

#include "gather/gather.h"

/* The row key without the range's prefix: what rows of a merge group are ordered by. */
static inline kw_bytes
kw_range_suffix(const kw_range *range, kw_bytes key)
{
    return key.size > range->skip ? kw_bytes_skip(key, range->skip) : KW_BYTES_NONE;
}

/* Start and stop of what is left of range `index`; slices of the range, or of memory from the arena. False
 * when nothing is left. */
bool kw_range_left(const kw_plan *plan, uint32_t index, const kw_position *position, kw_arena *arena,
                   kw_bytes *ret_start, kw_bytes *ret_stop);

/* Does the position fit this plan? False: it was made for another one. */
bool kw_position_fits(const kw_plan *plan, const kw_position *position);
