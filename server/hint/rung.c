/* See rung.h. docs/design/paths.md gives the reasons. */
#include "hint/rung.h"

#include <glib.h>

typedef struct place {
    const char *name;
    kw_hint_rules rules;
    unsigned needs_up, needs_down;
    bool of_stamp; /* only tables with order: stamp have it */
} place;

#define NOTHING 0
#define GRACE KW_HINT_NEEDS_GRACE
#define COPY KW_HINT_NEEDS_COPY
#define EXPIRY KW_HINT_NEEDS_CURSOR_EXPIRY
#define CLOCK KW_HINT_NEEDS_CLOCK

/* clang-format off */
static const place places[KW_HINT_PLACES] = {
    /*                                      kw:w   hints old, new  reads old, new    needs up,      needs down */
    [KW_HINT_UNHINTED]    = {"unhinted",    {false, false, false,  false, false},    NOTHING,       NOTHING, false},
    [KW_HINT_MARKED]      = {"marked",      {true,  false, false,  false, false},    GRACE,         GRACE,   false},
    [KW_HINT_HINTING]     = {"hinting",     {true,  false, true,   false, false},    GRACE | COPY,  EXPIRY,  false},
    [KW_HINT_SETTLED]     = {"settled",     {true,  false, true,   false, false},    GRACE | COPY,  NOTHING, true},
    [KW_HINT_HINTED]      = {"hinted",      {true,  false, true,   false, true},     NOTHING,       NOTHING, false},

    [KW_HINT_HINTED_OLD]  = {"hinted-old",  {true,  true,  false,  true,  false},    NOTHING,       NOTHING, false},
    [KW_HINT_HINTING_OLD] = {"hinting-old", {true,  true,  true,   true,  false},    GRACE | COPY,  NOTHING, false},
    [KW_HINT_SETTLED_OLD] = {"settled-old", {true,  true,  true,   true,  false},    GRACE | COPY,  NOTHING, true},
    [KW_HINT_HINTING_NEW] = {"hinting-new", {true,  true,  true,   false, true},     EXPIRY,        NOTHING, false},
    [KW_HINT_HINTED_NEW]  = {"hinted-new",  {true,  false, true,   false, true},     NOTHING,       NOTHING, false},
};
/* clang-format on */

kw_hint_rules
kw_hint_rules_at(kw_hint_place at)
{
    g_assert(at < KW_HINT_PLACES);
    return places[at].rules;
}

const char *
kw_hint_place_name(kw_hint_place at)
{
    g_assert(at < KW_HINT_PLACES);
    return places[at].name;
}

/* Where a chain ends. From hinted-new, there is no way back. */
static bool
is_end(kw_hint_place at, bool back)
{
    if (back)
        return at == KW_HINT_UNHINTED || at == KW_HINT_HINTED_OLD || at == KW_HINT_HINTED_NEW;
    return at == KW_HINT_HINTED || at == KW_HINT_HINTED_NEW;
}

/* With order: stamp, the copy runs at the second of two equal places. The first one ends when the clock has
 * passed the stamps of the place before, and calls that were given up there can no longer be applied. */
static unsigned
needs_up(kw_hint_place at, kw_write_order order)
{
    bool first = at + 1 < KW_HINT_PLACES && places[at + 1].of_stamp && order == KW_WRITE_ORDER_STAMP;
    if (first)
        return GRACE | CLOCK;
    return places[at].needs_up | (places[at].of_stamp ? CLOCK : 0);
}

kw_hint_move
kw_hint_move_from(kw_hint_place at, kw_write_order order, bool back)
{
    g_assert(at < KW_HINT_PLACES);
    if (is_end(at, back))
        return (kw_hint_move){KW_HINT_PLACES, 0};
    kw_hint_place to = back ? at - 1 : at + 1;
    if (places[to].of_stamp && order != KW_WRITE_ORDER_STAMP)
        to = back ? to - 1 : to + 1;
    return (kw_hint_move){to, back ? places[at].needs_down : needs_up(at, order)};
}
