/* Copies of columns, and columns in HBase's order for look-ups of many. Pure. */
#pragma once

#include "store/store.h"

typedef struct kw_sorted_columns {
    const kw_column **columns; /* by family and qualifier; a whole family is before its columns */
    size_t count;
} kw_sorted_columns;

/* Copies the columns and their bytes. */
kw_column *kw_columns_copy(const kw_column *columns, size_t count, kw_arena *arena);

/* Sorts pointers to the columns. Columns that are equal stay in their order. In the arena. */
kw_sorted_columns kw_columns_sort(const kw_column *columns, size_t count, kw_arena *arena);
/* Removes all but the first of equal columns. */
void kw_columns_remove_repeated(kw_sorted_columns *sorted);
/* The position of the column; `count`: it is not there. A whole family is a column of its own. */
size_t kw_columns_find(const kw_sorted_columns *sorted, const kw_column *column);
/* True if the columns include this one, or its whole family. */
bool kw_columns_include(const kw_sorted_columns *sorted, kw_bytes family, kw_bytes qualifier);
/* A column that is there more than once; NULL: there is none. */
const kw_column *kw_columns_repeated(const kw_sorted_columns *sorted);
