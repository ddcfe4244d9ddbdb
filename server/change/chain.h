/* The versions of a change: what gateways do with the rows of the old and the new placement while a path gets
 * another key rule. The table in chain.c is the only place that defines it; the explorations in
 * tests/unit/change read the same table. Pure.
 *
 *   STORE -> ENTER_... -> 0 -> 1 -> 2 -> 2_SPACED -> 3 -> 4 -> 5 -> 6 -> 7 -> 8 -> LEAVE_... -> STORE_NEW
 *   4 -> 3 -> 2_SPACED -> 2 -> 1 -> 0 -> ENTER_... -> STORE              back from 4 or earlier
 *   6 -> 6_SPACED -> 6_PASS -> 5 -> 4_BACK -> 3 -> 2_SPACED -> 2 -> ...  back from 6 or 5
 *   STORE -> BOTH_OLD -> BOTH_NEW -> BOTH_LAST -> STORE_NEW   a store with one writer (the embedded store)
 *   STORE -> FILLING -> FILLED                                the same, a path is added
 *   STORE -> ENTER_... -> 0 -> FILLING_1 -> FILLING_2 -> FILLED_STAMPED   a path is added in a store with
 *                                     several writers; it is dropped on the way back
 *
 * The numbers are names; the table in chain.c says what gateways do in each version.
 *
 * When a path is added, the old placement is that of the path that has all rows, and the new one is that of
 * the added path. Both stay.
 *
 * At any time, calls run under at most two versions, which are neighbors: a gateway runs new calls under the
 * version that the coordinator set, and reports it when its last call under the version before has been
 * answered. The coordinator sets the next version a millisecond or more after all gateways have reported. So
 * a write never gets the timestamp of one that was acknowledged two versions earlier.
 */
#pragma once

#include "schema/policy.h"

typedef enum kw_chain_id {
    KW_CHAIN_STORE, /* a table with `order: store` before its change */
    KW_CHAIN_ENTER_HELD,
    KW_CHAIN_ENTER_RAISED,
    KW_CHAIN_ENTER_STAMPED,
    KW_CHAIN_0, /* a table with `order: stamp` before its change */
    KW_CHAIN_1,
    KW_CHAIN_2, /* the copier runs */
    KW_CHAIN_2_SPACED,
    KW_CHAIN_3, /* the pass runs */
    KW_CHAIN_4,
    KW_CHAIN_5, /* on the way back a pass runs */
    KW_CHAIN_6, /* the operator can still go back */
    KW_CHAIN_7,
    KW_CHAIN_8,        /* a table with `order: stamp` after its change */
    KW_CHAIN_6_SPACED, /* on the way back */
    KW_CHAIN_6_PASS,   /* passes run */
    KW_CHAIN_4_BACK,
    KW_CHAIN_LEAVE_STAMPED,
    KW_CHAIN_LEAVE_RAISED,
    KW_CHAIN_LEAVE_HELD,
    KW_CHAIN_STORE_NEW, /* a table with `order: store` after its change */
    /* In a store with one writer, which writes all rows of a record at once. */
    KW_CHAIN_BOTH_OLD,  /* the copier runs */
    KW_CHAIN_BOTH_NEW,  /* the operator can still go back */
    KW_CHAIN_BOTH_LAST, /* cursors of the old placement are rejected */
    KW_CHAIN_FILLING,   /* a path is added: the copier runs */
    KW_CHAIN_FILLED,    /* a table with the path: gets read the old placement, scans either */
    /* The same in a store with several writers. The table's order is `stamp` from then on. */
    KW_CHAIN_FILLING_1,
    KW_CHAIN_FILLING_2, /* the copier runs */
    KW_CHAIN_FILLED_STAMPED,
    KW_CHAIN_COUNT
} kw_chain_id;

/* Which timestamp a write gets. */
typedef enum kw_chain_stamp {
    KW_CHAIN_UNSTAMPED, /* the store's */
    /* The gateway's clock, and above the newest timestamp in the row. A put is sent when every server's clock
     * has passed its stamp (earliest >= stamp + max_clock_skew). Removals are those of `order: store`, and
     * wait in the same way for what they delete. Gets wait as those of stamped tables do. */
    KW_CHAIN_RAISED,
    KW_CHAIN_STAMPED /* the gateway's clock */
} kw_chain_stamp;

