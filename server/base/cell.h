/* One cell of an HBase row. A plain value: its bytes are borrowed. */
#pragma once

#include "base/bytes.h"

typedef struct kw_cell {
    kw_bytes family;
    kw_bytes qualifier;
    kw_bytes value;
    int64_t timestamp; /* set in cells that were read; ignored in most writes (kw_write) */
} kw_cell;
