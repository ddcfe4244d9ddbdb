/* See version.h. ARCHITECTURE.md, "What a change of a key rule does", has the same table with reasons. */
#include "change/version.h"

#include <glib.h>

/* clang-format off */
/* Roles: order of puts, order of removals, whether get operations read it, whether scans do. */
#define ALL    {1, 1, true, true}
#define NONE   {0, 0, false, false}
#define FIRST  {1, 1, false, false} /* of two placements: written first */
#define READ   {2, 2, true, true}   /* of two placements: written last, and read */
#define READ_AT_ONCE  {1, 2, true, true} /* the same, but puts write both at once */

/* control, both_complete, waits_for_next_ms */
#define BARE             false, false, false
#define CONTROL          true, false, false
#define SPACED           true, false, true
#define COMPLETE         true, true, false
#define BOTH_COMPLETE    false, true, false
#define COMPLETE_SPACED  true, true, true

/* Steps: the next version, and what it needs. */
#define STEP(id, needs)  {KW_CHANGE_VERSION_##id, needs}
#define END      {KW_CHANGE_VERSION_COUNT, 0}
#define NOTHING  0
#define GRACE    KW_CHANGE_NEEDS_GRACE
#define COPY     KW_CHANGE_NEEDS_COPY
#define PASS     KW_CHANGE_NEEDS_PASS
#define COMMAND  KW_CHANGE_NEEDS_COMMAND
#define EXPIRY   KW_CHANGE_NEEDS_CURSOR_EXPIRY
#define SKEW     KW_CHANGE_NEEDS_SKEW
#define SWEEP    KW_CHANGE_NEEDS_SWEEP
#define STORE    KW_CHANGE_NEEDS_STORE_ORDER

/* In 3, 4, 5 and 4-back, puts write one placement after the other. Otherwise readers could see a put in one
 * placement, and miss it later when they read the other one (ARCHITECTURE.md).
 *
 * name, role of the old placement, role of the new one, atomic operations, timestamps, flags,
 * step forward, step back */
