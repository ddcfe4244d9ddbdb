/* Computes the part of a plan's range after a position, which lets a scan continue without state. Pure. */
#pragma once

#include "gather/gather.h"

/* The row key without the range's prefix: rows of a merge group are ordered by it. */
static inline kw_bytes
kw_range_suffix(const kw_range *range, kw_bytes key)
{
    return key.size > range->skip ? kw_bytes_skip(key, range->skip) : KW_BYTES_NONE;
}

/* Start and stop of the rest of range `index`; slices of the range or memory of the arena. False if nothing
 * remains. */
bool kw_range_left(const kw_plan *plan, uint32_t index, const kw_position *position, kw_arena *arena,
                   kw_bytes *ret_start, kw_bytes *ret_stop);

/* True if the position is before this row key of range `index`. */
bool kw_position_is_before(const kw_position *position, const kw_plan *plan, size_t index, kw_bytes key);

/* True if the position is possible in this plan. False shows that it was created for another one. */
bool kw_position_fits(const kw_plan *plan, const kw_position *position);
