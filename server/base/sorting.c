#include "base/sorting.h"

#include <stdlib.h>

static int
compare_items(const void *left, const void *right)
{
    const kw_sort_item *a = left, *b = right;
    if (a->head != b->head)
        return a->head < b->head ? -1 : 1;
    int order = kw_bytes_compare(a->bytes, b->bytes);
    return order ? order : (a->index > b->index) - (a->index < b->index);
}

/* The first 8 bytes as a big-endian number; missing ones are zero, so the number does not distinguish these.
 */
static uint64_t
head_of(kw_bytes bytes)
{
    uint8_t first[8] = {0};
    if (bytes.size > 0)
        memcpy(first, bytes.data, MIN(bytes.size, sizeof first));
    return kw_be64_load(first);
}

/* The number of bytes with which all items begin. */
static size_t
common_beginning(const kw_sort_item *items, size_t count)
{
    kw_bytes first = items[0].bytes;
    size_t common = first.size;
    for (size_t i = 1; i < count && common > 0; i++) {
        kw_bytes bytes = items[i].bytes;
        size_t same = 0;
        for (common = MIN(common, bytes.size); same < common && bytes.data[same] == first.data[same];)
            same++;
        common = same;
    }
    return common;
}

void
kw_sort_items(kw_sort_item *items, size_t count)
{
    size_t common = count > 0 ? common_beginning(items, count) : 0;
    for (size_t i = 0; i < count; i++) {
        items[i].bytes = kw_bytes_skip(items[i].bytes, common);
        items[i].head = head_of(items[i].bytes);
    }
    if (count > 1)
        qsort(items, count, sizeof *items, compare_items);
}
