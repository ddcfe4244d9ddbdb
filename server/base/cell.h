/* One cell of a row as HBase has them. A plain value: its bytes are borrowed. */
#pragma once

#include "base/bytes.h"

typedef struct kw_cell {
    kw_bytes family;
    kw_bytes qualifier;
    kw_bytes value;
    int64_t timestamp; /* of a cell read; ignored in writes (the write's own counts) */
} kw_cell;
