/* One cell of an HBase row. A plain value: its bytes are borrowed. */
#pragma once

#include "base/bytes.h"

typedef struct kw_cell {
    kw_bytes family;
    kw_bytes qualifier;
    kw_bytes value;
    int64_t timestamp; /* set in cells that were read; ignored in most writes (kw_write) */
} kw_cell;

static inline bool
kw_cell_same_column(const kw_cell *a, const kw_cell *b)
{
    return kw_bytes_equal(a->qualifier, b->qualifier) && kw_bytes_equal(a->family, b->family);
}

static inline int
kw_cell_compare_columns(const kw_cell *a, const kw_cell *b)
{
    int order = kw_bytes_compare(a->family, b->family);
    return order ? order : kw_bytes_compare(a->qualifier, b->qualifier);
}

/* The order of the cells of a row: by column, and the newest version first. */
static inline int
kw_cell_compare(const kw_cell *a, const kw_cell *b)
{
    int order = kw_cell_compare_columns(a, b);
    return order ? order : (a->timestamp < b->timestamp) - (a->timestamp > b->timestamp);
}

/* A cell of the catalog, or a counter of sequences, in a backup (catalog/transfer.h). */
typedef struct kw_saved_cell {
    kw_bytes row;    /* of a counter: its name */
    kw_bytes column; /* the qualifier; of a counter: the family */
    kw_bytes value;  /* of a counter: a decimal number */
} kw_saved_cell;