static const kw_change_version versions[KW_CHANGE_VERSION_COUNT] = {
    [KW_CHANGE_VERSION_STORE] = {"store", ALL, NONE, KW_CHANGE_ATOMICS_NATIVE, KW_CHANGE_UNSTAMPED, BARE,
        STEP(ENTER_HELD, COMMAND), END},
    [KW_CHANGE_VERSION_ENTER_HELD] = {"enter-held", ALL, NONE, KW_CHANGE_ATOMICS_HELD, KW_CHANGE_UNSTAMPED, BARE,
        STEP(ENTER_RAISED, GRACE), STEP(STORE, NOTHING)},
    [KW_CHANGE_VERSION_ENTER_RAISED] = {"enter-raised", ALL, NONE, KW_CHANGE_ATOMICS_HELD, KW_CHANGE_RAISED, BARE,
        STEP(ENTER_STAMPED, GRACE | SKEW), STEP(ENTER_HELD, GRACE | SKEW | SWEEP)},
    [KW_CHANGE_VERSION_ENTER_STAMPED] = {"enter-stamped", ALL, NONE, KW_CHANGE_ATOMICS_HELD, KW_CHANGE_STAMPED, CONTROL,
        STEP(0, NOTHING), STEP(ENTER_RAISED, NOTHING)},

    [KW_CHANGE_VERSION_0] = {"0", ALL, NONE, KW_CHANGE_ATOMICS_CAS_OLD, KW_CHANGE_STAMPED, CONTROL,
        STEP(1, COMMAND), STEP(ENTER_STAMPED, STORE | GRACE | SWEEP)},
    [KW_CHANGE_VERSION_1] = {"1", {1, 2, true, true}, {0, 1, false, false}, KW_CHANGE_ATOMICS_HELD, KW_CHANGE_STAMPED, CONTROL,
        STEP(2, GRACE), STEP(0, NOTHING)},
    [KW_CHANGE_VERSION_2] = {"2", READ_AT_ONCE, FIRST, KW_CHANGE_ATOMICS_CAS_OLD_NEW, KW_CHANGE_STAMPED, CONTROL,
        STEP(2_SPACED, GRACE | COPY | PASS | COMMAND), STEP(1, NOTHING)},
    [KW_CHANGE_VERSION_2_SPACED] = {"2-spaced", READ_AT_ONCE, FIRST, KW_CHANGE_ATOMICS_CAS_OLD_NEW, KW_CHANGE_STAMPED, SPACED,
        STEP(3, GRACE | PASS), STEP(2, NOTHING)},
    [KW_CHANGE_VERSION_3] = {"3", READ, FIRST, KW_CHANGE_ATOMICS_HELD, KW_CHANGE_STAMPED, SPACED,
        STEP(4, GRACE | PASS), STEP(2_SPACED, NOTHING)},
    [KW_CHANGE_VERSION_4] = {"4", READ, {1, 1, true, false}, KW_CHANGE_ATOMICS_HELD, KW_CHANGE_STAMPED, COMPLETE_SPACED,
        STEP(5, NOTHING), STEP(3, NOTHING)},
    [KW_CHANGE_VERSION_5] = {"5", FIRST, READ, KW_CHANGE_ATOMICS_HELD, KW_CHANGE_STAMPED, COMPLETE_SPACED,
        STEP(6, NOTHING), STEP(4_BACK, GRACE | PASS)},
    [KW_CHANGE_VERSION_6] = {"6", FIRST, READ_AT_ONCE, KW_CHANGE_ATOMICS_CAS_NEW_OLD, KW_CHANGE_STAMPED, COMPLETE,
        STEP(7, COMMAND | EXPIRY), STEP(6_SPACED, GRACE | PASS | COMMAND)},
    [KW_CHANGE_VERSION_7] = {"7", FIRST, READ_AT_ONCE, KW_CHANGE_ATOMICS_HELD, KW_CHANGE_STAMPED, COMPLETE,
        STEP(8, GRACE), END},
    [KW_CHANGE_VERSION_8] = {"8", NONE, ALL, KW_CHANGE_ATOMICS_CAS_NEW, KW_CHANGE_STAMPED, CONTROL,
        STEP(LEAVE_STAMPED, STORE | GRACE | SWEEP), END},

    [KW_CHANGE_VERSION_6_SPACED] = {"6-spaced", FIRST, READ_AT_ONCE, KW_CHANGE_ATOMICS_CAS_NEW_OLD, KW_CHANGE_STAMPED, COMPLETE_SPACED,
        STEP(6, NOTHING), STEP(6_PASS, NOTHING)},
    [KW_CHANGE_VERSION_6_PASS] = {"6-pass", FIRST, READ_AT_ONCE, KW_CHANGE_ATOMICS_CAS_NEW_OLD, KW_CHANGE_STAMPED, COMPLETE_SPACED,
        STEP(6_SPACED, NOTHING), STEP(5, GRACE | PASS)},
    [KW_CHANGE_VERSION_4_BACK] = {"4-back", {1, 1, true, false}, READ,
        KW_CHANGE_ATOMICS_HELD, KW_CHANGE_STAMPED, COMPLETE_SPACED,
        STEP(5, NOTHING), STEP(3, NOTHING)},

    [KW_CHANGE_VERSION_LEAVE_STAMPED] = {"leave-stamped", NONE, ALL, KW_CHANGE_ATOMICS_HELD, KW_CHANGE_STAMPED, CONTROL,
        STEP(LEAVE_RAISED, NOTHING), END},
    [KW_CHANGE_VERSION_LEAVE_RAISED] = {"leave-raised", NONE, ALL, KW_CHANGE_ATOMICS_HELD, KW_CHANGE_RAISED, BARE,
        STEP(LEAVE_HELD, GRACE | SKEW | SWEEP), END},
    [KW_CHANGE_VERSION_LEAVE_HELD] = {"leave-held", NONE, ALL, KW_CHANGE_ATOMICS_HELD, KW_CHANGE_UNSTAMPED, BARE,
        STEP(STORE_NEW, NOTHING), END},
    [KW_CHANGE_VERSION_STORE_NEW] = {"store-new", NONE, ALL, KW_CHANGE_ATOMICS_NATIVE, KW_CHANGE_UNSTAMPED, BARE,
        END, END},

    /* Atomic operations read the placement that get operations read, and write both in one commit. */
    [KW_CHANGE_VERSION_BOTH_OLD] = {"both-old", ALL, {1, 1, false, false}, KW_CHANGE_ATOMICS_NATIVE, KW_CHANGE_UNSTAMPED, BARE,
        STEP(BOTH_NEW, COPY | COMMAND), STEP(STORE, COMMAND)},
    [KW_CHANGE_VERSION_BOTH_NEW] = {"both-new", {1, 1, false, false}, ALL, KW_CHANGE_ATOMICS_NATIVE, KW_CHANGE_UNSTAMPED, BOTH_COMPLETE,
        STEP(BOTH_LAST, COMMAND | EXPIRY), STEP(BOTH_OLD, COMMAND)},
    [KW_CHANGE_VERSION_BOTH_LAST] = {"both-last", {1, 1, false, false}, ALL, KW_CHANGE_ATOMICS_NATIVE, KW_CHANGE_UNSTAMPED, BARE,
        STEP(STORE_NEW, NOTHING), END},

    /* Dropping the path after FILLED is not a step of a change: it happens while no call runs. */
    [KW_CHANGE_VERSION_FILLING] = {"filling", ALL, {1, 1, false, false}, KW_CHANGE_ATOMICS_NATIVE, KW_CHANGE_UNSTAMPED, BARE,
        STEP(FILLED, COPY), STEP(STORE, COMMAND)},
    [KW_CHANGE_VERSION_FILLED] = {"filled", ALL, {1, 1, false, true}, KW_CHANGE_ATOMICS_NATIVE, KW_CHANGE_UNSTAMPED, BOTH_COMPLETE,
        END, END},

    /* Under filling-1 and filling-2, writes wait for the next millisecond. The copy runs under filling-2. So
     * a write that was acknowledged under filling-1 has a lower timestamp than every write of a call that
     * runs at the same time as the copy. */
    [KW_CHANGE_VERSION_FILLING_1] = {"filling-1", {1, 2, true, true}, {0, 1, false, false}, KW_CHANGE_ATOMICS_CAS_OLD, KW_CHANGE_STAMPED, SPACED,
        STEP(FILLING_2, NOTHING), STEP(0, NOTHING)},
    [KW_CHANGE_VERSION_FILLING_2] = {"filling-2", READ_AT_ONCE, FIRST, KW_CHANGE_ATOMICS_CAS_OLD_NEW, KW_CHANGE_STAMPED, SPACED,
        STEP(FILLED_STAMPED, GRACE | COPY), STEP(FILLING_1, NOTHING)},
    [KW_CHANGE_VERSION_FILLED_STAMPED] = {"filled-stamped", ALL, {1, 1, false, true}, KW_CHANGE_ATOMICS_CAS_OLD_NEW, KW_CHANGE_STAMPED, COMPLETE,
        END, STEP(FILLING_2, COMMAND)},

    /* All writes write kw:w while atomic operations are allowed, and under this version. No write does so
     * while they are forbidden. An atomic operation notices only writes that write kw:w. So none runs under
     * this version, which separates the writes without kw:w from the atomic operations. */
    [KW_CHANGE_VERSION_HELD] = {"held", ALL, NONE, KW_CHANGE_ATOMICS_HELD, KW_CHANGE_STAMPED, CONTROL,
        STEP(0, GRACE), END},
};
/* clang-format on */

