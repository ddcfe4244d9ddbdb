/* Input blocks. A block collects the bytes of a connection. Messages are slices of the block: each call holds
 * a reference to it, so a message is not copied out of it. A block without references returns to its loop's
 * pool, so an idle connection holds no block. Blocks of two standard sizes are pooled; blocks for larger
 * messages are allocated individually.
 *
 *   | message | message | partial mes......................|
 *   0                   start        filled         capacity
 *
 * A block is charged to an account, which must outlive it. One thread.
 */
#pragma once

#include "base/budget.h"
#include "base/bytes.h"

#define KW_FRAME_SMALL ((size_t)1024 - 64)
#define KW_FRAME_BLOCK ((size_t)16 * 1024 - 64)

/* Minimum free space in a block for a read directly into it; a smaller read is not worth its system call. */
#define KW_FRAME_READ_MIN ((size_t)2048)

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

/* Returns an empty block with one reference and at least `capacity` bytes. account can be NULL. */
kw_frame *kw_frame_take(kw_frame_pool *pool, size_t capacity, kw_account *account);
kw_frame *kw_frame_ref(kw_frame *frame);
/* NULL is allowed. */
void kw_frame_unref(kw_frame_pool *pool, kw_frame *frame);

/* Returns a block with space for `needed` bytes from *start. If another block is necessary, it has space for
 * the whole message of `wanted` bytes unless that is large: the space for a large message doubles as its
 * bytes arrive, so that a client cannot reserve memory by announcing a length. The result is the same block,
 * or another one to which the bytes from *start were moved, with *start set to 0. Consumes the caller's
 * reference to `frame`. */
kw_frame *kw_frame_reserve(kw_frame_pool *pool, kw_frame *frame, size_t *start, size_t needed, size_t wanted);

/* Bytes that kw_frame_reserve would allocate for this message in addition. 0 if the block stays, or if its
 * successor has at most KW_FRAME_BLOCK bytes. */
size_t kw_frame_growth(const kw_frame *frame, size_t start, size_t needed, size_t wanted);

void kw_frame_pool_clear(kw_frame_pool *pool);
