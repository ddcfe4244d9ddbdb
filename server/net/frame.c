#include "net/frame.h"

#include <glib.h>

/* Maximum bytes of spare blocks per loop. */
#define SMALL_BYTES ((size_t)2 * 1024 * 1024)
#define BLOCKS_BYTES ((size_t)8 * 1024 * 1024)

/* Messages up to this size get all their space at once. Larger ones get it as their bytes arrive, so that a
 * client cannot reserve memory by announcing a length. */
#define RESERVE_AT_ONCE ((size_t)64 * 1024)

#if defined(__SANITIZE_ADDRESS__)
#define RECYCLE 0 /* so that the sanitizer detects a use after the last reference */
#else
#define RECYCLE 1
#endif

static void
charge(const kw_frame *frame, int64_t bytes)
{
    kw_account_charge(frame->account, KW_MEMORY_FRAMES, bytes);
}

kw_frame *
kw_frame_take(kw_frame_pool *pool, size_t capacity, kw_account *account)
{
    kw_frame_list *list = capacity <= KW_FRAME_SMALL ? &pool->small : &pool->blocks;
    kw_frame *frame = list->first;
    if (capacity <= KW_FRAME_BLOCK && frame) {
        list->first = frame->next;
        list->count--;
    } else {
        capacity = MAX(capacity, list == &pool->small ? KW_FRAME_SMALL : KW_FRAME_BLOCK);
        frame = g_malloc(sizeof *frame + capacity);
        frame->capacity = capacity;
    }
    frame->next = NULL;
    frame->account = account;
    frame->refs = 1;
    frame->filled = 0;
    charge(frame, (int64_t)(sizeof *frame + frame->capacity));
    return frame;
}

kw_frame *
kw_frame_ref(kw_frame *frame)
{
    g_assert(frame->refs > 0);
    frame->refs++;
    return frame;
}

void
kw_frame_unref(kw_frame_pool *pool, kw_frame *frame)
{
    g_assert(!frame || frame->refs > 0);
    if (!frame || --frame->refs > 0)
        return;
    bool small = frame->capacity == KW_FRAME_SMALL;
    kw_frame_list *list = small ? &pool->small : &pool->blocks;
    charge(frame, -(int64_t)(sizeof *frame + frame->capacity));
    if (!RECYCLE || (!small && frame->capacity != KW_FRAME_BLOCK) ||
        list->count * frame->capacity >= kw_budget_spare(small ? SMALL_BYTES : BLOCKS_BYTES)) {
        g_free(frame);
        return;
    }
    frame->next = list->first;
    list->first = frame;
    list->count++;
}

/* The space for a message of `wanted` bytes of which `have` have arrived. */
static size_t
space_for(size_t have, size_t needed, size_t wanted)
{
    size_t most = MAX(RESERVE_AT_ONCE, 2 * have);
    return MAX(MIN(wanted, most), needed);
}

kw_frame *
kw_frame_reserve(kw_frame_pool *pool, kw_frame *frame, size_t *start, size_t needed, size_t wanted)
{
    g_assert(*start <= frame->filled && frame->filled <= frame->capacity);
    size_t have = frame->filled - *start;
    size_t space = space_for(have, needed, wanted);
    if (frame->capacity - *start >= space)
        return frame;
    if (frame->refs == 1 && *start == 0) {
        charge(frame, (int64_t)space - (int64_t)frame->capacity);
        frame = g_realloc(frame, sizeof *frame + space);
        frame->capacity = space;
        return frame;
    }
    kw_frame *moved = kw_frame_take(pool, space, frame->account);
    memcpy(moved->data, frame->data + *start, have);
    moved->filled = have;
    *start = 0;
    kw_frame_unref(pool, frame);
    return moved;
}

static void
list_clear(kw_frame_list *list)
{
    while (list->first) {
        kw_frame *next = list->first->next;
        g_free(list->first);
        list->first = next;
    }
    list->count = 0;
}

void
kw_frame_pool_clear(kw_frame_pool *pool)
{
    list_clear(&pool->small);
    list_clear(&pool->blocks);
}
