/* The versions of a change: what gateways do with the rows of the old and the new placement while a path gets
 * another key rule. The table in version.c is the only place that defines it; the explorations in
 * tests/unit/change read the same table. Pure.
 *
 *   STORE -> ENTER_... -> 0 -> 1 -> 2 -> 2_SPACED -> 3 -> 4 -> 5 -> 6 -> 7 -> 8 -> LEAVE_... -> STORE_NEW
 *   4 -> 3 -> 2_SPACED -> 2 -> 1 -> 0 -> ENTER_... -> STORE              back from 4 or earlier
 *   6 -> 6_SPACED -> 6_PASS -> 5 -> 4_BACK -> 3 -> 2_SPACED -> 2 -> ...  back from 6 or 5
 *   STORE -> BOTH_OLD -> BOTH_NEW -> BOTH_LAST -> STORE_NEW   a store with one writer (the embedded store)
 *   STORE -> FILLING -> FILLED                                the same, a path is added
 *   STORE -> ENTER_... -> 0 -> FILLING_1 -> FILLING_2 -> FILLED_STAMPED   a path is added in a store with
 *                                     several writers; it is dropped on the way back
 *   HELD -> 0   a table with order: stamp starts or stops allowing increments and conditional writes
 *
 * The numbers are names; the table in version.c says what gateways do in each version.
 *
 * When a path is added, the old placement is that of the path that has all rows, and the new one is that of
 * the added path. Both stay.
 *
 * At any time, calls run under at most two versions, which are neighbors. A gateway runs new calls under the
 * version that the holder of the change has set. It reports this version when its last call under the version
 * before has been answered. The holder sets the next version a millisecond or more after all gateways have
 * reported. So a write never gets the timestamp of one that was acknowledged two versions earlier.
 */
#pragma once

#include "schema/policy.h"

typedef enum kw_change_version_id {
    /* A table with `order: store` before its change, and at its beginning, until all gateways know of it. */
    KW_CHANGE_VERSION_STORE,
    KW_CHANGE_VERSION_ENTER_HELD,
    KW_CHANGE_VERSION_ENTER_RAISED,
    KW_CHANGE_VERSION_ENTER_STAMPED,
    KW_CHANGE_VERSION_0, /* a table with `order: stamp` before its change */
    KW_CHANGE_VERSION_1,
    KW_CHANGE_VERSION_2,        /* the copier runs, then passes that read old cells only */
    KW_CHANGE_VERSION_2_SPACED, /* passes of all cells run */
    KW_CHANGE_VERSION_3,        /* the last pass runs */
    KW_CHANGE_VERSION_4,
    KW_CHANGE_VERSION_5, /* on the way back a pass runs */
    KW_CHANGE_VERSION_6, /* the operator can still go back; on the way back, a pass of old cells runs */
    KW_CHANGE_VERSION_7,
    KW_CHANGE_VERSION_8,        /* a table with `order: stamp` after its change */
    KW_CHANGE_VERSION_6_SPACED, /* on the way back */
    KW_CHANGE_VERSION_6_PASS,   /* passes run */
    KW_CHANGE_VERSION_4_BACK,
    KW_CHANGE_VERSION_LEAVE_STAMPED,
    KW_CHANGE_VERSION_LEAVE_RAISED,
    KW_CHANGE_VERSION_LEAVE_HELD,
    KW_CHANGE_VERSION_STORE_NEW, /* a table with `order: store` after its change */
    /* In a store with one writer, which writes all rows of a record at once. */
    KW_CHANGE_VERSION_BOTH_OLD,  /* the copier runs */
    KW_CHANGE_VERSION_BOTH_NEW,  /* the operator can still go back */
    KW_CHANGE_VERSION_BOTH_LAST, /* cursors of the old placement are rejected */
    KW_CHANGE_VERSION_FILLING,   /* a path is added: the copier runs */
    KW_CHANGE_VERSION_FILLED,    /* a table with the path: gets read the old placement, scans either */
    /* The same in a store with several writers. From FILLED_STAMPED on, the table's order is `stamp`. */
    KW_CHANGE_VERSION_FILLING_1,
    KW_CHANGE_VERSION_FILLING_2, /* the copier runs */
    KW_CHANGE_VERSION_FILLED_STAMPED,
    /* The only version of a change that allows or forbids increments and conditional writes on a table with
     * order: stamp. All writes of the table write kw:w, and no increment or conditional write runs. */
    KW_CHANGE_VERSION_HELD,
    KW_CHANGE_VERSION_COUNT
} kw_change_version_id;

