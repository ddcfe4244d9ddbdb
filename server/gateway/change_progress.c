#include "gateway/change_progress.h"

#include <glib.h>

unsigned
kw_change_place_of(kw_change_version_id version)
{
    static const kw_change_version_id places[] = {KW_CHANGE_VERSION_STORE,
                                                  KW_CHANGE_VERSION_ENTER_HELD,
                                                  KW_CHANGE_VERSION_ENTER_RAISED,
                                                  KW_CHANGE_VERSION_ENTER_STAMPED,
                                                  KW_CHANGE_VERSION_HELD,
                                                  KW_CHANGE_VERSION_0,
                                                  KW_CHANGE_VERSION_FILLING_1,
                                                  KW_CHANGE_VERSION_FILLING_2,
                                                  KW_CHANGE_VERSION_1,
                                                  KW_CHANGE_VERSION_2,
                                                  KW_CHANGE_VERSION_2_SPACED,
                                                  KW_CHANGE_VERSION_3,
                                                  KW_CHANGE_VERSION_4,
                                                  KW_CHANGE_VERSION_4_BACK,
                                                  KW_CHANGE_VERSION_5,
                                                  KW_CHANGE_VERSION_6_PASS,
                                                  KW_CHANGE_VERSION_6_SPACED,
                                                  KW_CHANGE_VERSION_6,
                                                  KW_CHANGE_VERSION_7,
                                                  KW_CHANGE_VERSION_8,
                                                  KW_CHANGE_VERSION_LEAVE_STAMPED,
                                                  KW_CHANGE_VERSION_LEAVE_RAISED,
                                                  KW_CHANGE_VERSION_LEAVE_HELD,
                                                  KW_CHANGE_VERSION_STORE_NEW,
                                                  KW_CHANGE_VERSION_FILLED_STAMPED};
    unsigned place = 0;
    while (places[place] != version) {
        place++;
        g_assert(place < G_N_ELEMENTS(places));
    }
    return place;
}

kw_change_version_id
kw_change_last_version(const kw_change_record *record)
{
    return record->store_order ? KW_CHANGE_VERSION_STORE_NEW : KW_CHANGE_VERSION_8;
}

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
    return kw_change_place_of(record->version) >= kw_change_place_of(KW_CHANGE_VERSION_7);
}

/* An added path is complete without a command if all rows are there. */
static kw_change_version_id
goal_of_added(const kw_change_record *record)
{
    if (kw_change_is_final(record))
        return KW_CHANGE_VERSION_FILLED_STAMPED;
    if (record->goal == KW_CHANGE_GOAL_CANCELLED)
        return kw_change_version_first(record->store_order);
    bool filled = record->goal == KW_CHANGE_GOAL_COMPLETED || kw_change_is_filled(record);
    return filled ? KW_CHANGE_VERSION_FILLED_STAMPED : KW_CHANGE_VERSION_FILLING_2;
}

kw_change_version_id
kw_change_goal_version(const kw_change_record *record)
{
    if (record->atomics)
        return KW_CHANGE_VERSION_HELD;
    if (record->adds)
        return goal_of_added(record);
    if (kw_change_is_final(record))
        return kw_change_last_version(record);
    switch (record->goal) {
    case KW_CHANGE_GOAL_COPIED:
    case KW_CHANGE_GOAL_REVERSED:
        return KW_CHANGE_VERSION_2;
    case KW_CHANGE_GOAL_SWITCHED:
        return KW_CHANGE_VERSION_6;
    case KW_CHANGE_GOAL_COMPLETED:
        return kw_change_last_version(record);
    case KW_CHANGE_GOAL_CANCELLED:
        return kw_change_version_first(record->store_order);
    }
    g_assert_not_reached();
}

bool
kw_change_reads_old(const kw_change_record *record)
{
    const kw_change_version *version = kw_change_version_of(record->version);
    return version->old_role.scan && !version->new_role.scan;
}

bool
kw_change_ends_as_before(const kw_change_record *record)
{
    return record->atomics ? record->goal == KW_CHANGE_GOAL_CANCELLED : kw_change_reads_old(record);
}

bool
kw_change_can_withdraw(const kw_change_record *record)
{
    return record->goal == KW_CHANGE_GOAL_CANCELLED &&
           kw_change_version_of(record->version)->new_role.remove > 0;
}

bool
kw_change_goes_back(const kw_change_record *record)
{
    return kw_change_place_of(kw_change_goal_version(record)) < kw_change_place_of(record->version);
}

bool
kw_change_waits_for_switch(const kw_change_record *record)
{
    return record->version == KW_CHANGE_VERSION_2 && kw_change_goal_version(record) == KW_CHANGE_VERSION_2;
}
