/* How the writes of a table are ordered, and what the store is asked for so that they are: keyway-policy(5),
 * "Ordering guarantees".
 */
#pragma once

#include "base/bytes.h"

typedef enum kw_write_order {
    KW_WRITE_ORDER_STORE, /* the store gives the timestamps */
    KW_WRITE_ORDER_STAMP  /* the gateways give them: one for all placements of a record */
} kw_write_order;

/* Of one table; operations on its rows point to it. It lives as long as the policy. */
typedef struct kw_ordering {
    kw_write_order order;
    bool atomics;    /* increments and conditional writes are allowed, and leave a control cell */
    bool counters;   /* some fields are counters */
    kw_bytes family; /* of control cells */
} kw_ordering;
