#include "net/frame.h"

#include <glib.h>

/* Maximum bytes of spare blocks per loop. */
#define SMALL_BYTES ((size_t)2 * 1024 * 1024)
#define BLOCKS_BYTES ((size_t)8 * 1024 * 1024)

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

/* The capacity of a new block for a message of `wanted` bytes of which `have` have arrived. */
static size_t
space_for(size_t have, size_t needed, size_t wanted)
{
    return MAX(MIN(wanted, MAX(KW_FRAME_BLOCK, 2 * have)), needed);
}

size_t
kw_frame_growth(const kw_frame *frame, size_t start, size_t needed, size_t wanted)
{
    size_t space = space_for(frame->filled - start, needed, wanted);
    if (frame->capacity - start >= needed || space <= KW_FRAME_BLOCK)
        return 0;
    bool is_replaced = frame->refs == 1;
    return space - (is_replaced ? MIN(frame->capacity, space) : 0);
}

kw_frame *
kw_frame_reserve(kw_frame_pool *pool, kw_frame *frame, size_t *start, size_t needed, size_t wanted)
{
    g_assert(*start <= frame->filled && frame->filled <= frame->capacity);
    size_t have = frame->filled - *start;
    if (frame->capacity - *start >= needed)
        return frame;
    size_t space = space_for(have, needed, wanted);
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
