/* See ladder.h. docs/design/changes.md gives the reasons. */
#include "change/ladder.h"

#include <glib.h>

/* --- what the rungs do --------------------------------------------------------------------------------- */

typedef struct rung {
    const char *names[2]; /* on side old and new */
    kw_role read;         /* what calls do in the placement that queries read on this side */
    kw_role other;
    kw_atomics atomics;
    kw_write_order order;
    bool spaced; /* waits_for_next_ms */
    unsigned needs_up;
    unsigned needs_down;
} rung;

/* clang-format off */
/* Roles: order of puts, order of removals, whether get operations read it, whether scans do. */
#define ONLY   {1, 1, true, true}
#define NONE   {0, 0, false, false}
#define FIRST  {1, 1, false, false} /* of two placements: written first */
#define LAST   {2, 2, true, true}   /* written last */
#define LAST_REMOVED  {1, 2, true, true} /* the same, but puts write both at once */

#define NAMES(name)  {name "-old", name "-new"}
#define NATIVE  KW_ATOMICS_NATIVE
#define WAIT    KW_ATOMICS_HELD
#define CAS     KW_ATOMICS_CAS
#define STORE   KW_WRITE_ORDER_STORE
#define RAISE   KW_WRITE_ORDER_RAISED
#define STAMP   KW_WRITE_ORDER_STAMP

#define NOTHING 0
#define GRACE   KW_CHANGE_NEEDS_GRACE
#define COPY    KW_CHANGE_NEEDS_COPY
#define PASS    KW_CHANGE_NEEDS_PASS
#define EXPIRY  KW_CHANGE_NEEDS_CURSOR_EXPIRY
#define SKEW    KW_CHANGE_NEEDS_SKEW
#define SWEEP   KW_CHANGE_NEEDS_SWEEP
#define CLOCK   KW_CHANGE_NEEDS_CLOCK
#define HINTS   {1, 0, false, false} /* removals write no hints */

static const rung rungs[KW_RUNGS] = {
    /*                     names               read          other   atomics order   spaced, needs up, needs down */
    [KW_RUNG_UNSTAMPED] = {NAMES("unstamped"), ONLY,         NONE,   NATIVE, STORE,  false, NOTHING, NOTHING},
    [KW_RUNG_HELD] =      {NAMES("held"),      ONLY,         NONE,   WAIT,   STORE,  false, GRACE, NOTHING},
    [KW_RUNG_RAISED] =    {NAMES("raised"),    ONLY,         NONE,   WAIT,   RAISE,  false, GRACE | SKEW, GRACE | SKEW | SWEEP},
    [KW_RUNG_STAMPED] =   {NAMES("stamped"),   ONLY,         NONE,   WAIT,   STAMP,  false, NOTHING, NOTHING},
    [KW_RUNG_ALONE] =     {NAMES("alone"),     ONLY,         NONE,   CAS,    STAMP,  false, NOTHING, GRACE | SWEEP},
    [KW_RUNG_OPENING] =   {NAMES("opening"),   {1, 2, true, true}, {0, 1, false, false},
                                                                     CAS,    STAMP,  true,  NOTHING, NOTHING},
    [KW_RUNG_CLOSING] =   {NAMES("closing"),   LAST_REMOVED, FIRST,  CAS,    STAMP,  false, NOTHING, NOTHING},
    [KW_RUNG_MARKED] =    {NAMES("marked"),    ONLY,         NONE,   NATIVE, STORE,  false, GRACE, GRACE},
    [KW_RUNG_HINTING] =   {NAMES("hinting"),   ONLY,         HINTS,  NATIVE, STORE,  false, GRACE | CLOCK, NOTHING},
    [KW_RUNG_BOTH] =      {NAMES("both"),      LAST_REMOVED, FIRST,  CAS,    STAMP,  false, GRACE | COPY | PASS | CLOCK, EXPIRY},
    [KW_RUNG_SPACING] =   {NAMES("spacing"),   LAST_REMOVED, FIRST,  CAS,    STAMP,  true,  NOTHING, NOTHING},
    [KW_RUNG_SPACED] =    {NAMES("spaced"),    LAST_REMOVED, FIRST,  CAS,    STAMP,  true,  GRACE | COPY | PASS, NOTHING},
    [KW_RUNG_LAST_PASS] = {NAMES("last-pass"), LAST,         FIRST,  WAIT,   STAMP,  true,  GRACE | PASS, NOTHING},
    [KW_RUNG_GET_BOTH] =  {NAMES("get-both"),  LAST,         {1, 1, true, false},
                                                                     WAIT,   STAMP,  true,  NOTHING, NOTHING},
    [KW_RUNG_FILLED] =    {NAMES("filled"),    ONLY,         {1, 1, false, true},
                                                                     CAS,    STAMP,  false, NOTHING, NOTHING},
};
/* clang-format on */

