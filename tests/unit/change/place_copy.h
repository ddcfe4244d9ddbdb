/* A copy of the server's ladder, from which tests remove safeguards. */
#pragma once

#include "change/ladder.h"

typedef struct place_copy {
    kw_change_rules rules;
    kw_change_move forward, back;
    bool decides_in_other; /* atomic operations begin with the placement that gets do not read */
} place_copy;

/* Places that the ladder does not have stay empty. */
static inline void
ladder_copy(kw_change_ladder ladder, place_copy to[KW_PLACES])
{
    for (kw_change_place place = 0; place < KW_PLACES; place++)
        if (kw_change_ladder_has(ladder, place))
            to[place] = (place_copy){.rules = kw_change_rules_at(ladder, place),
                                     .forward = kw_change_move_from(ladder, place, KW_CHANGE_FORWARD),
                                     .back = kw_change_move_from(ladder, place, KW_CHANGE_BACK)};
}
