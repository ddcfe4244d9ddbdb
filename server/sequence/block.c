#include "sequence/block.h"

/* One addition to the counter for so many numbers, so that the counter does not limit the writes. A loop
 * loses at most two blocks when the gateway stops. Of a small range, a block is a hundredth, so that lost
 * blocks do not use it up. */
#define BLOCK_DEFAULT 1000

kw_number_range
kw_number_range_of(const kw_model_generate *generate)
{
    uint64_t length = (uint64_t)generate->to - (uint64_t)generate->from + 1;
    uint64_t block = generate->block ? (uint64_t)generate->block : MIN(BLOCK_DEFAULT, length / 100 + 1);
    return (kw_number_range){.from = generate->from,
                             .length = length,
                             .wrap = generate->wrap,
                             .block = block,
                             .prefetch_at = block / 2};
}

bool
kw_block_of(const kw_number_range *range, int64_t amount, int64_t after, kw_block *ret_block)
{
    if (amount <= 0 || after < amount)
        return false;
    kw_block block = {(uint64_t)(after - amount), (uint64_t)after};
    if (!range->wrap) {
        block.end = MIN(block.end, range->length);
        block.next = MIN(block.next, block.end);
    }
    *ret_block = block;
    return true;
}

uint64_t
kw_number_consecutive(const kw_number_range *range, uint64_t place, uint64_t count)
{
    g_assert(range->length > 0);
    return range->wrap ? MIN(count, range->length - place % range->length) : count;
}