/* Which timestamp a write gets. */
typedef enum kw_change_stamp {
    KW_CHANGE_UNSTAMPED, /* the store's */
    /* The gateway chooses it, above the newest timestamp in the row. A put is sent when every server's clock
     * has passed its stamp: when the store's time is certainly max_clock_skew later. Removals run as with
     * `order: store`, but wait until every server's clock has passed the timestamps that they delete. Gets
     * wait as in tables with order: stamp. */
    KW_CHANGE_RAISED,
    KW_CHANGE_STAMPED /* the gateway chooses it (store/order/order.h) */
} kw_change_stamp;

/* How increments and conditional puts run. Those that write in two steps (CAS, store/order/cas.h) begin with
 * the placement that get operations read. Puts and removals that write one placement after the other write
 * this one last. */
typedef enum kw_change_atomics {
    KW_CHANGE_ATOMICS_NATIVE,  /* one operation of the store, which writes the rows of all placements that put
                         operations write (path/atomic.h) */
    KW_CHANGE_ATOMICS_HELD,    /* they wait, see kw_change_version_holds_atomics */
    KW_CHANGE_ATOMICS_CAS_OLD, /* get, then checkAndMutate on kw:w, in the old placement */
    KW_CHANGE_ATOMICS_CAS_OLD_NEW, /* the same, then the same cells to the new placement */
    KW_CHANGE_ATOMICS_CAS_NEW_OLD,
    KW_CHANGE_ATOMICS_CAS_NEW
} kw_change_atomics;

/* What must be true before a version is set, in addition to every gateway having reported the version before.
 * The work (a copy, a pass, a sweep) runs under the version before, after the grace. Bits. */
enum {
    KW_CHANGE_NEEDS_GRACE = 1,   /* no call that was given up can still be applied (`store.late`) */
    KW_CHANGE_NEEDS_COPY = 2,    /* the rows were copied to the new placement and compared */
    KW_CHANGE_NEEDS_PASS = 4,    /* a pass gave both placements the newest cells of both; of cells with equal
                               stamps, those of the placement that scans read */
    KW_CHANGE_NEEDS_COMMAND = 8, /* the operator has given the command */
    KW_CHANGE_NEEDS_CURSOR_EXPIRY = 16, /* cursors of the old layout have expired */
    KW_CHANGE_NEEDS_SKEW = 32,          /* max_clock_skew has passed since all have reported */
    KW_CHANGE_NEEDS_SWEEP = 64,         /* gone cells were removed (store/control.h) */
    KW_CHANGE_NEEDS_STORE_ORDER = 128   /* the table's order is `store`; other tables stop here */
};

typedef enum kw_change_direction { KW_CHANGE_FORWARD, KW_CHANGE_BACK } kw_change_direction;

typedef struct kw_change_version_step {
    kw_change_version_id to; /* KW_CHANGE_VERSION_COUNT: there is no such step */
    unsigned needs;          /* bits */
} kw_change_version_step;

typedef struct kw_change_version {
    const char *name;
    kw_role old_role;
    kw_role new_role;
    kw_change_atomics atomics;
    kw_change_stamp stamp;
    bool control;       /* writes leave control cells: kw:w, and removals gone cells */
    bool both_complete; /* both placements have every acknowledged write, and cursors of both are accepted */
    /* Not only removals, but also puts are acknowledged only when the next millisecond has begun, so that no
     * later write gets the same timestamp. Then a pass or the write-back of a get cannot hide a later write
     * with equal timestamp. */
    bool waits_for_next_ms;
    kw_change_version_step forward;
    kw_change_version_step back;
} kw_change_version;

const kw_change_version *kw_change_version_of(kw_change_version_id id);

/* With several writers: the version with which a change of a key rule, or an addition of paths, begins, and
 * to which it goes back when it is cancelled. store_order: the table has `order: store`. */
kw_change_version_id kw_change_version_first(bool store_order);

/* True if atomic operations are held. primary: the key rule of the primary path changes, paths are added or
 * dropped, or atomic operations become allowed or forbidden. While the key rule of another path changes, they
 * are never held: they read only the primary path, and write to the changing path as puts do. */
bool kw_change_version_holds_atomics(const kw_change_version *version, bool primary);

/* The order of writes that gateways use for the table under this version. */
kw_write_order kw_change_version_write_order(const kw_change_version *version);

/* The step from this version in a direction; one to KW_CHANGE_VERSION_COUNT if there is none. */
kw_change_version_step kw_change_version_next(kw_change_version_id id, kw_change_direction direction);
/* The same for a change that adds a path in a store with several writers. */
kw_change_version_step kw_change_version_next_adding(kw_change_version_id id, kw_change_direction direction);

/* The first version of a change in a store with one writer. */
#define KW_CHANGE_VERSION_ONE_WRITER_FIRST KW_CHANGE_VERSION_BOTH_OLD

/* True for FILLING and FILLED: the versions of a change that adds a path in a store with one writer. */
bool kw_change_version_adds_path(kw_change_version_id id);

/* False if no version has the name. */
bool kw_change_version_find(const char *name, kw_change_version_id *ret_id);
