/* Blocks of numbers: maps the values of a counter to the numbers of a field's range. Pure.
 *
 * A counter holds how many numbers were allocated. A gateway that adds n to it, and gets c as the result,
 * owns the places from c-n to c-1. Place p stands for the number `from` plus p; with `wrap`, p is first
 * reduced modulo the length of the range.
 */
#pragma once

#include "base/error.h"
#include "config/model.h"

typedef struct kw_number_range {
    int64_t from;
    uint64_t length; /* how many numbers there are */
    bool wrap;
    uint64_t block;       /* numbers allocated at once */
    uint64_t prefetch_at; /* the next block is fetched when this many numbers are left: half a block, so that
                             it arrives before the other half is used, even from a slow store */
} kw_number_range;

/* Places next..end - 1. */
typedef struct kw_block {
    uint64_t next;
    uint64_t end;
} kw_block;

kw_number_range kw_number_range_of(const kw_model_generate *generate);

/* The block that adding `amount` allocated. Without `wrap`, it is cut at the end of the range, and empty if
 * the range was already used up. False if the counter's value is invalid. */
bool kw_block_of(const kw_number_range *range, int64_t amount, int64_t after, kw_block *ret_block);

static inline uint64_t
kw_block_left(const kw_block *block)
{
    return block->end - block->next;
}

static inline int64_t
kw_number_at(const kw_number_range *range, uint64_t place)
{
    return (int64_t)((uint64_t)range->from + (range->wrap ? place % range->length : place));
}

/* How many of `count` places from `place` on are consecutive numbers: fewer if the numbers wrap. */
uint64_t kw_number_consecutive(const kw_number_range *range, uint64_t place, uint64_t count);