/* --- the places of a ladder ---------------------------------------------------------------------------- */

#define OLD(rung) (1u << KW_OLD(rung))
#define NEW(rung) (1u << KW_NEW(rung))
#define LOW_OLD (OLD(UNSTAMPED) | OLD(HELD) | OLD(RAISED) | OLD(STAMPED) | OLD(ALONE))
#define LOW_NEW (NEW(UNSTAMPED) | NEW(HELD) | NEW(RAISED) | NEW(STAMPED) | NEW(ALONE))
#define HIGH_OLD (OLD(BOTH) | OLD(SPACING) | OLD(SPACED) | OLD(LAST_PASS) | OLD(GET_BOTH))
#define HIGH_NEW (NEW(BOTH) | NEW(SPACING) | NEW(SPACED) | NEW(LAST_PASS) | NEW(GET_BOTH))

static const struct {
    uint32_t places; /* bits */
    unsigned needs;  /* bits: the needs that this change has */
} ladders[KW_LADDERS] = {
    [KW_LADDER_MOVE] = {LOW_OLD | OLD(OPENING) | HIGH_OLD | HIGH_NEW | NEW(CLOSING) | LOW_NEW,
                        ~(unsigned)CLOCK},
    [KW_LADDER_ADD] = {LOW_OLD | OLD(OPENING) | OLD(SPACED) | OLD(FILLED), ~(unsigned)(PASS | CLOCK)},
    [KW_LADDER_ADD_HINTS] = {OLD(UNSTAMPED) | OLD(MARKED) | OLD(BOTH) | OLD(FILLED), GRACE | COPY},
    [KW_LADDER_ADD_HINTS_STAMP] = {OLD(ALONE) | OLD(HINTING) | OLD(BOTH) | OLD(FILLED), GRACE | COPY | CLOCK},
    [KW_LADDER_MOVE_HINTS] = {OLD(UNSTAMPED) | OLD(BOTH) | NEW(BOTH) | NEW(CLOSING) | NEW(UNSTAMPED),
                              GRACE | COPY | EXPIRY},
    [KW_LADDER_MOVE_HINTS_STAMP] = {OLD(ALONE) | OLD(HINTING) | OLD(BOTH) | NEW(BOTH) | NEW(CLOSING) |
                                        NEW(ALONE),
                                    GRACE | COPY | EXPIRY | CLOCK},
    [KW_LADDER_ATOMICS] = {OLD(STAMPED), ~0u},
    [KW_LADDER_MOVE_ONE_WRITER] = {OLD(UNSTAMPED) | OLD(BOTH) | NEW(BOTH) | NEW(CLOSING) | NEW(UNSTAMPED),
                                   COPY | EXPIRY},
    [KW_LADDER_ADD_ONE_WRITER] = {OLD(UNSTAMPED) | OLD(BOTH) | OLD(FILLED), COPY},
};

bool
kw_change_ladder_has(kw_change_ladder ladder, kw_change_place place)
{
    return place < KW_PLACES && ladders[ladder].places >> place & 1;
}

static bool
is_new(kw_change_place place)
{
    return place >= KW_RUNGS;
}

static const rung *
rung_at(kw_change_place place)
{
    g_assert(place < KW_PLACES);
    return &rungs[is_new(place) ? KW_PLACES - 1 - place : place];
}

static bool
has_one_writer(kw_change_ladder ladder)
{
    return ladder == KW_LADDER_MOVE_ONE_WRITER || ladder == KW_LADDER_ADD_ONE_WRITER;
}

