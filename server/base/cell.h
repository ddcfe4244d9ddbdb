/* One cell of an HBase row. A plain value: its bytes are borrowed. */
#pragma once

#include "base/bytes.h"

typedef struct kw_cell {
    kw_bytes family;
    kw_bytes qualifier;
    kw_bytes value;
    int64_t timestamp; /* set in cells that were read; ignored in most writes (kw_write) */
} kw_cell;

/* A cell of the catalog, or a counter of sequences, in a backup (catalog/transfer.h). */
typedef struct kw_saved_cell {
    kw_bytes row;    /* of a counter: its name */
    kw_bytes column; /* the qualifier; of a counter: the family */
    kw_bytes value;  /* of a counter: a decimal number */
} kw_saved_cell;
