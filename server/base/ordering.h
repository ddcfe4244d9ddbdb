/* How the writes of a table are ordered, and what the store must do for it. See keyway-policy(5), "Ordering
 * guarantees".
 */
#pragma once

#include "base/bytes.h"

typedef enum kw_write_order {
    KW_WRITE_ORDER_STORE, /* the store sets the timestamps */
    KW_WRITE_ORDER_STAMP  /* the gateway sets them: the same one for all placements of a record */
} kw_write_order;

/* Of one table; operations on its rows point to it. It lives as long as the policy. */
typedef struct kw_ordering {
    kw_write_order order;
    bool atomics;    /* increments and conditional writes are allowed, and write a control cell */
    bool counters;   /* some fields are counters */
    kw_bytes family; /* of control cells */
} kw_ordering;
