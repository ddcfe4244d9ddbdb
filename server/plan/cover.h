/* A range of byte strings of one width as a few beginnings, one of which each of them has. Inside of the
 * room.
 *
 *   0x1234 .. 0x1503  ->  12 13 14 15       one more beginning than needed would be finer, but not fewer
 */
#pragma once

#include "base/arena.h"

/* From `low` to `high`, both inclusive and of the same size. At most `most` beginnings, in order; 0 when
 * nothing can be said. */
size_t kw_cover(kw_bytes low, kw_bytes high, size_t most, kw_arena *arena, kw_bytes *ret_beginnings);
