/* Covers a range of byte strings of one width with a few prefixes, so that each string begins with one of
 * them. Private to this module.
 *
 *   0x1234 .. 0x1503  ->  12 13 14 15       longer prefixes would be more exact, but more numerous
 */
#pragma once

#include "base/arena.h"

/* From `low` to `high`, both inclusive and of the same size. Returns at most `most` prefixes, in order; 0 if
 * that is not possible. */
size_t kw_cover(kw_bytes low, kw_bytes high, size_t most, kw_arena *arena, kw_bytes *ret_beginnings);
