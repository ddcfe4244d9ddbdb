/* A store that wraps another store and orders the writes of records. It is needed for stores whose servers
 * assign timestamps by their own clocks (HBase). keyway-ordering(7) describes the guarantees. The
 * explorations in tests/unit/order check that the rules keep them, and tests/histories checks the code.
 *
 * order: store. Puts are passed on unchanged, and the server assigns their timestamps. A removal reads the
 * newest timestamp of the cells to remove, and deletes up to it as soon as later puts surely get higher ones.
 * Increments and conditional writes change a control cell, kw:g, which removals and puts of counters compare.
 *
 * order: stamp. Each put or removal of a record gets a timestamp that the store's clock has not passed yet,
 * the same in all rows of the record. It is acknowledged, and readers see it, when the clock has surely
 * passed the timestamp. A removal writes a cell that reads can see ("gone cell"). Atomic operations: cas.h.
 *
 * While the key rule of a table changes (change/ladder.h), a table with order: store is ordered in a third
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

/* The gateways know the store's clock as an interval, and a call waits for as long as the interval is wide.
 * While it is wider than this, calls get UNAVAILABLE at once instead: a slow network or a busy server makes
 * the interval wide for a moment, and then it is better to wait. All gateways have the same value, because a
 * change of a key rule waits until timestamps of all of them have passed. */
#define KW_ORDER_CLOCK_WIDTH_MS INT64_C(2000)

typedef struct kw_order_settings {
    int64_t clock_width_ms;    /* KW_ORDER_CLOCK_WIDTH_MS; tests set others */
    int64_t max_clock_skew_ms; /* between region servers */
    int64_t late_ms;           /* a timed-out call can still be applied within this time */
    int64_t client_pause_ms;   /* the store's own client repeats a call after this time */
} kw_order_settings;

/* Takes ownership of the inner store. */
kw_store *kw_order_store_new(kw_store *inner, const kw_order_settings *settings);