static bool
is_of_hints(kw_change_ladder ladder)
{
    return ladder >= KW_LADDER_ADD_HINTS && ladder <= KW_LADDER_MOVE_HINTS_STAMP;
}

/* Removals write no hints, and gets read none. */
static kw_role
of_hints(kw_role role)
{
    return (kw_role){.put = role.put > 0, .scan = role.scan};
}

/* The table keeps its order of writes. */
static kw_change_rules
with_hints(kw_change_ladder ladder, kw_change_rules rules)
{
    bool adds = ladder == KW_LADDER_ADD_HINTS || ladder == KW_LADDER_ADD_HINTS_STAMP;
    return (kw_change_rules){.old_role = adds ? (kw_role)ONLY : of_hints(rules.old_role),
                             .new_role = of_hints(rules.new_role),
                             .both_complete = rules.both_complete};
}

/* One writer writes all rows of a record at once. */
static kw_role
at_once(kw_role role)
{
    return (kw_role){role.put > 0, role.remove > 0, role.get, role.scan};
}

static kw_change_rules
with_one_writer(kw_change_rules rules)
{
    return (kw_change_rules){.old_role = at_once(rules.old_role),
                             .new_role = at_once(rules.new_role),
                             .regime = {.order = STORE, .atomics = NATIVE},
                             .both_complete = rules.both_complete};
}

kw_change_rules
kw_change_rules_at(kw_change_ladder ladder, kw_change_place place)
{
    g_assert(kw_change_ladder_has(ladder, place));
    const rung *at = rung_at(place);
    kw_change_rules rules = {
        .old_role = is_new(place) ? at->other : at->read,
        .new_role = is_new(place) ? at->read : at->other,
        .regime = {.order = at->order, .atomics = at->atomics, .waits_for_next_ms = at->spaced},
        .both_complete = place >= KW_OLD(GET_BOTH) && place <= KW_NEW(BOTH),
    };
    return is_of_hints(ladder)      ? with_hints(ladder, rules)
           : has_one_writer(ladder) ? with_one_writer(rules)
                                    : rules;
}

/* The sides change once at the top, and there gets read both placements on either side. */
static bool
is_top_again(kw_change_place place, kw_change_place to)
{
    return place + to == KW_PLACES - 1 && rung_at(place) == &rungs[KW_RUNG_GET_BOTH];
}

kw_change_move
kw_change_move_from(kw_change_ladder ladder, kw_change_place place, kw_change_direction direction)
{
    bool back = direction == KW_CHANGE_BACK, up = is_new(place) == back;
    kw_change_place to = place;
    g_assert(kw_change_ladder_has(ladder, place));
    if (back && place >= KW_NEW(CLOSING))
        return (kw_change_move){KW_PLACE_NONE, 0};
    do
        to += back ? -1u : 1u; /* before 0, the number is above those of all places */
    while (to < KW_PLACES && (!kw_change_ladder_has(ladder, to) || is_top_again(place, to)));
    if (to >= KW_PLACES)
        return (kw_change_move){KW_PLACE_NONE, 0};
    unsigned needs = up ? rung_at(place)->needs_up : rung_at(place)->needs_down;
    unsigned of_other_side = is_new(place) ? COPY | CLOCK : EXPIRY;
    return (kw_change_move){to, needs & ladders[ladder].needs & ~of_other_side};
}

kw_change_place
kw_change_copy_place(kw_change_ladder ladder)
{
    return ladder == KW_LADDER_ADD ? KW_OLD(SPACED) : KW_OLD(BOTH);
}

kw_change_place
kw_change_first_place(bool store_order)
{
    return store_order ? KW_OLD(UNSTAMPED) : KW_OLD(ALONE);
}

kw_change_place
kw_change_last_place(bool store_order)
{
    return store_order ? KW_NEW(UNSTAMPED) : KW_NEW(ALONE);
}

const char *
kw_change_place_name(kw_change_place place)
{
    return rung_at(place)->names[is_new(place)];
}

bool
kw_change_place_find(const char *name, kw_change_place *ret_place)
{
    for (kw_change_place place = 0; place < KW_PLACES; place++) {
        if (g_strcmp0(kw_change_place_name(place), name) == 0) {
            *ret_place = place;
            return true;
        }
    }
    return false;
}
