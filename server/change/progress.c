#include "change/progress.h"

#include <glib.h>

uint64_t
kw_change_unrepaired(const kw_change_record *record)
{
    bool several = record->writers == KW_CHANGE_SEVERAL_WRITERS; /* there the pass copies extra cells */
    return record->missing + record->different + (several ? 0 : record->extra) - record->repaired;
}

bool
kw_change_is_filled(const kw_change_record *record)
{
    return record->copied && record->compared && kw_change_unrepaired(record) == 0 &&
           record->undecodable == 0;
}

bool
kw_change_is_final(const kw_change_record *record)
{
    return record->place >= KW_NEW(CLOSING) || (record->adds && record->place == KW_OLD(FILLED));
}

kw_change_place
kw_change_goal_place(const kw_change_record *record)
{
    bool fills = record->adds && !record->drops && !kw_change_is_cancelled(record);
    bool filled = kw_change_is_final(record) || kw_change_is_filled(record);
    return record->atomics ? KW_OLD(STAMPED) : fills && filled ? KW_OLD(FILLED) : record->goal;
}

bool
kw_change_reads_old(const kw_change_record *record)
{
    return record->place < KW_OLD(FILLED);
}

bool
kw_change_ends_as_before(const kw_change_record *record)
{
    return record->atomics ? kw_change_is_cancelled(record) : kw_change_reads_old(record);
}

bool
kw_change_can_withdraw(const kw_change_record *record)
{
    return kw_change_is_cancelled(record) && record->place >= KW_OLD(OPENING);
}

bool
kw_change_goes_back(const kw_change_record *record)
{
    return kw_change_goal_place(record) < record->place;
}

bool
kw_change_waits_for_switch(const kw_change_record *record)
{
    return record->place == KW_OLD(BOTH) && record->goal == KW_OLD(BOTH);
}
