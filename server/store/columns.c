#include "store/columns.h"

#include <stdlib.h>

kw_column *
kw_columns_copy(const kw_column *columns, size_t count, kw_arena *arena)
{
    kw_column *copies = KW_ARENA_ARRAY(arena, kw_column, count);
    for (size_t i = 0; i < count; i++)
        copies[i] = (kw_column){.family = kw_arena_copy(arena, columns[i].family),
                                .qualifier = kw_arena_copy(arena, columns[i].qualifier),
                                .whole_family = columns[i].whole_family};
    return copies;
}

static int
compare(const kw_column *a, const kw_column *b)
{
    int order = kw_bytes_compare(a->family, b->family);
    if (order || a->whole_family != b->whole_family)
        return order ? order : b->whole_family - a->whole_family;
    return a->whole_family ? 0 : kw_bytes_compare(a->qualifier, b->qualifier);
}

static int
compare_pointers(const void *a, const void *b)
{
    const kw_column *left = *(const kw_column *const *)a, *right = *(const kw_column *const *)b;
    int order = compare(left, right);
    return order ? order : (left > right) - (left < right);
}

kw_sorted_columns
kw_columns_sort(const kw_column *columns, size_t count, kw_arena *arena)
{
    kw_sorted_columns sorted = {.columns = KW_ARENA_ARRAY(arena, const kw_column *, count), .count = count};
    for (size_t i = 0; i < count; i++)
        sorted.columns[i] = &columns[i];
    if (count)
        qsort(sorted.columns, count, sizeof *sorted.columns, compare_pointers);
    return sorted;
}

void
kw_columns_remove_repeated(kw_sorted_columns *sorted)
{
    size_t kept = 0;
    for (size_t i = 0; i < sorted->count; i++)
        if (i == 0 || compare(sorted->columns[kept - 1], sorted->columns[i]) != 0)
            sorted->columns[kept++] = sorted->columns[i];
    sorted->count = kept;
}

size_t
kw_columns_find(const kw_sorted_columns *sorted, const kw_column *column)
{
    size_t from = 0, to = sorted->count;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (compare(sorted->columns[middle], column) < 0)
            from = middle + 1;
        else
            to = middle;
    }
    return from < sorted->count && compare(sorted->columns[from], column) == 0 ? from : sorted->count;
}

bool
kw_columns_include(const kw_sorted_columns *sorted, kw_bytes family, kw_bytes qualifier)
{
    kw_column own = {.family = family, .qualifier = qualifier};
    kw_column whole = {.family = family, .whole_family = true};
    return kw_columns_find(sorted, &own) < sorted->count || kw_columns_find(sorted, &whole) < sorted->count;
}

const kw_column *
kw_columns_repeated(const kw_sorted_columns *sorted)
{
    for (size_t i = 1; i < sorted->count; i++)
        if (compare(sorted->columns[i - 1], sorted->columns[i]) == 0)
            return sorted->columns[i];
    return NULL;
}