/* How increments and conditional puts run. Those that write in two steps (CAS, store/order/cas.h) do it in
 * the opposite order of puts: the placement that get operations read comes first. */
typedef enum kw_chain_atomics {
    KW_CHAIN_NATIVE,      /* one operation of the store, which writes the rows of all placements that put
                             operations write (path/atomic.h) */
    KW_CHAIN_HELD,        /* they wait, see kw_chain_holds_atomics */
    KW_CHAIN_CAS_OLD,     /* get, then checkAndMutate on kw:w, in the old placement */
    KW_CHAIN_CAS_OLD_NEW, /* the same, then the same cells to the new placement */
    KW_CHAIN_CAS_NEW_OLD,
    KW_CHAIN_CAS_NEW
} kw_chain_atomics;

/* What must be true before a version is set, in addition to every gateway having reported the version before.
 * The work (a copy, a pass, a sweep) runs under the version before, after the grace. Bits. */
enum {
    KW_CHAIN_GRACE = 1,   /* no call that was given up can still be applied (`store.late`) */
    KW_CHAIN_COPIED = 2,  /* the rows were copied to the new placement and compared */
    KW_CHAIN_PASSED = 4,  /* a pass gave both placements the newest cells of both; of cells with equal
                             stamps, those of the placement that put operations write last */
    KW_CHAIN_ORDERED = 8, /* the operator has given the command */
    KW_CHAIN_CURSORS_EXPIRED = 16, /* cursors of the old layout have expired */
    KW_CHAIN_SKEW = 32,            /* max_clock_skew has passed since all have reported */
    KW_CHAIN_SWEPT = 64,           /* gone cells were removed (store/control.h) */
    KW_CHAIN_STORE_ORDER = 128     /* the table's order is `store`; other tables stop here */
};

typedef enum kw_chain_direction { KW_CHAIN_FORWARD, KW_CHAIN_BACK } kw_chain_direction;

typedef struct kw_chain_step {
    kw_chain_id to; /* KW_CHAIN_COUNT: there is no such step */
    unsigned needs; /* bits */
} kw_chain_step;

typedef struct kw_chain_version {
    const char *name;
    kw_role old_role;
    kw_role new_role;
    kw_chain_atomics atomics;
    kw_chain_stamp stamp;
    bool control;       /* writes leave control cells: kw:w, and removals gone cells */
    bool both_complete; /* both placements have every acknowledged write, and cursors of both are accepted */
    bool spaced; /* puts, too, are acknowledged only when the next millisecond has begun, so that no later
                    write gets the same timestamp. Then a pass or the write-back of a get cannot hide a
                    later write with equal timestamp */
    kw_chain_step forward;
    kw_chain_step back;
} kw_chain_version;

const kw_chain_version *kw_chain_version_of(kw_chain_id id);

/* True if atomic operations are held. primary: the key rule of the primary path changes, or paths are added
 * or dropped. While the key rule of another path changes, they are never held: they read only the
 * primary path, and write to the changing path as puts do. */
bool kw_chain_holds_atomics(const kw_chain_version *version, bool primary);

/* The order of writes that gateways use for the table under this version. */
kw_write_order kw_chain_order(const kw_chain_version *version);

/* The step from this version in a direction; one to KW_CHAIN_COUNT if there is none. */
kw_chain_step kw_chain_next(kw_chain_id id, kw_chain_direction direction);
/* The same for a change that adds a path in a store with several writers. */
kw_chain_step kw_chain_next_adding(kw_chain_id id, kw_chain_direction direction);

/* The first version of a change in a store with one writer. */
#define KW_CHAIN_ONE_WRITER_FIRST KW_CHAIN_BOTH_OLD

/* True for FILLING and FILLED: the versions of a change that adds a path in a store with one writer. */
bool kw_chain_adds_path(kw_chain_id id);

/* False if no version has the name. */
bool kw_chain_find(const char *name, kw_chain_id *ret_id);