const kw_change_version *
kw_change_version_of(kw_change_version_id id)
{
    g_assert((unsigned)id < KW_CHANGE_VERSION_COUNT);
    return &versions[id];
}

kw_change_version_id
kw_change_version_first(bool store_order)
{
    return store_order ? KW_CHANGE_VERSION_STORE : KW_CHANGE_VERSION_0;
}

bool
kw_change_version_holds_atomics(const kw_change_version *version, bool primary)
{
    return primary && version->atomics == KW_CHANGE_ATOMICS_HELD;
}

kw_write_order
kw_change_version_write_order(const kw_change_version *version)
{
    switch (version->stamp) {
    case KW_CHANGE_UNSTAMPED:
        return KW_WRITE_ORDER_STORE;
    case KW_CHANGE_RAISED:
        return KW_WRITE_ORDER_RAISED;
    case KW_CHANGE_STAMPED:
        return KW_WRITE_ORDER_STAMP;
    }
    g_assert_not_reached();
}

kw_change_version_step
kw_change_version_next(kw_change_version_id id, kw_change_direction direction)
{
    const kw_change_version *version = kw_change_version_of(id);
    return direction == KW_CHANGE_FORWARD ? version->forward : version->back;
}

kw_change_version_step
kw_change_version_next_adding(kw_change_version_id id, kw_change_direction direction)
{
    bool leaves = id == KW_CHANGE_VERSION_0 && direction == KW_CHANGE_FORWARD;
    return leaves ? (kw_change_version_step){KW_CHANGE_VERSION_FILLING_1, COMMAND}
                  : kw_change_version_next(id, direction);
}

bool
kw_change_version_adds_path(kw_change_version_id id)
{
    return id == KW_CHANGE_VERSION_FILLING || id == KW_CHANGE_VERSION_FILLED;
}

bool
kw_change_version_find(const char *name, kw_change_version_id *ret_id)
{
    for (unsigned id = 0; id < KW_CHANGE_VERSION_COUNT; id++) {
        if (g_strcmp0(versions[id].name, name) == 0) {
            *ret_id = (kw_change_version_id)id;
            return true;
        }
    }
    return false;
}
