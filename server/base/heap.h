/* A binary heap of times: finds the earliest item at once, and removes any item. An item is a member of its
 * owner's struct; adding one allocates nothing but space in the array. One thread.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

typedef struct kw_heap_item {
    uint64_t at;
    size_t place; /* in the array, from 1; 0: not in a heap. The owner zeroes it once */
} kw_heap_item;

/* All zero means empty. */
typedef struct kw_heap {
    kw_heap_item *
        *items; /* the earliest first; items[i] is not later than items[2 * i + 1] and items[2 * i + 2] */
    size_t count, capacity;
} kw_heap;

/* The item must not be in a heap. */
void kw_heap_add(kw_heap *heap, kw_heap_item *item, uint64_t at);
/* Does nothing if the item is not in the heap. */
void kw_heap_remove(kw_heap *heap, kw_heap_item *item);
/* Removes all items and frees the array. */
void kw_heap_clear(kw_heap *heap);

/* The earliest item; NULL if the heap is empty. */
static inline kw_heap_item *
kw_heap_first(const kw_heap *heap)
{
    return heap->count > 0 ? heap->items[0] : NULL;
}
