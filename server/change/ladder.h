/* The ladder of a change: what gateways do with the rows of the old and the new placement while a path gets
 * another key rule. The table in ladder.c is the only place that defines it; the explorations in
 * tests/unit/change read the same table. Pure.
 *
 *   side old:                                    side new:
 *   queries read the old placement               queries read the new placement
 *
 *       get-both   ---- the sides change ---->    get-both
 *       last-pass                                 last-pass
 *       spaced                                    spaced
 *       spacing                                   spacing
 *       both       <- the operator can wait ->    both
 *       opening                                   closing       from here on, there is no way back
 *       alone      a table with order: stamp      alone
 *       stamped                                   stamped
 *       raised                                    raised
 *       held                                      held
 *       unstamped  a table with order: store      unstamped
 *
 * A change climbs on side old, changes sides at the top, and climbs down on side new. `reverse` climbs up
 * again on side new, and down to `both` on side old. `cancel` climbs down on side old. Each rung does the
 * same on both sides, with the two placements exchanged. Only the rung below `both` differs: ladder.c says
 * why.
 *
 * A hint path (hint/README.md) is added, and gets another key rule, with the order of writes that the table
 * has. A path is dropped on the way back of an addition:
 *
 *   added     unstamped-old --> marked-old ---> both-old --> filled-old                   (order: store)
 *             alone-old ------> hinting-old --> both-old --> filled-old                   (order: stamp)
 *   changed   unstamped-old ------------------> both-old --> both-new --> closing-new --> unstamped-new
 *             alone-old ------> hinting-old --> both-old --> both-new --> closing-new --> alone-new
 *
 * From hinting or both on, puts write the hints of the new placement. The hints of all rows are written on
 * both-old.
 *
 * Other changes use the same rungs, and leave some out. When a path is added, the old placement is that of
 * the path that has all rows, and the new one is that of the added path. Both stay, so the change does not
 * leave side old.
 *
 * At any time, calls run at most at two places, which are neighbors. A gateway runs new calls at the place
 * that the holder of the change has set. It reports this place when its last call at the place before has
 * been answered. The holder sets the next place a millisecond or more after all gateways have reported. So a
 * write never gets the timestamp of one that was acknowledged two places earlier.
 */
#pragma once

#include "schema/policy.h"

typedef enum kw_change_rung {
    KW_RUNG_UNSTAMPED, /* the store sets the timestamps. A table with `order: store` */
    KW_RUNG_HELD,      /* atomic operations wait */
    KW_RUNG_RAISED,    /* gateways choose timestamps above those in the row */
    KW_RUNG_STAMPED,   /* gateways choose timestamps, and all writes leave control cells */
    KW_RUNG_ALONE,     /* only one placement is used. A table with `order: stamp` */
    KW_RUNG_OPENING,   /* side old: removals reach the other placement, puts do not */
    KW_RUNG_CLOSING,   /* side new: cursors of the other placement are rejected */
    KW_RUNG_MARKED,    /* a hint path is added: all writes leave kw:w, if the table allows partial puts */
    KW_RUNG_HINTING,   /* puts write hints, but a put without them can get a later timestamp */
    KW_RUNG_BOTH,      /* writes reach both placements. The copier runs */
    KW_RUNG_SPACING,   /* the next write does not get the timestamp of an acknowledged one */
    KW_RUNG_SPACED,    /* the same, and no write of `both` is in progress. Passes run */
    KW_RUNG_LAST_PASS, /* atomic operations wait, and puts write the placement that is read last */
    KW_RUNG_GET_BOTH,  /* gets of single records read both placements */
    KW_RUNG_FILLED,    /* a path is added, and queries can use it */
    KW_RUNGS
} kw_change_rung;

/* A rung on a side. The numbers follow the way of a change: those on side old from the lowest rung to the
 * highest, then those on side new from the highest to the lowest. */
typedef unsigned kw_change_place;
#define KW_OLD(rung) ((kw_change_place)KW_RUNG_##rung)
#define KW_NEW(rung) ((kw_change_place)(2 * KW_RUNGS - 1 - KW_RUNG_##rung))
#define KW_PLACES ((kw_change_place)(2 * KW_RUNGS))
#define KW_PLACE_NONE KW_PLACES

