/* Several gateways write the record of a change. Pure.
 *
 *   the holder      places, and the progress of its work
 *   any gateway     what the operator commands: goal, pause, limit, comparison (which resets the progress)
 *   another one     itself as the holder, when the holder has disappeared
 *
 * A gateway reads the record, changes it, and writes it on the condition that the catalog still has the
 * record that was read. The holder writes its progress only every few seconds. If a command resets the
 * progress in between, the work begins again, and what the holder has done since its last write does not
 * count.
 */
#pragma once

#include "change/record.h"

/* Merges three states of the record of a change. Returns the record in the catalog (`theirs`), with the
 * progress of this gateway (`mine`) if `mine` has the same place of the change. Otherwise the result keeps
 * the progress of `theirs`. With several writers, it also does so if another gateway has changed the progress
 * since the catalog had `base`. `base` and `mine` can be NULL. The result borrows the texts of the arguments.
 */
kw_change_record kw_change_merge(const kw_change_record *base, const kw_change_record *mine,
                                 const kw_change_record *theirs);

/* True if the records have the same progress. */
bool kw_change_same_progress(const kw_change_record *a, const kw_change_record *b);
