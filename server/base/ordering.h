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

/* How increments and conditional writes run. */
typedef enum kw_atomics {
    KW_ATOMICS_OFF,    /* they are refused */
    KW_ATOMICS_NATIVE, /* one operation of the store, which writes the rows of all placements that put
                          operations write (path/atomic.h) */
    /* Get, then checkAndMutate on kw:w (store/order/cas.h), in the placement that get operations read; then
     * the same cells to the other placement, if puts write it. Puts and removals that write one placement
     * after the other write the placement that is read last. */
    KW_ATOMICS_CAS,
    KW_ATOMICS_HELD /* they wait (service/atomic_hold.h). All writes leave control cells as if they ran */
} kw_atomics;

/* How the rows of a table are written and read at present. While a change of the table is under way, its
 * place on the ladder defines the regime (change/ladder.h). */
typedef struct kw_regime {
    kw_write_order order;
    kw_atomics atomics;
    /* Not only removals, but also puts are acknowledged only when the next millisecond has begun, so that no
     * later write gets the same timestamp. Then a pass or the write-back of a get cannot hide a later write
     * with equal timestamp. */
    bool waits_for_next_ms;
    bool keeps_gone; /* the gone cells of removals do not expire */
    /* With `order: store` and atomics, in a table with hint paths: every write except increments leaves kw:w,
     * so that a derived write notices it. */
    bool marks;
} kw_regime;

/* How atomic operations run where they are allowed and do not wait. */
static inline kw_atomics
kw_atomics_of_order(kw_write_order order)
{
    return order == KW_WRITE_ORDER_STORE ? KW_ATOMICS_NATIVE : KW_ATOMICS_CAS;
}

static inline bool
kw_regime_equal(kw_regime a, kw_regime b)
{
    return a.order == b.order && a.atomics == b.atomics && a.waits_for_next_ms == b.waits_for_next_ms &&
           a.keeps_gone == b.keeps_gone && a.marks == b.marks;
}

/* The time after which the kw:w of a removal expires, for store.late. If the removal comes between the read
 * and the write of an atomic operation, its kw:w must still exist when the write is applied. The removal and
 * the write can both be applied late_ms after they were sent. The windows (KW_ORDER_WINDOW_MS of store/order)
 * leave time for pauses and for differences between clocks. */
static inline int64_t
kw_writer_ttl_ms(int64_t late_ms)
{
    return 2 * late_ms + INT64_C(3) * 30000;
}

/* Of one table; operations on its rows point to it. It lives as long as the policy. */
typedef struct kw_ordering {
    kw_regime regime;
    bool counters;   /* some fields are counters */
    kw_bytes family; /* of control cells */
} kw_ordering;