/* Which places a change passes. */
typedef enum kw_change_ladder {
    KW_LADDER_MOVE,             /* a path gets another key rule */
    KW_LADDER_ADD,              /* paths are added; a drop is the way back */
    KW_LADDER_ADD_HINTS,        /* hint paths are added to a table with order: store */
    KW_LADDER_ADD_HINTS_STAMP,  /* the same, order: stamp */
    KW_LADDER_MOVE_HINTS,       /* a hint path gets another key rule in a table with order: store */
    KW_LADDER_MOVE_HINTS_STAMP, /* the same, order: stamp */
    KW_LADDER_ATOMICS,          /* increments and conditional writes become allowed or forbidden */
    KW_LADDER_MOVE_ONE_WRITER,  /* in the embedded store, which writes all rows of a record at once */
    KW_LADDER_ADD_ONE_WRITER,
    KW_LADDERS
} kw_change_ladder;

/* What must be true before the next place is set, in addition to every gateway having reported the present
 * one. The work (a copy, a pass, a sweep) runs at the present place, after the grace. Bits. */
enum {
    KW_CHANGE_NEEDS_GRACE = 1, /* no call that was given up can still be applied (`store.late`) */
    KW_CHANGE_NEEDS_COPY = 2,  /* the rows were copied to the new placement and compared */
    KW_CHANGE_NEEDS_PASS = 4,  /* a pass gave both placements the newest cells of both; of cells with equal
                             stamps, those of the placement that scans read */
    KW_CHANGE_NEEDS_CURSOR_EXPIRY = 8, /* cursors of the old layout have expired */
    KW_CHANGE_NEEDS_SKEW = 16,         /* max_clock_skew has passed since all have reported */
    KW_CHANGE_NEEDS_SWEEP = 32,        /* gone cells were removed (store/control.h) */
    KW_CHANGE_NEEDS_CLOCK = 64 /* the store's clock has passed the stamps of all calls at the place before */
};

typedef enum kw_change_direction { KW_CHANGE_FORWARD, KW_CHANGE_BACK } kw_change_direction;

typedef struct kw_change_move {
    kw_change_place to; /* KW_PLACE_NONE: there is no such move */
    unsigned needs;     /* bits */
} kw_change_move;

/* What gateways do at a place. */
typedef struct kw_change_rules {
    kw_role old_role;
    kw_role new_role;
    /* Except keeps_gone (kw_change_regime_of). RAISED: the gateway chooses the timestamp, above the newest
     * one in the row. A put is sent when every server's clock has passed its stamp: when the store's time is
     * certainly max_clock_skew later. Removals run as with `order: store`, but wait until every server's
     * clock has passed the timestamps that they delete. Gets wait as in tables with order: stamp. STAMP:
     * writes leave control cells: kw:w, and removals gone cells. */
    kw_regime regime;   /* of ladders of hints: not used, the table keeps its own */
    bool both_complete; /* both placements have every acknowledged write, and cursors of both are accepted */
} kw_change_rules;

/* The place must be one of the ladder. */
kw_change_rules kw_change_rules_at(kw_change_ladder ladder, kw_change_place place);
bool kw_change_ladder_has(kw_change_ladder ladder, kw_change_place place);
kw_change_move kw_change_move_from(kw_change_ladder ladder, kw_change_place place,
                                   kw_change_direction direction);

/* Where the rows are copied. */
kw_change_place kw_change_copy_place(kw_change_ladder ladder);
/* Where a change begins, and where it ends if it is cancelled. store_order: the table has `order: store`.
 * A drop and a change of atomics begin elsewhere: at their only rung, and where the copy of an addition runs.
 */
kw_change_place kw_change_first_place(bool store_order);
/* Where a change of a key rule ends. */
kw_change_place kw_change_last_place(bool store_order);

/* For example "both-old". False if no place has the name. */
const char *kw_change_place_name(kw_change_place place);
bool kw_change_place_find(const char *name, kw_change_place *ret_place);
