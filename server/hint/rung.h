/* What gateways do with a hint path while it is added, dropped, or gets another key rule. The table in rung.c
 * is the only place that defines it; the explorations in tests/unit/hint read the same table. Pure.
 *
 *   a path is added (a drop is the way back):
 *     unhinted --> marked --> hinting --> [settled] --> hinted
 *
 *   its key rule changes from old to new:
 *     hinted-old --> hinting-old --> [settled-old] --> hinting-new --> hinted-new
 *
 * Places in brackets are those of tables with `order: stamp`. As in change/ladder.h: calls run at most at two
 * places, which are neighbors, and the next place is set when all gateways have reported the present one.
 * change/ladder.c has the rows of an added path; unit.change_table compares both tables.
 */
#pragma once

#include "base/ordering.h"

#include <stdbool.h>

typedef enum kw_hint_place {
    /* a path is added */
    KW_HINT_UNHINTED, /* writes do not know the path */
    KW_HINT_MARKED,   /* every write leaves kw:w */
    KW_HINT_HINTING,  /* writes write hints, and partial puts compare */
    KW_HINT_SETTLED,  /* the same, and the clock has passed all stamps of `marked` */
    KW_HINT_HINTED,   /* every row has its hint: queries use the path */
    /* a path has an old and a new key rule */
    KW_HINT_HINTED_OLD,  /* hints of the old rule, and queries use them */
    KW_HINT_HINTING_OLD, /* hints of both; queries use the old ones. The copier writes the new ones */
    KW_HINT_SETTLED_OLD, /* the same, and the clock has passed all stamps of `hinted-old` */
    KW_HINT_HINTING_NEW, /* hints of both; queries use the new ones */
    KW_HINT_HINTED_NEW,  /* hints of the new rule */
    KW_HINT_PLACES
} kw_hint_place;

/* What must be true before the next place is set. The first three are bits of change/ladder.h. */
enum {
    KW_HINT_NEEDS_GRACE = 1,
    KW_HINT_NEEDS_COPY = 2, /* the copier has written the hint of each row, and scrub finds none missing; it
                               runs at this place, after the grace */
    KW_HINT_NEEDS_CURSOR_EXPIRY = 8,
    KW_HINT_NEEDS_CLOCK = 64 /* the store's clock has passed every stamp that was taken at the place before */
};

typedef struct kw_hint_rules {
    bool marks;     /* every write leaves kw:w */
    bool hints_old; /* writes write the hints of this rule, and its fields count as those of a tuple */
    bool hints_new; /* an added path has only the new one */
    bool reads_old;
    bool reads_new;
} kw_hint_rules;

kw_hint_rules kw_hint_rules_at(kw_hint_place place);
/* For example "hinting-old". */
const char *kw_hint_place_name(kw_hint_place place);

typedef struct kw_hint_move {
    kw_hint_place to; /* KW_HINT_PLACES: there is no such move */
    unsigned needs;   /* bits */
} kw_hint_move;

/* back: to the place before. */
kw_hint_move kw_hint_move_from(kw_hint_place place, kw_write_order order, bool back);
