/* How far a change has come, and where its goal leads: functions of its record only. */
#pragma once

#include "catalog/changes.h"

/* How far a version is along the way from the old rule to the new one: later versions have higher numbers.
 * Only for versions in a store with several writers. */
unsigned kw_change_place_of(kw_change_version_id version);
/* The version where the goal is reached. From 7 on, only the end can be reached. */
kw_change_version_id kw_change_goal_version(const kw_change_record *record);
/* True if scans read only the old placement. Then the operator can still switch, or end the change with the
 * old placement. */
bool kw_change_reads_old(const kw_change_record *record);
/* True if the change would end as if it had not begun, if it ended now. For a drop: as if the path had not
 * been added. */
bool kw_change_ends_as_before(const kw_change_record *record);
/* True if a command to cancel can be withdrawn: removals still reach the new rows. Later, some removals leave
 * nothing that a copy could find, and the rows that were copied before would bring the record back. */
bool kw_change_can_withdraw(const kw_change_record *record);
/* True if the change can only end with the new placement. */
bool kw_change_is_final(const kw_change_record *record);
/* How many rows the last comparison found to differ and could not repair. With several writers, rows that
 * only the new placement has do not count, because a pass copies them. */
uint64_t kw_change_unrepaired(const kw_change_record *record);
/* True if all rows are copied and compared, and none differs or could not be copied, so that queries can read
 * an added path. */
bool kw_change_is_filled(const kw_change_record *record);
/* True if the change is under 2, and its goal is 2. There it waits for the operator when its work has ended.
 */
bool kw_change_waits_for_switch(const kw_change_record *record);
/* True if the goal lies in a version before the present one. */
bool kw_change_goes_back(const kw_change_record *record);
/* The version in which the change ends with the new placement. */
kw_change_version_id kw_change_last_version(const kw_change_record *record);
