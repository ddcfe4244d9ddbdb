#include "base/heap.h"

#include <glib.h>

static void
put(kw_heap *heap, size_t index, kw_heap_item *item)
{
    heap->items[index] = item;
    item->place = index + 1;
}

static void
move_up(kw_heap *heap, size_t index, kw_heap_item *item)
{
    while (index > 0 && heap->items[(index - 1) / 2]->at > item->at) {
        put(heap, index, heap->items[(index - 1) / 2]);
        index = (index - 1) / 2;
    }
    put(heap, index, item);
}

static void
move_down(kw_heap *heap, size_t index, kw_heap_item *item)
{
    for (size_t child; (child = 2 * index + 1) < heap->count; index = child) {
        if (child + 1 < heap->count && heap->items[child + 1]->at < heap->items[child]->at)
            child++;
        if (heap->items[child]->at >= item->at)
            break;
        put(heap, index, heap->items[child]);
    }
    put(heap, index, item);
}

void
kw_heap_add(kw_heap *heap, kw_heap_item *item, uint64_t at)
{
    g_assert(item->place == 0);
    if (heap->count == heap->capacity) {
        heap->capacity = heap->capacity ? 2 * heap->capacity : 64;
        heap->items = g_renew(kw_heap_item *, heap->items, heap->capacity);
    }
    item->at = at;
    heap->count++;
    move_up(heap, heap->count - 1, item);
}

void
kw_heap_remove(kw_heap *heap, kw_heap_item *item)
{
    if (item->place == 0)
        return;
    size_t index = item->place - 1;
    kw_heap_item *last = heap->items[--heap->count];
    item->place = 0;
    if (last == item)
        return;
    if (index > 0 && heap->items[(index - 1) / 2]->at > last->at)
        move_up(heap, index, last);
    else
        move_down(heap, index, last);
}

void
kw_heap_clear(kw_heap *heap)
{
    for (size_t i = 0; i < heap->count; i++)
        heap->items[i]->place = 0;
    g_free(heap->items);
    *heap = (kw_heap){0};
}
