/* See chain.h. ARCHITECTURE.md, "What a change of a key rule does", has the same table with reasons. */
#include "change/chain.h"

#include <glib.h>

/* clang-format off */
/* Roles: order of puts, order of removals, whether get operations read it, whether scans do. */
#define ALL    {1, 1, true, true}
#define NONE   {0, 0, false, false}
#define FIRST  {1, 1, false, false} /* of two placements: written first */
#define READ   {2, 2, true, true}   /* of two placements: written last, and read */

/* control, both_complete, spaced */
#define BARE             false, false, false
#define CONTROL          true, false, false
#define SPACED           true, false, true
#define COMPLETE         true, true, false
#define BOTH_COMPLETE    false, true, false
#define COMPLETE_SPACED  true, true, true

/* Steps: the next version, and what it needs. */
#define STEP(id, needs)  {KW_CHAIN_##id, needs}
#define END      {KW_CHAIN_COUNT, 0}
#define NOTHING  0
#define GRACE    KW_CHAIN_GRACE
#define COPIED   KW_CHAIN_COPIED
#define PASSED   KW_CHAIN_PASSED
#define ORDERED  KW_CHAIN_ORDERED
#define EXPIRED  KW_CHAIN_CURSORS_EXPIRED
#define SKEW     KW_CHAIN_SKEW
#define SWEPT    KW_CHAIN_SWEPT
#define STORE    KW_CHAIN_STORE_ORDER

/* name, role of the old placement, role of the new one, atomic operations, timestamps, flags,
 * step forward, step back */
static const kw_chain_version versions[KW_CHAIN_COUNT] = {
    [KW_CHAIN_STORE] = {"store", ALL, NONE, KW_CHAIN_NATIVE, KW_CHAIN_UNSTAMPED, BARE,
        STEP(ENTER_HELD, ORDERED), END},
    [KW_CHAIN_ENTER_HELD] = {"enter-held", ALL, NONE, KW_CHAIN_HELD, KW_CHAIN_UNSTAMPED, BARE,
        STEP(ENTER_RAISED, GRACE), STEP(STORE, NOTHING)},
    [KW_CHAIN_ENTER_RAISED] = {"enter-raised", ALL, NONE, KW_CHAIN_HELD, KW_CHAIN_RAISED, BARE,
        STEP(ENTER_STAMPED, GRACE | SKEW), STEP(ENTER_HELD, GRACE | SKEW | SWEPT)},
    [KW_CHAIN_ENTER_STAMPED] = {"enter-stamped", ALL, NONE, KW_CHAIN_HELD, KW_CHAIN_STAMPED, CONTROL,
        STEP(0, NOTHING), STEP(ENTER_RAISED, NOTHING)},

    [KW_CHAIN_0] = {"0", ALL, NONE, KW_CHAIN_CAS_OLD, KW_CHAIN_STAMPED, CONTROL,
        STEP(1, ORDERED), STEP(ENTER_STAMPED, STORE | GRACE | SWEPT)},
    [KW_CHAIN_1] = {"1", {1, 2, true, true}, {0, 1, false, false}, KW_CHAIN_HELD, KW_CHAIN_STAMPED, CONTROL,
        STEP(2, GRACE), STEP(0, NOTHING)},
    [KW_CHAIN_2] = {"2", READ, FIRST, KW_CHAIN_CAS_OLD_NEW, KW_CHAIN_STAMPED, CONTROL,
        STEP(2_SPACED, GRACE | COPIED), STEP(1, NOTHING)},
    [KW_CHAIN_2_SPACED] = {"2-spaced", READ, FIRST, KW_CHAIN_CAS_OLD_NEW, KW_CHAIN_STAMPED, SPACED,
        STEP(3, GRACE | PASSED | ORDERED), STEP(2, NOTHING)},
    [KW_CHAIN_3] = {"3", READ, FIRST, KW_CHAIN_HELD, KW_CHAIN_STAMPED, SPACED,
        STEP(4, GRACE | PASSED), STEP(2_SPACED, NOTHING)},
    [KW_CHAIN_4] = {"4", READ, {1, 1, true, false}, KW_CHAIN_HELD, KW_CHAIN_STAMPED, COMPLETE_SPACED,
        STEP(5, NOTHING), STEP(3, NOTHING)},
    [KW_CHAIN_5] = {"5", FIRST, READ, KW_CHAIN_HELD, KW_CHAIN_STAMPED, COMPLETE_SPACED,
        STEP(6, NOTHING), STEP(4_BACK, GRACE | PASSED)},
    [KW_CHAIN_6] = {"6", FIRST, READ, KW_CHAIN_CAS_NEW_OLD, KW_CHAIN_STAMPED, COMPLETE,
        STEP(7, ORDERED | EXPIRED), STEP(6_SPACED, ORDERED)},
    [KW_CHAIN_7] = {"7", FIRST, READ, KW_CHAIN_HELD, KW_CHAIN_STAMPED, COMPLETE,
        STEP(8, GRACE), END},
    [KW_CHAIN_8] = {"8", NONE, ALL, KW_CHAIN_CAS_NEW, KW_CHAIN_STAMPED, CONTROL,
        STEP(LEAVE_STAMPED, STORE | GRACE | SWEPT), END},

    [KW_CHAIN_6_SPACED] = {"6-spaced", FIRST, READ, KW_CHAIN_CAS_NEW_OLD, KW_CHAIN_STAMPED, COMPLETE_SPACED,
        STEP(6, NOTHING), STEP(6_PASS, NOTHING)},
    [KW_CHAIN_6_PASS] = {"6-pass", FIRST, READ, KW_CHAIN_CAS_NEW_OLD, KW_CHAIN_STAMPED, COMPLETE_SPACED,
        STEP(6_SPACED, NOTHING), STEP(5, GRACE | PASSED)},
    [KW_CHAIN_4_BACK] = {"4-back", {1, 1, true, false}, READ,
        KW_CHAIN_HELD, KW_CHAIN_STAMPED, COMPLETE_SPACED,
        STEP(5, NOTHING), STEP(3, NOTHING)},

    [KW_CHAIN_LEAVE_STAMPED] = {"leave-stamped", NONE, ALL, KW_CHAIN_HELD, KW_CHAIN_STAMPED, CONTROL,
        STEP(LEAVE_RAISED, NOTHING), END},
    [KW_CHAIN_LEAVE_RAISED] = {"leave-raised", NONE, ALL, KW_CHAIN_HELD, KW_CHAIN_RAISED, BARE,
        STEP(LEAVE_HELD, GRACE | SKEW | SWEPT), END},
    [KW_CHAIN_LEAVE_HELD] = {"leave-held", NONE, ALL, KW_CHAIN_HELD, KW_CHAIN_UNSTAMPED, BARE,
        STEP(STORE_NEW, NOTHING), END},
    [KW_CHAIN_STORE_NEW] = {"store-new", NONE, ALL, KW_CHAIN_NATIVE, KW_CHAIN_UNSTAMPED, BARE,
        END, END},

    /* Atomic operations read the placement that get operations read, and write both in one commit. */
    [KW_CHAIN_BOTH_OLD] = {"both-old", ALL, {1, 1, false, false}, KW_CHAIN_NATIVE, KW_CHAIN_UNSTAMPED, BARE,
        STEP(BOTH_NEW, COPIED | ORDERED), STEP(STORE, ORDERED)},
    [KW_CHAIN_BOTH_NEW] = {"both-new", {1, 1, false, false}, ALL, KW_CHAIN_NATIVE, KW_CHAIN_UNSTAMPED, BOTH_COMPLETE,
        STEP(BOTH_LAST, ORDERED | EXPIRED), STEP(BOTH_OLD, ORDERED)},
    [KW_CHAIN_BOTH_LAST] = {"both-last", {1, 1, false, false}, ALL, KW_CHAIN_NATIVE, KW_CHAIN_UNSTAMPED, BARE,
        STEP(STORE_NEW, NOTHING), END},

    /* A path is dropped from FILLED while no call runs, so this is not a step of a change. */
    [KW_CHAIN_FILLING] = {"filling", ALL, {1, 1, false, false}, KW_CHAIN_NATIVE, KW_CHAIN_UNSTAMPED, BARE,
        STEP(FILLED, COPIED), STEP(STORE, ORDERED)},
    [KW_CHAIN_FILLED] = {"filled", ALL, {1, 1, false, true}, KW_CHAIN_NATIVE, KW_CHAIN_UNSTAMPED, BOTH_COMPLETE,
        END, END},

    /* Two versions before the copy are spaced: what a call of the first one was acknowledged for has a lower
     * timestamp than every write of a call that runs beside the copy. */
    [KW_CHAIN_FILLING_1] = {"filling-1", {1, 2, true, true}, {0, 1, false, false}, KW_CHAIN_CAS_OLD, KW_CHAIN_STAMPED, SPACED,
        STEP(FILLING_2, NOTHING), STEP(0, NOTHING)},
    [KW_CHAIN_FILLING_2] = {"filling-2", READ, FIRST, KW_CHAIN_CAS_OLD_NEW, KW_CHAIN_STAMPED, SPACED,
        STEP(FILLED_STAMPED, GRACE | COPIED), STEP(FILLING_1, NOTHING)},
    [KW_CHAIN_FILLED_STAMPED] = {"filled-stamped", ALL, {1, 1, false, true}, KW_CHAIN_CAS_OLD_NEW, KW_CHAIN_STAMPED, COMPLETE,
        END, STEP(FILLING_2, ORDERED)},
};
/* clang-format on */

