/* Input blocks. Bytes are read behind each other into a block; the messages found in it are slices
 * of it, so each call holds a reference and whole messages are never copied. A block that nobody
 * holds goes back to its loop's pool, so that an idle connection has none. Blocks come in two sizes that are
 * kept, since most messages are small, and in any larger size.
 *
 *   | message | message | half a mess......................|
 *   0                   start        filled         capacity
 *
 * A block is charged to the account that it was taken for, which must outlive it. One thread.
 */
#pragma once

#include "base/budget.h"
#include "base/bytes.h"

#define KW_FRAME_SMALL ((size_t)1024 - 64)
#define KW_FRAME_BLOCK ((size_t)16 * 1024 - 64)

typedef struct kw_frame {
    struct kw_frame *next; /* in the pool */
    kw_account *account;
    uint32_t refs;
    size_t filled;
    size_t capacity;
    uint8_t data[];
} kw_frame;

typedef struct kw_frame_list {
    kw_frame *first;
    size_t count;
} kw_frame_list;

typedef struct kw_frame_pool {
    kw_frame_list small, blocks;
} kw_frame_pool;

/* Empty, with one reference and at least `capacity` bytes. account: NULL for none. */
kw_frame *kw_frame_take(kw_frame_pool *pool, size_t capacity, kw_account *account);
kw_frame *kw_frame_ref(kw_frame *frame);
/* NULL is fine. */
void kw_frame_unref(kw_frame_pool *pool, kw_frame *frame);

/* A block with room for a message of `wanted` bytes from *start, as far as that is worth while (a large
 * message gets its room as it comes), but for `needed` bytes in any case: the same, or another with the bytes
 * from *start at its head, *start then being 0. Takes over the caller's reference on `frame`. */
kw_frame *kw_frame_make_room(kw_frame_pool *pool, kw_frame *frame, size_t *start, size_t needed,
                             size_t wanted);

void kw_frame_pool_clear(kw_frame_pool *pool);
