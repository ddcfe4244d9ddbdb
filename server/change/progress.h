/* How far a change has come, and where its goal leads: functions of its record only. */
#pragma once

#include "change/record.h"

/* The place where the goal is reached. An added path is complete without a command if all rows are there. */
kw_change_place kw_change_goal_place(const kw_change_record *record);
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
/* True if the change is at both-old, and this is its goal. There it waits for the operator when its work has
 * ended. */
bool kw_change_waits_for_switch(const kw_change_record *record);
/* True if the goal lies before the present place. */
bool kw_change_goes_back(const kw_change_record *record);