const kw_chain_version *
kw_chain_version_of(kw_chain_id id)
{
    g_assert((unsigned)id < KW_CHAIN_COUNT);
    return &versions[id];
}

bool
kw_chain_holds_atomics(const kw_chain_version *version, bool primary)
{
    return primary && version->atomics == KW_CHAIN_HELD;
}

kw_write_order
kw_chain_order(const kw_chain_version *version)
{
    switch (version->stamp) {
    case KW_CHAIN_UNSTAMPED:
        return KW_WRITE_ORDER_STORE;
    case KW_CHAIN_RAISED:
        return KW_WRITE_ORDER_RAISED;
    case KW_CHAIN_STAMPED:
        return KW_WRITE_ORDER_STAMP;
    }
    g_assert_not_reached();
}

kw_chain_step
kw_chain_next(kw_chain_id id, kw_chain_direction direction)
{
    const kw_chain_version *version = kw_chain_version_of(id);
    return direction == KW_CHAIN_FORWARD ? version->forward : version->back;
}

kw_chain_step
kw_chain_next_adding(kw_chain_id id, kw_chain_direction direction)
{
    bool leaves = id == KW_CHAIN_0 && direction == KW_CHAIN_FORWARD;
    return leaves ? (kw_chain_step){KW_CHAIN_FILLING_1, ORDERED} : kw_chain_next(id, direction);
}

bool
kw_chain_adds_path(kw_chain_id id)
{
    return id == KW_CHAIN_FILLING || id == KW_CHAIN_FILLED;
}

bool
kw_chain_find(const char *name, kw_chain_id *ret_id)
{
    for (unsigned id = 0; id < KW_CHAIN_COUNT; id++) {
        if (g_strcmp0(versions[id].name, name) == 0) {
            *ret_id = (kw_chain_id)id;
            return true;
        }
    }
    return false;
}
