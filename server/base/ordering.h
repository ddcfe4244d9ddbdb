/* How the writes of a table are ordered, and what the store must do for it. See keyway-ordering(7). */
#pragma once

#include "base/bytes.h"

typedef enum kw_write_order {
    KW_WRITE_ORDER_STORE, /* the store sets the timestamps */
    KW_WRITE_ORDER_STAMP, /* the gateway sets them: the same one for all placements of a record */
    /* Between the two, while the key rule of a table with order: store changes. A put gets the gateway's
     * timestamp, above the newest one in the row, and is sent when the clocks of all region servers have
     * passed it. Removals are those of order: store, and wait in the same way. Reads wait as with order:
     * stamp. */
    KW_WRITE_ORDER_RAISED
} kw_write_order;

/* Of one table; operations on its rows point to it. It lives as long as the policy. */
typedef struct kw_ordering {
    kw_write_order order;
    bool atomics;    /* increments and conditional writes are allowed, and write a control cell */
    bool counters;   /* some fields are counters */
    kw_bytes family; /* of control cells */
    /* The rest is for STAMP, while a key rule changes (change/ladder.h). */
    bool waits_for_next_ms; /* a put, too, is acknowledged only when the next millisecond has begun */
    bool keeps_gone;        /* the gone cells of removals do not expire */
} kw_ordering;
