/* Sorts many byte strings that are not in the CPU's caches, such as the names of a large map in the message
 * that contains them. They are compared by the 8 bytes after their common beginning, which the items contain,
 * and only if these are equal by the bytes that follow. */
#pragma once

#include "base/bytes.h"

typedef struct kw_sort_item {
    kw_bytes bytes; /* after kw_sort_items: without the bytes that all items begin with */
    size_t index;   /* the caller's */
    uint64_t head;  /* set by kw_sort_items */
} kw_sort_item;

/* Sorts the items by their bytes, and equal ones by index. Takes time for the bytes of all items once, and
 * for count * log(count) comparisons. */
void kw_sort_items(kw_sort_item *items, size_t count);
