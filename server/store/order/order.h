/* A link in the chain of stores that orders writes of records over a store whose servers stamp with clocks of
 * their own (HBase). keyway-policy(5), "Ordering guarantees", says what is promised. The
 * explorations in tests/unit/order show that the rules keep it, and tests/histories records whether the code
 * does.
 *
 * order: store. Puts go to the store as they are, and the server stamps them. A removal asks for the newest
 * timestamp of what it removes, and deletes up to that as soon as later puts surely get more. Increments and
 * conditional writes change a control cell, kw:g, that removals and puts of counters compare.
 *
 * order: stamp. Each record's write gets a timestamp that the store's clock has not passed, the same in all
 * its rows. It is acknowledged, and what it wrote is returned to readers, when the clock surely has passed
 * it. A removal leaves a readable cell.
 *
 * Operations without an ordering, and writes with a timestamp, go through unchanged.
 */
#pragma once

#include "store/store.h"

typedef struct kw_order_settings {
    int64_t clock_width_ms;    /* how well the clock must be known */
    int64_t max_clock_skew_ms; /* between region servers */
    int64_t late_ms;           /* a call that was given up may be applied for so long */
    int64_t client_pause_ms;   /* the store's own client repeats a call after this time */
} kw_order_settings;

/* Takes the inner store over. */
kw_store *kw_order_store_new(kw_store *inner, const kw_order_settings *settings);
