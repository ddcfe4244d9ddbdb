/* A store that wraps another store and orders the writes of records. It is needed for stores whose servers
 * assign timestamps by their own clocks (HBase). keyway-policy(5), "Ordering guarantees", describes the
 * guarantees. The explorations in tests/unit/order check that the rules keep them, and tests/histories checks
 * the code.
 *
 * order: store. Puts are passed on unchanged, and the server assigns their timestamps. A removal reads the
 * newest timestamp of the cells to remove, and deletes up to it as soon as later puts surely get higher ones.
 * Increments and conditional writes change a control cell, kw:g, which removals and puts of counters compare.
 *
 * order: stamp. Each put or removal of a record gets a timestamp that the store's clock has not passed yet,
 * the same in all rows of the record. It is acknowledged, and readers see it, when the clock has surely
 * passed the timestamp. A removal writes a cell that reads can see ("gone cell"). Atomic operations: cas.h.
 *
 * While the key rule of a table changes (change/version.h), a table with order: store is ordered in a third
 * way for a while (KW_WRITE_ORDER_RAISED): a put gets a timestamp above all in its row, and is sent when the
 * clocks of all region servers have passed it. A get can read the rows of a record in both placements, and
 * writes to each the newer cells of the other (both.c). Copies, passes and sweeps write rows with their old
 * timestamps.
 *
 * Operations without an ordering are passed on unchanged. So are writes with a timestamp, with two
 * exceptions: puts while a key rule changes (trace.c), and conditional writes in tables with kw:w (cas.h).
 */
#pragma once

#include "store/store.h"

typedef struct kw_order_settings {
    int64_t clock_width_ms;    /* the largest interval of the clock that is still used */
    int64_t max_clock_skew_ms; /* between region servers */
    int64_t late_ms;           /* a timed-out call can still be applied within this time */
    int64_t client_pause_ms;   /* the store's own client repeats a call after this time */
} kw_order_settings;

/* Takes ownership of the inner store. */
kw_store *kw_order_store_new(kw_store *inner, const kw_order_settings *settings);
